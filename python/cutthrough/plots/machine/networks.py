"""Several networks of a machine: each as the channels of one island, of which other islands and planes are copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.channels import ChannelLoads

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pyarrow as pa

    from cutthrough.plots.machine.graph import Source

    Integers = npt.NDArray[np.int64]

__all__ = ["Island", "islands"]

#: The ends of a channel.
ENDS = ("source", "target")
#: More than the number of ports of a router.
PORTS = 1 << 16


@dataclass(frozen=True)
class Island:
    """The channels of one network, as those of planes of an island (`graph.Source`).

    Attributes:
        table: A row for each channel of the network. Islands and planes are numbered as planes, routers within the
            network, and nodes within an island.
        about: Properties of an island, with `name`, `planes` and `islands` of the network, and `first`, the number of
            the network's first router on the machine. Its classes have no prefix.
    """

    table: pa.Table
    about: Mapping[str, Any]

    def loads(self) -> ChannelLoads:
        """Returns the channels with loads as those of one network."""
        return ChannelLoads.made(self.table, self.about)


def islands(source: Source) -> list[Island]:
    """Returns each of several networks. Empty if there is one."""
    found, first = [], 0
    for about in source.about.get("networks", ()):
        found.append(_island(source, about, first))
        first += about["planes"] * about["islands"] * about["routers"]
    return found


def _island(source: Source, about: Mapping[str, Any], first: int) -> Island:
    """Returns a network, given its properties and its first router."""
    import pyarrow as pa
    import pyarrow.compute as compute

    name, routers = about["name"], about["routers"]
    own = source.table.filter(compute.equal(source.table.column("network"), name))
    classes = [str(word).removeprefix(f"{name}.") for word in own.column("class").to_pylist()]
    # Loads are the columns of floating-point numbers.
    loads = {field.name: own.column(field.name) for field in own.schema if pa.types.is_floating(field.type)}
    columns: dict[str, Any] = {"class": pa.array(classes).dictionary_encode(), **loads}
    at = np.array(about["at"], np.int64).reshape(routers, -1)
    router = {end: _numbers(own, f"{end}_router") - first for end in ENDS}
    port = {end: _numbers(own, f"{end}_port") for end in ENDS}
    is_router = {end: port[end] >= 0 for end in ENDS}
    # A node of the island is the port of a router: copies of this port belong to other endpoints.
    joined = {end: router[end] % routers * PORTS + port[end] for end in ENDS}
    nodes = np.unique(np.concatenate([joined["target"][~is_router["source"]], joined["source"][~is_router["target"]]]))
    for end, other in (ENDS, ENDS[::-1]):
        present = is_router[end]
        numbers = {"router": router[end], "port": port[end], "plane": router[end] // routers}
        coordinates = zip(about["coordinates"], at[router[end] % routers].T, strict=True)
        numbers = {word: values for word, values in coordinates if word not in numbers} | numbers
        columns |= {f"{end}_{word}": np.where(present, values, -1) for word, values in numbers.items()}
        columns[f"{end}_node"] = np.where(present, -1, np.searchsorted(nodes, joined[other]))
    return Island(pa.table(columns), {**about, "first": first})


def _numbers(table: pa.Table, name: str) -> Integers:
    """Returns a column, with -1 for missing values."""
    import pyarrow as pa

    column = table.column(name)
    return np.asarray(column.fill_null(pa.scalar(-1, column.type)).to_numpy(), np.int64)
