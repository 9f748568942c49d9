"""Routings of the user's own, as arrays."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BASE: dict[str, Any] = {
    "link": {"bandwidth": "10 Gb/s", "delay": "50 ns"},
    "router": {"kind": "input-queued", "vcs": 6},
    "workload": {"kind": "traffic", "load": 0.3, "packet_size": "256 B"},
    "measure": {"warm_up": "5 us", "max_time": "20 us"},
}


def clockwise(routers: int) -> Any:
    """Ports around a ring in one direction."""
    ports = np.zeros((routers, routers), np.int64)
    np.fill_diagonal(ports, -1)
    return ports


def measured(**sections: Any) -> list[dict[str, Any]]:
    """The points of a run, without the time that it took."""
    found = [{k: v for k, v in dict(point).items() if k != "wall_s"} for point in ct.run(BASE, **sections)]
    # Exact loads of a routing are found in another way than those of its table, and differ in the last digit.
    rounded: list[dict[str, Any]] = json.loads(json.dumps(found), parse_float=lambda digits: f"{float(digits):.12g}")
    return rounded


@pytest.mark.parametrize(
    ("shape", "routing"),
    [
        ("fat-tree:k=3,n=2", {"kind": "d-mod-k"}),
        ("fat-tree:k=3,n=2", {"kind": "adaptive-up-down"}),
        ("torus:4x3", {"kind": "dimension-order", "ties": "positive"}),
        ("dragonfly:h=1", {"kind": "minimal"}),
    ],
)
def test_a_routing_and_its_table_measure_the_same(shape: str, routing: dict[str, Any]) -> None:
    """Catches a class, a layer or a choice that is lost between the arrays and the file."""
    topology = ct.Topology(shape)
    table = ct.RoutingTable.of(topology, routing)
    assert measured(topology=topology, routing=table) == measured(topology=topology, routing=routing)


def test_arrays_of_every_shape_and_type_are_taken() -> None:
    """Catches an axis that is taken for another, and a type that is truncated."""
    ring, ports = ct.Mesh([2]), np.array([[-1, 0], [1, -1]])
    expected = ct.RoutingTable(ports)
    assert expected.ports.shape == (1, 2, 2, 1)
    for given in (
        ports.tolist(),
        ports.astype(np.int8),
        ports.astype(float),
        ports[None],
        ports[None, ..., None],
        ports.T.copy().T,
    ):
        assert ct.RoutingTable(given).to_bytes() == expected.to_bytes()
    layered = ct.RoutingTable(np.stack([ports, ports]), classes=[[[3]], [[1]]], next_layers=1)
    assert layered.classes[:, 0, 1].tolist() == [3, 1]
    [found] = ct.check(BASE, topology=ring, routing=layered)
    assert (found["vc_classes"], found["deadlock_free"], found["routing"]) == (4, True, "table")


@pytest.mark.parametrize(
    ("ports", "keys", "message"),
    [
        ([[0.5, 1], [1, 0]], {}, "ports: 0.5 is not allowed"),
        ([[70000, 1], [1, 0]], {}, "ports: 70000 is not allowed"),
        ([["a", "b"]], {}, "ports: <U1 is not allowed"),
        ([0, 1], {}, "ports: an array of 1 dimensions is not allowed"),
        (clockwise(2), {"classes": [0, 1, 2]}, r"classes: an array of shape \[3\] does not broadcast to \[1, 2, 2\]"),
    ],
)
def test_arrays_that_are_no_table_are_refused(ports: Any, keys: dict[str, Any], message: str) -> None:
    """Catches a table that is made of something else without a word."""
    with pytest.raises(ct.ExperimentError, match=message):
        ct.RoutingTable(ports, **keys)


def test_tables_that_lead_nowhere_are_refused() -> None:
    """Catches a table that is run although packets are lost, circle, or wait for one another."""
    ring = ct.Torus([5])
    lost = clockwise(5)
    lost[2, 4] = -1
    with pytest.raises(ct.ExperimentError, match="no entry at router 2 for router 4, where packets from router 0 come"):
        ct.check(BASE, topology=ring, routing=ct.RoutingTable(lost))
    lost[2, 4] = 1
    with pytest.raises(ct.ExperimentError, match="from router 0 for router 4 can go in a loop: routers 1, 2, 1"):
        ct.check(BASE, topology=ring, routing=ct.RoutingTable(lost))
    around = ct.RoutingTable(clockwise(5))
    [found] = ct.check(BASE, topology=ring, routing=around)
    assert not found["deadlock_free"]
    assert found["deadlock_cycle"].count("waits for") == 5
    with pytest.raises(ct.ExperimentError, match="can deadlock"):
        ct.run(BASE, topology=ring, routing=around)


def test_routings_that_draw_paths_are_no_tables() -> None:
    """Catches a table that has one of several paths."""
    with pytest.raises(ct.ExperimentError, match="`valiant-group` cannot be written as a table: it draws a path"):
        ct.RoutingTable.of("dragonfly:h=2", "valiant-group")


def test_topologies_have_their_wires_as_arrays() -> None:
    """Catches rows or columns that are exchanged, and unconnected ports that lead to router 0."""
    for shape in ("fat-tree:k=2,n=3", "mesh:3x2", "dragonfly:h=1"):
        topology = ct.Topology(shape)
        leads_to = topology.neighbours()
        wires = sorted((int(router), int(leads_to[router, port])) for router, port in np.argwhere(leads_to >= 0))
        assert wires == sorted((one, other) for one, other, _ in topology.channels())
        home = topology.attachments()
        assert home[:, 0].tolist() == [topology.router_of(node) for node in range(topology.nodes)]
        assert all(leads_to[router, port] == -1 for router, port in home)


def test_tables_are_copied_beside_results(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a resolved experiment that does not run again without the table, in sweeps as well."""
    tree, routings = ct.FatTree(2, 2), ["d-mod-k", "random-up-down"]
    tables = [ct.RoutingTable.of(tree, kind) for kind in routings]
    results = ct.run(
        BASE, topology=tree, sweep={"routing": [*tables, {"kind": "up-down"}]}, directory=tmp_path / "kept"
    )
    assert len(results.points) == 3
    text = (tmp_path / "kept" / "experiment.toml").read_text(encoding="utf-8")
    paths = [table["path"] for table in tomllib.loads(text)["sweep"]["routing"][:2]]
    assert all(path.startswith("inputs/") and (tmp_path / "kept" / path).is_file() for path in paths)
    again = cutthrough(
        "run", tmp_path / "kept" / "experiment.toml", "--json", "--plots", "none", "--out", tmp_path / "again"
    )
    assert again.status == 0, again.err
    latencies = [point["latency_mean_ns"] for point in json.loads(again.out)["points"]]
    assert latencies == [point["latency_mean_ns"] for point in results]


