"""Benchmarks of message latency: their tables, figures and fitted costs; and computing applications."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.costs import equation_1, fit, fit_message_cost

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MACHINE: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [4, 3]},
    "link": {"bandwidth": "1 GB/s", "delay": "40 ns"},
    "router": {"kind": "output-queued", "delay": "60 ns"},
    "nic": {"send_overhead": "700 ns", "receive_overhead": "300 ns"},
}
WOCON = {"kind": "benchmark", "benchmark": {"kind": "wocon"}}


def wocon(**nic: str) -> ct.Results:
    """Messages of three sizes, one packet each at most."""
    machine = {**MACHINE, "nic": {**MACHINE["nic"], **nic}}
    sweep = {"workload.benchmark.message_size": ["1 B", "100 B", "200 B"]}
    return ct.run(**machine, workload=WOCON, sweep=sweep)


def test_costs_of_a_message_are_those_of_its_machine() -> None:
    """Catches wrong rates: 1000 ns of software, two ends, 100 ns a channel, 1 ns a byte."""
    cost = fit_message_cost(wocon())
    assert cost.per_message_ns == pytest.approx(1000 + 2 * 40 + 60)
    assert cost.per_link_ns == pytest.approx(100)
    assert cost.per_byte_ns == pytest.approx(1)
    assert cost.error < 1e-9
    assert cost.samples == 3 * 11
    assert cost.time_ns(50, 2) == pytest.approx(1140 + 200 + 50)
    assert cost.bandwidth_bytes_per_s == pytest.approx(1e9)


def test_rendezvous_triples_the_cost_of_the_distance() -> None:
    """Catches a rendezvous that is ignored: request, answer and data each take the distance and both overheads."""
    results = wocon(eager_limit="99 B", control_size="20 B")
    cost = fit_message_cost(results, low=100)
    assert cost.per_link_ns == pytest.approx(300)
    assert cost.per_message_ns == pytest.approx(3 * 1140 + 2 * 20)
    with pytest.raises(ValueError, match="two sizes"):
        fit_message_cost(results, high=99)


def test_samples_of_a_real_machine_fit_as_well() -> None:
    """Catches a fit that needs distances: near pairs are all as far apart."""
    cost = fit([(1, size, 2000 + 0.5 * size) for size in (4, 1024, 65536)])
    assert (cost.per_link_ns, cost.samples) == (0, 3)
    assert cost.per_byte_ns == pytest.approx(0.5)


def test_samples_that_are_none_are_refused() -> None:
    """Catches a division by zero, a fit of times below zero, a wrong complaint about results without messages."""
    for samples in ([(1, 2, 0), (2, 3, 4)], [(1, 2, -1.0), (2, 3, -3.0)], [(1, 2, float("inf")), (1, 3, 1)]):
        with pytest.raises(ValueError, match="above 0"):
            fit(samples)
    machine = {**MACHINE, "nic": {}}
    traffic = ct.run(**machine, workload={"kind": "traffic", "load": 0.1}, measure={"max_time": "20 us"})
    for use in (fit_message_cost, lambda results: results.plot("messages")):
        with pytest.raises(ValueError, match="no benchmark"):
            use(traffic)


def test_equation_1_says_a_quarter_and_refuses_nonsense() -> None:
    """Catches terms that are swapped, and an overflow that comes out as a number."""
    distance, length = equation_1(flit=32, bytes_per_s=400_000_000, links=8, length=1024)
    assert (distance, length) == (640.0, 2560.0)
    for wrong in ({"links": -1}, {"bytes_per_s": 0}, {"length": 1 << 62}, {"flit": -3}):
        with pytest.raises(ValueError, match="equation 1"):
            equation_1(**{"flit": 32, "bytes_per_s": 1, "links": 8, "length": 1024, **wrong})


def test_tables_and_figures_suit_a_benchmark(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a table of loads, and a figure that fails on sizes or on one size."""
    file = tmp_path / "wicon.toml"
    file.write_text(
        'topology = { kind = "torus", dims = [4, 3] }\nlink = { bandwidth = "1 GB/s", delay = "40 ns" }\n'
        'workload = { kind = "benchmark", benchmark = { kind = "wicon", messages = 2 } }\n'
        'placement = { strategy = "round-robin", processes_per_node = 2 }\n'
        '[sweep]\n"workload.benchmark.pairs" = ["near-neighbour", "random"]\n'
        '"workload.benchmark.message_size" = ["64 B", "2 KiB"]\n'
    )
    ran = cutthrough("run", str(file), "--out", str(tmp_path / "out"))
    assert ran.status == 0, ran.err
    assert "spread" in ran.out
    assert "near-neighbour" in ran.out
    assert (tmp_path / "out" / "messages.png").stat().st_size > 0
    results = ct.Results.read(tmp_path / "out")
    assert [point["message_size_B"] for point in results] == [64, 2048, 64, 2048]
    (axes,) = results.plot("messages").axes
    assert axes.get_legend_handles_labels()[1] == ["near-neighbour", "random"]
    one = ct.run(**MACHINE, workload=WOCON)
    (axes,) = one.plot("messages").axes
    assert axes.get_xlabel() == "Channels between the two ranks"
    ran = cutthrough("run", str(file), "--json", "--out", str(tmp_path / "again"))
    assert len(json.loads(ran.out)["points"][0]["pairs"]) == 12


def test_applications_compute_first_and_say_how_far_bytes_travel() -> None:
    """Catches computation that is not part of the step, loads of idle nodes, hop-bytes of another placement."""

    def step(**keys: Any) -> dict[str, Any]:
        machine = {**MACHINE, "topology": {"kind": "torus", "dims": [4, 4]}, "nic": {}}
        workload = {"kind": "application", "graph": "stencil:8x4,bytes=100", **keys}
        return dict(
            ct.run(**machine, workload=workload, placement={"strategy": "contiguous", "processes_per_node": 2})[0]
        )

    plain, busy = step(), step(time_per_load="3 us")
    assert (plain["compute_ns"], busy["compute_ns"]) == (0, 6000)
    assert busy["time_ns"] == pytest.approx(plain["time_ns"] + 6000)
    assert busy["per_rank"][5] == pytest.approx(plain["per_rank"][5] + 6000)
    # Tasks 2n and 2n + 1 of a row share a node: half of the messages along it stay, the others go one link.
    assert plain["hop_bytes"] == 100 * (32 * 2 * 0.5 + 32 * 2 * 1)
    assert plain["hops_per_byte"] == pytest.approx(0.75)
    assert (plain["proxies"], plain["imbalance"]) == (0, 1.0)
    analysis = ct.analyze(
        topology=ct.Torus([4, 4]),
        link=MACHINE["link"],
        workload={"kind": "application", "graph": "stencil:8x4,bytes=100"},
        placement={"strategy": "contiguous", "processes_per_node": 2},
    )
    assert analysis[0]["hop_bytes"] == plain["hop_bytes"]
