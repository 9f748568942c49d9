"""Reports before a simulation, for the terminal: tables of `check`, the cost of a run, warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.table import Table

from cutthrough.display.tables import Column, Fitted
from cutthrough.display.units import BYTES, SECONDS, brief, counted, plain_number, shown, unit_of
from cutthrough.points.series import brief_labels, label_of
from cutthrough.reports.tables import memory_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["check_table", "checks_table", "cost_line", "notes_of", "warnings_of"]

#: Nanoseconds in a picosecond.
PICOSECONDS = 1e-3
#: The smallest count that is shown with three digits and an exponent.
WRITTEN_OUT = 1e5
#: A number in a warning, with its unit.
QUANTITY = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?: (?:[KMG]i?|k)?B\b| [pnum]?s\b)?")


def check_table(report: Mapping[str, Any]) -> Table:
    """Returns the table of one point: a line for each quantity, with name and value."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    bounds = {"seconds": _least_time, "seconds_most": _most_time}
    for name, value in report.items():
        if name in bounds:
            table.add_row(name.replace("seconds", "time").replace("_", " "), bounds[name](report))
        elif value is not None and not isinstance(value, dict | list):
            table.add_row(*_shown_row(name, value))
    for line in memory_lines(report.get("router_memory", ())):
        table.add_row("buffers of a router", line)
    return table


