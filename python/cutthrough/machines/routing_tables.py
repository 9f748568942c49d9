"""Custom routings, as tables.

>>> import cutthrough as ct
>>> import numpy as np
>>> ring = ct.Torus([5])
>>> clockwise = np.full((5, 5), 0)  # port 0 leads to the next router
>>> np.fill_diagonal(clockwise, -1)
>>> table = ct.RoutingTable(clockwise)
>>> link = {"bandwidth": "10 Gb/s", "delay": "20 ns"}
>>> [found] = ct.check(topology=ring, routing=table, link=link, workload={"kind": "traffic"})
>>> found["deadlock_free"]
False
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough.files.atomic as atomic
import cutthrough.files.kept as files
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import file_of, refuse
from cutthrough.machines.topology import Topology
from cutthrough.sections.stand_ins import RoutingObject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    Integers = npt.NDArray[np.int32]

__all__ = ["RoutingTable"]

#: The largest number of a port, and of a layer.
MOST = 65535
#: The names of the arrays in a file.
ARRAYS = ("ports", "classes", "next_layers")


@checked
class RoutingTable(RoutingObject):
    """A routing as a table of next ports: `routing=` of an experiment, or an axis of a sweep.

    A packet carries a layer. The entry of its layer, the router and its destination gives the ports among which the
    router chooses, the class of virtual channels on which the packet leaves, and the layer on which it arrives.

    Args:
        ports: The next ports, -1 for none: `[routers, destinations]`, `[layers, routers, destinations]`, or `[layers,
            routers, destinations, ports]`.
        classes: The class of virtual channels of each entry, in any shape that broadcasts to `[layers, routers,
            destinations]`. Default: the number of the entry's layer.
        next_layers: The layer on which packets arrive at the next router, in any shape that broadcasts to `[layers,
            routers, destinations]`. Default: packets keep their layer.
        destinations: The meaning of the columns: `"routers"` or `"nodes"`. Required if their number fits both.
        ties: The choice among several ports of an entry: `"least-loaded"`, `"random"`, or `"first"`.
        starts: Number of layers on which packets may start, from 0. Each packet's is drawn uniformly.
        name: The table's name in files and figures.

    Attributes:
        ports: The next ports, `[layers, routers, destinations, ports]`.
        classes: The class of each entry, `[layers, routers, destinations]`.
        next_layers: The next layer of each entry, `[layers, routers, destinations]`.

    Raises:
        ExperimentError: An array is not of whole numbers, or has another shape.
    """

    def __init__(  # noqa: PLR0913  (a keyword for each key)
        self,
        ports: npt.ArrayLike,
        *,
        classes: npt.ArrayLike | None = None,
        next_layers: npt.ArrayLike | None = None,
        destinations: str | None = None,
        ties: str = "least-loaded",
        starts: int = 1,
        name: str = "table",
    ) -> None:
        held = _whole("ports", ports)
        if held.ndim not in (2, 3, 4):
            message = (
                f"an array of {held.ndim} dimensions is not allowed; [routers, destinations], [layers, "
                "routers, destinations] and [layers, routers, destinations, ports] are"
            )
            raise refuse("ports", message)
        layered = held[np.newaxis] if held.ndim == 2 else held
        self.ports = layered[..., np.newaxis] if layered.ndim == 3 else layered
        layers = np.arange(self.ports.shape[0], dtype=np.int32)[:, np.newaxis, np.newaxis]
        self.classes = self._entries("classes", layers if classes is None else classes)
        self.next_layers = self._entries("next_layers", layers if next_layers is None else next_layers)
        #: Keys that differ from the defaults of `[routing]`.
        self.keys: dict[str, Any] = {
            key: value
            for key, value, default in (
                ("ties", ties, "least-loaded"),
                ("starts", starts, 1),
                ("destinations", destinations, None),
            )
            if value != default
        }
        self.name = name

    def __repr__(self) -> str:
        layers, routers, destinations, ports = self.ports.shape
        counts = {"layer": layers, "router": routers, "destination": destinations, "port": ports}
        parts = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()]
        size = ", ".join([*parts[:-1], f"{'up to ' if ports > 1 else ''}{parts[-1]} an entry"])
        return f"<RoutingTable {self.name}: {size}>"

    def _entries(self, name: str, values: npt.ArrayLike) -> Integers:
        """Returns an array with a number for each entry."""
        held, shape = _whole(name, values), self.ports.shape[:3]
        try:
            return np.broadcast_to(held, shape)
        except ValueError:
            message = f"an array of shape {list(held.shape)} does not broadcast to {list(shape)}"
            raise refuse(name, message) from None

    @classmethod
    def of(cls, topology: Topology | str | Mapping[str, Any], routing: str | Mapping[str, Any] = "") -> RoutingTable:
        """Returns one of Cutthrough's routings as a table, to start from.

        Args:
            topology: A topology, or an argument of `Topology`.
            routing: The routing's kind, or its keys as under `[routing]`. Default: the topology's default.

        Raises:
            ExperimentError: The topology has no such routing, or it cannot be written as a table: the next ports must
                be a function of the router, the destination and the packet's state, and a packet may not draw its path
                at the source, as with `valiant-group`.
        """
        shape = topology if isinstance(topology, Topology) else Topology(topology)
        keys = {"kind": routing} if isinstance(routing, str) and routing else routing
        text = json.dumps(dict(keys)) if keys else ""
        (layers, columns, ports), (destinations, ties), arrays = shape._shape.routing_table(text, ".")
        held = [np.frombuffer(data, np.int32) for data in arrays]
        # Planes are copies: each has this table.
        entries = (layers, shape.routers // shape.planes, columns)
        kind = str(dict(keys)["kind"]) if keys else shape.kind
        return cls(
            held[0].reshape(*entries, ports),
            classes=held[1].reshape(entries),
            next_layers=held[2].reshape(entries),
            destinations=destinations,
            ties=ties,
            name=kind,
        )

    def to_bytes(self) -> bytes:
        """Returns the content of a file. Equal tables give equal files."""
        written = io.BytesIO()
        arrays = {name: _narrow(getattr(self, name)) for name in ARRAYS}
        np.savez_compressed(written, allow_pickle=False, **arrays)
        return written.getvalue()

    def save(self, path: str | Path) -> None:
        """Writes a file that `path` under `[routing]` may name. The other keys are in `spec`.

        Raises:
            OSError: The file cannot be written.
        """
        atomic.write_alone(file_of("path", path), self.to_bytes())

    @property
    def spec(self) -> dict[str, Any]:
        """The table for `[routing]` of an experiment file.

        The table's file is in a folder of this user for temporary files. Results and saved experiments keep copies of
        it.

        Raises:
            ExperimentError: Another user has a folder of that name.
        """
        path = files.keep(self.to_bytes(), self.name, ".npz", "routing")
        return {"kind": "table", "path": str(path), **self.keys}


def _whole(name: str, values: npt.ArrayLike) -> Integers:
    """Returns values as an array of whole numbers. All negative numbers become -1.

    Raises:
        ExperimentError: A value is no whole number.
    """
    held = np.asarray(values)
    if held.dtype.kind not in "iuf" or not np.all(held == np.floor(held)) or np.any(held > MOST):
        shown = held.dtype if held.dtype.kind not in "iuf" else held[(held != np.floor(held)) | (held > MOST)].flat[0]
        message = f"{shown} is not allowed; whole numbers up to {MOST} are, and -1 for none"
        raise refuse(name, message)
    whole: Integers = np.maximum(held, -1).astype(np.int32)
    return whole


def _narrow(values: Integers) -> npt.NDArray[np.signedinteger[Any]]:
    """Returns the numbers in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(-max(int(values.max(initial=0)) + 1, 2)), order="C")
