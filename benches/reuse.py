"""Runs with and without reuse: `python benches/reuse.py [NAME]... [--router KIND] [--large]`.

Prints a Markdown table: packet-hops of the run and those simulated with reuse, messages and the share that is replayed,
and of both runs the processor time in seconds and the most memory in MB. Runs take turns, each in a new process.
The results of both have to be equal. `--large` adds cases that take minutes without reuse, and one that takes hours and
is run with reuse only. In the cases of chance little repeats: reuse gives up. Names select cases by parts of names.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cutthrough as ct

LINEAR = {"kind": "collective", "operation": "alltoall", "algorithm": "linear"}
RING = {"kind": "collective", "operation": "allreduce", "algorithm": "ring"}
GROUPS = {"kind": "collective", "operation": "alltoall", "size": "64 KiB", "group_size": 64, "group_stride": 16}

#: Step of a model of GPT-3's shape with 13 billion parameters: tensor groups of 8.
STEP: dict[str, Any] = {
    "kind": "training",
    "tensor": 8,
    "layers": 40,
    "hidden": 5120,
    "sequence": 2048,
    "micro_batch_size": 4,
    "micro_batches": 4,
    "forward_time": "1.6 ms",
    "bucket_size": "40 MiB",
    "allreduce": "ring",
}
#: Step of a model of 175 billion parameters, whose 16 stages have 128 replicas each on 16,384 GPUs. Buckets of
#: gradients follow one another: if they competed for the rails, they would form one long episode.
LARGE_STEP: dict[str, Any] = {
    **STEP,
    "pipeline": 16,
    "layers": 96,
    "hidden": 12288,
    "micro_batch_size": 1,
    "micro_batches": 16,
    "forward_time": "2 ms",
    "bucket_size": "256 MiB",
    "overlap": False,
}
#: Part of this step with 4 stages of 16 replicas on 512 GPUs, in which several buckets share the rails at a time.
OVERLAPPED_STEP: dict[str, Any] = {**LARGE_STEP, "pipeline": 4, "layers": 16, "micro_batches": 4, "overlap": True}
#: Parts of the interfaces of rails: a gap of messages, a latency, and a bus.
PARTS: dict[str, Any] = {
    "gap": "50 ns",
    "latency": "300 ns",
    "bus": {"bandwidth": "1000 Gb/s", "per_packet": "5 ns"},
}


def on_tree(k: int, program: dict[str, Any]) -> dict[str, Any]:
    """Returns a program on a fat tree of two levels, whose switches have `k` ports down."""
    return {
        "topology": {"kind": "fat-tree", "k": k, "n": 2},
        "routing": {"kind": "d-mod-k"},
        "link": {"bandwidth": "400 Gb/s", "delay": "20 ns"},
        "nic": {"send_overhead": "500 ns", "receive_overhead": "500 ns"},
        "workload": {"kind": "program", "packet_size": "4 KiB", "program": program},
    }


def with_parts(case: dict[str, Any]) -> dict[str, Any]:
    """Returns a case whose interfaces have parts, except for the latency, which only rails have."""
    parts = {key: value for key, value in PARTS.items() if key != "latency"}
    return {**case, "nic": {**case["nic"], "kind": "loggp", **parts}}


def on_rails(servers: int, program: dict[str, Any], parts: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns a program on servers of 8 GPUs, with NVLink in each server and a rail for each GPU."""
    leaf = min(servers, 32)
    rail: dict[str, Any] = {
        "name": "rail",
        "topology": {"kind": "leaf-spine", "leaves": 8 * servers // leaf, "spines": 32, "nodes_per_leaf": leaf},
        "order": "by-rail",
        "link": {"bandwidth": "400 Gb/s", "delay": "20 ns"},
        "routing": {"kind": "d-mod-k"},
    }
    return {
        "node": {"endpoints": 8, "count": servers},
        "network": [
            {"name": "nvlink", "topology": "single-switch:8", "link": {"bandwidth": "3600 Gb/s", "delay": "20 ns"}},
            {**rail, "nic": parts} if parts else rail,
        ],
        "nic": {"send_overhead": "600 ns", "receive_overhead": "400 ns"},
        "workload": {"kind": "program", "packet_size": "4 KiB", "program": program},
    }


#: Experiments by name, without routers.
CASES: dict[str, dict[str, Any]] = {
    "ring, 64 nodes, 64 MiB": on_tree(8, {**RING, "size": "64 MiB"}),
    "ring, 256 nodes, 256 MiB": on_tree(16, {**RING, "size": "256 MiB"}),
    "16 groups, pairwise": on_tree(32, {**GROUPS, "algorithm": "pairwise"}),
    "16 groups, linear": on_tree(32, {**GROUPS, "algorithm": "linear"}),
    "incast, 64 nodes, 64 MiB": on_tree(8, {"kind": "incast", "message_size": "64 MiB"}),
    "linear, 64 nodes, 4 MiB": on_tree(8, {**LINEAR, "size": "4 MiB"}),
    "incast, 64 nodes, 64 MiB, parts": with_parts(on_tree(8, {"kind": "incast", "message_size": "64 MiB"})),
    "linear, 64 nodes, 4 MiB, parts": with_parts(on_tree(8, {**LINEAR, "size": "4 MiB"})),
    "halo, 256 nodes": on_tree(16, {"kind": "halo-2d", "message_size": "64 KiB", "iterations": 10}),
    "step, 128 GPUs, 4 layers": on_rails(16, {**STEP, "layers": 4, "micro_batches": 1}),
    "step, 128 GPUs, 4 layers, parts": on_rails(16, {**STEP, "layers": 4, "micro_batches": 1}, PARTS),
}
#: Cases that take minutes without reuse.
LARGE = {
    "ring, 1024 nodes, 1 GiB": on_tree(32, {**RING, "size": "1 GiB"}),
    "step, 128 GPUs": on_rails(16, STEP),
    "step, 128 GPUs, parts": on_rails(16, STEP, PARTS),
    "step, 512 GPUs, overlapped buckets": on_rails(64, OVERLAPPED_STEP),
    "chance: pairwise of 64 B with noise, 4096 nodes": {
        **on_tree(64, {"kind": "collective", "operation": "alltoall", "algorithm": "pairwise", "size": "64 B"}),
        "node": {"noise": {"period": "10 us", "duration": "1 us", "detours": "drawn"}},
    },
}
#: Cases that take hours without reuse: only the run with reuse is measured.
ALONE = {"step, 16,384 GPUs": on_rails(2048, LARGE_STEP)}
#: Quantities that differ between equal runs.
INCIDENTAL = {"wall_s", "reuse"}


def all_to_all(path: Path, ranks: int) -> dict[str, Any]:
    """Writes steps of 64 B to and from each other rank, after computing times of chance. Returns the workload."""
    draw = random.Random(1)  # noqa: S311
    with path.open("w") as file:
        file.write(f"num_ranks {ranks}\n")
        for rank in range(ranks):
            file.write(f"rank {rank} {{\n")
            for step in range(1, ranks):
                to, source = (rank + step) % ranks, (rank - step) % ranks
                file.write(f"c{step}: calc {draw.randrange(100, 2000)}\n")
                file.write(f"s{step}: send 64b to {to} tag {step}\nr{step}: recv 64b from {source} tag {step}\n")
                file.write(f"s{step} requires c{step}\n")
                if step > 1:
                    file.write(f"c{step} requires s{step - 1}\nc{step} requires r{step - 1}\n")
            file.write("}\n")
    return {"kind": "goal", "file": str(path)}


def volumes(path: Path, tasks: int) -> dict[str, Any]:
    """Writes volumes of chance, with a mean of 30 kB, from each task to others. Returns the workload."""
    draw = random.Random(2)  # noqa: S311
    with path.open("w") as file:
        file.write("from,to,bytes\n")
        for task in range(tasks):
            others = [other for other in draw.sample(range(tasks), 40) if other != task]
            file.writelines(f"{task},{other},{1 + int(draw.expovariate(1 / 30_000))}\n" for other in others)
    return {"kind": "application", "packet_size": "4 KiB", "graph": str(path)}


def measured(case: dict[str, Any], router: str, reuse: bool) -> tuple[dict[str, Any], float, float]:
    """Returns the result of a case, its seconds of processor time with the set-up, and the most memory in MB."""
    # The first run imports modules.
    ct.run(on_tree(4, {**RING, "size": "1 KiB"}))
    experiment: dict[str, object] = {**case, "router": {"kind": router}, "simulation": {"reuse": reuse}}
    before = time.process_time()
    point = ct.run(experiment, threads=1)[0]
    seconds = time.process_time() - before
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return dict(point), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def row(name: str, case: dict[str, Any], router: str, alone: bool) -> str:
    """Runs a case with and without reuse, and returns its row. `alone`: only with reuse."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn, max_tasks_per_child=1) as pool:
        ran = [pool.submit(measured, case, router, reuse).result() for reuse in ((True,) if alone else (True, False))]
    plain = [{key: value for key, value in point.items() if key not in INCIDENTAL} for point, *_ in ran]
    if plain[0] != plain[-1]:
        sys.exit(f"{name}: results with and without reuse differ")
    point, reuse = ran[0][0], ran[0][0]["reuse"]
    share = reuse["replayed_messages"] / max(reuse["messages"], 1)
    simulated = point["packet_hops"] if reuse["gave_up"] else reuse["simulated_packet_hops"]
    counts = f"{point['packet_hops']:,} | {simulated:,} | {reuse['messages']:,} | {share:.1%}"
    taken = [f"{seconds:.2f}" for _, seconds, _ in ran] + [""] * alone
    taken += [f"{memory:.0f}" for *_, memory in ran] + [""] * alone
    return f"| {name} | {router} | {counts} | {' | '.join(taken)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of cases")
    parser.add_argument("--router", default="output-queued", help="kind of the routers")
    parser.add_argument("--large", action="store_true", help="add the cases that take minutes or hours without reuse")
    options = parser.parse_args()
    cases = {**CASES, **({**LARGE, **ALONE} if options.large else {})}
    columns = "case | router | packet-hops | simulated | messages | replayed | s with | without | MB with | without"
    sys.stdout.write(f"| {columns} |\n{'| --- ' * 10}|\n")
    with tempfile.TemporaryDirectory() as folder:
        for k in (16, 32) if options.large else (16,):
            steps = all_to_all(Path(folder) / f"steps_{k}.goal", k * k)
            cases[f"chance: all-to-all of 64 B, {k * k} nodes"] = on_tree(k, steps)
        application = volumes(Path(folder) / "volumes.csv", 1024)
        cases["chance: volumes of 1024 nodes"] = {**on_tree(32, RING), "nic": {}, "workload": application}
        for name, case in cases.items():
            if not options.names or any(part in name for part in options.names):
                sys.stdout.write(f"{row(name, case, options.router, name in ALONE)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
