"""The command `cutthrough map`: which task runs where."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, prod
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.cli.complete as complete
import cutthrough.files.atomic as atomic
import cutthrough.reports.tables as reports
from cutthrough.arguments.faults import refuse
from cutthrough.cli.common import JsonOption, complain, err, file_target, folder_target, out, parse_sets, print_json
from cutthrough.cli.keeping import Signals
from cutthrough.cli.map_inputs import (
    LARGEST,
    LARGEST_SEED,
    graph_of,
    hosts_of,
    machine_of,
    naming_options,
    pairs_of,
)
from cutthrough.cli.map_programs import Placed, check_options
from cutthrough.cli.map_search import OTHER_OBJECTIVE, Search
from cutthrough.cli.pictures import Pictures, Plots, PlotsOption, is_given, needs_folder
from cutthrough.mapping.evaluation import ASSUMED, Links
from cutthrough.mapping.exports import FORMATS, HOSTED, check, has_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.mapping import Machine, MappingResult, TaskGraph

__all__ = ["register"]

#: The error where nothing names what is mapped.
MISSING = "it is missing: name a graph and a machine, or an experiment file with a program"
#: The pictures that are drawn.
PICTURES = ("tasks", "hops", "channels")
#: Relative differences of measures that are ignored.
TOLERANCE = 1e-9
#: The default objective of `auto`.
DEFAULT_OBJECTIVE = "both"
#: Names of the measures that judge mappings, for people.
NAMES = {"hop_bytes": "hop-bytes", "max_channel_load": "load of the fullest channel"}
#: The measures whose product an objective minimizes.
MEASURES = {
    "hop-bytes": ("hop_bytes",),
    "max-channel-load": ("max_channel_load",),
    "both": ("hop_bytes", "max_channel_load"),
}


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("map")(map_)


def map_(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="An experiment file with a program of ranks, instead of a graph and a machine.",
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Replace a key of FILE; may be given again.",
            show_default=False,
            autocompletion=complete.settings,
        ),
    ] = [],  # noqa: B006  (typer copies it)
    graph: Annotated[
        list[str],
        typer.Option(
            "--graph",
            "-g",
            metavar="GRAPH",
            help="A task graph: a file or `stencil:...`; several of the same tasks.",
            show_default=False,
        ),
    ] = [],  # noqa: B006  (typer copies it)
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="MACHINE",
            help="`torus:8x8x8`, a preset, a machine's file or an experiment file.",
            show_default=False,
        ),
    ] = None,
    strategy: Annotated[
        list[str],
        typer.Option(
            "--strategy",
            "-s",
            help="A strategy; several are compared, and the best is kept.",
            autocompletion=complete.strategies,
        ),
    ] = ["auto"],  # noqa: B006  (typer copies it)
    output: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where the mapping goes.", show_default="nowhere")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help=f"Of the mapping's file: {', '.join(FORMATS)}.",
            autocompletion=complete.mapping_formats,
        ),
    ] = "nodes",
    objective: Annotated[
        str | None,
        typer.Option(
            help="What `auto` lowers: hop-bytes, max-channel-load or both, their product.",
            show_default="both; with --evaluate, hop-bytes as well",
        ),
    ] = None,
    imbalance: Annotated[
        float, typer.Option(min=0.0, help="How far a node's load may be above the mean, where tasks share nodes.")
    ] = 0.03,
    tasks_per_node: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="The most tasks of a node.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Nominal seconds of each search on one core, counted in steps: the same result on any machine.",
            show_default="2; less below 500 tasks, more above 8,000",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="End each search after this time, with the best it has found; another run may find another mapping.",
            show_default="none",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The seed of all random choices.")] = 1,
    weight: Annotated[
        list[float] | None, typer.Option("--weight", help="How critical a graph is, of several: one for each.")
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_SEED, help="Number the tasks at random first, by this seed."),
    ] = None,
    fixed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lines `task place` of tasks that stay where they are.")
    ] = None,
    current: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The places of the tasks now, a line each.")
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, max=LARGEST, help="Cores of a node.")] = None,
    rank_order: Annotated[str, typer.Option(help="How ranks fill cores: TXYZ or XYZT.")] = "TXYZ",
    allocation: Annotated[
        str | None, typer.Option(help="The job's nodes: `0:8,0:8,4:12`, `0-63,100` or `node[001-064]`.")
    ] = None,
    node: Annotated[Path | None, typer.Option(metavar="FILE", help="hwloc's XML of a node.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--pictures",
            metavar="DIR",
            help="Where plots of tasks, hops and channels go, beside those of tasks in order.",
            show_default="nowhere",
        ),
    ] = None,
    plots: PlotsOption = Plots.MAIN,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Simulate a step of the application, mapped and in order.")
    ] = False,
    bandwidth: Annotated[
        str | None, typer.Option(help="Of a channel, for --evaluate.", show_default="the preset's, or 100 Gb/s")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="Of a channel, for --evaluate.", show_default="the preset's, or 20 ns")
    ] = None,
    packet_size: Annotated[
        str | None,
        typer.Option(help="Of a packet, for --evaluate.", show_default="4 KiB from 100 Gb/s on, else 256 B"),
    ] = None,
    router: Annotated[
        str | None, typer.Option(help="The kind of the routers, for --evaluate.", show_default="as in experiments")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(help="Of a router's input, for --evaluate.", show_default="as in experiments")
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The hosts of the machine's nodes, a line each, for rankfiles."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Map the tasks of an application, or the ranks of a program, on the nodes of a machine.

    Prints hop-bytes, the largest load of a channel and other measures, beside those of tasks in order, and warns if the
    mapping is worse by either. With --evaluate the fastest is kept, even if it is tasks in order. Line i (from 0) of
    the file is the node of task i. Ctrl-C ends the search and keeps the best mapping so far.

    An experiment file with a program of ranks gives the graph (the messages between ranks) and the nodes (its
    placement). With --evaluate the program runs with the experiment's placement and with each mapping. `[placement]`
    with `strategy = "file"` and `path` takes the mapping.

    Examples:
    - `cutthrough map --graph stencil:16x16x16 --machine torus:16x16x16 --shuffle 1`
    - `cutthrough map -g stencil:8x8x8 -m dragonfly:h=3 -s greedy -s multilevel --json`
    - `cutthrough map -g stencil:8x8 -m mesh:8x8 -o ranks.txt --format openmpi-rankfile`
    - `cutthrough map -g namd:6x6x4 -m bluegene-p:512 --pictures figures`
    - `cutthrough map -g stencil:4x4x4 -m torus:4x4x4 --shuffle 1 --evaluate`
    - `cutthrough map -g stencil:8x8 --weight 2 -g random:64 --weight 1 -m torus:8x8`
    - `cutthrough map halo.toml --set placement.strategy=random --evaluate`

    `cutthrough list strategies`, `list machines` and `list graphs` list the choices.
    """
    needs_folder(context, folder, "--pictures")
    if output is None and is_given(context, "form"):
        raise refuse("--format", "there is no file to write; --out FILE says where the mapping goes")
    assumed = Links(bandwidth, delay, packet_size, router, buffer)
    _check_options(assumed, output, folder, evaluate=evaluate)
    placed: Placed | None = None
    sections: dict[str, Any] = {}
    with naming_options():
        check(form)
        if file is not None:
            check_options(context, file)
            placed = Placed.read(file, parse_sets(set_))
            tasks, where = placed.graph, placed.machine
        else:
            tasks = _tasks(graph, weight, seed, shuffle, sets=set_)
            shape = {"cores": cores, "rank_order": rank_order, "allocation": allocation, "node": node}
            where, sections = _where(machine, shape)
            assumed.check()
    options: dict[str, Any] = {
        "imbalance": imbalance,
        "tasks_per_node": tasks_per_node,
        "budget": budget,
        "time_limit": time_limit,
        "seed": seed,
        "fixed": {row[0]: row[1] for row in pairs_of(fixed, "fixed", 2)} if fixed else None,
        "current": [row[0] for row in pairs_of(current, "current", 1)] if current else None,
    }
    names = hosts_of(hosts, where) if hosts else None
    searches = [(name, goal) for name in strategy for goal in _objectives(name, objective, evaluate=evaluate)]
    search = Search(tasks, where, options if placed is None else placed.options(options), placed)
    with Signals() as signals, naming_options():
        search.run(searches, replace(assumed, sections=sections) if evaluate else None)
    if not search.found:
        complain("interrupted: no mapping had been found, and nothing was written")
        raise typer.Exit(signals.status)
    default, compared = search.default, search.compared
    best = _best(compared if search.steps else search.found, search.steps, objective or DEFAULT_OBJECTIVE)
    warnings = _warnings(best, search)
    warnings += _unsimulated(objective) if evaluate and not search.steps else []
    if form in HOSTED and names is None and not has_hosts(best):
        warnings.append(
            f"{file or machine} has no names of hosts: {form} gets their numbers; --hosts FILE has the names"
        )
    points = [mapping.to_dict() for mapping in compared]
    points = [{**point, **step} for point, step in zip(points, search.steps or [{}] * len(points), strict=True)]
    for warning in warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    if output is not None:
        with naming_options():
            best.save(output, form, names)
    if json_output:
        shown = points if evaluate else points[: len(search.found)]
        _print_json(best, shown, warnings)
    else:
        _print(best, points, output, "step" if placed is None else "program")
    if search.interrupted:
        complain(f"interrupted: the best mapping found so far is kept{f' in {output}' if output else ''}")
        raise typer.Exit(signals.status)
    if folder is not None:
        _draw(Pictures(plots).chosen([best], compared), default, folder, quiet=json_output)


