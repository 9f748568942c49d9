"""Optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["MissingPackage", "require"]


class MissingPackage(ImportError):
    """The error that an optional package is not installed. `str()` is one line with what to install."""


def require(package: str, use: str) -> Any:
    """Imports an optional package and returns it.

    Args:
        package: The package's name, which is also the name of the extra of Cutthrough.
        use: The feature that needs it, for the message.

    Raises:
        MissingPackage: The package is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        message = f"{use} needs {package}: pip install {package} (or 'cutthrough[{package}]')"
        raise MissingPackage(message, name=package) from None
