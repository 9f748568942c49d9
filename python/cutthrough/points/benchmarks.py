"""The tables of benchmarks, as rows and in the layout that the benchmarks print.

IMB's layout is that of the Pallas benchmarks 2.2 and of IMB up to version 4, whose megabyte is 2^20 bytes. The OSU
benchmarks' megabyte is 10^6 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cutthrough.points.details as details
from cutthrough.points.series import label_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.points.table import Point

__all__ = ["has_table", "measures", "rows", "text", "texts"]

#: IMB's names of the benchmarks that are part of it.
IMB = {
    "ping-pong": "PingPong",
    "ping-ping": "PingPing",
    "sendrecv": "Sendrecv",
    "imb-exchange": "Exchange",
    "bcast": "Bcast",
    "allreduce": "Allreduce",
    "alltoall": "Alltoall",
    "allgather": "Allgather",
    "barrier": "Barrier",
    "broadcast": "Bcast",
    "reduce": "Reduce",
    "reduce-scatter": "Reduce_scatter",
    "gather": "Gather",
    "scatter": "Scatter",
    "scan": "Scan",
    "exscan": "Exscan",
}
#: Benchmarks of IMB with a single column of times, with bandwidths, and without sizes.
ONE_TIME = {"ping-pong", "ping-ping"}
WITH_BANDWIDTH = {"ping-pong", "ping-ping", "sendrecv", "imb-exchange"}
WITHOUT_SIZE = {"barrier"}
#: The title and the columns of each OSU benchmark.
OSU = {
    "osu-latency": ("OSU MPI Latency Test", ("Latency (us)",)),
    "osu-bw": ("OSU MPI Bandwidth Test", ("Bandwidth (MB/s)",)),
    "osu-bibw": ("OSU MPI Bi-Directional Bandwidth Test", ("Bandwidth (MB/s)",)),
    "osu-mbw-mr": ("OSU MPI Multiple Bandwidth / Message Rate Test", ("MB/s", "Messages/s")),
    "streaming": ("Streaming bandwidth", ("MB/s", "Messages/s")),
}
#: The value of each column of the OSU benchmarks: its name in a row, and the factor to the column's unit.
OSU_VALUES = {
    "Latency (us)": ("time_max_ns", 1e-3),
    "Bandwidth (MB/s)": ("bandwidth_B_per_s", 1e-6),
    "MB/s": ("bandwidth_B_per_s", 1e-6),
    "Messages/s": ("messages_per_s", 1.0),
}
#: The width of IMB's columns, and of the OSU benchmarks' columns after the first.
IMB_WIDTH = 13
OSU_WIDTH = 20


def has_table(point: Mapping[str, Any]) -> bool:
    """Returns whether a point or a job ran a benchmark that gives a table."""
    return bool(point.get("benchmark_rows"))


def measures(kind: str) -> list[str]:
    """Returns the quantities of a row that a benchmark measures. All others are computed from them."""
    if kind in OSU:
        return [OSU_VALUES[column][0] for column in OSU[kind][1]]
    return ["bandwidth_B_per_s", "availability"] if kind == "comb-polling" else ["time_max_ns"]


def rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the rows of each point's table, with the point's sweep keys.

    Rows of several jobs have the job's name in `job`.
    """
    return [
        {**keys, "benchmark": part["benchmark_kind"], "ranks": part["benchmark_ranks"], **row}
        for keys, part in details.parts_of(points, axes)
        if has_table(part)
        for row in part["benchmark_rows"]
    ]


def text(point: Mapping[str, Any]) -> str:
    """Returns the table of a point as its benchmark prints it.

    Raises:
        ValueError: The point ran no benchmark that gives a table.
    """
    if not has_table(point):
        message = "the point is of no benchmark that gives a table"
        raise ValueError(message)
    kind = point["benchmark_kind"]
    if kind in IMB:
        return _imb(kind, point)
    if kind in OSU:
        return _osu(kind, point)
    return _polling(point) if kind == "comb-polling" else _connections(point)


