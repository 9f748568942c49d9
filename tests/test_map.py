"""`cutthrough map`, machines, graphs and the files that mappings become."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest
from cutthrough.mapping import exports

from tests.conftest import ROOT, mpirun

if TYPE_CHECKING:
    from collections.abc import Callable

#: Real inputs, where they are.
DATA = Path(os.environ.get("CUTTHROUGH_DATA", ROOT.parent / "shared" / "data"))


def small(strategy: str = "auto", **options: Any) -> ct.MappingResult:
    graph = ct.TaskGraph("stencil:4x4").shuffled(3)
    return ct.map_tasks(graph, ct.Machine("torus:4x4"), strategy, **options)


def test_map_finds_the_grid_and_writes_the_nodes(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Expected: a shuffled 6x6 stencil is mapped on a 6x6 torus at one hop a byte, one message on every channel."""
    target = tmp_path / "mapping.txt"
    ran = cutthrough(
        "map", "--graph", "stencil:6x6", "--machine", "torus:6x6", "--shuffle", "1", "-o", target, "--json"
    )
    assert ran.status == 0, ran.err
    (point,) = json.loads(ran.out)["points"]
    assert (point["hops_per_byte"], point["max_channel_load"], point["imbalance"]) == (1.0, 1024.0, 1.0)
    assert {"hop_bytes", "wall_s", "strategy"} <= set(point)
    assert sorted(int(line) for line in target.read_text().splitlines()) == list(range(36))


