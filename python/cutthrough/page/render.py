"""From results to the text of a page."""

from __future__ import annotations

import base64
import json
import tomllib
from dataclasses import dataclass
from html import escape
from itertools import combinations, pairwise, zip_longest
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.points.benchmarks as benchmarks
import cutthrough.reports.checks as checks
from cutthrough.arguments.packages import require
from cutthrough.comparison.by_size import greatest
from cutthrough.comparison.matched import METRICS, compare, differing
from cutthrough.display.units import counted, unit_of
from cutthrough.page.activity import activity_of
from cutthrough.page.lines import (
    QUANTITIES,
    axes_of,
    brief,
    headed,
    lines_of,
    quantities_of,
    rows_of,
    settings_of,
    units_of,
)
from cutthrough.page.maps import maps_of
from cutthrough.page.messages import messages_of
from cutthrough.page.series import series_of
from cutthrough.plots.scales import palette
from cutthrough.points.series import label_of
from cutthrough.points.table import has_no_mean, is_saturated, is_unconverged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.resources import Component

    from cutthrough.comparison.matched import Comparison, Difference
    from cutthrough.display.units import Unit
    from cutthrough.results import Results

__all__ = ["Side", "render", "write"]

ASSETS = Path(__file__).with_name("assets")
#: The parts of BokehJS that the page needs.
COMPONENTS: list[Component] = ["bokeh", "bokeh-api"]
#: The scripts of the page, in their order.
SCRIPTS = ("base.js", "curves.js", "points.js", "main.js")
#: Number of colours of heat maps.
COLOURS = 128
#: Greatest number of a sweep's values that are all named, plus one.
MOST_VALUES = 6
#: Greatest number of points whose benchmark tables are shown.
MOST_TABLES = 200
#: Sections of the experiment in a summary, in the order of the file.
SECTIONS = ("topology", "link", "router", "routing", "nic", "workload", "placement", "measure")


@dataclass(frozen=True)
class Side:
    """One of the results of a page.

    Attributes:
        name: The result's name on the page.
        results: The results.
        drawings: Its machines, each with a name and a drawing as SVG.
    """

    name: str
    results: Results
    drawings: Sequence[tuple[str, str]] = ()


def write(sides: Sequence[Side], path: Path) -> int:
    """Writes the page of several results. Returns its size in bytes.

    Raises:
        MissingPackage: bokeh is not installed.
        ValueError: There are no results.
        OSError: The file cannot be written.
    """
    text = render(sides).encode("utf-8")
    atomic.make_folder(path.parent)
    atomic.write(path, text)
    return len(text)


