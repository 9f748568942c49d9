"""The style of every figure, and literal text in figures."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from matplotlib import style
from matplotlib.ticker import FuncFormatter, NullFormatter

from cutthrough.display.units import plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axis import Axis

__all__ = ["LONGEST_NAME", "STYLE", "in_lines", "looks", "plain_marks", "shown"]

#: The style file of every figure.
STYLE = Path(__file__).with_name("cutthrough.mplstyle")
#: Greatest number of characters of a title or a name, and of a name along an axis.
LONGEST, LONGEST_NAME = 240, 40


@contextmanager
def looks() -> Iterator[None]:
    """Applies our style to figures, with literal text: `$` begins no formula; a character without glyph is a box."""
    with style.context([STYLE, {"text.parse_math": False}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def shown(text: str, longest: int = LONGEST) -> str:
    """Returns a title or name of any length and content for a figure. A leading underscore hides nothing."""
    kept = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text[: longest + 1])
    cut = kept if len(kept) <= longest else f"{kept[: longest - 1]}…"
    return f"\N{HAIR SPACE}{cut}" if cut.startswith("_") else cut


def in_lines(text: str, width: int = 56) -> str:
    """Returns a title or name, wrapped into lines of at most about `width` characters."""
    return "\n".join(wrap(shown(text), width))


def plain_marks(axis: Axis, text: Callable[[float], str] = plain_number) -> None:
    """Writes the marks of a logarithmic axis without formulas."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