def test_several_strategies_are_compared_and_the_best_is_kept(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches the last strategy kept instead of the best."""
    target = tmp_path / "mapping.txt"
    ran = cutthrough("map", "-g", "stencil:4x4", "-m", "torus:4x4", "-s", "identity", "-s", "random", "-o", target)
    assert ran.status == 0
    # The default, beside which they are set, is one of them.
    assert [line.split()[0] for line in ran.out.splitlines()[3:]] == ["identity", "random", "Kept:", "Mapping:"]
    assert "Kept: identity\n" in ran.out
    assert [int(line) for line in target.read_text().splitlines()] == list(range(16))


def test_a_mapping_that_is_worse_than_tasks_in_order_is_warned_of(
    cutthrough: Callable[..., Any], tmp_path: Path
) -> None:
    """Expected: a warning that names both measures, before the file is used; none where the mapping is no worse.

    With `--evaluate` the faster is kept, which is tasks in order: catches a file of the slower one.
    """
    target = tmp_path / "mapping.txt"
    worse = ("map", "-g", "stencil:4x4", "-m", "torus:4x4", "-s", "random", "-o", target)
    ran = cutthrough(*worse)
    assert ran.status == 0
    (warning,) = ran.err.splitlines()
    assert warning.startswith("warning: by hop-bytes: ")
    assert "load of the fullest channel" in warning
    assert "--evaluate" in warning
    assert [int(line) for line in target.read_text().splitlines()] != list(range(16))
    evaluated = cutthrough(*worse, "--evaluate", "--json")
    report = json.loads(evaluated.out)
    assert (report["kept"], report["warnings"], evaluated.err) == ("identity", [], "")
    assert [int(line) for line in target.read_text().splitlines()] == list(range(16))


def test_rankfiles_name_hosts(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Expected: the hosts of a file, node by node; a warning where a rankfile would have numbers for hosts."""
    target, hosts = tmp_path / "ranks.txt", tmp_path / "hosts.txt"
    asked = ("map", "-g", "stencil:2x2", "-m", "torus:2x2", "-s", "identity", "-o", target)
    for form in ("openmpi-rankfile", "slurm-hostfile"):
        ran = cutthrough(*asked, "--format", form)
        assert ran.status == 0
        assert "has no names of hosts" in ran.err
        hosts.write_text("# four nodes\na slots=2\nb\nc\n\nd\n")
        ran = cutthrough(*asked, "--format", form, "--hosts", hosts)
        assert (ran.status, ran.err) == (0, "")
    assert target.read_text().splitlines() == ["a", "b", "c", "d"]
    for text, message in (
        ("a\nb\n", "2 hosts are given for 4 nodes"),
        ("a\nb\na\nc\n", "the host a is given twice"),
        ('a\n"b"\nc\nd\n', 'hosts.txt:2: `"b"` is no name of a host'),
        ("a\nb\nc:2\nd\n", "hosts.txt:3: `c:2` is no name of a host"),
        ("a\nb slots=0\nc\nd\n", "the host b has 0 slots and gets 1 task"),
    ):
        hosts.write_text(text)
        ran = cutthrough(*asked, "--hosts", hosts)
        assert (ran.status, message in ran.err) == (2, True), ran.err


def test_auto_chooses_by_the_load_of_channels(cutthrough: Callable[..., Any]) -> None:
    """Expected: no more load than of the mapping that has the fewest hop-bytes.

    Catches an objective that the default beside it does not take.
    """
    loads = []
    for objective in ("hop-bytes", "max-channel-load", "both"):
        ran = cutthrough(
            "map", "-g", "random:30", "-m", "mesh:6x5", "--objective", objective, "--budget", "0.1", "--json"
        )
        assert ran.status == 0, ran.err
        loads.append(json.loads(ran.out)["points"][0]["max_channel_load"])
    assert loads[1] <= loads[2] <= loads[0]


def test_a_file_needs_its_directory(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a search whose result cannot be written."""
    ran = cutthrough("map", "-g", "stencil:4", "-m", "torus:4", "-o", tmp_path / "missing" / "mapping.txt")
    assert (ran.status, ran.out) == (2, "")
    assert "missing" in ran.err


def test_the_same_seed_gives_the_same_bytes(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a search that depends on time or threads."""
    words = []
    for name in ("one", "other"):
        cutthrough("map", "-g", "random:60", "-m", "dragonfly:h=2", "--budget", 0.05, "-o", tmp_path / name)
        words.append((tmp_path / name).read_bytes())
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-g", "stensil:4", "-m", "torus:4"), "did you mean `stencil`"),
        (("-g", "stencil:4", "-m", "tours:4"), "did you mean `torus`"),
        (("-g", "stencil:4", "-m", "torus:4", "-s", "greddy"), "did you mean `greedy`"),
        (("-g", "stencil:4", "-m", "torus:4", "--objective", "hops"), "hop-bytes"),
        (("-g", "stencil:4x4", "-m", "torus:4", "--tasks-per-node", "3"), "12"),
        (("-g", "missing.graph", "-m", "torus:4"), "missing.graph"),
        (("-g", "stencil:4", "-m", "torus:4", "--format", "rankfile"), "openmpi-rankfile"),
        (("-g", "stencil:4", "-m", "torus:4", "--allocation", "7"), "0 to 3"),
        (("-g", "stencil:4", "-m", "torus:4", "--fixed", "missing"), "missing"),
        (("-g", "stencil:4", "-m", "torus:4", "--seed", str(2**64)), "--seed"),
        (("-g", "stencil:4", "-m", "torus:4", "--cores", str(2**32)), "--cores"),
        (("-g", "random:9", "-m", "torus:9", "-s", "embedding"), "auto"),
        (("-g", "stencil:4", "-m", "torus:4", "-s", "greedy", "--objective", "both"), "auto"),
    ],
)
def test_bad_input_is_one_error(
    cutthrough: Callable[..., Any], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Catches a traceback, a wrong exit status, a message without what is allowed, a file half written."""
    ran = cutthrough("map", *arguments, "-o", tmp_path / "out")
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not list(tmp_path.iterdir())


def test_errors_of_files_name_the_line(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a line that is lost before it reaches the user, in graphs, machines and lists."""
    graph, machine, fixed = (tmp_path / name for name in ("bad.graph", "bad.conf", "fixed"))
    graph.write_text("2 1\n1\n1\n")
    machine.write_text("SwitchName=a Nodes=n[0-3]\nSwitchName=a Nodes=m\n")
    fixed.write_text("0 1\n1 4294967296\n")
    for arguments, place in (
        (("-g", graph, "-m", "torus:4"), "bad.graph:2"),
        (("-g", "stencil:4", "-m", machine), "bad.conf:2"),
        (("-g", "stencil:4", "-m", "torus:4", "--fixed", fixed), "fixed:2"),
    ):
        ran = cutthrough("map", *arguments)
        assert ran.status == 2
        assert place in ran.err


def test_fixed_tasks_stay() -> None:
    """Catches a fixed task that a strategy moves."""
    mapping = small(fixed={0: 5, 7: 2}, budget=0.01)
    assert (mapping.places[0], mapping.places[7]) == (5, 2)


def test_machines_answer_by_both_names() -> None:
    """Catches one of the paper's names that says something else."""
    machine = ct.Machine("bigben", allocation="0:4,0:12,2:6", cores=2, rank_order="XYZT")
    assert (machine.dims, machine.is_torus, machine.ranks) == ((4, 12, 4), (False, True, False), 384)
    assert (machine.getDimNX(), machine.getDimNY(), machine.getDimNZ(), machine.getDimNT()) == (4, 12, 4, 2)
    assert (machine.isTorusX(), machine.isTorusY(), machine.isTorusZ()) == (False, True, False)
    assert machine.rankToCoordinates(5) == machine.rank_to_coordinates(5) == (1, 1, 0, 0)
    assert machine.coordinatesToRank(1, 1, 0, 0) == 5
    assert machine.getHopsBetweenRanks(0, 5) == 2
    assert machine.pickClosestRank(0, [5, 192, 1]) == 192
    assert machine.sortRanksByHops(0, [5, 192, 1]) == [192, 1, 5]
    with pytest.raises(IndexError):
        machine.hops_between_ranks(0, 384)


def test_a_job_finds_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches hosts of the environment that are not used, and silence where there is no job."""
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=top Switches=s[0-1]\nSwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n")
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    monkeypatch.delenv("SLURM_NODELIST", raising=False)
    with pytest.raises(ct.ExperimentError, match="SLURM_JOB_NODELIST"):
        ct.Machine.from_job(conf)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[3-4]")
    machine = ct.Machine.from_job(conf)
    assert (machine.node_names(), machine.hops(0, 1)) == (["n3", "n4"], 4)


def test_graphs_come_from_arrays() -> None:
    """Catches a matrix that is transposed, and arrays that do not fit."""
    graph = ct.TaskGraph.from_matrix([[9, 2, 0], [0, 0, 5], [1, 0, 0]])
    arcs = graph.arcs()
    assert list(zip(arcs["source"], arcs["target"], arcs["bytes"], strict=True)) == [(0, 1, 2), (1, 2, 5), (2, 0, 1)]
    assert graph.to_metis().splitlines()[0] == "3 3 001"
    for wrong in ([[0.0, -1.0], [0.0, 0.0]], [[0.0, 1.0, 2.0]], [[0.0, 0.5], [0.0, 0.0]]):
        with pytest.raises(ct.ExperimentError):
            ct.TaskGraph.from_matrix(wrong)
    with pytest.raises(ct.ExperimentError, match="loads"):
        ct.TaskGraph.from_arcs(2, [0], [1], [5], loads=[1.0])


def test_a_dump_of_charm_is_known_by_its_begin(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a dump that needs another name, and one that is cut and answered by a traceback."""
    dump = (ROOT / "crates" / "tasks" / "tests" / "data" / "ring.lbdump").read_bytes()
    path = tmp_path / "lbdata.dat.0"
    path.write_bytes(dump)
    ran = cutthrough("map", "--graph", path, "--machine", "torus:8", "--strategy", "identity", "--json")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["points"][0]["hops_per_byte"] == 1.0
    path.write_bytes(dump[:100])
    ran = cutthrough("map", "--graph", path, "--machine", "torus:8")
    assert (ran.status, ran.out) == (2, "")
    assert f"{path}: byte " in ran.err


def test_exports_read_back() -> None:
    """Expected: each format, read as its consumer's documentation describes, gives the nodes of the mapping."""
    machine = ct.Machine("torus:2x3", cores=2)
    mapping = ct.evaluate_places(ct.TaskGraph("stencil:4x3"), machine, [5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    expected = mapping.places.tolist()
    assert [int(line) for line in mapping.export("nodes").splitlines()] == expected
    rankfile = [line.replace("rank ", "").split() for line in mapping.export("openmpi-rankfile").splitlines()]
    assert [int(entry[0].split("=")[1]) for entry in rankfile] == expected
    assert [entry[1] for entry in rankfile] == ["slot=0", "slot=1"] * 6
    order = [int(rank) for rank in mapping.export("cray-rank-order").replace("\n", ",").split(",") if rank]
    assert [expected[rank] for rank in order] == sorted(expected)
    assert [int(line) for line in mapping.export("slurm-hostfile").splitlines()] == expected
    processors = [int(line.split()[1]) for line in mapping.export("charm-map").splitlines()]
    assert [machine.place_of_rank(processor)[0] for processor in processors] == expected
    assert len(set(processors)) == 12
    rows = [line.split(",") for line in mapping.export("csv").splitlines()[1:]]
    assert [int(row[1]) for row in rows] == expected


def test_a_format_that_cannot_say_it_refuses() -> None:
    """Catches a file that a launcher would read otherwise: unequal nodes, and more tasks than cores."""
    uneven = ct.evaluate_places(ct.TaskGraph("stencil:3"), ct.Machine("torus:3", cores=2), [0, 1, 1])
    with pytest.raises(ct.ExperimentError, match="as many ranks"):
        uneven.export("cray-rank-order")
    hole = ct.evaluate_places(ct.TaskGraph("stencil:2"), ct.Machine("torus:4"), [0, 2])
    with pytest.raises(ct.ExperimentError, match="node 1 empty"):
        hole.export("cray-rank-order")
    crowded = ct.evaluate_places(ct.TaskGraph("stencil:3"), ct.Machine("torus:3"), [0, 1, 1])
    with pytest.raises(ct.ExperimentError, match="cores"):
        crowded.export("openmpi-rankfile")


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a rankfile of two cores needs two")
def test_open_mpi_takes_its_rankfile(tmp_path: Path) -> None:
    """Expected: two ranks run on different cores. Catches a format that Open MPI does not accept."""
    mapping = ct.map_tasks("stencil:2", ct.Machine("single-switch:1", cores=2), "identity")
    ranks = mapping.save(tmp_path / "ranks", "openmpi-rankfile", ["localhost"])
    program = tmp_path / "bound.py"
    program.write_text("import os\nprint(sorted(os.sched_getaffinity(0)))\n")
    ran = mpirun("--map-by", f"rankfile:file={ranks}", "-n", "2", sys.executable, str(program))
    assert ran.returncode == 0, ran.stderr
    bound = [set(json.loads(line)) for line in ran.stdout.splitlines()]
    assert len(bound) == 2
    assert not bound[0] & bound[1]


def test_measures_say_what_channels_carry() -> None:
    """Expected: on a ring of four, messages to the next node load the four channels upwards and nothing else."""
    graph = ct.TaskGraph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [10, 10, 10, 10])
    mapping = ct.evaluate_places(graph, ct.Machine("torus:4"), [0, 1, 2, 3])
    assert (mapping.measures["max_channel_load"], mapping.measures["mean_channel_load"]) == (10.0, 5.0)
    assert np.isclose(mapping.channel_bytes.sum(), 3 * 40)
    assert mapping.measures["bytes_by_hops"] == [0, 40]


def test_every_format_is_listed(cutthrough: Callable[..., Any]) -> None:
    """Catches a format, strategy, machine or graph that the lists do not have."""
    help_text = " ".join(cutthrough("map", "--help").out.split())
    assert all(form.split("-")[0] in help_text for form in exports.FORMATS)
    for name, wanted in (("strategies", "hierarchical"), ("machines", "bluegene-p"), ("graphs", "openatom")):
        ran = cutthrough("list", name, "--json")
        assert wanted in {entry["name"] for entry in json.loads(ran.out)[name]}


@pytest.mark.parametrize(
    ("name", "machine", "most"),
    [
        ("lulesh_1000", "torus:10x10x10", 1.0331),
        ("minimd_1024", "torus:16x8x8", 1.0),
        ("minife_1024", "torus:16x8x8", 1.40),
        ("cloverleaf_1152", "torus:12x12x8", 1.45),
    ],
)
def test_recorded_applications_are_recognized(name: str, machine: str, most: float) -> None:
    """Hops a byte of real applications: catches a grid that is not seen behind reductions and diagonals."""
    path = DATA / "graphs" / f"{name}.graph"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    mapping = ct.map_tasks(ct.TaskGraph(path), ct.Machine(machine), budget=0.1)
    assert mapping.measures["hops_per_byte"] <= most


def test_a_mapping_is_judged_by_time(cutthrough: Callable[..., Any]) -> None:
    """Catches a simulation that does not place tasks where the mapping says: in order they take longer."""
    ran = cutthrough("map", "-g", "stencil:4x4x4", "-m", "torus:4x4x4", "--shuffle", 1, "--evaluate", "--json")
    assert ran.status == 0, ran.err
    mapped, default = json.loads(ran.out)["points"]
    assert (mapped["strategy"], default["strategy"]) == ("auto", "identity")
    assert mapped["step_time_ns"] < 0.8 * default["step_time_ns"]
    assert mapped["step_hottest_channels"][0]["utilization"] > 0


def test_routers_and_buffers_of_a_step_are_said(cutthrough: Callable[..., Any]) -> None:
    """Expected: buffers below the credit round trip make a step longer; catches options that are not passed on."""
    network = ("--delay", "1 us", "--packet-size", "256 B")
    asked = ("map", "-g", "stencil:4x4", "-m", "torus:4x4", "-s", "identity", "--evaluate", "--json", *network)
    times = []
    for buffer in ("1 packets", "256 KiB"):
        ran = cutthrough(*asked, "--router", "input-queued", "--buffer", buffer)
        assert ran.status == 0, ran.err
        times.append(json.loads(ran.out)["points"][0]["step_time_ns"])
    assert times[0] > 1.5 * times[1]
    ran = cutthrough(*asked, "--router", "input-qeued")
    assert (ran.status, "input-queued" in ran.err) == (2, True), ran.err


def test_any_machine_and_graph_can_be_simulated(tmp_path: Path) -> None:
    """Expected: two tasks that send each other 64 KiB over 10 Gb/s take that long, on a machine of a file."""
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=top Switches=s[0-1]\nSwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\n")
    graph = ct.TaskGraph.from_arcs(2, [0, 1], [1, 0], [65536, 65536])
    machine = ct.Machine(conf)
    near, far = (ct.evaluate_places(graph, machine, places) for places in ([0, 1], [0, 2]))
    times = [each.simulate(bandwidth="10 Gb/s", delay="20 ns").points[0]["time_ns"] for each in (near, far)]
    sent = 65536 * 8 / 10
    assert sent < times[0] < times[1] < 1.1 * sent
    with pytest.raises(ct.ExperimentError, match="bandwidth"):
        near.simulate(bandwidth="10")


def test_what_stays_within_nodes_takes_no_time() -> None:
    """Catches an endless run, or a refusal, where no message crosses the network."""
    mapping = ct.evaluate_places(ct.TaskGraph("stencil:3"), ct.Machine("torus:4"), [1, 1, 1])
    point = mapping.simulate()[0]
    assert (point["time_ns"], point["packets"]) == (0, 0)


def test_graphs_are_combined_by_weight_and_set_beside(cutthrough: Callable[..., Any]) -> None:
    """Catches a weight that is not counted, and tasks of one application that take the numbers of another's."""
    ring, chords = (
        ct.TaskGraph("stencil:8"),
        ct.TaskGraph.from_arcs(8, range(8), [(i + 4) % 8 for i in range(8)], [512] * 8),
    )
    both = ct.TaskGraph.combine([ring, chords], [3, 1])
    assert both.total_bytes == ring.total_bytes + chords.total_bytes
    assert [phase["weight"] for phase in both.about["phases"]] == [3, 1]
    assert list(both.loads) == [2.0] * 8
    two = ct.TaskGraph.beside([ring, ct.TaskGraph("stencil:5")])
    assert two.tasks == 13
    assert two.arcs()["source"].max() == 12
    with pytest.raises(ct.ExperimentError, match="have the same"):
        ct.TaskGraph.combine([ring, two])
    for graphs, weights in (([ring], [-1.0]), ([ring, chords], [1.0]), ([], None)):
        with pytest.raises(ct.ExperimentError):
            ct.TaskGraph.combine(graphs, weights)
    ran = cutthrough("map", "-g", "stencil:16", "-g", "random:16", "--weight", "1", "-m", "mesh:16")
    assert ran.status == 2
    assert "weights" in ran.err
    ran = cutthrough(
        "map", "-g", "stencil:16", "--weight", "2", "-g", "random:16", "--weight", "1", "-m", "mesh:16", "--json"
    )
    assert ran.status == 0, ran.err


def test_the_graph_that_weighs_more_has_its_neighbours_nearer() -> None:
    """Catches weights that strategies do not see."""
    ring, other, machine = ct.TaskGraph("stencil:16"), ct.TaskGraph("random:16", seed=5), ct.Machine("mesh:16")
    hops = []
    for weight in (100.0, 0.01):
        found = ct.map_tasks(ct.TaskGraph.combine([ring, other], [weight, 1.0]), machine, "annealing", budget=0.5)
        hops.append(ct.evaluate_places(ring, machine, found.places).measures["hops_per_byte"])
    assert hops[0] < 0.75 * hops[1]


def test_what_a_new_user_gets_wrong_is_one_clear_error(cutthrough: Callable[..., Any]) -> None:
    """Catches a traceback for a folder as the output, an endless budget, a word that is none, numbers that are none."""
    common = ("map", "-g", "stencil:4x4", "-m", "torus:4x4")
    cases = {
        ("-o", "."): "--out: . is a folder",
        ("--budget", "inf"): "not infinite",
        ("-s", "foo"): "there is no `foo`",
        ("-f", "foo", "-o", "x.txt"): "there is no `foo`",
    }
    for options, complaint in cases.items():
        ran = cutthrough(*common, *options)
        assert (ran.status, complaint in ran.err) == (2, True), ran.err
    for graph, complaint in (("stencil:4x4,bytes=-1", "whole number"), ("stencil:", "missing: `dims`")):
        ran = cutthrough("map", "-g", graph, "-m", "torus:4x4")
        assert (ran.status, complaint in ran.err) == (2, True), ran.err
    for tasks, size in ((-1, 3), (2**40, 3), (4, 2**60), (4, float("nan"))):
        with pytest.raises(ct.ExperimentError):
            ct.TaskGraph.from_arcs(tasks, [0], [1], [size])


def test_a_step_within_a_node_and_one_of_several_graphs_are_simulated(cutthrough: Callable[..., Any]) -> None:
    """Catches an evaluation that needs a network, and phases of several graphs that happen at once."""
    ran = cutthrough("map", "-g", "stencil:4x4", "-m", "ranger", "--evaluate", "--json")
    assert ran.status == 0, ran.err
    assert [point["step_time_ns"] for point in json.loads(ran.out)["points"]] == [0.0, 0.0]
    machine = ("-m", "torus:2x2x2", "--shuffle", "4", "--evaluate", "--json")
    ran = cutthrough("map", "-g", "matmul:2", "-g", "stencil:2x2x2", *machine)
    assert ran.status == 0, ran.err
    phases = json.loads(ran.out)["points"][0]["step_phases"]
    assert [phase["name"] for phase in phases] == ["a", "b", "c", "step"]
    assert ct.map_tasks("stencil:4x4", "torus:4x4").measures["hops_per_byte"] == 1


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("sources", lambda: ct.TaskGraph.from_arcs(4, [2**32 + 3], [1], [8])),
        ("targets", lambda: ct.TaskGraph.from_arcs(4, [0], np.array([2**32 + 1], np.uint64), [8])),
        ("targets", lambda: ct.TaskGraph.from_arcs(4, [0], [-1], [8])),
        ("sources", lambda: ct.TaskGraph.from_arcs(4, [0.5], [1], [8])),
        ("sources", lambda: ct.TaskGraph.from_arcs(4, [float("nan")], [1], [8])),
        ("sources", lambda: ct.TaskGraph.from_arcs(4, ["0"], [1], [8])),
        ("sizes", lambda: ct.TaskGraph.from_arcs(4, [0], [1], [2**70])),
        ("tasks", lambda: ct.TaskGraph.from_arcs(2**32 + 4, [0], [1], [8])),
        ("tasks", lambda: ct.TaskGraph.from_arcs(4.5, [0], [1], [8])),  # type: ignore[arg-type]
        ("current", lambda: small("dynamic", current=[2**32, *range(1, 16)])),
        ("current", lambda: small("dynamic", current=[0.5] * 16)),
        ("current", lambda: small("dynamic", current=[0, 1])),
        ("budget", lambda: small(budget=-1)),
        ("fixed", lambda: small(fixed={2**32: 1})),
        ("fixed", lambda: small(fixed={1: 16})),
        ("places", lambda: ct.evaluate_places(ct.TaskGraph("stencil:4"), ct.Machine("torus:4"), [0.9, 1.2, 2.5, 3.0])),
        ("places", lambda: ct.evaluate_places(ct.TaskGraph("stencil:4"), ct.Machine("torus:4"), [0, 1, 2, 4])),
        ("places", lambda: ct.evaluate_places(ct.TaskGraph("stencil:4"), ct.Machine("torus:4"), [0, 1, 2])),
    ],
)
def test_numbers_that_do_not_fit_are_refused(argument: str, call: Callable[[], Any]) -> None:
    """Catches a number that is cut to 32 bits, a float that is cut to its whole part, an error without its argument."""
    with pytest.raises(ct.ExperimentError, match=rf"error: {argument}.*\d"):
        call()


