"""The command `cutthrough map`: which task runs where."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, prod
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Any

import typer

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.reports.tables as reports
from cutthrough.arguments.faults import refuse
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import complain, err, folder_target, out, parse_sets, print_json
from cutthrough.cli.grouped import grouped
from cutthrough.cli.keeping import Signals
from cutthrough.cli.map_inputs import graph_of, hosts_of, machine_of, naming_options
from cutthrough.cli.map_options import (  # noqa: TC001  (typer reads the annotations)
    MachineOptions,
    OutputOptions,
    SearchOptions,
    StepOptions,
    TaskOptions,
)
from cutthrough.cli.map_programs import Placed, check_options
from cutthrough.cli.map_search import OTHER_OBJECTIVE, Search
from cutthrough.cli.pictures import Pictures, is_given, needs_folder
from cutthrough.display.units import counted
from cutthrough.mapping.evaluation import ASSUMED, Links
from cutthrough.mapping.exports import HOSTED, check, has_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.mapping import MappingResult, TaskGraph

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
    app.command("map")(grouped(map_))


def map_(
    context: typer.Context,
    task: TaskOptions,
    node: MachineOptions,
    seeking: SearchOptions,
    step: StepOptions,
    output: OutputOptions,
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
    _check_options(context, step, output)
    with naming_options():
        check(output.form)
        search, links = _prepared(context, task, node, seeking, step)
    hosts = hosts_of(node.hosts, search.machine) if node.hosts else None
    with Signals() as signals, naming_options():
        search.run(_searches(seeking, evaluate=step.evaluate), links)
    if not search.found:
        complain("interrupted: no mapping had been found, and nothing was written")
        raise typer.Exit(signals.status)
    best = _best(search, seeking.objective or DEFAULT_OBJECTIVE)
    if hosts is not None:
        hosts.check(best.places.tolist())
    names = None if hosts is None else hosts.names
    warnings = _warnings(best, search)
    if step.evaluate and not search.steps:
        warnings += _unsimulated(seeking.objective)
    if output.form in HOSTED and names is None and not has_hosts(best):
        named = f"{task.file or node.machine} has no names of hosts"
        warnings.append(f"{named}: {output.form} gets their numbers; --hosts FILE has the names")
    _give(best, names, warnings, output)
    _show(best, search, output, warnings, evaluate=step.evaluate)
    if search.interrupted:
        complain(f"interrupted: the best mapping found so far is kept{f' in {output.output}' if output.output else ''}")
        raise typer.Exit(signals.status)
    if output.folder is not None:
        chosen = Pictures(output.plots).chosen([best], search.compared)
        _draw(chosen, search.default, output.folder, quiet=output.json_output)


def _check_options(context: typer.Context, step: StepOptions, output: OutputOptions) -> None:
    """Refuses options without the one that they belong to, and targets that cannot be written."""
    needs_folder(context, output.folder, "--pictures")
    if output.output is None and is_given(context, "form"):
        raise refuse("--format", "there is no file to write; --out FILE says where the mapping goes")
    given = next((name for name in ASSUMED if getattr(step, name) is not None), None)
    if given is not None and not step.evaluate:
        raise refuse(f"--{given.replace('_', '-')}", "it is for --evaluate, without which nothing is simulated")
    if output.output is not None:
        file_target(output.output)
    if output.folder is not None:
        folder_target(output.folder, "--pictures")


def _prepared(
    context: typer.Context, task: TaskOptions, node: MachineOptions, seeking: SearchOptions, step: StepOptions
) -> tuple[Search, Links | None]:
    """Returns the search for a mapping of the tasks, and the network if mappings are simulated on it."""
    links = step.links
    if task.file is not None:
        check_options(context, task.file)
        placed = Placed.read(task.file, parse_sets(task.set_))
        search = Search(placed.graph, placed.machine, placed.options(seeking.options()), placed)
    else:
        tasks = _tasks(task, seeking.seed)
        if node.machine is None:
            raise refuse("--machine", MISSING)
        machine, sections = machine_of(node.machine, **node.shape)
        links.check()
        links = replace(links, sections=sections)
        search = Search(tasks, machine, seeking.options())
    return search, links if step.evaluate else None


def _tasks(task: TaskOptions, seed: int) -> TaskGraph:
    """Returns the tasks of a named graph."""
    if task.set_:
        raise refuse("--set", "there is no experiment file whose keys could be replaced")
    if not task.graph:
        raise refuse("--graph", MISSING)
    tasks = graph_of(task.graph, task.weight, seed)
    return tasks if task.shuffle is None else tasks.shuffled(task.shuffle)


def _give(best: MappingResult, names: list[str] | None, warnings: list[str], output: OutputOptions) -> None:
    """Prints the warnings, and writes the mapping to its file if there is one."""
    for warning in warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    if output.output is not None:
        with naming_options():
            best.save(output.output, output.form, names)


def _show(best: MappingResult, search: Search, output: OutputOptions, warnings: list[str], *, evaluate: bool) -> None:
    """Prints the mappings, with their steps if all have been simulated."""
    points = [mapping.to_dict() for mapping in search.compared]
    points = [{**point, **step} for point, step in zip(points, search.steps or [{}] * len(points), strict=True)]
    if output.json_output:
        _print_json(best, points if evaluate else points[: len(search.found)], warnings)
    else:
        _print(best, points, output.output, "step" if search.placed is None else "program")


def _searches(seeking: SearchOptions, *, evaluate: bool) -> list[tuple[str, str | None]]:
    """Returns the strategies, each with the objectives that it is tried with."""
    return [
        (name, objective)
        for name in seeking.strategy
        for objective in _objectives(name, seeking.objective, evaluate=evaluate)
    ]


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
    shared = f", {counted(-(-graph.tasks // cores), 'task')} a core" if graph.tasks > cores else ""
    where = f"{machine.name}: {counted(machine.nodes, 'node')}{shared}"
    out.print(f"{graph.name}: {counted(graph.tasks, 'task')} on {where}", markup=False, soft_wrap=True)
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


def _best(search: Search, objective: str) -> MappingResult:
    """Returns the fastest mapping where steps have been simulated, else the best found one by the objective.

    Ties go to the first.
    """
    if not search.steps:
        return min(search.found, key=lambda mapping: _goodness(mapping, objective))

    def rank(number: int) -> tuple[float, float]:
        time = search.steps[number]["step_time_ns"]
        return inf if time is None else time, _goodness(search.compared[number], objective)

    return search.compared[min(range(len(search.steps)), key=rank)]


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