def test_an_experiment_with_a_table_makes_its_folder(tmp_path: Path) -> None:
    """Catches a copy that is written where there is no folder yet."""
    table = ct.RoutingTable.of(ct.FatTree(2, 2), "d-mod-k")
    experiment = ct.Experiment.load(BASE, topology=ct.FatTree(2, 2), routing=table)
    saved = experiment.save(tmp_path / "new" / "folder" / "e.toml")
    assert ct.check(saved)
    assert [path.suffix for path in (saved.parent / "inputs").iterdir()] == [".npz"]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((5, 5), "1 layer, 5 routers, 5 destinations, 1 port an entry"),
        ((2, 5, 5, 3), "2 layers, 5 routers, 5 destinations, up to 3 ports an entry"),
    ],
)
def test_tables_say_their_size(shape: tuple[int, ...], words: str) -> None:
    """Catches a plural of one."""
    assert repr(ct.RoutingTable(np.zeros(shape, int))) == f"<RoutingTable table: {words}>"


def test_a_text_names_its_line(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a path that does not start from the experiment's folder, and an error without its place."""
    (tmp_path / "mesh.routes").write_text("0 1 0\n1 0 7\n", encoding="utf-8")
    file = tmp_path / "mesh.toml"
    file.write_text(
        """
        topology = { kind = "mesh", dims = [2] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        routing = { kind = "table", path = "mesh.routes" }
        workload = { kind = "traffic", load = 0.1 }
        """,
        encoding="utf-8",
    )
    found = cutthrough("check", file)
    assert found.status == 2
    assert "mesh.routes:2: router 1 has no port 7; its ports are 0 to 2" in found.err
    (tmp_path / "mesh.routes").write_text("0 1 0\n1 0 1\n", encoding="utf-8")
    assert cutthrough("check", file).status == 0
