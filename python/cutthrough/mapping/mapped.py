"""The interface of mappings for exports, simulations and figures, which need not import the searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cutthrough.machines.machine import Machine
    from cutthrough.mapping.graphs import TaskGraph

__all__ = ["Mapped"]


class Mapped(Protocol):
    """Interface of a mapping. `cutthrough.MappingResult` implements it."""

    @property
    def graph(self) -> TaskGraph:
        """The tasks."""

    @property
    def machine(self) -> Machine:
        """The machine on which the tasks run."""

    @property
    def strategy(self) -> str:
        """The name of the strategy that placed them."""

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """The place of each task: an index into the machine's allocated nodes."""

    @property
    def nodes(self) -> npt.NDArray[np.uint32]:
        """The node of each task, by its number in the topology."""

    @property
    def measures(self) -> dict[str, Any]:
        """The exact measures of the mapping."""

    @property
    def channel_bytes(self) -> npt.NDArray[np.float64]:
        """The bytes over every channel in a step, by the numbers of the topology's channels."""

    def export(self, form: str) -> str:
        """Returns the mapping as the text of a file."""
