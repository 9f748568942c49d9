"""The flow model: closed forms, the packet model beside it, and the keys that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

#: Links of 1 B/ns and 20 ns, routers of 90 ns: a path through r routers takes 20 ns (r + 1) + 90 ns r.
BASE: dict[str, Any] = {
    "link": {"bandwidth": "8 Gb/s", "delay": "20 ns"},
    "router": {"kind": "output-queued", "delay": "90 ns"},
}
RETURNED = {"kind": "collective", "operation": "allreduce", "algorithm": "nvls", "size": "1 KiB"}
PACER = {"kind": "window", "window": "8 KiB"}
ONE_ROUTER, TWO_ROUTERS = 130.0, 240.0


def run(model: str, program: dict[str, Any], **sections: Any) -> ct.Point:
    """Returns the result of a program."""
    workload = {"kind": "program", "program": program}
    return ct.run({**BASE, "workload": workload, "simulation": {"model": model}, **sections})[0]


def goal(folder: Path, ranks: int, sends: list[tuple[int, int, int]]) -> dict[str, Any]:
    """Returns the program of messages (from, to, bytes) that are all sent at once."""
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        own = [f"s{n}: send {size}b to {to} tag {n}" for n, (src, to, size) in enumerate(sends) if src == rank]
        own += [f"r{n}: recv {size}b from {src} tag {n}" for n, (src, to, size) in enumerate(sends) if to == rank]
        lines += [f"rank {rank} {{", *own, "}"]
    (folder / "sends.goal").write_text("\n".join(lines) + "\n")
    return {"kind": "goal", "file": str(folder / "sends.goal")}


def test_a_message_alone_takes_what_its_packets_take(tmp_path: Path) -> None:
    """Catches a delay that is left out or counted twice, and a message that waits for its own packets."""
    for size in (1, 1000, 1 << 20, 3 << 30):
        program = goal(tmp_path, 9, [(0, 8, size)])
        tree = {"kind": "fat-tree", "k": 3, "n": 2}
        for topology, delay in (("single-switch:9", ONE_ROUTER), (tree, 3 * 90.0 + 4 * 20.0)):
            routing = {} if topology != tree else {"routing": {"kind": "d-mod-k"}}
            point = run("flow", program, topology=topology, **routing)
            assert point["time_ns"] == size + delay
            assert point["model"] == "flow"
            if size <= 1 << 20:
                packet = run("packet", program, topology=topology, **routing)
                assert abs(packet["time_ns"] - point["time_ns"]) <= 1


def test_messages_share_channels(tmp_path: Path) -> None:
    """Catches a share that does not grow when another message ends."""
    size = 1 << 20
    two = run("flow", goal(tmp_path, 3, [(0, 2, size), (1, 2, size)]), topology="single-switch:3")
    assert two["time_ns"] == 2 * size + ONE_ROUTER
    # Half of message 1 passes beside message 0, and the rest alone.
    uneven = run("flow", goal(tmp_path, 3, [(0, 2, size), (1, 2, 2 * size)]), topology="single-switch:3")
    assert uneven["per_rank"][2] == 3 * size + ONE_ROUTER
    # Nodes 1 to 3 of a line send to node 0: the far ones by one input, so that node 1 ends when it has sent its
    # message at half of the rate, and the others share the other half and then the whole.
    line = goal(tmp_path, 4, [(1, 0, size), (2, 0, size), (3, 0, size)])
    topology = {"kind": "mesh", "dims": [4]}
    point = run("flow", line, topology=topology)
    assert point["time_ns"] == pytest.approx(3 * size + TWO_ROUTERS, abs=250)
    assert point["time_ns"] == pytest.approx(run("packet", line, topology=topology)["time_ns"], rel=1e-3)


def test_buffers_let_messages_pass_a_slow_one(tmp_path: Path) -> None:
    """Catches buffers that are left out or counted twice, and a node that does not wait when they are full.

    Node 0 sends to node 2, where two other messages arrive, and to node 3. Its turns are a half of its link, and
    message 0 drains at a third: its buffer of b bytes is full at 6 b, when message 1 has sent 3 b bytes. From then on
    both have a third.
    """
    size, buffer = 1 << 20, 16 << 10
    program = goal(tmp_path, 5, [(0, 2, size), (0, 3, size), (1, 2, size), (4, 2, size)])
    sections = {"topology": "single-switch:5", "router": {**BASE["router"], "buffer": f"{buffer} B"}}
    for model, rel in (("flow", 1e-8), ("packet", 0.01)):
        point = run(model, program, **sections)
        assert point["per_rank"][2] == pytest.approx(3 * size + ONE_ROUTER, rel=rel)
        assert point["per_rank"][3] == pytest.approx(3 * (size - buffer) + ONE_ROUTER, rel=rel)


def test_full_buffers_hold_up_other_nodes(tmp_path: Path) -> None:
    """Catches a channel between routers that passes messages behind one that waits.

    Nodes 0 and 1 share a channel up. Message 0 has a third of its last channel, and message 1 goes elsewhere.
    """
    size = 1 << 22
    program = goal(tmp_path, 16, [(0, 4, size), (1, 8, size), (12, 4, size), (9, 4, size)])
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    times = {model: run(model, program, **tree)["per_rank"] for model in ("packet", "flow")}
    assert times["flow"][8] == pytest.approx(times["packet"][8], rel=0.02)
    assert times["flow"][8] > 2.9 * size


def test_adaptive_routings_use_all_channels(tmp_path: Path) -> None:
    """Catches the default of fat trees if it is refused, and ports with more than others: a shift has all bandwidth.

    The four nodes of a switch send to those of another, and half of the nodes to nodes of several.
    """
    size, tree = 1 << 20, {"topology": {"kind": "fat-tree", "k": 4, "n": 2}}
    shift = goal(tmp_path, 16, [(node, (node + 4) % 16, size) for node in range(16)])
    flow, packet = (run(model, shift, **tree)["time_ns"] for model in ("flow", "packet"))
    assert flow == size + 3 * 90.0 + 4 * 20.0
    assert packet == pytest.approx(flow, rel=0.01)
    half = goal(tmp_path, 16, [(node, (5 * node + 4) % 16, size) for node in range(0, 16, 2)])
    assert run("flow", half, **tree)["time_ns"] == pytest.approx(run("packet", half, **tree)["time_ns"], rel=0.02)


@pytest.mark.parametrize("router", ["output-queued", "input-output-queued"])
def test_random_paths_take_longer_than_even_ones(router: str, tmp_path: Path) -> None:
    """Catches strands of messages that hold up one another for ever, and random paths that cost no bandwidth.

    Shares that are even would give the whole bandwidth. Packets that draw their ports meet, and lose a part of it.
    """
    size = 1 << 18
    shift = goal(tmp_path, 64, [(node, (node + 16) % 64, size) for node in range(64)])
    sections = {"topology": {"kind": "fat-tree", "k": 4, "n": 3}, "routing": {"kind": "random-up-down"}}
    sections["router"] = {**BASE["router"], "kind": router}
    flow, packet = (run(model, shift, **sections)["time_ns"] for model in ("flow", "packet"))
    assert flow > 1.1 * size
    assert flow == pytest.approx(packet, rel=0.3)


@pytest.mark.parametrize("router", ["output-queued", "virtual-output-queued", "input-output-queued"])
def test_random_messages_are_as_fast_for_any_size(router: str, tmp_path: Path) -> None:
    """Catches nodes that wait for one another without end, and rates that depend on how often buffers were filled.

    The long messages would also take minutes if the cost of a run grew with their sizes.
    """
    draw = np.random.default_rng(1)
    pairs = [(node, (node + int(draw.integers(1, 16))) % 16) for node in range(16) for _ in range(4)]
    sections = {
        "topology": {"kind": "fat-tree", "k": 4, "n": 2},
        "routing": {"kind": "d-mod-k"},
        "router": {"kind": router},
    }
    times = []
    for size in (1 << 20, 1 << 30):
        program = goal(tmp_path, 16, [(source, to, size) for source, to in pairs])
        times.append(np.array(run("flow", program, **sections)["per_rank"]))
        if size == 1 << 20:
            packet = np.array(run("packet", program, **sections)["per_rank"])
    receivers = packet > 0
    short, long, packet = (own[receivers] for own in (*times, packet))
    # A balance that kept its first rates was wrong by 0.7.
    assert np.abs(short / packet - 1).mean() < 0.2
    assert np.abs(long / (1024 * short) - 1).mean() < 0.1


def test_collectives_take_their_closed_forms() -> None:
    """Catches steps that overlap or wait, and rates that are not those of the steps."""
    size = 1 << 20
    ring = {"kind": "collective", "operation": "allreduce", "algorithm": "ring", "size": f"{size} B"}
    pairwise = {"kind": "collective", "operation": "alltoall", "algorithm": "pairwise", "size": f"{size} B"}
    for router in ("output-queued", "virtual-output-queued", "input-output-queued", "input-queued"):
        sections = {"topology": "single-switch:8", "router": {"kind": router, "delay": "90 ns"}}
        assert run("flow", ring, **sections)["time_ns"] == 14 * (size / 8 + ONE_ROUTER)
        assert run("flow", pairwise, **sections)["time_ns"] == 7 * (size + ONE_ROUTER)


def test_phases_and_traffic_at_a_rate_are_those_of_packets() -> None:
    """Catches volumes or messages that are lost or counted twice, and a load that is not the offered one."""
    found = {}
    for model in ("packet", "flow"):
        tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
        sections = {**BASE, **tree, "simulation": {"model": model}}
        exchange = ct.run({**sections, "workload": {"kind": "exchange", "dims": [4, 4], "volume": "256 KiB"}})[0]
        traffic = {"kind": "traffic", "load": 0.2, "message_size": "8 KiB", "pattern": {"kind": "shift", "offset": 5}}
        measure = {"warm_up": "1 ms", "min_time": "10 ms", "max_time": "11 ms", "messages": True}
        shift = ct.run({**sections, "workload": traffic, "measure": measure})[0]
        found[model] = exchange["time_ns"], shift["accepted_load"], shift["messages"]["latency_mean_ns"]
    assert found["flow"] == pytest.approx(found["packet"], rel=0.02)


def test_threads_and_seeds_change_nothing() -> None:
    """Catches an order that depends on memory or threads."""
    halo = {"kind": "halo-2d", "message_size": "64 KiB", "iterations": 3}
    points = [dict(run("flow", halo, topology="torus:4x4")) for _ in range(2)]
    for point in points:
        point.pop("wall_s")
    assert points[0] == points[1]


@pytest.mark.parametrize("topology", ["single-switch:8", "fat-tree:k=4,n=2", "mesh:3x3"])
@pytest.mark.parametrize("router", ["output-queued", "virtual-output-queued"])
def test_copies_in_routers_take_what_their_packets_take(topology: str, router: str) -> None:
    """Catches a tree whose channels carry a multicast twice, and copies that cross a crossbar for free.

    In the last routers, copies cross in turn. Those of several multicasts also wait for one another, unlike flows.
    """
    sections: dict[str, Any] = {"topology": topology, "router": {"kind": router, "delay": "90 ns"}}
    if topology.startswith("fat-tree"):
        sections["routing"] = {"kind": "d-mod-k"}
    for operation, error in (("broadcast", 0.01), ("allgather", 0.11 if router.startswith("virtual") else 0.01)):
        program = {"kind": "collective", "operation": operation, "algorithm": "in-switch", "size": "64 KiB"}
        flow, packet = (run(model, program, **sections) for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=error), operation
        assert flow["groups_verified"]


def test_a_multicast_in_a_switch_takes_its_closed_form() -> None:
    """Catches a multicast that sends each copy by the channel of its node."""
    size = 1 << 16
    program = {"kind": "collective", "operation": "broadcast", "algorithm": "in-switch", "size": f"{size} B"}
    assert run("flow", program, topology="single-switch:8")["time_ns"] == size + ONE_ROUTER


@pytest.mark.parametrize("topology", ["single-switch:8", "fat-tree:k=4,n=2", "torus:4x4"])
@pytest.mark.parametrize("router", ["output-queued", "virtual-output-queued", "input-output-queued"])
def test_combining_in_routers_takes_what_its_packets_take(topology: str, router: str) -> None:
    """Catches a delay of units that is left out or counted twice, units and crossbars that limit nothing, and members
    that end a reduction before the last window of their packets may leave.
    """
    sections: dict[str, Any] = {"topology": topology, "router": {"kind": router, "delay": "90 ns"}}
    if topology.startswith("fat-tree"):
        sections["routing"] = {"kind": "d-mod-k"}
    for operation, error in (("allreduce", 0.014), ("reduce", 0.004), ("reduce-scatter", 0.4)):
        program = {"kind": "collective", "operation": operation, "algorithm": "in-switch", "size": "64 KiB"}
        flow, packet = (run(model, program, **sections) for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=error), operation
        assert flow["per_rank"] == pytest.approx(packet["per_rank"], rel=error), operation
        assert flow["groups_verified"]


def test_a_barrier_takes_the_delay_of_its_tree() -> None:
    """Catches a window that slows an operation of one packet."""
    program = {"kind": "collective", "operation": "barrier", "algorithm": "in-switch"}
    for topology in ("single-switch:8", "torus:4x4"):
        flow, packet = (run(model, program, topology=topology) for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=0.03), topology


def test_an_allreduce_in_a_switch_takes_its_closed_form() -> None:
    """Catches contributions that start one after another, and a unit that is not passed once by each of them.

    A unit takes the last packets, of 256 B, whole. It combines 8 B in each cycle of 1 ns.
    """
    size, packet, members = 1 << 16, 256, 8
    program = {"kind": "collective", "operation": "allreduce", "algorithm": "in-switch", "size": f"{size} B"}
    combined = members * packet / 8 + 1
    point = run("flow", program, topology=f"single-switch:{members}")
    assert point["time_ns"] == size + ONE_ROUTER + combined + packet
    assert point["time_ns"] == pytest.approx(
        run("packet", program, topology=f"single-switch:{members}")["time_ns"], 1e-3
    )


def test_an_operation_in_a_slow_unit_is_no_standstill() -> None:
    """Catches ranks, or packets, that are said to wait for ever while a unit works on contributions."""
    program = {"kind": "collective", "operation": "allreduce", "algorithm": "in-switch", "size": "4 KiB"}
    unit = {"in_switch": {"combine": {"kind": "word-serial", "header_cycles": 100_000}}}
    sections: dict[str, Any] = {
        "topology": "single-switch:64",
        "link": {"bandwidth": "400 Gb/s", "delay": "20 ns"},
        **unit,
    }
    flow, packet = (run(model, program, **sections) for model in ("flow", "packet"))
    assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=0.03)


@pytest.mark.parametrize("operation", ["allreduce", "reduce"])
def test_an_operation_waits_for_its_last_member(operation: str, tmp_path: Path) -> None:
    """Catches an operation that starts before its last member, and early members that lose more than this time."""

    def late(rank: ct.Rank) -> None:
        rank.calc(f"{3 * rank.number} us")
        getattr(rank, operation)("16 KiB")

    (tmp_path / "late.calls").write_text(ct.Program(16, late).to_text())
    workload = {
        "kind": "program", "collectives": "hardware",
        "program": {"kind": "calls", "file": str(tmp_path / "late.calls")},
    }  # fmt: skip
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    base = {**BASE, **tree, "workload": workload}
    flow, packet = (ct.run({**base, "simulation": {"model": model}})[0] for model in ("flow", "packet"))
    assert flow["time_ns"] > 45000 + 16384
    assert flow["per_rank"] == pytest.approx(packet["per_rank"], rel=0.02)


def test_operations_of_groups_that_share_units_take_what_their_packets_take() -> None:
    """Catches units, and channels from units, that each group has for itself."""
    sections: dict[str, Any] = {"topology": "single-switch:16", "router": {"kind": "input-output-queued"}}
    for combine in ({"kind": "line-rate"}, {"kind": "word-serial", "units": 5}):
        program = {
            "kind": "collective", "operation": "allreduce", "algorithm": "in-switch", "size": "64 KiB", "group_size": 4,
        }  # fmt: skip
        own = {**sections, "in_switch": {"combine": combine}}
        flow, packet = (run(model, program, **own) for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=0.03), combine


def test_several_networks_take_what_their_packets_take() -> None:
    """Catches a message on the wrong network, and a path that mixes the channels of two networks."""
    networks: list[dict[str, Any]] = [
        {"name": "inner", "topology": "single-switch:4", "link": {"bandwidth": "32 Gb/s", "delay": "20 ns"}},
        {"name": "outer", "topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}},
    ]
    sections: dict[str, Any] = {"network": networks, "node": {"endpoints": 4, "count": 4}}
    for program in (
        {"kind": "collective", "operation": "alltoall", "algorithm": "pairwise", "size": "64 KiB"},
        {"kind": "collective", "operation": "allreduce", "algorithm": "in-switch", "size": "64 KiB"},
    ):
        flow, packet = (run(model, program, **sections) for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], rel=0.03)
    detours = [networks[0], {"name": "outer", "topology": "hyperx:4x4", "routing": {"kind": "ugal-l"}}]
    for key, own in (
        ("equal interfaces", {"network": [{**networks[0], "nic": {"gap": "80 ns"}}, networks[1]]}),
        ("ugal-l", {"network": detours}),
        ("relay", {"relay": {"network": "inner"}}),
    ):
        with pytest.raises(ct.ExperimentError, match=key):
            run("flow", program, **{**sections, **own})


@pytest.mark.parametrize("groups", ["one-shot", "persistent"])
def test_multicasts_at_a_rate_take_what_their_packets_take(groups: str) -> None:
    """Catches copies that are lost or that load channels before routers part them."""
    workload = {
        "kind": "collective", "collectives": "hardware", "groups": groups, "load": 0.02, "size": "16 KiB",
        "fanout": {"mean": 4},
    }  # fmt: skip
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    measure = {"warm_up": "1 ms", "min_time": "20 ms", "max_time": "22 ms"}
    found = []
    for model in ("flow", "packet"):
        simulation = {"model": model}
        point = ct.run({**BASE, **tree, "workload": workload, "measure": measure, "simulation": simulation})[0]
        found.append((point["operation_time_mean_ns"], point["fanout_mean"]))
    assert found[0] == pytest.approx(found[1], rel=0.05)


BUS = {"kind": "loggp", "bus": {"bandwidth": "6 Gb/s", "directions": "one"}}


@pytest.mark.parametrize("window", ["1 KiB", "512 B"])
def test_windows_limit_the_messages_of_a_pair(window: str, tmp_path: Path) -> None:
    """Catches a window for each message instead of one for each pair, and a round trip without its acknowledgement.

    A round trip takes 516 ns: a packet of 256 ns, and a way of 130 ns there and back.
    """
    size = 1 << 20
    workload = {"kind": "program", "pacer": {"kind": "window", "window": window}}
    each = 516 / 512 if window == "512 B" else 1.0
    for sends, time in (([(0, 1)], each), ([(0, 1), (0, 1)], 2 * each), ([(0, 1), (2, 1), (3, 1)], 3.0)):
        workload["program"] = goal(tmp_path, 4, [(src, to, size) for src, to in sends])
        sections = {**BASE, "topology": "single-switch:4", "workload": workload}
        flow, packet = (ct.run({**sections, "simulation": {"model": model}})[0] for model in ("flow", "packet"))
        assert flow["time_ns"] == pytest.approx(time * size + ONE_ROUTER, abs=20)
        assert flow["time_ns"] == pytest.approx(packet["time_ns"], abs=20)


def test_a_bus_of_both_directions_is_shared() -> None:
    """Catches a bus with its whole bandwidth in each direction: every node sends and receives at once."""
    ring = {"kind": "collective", "operation": "allreduce", "algorithm": "ring", "size": "4 MiB"}
    sections = {"topology": "single-switch:4", "nic": BUS}
    flow, packet = (run(model, ring, **sections)["time_ns"] for model in ("flow", "packet"))
    assert flow == pytest.approx(packet, rel=1e-3)
    # Six steps of 1 MiB, at half of 0.75 B/ns.
    assert flow > 6 * (1 << 20) / 0.375


@pytest.mark.parametrize(("buffer", "drain"), [("512 B", "8 Gb/s"), ("16 KiB", "4 Gb/s")])
def test_receive_buffers_limit_the_rate(buffer: str, drain: str, tmp_path: Path) -> None:
    """Catches a drain or credits that are left out: by each of them, messages to a node take longer."""
    size = 1 << 20
    sections = {"topology": "single-switch:4", "node": {"receive_buffer": buffer, "drain": drain}}
    program = goal(tmp_path, 4, [(0, 1, size), (2, 1, size)])
    flow, packet = (run(model, program, **sections)["time_ns"] for model in ("flow", "packet"))
    assert flow > 1.05 * 2 * size
    # A buffer that fills at first takes its bytes faster.
    assert flow == pytest.approx(packet, rel=0.02)


def test_backlogged_sources_fill_the_network() -> None:
    """Catches a source that waits between its messages."""
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    workload: dict[str, Any] = {"kind": "traffic", "load": 1.0, "injection": "backlogged", "message_size": "64 KiB"}
    for pattern, error in (({"kind": "shift", "offset": 4}, 1e-9), ("uniform", 0.03)):
        sections = {**BASE, **tree, "workload": {**workload, "pattern": pattern}}
        flow, packet = (ct.run({**sections, "simulation": {"model": model}})[0] for model in ("flow", "packet"))
        assert flow["accepted_load"] == pytest.approx(packet["accepted_load"], rel=error)


def test_traffic_at_a_rate_runs_beside_ranks() -> None:
    """Catches a job that waits for the messages of another job at its node."""
    traffic = {"kind": "traffic", "load": 0.2, "message_size": "16 KiB"}
    halo = {"kind": "program", "program": {"kind": "halo-2d", "message_size": "64 KiB", "dims": [2, 4]}}
    jobs = [{"name": "open", "nodes": "0-7", "workload": traffic}, {"name": "ranks", "nodes": "8-15", "workload": halo}]
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    found = [ct.run({**BASE, **tree, "job": jobs, "simulation": {"model": model}})[0] for model in ("flow", "packet")]
    loads, times = ([point["jobs"][job][key] for point in found] for job, key in ((0, "accepted_load"), (1, "time_ns")))
    assert loads[0] == pytest.approx(loads[1], rel=0.1)
    assert times[0] == pytest.approx(times[1], rel=0.02)


EXCHANGE = {"kind": "exchange", "dims": [4, 4], "volume": "256 KiB"}
HALO: dict[str, Any] = {"kind": "program", "program": {"kind": "halo-2d", "message_size": "64 KiB", "iterations": 20}}
OPEN = {"kind": "traffic", "load": 0.2, "message_size": "8 KiB", "pattern": {"kind": "shift", "offset": 5}}
MEASURE = {"warm_up": "1 ms", "min_time": "10 ms", "max_time": "11 ms"}


def validated(share: float, threads: int = 1, **sections: Any) -> ct.Point:
    """Returns the result of a run on a fat tree that is validated by packets."""
    tree = {"topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": "d-mod-k"}}
    simulation = {"model": "flow", "validate": share}
    return ct.run({**BASE, **tree, "simulation": simulation, **sections}, threads=threads)[0]


@pytest.mark.parametrize(
    ("sections", "sample", "messages"),
    [
        ({"workload": EXCHANGE}, "1 of 2 phases", 32),
        ({"workload": HALO}, "the messages that arrive in the first", 32),
        ({"workload": OPEN, "measure": MEASURE}, "the messages that arrive in the first", 32),
    ],
)
def test_a_sample_is_validated_by_packets(sections: dict[str, Any], sample: str, messages: int) -> None:
    """Catches a sample of another size, messages that are compared with others, and errors that depend on threads.

    None of these messages meets another for long, so that both models agree.
    """
    points = [validated(0.05, threads, **sections) for threads in (1, 2)]
    found = points[0]["validation"]
    assert found == points[1]["validation"]
    assert found["sample"].startswith(sample)
    assert found["messages"] >= messages
    assert 0 <= found["error_mean"] <= found["error_max"] < 0.1
    assert found["time_ratio"] == pytest.approx(1, abs=0.05)
    whole = points[0]["packet_hops"]
    assert found["messages"] < whole


def test_an_error_of_flows_is_seen() -> None:
    """Catches an error that is always small: the flow model has no waits for the crossbars of virtual output queues.

    All nodes of a HyperX with four nodes a router send to all neighbours, which packets do more slowly.
    """
    halo = {"kind": "program", "program": {"kind": "halo-3d", "message_size": "64 KiB", "dims": [4, 4, 4]}}
    hyperx = {"kind": "hyperx", "dims": [4, 4], "nodes_per_router": 4}
    sections: dict[str, Any] = {"workload": halo, "router": {"kind": "virtual-output-queued"}, "topology": hyperx}
    sections["routing"] = {"kind": "dimension-order"}
    found = validated(1.0, **sections)["validation"]
    packet = ct.run({**BASE, **sections})[0]
    assert found["error_mean"] > 0.02
    # All messages are in the sample.
    assert found["messages"] >= 64 * 6 / 2
    assert found["packets"] <= packet["packets"]


def test_jobs_are_validated_together() -> None:
    """Catches messages of one job that are compared with those of another."""
    jobs = [
        {"name": name, "nodes": nodes, "workload": {"kind": "program", "program": {**HALO["program"], "dims": [2, 4]}}}
        for name, nodes in (("one", "0-7"), ("two", "8-15"))
    ]
    found = validated(0.1, job=jobs)["validation"]
    assert found["messages"] > 16
    assert found["error_max"] < 0.1


def test_check_estimates_messages() -> None:
    """Catches an estimate of the packets of messages: their sizes change neither the counts nor the time."""
    for size in ("64 KiB", "64 MiB"):
        program = {"kind": "collective", "operation": "allreduce", "algorithm": "ring", "size": size}
        sections = {**BASE, "topology": "single-switch:8", "simulation": {"model": "flow"}}
        workload = {"kind": "program", "program": program}
        found = ct.check({**sections, "workload": workload})[0]
        point = ct.run({**sections, "workload": workload})[0]
        assert found["packet_hops"] == point["packet_hops"] == found["messages"] == 8 * 14
        assert found["seconds"] == pytest.approx(8 * 14 / 2e5)


@pytest.mark.parametrize(
    ("topology", "routing", "is_spread"),
    [("torus:4x4", None, True), ("mesh:4x4", None, False), ("fat-tree:k=4,n=2", "d-mod-k", False),
     ("fat-tree:k=4,n=2", "random-up-down", True), ("fat-tree:k=4,n=2", "ecmp", False)],
)  # fmt: skip
def test_spread_paths_are_warned_of(topology: str, routing: str | None, is_spread: bool) -> None:
    """Catches spread messages, whose errors are larger, without a warning, and a warning of routings with one path."""
    sections = {"topology": topology} | ({"routing": {"kind": routing}} if routing else {})
    workload = {"kind": "program", "program": {"kind": "incast"}}
    for model, expected in (("flow", is_spread), ("packet", False)):
        found = ct.check({**BASE, **sections, "simulation": {"model": model}, "workload": workload})
        kinds = {warning["kind"] for warning in found[0]["warnings"]}
        assert ("spread-flows" in kinds) is expected, model


@pytest.mark.parametrize(
    ("key", "sections"),
    [
        ("simulation.model", {"topology": {"kind": "flat", "nodes": 4}}),
        ("measure.series", {"measure": {"series": "1 us"}}),
        ("measure.timeline", {"measure": {"timeline": True}}),
        ("routing.kind", {"topology": "hyperx:4x4", "routing": {"kind": "ugal-l"}}),
        ("routing.kind", {"topology": "dragonfly:p=2,a=4,h=2", "routing": {"kind": "par"}}),
        ("measure.search", {"workload": {"kind": "traffic", "load": 0.1}, "measure": {"search": "saturation"}}),
        ("pacer.ack_size", {"workload": {"kind": "traffic", "load": 0.1, "pacer": {**PACER, "ack_size": "64 B"}}}),
        ("program.algorithm", {"workload": {"kind": "program", "program": RETURNED}}),
        ("low_latency.segment", {"in_switch": {"low_latency": {"segment": "256 B", "max_message": "4 KiB"}}}),
    ],
)
def test_refused_keys_are_named(key: str, sections: dict[str, Any]) -> None:
    """Catches a key that is ignored."""
    base = {**BASE, "topology": "torus:4x4", "workload": {"kind": "program", "program": {"kind": "incast"}}}
    if key == "simulation.model":
        del base["router"]
    with pytest.raises(ct.ExperimentError) as raised:
        ct.check({**base, "simulation": {"model": "flow"}, **sections})
    assert key.rsplit(".", 1)[-1] in str(raised.value)
    assert "flow" in str(raised.value)


def test_other_models_refuse_validation() -> None:
    """Catches a validation that is ignored."""
    for model in ("packet", "delay"):
        simulation = {"model": model, "validate": 0.01}
        with pytest.raises(ct.ExperimentError, match=r"simulation\.model"):
            ct.check({"link": BASE["link"], "topology": "torus:4x4", "simulation": simulation, "workload": HALO})
