"""Objects that experiments accept for sections. Their classes are elsewhere, and derive from these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["NetworkObject", "ProgramObject", "RoutingObject"]


class StandIn(ABC):
    """An object that stands for a section."""

    __slots__ = ()

    @property
    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The table of an experiment file."""


class NetworkObject(StandIn):
    """An object that stands for `[topology]`: a `ct.Topology` or a `ct.Machine`."""

    __slots__ = ()


class RoutingObject(StandIn):
    """An object that stands for `[routing]`: a `ct.RoutingTable`."""

    __slots__ = ()


class ProgramObject(StandIn):
    """An object that stands for `[workload.program]`: a `ct.Program`."""

    __slots__ = ()
