"""Tables for the terminal. They depend on results only, not on the simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from cutthrough.channels import is_end
from cutthrough.display.tables import Column, Fitted
from cutthrough.display.units import BYTES, TIME, brief, cells_of, counted
from cutthrough.points.details import nested
from cutthrough.points.series import brief_labels, label_of
from cutthrough.points.table import (
    MANY_PHASES,
    half_width,
    has_no_mean,
    has_operations,
    is_saturated,
    is_unconverged,
    phase_times,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.channels import ChannelLoads
    from cutthrough.points.table import PointTable
    from cutthrough.reference.keys import Key

__all__ = [
    "analysis_table",
    "busiest_table",
    "catalogue_table",
    "cell",
    "channels_table",
    "hottest_table",
    "key_table",
    "keys_table",
    "mapping_table",
    "measures_table",
    "phases_table",
    "points_table",
    "reference_note",
    "summary_table",
]

#: Quantities of a point in the table: key, heading to which the unit is added if it can change, format in the unit of
#: files.
SHOWN = (
    ("offered_load", "offered", "{:.3f}"),
    ("accepted_load", "accepted", "{:.4f}"),
    ("accepted_load_min", "min node", "{:.4f}"),
    ("latency_mean_ns", "mean", "{:,.1f}"),
    ("latency_ci_ns", "±", "{:,.1f}"),
    ("latency_p50_ns", "p50", "{:,.0f}"),
    ("latency_p99_ns", "p99", "{:,.0f}"),
    ("hops_mean", "routers", "{:.2f}"),
)
#: Half widths of confidence intervals, and the quantities whose units they share.
CENTRES = {"latency_ci_ns": "latency_mean_ns", "operation_time_ci_ns": "operation_time_mean_ns"}
#: Times of a measure of programs: key, heading, rank.
MEASURES = (
    ("time_mean_ns", "mean of ranks", 0),
    ("time_max_ns", "longest", 2),
    ("span_mean_ns", "first to last", 0),
    ("bound_ns", "bound", 0),
)
#: Quantities in the table for operations that groups begin at a rate.
SHOWN_OPERATIONS = (
    ("offered_load", "offered", "{:.4g}"),
    ("accepted_load", "accepted", "{:.4f}"),
    ("accepted_load_min", "min group", "{:.4f}"),
    ("operation_time_mean_ns", "operation", "{:,.1f}"),
    ("operation_time_ci_ns", "±", "{:,.1f}"),
    ("operation_time_p99_ns", "p99", "{:,.0f}"),
    ("last_begin_mean_ns", "last begin", "{:,.1f}"),
)
#: Additional quantities for multicasts.
SHOWN_MULTICASTS = (
    ("operation_time_mean_ns", "last copy", "{:,.1f}"),
    ("operation_time_p99_ns", "p99", "{:,.0f}"),
)

#: Quantities in the table for a closed workload.
SHOWN_CLOSED = (
    ("time_ns", "time", "{:,.1f}"),
    ("bandwidth_B_per_s", "", "{:,.0f}"),
    ("throughput", "throughput", "{:.4f}"),
    ("hops_mean", "routers", "{:.2f}"),
)
#: Quantities in the table for a benchmark of message latency.
SHOWN_BENCHMARK = (
    ("message_size_B", "bytes", "{:,}"),
    ("pair_channels_mean", "channels", "{:.2f}"),
    ("message_time_mean_ns", "mean", "{:,.1f}"),
    ("message_time_min_ns", "fastest", "{:,.1f}"),
    ("message_time_max_ns", "slowest", "{:,.1f}"),
    ("message_time_spread", "spread", "{:.1%}"),
    ("time_ns", "time", "{:,.0f}"),
)
#: Quantities in the table for a benchmark that gives a table.
SHOWN_TABLE = (
    ("least_time_ns", "least", "{:,.1f}"),
    ("peak_bandwidth_B_per_s", "peak", "{:,.0f}"),
    ("peak_messages_per_s", "peak messages/s", "{:,.0f}"),
    ("time_ns", "time", "{:,.0f}"),
)
#: Quantities in the table for one of several jobs.
SHOWN_JOB = (
    ("offered_load", "offered", "{:.3f}"),
    ("accepted_load", "accepted", "{:.4f}"),
    ("throughput", "throughput", "{:.4f}"),
    ("latency_mean_ns", "mean", "{:,.1f}"),
    ("latency_p99_ns", "p99", "{:,.0f}"),
    ("operation_time_mean_ns", "operation", "{:,.1f}"),
    ("hops_mean", "routers", "{:.2f}"),
    ("time_ns", "time", "{:,.1f}"),
    ("slowdown", "slowdown", "{:.3f}"),
)
#: Quantities with a column for the confidence interval over several seeds, besides the latency's.
BANDS = ("accepted_load", "throughput", "time_ns", "message_time_mean_ns", "slowdown")
#: Additional quantities for an application's step.
SHOWN_APPLICATION = (
    ("step_time_ns", "step", "{:,.1f}"),
    ("compute_ns", "compute", "{:,.0f}"),
    ("hops_per_byte", "hops/byte", "{:.3f}"),
)
#: Additional quantities for a program that measures its times: a collective operation, a training step.
SHOWN_TIMES = (
    ("operation_time_mean_ns", "mean", "{:,.1f}"),
    ("operation_span_mean_ns", "span", "{:,.1f}"),
    ("operation_bound_ns", "bound", "{:,.1f}"),
)
#: Lower bounds. 0 says nothing, and is not shown.
BOUNDS = frozenset({"bound_ns", "operation_bound_ns"})
#: Additional quantities for measured messages.
SHOWN_MESSAGES = (
    ("messages.latency_mean_ns", "message mean", "{:,.1f}"),
    ("messages.latency_p99_ns", "message p99", "{:,.0f}"),
    ("messages.slowdown_mean", "slowdown mean", "{:.3f}"),
    ("messages.slowdown_p99", "slowdown p99", "{:.3f}"),
)
#: Headings of the columns of a table of channels.
WORDS = {
    "utilization": "used",
    "load": "load",
    "exact": "exact",
    "equal_service": "equal service",
    "without_acknowledgements": "without acks",
    "upper_bound": "upper bound",
    "even_spread": "even spread",
}


#: Meanings of the columns beside the measured loads, and of a value above 1.
REFERENCES = {
    "exact": ("what the routing puts on a channel", "the nodes are not served equally"),
    "equal_service": (
        "what the routing would put on a channel if every node were served as the mean",
        "the nodes are not served equally",
    ),
    "without_acknowledgements": (
        "what the trees of groups put on a channel, without the packets that acknowledge results",
        "the nodes are not served equally",
    ),
    "upper_bound": (
        "the most that the routing puts on a channel, with copies by several paths",
        "the routing puts less on it, or the nodes are not served equally",
    ),
    "even_spread": (
        "what a channel would carry if every hop spread its packets evenly over its candidates",
        "such a spread could not carry this load, and the routing's choices do",
    ),
}


#: Measures of a mapping in the table: key, heading, format.
SHOWN_MAPPING = (
    ("hops_per_byte", "hops/byte", "{:.4f}"),
    ("hop_bytes", "hop-bytes", "{:,.0f}"),
    ("dilation_max", "most hops", "{:.0f}"),
    ("max_channel_load", "max channel B", "{:,.0f}"),
    ("mean_channel_load", "mean channel B", "{:,.0f}"),
    ("imbalance", "imbalance", "{:.3f}"),
    ("proxies", "proxies", "{:,.0f}"),
    ("wall_s", "seconds", "{:.2f}"),
)


#: The mark of values of saturated points that have no mean.
MARK = "†"
#: Columns in the order in which they are left out of a table that is too wide. All others are always shown.
LEFT_OUT_FIRST = (
    "latency_p50_ns",
    "messages.latency_mean_ns",
    "messages.slowdown_mean",
    "wall_s",
    "proxies",
    "hops_mean",
    "pair_channels_mean",
    "mean_channel_load",
    "accepted_load_min",
    "last_begin_mean_ns",
    "imbalance",
    "dilation_max",
    "message_time_spread",
    "compute_ns",
    "operation_time_mean_ns",
    "hops_per_byte",
    "latency_p99_ns",
    "bandwidth_B_per_s",
    "latency_ci_ns",
    "operation_time_ci_ns",
    "operation_time_p99_ns",
    "hop_bytes",
    "messages.latency_p99_ns",
    "messages.slowdown_p99",
    "offered_load",
    "saturation_bracket",
)
#: The rank of columns of phases, which are left out before all others.
PHASE_RANK = len(LEFT_OUT_FIRST) + 1
#: The rank of the number of seeds.
SEEDS_RANK = 4
#: Rows of a table of phases: of the first, of the slowest, and of the last.
FIRST_PHASES, SLOWEST_PHASES, LAST_PHASES = 2, 5, 1


def mapping_table(mappings: Sequence[Mapping[str, Any]], simulated: str = "step") -> Fitted:
    """Returns one line a mapping: its strategy, its measures, and its simulated time under the heading `simulated`."""
    shown = [*SHOWN_MAPPING]
    if any("step_time_ns" in mapping for mapping in mappings):
        shown.append(("step_time_ns", simulated, "{:,.0f}"))
    columns = [Column("strategy", [mapping["strategy"] for mapping in mappings], is_text=True)]
    for key, heading, form in shown:
        columns.append(_column((key, heading, form), [mapping[key] for mapping in mappings], _rank(key)))
    return Fitted(columns, elsewhere="`--json` has them.")


def points_table(results: PointTable) -> Fitted:
    """Returns one line a point: its sweep keys, loads and latencies or times, and whether it is saturated.

    Each job of a point has a separate line.
    """
    results = results.by_job()
    axes = [axis for axis in results.axes if axis not in {"workload.load", "workload.benchmark.message_size"}]
    columns = []
    for axis in axes:
        brief = brief_labels([point.get(axis) for point in results])
        cells = [brief[label_of(point.get(axis))] for point in results]
        columns.append(Column(axis.rsplit(".", 1)[-1], cells, is_text=True))
    searched = any(point.get("saturation_bracket") for point in results)
    # The load distinguishes points, except in searches and where it is one job's.
    kept = set() if searched or "job" in results.axes else {"offered_load"}
    if any(map(has_operations, results)):
        kept.add("operation_time_mean_ns")
    for key, heading, form in _shown(results):
        rank = 0 if key in kept else _rank(key)
        values = [nested(point, key) for point in results]
        scale = [nested(point, CENTRES[key]) for point in results] if key in CENTRES else None
        columns.append(_marked(_column((key, heading, form), values, rank, scale), key, results))
        if key in BANDS and any("ci" in point for point in results):
            halves = [half_width(point, key) for point in results]
            columns.append(_column((key, f"± {heading}", form), halves, _rank("latency_ci_ns"), values))
    if searched:
        columns += _saturation_columns(results)
    if any("seeds" in point for point in results):
        columns.append(Column("seeds", [f"{point.get('seeds', 1):,}" for point in results], SEEDS_RANK))
    if "job" not in results.axes:
        columns += _phase_columns(results)
    columns.append(Column("", [_remark(point) for point in results], is_text=True))
    styles = [_tint(point) for point in results]
    has_marks = any(cell.endswith(MARK) for column in columns for cell in column.cells)
    note = f"{MARK} saturated: latency and slowdown grow with the run and have no mean." if has_marks else ""
    return Fitted(columns, results.title, styles, "points.csv and `--json` have them.", note)


def _column(
    shown: tuple[str, str, str], values: Sequence[Any], rank: int, scale: Sequence[Any] | None = None
) -> Column:
    """Returns a column of a quantity in the unit that suits its values, or those of `scale`."""
    key, heading, form = shown
    values = [value or None for value in values] if key in BOUNDS else values
    unit, cells = cells_of(key, form, values, scale)
    return Column(" ".join(filter(None, (heading, unit))), cells, rank)


def _marked(column: Column, key: str, results: PointTable) -> Column:
    """Returns a column with a mark at the values of saturated points that have no mean past saturation."""
    if not (has_no_mean(key) and any(map(is_saturated, results))):
        return column
    cells = [
        f"{text}{MARK}" if is_saturated(point) and text != "-" else text
        for text, point in zip(column.cells, results, strict=True)
    ]
    # Digits are aligned with digits.
    return replace(column, cells=[text if text.endswith(MARK) else f"{text} " for text in cells])


def _saturation_columns(results: PointTable) -> list[Column]:
    """Returns the results of a search: the load that is carried for every source, and the saturation bracket."""
    carried = [cell(point.get("saturation_load"), "{:.4f}") for point in results]
    return [
        Column("saturation", carried),
        Column(
            "bracket",
            [_bracket(point.get("saturation_bracket")) for point in results],
            _rank("saturation_bracket"),
            is_text=True,
        ),
    ]


def _bracket(bracket: Sequence[float] | None) -> str:
    """Returns the largest load that was carried and the smallest that was not, or that all loads were carried."""
    if bracket is None:
        return "-"
    low, high = bracket
    return f"{low:.3f} to {high:.3f}" if low < high else f"no saturation up to {high:.1f}"


def _phase_columns(results: PointTable) -> list[Column]:
    """Returns a column for each phase. If there are many, returns their number and the time of the slowest."""
    times = [phase_times(point) for point in results]
    most = max(map(len, times), default=0)
    if most > MANY_PHASES:
        ended = [[time for time in own if time is not None] for own in times]
        slowest = [max(own, default=None) for own in ended]
        return [
            Column("phases", [f"{len(own):,}" for own in times]),
            _column((TIME, "slowest", "{:,.1f}"), slowest, 0),
        ]
    return [
        _column(
            (TIME, f"phase {number}", "{:,.1f}"),
            [own[number] if number < len(own) else None for own in times],
            PHASE_RANK,
        )
        for number in range(most)
    ]


def measures_table(points: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Fitted:
    """Returns the table of times that programs measure, such as the parts of a training step: a line for each.

    Args:
        points: Points, or jobs.
        names: The name of each point. Empty where there is nothing to distinguish.
    """
    rows = [(name, own) for name, point in zip(names, points, strict=True) for own in point.get("measures", ())]
    own = [measure for _, measure in rows]
    columns = [
        _column((key, heading, "{:,.1f}"), [measure.get(key) or None for measure in own], rank)
        for key, heading, rank in MEASURES
    ]
    over = [
        cell(measure["span_mean_ns"] / measure["bound_ns"], "{:.2f}")
        if measure.get("span_mean_ns") and measure.get("bound_ns")
        else "-"
        for measure in own
    ]
    which = [Column("at", [name for name, _ in rows], is_text=True)] if any(names) else []
    return Fitted(
        [
            *which,
            Column("part", [measure["name"] for measure in own], is_text=True),
            *columns,
            Column("x bound", over, 1),
        ],
        elsewhere="`--json` has them.",
    )


def phases_table(point: Mapping[str, Any], title: str = "") -> Fitted:
    """Returns a table of the first, the slowest and the last of many phases, and of their sum."""
    times = phase_times(point)
    ended = [number for number, time in enumerate(times) if time is not None]
    slowest = sorted(ended, key=lambda number: (-(times[number] or 0.0), number))[:SLOWEST_PHASES]
    ends = {*range(FIRST_PHASES), *range(len(times) - LAST_PHASES, len(times))}
    rows = sorted({*slowest, *(number for number in ends if 0 <= number < len(times))})
    total = sum(times[number] or 0.0 for number in ended)
    names = [f"phase {number}" for number in rows]
    mean = total / len(ended) if ended else None
    spent = _column((TIME, "time", "{:,.1f}"), [*(times[number] for number in rows), mean, total], 0)
    shares = [cell((times[number] or 0.0) / total if total else None, "{:.2%}") for number in rows]
    remarks = ["slowest" if slowest and number == slowest[0] else "" for number in rows]
    columns = [
        Column("", [*names, f"mean of {len(ended):,}", f"all {len(times):,}"], is_text=True),
        spent,
        Column("share", [*shares, cell(1 / len(ended) if ended else None, "{:.2%}"), "100.00%" if total else "-"]),
        Column("", [*remarks, "", ""], is_text=True),
    ]
    return Fitted(columns, title)


def analysis_table(classes: Sequence[Mapping[str, Any]]) -> Fitted:
    """Returns channel loads by class, per unit of offered load."""
    return Fitted(
        [
            Column("class of channels", [loads["class"] for loads in classes], is_text=True),
            Column("channels", [f"{loads['channels']:,}" for loads in classes], 1),
            Column("max load", [f"{loads['max']:.4f}" for loads in classes]),
            Column("mean load", [f"{loads['mean']:.4f}" for loads in classes], 2),
        ],
        elsewhere="`--json` has them.",
    )


def buffers_table(spans: Sequence[Mapping[str, Any]]) -> Fitted:
    """Returns the depth of buffers by class of channels, beside the round trip of the cable alone."""
    ratios = [
        f"{span['buffer_bytes'] / trip:,.2f}" if (trip := span["cable_round_trip_bytes"]) else "-" for span in spans
    ]
    return Fitted(
        [
            Column("buffers behind", [span["class"] for span in spans], is_text=True),
            Column("bytes", [f"{span['buffer_bytes']:,}" for span in spans]),
            Column("round trip of the cable, bytes", [f"{span['cable_round_trip_bytes']:,}" for span in spans], 1),
            Column("round trips", ratios),
        ],
        elsewhere="`--json` has them.",
    )


def memory_lines(routers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the buffers of routers, with equal ones merged."""
    return [
        f"{brief(of['bytes'], BYTES)} ({counted(of['routers'], 'router')} of {counted(of['ports'], 'port')})"
        for of in routers
    ]


