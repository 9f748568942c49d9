"""`cutthrough map --evaluate` on a machine with several networks: each message of a step chooses its network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.mapping.evaluation import Links, simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MACHINE = """
node = { endpoints = 2, count = 2 }
relay = { network = "inside" }
workload = { kind = "program", program = { kind = "collective", operation = "barrier" } }
router = { kind = "output-queued", delay = "100 ns", buffer = "64 packets" }
[[network]]
name = "inside"
topology = "single-switch:2"
link = { bandwidth = "81.92 Gb/s", delay = "100 ns" }
[[network]]
name = "rail"
topology = "single-switch:2"
order = "by-rail"
link = { bandwidth = "8.192 Gb/s", delay = "1 us" }
"""


def test_the_step_of_a_mapping_is_simulated_on_all_networks(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """By hand: a packet of 1 KiB takes 100 ns inside a node, and 1 us on a rail.

    Catches a message on another network, a second phase that begins with the first, and links that are guessed.
    """
    file, graph = tmp_path / "machine.toml", tmp_path / "pair.csv"
    file.write_text(MACHINE)
    graph.write_text("source,target,bytes\n0,1,4096\n")
    asked = ("map", "-g", graph, "-m", file, "-s", "identity", "--evaluate")
    ran = cutthrough(*asked, "--packet-size", "1 KiB", "--json")
    assert json.loads(ran.out)["points"][0]["step_time_ns"] == 300.0 + 4 * 100.0, ran.err
    refused = cutthrough(*asked, "--bandwidth", "1 Gb/s")
    assert (refused.status, "--bandwidth: the machine has several networks" in refused.err) == (2, True)
    sections = {name: value for name, value in _sections(file).items() if name not in {"workload", "seed"}}
    machine = ct.Machine(ct.Topology._of(_core.Experiment.read(file, []).topology(0)))
    links = Links(packet_size="1 KiB", sections=sections)
    for places, expected in (([0, 1], 700.0), ([0, 2], 2100.0 + 4000.0), ([0, 3], 700.0 + 2100.0 + 4000.0)):
        mapping = ct.evaluate_places(ct.TaskGraph(graph), machine, places)
        assert simulate(mapping, links).points[0]["time_ns"] == expected, places
    # The second phase is a message in the other direction, which begins when the first has arrived.
    back = ct.TaskGraph.combine([ct.TaskGraph(graph), ct.TaskGraph.from_arcs(2, [1], [0], [1024])])
    mapping = ct.evaluate_places(back, machine, [0, 1])
    assert simulate(mapping, links).points[0]["time_ns"] == 700.0 + 300.0 + 100.0
    with pytest.raises(ct.ExperimentError, match="several networks"):
        simulate(mapping)


def _sections(file: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(_core.Experiment.read(file, []).written())["sections"]
    return written
