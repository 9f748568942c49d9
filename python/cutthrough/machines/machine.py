"""Machines: topologies with cores and an allocation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import cutthrough._core as core
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.machines.shapes import Table, shape_of
from cutthrough.machines.topology import DEFAULTS, Topology, kept_graph

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


__all__ = ["Machine"]

#: The greatest number of cores on a node.
MOST_CORES = 65_536


@checked
class Machine(Topology):
    """A topology with the cores of its nodes and the allocated nodes of a job, by a name or from a file.

    Ranks fill the cores of the allocation's nodes. A machine is accepted wherever a topology is:
    `ct.run(topology=machine, ...)`, a section of an experiment, a value of a sweep.

    Args:
        machine: A shorthand such as `"torus:16x16x16"`, a name such as `"lumi:groups=4"`, or a file: the output of
            ibnetdiscover or saquery, Slurm's topology.conf or topology.yaml, a Cray interconnect, GraphML, InfraGraph,
            hwloc's XML, an edge list; or a topology, or the table of one.
        cores: Cores of a node. Default: the named machine's, the cores of `node`, or 1.
        rank_order: `"TXYZ"` fills node after node; `"XYZT"` the first core of every node, then the second.
        allocation: The job's nodes: a box `"0:8,0:8,4:12"`, numbers `"0-63,100"`, or hosts `"node[001-064]"`.
        node: A file of hwloc's XML that describes a node.

    Raises:
        ExperimentError: The machine does not exist, or a file is wrong; the message has the file and the line.
    """

    def __init__(
        self,
        machine: str | Path | Table | Topology,
        *,
        cores: int | None = None,
        rank_order: str = "TXYZ",
        allocation: str | None = None,
        node: str | Path | None = None,
    ) -> None:
        count = None if cores is None else whole_number("cores", cores, 1, MOST_CORES)
        self._options = (count, rank_order, allocation, None if node is None else str(node))
        if isinstance(machine, str) or hasattr(machine, "__fspath__"):
            self._core = core.Machine(str(machine), *self._options, ".")
            self._shape = self._core.topology()
        else:
            self._shape = machine._shape if isinstance(machine, Topology) else shape_of(machine)
            if self._options != DEFAULTS:
                # Reports a wrong option in this call, not in the first query.
                self._core.places  # noqa: B018  (the machine is built)

    @classmethod
    def from_job(cls, machine: str | Path, **options: Any) -> Machine:
        """Returns the nodes of the current Slurm job, on a machine whose nodes have the names of hosts.

        Args:
            machine: A machine as for `Machine`, such as the cluster's topology.conf.
            options: Options of `Machine`, except `allocation`.

        Raises:
            ExperimentError: The process is not in a Slurm job, or a host is not on the machine.
        """
        hosts = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not hosts:
            message = "there is no SLURM_JOB_NODELIST: this is not within a job of Slurm; give the allocation"
            raise refuse("allocation", message)
        return cls(machine, allocation=hosts, **options)

    @classmethod
    def _of_graph(cls, text: str, recognise: str | None) -> Self:
        """Returns the machine of a text in GraphML, whose nodes keep their names unless routers may be renumbered."""
        return super()._of_graph(text, recognise) if recognise else cls(kept_graph(text))

    @property
    def whole(self) -> Machine:
        """The machine with all nodes of its topology."""
        cores, order, _, node = self._options
        return Machine(Topology._of(self._shape), cores=cores or self.cores_per_node, rank_order=order, node=node)

    def __repr__(self) -> str:
        cores = self.cores_per_node
        routers = counted(self.routers, "router")
        return f"<{self.name}: {counted(self.nodes, 'node')} of {counted(cores, 'core')}, {routers}>"

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "cores of a node": self.cores_per_node, "ranks": self.ranks}