def _tasks(
    graph: list[str], weight: list[float] | None, seed: int, shuffle: int | None, *, sets: list[str]
) -> TaskGraph:
    """Returns the tasks of a named graph."""
    if sets:
        raise refuse("--set", "there is no experiment file whose keys could be replaced")
    if not graph:
        raise refuse("--graph", MISSING)
    tasks = graph_of(graph, weight, seed)
    return tasks if shuffle is None else tasks.shuffled(shuffle)


def _where(machine: str | None, shape: dict[str, Any]) -> tuple[Machine, dict[str, Any]]:
    """Returns a named machine, and the network's sections if an experiment names it."""
    if machine is None:
        raise refuse("--machine", MISSING)
    return machine_of(machine, **shape)


def _objectives(strategy: str, given: str | None, *, evaluate: bool) -> list[str | None]:
    """Returns the objectives of a strategy. Only `auto` has a choice, and tries two where time decides."""
    if given is not None or strategy != "auto":
        return [given]
    return [OTHER_OBJECTIVE, DEFAULT_OBJECTIVE] if evaluate else [DEFAULT_OBJECTIVE]


def _unrepeatable(mapping: MappingResult) -> str:
    """Returns why another run may find another mapping."""
    if mapping.ended == "interrupt":
        return "the search was interrupted; another run may find another mapping"
    return f"the time limit of {mapping.time_limit_s:g} s ended the search; another run may find another mapping"


