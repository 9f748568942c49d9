"""A fit as text: the section to paste, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomli_w
from rich.table import Table as Grid

from cutthrough.calibrate.tables import BANDWIDTH, LEFT, RATE, TIME

if TYPE_CHECKING:
    from cutthrough.calibrate.fitting import Fit, Fitted

__all__ = ["COLUMNS", "parts_table", "rows_table", "section"]

#: What is measured, for people: its name and unit, and that of the simulator's in it.
COLUMNS = {
    TIME: ("time (us)", 1e-3),
    BANDWIDTH: ("bandwidth (MB/s)", 1e-6),
    RATE: ("messages/s", 1.0),
    LEFT: ("availability", 1.0),
}


def section(fit: Fit) -> str:
    """`[nic]`, with what it was fitted to and how well."""
    names = ", ".join(fitted.table.name for fitted in fit.tables)
    head = [
        f"# Fitted to {names}, from `{fit.start}`, with a path of {fit.delay / 1e3:.4g} ns between the nodes.",
        f"# Errors: {fit.rms_error:.1%} (root of the mean square), {fit.max_error:.1%} at most.",
    ]
    return "\n".join(head) + "\n" + tomli_w.dumps({"nic": fit.nic()})


def parts_table(fit: Fit) -> Grid:
    """What was fitted, and how well it is known."""
    grid = Grid(title="Parts", title_justify="left")
    for name in ("part", "start", "fitted", "known"):
        grid.add_column(name)
    for value in fit.values:
        grid.add_row(value.part.key, value.part.written(value.part.start), value.text, value.known)
    for key, chosen in fit.chosen.items():
        grid.add_row(key, "", str(chosen), "the best of those that were tried")
    return grid


def rows_table(fitted: Fitted) -> Grid:
    """Measured, fitted, and the error, at every size."""
    name, factor = COLUMNS[fitted.table.measure]
    grid = Grid(title=fitted.table.name, title_justify="left")
    for head in ("interval (us)" if fitted.table.measure == LEFT else "bytes", f"measured {name}", "fitted", "error"):
        grid.add_column(head, justify="right")
    for row, value, error in zip(fitted.table.rows, fitted.values, fitted.errors, strict=True):
        size = f"{row.size / 1e3:g}" if fitted.table.measure == LEFT else str(row.size)
        grid.add_row(size, f"{row.value * factor:.4g}", f"{value * factor:.4g}", f"{error:+.1%}")
    return grid
