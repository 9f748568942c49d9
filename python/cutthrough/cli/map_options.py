"""Options of the command `map`, in groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import Annotated, Any

import typer

import cutthrough.cli.complete as complete
from cutthrough.cli.common import JsonOption  # noqa: TC001  (typer reads the annotations)
from cutthrough.cli.map_inputs import LARGEST, LARGEST_SEED, pairs_of
from cutthrough.cli.pictures import Plots, PlotsOption
from cutthrough.mapping.evaluation import Links
from cutthrough.mapping.exports import FORMATS

__all__ = ["MachineOptions", "OutputOptions", "SearchOptions", "StepOptions", "TaskOptions"]


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """The tasks: those of a program in an experiment file, or of graphs."""

    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="An experiment file with a program of ranks, instead of a graph and a machine.",
            show_default=False,
        ),
    ] = None
    set_: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Replace a key of FILE; may be given again.",
            show_default=False,
            autocompletion=complete.settings,
        ),
    ] = field(default_factory=list)
    graph: Annotated[
        list[str],
        typer.Option(
            "--graph",
            "-g",
            metavar="GRAPH",
            help="A task graph: a file or `stencil:...`; several of the same tasks.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    weight: Annotated[
        list[float] | None, typer.Option("--weight", help="How critical a graph is, of several: one for each.")
    ] = None
    shuffle: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_SEED, help="Number the tasks at random first, by this seed."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """The machine, and the nodes of it that tasks may have."""

    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="MACHINE",
            help="`torus:8x8x8`, a name such as `lumi:groups=4`, a machine's file or an experiment file.",
            show_default=False,
        ),
    ] = None
    cores: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Cores of a node.")] = None
    rank_order: Annotated[str, typer.Option(help="How ranks fill cores: TXYZ or XYZT.")] = "TXYZ"
    allocation: Annotated[
        str | None, typer.Option(help="The job's nodes: `0:8,0:8,4:12`, `0-63,100` or `node[001-064]`.")
    ] = None
    node: Annotated[Path | None, typer.Option(metavar="FILE", help="hwloc's XML of a node.")] = None
    hosts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The hosts of the machine's nodes, a line each, for rankfiles."),
    ] = None

    @property
    def shape(self) -> dict[str, Any]:
        """The options of `Machine`."""
        return {name: getattr(self, name) for name in ("cores", "rank_order", "allocation", "node")}


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The searches for a mapping."""

    strategy: Annotated[
        list[str],
        typer.Option(
            "--strategy",
            "-s",
            help="A strategy; several are compared, and the best is kept.",
            autocompletion=complete.strategies,
        ),
    ] = field(default_factory=lambda: ["auto"])
    objective: Annotated[
        str | None,
        typer.Option(
            help="What `auto` lowers: hop-bytes, max-channel-load or both, their product.",
            show_default="both; with --evaluate, hop-bytes as well",
        ),
    ] = None
    imbalance: Annotated[
        float, typer.Option(min=0.0, help="How far a node's load may be above the mean, where tasks share nodes.")
    ] = 0.03
    tasks_per_node: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="The most tasks of a node.")] = None
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Nominal seconds of each search on one core, counted in steps: the same result on any machine.",
            show_default="2; less below 500 tasks, more above 8,000",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="End each search after this time, with the best it has found; another run may find another mapping.",
            show_default="none",
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The seed of all random choices.")] = 1
    fixed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lines `task place` of tasks that stay where they are.")
    ] = None
    current: Annotated[Path | None, typer.Option(metavar="FILE", help="The places of the tasks now, a line each.")] = (
        None
    )

    def options(self) -> dict[str, Any]:
        """Returns the options of `map_tasks` that all searches share.

        Raises:
            ExperimentError: A file of places is wrong.
        """
        names = ("imbalance", "tasks_per_node", "budget", "time_limit", "seed")
        return {
            **{name: getattr(self, name) for name in names},
            "fixed": {row[0]: row[1] for row in pairs_of(self.fixed, "fixed", 2)} if self.fixed else None,
            "current": [row[0] for row in pairs_of(self.current, "current", 1)] if self.current else None,
        }


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """The simulation of a step of the application, and the network that it assumes."""

    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Simulate a step of the application, mapped and in order.")
    ] = False
    bandwidth: Annotated[
        str | None, typer.Option(help="Of a channel, for --evaluate.", show_default="the preset's, or 100 Gb/s")
    ] = None
    delay: Annotated[
        str | None, typer.Option(help="Of a channel, for --evaluate.", show_default="the preset's, or 20 ns")
    ] = None
    packet_size: Annotated[
        str | None,
        typer.Option(help="Of a packet, for --evaluate.", show_default="4 KiB from 100 Gb/s on, else 256 B"),
    ] = None
    router: Annotated[
        str | None, typer.Option(help="The kind of the routers, for --evaluate.", show_default="as in experiments")
    ] = None
    buffer: Annotated[
        str | None, typer.Option(help="Of a router's input, for --evaluate.", show_default="as in experiments")
    ] = None

    @property
    def links(self) -> Links:
        """The assumptions on the network."""
        return Links(self.bandwidth, self.delay, self.packet_size, self.router, self.buffer)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The files and the text that the command writes."""

    output: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where the mapping goes.", show_default="nowhere")
    ] = None
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help=f"Of the mapping's file: {', '.join(FORMATS)}.",
            autocompletion=complete.mapping_formats,
        ),
    ] = "nodes"
    folder: Annotated[
        Path | None,
        typer.Option(
            "--pictures",
            metavar="DIR",
            help="Where plots of tasks, hops and channels go, beside those of tasks in order.",
            show_default="nowhere",
        ),
    ] = None
    plots: PlotsOption = Plots.MAIN
    json_output: JsonOption = False
