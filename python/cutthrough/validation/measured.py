"""Measured points of collective operations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ELEMENT", "KEYS", "OF_PARTS", "Measured", "part_of"]

#: Size of an element of the operations of MPI in measured tables, in bytes.
ELEMENT = 4

#: Columns whose values identify a point in its table.
KEYS = ("machine", "run", "test", "nodes", "ranks", "collective", "library", "algorithm", "bytes")
#: Operations whose size in an experiment is the size of one rank's part.
OF_PARTS = frozenset({"gather", "scatter", "allgather", "alltoall"})


@dataclass(frozen=True)
class Measured:
    """A measured point: one operation of one size, by one algorithm, on one set of hosts.

    Attributes:
        machine: The machine's name.
        run: The run, which names its hosts.
        test: The test within the run.
        nodes: Nodes, or the shape of a torus: `32`, `8x8x8`.
        ranks: Number of ranks.
        operation: The operation, as an experiment names it.
        library: The MPI library and its version.
        algorithm: The algorithm, as the table names it.
        bytes: Bytes of the message, as the table counts them.
        size: Bytes of the buffer or of one rank's part, as `workload.benchmark.sizes` counts them.
        times: Measured times in nanoseconds, by the name of their column without the unit: `p10`, `median`.
        line: The point's line in its file, from 1.
        quantity: The simulated quantity that the times measure: that of the slowest rank, or the mean over ranks.
        hosts: File with the hosts of the ranks. None: the table does not contain them.
        element: Size of an element in bytes.
    """

    machine: str
    run: str
    test: str
    nodes: str
    ranks: int
    operation: str
    library: str
    algorithm: str
    bytes: int
    size: int
    times: dict[str, float]
    line: int
    quantity: str = "time_max_ns"
    hosts: Path | None = None
    element: int = ELEMENT

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the nodes: one number, or the extents of a torus."""
        return tuple(int(extent) for extent in self.nodes.split("x"))

    @property
    def per_node(self) -> int:
        """Number of ranks on a node, rounded up."""
        return -(-self.ranks // math.prod(self.shape))

    @property
    def key(self) -> tuple[str, ...]:
        """Values of `KEYS`."""
        return (
            self.machine, self.run, self.test, self.nodes, str(self.ranks), self.operation, self.library,
            self.algorithm, str(self.bytes),
        )  # fmt: skip

    @property
    def cell(self) -> tuple[str, ...]:
        """Cell in which algorithms are compared: one operation with one size on one set of hosts."""
        return (self.machine, self.run, self.nodes, str(self.ranks), self.operation, str(self.bytes))


def part_of(operation: str, total: int, ranks: int, element: int) -> int:
    """Returns the size of an operation in an experiment, in bytes, from the size of the whole message.

    Args:
        operation: The operation.
        total: Bytes of the whole message. In an alltoall: bytes that a rank sends to all ranks together.
        ranks: Number of ranks, each of which has an equal number of elements.
        element: Bytes of an element.
    """
    if operation in OF_PARTS:
        return total // element // ranks * element
    if operation == "reduce-scatter":
        return total // element // ranks * element * ranks
    return total