def checks_table(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Fitted:
    """Returns one line a point: its sweep keys, its network, whether it can deadlock, and the cost of running it."""
    columns = []
    for axis in axes:
        labels = brief_labels([point.get(axis) for point in points])
        cells = [labels[label_of(point.get(axis))] for point in points]
        columns.append(Column(axis.rsplit(".", 1)[-1], cells, is_text=True))
    columns += [
        Column("nodes", [f"{point['nodes']:,}" for point in points], 3),
        Column("channels", [f"{point['channels']:,}" for point in points], 4),
        Column("VCs", [str(point["vcs"]) for point in points], 5),
        Column("deadlock", ["free" if point["deadlock_free"] else "possible" for point in points], 1),
        Column("time", [_least_time(point) for point in points]),
        Column("at most", [_most_time(point) for point in points], 2),
        Column("memory", [brief(point["memory_bytes"], BYTES) for point in points]),
        Column("warnings", [str(len(point["warnings"]) or "") for point in points]),
    ]
    return Fitted(columns, elsewhere="`--json` has them.")


def _least_time(point: Mapping[str, Any]) -> str:
    """Returns the processor time of a point, marked where it is a lower bound."""
    bound = point["is_lower_bound"] and not point["is_upper_bound"]
    return f"{'≥ ' if bound else ''}{brief(point['seconds'], SECONDS)}"


def _most_time(point: Mapping[str, Any]) -> str:
    """Returns the largest processor time of a point, or a dash where no bound is known."""
    return "-" if point["is_lower_bound"] else brief(point["seconds_most"], SECONDS)


def cost_line(points: Sequence[Mapping[str, Any]]) -> str:
    """Returns the cost of running all points, in a sentence."""
    least, most = (sum(point[key] for point in points) for key in ("seconds", "seconds_most"))
    hops, messages = (
        sum(point[key] + point[f"{key}_alone"] for point in points) for key in ("packet_hops", "messages")
    )
    memory = max(point["memory_bytes"] for point in points)
    bound = any(point["is_lower_bound"] for point in points)
    closed = f"up to {brief(most, SECONDS)} if none converges, " if most > least and not bound else ""
    cut = any(point["is_upper_bound"] for point in points)
    about = "About" if bound == cut else "At least" if bound else "At most"
    speeds = [f"{speed(point['packet_hops_per_s'] for point in points) / 1e6:,.2g}" for speed in (min, max)]
    rates = [f"{' to '.join(dict.fromkeys(speeds))} M packet-hops"] if hops else []
    rates += [f"{points[0]['messages_per_s'] / 1e6:,.3g} M messages of ranks"] if messages or not hops else []
    runs = [sum(point[key] for point in points) for key in ("runs", "runs_most")]
    counted = " to ".join(dict.fromkeys(f"{number:,}" for number in runs))
    searches = f" Searches take {counted} runs in all." if runs[1] > len(points) else ""
    why = " Traffic lasts until a job ends whose time is not known before the run." if bound else ""
    why += " A workload may be ended before it has sent everything." if cut else ""
    work = f"{_count(hops)} packet-hops, {_count(messages)} messages"
    return (
        f"{about} {brief(least, SECONDS)} on one core ({work}; a core makes "
        f"{' or '.join(rates)} a second), {closed}and up to {brief(memory, BYTES)} a point that runs at a time."
        f"{searches}{why}"
    )


def _count(number: float) -> str:
    """Returns a whole number with all of its digits, or three of them if it has many."""
    return f"{number:,.0f}" if number < WRITTEN_OUT else f"{number:.3g}"


def notes_of(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns what readers have left out or assumed, each note once, what reuse has saved, and errors of flows."""
    notes = (note for point in points for note in point.get("notes", ()))
    return list(dict.fromkeys((*notes, *_saved_by_reuse(points), *_errors_of_flows(points))))


def _errors_of_flows(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Returns the error of the flow model on the sample of each point."""
    for found in (point["validation"] for point in points if point.get("validation")):
        sample = f"validation by packets ({found['sample']}; {_count(found['packets'])} packets)"
        if found["error_mean"] is None:
            yield f"{sample}: no messages"
            continue
        late = f", {_count(found['late_messages'])} of them late" if found["late_messages"] else ""
        yield (
            f"{sample}: mean error {found['error_mean']:.2%}, largest {found['error_max']:.2%} over "
            f"{_count(found['messages'])} messages{late}"
        )


def _saved_by_reuse(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Returns the sums of the counts of reuse, and the reasons why runs were repeated without it."""
    with_reuse = [(point, point["reuse"]) for point in points if point.get("reuse")]
    given_up = {id(point): reuse.get("seeds_gave_up", 1) for point, reuse in with_reuse if reuse["gave_up"]}
    kept = [(point, own) for point, own in with_reuse if given_up.get(id(point), 0) < point.get("seeds", 1)]
    if kept:
        messages, replayed, records, simulated, skipped = (
            sum(reuse[key] for _, reuse in kept)
            for key in ("messages", "replayed_messages", "records", "simulated_packet_hops", "skipped_packet_hops")
        )
        hops = sum(point["packet_hops"] for point, _ in kept)
        yield (
            f"reuse replayed {_count(replayed)} of {_count(messages)} messages from {_count(records)} records, and "
            f"simulated {_count(simulated)} packet-hops{f' and skipped {_count(skipped)}' if skipped else ''} for "
            f"{_count(hops)}"
        )
    for reason in dict.fromkeys(reuse["gave_up"] for _, reuse in with_reuse if reuse["gave_up"]):
        own = [point for point, reuse in with_reuse if reuse["gave_up"] == reason]
        count, runs = sum(given_up[id(point)] for point in own), sum(point.get("seeds", 1) for point in own)
        which = "a run was" if runs == 1 else f"{count} of {counted(runs, 'run')} {'was' if count == 1 else 'were'}"
        yield f"{which} repeated without reuse: {reason}"


def warnings_of(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the warnings of points, each once, with the number of its points unless it holds for all.

    Warnings that differ in numbers alone are merged, with the numbers of the first of their points.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for place, point in enumerate(points):
        for warning in point.get("warnings", ()):
            message = f"{warning['message']} (`{warning['key']}`)"
            found.setdefault(QUANTITY.sub("#", message), {}).setdefault(message, []).append(place)
    return [f"warning: {_where(alike, len(points))}{next(iter(alike))}" for alike in found.values()]


def _where(alike: Mapping[str, Sequence[int]], total: int) -> str:
    """Returns for which of `total` points a warning holds. `alike` has the points of each of its messages.

    Returns nothing if one message holds for all points.
    """
    places = sorted({place for held in alike.values() for place in held})
    if len(alike) > 1:
        return f"{len(places)} points (first: point {places[0]}): "
    return "" if len(places) == total else f"{len(places)} of {counted(total, 'point')}: "


def _shown_row(name: str, value: Any) -> tuple[str, str]:
    """Returns the name and the value of a quantity, in the unit that suits it."""
    if name.endswith("_bytes"):
        return name.removesuffix("_bytes").replace("_", " "), brief(value, BYTES)
    factor = PICOSECONDS if name.endswith("_ps") else 1.0
    quantity = name.removesuffix("_ps") + "_ns" if name.endswith("_ps") else name
    if unit_of(quantity, ()) is not None:
        return quantity.removesuffix("_ns").removesuffix("_B_per_s").replace("_", " "), shown(quantity, factor * value)
    return name.replace("_", " "), _shown_value(value)


def _shown_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain_number(value, 6)
    return f"{value:,}" if _is_integer(value) else str(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
