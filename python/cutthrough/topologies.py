"""Shapes of machines, to ask and to build experiments from.

>>> from cutthrough import Torus
>>> torus = Torus([8, 8, 8])
>>> torus.routers, torus.diameter
(512, 12)
>>> torus.hops(0, 5)
3
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough._core as _core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

__all__ = ["Dragonfly", "FatTree", "Mesh", "SingleSwitch", "Topology", "Torus"]


class Topology:
    """A machine's shape: routers, nodes and the channels between them, each numbered from 0.

    Args:
        shape: A shorthand such as `"torus:8x8x8"` or `"fat-tree:k=4,n=4"`, or a table as under `[topology]` in an
            experiment file. Paths in it start from the working directory.

    Raises:
        ExperimentError: There is no such topology.
    """

    def __init__(self, shape: str | Mapping[str, Any]) -> None:
        self._core = _core.Topology(shape if isinstance(shape, str) else json.dumps(dict(shape)), ".")

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.nodes} nodes, {self.routers} routers>"

    @property
    def kind(self) -> str:
        """The family's name, as in `topology.kind`."""
        return self._core.kind

    @property
    def spec(self) -> dict[str, Any]:
        """The table for `[topology]` of an experiment file."""
        spec: dict[str, Any] = json.loads(self._core.spec())
        return spec

    @property
    def routers(self) -> int:
        """The number of routers."""
        return self._core.routers

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self._core.nodes

    @property
    def diameter(self) -> int:
        """The largest distance between two routers that have nodes, in channels."""
        return self._core.diameter

    @property
    def bisection_channels(self) -> int | None:
        """Directed channels that cross the natural bisection in one direction; None where there is no closed form."""
        return self._core.bisection_channels

    @property
    def groups(self) -> int | None:
        """The number of groups, if the machine consists of equal groups of routers; None otherwise."""
        return self._core.groups

    def distance(self, router: int, other: int) -> int:
        """Channels on a shortest path between two routers."""
        return self._core.distance(router, other)

    def hops(self, node: int, other: int) -> int:
        """Channels between routers on a shortest path between two nodes: 0 if they are attached to the same router."""
        return self._core.hops(node, other)

    def coordinates(self, router: int) -> tuple[int, ...]:
        """A router's coordinates, named by `coordinate_names`."""
        return tuple(self._core.coordinates(router))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """What a router's coordinates are called."""
        return tuple(self._core.coordinate_names())

    def router_of(self, node: int) -> int:
        """The router that a node is attached to."""
        return self._core.router_of(node)

    def neighbours(self) -> npt.NDArray[np.int32]:
        """The router that each port of each router leads to, `[routers, ports]`; -1 where it leads to none."""
        columns = {name: np.frombuffer(data, np.int32) for name, data in self._core.channel_table().items()}
        wired = columns["target_router"] >= 0
        wired &= columns["source_router"] >= 0
        routers, ports = columns["source_router"][wired], columns["source_port"][wired]
        found = np.full((self.routers, int(columns["source_port"].max(initial=-1)) + 1), -1, np.int32)
        found[routers, ports] = columns["target_router"][wired]
        return found

    def attachments(self) -> npt.NDArray[np.int32]:
        """The router and the port of each node, `[nodes, 2]`."""
        columns = {name: np.frombuffer(data, np.int32) for name, data in self._core.channel_table().items()}
        injection = columns["source_node"] >= 0
        return np.stack([columns[f"target_{end}"][injection] for end in ("router", "port")], axis=1)

    def channels(self) -> list[tuple[int, int, str]]:
        """Every channel between routers: from, to, and its class."""
        return self._core.channels()


class SingleSwitch(Topology):
    """One router with a node on every port.

    Args:
        ports: The number of ports, and of nodes.
    """

    def __init__(self, ports: int) -> None:
        super().__init__({"kind": "single-switch", "ports": ports})


class FatTree(Topology):
    """A k-ary n-tree: k^n nodes under n levels of routers with 2k ports.

    Args:
        k: Downward ports of a router.
        n: Levels.
    """

    def __init__(self, k: int, n: int) -> None:
        super().__init__({"kind": "fat-tree", "k": k, "n": n})


class Torus(Topology):
    """A k-ary n-cube: a grid whose every dimension closes into a ring.

    Args:
        dims: Routers along each dimension; they are numbered first dimension fastest.
        nodes_per_router: Nodes on each router.
    """

    def __init__(self, dims: Sequence[int], nodes_per_router: int = 1) -> None:
        super().__init__({"kind": "torus", "dims": list(dims), "nodes_per_router": nodes_per_router})


class Mesh(Topology):
    """A grid of any dimensions, open at its edges.

    Args:
        dims: Routers along each dimension; they are numbered first dimension fastest.
        nodes_per_router: Nodes on each router.
    """

    def __init__(self, dims: Sequence[int], nodes_per_router: int = 1) -> None:
        super().__init__({"kind": "mesh", "dims": list(dims), "nodes_per_router": nodes_per_router})


class Dragonfly(Topology):
    """Groups of routers, each wired to the other groups by global channels.

    Args:
        h: Global ports of a router.
        p: Nodes on each router; without it, h.
        a: Routers of a group; without it, 2h.
        g: Groups; without it, ah + 1.
        keys: Other keys of the experiment file, such as `arrangement="absolute"`.
    """

    def __init__(
        self, h: int, *, p: int | None = None, a: int | None = None, g: int | None = None, **keys: Any
    ) -> None:
        sizes = {name: size for name, size in (("p", p), ("a", a), ("g", g)) if size is not None}
        super().__init__({"kind": "dragonfly", "h": h, **sizes, **keys})
