"""A fit as text: the section to paste, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomli_w

from cutthrough.calibrate.tables import BANDWIDTH, LEFT, RATE, TIME
from cutthrough.display.tables import Column
from cutthrough.display.tables import Fitted as Shown

if TYPE_CHECKING:
    from cutthrough.calibrate.outcome import Fit, Fitted

__all__ = ["COLUMNS", "parts_table", "rows_table", "section"]

#: Measured quantities for people: name with unit, and the factor from the simulator's unit.
COLUMNS = {
    TIME: ("time (us)", 1e-3),
    BANDWIDTH: ("bandwidth (MB/s)", 1e-6),
    RATE: ("messages/s", 1.0),
    LEFT: ("availability", 1.0),
}


def section(fit: Fit) -> str:
    """Returns the text of `[nic]`, with comments on the tables that it was fitted to and on its errors."""
    names = ", ".join(fitted.table.name for fitted in fit.tables)
    head = [
        f"# Fitted to {names}, from `{fit.start}`, with a path of {fit.delay / 1e3:.4g} ns between the nodes.",
        f"# Errors: {fit.rms_error:.1%} (root of the mean square), {fit.max_error:.1%} at most.",
    ]
    return "\n".join(head) + "\n" + tomli_w.dumps({"nic": fit.nic()})


def parts_table(fit: Fit) -> Shown:
    """Returns the table of fitted parts, with the precision of each."""
    rows = [(value.part.key, value.part.written(value.part.start), value.text, value.known) for value in fit.values]
    rows += [(key, "", str(chosen), "the best of those that were tried") for key, chosen in fit.chosen.items()]
    cells = zip(*rows, strict=True)
    headings = ("part", "start", "fitted", "known")
    return Shown([Column(heading, own, is_text=True) for heading, own in zip(headings, cells, strict=False)], "Parts")


def rows_table(fitted: Fitted) -> Shown:
    """Returns the table of measured and fitted values with the error, at every size."""
    name, factor = COLUMNS[fitted.table.measure]
    is_polling = fitted.table.measure == LEFT
    sizes = [f"{row.size / 1e3:g}" if is_polling else f"{row.size:,}" for row in fitted.table.rows]
    columns = [
        Column("interval (us)" if is_polling else "bytes", sizes),
        Column(f"measured {name}", [f"{row.value * factor:.4g}" for row in fitted.table.rows]),
        Column("fitted", [f"{value * factor:.4g}" for value in fitted.values]),
        Column("error", [f"{error:+.1%}" for error in fitted.errors]),
    ]
    return Shown(columns, fitted.table.name)
