"""Tables that fit the terminal. Columns are left out, the least important first, but digits never."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions

__all__ = ["Column", "Fitted"]

#: The width in characters down to which names are broken before columns are left out.
NARROW = 20
#: A width that every table fits.
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading.
        cells: Its cells, one a row.
        rank: 0 if the column is always shown. Of the others the highest rank is left out first.
        is_text: Whether the cells are names, which may be broken between words, or numbers, which may not.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    is_text: bool = False

    @property
    def width(self) -> int:
        """The width without any limit, in characters."""
        return max(map(cell_len, (self.heading, *self.cells)))

    def floor(self, narrow: int) -> int:
        """Returns the least width: that of the longest word, or `narrow`. Numbers are not broken."""
        if not self.is_text:
            return self.width
        words = (word for text in (self.heading, *self.cells) for word in text.split())
        return max(max(map(cell_len, words), default=0), min(self.width, narrow))


@dataclass(frozen=True)
class Fitted:
    """A table for the terminal, with as many of its columns as fit.

    Attributes:
        columns: All columns.
        title: The title above the table.
        styles: A style for each row.
        elsewhere: A sentence on where the left-out columns are.
        note: The note below the table.
    """

    columns: Sequence[Column]
    title: str = ""
    styles: Sequence[str] = field(default=())
    elsewhere: str = ""
    note: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        shown = list(self.columns)
        while self._width(shown, [column.floor(NARROW) for column in shown], console) > options.max_width:
            least = max(shown, key=lambda column: column.rank, default=None)
            if least is None or least.rank == 0:
                break
            shown.remove(least)
        yield self._table(shown, self._limits(shown, options.max_width, console))
        if self.note:
            yield Text(self.note, style="dim")
        left_out = [column.heading for column in self.columns if column not in shown]
        if left_out:
            yield Text(f"Left out at this width: {', '.join(left_out)}. {self.elsewhere}".rstrip(), style="dim")

    def _limits(self, columns: Sequence[Column], width: int, console: Console) -> list[int]:
        """Returns the widths of columns in a table of some width. Names are broken, the longest first.

        If that is not enough, Rich breaks words.
        """
        limits = [column.width for column in columns]
        excess = self._width(columns, limits, console) - width
        for narrow in (NARROW, 0):
            floors = [column.floor(narrow) for column in columns]
            while excess > 0 and limits != floors:
                widest = max(range(len(limits)), key=lambda place: (limits[place] > floors[place], limits[place]))
                limits[widest] -= 1
                excess -= 1
        return limits

    def _width(self, columns: Sequence[Column], limits: Sequence[int], console: Console) -> int:
        """Returns the width of a table whose columns have these limits."""
        options = console.options.update_width(UNLIMITED)
        return Measurement.get(console, options, self._table(columns, limits, titled=False)).maximum

    def _table(self, columns: Sequence[Column], limits: Sequence[int], *, titled: bool = True) -> Table:
        title = self.title if titled and self.title else None
        table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
        for column, limit in zip(columns, limits, strict=True):
            if column.is_text:
                table.add_column(column.heading, max_width=limit, overflow="fold")
            else:
                table.add_column(column.heading, justify="right", no_wrap=True, min_width=limit)
        styles = self.styles or [""] * max((len(column.cells) for column in columns), default=0)
        for *cells, style in zip(*(column.cells for column in columns), styles, strict=True):
            table.add_row(*map(Text, cells), style=style)
        return table
