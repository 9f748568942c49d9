"""Results and progress in notebooks: HTML that any notebook shows, without widgets or scripts."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cutthrough.display.units import counted, plain_number, shown, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cutthrough.display.tables import Column

__all__ = ["RunBar", "SearchBar", "facts", "run_bar", "search_bar", "table", "text"]

#: Seconds between two updates, since a notebook redraws the whole output of a cell.
PAUSE_S = 0.5
#: Numbers of first and last rows of a table that are shown.
FIRST_ROWS, LAST_ROWS = 40, 10


class _Bar:
    """A bar of progress in the output of a notebook's cell."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self._started = time.monotonic()
        self._shown = float("-inf")

    def _report(self, share: float, text: str) -> None:
        """Shows a completed fraction and a text, unless it has shown them just before."""
        now = time.monotonic()
        if now - self._shown < PAUSE_S and share < 1.0:
            return
        self._shown = now
        spent = now - self._started
        left = f", about {_duration(spent * (1.0 - share) / share)} left" if 0.0 < share < 1.0 else ""
        line = f"{text}, {_duration(spent)}{left}"
        shown = _Html(f'<progress value="{share:.4f}" max="1"></progress> {escape(line)}', line)
        if self._handle is None:
            self._handle = self._display(shown, display_id=True)
        else:
            self._handle.update(shown)


class RunBar(_Bar):
    """The progress of a run; see `cutthrough.runs.sweeps.Watcher`."""

    def update(self, done: float, total: int, phase: str) -> None:
        """Shows the number of finished points, and the current phase."""
        running = f", {phase}" if phase and done < total else ""
        self._report(done / total if total else 1.0, f"{int(done)}/{total} points{running}")


class SearchBar(_Bar):
    """The progress of a search; see `cutthrough.mapping.solving.Watcher`."""

    def update(self, fraction: float, phase: str) -> None:
        """Shows the completed fraction of a phase."""
        self._report(fraction, phase)


class _Html:
    """A text with its form in HTML."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


def run_bar() -> RunBar | None:
    """Returns a bar for a run, if this process is the kernel of a notebook. None elsewhere."""
    display = _display()
    return None if display is None else RunBar(display)


def search_bar() -> SearchBar | None:
    """Returns a bar for a search, if this process is the kernel of a notebook. None elsewhere."""
    display = _display()
    return None if display is None else SearchBar(display)


def _display() -> Any:
    """Returns the function that shows an object in a notebook. None elsewhere.

    IPython is imported only if it has been imported already: by the kernel, or by the shell of a terminal, which has no
    kernel.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    return import_module("IPython.display").display


def table(columns: Sequence[Column], title: str, notes: Sequence[str] = ()) -> str:
    """Returns a table as HTML. Numbers are aligned to the right, and the middle of a long table is left out."""
    count = max((len(column.cells) for column in columns), default=0)
    rows = list(range(count))
    left_out = 0
    if count > FIRST_ROWS + LAST_ROWS:
        left_out = count - FIRST_ROWS - LAST_ROWS
        rows = [*rows[:FIRST_ROWS], *rows[-LAST_ROWS:]]
    head = "".join(f'<th style="text-align: {_side(column)}">{escape(column.heading)}</th>' for column in columns)
    lines = [f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>" for row in rows]
    if left_out:
        gap = f'<tr><td colspan="{len(columns)}">... {left_out} more points ...</td></tr>'
        lines.insert(FIRST_ROWS, gap)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{below}"


def facts(values: Mapping[str, Any], title: str = "") -> str:
    """Returns names and values as HTML, a row each. Nested tables get dotted names, and lists show their lengths."""
    rows = "".join(
        f'<tr><td style="text-align: left">{escape(name)}</td><td style="text-align: right">{escape(value)}</td></tr>'
        for name, value in _rows(values)
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}<tbody>{rows}</tbody></table>"


def text(content: str) -> str:
    """Returns a text as HTML, with its line breaks."""
    return f"<pre>{escape(content)}</pre>"


def _rows(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict) and "kind" not in value:
            yield from _rows(value, f"{prefix}{name}.")
        else:
            yield prefix + name, _shown(value, name)


def _shown(value: Any, name: str = "") -> str:
    """Returns a value in few characters, with the unit of a quantity that suits it. Empty if it was not measured."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        in_unit = unit_of(name, ()) is not None
        return shown(name, value) if in_unit else f"{value:,}" if isinstance(value, int) else plain_number(value, 6)
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return counted(len(value), "entry", "entries")
    return ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def _side(column: Column) -> str:
    return "left" if column.is_text else "right"


def _cell(column: Column, row: int) -> str:
    return f'<td style="text-align: {_side(column)}">{escape(column.cells[row])}</td>'


def _duration(seconds: float) -> str:
    """Returns a time in words: `12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