def texts(points: Sequence[Point], axes: Sequence[str]) -> str:
    """Returns the tables of all points, each under the keys that distinguish its point."""
    parts = []
    for point in points:
        keys = ", ".join(f"{axis} = {label_of(point[axis])}" for axis in axes if axis in point)
        for part in filter(has_table, point.get("jobs") or [point]):
            named = ", ".join(filter(None, (keys, f"job {part['name']}" if "name" in part else "")))
            parts.append((f"# {named}\n" if named else "") + text(part))
    return "\n".join(parts)


def _imb(kind: str, point: Mapping[str, Any]) -> str:
    names = ["time_max_ns"] if kind in ONE_TIME else ["time_min_ns", "time_max_ns", "time_mean_ns"]
    heads = ["t[usec]"] if kind in ONE_TIME else ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]
    heads = ["#repetitions", *heads, *(["Mbytes/sec"] if kind in WITH_BANDWIDTH else [])]
    if kind not in WITHOUT_SIZE:
        heads.insert(0, "#bytes")
    lines = []
    for row in point["benchmark_rows"]:
        cells = [] if kind in WITHOUT_SIZE else [str(row["size_B"])]
        cells += [str(row["repetitions"]), *(_number(row[name], 1e-3) for name in names)]
        if kind in WITH_BANDWIDTH:
            cells.append(_number(row["bandwidth_B_per_s"], 1 / (1 << 20)))
        lines.append("".join(cell.rjust(IMB_WIDTH) for cell in cells))
    line = "#" + "-" * (IMB_WIDTH * len(heads) - 1)
    head = [line, f"# Benchmarking {IMB[kind]}", f"# #processes = {point['benchmark_ranks']}", line]
    return "\n".join([*head, "".join(name.rjust(IMB_WIDTH) for name in heads), *lines]) + "\n"


def _osu(kind: str, point: Mapping[str, Any]) -> str:
    title, columns = OSU[kind]
    lines = [f"# {title}"]
    if kind == "osu-mbw-mr":
        lines.append(f"# [ pairs: {point['benchmark_ranks'] // 2} ]")
    lines.append("# Size".ljust(10) + "".join(column.rjust(OSU_WIDTH) for column in columns))
    for row in point["benchmark_rows"]:
        cells = (_number(row[name], factor) for name, factor in (OSU_VALUES[column] for column in columns))
        lines.append(str(row["size_B"]).ljust(10) + "".join(cell.rjust(OSU_WIDTH) for cell in cells))
    return "\n".join(lines) + "\n"


def _polling(point: Mapping[str, Any]) -> str:
    heads = ("#interval[usec]", "availability", "Mbytes/sec", "messages/sec")
    size = point["benchmark_rows"][0]["size_B"]
    lines = [f"# COMB polling, messages of {size} bytes", "".join(head.rjust(IMB_WIDTH + 3) for head in heads)]
    for row in point["benchmark_rows"]:
        share = "-" if row["availability"] is None else f"{row['availability']:.4f}"
        bandwidth = _number(row["bandwidth_B_per_s"], 1 / (1 << 20))
        cells = (_number(row["interval_ns"], 1e-3), share, bandwidth, _number(row["messages_per_s"], 1.0))
        lines.append("".join(cell.rjust(IMB_WIDTH + 3) for cell in cells))
    return "\n".join(lines) + "\n"


def _connections(point: Mapping[str, Any]) -> str:
    heads = ("#processes", "connections", "MiB a node")
    memory = f"{point['connection_memory_max_B'] / (1 << 20):.2f}"
    cells = (str(point["benchmark_ranks"]), str(point["connections_max"]), memory)
    return "".join(head.rjust(IMB_WIDTH) for head in heads) + "\n" + "".join(c.rjust(IMB_WIDTH) for c in cells) + "\n"


def _number(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{value * factor:.2f}"