def _print_json(best: MappingResult, points: list[dict[str, Any]], warnings: list[str]) -> None:
    about = {"kept": best.strategy, "warnings": warnings, "notes": _notes(best)}
    print_json({"version": _core.__version__, "points": points, **about})


def _print(best: MappingResult, points: list[dict[str, Any]], output: Path | None, simulated: str) -> None:
    graph, machine = best.graph, best.machine
    cores = machine.nodes * machine.cores_per_node
    shared = f", {-(-graph.tasks // cores):,} tasks a core" if graph.tasks > cores else ""
    where = f"{machine.name}: {machine.nodes:,} nodes{shared}"
    out.print(f"{graph.name}: {graph.tasks:,} tasks on {where}", markup=False, soft_wrap=True)
    took = sum(point["wall_s"] for point in points)
    out.print(f"Budget: {best.budget_s:g} nominal s a search; {took:,.1f} s in all", markup=False, soft_wrap=True)
    out.print(reports.mapping_table(points, simulated))
    for point in points:
        hottest = point.get("step_hottest_channels")
        if hottest and point["step_time_ns"]:
            where, used = hottest[0]["channel"], hottest[0]["utilization"]
            line = f"Hottest channel of {point['strategy']}: {where}, used {used:.0%} of the {simulated}"
            out.print(line, markup=False, soft_wrap=True)
    for note in _notes(best):
        out.print(f"Note: {note}", markup=False, soft_wrap=True)
    if len(points) > 1:
        out.print(f"Kept: {best.strategy}", markup=False, soft_wrap=True)
    if output is not None:
        out.print(f"Mapping: {output}", markup=False, soft_wrap=True)


