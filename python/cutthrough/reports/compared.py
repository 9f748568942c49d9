"""Comparisons as tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.comparison.by_size import HEADINGS, greatest
from cutthrough.comparison.matched import in_unit
from cutthrough.display.tables import Column, Fitted
from cutthrough.points.series import brief_labels, label_of
from cutthrough.points.table import has_no_mean
from cutthrough.reports.tables import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.comparison.matched import Comparison, Match

__all__ = ["comparison_table", "sizes_table"]


def comparison_table(comparison: Comparison) -> Fitted:
    """Returns one line for each quantity of each matched point: the two values, the change, and its significance."""
    rows = list(comparison)
    columns = _settings_columns(comparison, [match for match, _ in rows])
    texts = [in_unit(own.metric, own.a, own.b, own.half_width) for _, own in rows]
    columns.append(Column("quantity", [heading for heading, _ in texts], is_text=True))
    sides = [
        [_marked(match, place, texts[row][1][place], own.metric) for row, (match, own) in enumerate(rows)]
        for place in (0, 1)
    ]
    columns += [Column(name, cells) for name, cells in zip(comparison.names, sides, strict=True)]
    columns.append(Column("± change", [half for _, (_, _, half) in texts], 3))
    columns.append(Column("change", [cell(difference.relative, "{:+.2%}") for _, difference in rows]))
    columns.append(Column("p", [cell(difference.p, "{:.2g}") for _, difference in rows], 2))
    columns.append(Column("", [difference.mark for _, difference in rows], is_text=True))
    columns.append(Column("remarks", [", ".join(match.notes) for match, _ in rows], 1, is_text=True))
    styles = ["bold" if difference.significant else "" for _, difference in rows]
    return Fitted(columns, styles=styles, elsewhere="`--json` has them.")


def _marked(match: Match, place: int, text: str, metric: str) -> str:
    """Returns a value, marked if its point is saturated and it has no mean."""
    return f"{text}†" if match.saturated[place] and has_no_mean(metric) and text != "-" else text


def sizes_table(comparison: Comparison) -> Fitted | None:
    """Returns the sizes at which the tables of benchmarks differ most, a line for each quantity of each point.

    None without tables.
    """
    rows = [(match, own) for match in comparison.matches for own in greatest(match.sizes)]
    if not rows:
        return None
    texts = [in_unit(own.metric, own.a, own.b, among=HEADINGS) for _, own in rows]
    columns = [
        *_settings_columns(comparison, [match for match, _ in rows]),
        Column("quantity", [heading for heading, _ in texts], is_text=True),
        Column("greatest at", [own.at for _, own in rows]),
        *(Column(name, [cells[side] for _, cells in texts]) for side, name in enumerate(comparison.names)),
        Column("change", [cell(own.relative, "{:+.2%}") for _, own in rows]),
        Column("of rows", [str(own.rows) for _, own in rows], 1),
    ]
    return Fitted(columns, "By size", elsewhere="`--json` has all sizes.")


def _settings_columns(comparison: Comparison, matches: Sequence[Match]) -> list[Column]:
    """Returns the columns that distinguish the points of rows."""
    columns = []
    for axis in comparison.axes:
        brief = brief_labels([match.settings[axis] for match in comparison.matches])
        cells = [brief[label_of(match.settings[axis])] for match in matches]
        columns.append(Column(axis.rsplit(".", 1)[-1], cells, is_text=True))
    return columns