def channels_table(loads: ChannelLoads) -> Fitted:
    """Returns the measured utilization of each class of channels, and the load that it should carry."""
    rows = loads.by_direction()
    names = [name for name in (loads.quantity, loads.reference) if name]
    columns = [
        Column("class", [row["class"] for row in rows], is_text=True),
        Column("channels", [f"{row['channels']:,}" for row in rows], 1),
    ]
    for part, rank in (("mean", 2), ("max", 0)):
        for name in names:
            columns.append(Column(f"{part} {WORDS[name]}", [f"{row[name][part]:.4f}" for row in rows], rank))
    return Fitted(columns, elsewhere="`--json` has them.")


def hottest_table(loads: ChannelLoads, count: int = 8) -> Fitted:
    """Returns the most used channels between routers, and hotter ones of nodes, the hottest first."""
    rows = loads.hottest(count)
    columns = [
        Column("hottest", [row["part"] for row in rows], is_text=True),
        # The heading has the word that nearly all rows share, so that a line has at most 80 columns.
        Column("from router → to router", [row["name"].replace("router ", "") for row in rows], is_text=True),
    ]
    for name in (name for name in (loads.quantity, loads.reference) if name):
        columns.append(Column(WORDS[name], [f"{row[name]:.4f}" for row in rows]))
    return Fitted(columns)