def _notes(best: MappingResult) -> list[str]:
    """Returns what the readers of the graph and of the machine have left out or assumed, each note once."""
    return list(dict.fromkeys((*best.graph.about["notes"], *best.machine.about["notes"])))


def _check_options(links: Links, output: Path | None, pictures: Path | None, *, evaluate: bool) -> None:
    """Refuses assumptions on the network where nothing is simulated, and targets that cannot be written."""
    given = next((name for name in ASSUMED if getattr(links, name) is not None), None)
    if given is not None and not evaluate:
        raise refuse(f"--{given.replace('_', '-')}", "it is for --evaluate, without which nothing is simulated")
    if output is not None:
        file_target(output)
    if pictures is not None:
        folder_target(pictures)


def _unsimulated(objective: str | None) -> list[str]:
    """Returns the warning of an interruption before all mappings were simulated."""
    judged = " and ".join(NAMES[measure] for measure in MEASURES[objective or DEFAULT_OBJECTIVE])
    unknown = "interrupted before every mapping had been simulated, so that no step time is shown"
    return [f"{unknown}: mappings are judged by {judged}"]


def _draw(mappings: Sequence[MappingResult], default: MappingResult, directory: Path, *, quiet: bool) -> None:
    """Draws mappings beside tasks in order.

    Names of files begin with the strategy's name if there are several mappings.
    """
    import cutthrough.plots as plots

    atomic.make_folder(directory)
    for mapping in mappings:
        words = re.sub(r"[^a-z0-9]+", "-", mapping.strategy.lower()).strip("-")
        start = f"{words}-" if len(mappings) > 1 else ""
        before = None if mapping is default else default
        for what in PICTURES:
            for path in plots.write(mapping.plot(what, before), directory / f"{start}{what}", ["png"]):
                if not quiet:
                    out.print(f"Plot: {path}", markup=False, soft_wrap=True)


def _goodness(mapping: MappingResult, objective: str) -> float:
    """Returns the quantity that the objective minimizes."""
    return float(prod(mapping.measures[measure] for measure in MEASURES[objective]))


def _best(mappings: list[MappingResult], steps: list[dict[str, Any]], objective: str) -> MappingResult:
    """Returns the fastest mapping where steps have been simulated, else the best by the objective.

    Ties go to the first.
    """

    def rank(number: int) -> tuple[float, float]:
        time = steps[number]["step_time_ns"] if steps else 0.0
        return inf if time is None else time, _goodness(mappings[number], objective)

    return mappings[min(range(len(mappings)), key=rank)]


def _warnings(best: MappingResult, search: Search) -> list[str]:
    """Returns warnings: by which measures the mapping is worse than the default, and what another run may not find."""
    unsure = [f"{each.strategy}: {_unrepeatable(each)}" for each in search.compared if each.ended != "budget"]
    worse, default = [], search.default
    for measure, name in NAMES.items():
        found, known = float(best.measures[measure]), float(default.measures[measure])
        if found > known * (1 + TOLERANCE):
            worse.append(f"{name}: {found:,.0f} B instead of {known:,.0f} B")
    if not worse:
        return unsure
    hint = "it is the fastest all the same" if search.steps else "--evaluate simulates both and keeps the faster"
    before = "tasks in order" if search.placed is None else "ranks as the experiment places them"
    return [f"by {' and '.join(worse)} the mapping is worse than {before}; {hint}", *unsure]