def test_whole_numbers_of_any_type_are_taken() -> None:
    """Catches a check that refuses what fits: floats that are whole, small integers, an empty list."""
    graph = ct.TaskGraph.from_arcs(4, np.array([0.0, 3.0]), np.array([1, 2], np.int8), np.array([8, 9], np.uint64))
    assert [column.tolist() for column in graph.arcs().values()] == [[0, 3], [1, 2], [8, 9]]
    assert ct.TaskGraph.from_arcs(4, [], [], []).total_bytes == 0
    places = np.array([3.0, 2.0, 1.0, 0.0])
    assert ct.evaluate_places(graph, ct.Machine("torus:4"), places).places.tolist() == [3, 2, 1, 0]


def test_a_graph_of_arrays_is_simulated_with_all_tasks_and_loads() -> None:
    """Catches tasks without arcs and loads that are lost, and a mean over nodes that the job does not have."""
    two = ct.TaskGraph.from_arcs(8, [0, 1], [1, 0], [100, 100], loads=[1, 1, 2.5, 1e-3, 1, 0, 7, 1])
    for machine, places in [
        (ct.Machine("mesh:8"), range(8)),
        (ct.Machine("mesh:8"), [0, 0, 1, 1, 2, 2, 3, 3]),
        (ct.Machine("torus:4x4", allocation="0:2,0:2"), [0, 1, 2, 3] * 2),
        (ct.Machine("torus:4x4", allocation="0:2,0:4"), [0, 1, 2, 2, 1, 0, 0, 0]),
    ]:
        mapping = ct.evaluate_places(two, machine, list(places))
        point = mapping.simulate()[0]
        assert point["imbalance"] == pytest.approx(mapping.measures["imbalance"])
        assert point["hop_bytes"] == mapping.measures["hop_bytes"]


def test_a_long_chain_is_measured(tmp_path: Path) -> None:
    """Expected: 399 channels between routers and both ends. Catches hops that end at 255."""
    path = tmp_path / "chain.edges"
    links = [f"link {router} {router + 1}" for router in range(399)]
    path.write_text("\n".join([*links, *(f"node {router}" for router in range(400))]), encoding="utf-8")
    chain = ct.Machine(path)
    assert chain.hops(0, 399) == 401
    graph = ct.TaskGraph.from_arcs(2, [0], [1], [10])
    assert ct.evaluate_places(graph, chain, [0, 399]).measures["hop_bytes"] == 4010