def render(sides: Sequence[Side]) -> str:
    """Returns the page of several results: one HTML document without external references.

    Raises:
        MissingPackage: bokeh is not installed.
        ValueError: There are no results.
    """
    if not sides:
        message = "no results to show"
        raise ValueError(message)
    require("bokeh", "cutthrough report")
    from bokeh.resources import Resources

    title = sides[0].results.title or sides[0].name
    parts = {
        "title": escape(title if len(sides) == 1 else " · ".join(side.name for side in sides)),
        "version": escape(_core.__version__),
        "style": _asset("page.css"),
        # The scripts are one function, so that nothing of the page has a global name.
        "script": "\n".join(['"use strict";', "(() => {", *map(_asset, SCRIPTS), "})();"]),
        # `<` is written as its number, so that it cannot end a script.
        "data": json.dumps(content(sides), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        "bokeh": "\n".join(Resources(mode="inline", components=COMPONENTS).js_raw).replace("</script", "<\\/script"),
    }
    return Template(_asset("page.html")).substitute(parts)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def content(sides: Sequence[Side]) -> dict[str, Any]:
    """Returns the whole content of the page, as plain values."""
    tables = [side.results.by_job() for side in sides]
    points = [point for table in tables for point in table]
    quantities = quantities_of(points)
    units = units_of(points, quantities)
    along = axes_of(tables)
    axis = along[0] if along else None
    maps, note = maps_of([side.results for side in sides])
    series, series_note = series_of([side.results for side in sides])
    axes = list(dict.fromkeys(axis for table in tables for axis in table.axes))
    pairs = list(combinations(range(len(sides)), 2))
    return {
        "results": [_summary(side) for side in sides],
        "differing": [
            [key, *map(_in_words, values)] for key, values in differing([table.experiment for table in tables], axes)
        ],
        "quantities": [[name, headed(QUANTITIES[name], units.get(name))] for name in quantities],
        "axes": axes,
        "axis": {"label": axis.label, "names": bool(axis.names)} if axis else {"label": "", "names": True},
        "lines": [
            line
            for number, (table, own) in enumerate(zip_longest(tables, along))
            for line in lines_of(number, table, own, (quantities, units))
        ],
        "rows": [rows_of(table, quantities, units) for table in tables],
        "places": [settings_of(side.results) for side in sides],
        "maps": maps,
        "mapsNote": note,
        "palette": palette(COLOURS),
        "tables": [_tables(side.results) for side in sides],
        "messages": messages_of([side.results for side in sides]),
        "series": series,
        "seriesNote": series_note,
        "time": activity_of([side.results for side in sides]),
        "comparisons": [
            {"pair": [a, b], **_compared(compare(tables[a], tables[b], (sides[a].name, sides[b].name)))}
            for a, b in pairs
        ],
    }


def _summary(side: Side) -> dict[str, Any]:
    """Returns the summary of a result: its experiment, and the limits of its answer."""
    results = side.results
    asked: dict[str, Any] = tomllib.loads(results.experiment)
    swept = asked.get("sweep", {})
    sections = [[name, label_of(asked[name])] for name in SECTIONS if name in asked]
    sections += [[f"job {job['name']}", label_of(job["workload"])] for job in asked.get("job", ())]
    return {
        "name": side.name,
        "title": results.title,
        "version": results.version,
        "seed": _seeds(results),
        "points": len(results),
        "runs": results.runs,
        "sections": sections,
        "sweep": [[key, _values(values)] for key, values in swept.items()],
        "experiment": results.experiment,
        "warnings": [*_remarks(results), *checks.warnings_of(results.points), *checks.notes_of(results.points)],
        "drawings": [[name, _address(svg)] for name, svg in side.drawings],
    }


def _address(svg: str) -> str:
    """Returns a drawing as a data URL."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode('utf-8')).decode('ascii')}"


def _tables(results: Results) -> str:
    """Returns the tables of benchmarks in the benchmarks' layout. Empty without any."""
    shown = benchmarks.texts(results.points[:MOST_TABLES], results.axes)
    more = sum(any(map(benchmarks.has_table, point.get("jobs") or [point])) for point in results.points[MOST_TABLES:])
    return f"{shown}\n# {more} more points are in benchmarks.txt\n" if more else shown


def _seeds(results: Results) -> str:
    seeds = sorted({point["seed"] for point in results.replicas or results.points if "seed" in point})
    if len(seeds) < 2:
        return str(results.seed)
    follows = seeds == list(range(seeds[0], seeds[-1] + 1))
    named = f"{seeds[0]} to {seeds[-1]}" if follows else ", ".join(map(str, seeds))
    return f"{named}: means of {len(seeds)} seeds"


def _remarks(results: Results) -> list[str]:
    """Returns the notes that come before the curves."""
    total = len(results)
    counts = (
        ("are saturated: latencies there have no mean", sum(map(is_saturated, results))),
        ("have not converged", sum("phases" not in point and is_unconverged(point) for point in results)),
        ("did not finish", sum("phases" in point and point.get("time_ns") is None for point in results)),
    )
    remarks = [f"{count} of {counted(total, 'point')} {what}" for what, count in counts if count]
    return (
        remarks
        if results.complete
        else ["points of the sweep are missing: the run was interrupted, or a share", *remarks]
    )


def _values(values: Sequence[Any]) -> str:
    """Returns the values of a swept key. Numbers at equal distances are given by their ends."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < max(MOST_VALUES, len(values)):
        return _in_words(list(values))
    steps = {round(after - before, 12) for before, after in pairwise(numbers)}
    apart = f", {steps.pop():g} apart" if len(steps) == 1 else ""
    return f"{numbers[0]:g} to {numbers[-1]:g} ({counted(len(numbers), 'value')}{apart})"


def _in_words(value: Any) -> str:
    if value is None:
        return "not there"
    return ", ".join(map(label_of, value)) if isinstance(value, list) else label_of(value)


def _compared(found: Comparison) -> dict[str, Any]:
    """Returns a comparison in few characters: a row for each quantity of each matched point."""
    rows = [
        [
            [_plain(value) for value in match.settings.values()],
            *_in_unit(one),
            one.mark,
            ", ".join(match.notes),
            [own and has_no_mean(one.metric) for own in match.saturated],
        ]
        for match, one in found
    ]
    lonely = [
        [_in_words([f"{key} {label_of(value)}" for key, value in own.items() if value is not None]) for own in side]
        for side in found.unmatched
    ]
    rows += [
        [
            [_plain(value) for value in match.settings.values()],
            f"{headed(own.heading, unit)}, at {own.at} (greatest of {own.rows})",
            *map(brief, (own.a / size, own.b / size, own.relative, None, None)),
            "=" if own.change == 0 else "",
            ", ".join(match.notes),
            [False, False],
        ]
        for match in found.matches
        for own in greatest(match.sizes)
        for unit, size in [_unit_and_size(own.metric, own.a, own.b)]
    ]
    return {
        "axes": found.axes,
        "rows": rows,
        "unmatched": lonely,
        "significant": found.significant,
        "judged": found.judged,
        "confidence": found.confidence,
    }


def _in_unit(one: Difference) -> list[Any]:
    """Returns the heading, the two values, the relative change, the half-width and the p-value of a difference."""
    unit, size = _unit_and_size(one.metric, one.a, one.b)
    a, b, half = (None if value is None else value / size for value in (one.a, one.b, one.half_width))
    return [headed(METRICS[one.metric][0], unit), *map(brief, (a, b, one.relative, half, one.p))]


def _unit_and_size(metric: str, *values: float | None) -> tuple[Unit | None, float]:
    """Returns the unit that suits the values of a quantity, and its size in the unit of files."""
    unit = unit_of(metric, values)
    return unit, 1.0 if unit is None else unit.size


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else label_of(value)
