"""Machines: usable as topologies, with arrays and graphs."""

from __future__ import annotations

import doctest
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import networkx as nx
import numpy as np
import pytest
from cutthrough import _core, channels, families
from cutthrough.arguments.packages import MissingPackage
from cutthrough.machines import topology as topologies

if TYPE_CHECKING:
    from pathlib import Path

LINK: dict[str, Any] = {"bandwidth": "10 Gb/s", "delay": "20 ns"}
WORKLOAD: dict[str, Any] = {"kind": "traffic", "load": 0.1}
MACHINES = [
    ct.SingleSwitch(5),
    ct.FatTree(k=3, n=3),
    ct.Torus([5, 3]),
    ct.Mesh([4, 2], nodes_per_router=2),
    ct.Dragonfly(2),
    ct.Torus([4, 3], planes=2),
    ct.Machine("bluegene-p:512"),
    ct.Machine({"kind": "torus", "dims": [4, 4]}, cores=2, allocation="0:2,0:4"),
]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_arrays_of_hops_are_those_of_pairs(machine: ct.Machine) -> None:
    """Expected: for all pairs what single queries give; symmetric, 0 on the diagonal."""
    some = np.arange(min(machine.nodes, 40))
    table = machine.hops(some[:, None], some[None, :])
    assert table.shape == (len(some), len(some))
    assert (np.diag(table) == 0).all()
    for one, other in ((0, 0), (0, len(some) - 1), (len(some) // 2, 1)):
        assert table[one, other] == machine.hops(one, other)
    assert machine.hops(0, some).tolist() == table[0].tolist()
    assert machine.hops([], []).tolist() == []


@pytest.mark.parametrize("machine", MACHINES[:-1], ids=repr)
def test_both_ways_to_count_hops_agree(machine: ct.Machine) -> None:
    """Expected: the table that mapping uses, and the routing itself, give equal counts. One meaning of hops."""
    mapped = ct.Machine(machine, cores=1)
    nodes = np.arange(min(machine.nodes, 60))
    assert (mapped.hops(nodes[:, None], nodes) == ct.Topology(machine.spec).hops(nodes[:, None], nodes)).all()


@pytest.mark.parametrize("machine", MACHINES[:-1], ids=repr)
def test_edges_give_the_distances(machine: ct.Machine) -> None:
    """Expected: breadth-first search over the edges, in networkx, finds the distances of the topology."""
    graph = machine.to_networkx(nodes=False)
    edges = machine.edges()
    assert graph.number_of_edges() == len(edges["source"]) == len(machine.channels())
    lengths = nx.single_source_shortest_path_length(graph, "r0")
    routers = np.arange(machine.routers)
    expected = [lengths.get(f"r{router}", 2**32 - 1) for router in routers]
    assert machine.distance(0, routers).tolist() == expected
    assert set(edges["class"]) <= set(machine.classes)
    assert np.isnan(edges["bandwidth_bit_per_s"]).all()


def test_graphs_have_nodes_coordinates_and_bandwidths() -> None:
    """Expected by hand: a ring of three routers with two nodes each has 6 channels, and 12 to and from nodes."""
    torus = ct.Torus([3], nodes_per_router=2)
    link = {"bandwidth": "10 Gb/s", "delay": "1 ns", "injection": {"bandwidth": "40 Gb/s"}}
    graph = torus.to_networkx(link)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (3 + 6, 6 + 12)
    assert graph.nodes["r2"] == {"kind": "router", "id": 2, torus.coordinate_names[0]: 2}
    assert graph.edges["n0", "r0", 0] == {"class": "injection", "bandwidth_bit_per_s": 40e9}
    assert graph.edges["r0", "n1", 0] == {"class": "ejection", "bandwidth_bit_per_s": 10e9}
    # Two planes have twice the routers and channels, with every node on both.
    both = ct.Torus([3], nodes_per_router=2, planes=2).to_networkx(link)
    assert (both.number_of_nodes(), both.number_of_edges()) == (2 * 3 + 6, 2 * (6 + 12))
    assert set(both["n3"]) == {"r1", "r4"}
    assert torus.edges(ct.Link(bandwidth="8 Gb/s").to_dict())["bandwidth_bit_per_s"].tolist() == [8e9] * 6
    with pytest.raises(ct.ExperimentError, match="bandwidth"):
        torus.edges({"bandwidth": "8 apples"})


@pytest.mark.parametrize(
    "shape",
    [
        "torus:4x3,nodes_per_router=2",
        "torus:4x3x2,wrap=1x0x1",
        "mesh:3x4",
        "hyperx:3x4,wires=2",
        "dragonfly:h=1",
        "fat-tree:k=2,n=3",
        "dragonfly-plus:leaves=2,spines=2,groups=3",
    ],
)
def test_a_graph_is_the_network_that_wrote_it(shape: str, tmp_path: Path) -> None:
    """Catches nodes and wires that are lost on the way through networkx, and a grid or groups that are lost."""
    own = ct.Topology(shape)
    graph = own.to_networkx()
    nx.write_graphml(graph, tmp_path / "net.graphml")
    for made in (ct.Topology.from_networkx(graph), ct.Topology({"kind": "file", "path": tmp_path / "net.graphml"})):
        wires, due = (sorted((one, other) for one, other, _ in part.channels()) for part in (made, own))
        assert wires == due
        assert made.node_routers().tolist() == own.node_routers().tolist()
        assert made.groups == own.groups
        if made.coordinate_names == own.coordinate_names:
            assert made.coordinate_array().tolist() == own.coordinate_array().tolist()
        is_listed = own.kind in ("fat-tree", "dragonfly-plus")
        assert (made.coordinate_names == own.coordinate_names) is not is_listed


@pytest.mark.parametrize("shape", ["torus:4x3,wires.dim0=2", "mesh:3x3,wires.dim1=2", "hyperx:3x3,wires.dim0=2"])
def test_a_graph_of_other_wires_states_no_grid(shape: str) -> None:
    """Catches sizes of a grid that `from_networkx` refuses, as the wires are not those of the family."""
    own = ct.Topology(shape)
    made = ct.Topology.from_networkx(own.to_networkx())
    wires, due = (sorted((one, other) for one, other, _ in part.channels()) for part in (made, own))
    assert wires == due


def test_graphs_of_igraph_are_machines() -> None:
    """Expected: a ring of four routers with 1, 2, 0 and 1 nodes, by objects like those of igraph."""
    attributes = [{"name": name, "nodes": nodes} for name, nodes in zip("abcd", (1, 2, 0, 1), strict=True)]
    vertices = [SimpleNamespace(index=at, attributes=own.copy) for at, own in enumerate(attributes)]
    edges = [SimpleNamespace(tuple=(number, (number + 1) % 4), attributes=dict) for number in range(4)]
    graph = SimpleNamespace(vs=vertices, es=edges, attributes=list, is_directed=lambda: False)
    machine = ct.Machine.from_igraph(graph)
    # In igraph every vertex has every attribute: None where it is not given. Catches a None that stands for a number.
    for own in attributes:
        own.update(kind=None, level=None, nodes=None if own["name"] == "c" else own["nodes"])
    assert ct.Machine.from_igraph(graph, nodes_per_router=3).node_names()[3:6] == ["c.0", "c.1", "c.2"]
    assert machine.node_names() == ["a.0", "b.0", "b.1", "d.0"]
    assert machine.distance(0, [1, 2, 3]).tolist() == [1, 2, 1]
    with pytest.raises(ct.ExperimentError, match="is no graph of igraph"):
        ct.Machine.from_igraph(nx.path_graph(3))


def test_graphs_state_or_lack_what_is_asked_for() -> None:
    """Catches nodes on routers that state another number, and a property that is passed over."""
    cube = nx.hypercube_graph(4)
    nx.set_node_attributes(cube, {(0, 0, 0, 0): 3}, "nodes")
    assert ct.Topology.from_networkx(cube, nodes_per_router=1).nodes == 18
    found = ct.Topology.from_networkx(nx.hypercube_graph(4), 2, "grid")
    assert (found.nodes, found._shape.grid) == (32, [2, 2, 2, 2])
    assert ct.run(topology=found, link=LINK, workload=WORKLOAD).points[0]["accepted_load"] > 0
    for graph, nodes, recognise, due in (
        (nx.petersen_graph(), 1, "grid", "is no torus and no mesh"),
        (nx.path_graph(3), None, None, "there are no nodes"),
        (nx.DiGraph([(0, 1)]), 1, None, "an undirected edge is a wire"),
        (nx.Graph([(0, 1), (2, 3)]), 1, None, "no path leads from 0 to 2"),
        ("a graph", 1, None, "is no graph of networkx"),
        (nx.path_graph(3), 0, None, "nodes_per_router"),
    ):
        with pytest.raises(ct.ExperimentError, match=due):
            ct.Topology.from_networkx(graph, nodes, recognise)
    weighted = nx.path_graph(3)
    weighted.edges[0, 1]["weight"] = 4
    (note,) = ct.Topology.from_networkx(weighted, 1).about["notes"]
    assert "1 edge with the unknown attribute `weight`" in note


def test_graphs_are_of_one_network() -> None:
    """Catches a graph of several networks that ends in an error of Python's dictionaries."""
    pytest.importorskip("networkx")
    machine = ct.Topology("dgx-superpod-h100-gpus:su=1")
    for write in (machine.to_networkx, machine.edge_list):
        with pytest.raises(ct.ExperimentError, match="several networks"):
            write()


def test_planes_of_a_machine_are_kept_and_no_edge_list() -> None:
    """Catches planes that are lost where a machine is written for an experiment, or taken for one network of wires."""
    for machine in (
        ct.Torus([4, 3], planes=2),
        ct.Machine("torus:4x3,planes=2"),
        ct.Machine(ct.Topology("torus:4x3,planes=2")),
    ):
        assert (machine.planes, machine.spec["planes"], machine.spec["nodes_per_router"]) == (2, 2, 1)
        assert machine.attachments().tolist() == ct.Torus([4, 3]).attachments().tolist()
        with pytest.raises(ct.ExperimentError, match="2 planes") as raised:
            machine.edge_list()
        assert raised.value.key == "planes"
    switch = _core.Topology("single-switch:2,planes=3", ".")
    table = channels.ChannelTable.of(switch).table
    assert table.column("source_router").drop_null().unique().to_pylist() == [0, 1, 2]
    assert "planes" not in ct.Torus([4, 3]).spec
    for wrong in (0, 17):
        with pytest.raises(ct.ExperimentError, match="from 1 to 16") as raised:
            ct.Torus([4, 3], planes=wrong)
        assert raised.value.key == "topology.planes"


def test_networkx_is_one_line_if_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback where a package is not installed."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingPackage, match="pip install networkx") as raised:
        ct.Torus([3]).to_networkx()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("machine", MACHINES[:-1], ids=repr)
def test_a_machine_is_a_topology(machine: ct.Machine) -> None:
    """Expected: a machine stands for the table of its topology wherever one may."""
    sections: dict[str, Any] = {"link": LINK, "workload": WORKLOAD}
    (found,) = ct.check(topology=machine, **sections)
    (expected,) = ct.check(topology=machine.spec, **sections)
    assert found == expected
    assert found["nodes"] == machine.nodes
    swept = ct.load(sweep={"topology": [machine, ct.Torus([2, 2])]}, **sections)
    assert swept.machine(0).nodes == machine.nodes
    assert ct.Machine(swept.resolved(0).topology).nodes == machine.nodes  # type: ignore[arg-type]
    assert ct.Experiment(topology=machine, link=ct.Link(**LINK), workload=ct.workload.Traffic(load=0.1)).machine().nodes


def test_an_allocated_part_is_no_topology() -> None:
    """Catches an experiment that runs on other nodes than the machine has."""
    part = ct.Machine("torus:4x4", allocation="0-3", cores=2)
    with pytest.raises(ct.ExperimentError, match="4 of its 16 nodes") as raised:
        ct.check(topology=part, link=LINK, workload=WORKLOAD)
    assert raised.value.key == "topology"
    whole = part.whole
    assert (whole.nodes, whole.cores_per_node, part.nodes) == (16, 2, 4)
    assert ct.check(topology=whole, link=LINK, workload=WORKLOAD)[0]["nodes"] == 16


def test_a_topology_is_a_machine() -> None:
    """Expected: tasks are placed on a family's machine as on its shorthand."""
    graph = ct.TaskGraph("stencil:4x4").shuffled(1)
    mapped = ct.map_tasks(graph, ct.Torus([4, 4]), "greedy")
    assert mapped.places.tolist() == ct.map_tasks(graph, "torus:4x4", "greedy").places.tolist()
    assert mapped.machine.name == "torus:4x4"
    assert (
        ct.map_tasks(graph, ct.Topology("torus:4x4"), np.str_("identity"), seed=np.int64(3)).measures["hop_bytes"] > 0
    )


def test_the_name_of_a_topology_keeps_its_lists() -> None:
    """Catches machines of different wiring with one name: a name is the shorthand of its machine."""
    graph = ct.TaskGraph("stencil:4x2")
    for keys, name in (
        ({"kind": "hyperx", "dims": [4, 2], "wires": [1, 2]}, "hyperx:4x2,wires=1x2"),
        ({"kind": "hyperx", "dims": [4, 2]}, "hyperx:4x2"),
        ({"kind": "slim-fly", "q": 5, "nodes_per_router": 1}, "slim-fly:q=5,nodes_per_router=1"),
        ({"kind": "jellyfish", "routers": 8, "degree": 3, "seed": 0}, "jellyfish:routers=8,degree=3"),
        ({"kind": "torus", "dims": [4, 2], "wrap": [True, False]}, "torus:4x2,wrap=1x0"),
        ({"kind": "dragonfly", "h": 2, "arrangement": "absolute"}, "dragonfly:h=2,arrangement=absolute"),
        ({"kind": "xgft", "m": [8], "w": [1]}, "xgft:m=8,w=1"),
        ({"kind": "xgft", "m": [4, 4], "w": [1, 2], "hosts": 8}, "xgft:m=4x4,w=1x2,hosts=8"),
        (
            {"kind": "leaf-spine", "leaves": 2, "spines": 1, "nodes_per_leaf": 4},
            "leaf-spine:leaves=2,spines=1,nodes_per_leaf=4",
        ),
        (
            {"kind": "dragonfly", "a": 4, "h": 2, "group": "flattened-butterfly", "group_dims": [2, 2]},
            "dragonfly:a=4,h=2,group=flattened-butterfly,group_dims=2x2",
        ),
    ):
        assert ct.map_tasks(graph, ct.Topology(keys), "identity").machine.name == name


def test_a_machine_read_from_another_format_is_simulated(tmp_path: Path) -> None:
    """Catches machines that mapping knows and experiments do not, and results that do not keep them."""
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n")
    machine = ct.Machine(conf)
    results = ct.run(topology=machine, link=LINK, workload=WORKLOAD, measure={"precision": 0.3})
    assert results[0].packets > 0
    results.save(tmp_path / "kept")
    assert ct.load(tmp_path / "kept" / "experiment.toml").machine().nodes == machine.nodes == 8
    assert machine.hops(0, [1, 7]).tolist() == [2, 4]


def test_long_chains_are_counted(tmp_path: Path) -> None:
    """Expected: 799 wires between the ends of a chain of 800 routers, and two to the nodes."""
    path = tmp_path / "chain.edges"
    path.write_text("".join(f"link {n} {n + 1}\n" for n in range(799)) + "node 0\nnode 799\n")
    chain = ct.Machine(path)
    assert chain.hops(0, 1) == 801
    assert ct.Topology({"kind": "file", "path": str(path)}).hops([0], [1]).tolist() == [801]


@pytest.mark.parametrize("wrong", [-1, 16, 1 << 32, [0, 99]])
def test_numbers_out_of_range_are_refused(wrong: int | list[int]) -> None:
    """Catches numbers that are cut to 32 bits."""
    for machine in (ct.Torus([4, 4]), ct.Machine("torus:4x4")):
        with pytest.raises(IndexError, match="there are 16"):
            machine.hops(0, wrong)
        with pytest.raises(IndexError, match="there are 16"):
            machine.distance(wrong, 0)
        with pytest.raises(TypeError, match="whole numbers"):
            machine.hops(0, [0.5])  # type: ignore[list-item]


@pytest.mark.parametrize("module", [topologies, families])
def test_examples_in_docstrings(module: object) -> None:
    """Catches a docstring whose example no longer works as shown."""
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
