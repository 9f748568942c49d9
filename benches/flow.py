"""Flow model against packet model: `python benches/flow.py [--network NAME] [--router KIND] [--traffic NAME]`.

Prints a Markdown table. Each cell has the error of the time of the program, and the mean error of the times of its
ranks: |t_flow / t_packet - 1|, in percent. Messages have at least 64 KiB. Below it are the means over networks and
traffics by router, and the seconds that both models have taken. Arguments select by parts of names.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import cutthrough as ct
import numpy as np

#: Topologies of 64 nodes by name, with their routings. On the torus packets draw directions where two are shortest; on
#: the others all packets of a message take one path.
NETWORKS = {
    "fat tree": ({"kind": "fat-tree", "k": 4, "n": 3}, {"kind": "d-mod-k"}),
    "mesh": ({"kind": "mesh", "dims": [4, 4, 4]}, {"kind": "dimension-order"}),
    "torus": ({"kind": "torus", "dims": [4, 4, 4]}, {"kind": "dimension-order"}),
    "HyperX": ({"kind": "hyperx", "dims": [4, 4], "nodes_per_router": 4}, {"kind": "dimension-order"}),
    "switch": ({"kind": "single-switch", "ports": 64}, None),
}
ROUTERS = ("output-queued", "virtual-output-queued", "input-output-queued", "input-queued")
RANKS = 64
#: Operations in routers with their sizes. The mean by router is of the other traffics.
IN_ROUTERS = "in routers: "
COMBINED = {"allgather": "64 KiB", "allreduce": "1 MiB", "reduce": "1 MiB", "reduce-scatter": "1 MiB"}
SIZE = 256 * 1024


def schedule(sends: list[tuple[int, int, int]]) -> str:
    """Returns a GOAL schedule of messages (from, to, bytes), all sent at once."""
    lines = [f"num_ranks {RANKS}"]
    for rank in range(RANKS):
        own = [f"s{n}: send {size}b to {to} tag {n}" for n, (src, to, size) in enumerate(sends) if src == rank]
        own += [f"r{n}: recv {size}b from {src} tag {n}" for n, (src, to, size) in enumerate(sends) if to == rank]
        lines += [f"rank {rank} {{", *own, "}"]
    return "\n".join(lines) + "\n"


def uniform(draw: np.random.Generator) -> list[tuple[int, int, int]]:
    """Returns four messages of each rank to random others."""
    pairs = ((src, int(draw.integers(RANKS))) for src in range(RANKS) for _ in range(4))
    return [(src, to, SIZE) for src, to in pairs if src != to]


def permutation(draw: np.random.Generator) -> list[tuple[int, int, int]]:
    """Returns a message of each rank to another, by a random permutation."""
    order = draw.permutation(RANKS).tolist()
    return [(src, to, SIZE) for src, to in zip(order, order[1:] + order[:1], strict=True)]


def traffics(folder: Path) -> dict[str, dict[str, object]]:
    """Returns programs by name."""
    programs: dict[str, dict[str, object]] = {
        "halo": {"kind": "halo-3d", "message_size": "64 KiB", "iterations": 4, "dims": [4, 4, 4]},
        "ring": {"kind": "collective", "operation": "allreduce", "algorithm": "ring", "size": "4 MiB"},
        "doubling": {
            "kind": "collective",
            "operation": "allreduce",
            "algorithm": "recursive-doubling",
            "size": "256 KiB",
        },
        **{
            f"{IN_ROUTERS}{operation}": {
                "kind": "collective",
                "operation": operation,
                "algorithm": "in-switch",
                "size": size,
            }
            for operation, size in COMBINED.items()
        },
        "incast": {"kind": "incast", "message_size": "64 KiB"},
        "training": {
            "kind": "training",
            "tensor": 4,
            "pipeline": 2,
            "layers": 4,
            "hidden": 1024,
            "sequence": 256,
            "micro_batches": 2,
            "forward_time": "50 us",
            "bucket_size": "1 MiB",
        },
    }
    for name, sends in (("uniform", uniform), ("permutation", permutation)):
        path = folder / f"{name}.goal"
        path.write_text(schedule(sends(np.random.default_rng(1))))
        programs[name] = {"kind": "goal", "file": str(path)}
    return programs


def measured(network: str, router: str, program: dict[str, object], model: str) -> ct.Point:
    """Returns the result of a program."""
    topology, routing = NETWORKS[network]
    experiment: dict[str, object] = {
        "topology": topology,
        "link": {"bandwidth": "100 Gb/s", "delay": "20 ns"},
        "router": {"kind": router},
        "workload": {"kind": "program", "program": program},
        "simulation": {"model": model},
    }
    if routing:
        experiment["routing"] = routing
    return ct.run(experiment)[0]


def errors(network: str, router: str, program: dict[str, object]) -> tuple[float, float, float, float]:
    """Returns the error of the whole time, the mean error of the ranks' times, and the seconds of both models."""
    packet, flow = (measured(network, router, program, model) for model in ("packet", "flow"))
    pairs = zip(flow["per_rank"], packet["per_rank"], strict=True)
    by_rank = statistics.fmean(abs(one / other - 1) for one, other in pairs if other > 0)
    return abs(flow["time_ns"] / packet["time_ns"] - 1), by_rank, packet["wall_s"], flow["wall_s"]


def main() -> None:
    """Measures what the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("network", "router", "traffic"):
        parser.add_argument(f"--{option}", default="")
    chosen = parser.parse_args()
    routers = [router for router in ROUTERS if chosen.router in router]
    means: dict[str, list[float]] = {router: [] for router in routers}
    seconds = [0.0, 0.0]
    sys.stdout.write(f"| network | traffic | {' | '.join(routers)} |\n{'| --- ' * (2 + len(routers))}|\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, program in traffics(Path(folder)).items():
            for network in (own for own in NETWORKS if chosen.network in own and chosen.traffic in name):
                cells = []
                for router in routers:
                    whole, by_rank, *both = errors(network, router, program)
                    if not name.startswith(IN_ROUTERS):
                        means[router].append(by_rank)
                    seconds = [sum(pair) for pair in zip(seconds, both, strict=True)]
                    cells.append(f"{100 * whole:.2f}; {100 * by_rank:.2f}")
                sys.stdout.write(f"| {network} | {name} | {' | '.join(cells)} |\n")
                sys.stdout.flush()
    mean = (f"{100 * statistics.fmean(own):.2f}" for own in means.values() if own)
    sys.stdout.write(f"| mean by rank | all | {' | '.join(mean)} |\n")
    sys.stdout.write(f"\nSeconds: packet {seconds[0]:.2f}, flow {seconds[1]:.2f}.\n")


if __name__ == "__main__":
    main()
