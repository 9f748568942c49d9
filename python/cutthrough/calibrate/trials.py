"""Runs of the benchmark of a measured table, between nodes that a flat network joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cutthrough.runs.sweeps as sweeps
from cutthrough.experiment.objects import built

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.calibrate.tables import Table

__all__ = ["simulated"]

#: Iterations of a benchmark. The simulator's iterations are equal once memory is registered.
REPETITIONS, WARM_UP = 1, 1
#: The link between the nodes, which bounds no interface.
LINK = "1000 Tb/s"


def simulated(table: Table, nic: Mapping[str, Any], path: str) -> tuple[float, ...]:
    """Returns the simulated values of a table's rows, in the table's unit.

    Raises:
        ExperimentError: The interface is invalid.
    """
    benchmark: dict[str, Any] = {"kind": table.kind}
    if table.kind == "comb-polling":
        benchmark |= {"message_size": f"{table.message} B", "intervals": [f"{row.size} ns" for row in table.rows]}
    else:
        benchmark |= {"sizes": [f"{row.size} B" for row in table.rows], "repetitions": REPETITIONS, "warm_up": WARM_UP}
    if table.window is not None:
        benchmark["window"] = table.window
    pairs = table.kind == "osu-mbw-mr"
    experiment = built(
        None,
        None,
        topology={"kind": "flat", "nodes": 2 if pairs else table.ranks},
        link={"bandwidth": LINK, "delay": path},
        nic=dict(nic),
        workload={"kind": "benchmark", "benchmark": benchmark},
        placement={"strategy": "contiguous", "processes_per_node": table.ranks // 2 if pairs else 1},
    )
    ran = sweeps.run(experiment, sweeps.Effort(1, 1), None)
    return tuple(float(row[table.measure]) for row in ran.points[0]["benchmark_rows"])
