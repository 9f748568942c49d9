"""Tables for the terminal. They depend on results only, not on the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from cutthrough.series import label_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.channels import ChannelLoads
    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

__all__ = [
    "analysis_table",
    "catalogue_table",
    "channels_table",
    "check_table",
    "claims_table",
    "hottest_table",
    "mapping_table",
    "points_table",
    "sensitivity_table",
    "warnings_of",
]

#: The quantities of a point that are shown: key, heading, format.
SHOWN = (
    ("offered_load", "offered", "{:.3f}"),
    ("accepted_load", "accepted", "{:.4f}"),
    ("accepted_load_min", "min node", "{:.4f}"),
    ("latency_mean_ns", "mean ns", "{:,.1f}"),
    ("latency_ci_ns", "± ns", "{:,.1f}"),
    ("latency_p50_ns", "p50 ns", "{:,.0f}"),
    ("latency_p99_ns", "p99 ns", "{:,.0f}"),
    ("hops_mean", "routers", "{:.2f}"),
)

#: The same of a closed workload.
SHOWN_CLOSED = (
    ("time_ns", "time ns", "{:,.1f}"),
    ("bandwidth_B_per_s", "GB/s", "{:,.2f}"),
    ("accepted_load", "throughput", "{:.4f}"),
    ("hops_mean", "routers", "{:.2f}"),
)
#: The same of a benchmark of message latency.
SHOWN_BENCHMARK = (
    ("message_size_B", "bytes", "{:,}"),
    ("pair_channels_mean", "channels", "{:.2f}"),
    ("message_time_mean_ns", "mean ns", "{:,.1f}"),
    ("message_time_min_ns", "fastest ns", "{:,.1f}"),
    ("message_time_max_ns", "slowest ns", "{:,.1f}"),
    ("message_time_spread", "spread", "{:.1%}"),
    ("time_ns", "time ns", "{:,.0f}"),
)
#: The same of one of several jobs.
SHOWN_JOB = (
    ("offered_load", "offered", "{:.3f}"),
    ("accepted_load", "accepted", "{:.4f}"),
    ("latency_mean_ns", "mean ns", "{:,.1f}"),
    ("latency_p99_ns", "p99 ns", "{:,.0f}"),
    ("hops_mean", "routers", "{:.2f}"),
    ("time_ns", "time ns", "{:,.1f}"),
    ("slowdown", "slowdown", "{:.3f}"),
)
#: What an application's step has besides.
SHOWN_APPLICATION = (("compute_ns", "compute ns", "{:,.0f}"), ("hops_per_byte", "hops/byte", "{:.3f}"))
#: What the columns of a table of channels are called.
WORDS = {"utilization": "used", "load": "load", "exact": "exact", "even_spread": "even spread"}


#: The measures of a mapping that are shown: key, heading, format.
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


def mapping_table(mappings: Sequence[Mapping[str, Any]]) -> Table:
    """One line a mapping: its strategy and its measures."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("strategy")
    shown = [*SHOWN_MAPPING]
    if any("step_time_ns" in mapping for mapping in mappings):
        shown.append(("step_time_ns", "step ns", "{:,.0f}"))
    for _, heading, _ in shown:
        table.add_column(heading, justify="right")
    for mapping in mappings:
        table.add_row(mapping["strategy"], *(form.format(mapping[key]) for key, _, form in shown))
    return table


