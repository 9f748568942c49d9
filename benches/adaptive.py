"""Adaptive routings by detours against minimal and Valiant routing: `python benches/adaptive.py [NAME ...]`.

Prints a Markdown table with a row for each network and traffic, and for each routing the load that it accepts if every
node offers all that its link takes. Below it is the mean latency, in ns, if every node offers 90 % of what the better
of both oblivious routings accepts; "saturated" if less is accepted. Arguments select networks by parts of their names.
"""

from __future__ import annotations

import sys

import cutthrough as ct

#: Topologies by name.
NETWORKS = {
    "ring of 16": {"kind": "torus", "dims": [16]},
    "8x8 torus": {"kind": "torus", "dims": [8, 8]},
    "4x4x4 torus": {"kind": "torus", "dims": [4, 4, 4]},
    "8x8 mesh": {"kind": "mesh", "dims": [8, 8]},
    "4x4x4 mesh": {"kind": "mesh", "dims": [4, 4, 4]},
    "Jellyfish, 64 routers": {"kind": "jellyfish", "routers": 64, "degree": 9, "nodes_per_router": 4},
    "Jellyfish, 128 routers": {"kind": "jellyfish", "routers": 128, "degree": 10, "nodes_per_router": 5},
    "6x6 HyperX": {"kind": "hyperx", "dims": [6, 6], "nodes_per_router": 6},
    "Slim Fly, q = 5": {"kind": "slim-fly", "q": 5, "nodes_per_router": 4},
    "PolarFly, q = 7": {"kind": "polarfly", "q": 7, "nodes_per_router": 4},
    "dragonfly, h = 3": {"kind": "dragonfly", "h": 3},
    "dragonfly+, 9 groups": {
        "kind": "dragonfly-plus",
        "leaves": 4,
        "spines": 4,
        "groups": 9,
        "wires": 2,
        "nodes_per_router": 4,
    },
}
ADAPTIVE = ("ugal-l", "ugal-g", "par")


def measured(topology: dict[str, object], routing: str | None, pattern: str, load: float) -> ct.Point:
    """Returns the result of a routing (default: the topology's) at a load."""
    experiment: dict[str, object] = {
        "topology": topology,
        "link": {"bandwidth": "40 Gb/s", "delay": "20 ns"},
        "router": {
            "kind": "input-output-queued",
            "buffer": "4 KiB",
            "output_buffer": "4 KiB",
            "delay": "0 ns",
            "arbitration": "oldest-first",
        },
        "workload": {"kind": "traffic", "packet_size": "64 B", "load": load, "pattern": pattern},
        "measure": {"warm_up": "60 us", "min_time": "40 us", "max_time": "100 us", "precision": 0.01},
    }
    if routing:
        experiment["routing"] = {"kind": routing}
    return ct.run(experiment)[0]


def write(*cells: str) -> None:
    """Writes a row."""
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def main() -> None:
    """Measures the networks that the arguments select."""
    routings = (None, "valiant-node", *ADAPTIVE)
    write("network", "traffic", *(routing or "minimal" for routing in routings))
    write(*["---"] * (2 + len(routings)))
    for name, topology in NETWORKS.items():
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        for pattern in ("uniform", "adversarial"):
            accepted = [measured(topology, routing, pattern, 1.0).accepted_load for routing in routings]
            load = 0.9 * max(accepted[:2])
            cells = []
            for routing, full in zip(routings, accepted, strict=True):
                point = measured(topology, routing, pattern, load)
                is_saturated = point.accepted_load < 0.98 * load
                cells.append(f"{full:.3f}; {'saturated' if is_saturated else f'{point.latency_mean_ns:.0f} ns'}")
            write(name, f"{pattern}, {load:.2f}", *cells)


if __name__ == "__main__":
    main()
