"""Figures from tables of results; they know nothing of simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import style

from cutthrough.plots import curves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from cutthrough.results import Results

__all__ = ["STYLE", "figure", "save", "write"]

#: The style file of every figure.
STYLE = Path(__file__).with_name("cutthrough.mplstyle")

FIGURES: dict[str, Callable[[Results], Figure]] = {"latency": curves.latency, "throughput": curves.throughput}


def figure(results: Results, quantity: str = "latency") -> Figure:
    """Draws one figure.

    Args:
        results: The points.
        quantity: `latency` or `throughput`.

    Raises:
        ValueError: There is no such figure, or no point to draw.
    """
    if quantity not in FIGURES:
        message = f"no figure of {quantity!r}; there are {', '.join(FIGURES)}"
        raise ValueError(message)
    if not results.points:
        message = "no points to plot"
        raise ValueError(message)
    with style.context(STYLE):
        return FIGURES[quantity](results)


def save(results: Results, directory: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes every figure in every format into a directory; returns the paths, the latency's first."""
    directory.mkdir(parents=True, exist_ok=True)
    return [path for name in FIGURES for path in write(figure(results, name), directory / name, formats)]


def write(drawn: Figure, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes a figure as `stem.FORMAT`, without a date: the same results give the same bytes."""
    paths = [stem.with_name(f"{stem.name}.{extension}") for extension in formats]
    with style.context(STYLE):
        # Laid out once: a format's resolution would move things a little, and with them what is written next.
        drawn.draw_without_rendering()
        drawn.set_layout_engine("none")
        for path in paths:
            drawn.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
