"""The style of every figure."""

from __future__ import annotations

from pathlib import Path

__all__ = ["STYLE"]

#: The style file of every figure.
STYLE = Path(__file__).with_name("cutthrough.mplstyle")