def summary_table(point: Mapping[str, Any], parts: Sequence[str] = ("mean", "p50", "p99", "max")) -> Fitted:
    """Returns the distribution of the utilization of each class of channels, of a point that summarizes them."""
    rows = point["class_utilization"]
    columns = [
        Column("class", [row["class"] for row in rows], is_text=True),
        Column("channels", [f"{row['channels']:,}" for row in rows], 1),
    ]
    columns += [Column(part, [f"{row['quantiles'][part]:.4f}" for row in rows]) for part in parts]
    return Fitted(columns, elsewhere="`--json` has them.")


def busiest_table(point: Mapping[str, Any], count: int = 8) -> Fitted:
    """Returns the first of the hottest channels that a point lists, between routers if it lists some."""
    rows = point["hottest_channels"]
    rows = ([row for row in rows if not is_end(row["class"])] or rows)[:count]
    columns = [Column(name, [str(row[name]) for row in rows], is_text=True) for name in ("class", "channel")]
    return Fitted([*columns, Column(WORDS["utilization"], [f"{row['utilization']:.4f}" for row in rows])])


def reference_note(loads: ChannelLoads) -> str | None:
    """Returns the meaning of the column beside the measured loads, and of a value above 1 if it has one.

    None without such a column.
    """
    if loads.reference is None:
        return None
    meaning, beyond = REFERENCES[loads.reference]
    above = f"; above 1, {beyond}" if loads.values(loads.reference).max(initial=0.0) > 1.0 else ""
    return f"{WORDS[loads.reference]}: {meaning}, at the accepted load{above}"


