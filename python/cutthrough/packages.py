"""Packages that are used where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["MissingPackage", "require"]


class MissingPackage(ImportError):
    """An optional package is not installed; `str()` is one line with what to install."""


def require(package: str, use: str) -> Any:
    """An optional package, imported.

    Args:
        package: Its name, which is that of the extra of Cutthrough as well.
        use: What needs it, for the message.

    Raises:
        MissingPackage: It is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        message = f"{use} needs {package}: pip install {package} (or 'cutthrough[{package}]')"
        raise MissingPackage(message, name=package) from None
