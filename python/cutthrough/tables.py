"""Tables that fit the terminal: columns are left out, the least important first, and never digits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions

__all__ = ["Column", "Fitted"]

#: The width down to which names are broken before columns are left out, in characters.
NARROW = 20
#: A width that every table fits.
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading.
        cells: Its cells, one a row.
        rank: 0 if it is always shown; of the others the highest is left out first.
        is_text: Names, which may be broken into lines; else numbers, which may not.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    is_text: bool = False


@dataclass(frozen=True)
class Fitted:
    """A table for the terminal, with as many of its columns as fit.

    Attributes:
        columns: All columns.
        title: What stands above it.
        styles: A style for each row.
        elsewhere: Where the columns are that are left out.
    """

    columns: Sequence[Column]
    title: str = ""
    styles: Sequence[str] = field(default=())
    elsewhere: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        shown, narrow = list(self.columns), False
        while self._width(shown, narrow, console) > options.max_width:
            if not narrow:
                narrow = True
                continue
            least = max(shown, key=lambda column: column.rank, default=None)
            if least is None or least.rank == 0:
                break
            shown.remove(least)
        # Rich breaks names as far as the width asks for, the longest first.
        yield self._table(shown, narrow=False)
        left_out = [column.heading for column in self.columns if column not in shown]
        if left_out:
            yield Text(f"Left out at this width: {', '.join(left_out)}. {self.elsewhere}".rstrip(), style="dim")

    def _width(self, columns: Sequence[Column], narrow: bool, console: Console) -> int:
        """The width that a table takes if nothing limits it."""
        options = console.options.update_width(UNLIMITED)
        return Measurement.get(console, options, self._table(columns, narrow=narrow, titled=False)).maximum

    def _table(self, columns: Sequence[Column], *, narrow: bool, titled: bool = True) -> Table:
        title = self.title if titled and self.title else None
        table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
        for column in columns:
            if column.is_text:
                table.add_column(column.heading, max_width=NARROW if narrow else None, overflow="fold")
            else:
                digits = max(map(len, (column.heading, *column.cells)))
                table.add_column(column.heading, justify="right", no_wrap=True, min_width=digits)
        styles = self.styles or [""] * max((len(column.cells) for column in columns), default=0)
        for *cells, style in zip(*(column.cells for column in columns), styles, strict=True):
            table.add_row(*map(Text, cells), style=style)
        return table
