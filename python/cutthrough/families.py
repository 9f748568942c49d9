"""Machines of the families that experiment files name.

>>> from cutthrough import Torus
>>> torus = Torus([8, 8, 8])
>>> torus.routers, torus.diameter
(512, 12)
>>> torus.hops(0, 5)
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.machines.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Dragonfly", "FatTree", "Mesh", "SingleSwitch", "Torus"]

#: The largest size of any family. The family itself refuses other sizes that are too large.
MOST = 1 << 24


def _size(name: str, size: int) -> int:
    return whole_number(name, size, 0, MOST)


def _planes(planes: int) -> dict[str, int]:
    """Returns the key of several planes. Empty for one plane, as for the default."""
    return {} if _size("planes", planes) == 1 else {"planes": planes}


def _grid(kind: str, dims: Sequence[int], nodes_per_router: int, planes: int) -> dict[str, Any]:
    sizes = [_size("dims", size) for size in dims]
    each = _size("nodes_per_router", nodes_per_router)
    return {"kind": kind, "dims": sizes, "nodes_per_router": each, **_planes(planes)}


@checked
class SingleSwitch(Machine):
    """One router with a node on every port.

    Args:
        ports: The number of ports, and of nodes.
        planes: Disjoint copies of the network, with every node on each.
    """

    def __init__(self, ports: int, *, planes: int = 1) -> None:
        super().__init__({"kind": "single-switch", "ports": _size("ports", ports), **_planes(planes)})


@checked
class FatTree(Machine):
    """A k-ary n-tree: k^n nodes under n levels of routers with 2k ports.

    Args:
        k: Downward ports of a router.
        n: Levels.
        planes: Disjoint copies of the network, with every node on each.
    """

    def __init__(self, k: int, n: int, *, planes: int = 1) -> None:
        super().__init__({"kind": "fat-tree", "k": _size("k", k), "n": _size("n", n), **_planes(planes)})


@checked
class Torus(Machine):
    """A k-ary n-cube: a grid whose every dimension closes into a ring.

    Args:
        dims: Routers along each dimension; they are numbered first dimension fastest.
        nodes_per_router: Nodes on each router.
        planes: Disjoint copies of the network, with every node on each.
    """

    def __init__(self, dims: Sequence[int], nodes_per_router: int = 1, *, planes: int = 1) -> None:
        super().__init__(_grid("torus", dims, nodes_per_router, planes))


@checked
class Mesh(Machine):
    """A grid of any dimensions, open at its edges.

    Args:
        dims: Routers along each dimension; they are numbered first dimension fastest.
        nodes_per_router: Nodes on each router.
        planes: Disjoint copies of the network, with every node on each.
    """

    def __init__(self, dims: Sequence[int], nodes_per_router: int = 1, *, planes: int = 1) -> None:
        super().__init__(_grid("mesh", dims, nodes_per_router, planes))


@checked
class Dragonfly(Machine):
    """Groups of routers, each wired to the other groups by global channels.

    Args:
        h: Global ports of a router.
        p: Nodes on each router. Default: h.
        a: Routers of a group. Default: 2h.
        g: Groups. Default: ah + 1.
        keys: Other keys of the experiment file, such as `arrangement="absolute"` or `planes=2`.
    """

    def __init__(
        self, h: int, *, p: int | None = None, a: int | None = None, g: int | None = None, **keys: Any
    ) -> None:
        sizes = {name: _size(name, size) for name, size in (("p", p), ("a", a), ("g", g)) if size is not None}
        super().__init__({"kind": "dragonfly", "h": _size("h", h), **sizes, **keys})
