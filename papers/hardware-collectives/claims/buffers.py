"""Sizes of buffers: crosspoints that cover the cable (section 2), and input buffers before small ones (section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim, less

from .statements import accepted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.points.table import Point
    from cutthrough.reproduce import Claim, Measured
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The share of the bandwidth at which buffers are compared.
CARRIED = 0.95
#: Bytes of a packet in MB, and ports of the switch.
PACKET_MB = 4096e-6
PORTS = 16


def buffers_plan(quick: bool) -> dict[str, Planned]:
    """Returns the runs of section 5: crosspoints that cover the round trip, and input buffers before small ones."""
    some = {"measure.max_time": "300 us", "measure.precision": 0.05} if quick else {}
    names = {"crosspoints": "crosspoints-only", "input buffers": "input-crosspoint"}
    plans = {name: Planned(file, some, varies=False) for name, file in names.items()}
    return plans | {"memory": Planned("crosspoint-memory", analyze=True, varies=False)}


def memory_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 2: bytes of a crosspoint and of a switch, by ports and cable round trips (20 m)."""
    points = list(results["memory"])
    spans = [span for point in points for span in point["buffers"]]
    held = {
        (point["topology.ports"], span["buffer_bytes"] / span["cable_round_trip_bytes"]): router["bytes"]
        for point in points
        for span, router in zip(point["buffers"][:1], point["router_memory"], strict=True)
    }
    quote_small, quote_large = "total memory requirement is about 64KB", "For a 32 port switch we need 512KB to 1MB"
    # Number of ports, round trips, the paper's number, its bytes and half of its last digit.
    stated = (
        (8, 4.0, "64 KB", 64e3, 500, quote_small, "four"),
        (32, 2.0, "512 KB", 512e3, 500, quote_large, "two"),
        (32, 4.0, "1 MB", 1e6, 5e5, quote_large, "four"),
    )
    made = [
        claim("crosspoint-bytes (2)", "atleast 250 bytes of memory at each crosspoint",  # codespell:ignore atleast
               "10 Gb/s and cables of 20 m: bytes of memory that a crosspoint needs at least", "250",
               spans[0]["cable_round_trip_bytes"], Expect.stated(250, 0), unit="B", set_up="bandwidth and cable")
    ]  # fmt: skip
    for ports, trips, paper, size, rounding, quote, word in stated:
        text = f"memory of a switch of {ports} ports, for {word} round trips"
        made.append(claim(f"memory-{ports}-ports-{word}-trips (2)", quote, text, paper, held[ports, trips],
                           Expect.stated(size, rounding), unit="B", set_up="ports and depth"))  # fmt: skip
    return made


def _space(point: Point) -> float:
    """Returns MB of buffers of a switch of 16 ports and packets of 4 KiB."""
    crosspoint = point.get("router.crosspoint_buffer")
    packets = [int(depth.split()[0]) for depth in (point["router.buffer"], crosspoint or "0 packets")]
    inputs, crosspoints = (packets[0], packets[1]) if crosspoint else (0, packets[0])
    return (PORTS * inputs + PORTS**2 * crosspoints) * PACKET_MB


def _buffers(results: Mapping[str, Results]) -> dict[str, list[tuple[float, Measured]]]:
    """Returns memory in MB and accepted load, by architecture."""
    lines = {"crosspoints only": [(_space(point), accepted(point)) for point in results["crosspoints"]]}
    for point in results["input buffers"]:
        kind = "FIFO" if point["router.queueing"] == "fifo" else "queues"
        name = f"{kind} before {point['router.crosspoint_buffer'].replace('1 packets', '1 packet')}"
        lines.setdefault(name, []).append((_space(point), accepted(point)))
    return lines


def buffer_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 5 on input buffers, and the cost of a FIFO."""
    lines = _buffers(results)
    least = {
        name: min(mb for mb, (load, _) in line if load >= CARRIED)
        for name, line in lines.items()
        if line[-1][1][0] >= CARRIED
    }
    queues = min(mb for name, mb in least.items() if name.startswith("queues"))
    most = {kind: max(load for _, load in lines[f"{kind} before 1 packet"]) for kind in ("FIFO", "queues")}
    lost, interval = less(most["queues"], most["FIFO"])
    return [
        claim(
            "input-buffers (5)",
            "an input buffer will reduce total buffer space",
            "round trip of 15 packets: space for 95 % of the bandwidth without input buffers over that with them",
            "> 1",
            least["crosspoints only"] / queues,
            Expect.above(1),
        ),
        claim(
            "input-buffers-fifo (2)",
            "suffer from head of line blocking which restricts their throughput",
            "a FIFO an input before crosspoints of a packet, against queues (load lost)",
            "> 0",
            lost,
            Expect.above(0, interval),
            unit="load",
            interval=interval,
        ),
    ]


def draw_buffers(results: Mapping[str, Results]) -> Figure:
    """Draws throughput over buffer space."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4))
    axes = figure.add_subplot()
    for name, line in _buffers(results).items():
        kind = "C0" if name.startswith("cross") else "C1" if name.startswith("queues") else "C2"
        shape = {"1": "o:", "2": "s--", "4": "^-"}.get(name.split()[-2], "D-")
        axes.plot([mb for mb, _ in line], [load for _, (load, _) in line], shape, color=kind, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("Buffers of a switch of 16 ports (MB)")
    axes.set_ylabel("Accepted load, uniform traffic")
    axes.set_title("400 Gb/s, round trip of 15 packets of 4 KiB")
    axes.legend()
    return figure