def catalogue_table(kind: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the table of everything of one kind that an experiment file can name."""
    table = Table(
        title=kind or None, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False
    )
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    table.add_column(style="dim")
    for entry in entries:
        table.add_row(*map(Text, (f"  {entry['name']}", entry["summary"], ", ".join(entry.get("keys", ())))))
    return table


def keys_table(keys: Sequence[Key]) -> Table:
    """Returns the keys of a section: type and range, default, meaning."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("key", style="cyan", no_wrap=True)
    for heading in ("value", "default", "meaning"):
        table.add_column(heading, ratio=None if heading != "meaning" else 1)
    for key in keys:
        value = f"{key.value}, {key.range}" if key.range else key.value
        default = key.default if key.default is not None else "required" if key.required else ""
        table.add_row(*map(Text, (key.name, value, default, " ".join(key.doc.split()))))
    return table


def key_table(key: Key, example: str) -> Table:
    """Returns the table of a key, a line for each property."""
    default = key.default if key.default is not None else "none: it is required" if key.required else "none"
    facts = {"value": key.value, "unit": key.unit, "default": default, "range": key.range}
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, fact in facts.items():
        if fact:
            table.add_row(name, Text(fact))
    for word, doc in key.words:
        table.add_row(
            "" if word != key.words[0][0] else "words", Text(f'"{word}": {" ".join(doc.split())}'.rstrip(": "))
        )
    table.add_row("example", Text(example))
    return table


def _shown(results: PointTable) -> tuple[tuple[str, str, str], ...]:
    """Returns the quantities that suit the workload and its measurements."""
    keys = {key for point in results for key in point}
    return _shown_of(results, keys) + (SHOWN_MESSAGES if "messages" in keys else ())


def _shown_of(results: PointTable, keys: set[str]) -> tuple[tuple[str, str, str], ...]:
    """Returns the quantities that suit the kind of workload."""
    if "job" in results.axes:
        return tuple(shown for shown in SHOWN_JOB if shown[0] in keys)
    if "pairs" in keys:
        return SHOWN_BENCHMARK
    if "benchmark_rows" in keys:
        return tuple(shown for shown in SHOWN_TABLE if any(point.get(shown[0]) is not None for point in results))
    if "phases" not in keys:
        if any(map(has_operations, results)):
            return tuple(
                shown for shown in SHOWN_OPERATIONS if any(point.get(shown[0]) is not None for point in results)
            )
        return SHOWN + (SHOWN_MULTICASTS if "operations" in keys else ())
    more = (*SHOWN_APPLICATION, *SHOWN_TIMES)
    return SHOWN_CLOSED + tuple(shown for shown in more if shown[0] in keys)


def _rank(key: str) -> int:
    """Returns the rank at which a quantity's column is left out. 0 for never."""
    return len(LEFT_OUT_FIRST) - LEFT_OUT_FIRST.index(key) if key in LEFT_OUT_FIRST else 0


def _remark(point: Mapping[str, Any]) -> str:
    if "phases" in point and point.get("time_ns") is None:
        return "not finished"
    words = (("saturated", is_saturated(point)), ("not converged", is_unconverged(point)))
    return ", ".join(word + _of_seeds(point, word) for word, holds in words if holds)


def _of_seeds(point: Mapping[str, Any], word: str) -> str:
    """Returns for how many seeds a mark holds, if it does not hold for all."""
    seeds = point.get("seeds", 0)
    count = point.get("seeds_saturated", seeds) if word == "saturated" else seeds - point.get("seeds_converged", 0)
    return f" ({count} of {seeds} seeds)" if 0 < count < seeds else ""


def cell(value: Any, form: str) -> str:
    """Returns a value by its format, or a dash where there is none."""
    return "-" if value is None else form.format(value)


def _tint(point: Mapping[str, Any]) -> str:
    return "yellow" if is_saturated(point) or is_unconverged(point) else ""
