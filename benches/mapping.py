"""Quality and time of mappings: `python benches/mapping.py [--graphs DIR] [--large]`.

Prints a table of hops per byte and seconds. Stencils are shuffled. Graphs of files are skipped if the files are
missing. With `--large` a graph of a million tasks is mapped too (a minute or two, and half a gigabyte).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cutthrough as ct

#: Graph, machine, strategy, other options.
SMALL = (
    ("stencil:16x16x16", "torus:16x16x16", "auto", {}),
    ("stencil:8x8x8x8", "torus:16x16x16", "auto", {}),
    ("stencil:64x64", "torus:16x16x16", "auto", {}),
    ("stencil:32x32x32", "torus:16x16x16", "auto", {}),
    ("4elt_q512.graph", "torus:8x8x8", "auto", {}),
    ("4elt.graph", "torus:8x8x8", "auto", {}),
    ("stencil:16x16x16", "fat-tree:k=16,n=3", "auto", {}),
    ("stencil:11x12x8", "dragonfly:p=4,a=8,h=4,arrangement=absolute", "auto", {}),
    ("lulesh_1000.graph", "torus:10x10x10", "auto", {}),
    ("minimd_1024.graph", "torus:16x8x8", "auto", {}),
    ("minife_1024.graph", "torus:16x8x8", "auto", {}),
    ("cloverleaf_1152.graph", "torus:12x12x8", "auto", {}),
    ("mesh:4500", "torus:16x16x16", "auto", {}),
    ("mesh:110000", "torus:25x20x20", "auto", {}),
    ("mesh:110000", "torus:25x20x20", "multilevel", {}),
)
LARGE = (
    ("mesh:1100000", "torus:50x50x40", "auto", {}),
    ("stencil:100x100x100", "torus:50x50x40", "hierarchical", {}),
)


def main() -> None:
    """Maps every instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=Path, default=Path(), help="where the graphs of files are")
    parser.add_argument("--large", action="store_true", help="with a million tasks")
    arguments = parser.parse_args()
    _say(f"{'graph':24} {'machine':44} {'strategy':13} {'tasks':>9} {'hops/byte':>9} {'imbalance':>9} {'seconds':>8}")
    for name, machine, strategy, options in SMALL + (LARGE if arguments.large else ()):
        path = arguments.graphs / name
        if name.endswith(".graph") and not path.is_file():
            _say(f"{name:24} skipped: {path} is not there")
            continue
        graph = ct.TaskGraph(path if name.endswith(".graph") else name)
        if name.startswith("stencil"):
            graph = graph.shuffled(1)
        mapping = ct.map_tasks(graph, ct.Machine(machine), strategy, **options)
        far, even = mapping.measures["hops_per_byte"], mapping.measures["imbalance"]
        sizes = f"{graph.tasks:9,} {far:9.4f} {even:9.3f} {mapping.wall_s:8.2f}"
        _say(f"{name:24} {machine:44} {strategy:13} {sizes}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
