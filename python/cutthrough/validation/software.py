"""Ports and software of libbine over Fugaku's uTofu: what an algorithm does besides its messages.

The facts are those of its public source (HLC-Lab, bine_trees_fugaku): which algorithms exchange the addresses of their
buffers by MPI in each call, wait for the receiver before each step, copy the buffer, or use their ports in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
from cutthrough.calibrate.parts import bits_per_second
from cutthrough.validation.setups import merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.validation.measured import Measured
    from cutthrough.validation.setups import Call, Setup

__all__ = ["with_software"]

#: Largest buffer in bytes for whose messages receivers need not be ready.
READY = 1024


@dataclass(frozen=True)
class _Times:
    """Times of an experiment in nanoseconds: the keys of `nic` and of `benchmark`."""

    nic: Mapping[str, Any]
    benchmark: Mapping[str, Any]

    def of(self, text: str) -> float:
        return float(_core.picoseconds(text)) * 1e-3

    @property
    def overheads(self) -> float:
        return self.of(self.nic.get("send_overhead", "0 ps")) + self.of(self.nic.get("receive_overhead", "0 ps"))

    @property
    def latency(self) -> float:
        """Time of a message without bytes, apart from the network."""
        return self.overheads + self.of(self.nic.get("dma", {}).get("setup", "0 ps"))


def with_software(whole: dict[str, Any], point: Measured, call: Call, setup: Setup) -> dict[str, Any]:
    """Returns the experiment of a point with the ports and the software of its algorithm.

    Args:
        whole: The experiment without its workload.
        point: The point.
        call: The algorithm, with the facts of its rule.
        setup: The machine, whose `base` has the times of MPI.
    """
    ports = 1 if call.facts.get("in_turn") else call.ports
    if ports > 1:
        whole = _over_ports(whole, min(ports, links(point.shape)))
    own, mpi = (_Times(from_.get("nic", {}), from_.get("benchmark", {})) for from_ in (whole, setup.base))
    benchmark = own.benchmark
    start, step = (own.of(benchmark.get(key, "0 ps")) for key in ("start_time", "step_time"))
    # The library prepares ports in turn, and their threads wait for one another in the memory allocator.
    start, step = start * call.ports, step * ports
    if call.facts.get("exchange"):
        start += _exchange(point, mpi, call.ports)
    if call.facts.get("ready") and point.bytes > READY:
        step += own.latency
    if copies := call.facts.get("copies", 0):
        shared = 1 if call.facts.get("one_thread") else ports
        start += copies * point.bytes * own.of(benchmark.get("copy_time", "0 ps")) / shared
    times = {key: f"{value:.3f} ns" for key, value in (("start_time", start), ("step_time", step)) if value > 0.0}
    if call.facts.get("locks"):
        gap = own.of(own.nic.get("gap", "0 ps")) * ports
        whole = merged(whole, {"nic": {"gap": f"{gap:.3f} ns"}})
    return merged(whole, {"benchmark": times}) if times else whole


def links(shape: Sequence[int]) -> int:
    """Returns the number of links of a node in a torus: one in a dimension of 2 nodes, two in a longer one."""
    return sum(min(own - 1, 2) for own in shape)


def _exchange(point: Measured, mpi: _Times, ports: int) -> float:
    """Returns the time in which a rank exchanges addresses with its partner of each step, by messages of MPI.

    A rank sends to all partners, and then receives from each of them in turn. Ports in the opposite direction of a
    dimension have other partners, with which it exchanges addresses a second time.
    """
    steps = sum(math.ceil(math.log2(own)) for own in point.shape)
    rounds = 2 if ports > max(len([own for own in point.shape if own > 1]), 1) else 1
    return rounds * (steps * mpi.overheads + mpi.latency)


def _over_ports(whole: dict[str, Any], ports: int) -> dict[str, Any]:
    """Returns an experiment for an algorithm that divides its data over several ports of a node.

    Each part takes a different link between two nodes. Therefore, `ports` multiplies the bandwidths of link and bus.
    """
    link, bus = whole["link"]["bandwidth"], whole["nic"]["bus"]["bandwidth"]
    times = {key: f"{bits_per_second(text) * ports:.0f} b/s" for key, text in (("link", link), ("bus", bus))}
    return merged(whole, {"link": {"bandwidth": times["link"]}, "nic": {"bus": {"bandwidth": times["bus"]}}})