def points_table(results: Results) -> Table:
    """One line a point: its sweep keys, loads, latencies, and whether it is saturated; or times of closed workloads.

    Of several jobs, one line for each job of each point.
    """
    results = results.by_job()
    table = Table(title=results.title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    shown = _shown(results)
    axes = [axis for axis in results.axes if axis not in {"workload.load", "workload.benchmark.message_size"}]
    for axis in axes:
        table.add_column(axis.rsplit(".", 1)[-1])
    alone = "job" not in results.axes
    phases = range(max((len(point.get("phases", ())) for point in results if alone), default=0))
    for _, heading, _ in shown:
        table.add_column(heading, justify="right")
    for phase in phases:
        table.add_column(f"phase {phase} ns", justify="right")
    table.add_column("")
    for point in results:
        cells = [label_of(point.get(axis)) for axis in axes]
        cells += [_cell(_scaled(point, key), form) for key, _, form in shown]
        cells += [_cell(_phase_time(point, phase), "{:,.1f}") for phase in phases]
        table.add_row(*cells, _remark(point), style=_tint(point))
    return table


def analysis_table(analysis: Mapping[str, Any]) -> Table:
    """Channel loads by class, per unit of offered load."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("class of channels")
    table.add_column("channels", justify="right")
    table.add_column("max load", justify="right")
    table.add_column("mean load", justify="right")
    for loads in analysis["class_loads"]:
        table.add_row(loads["class"], f"{loads['channels']:,}", f"{loads['max']:.4f}", f"{loads['mean']:.4f}")
    return table


def channels_table(loads: ChannelLoads) -> Table:
    """How much each class of channels is used, and should be."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("class of channels")
    columns = [name for name in (loads.quantity, loads.reference) if name]
    for heading in ("channels", *(f"{part} {WORDS[name]}" for part in ("mean", "max") for name in columns)):
        table.add_column(heading, justify="right")
    for row in loads.by_class():
        values = [f"{row[name][part]:.4f}" for part in ("mean", "max") for name in columns]
        table.add_row(row["class"], f"{row['channels']:,}", *values)
    return table


def hottest_table(loads: ChannelLoads, count: int = 8) -> Table:
    """The most used channels between routers, the hottest first."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("hottest channels")
    table.add_column("")
    columns = [name for name in (loads.quantity, loads.reference) if name]
    for name in columns:
        table.add_column(WORDS[name], justify="right")
    for row in loads.hottest(count):
        table.add_row(row["class"], row["name"], *(f"{row[name]:.4f}" for name in columns))
    return table


def check_table(report: Mapping[str, Any]) -> Table:
    """Name and value, a line each."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in report.items():
        if value is not None and not isinstance(value, dict | list):
            table.add_row(name.replace("_", " "), f"{value:,}" if _is_integer(value) else str(value))
    for alike in report.get("router_memory", ()):
        what = f"{alike['routers']:,} of {alike['ports']} ports"
        table.add_row("buffers of a router", f"{alike['bytes'] / 1e6:,.3f} MB ({what})")
    return table


def warnings_of(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """The warnings of points, each once, with the number of points that it holds for if these are not all."""
    counted: dict[str, int] = {}
    for point in points:
        for warning in point.get("warnings", ()):
            message = f"{warning['message']} (`{warning['key']}`)"
            counted[message] = counted.get(message, 0) + 1
    part = {count: f" [{count} of {len(points)} points]" for count in counted.values() if count < len(points)}
    return [f"warning: {message}{part.get(count, '')}" for message, count in counted.items()]


def catalogue_table(kind: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Everything of one kind that an experiment file can name."""
    table = Table(title=kind, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    table.add_column(style="dim")
    for entry in entries:
        table.add_row(f"  {entry['name']}", entry["summary"], ", ".join(entry.get("keys", ())))
    return table


def claims_table(title: str, claims: Sequence[Claim]) -> Table:
    """Paper, here, verdict: a line each."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for heading in ("figure", "claim"):
        table.add_column(heading)
    for heading in ("paper", "here", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("holds if", no_wrap=True)
    table.add_column("verdict")
    for claim in claims:
        verdict = "[green]holds[/]" if claim.ok else "[red]differs[/]"
        cells = (claim.figure, claim.text, claim.paper, f"{claim.here:.4g}", claim.unit, str(claim.expect), verdict)
        table.add_row(*cells)
    return table


def sensitivity_table(claims: Sequence[Claim]) -> Table:
    """Every claim's number under each variant of what the paper leaves open."""
    table = Table(title="\nUnder other choices", title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("claim", no_wrap=True)
    variants = list(dict.fromkeys(variant for claim in claims for variant in claim.sensitivity))
    for variant in variants:
        table.add_column(variant, justify="right")
    for claim in (claim for claim in claims if claim.sensitivity):
        table.add_row(claim.id, *(_cell(claim.sensitivity.get(variant), "{:.4g}") for variant in variants))
    return table


def _shown(results: Results) -> tuple[tuple[str, str, str], ...]:
    """The quantities that suit what was run."""
    keys = {key for point in results for key in point}
    if "job" in results.axes:
        return tuple(shown for shown in SHOWN_JOB if shown[0] in keys)
    if "pairs" in keys:
        return SHOWN_BENCHMARK
    if "phases" not in keys:
        return SHOWN
    return SHOWN_CLOSED + tuple(shown for shown in SHOWN_APPLICATION if shown[0] in keys)


def _scaled(point: Mapping[str, Any], key: str) -> Any:
    """A quantity in the unit of its column."""
    value = point.get(key)
    return value / 1e9 if key == "bandwidth_B_per_s" and value is not None else value


def _phase_time(point: Mapping[str, Any], phase: int) -> float | None:
    phases = point.get("phases", ())
    return phases[phase]["time_ns"] if phase < len(phases) else None


def _remark(point: Mapping[str, Any]) -> str:
    if "phases" in point and point.get("time_ns") is None:
        return "not finished"
    return "saturated" if point.get("saturated") else ""


def _cell(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)


def _tint(point: Mapping[str, Any]) -> str:
    return "yellow" if point.get("saturated") else ""


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
