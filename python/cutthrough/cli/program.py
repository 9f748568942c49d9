"""The command `cutthrough program`: the messages between the ranks of a program."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
import cutthrough.reports.checks as checks
from cutthrough.arguments.faults import refuse
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import (
    Format,
    FormatOption,
    JsonOption,
    SetOption,
    complain,
    folder_target,
    out,
    parse_sets,
    print_json,
)
from cutthrough.cli.pictures import Pictures, Plots, PlotsOption, needs_folder
from cutthrough.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register"]

#: Readers of files that are no experiments, by the end of the file's name.
READERS: dict[str, Callable[[Path], Program]] = {
    ".goal": Program.from_goal,
    ".calls": Program.from_text,
    ".trace": Program.from_trace,
}
#: The matrices that are drawn.
MATRICES = ("bytes", "messages")


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(program)


def program(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An experiment file with a program, a `.goal` or `.calls` file, or a trace.",
            show_default=False,
        ),
    ],
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    out_directory: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Where the matrix and the task graph go.", show_default="nowhere"
        ),
    ] = None,
    goal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program as a schedule in GOAL.", show_default="nowhere"),
    ] = None,
    plots: PlotsOption = Plots.MAIN,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Show the messages between the ranks of a program, without simulation.

    With `--out`, the communication matrix is drawn as `matrix-bytes.png` (with `--plots all` the number of messages
    too), and the task graph is written as `graph.csv` for `cutthrough map --graph`.

    `cutthrough map FILE --evaluate` goes from an experiment with a program to a mapping and its time.

    Examples:
    - `cutthrough program examples/halo.toml --out matrix`
    - `cutthrough program examples/pipeline.goal --json`
    """
    needs_folder(context, out_directory, "--out")
    if out_directory is not None:
        folder_target(out_directory)
    if goal is not None:
        file_target(goal, "--goal")
    held = read(file, parse_sets(set_))
    summary = summary_of(held)
    if goal is not None:
        held.to_goal(goal)
    paths = _save(held, out_directory, Pictures(plots, formats)) if out_directory else []
    if json_output:
        print_json({"version": _core.__version__, **summary, "notes": held.notes})
        return
    out.print(checks.check_table(summary))
    for note in held.notes:
        out.print(f"Note: {note}", markup=False, soft_wrap=True)
    for name, path in [*paths, *([("Schedule", goal)] if goal else [])]:
        out.print(f"{name}: {path}", markup=False, soft_wrap=True)


def read(file: Path, sets: list[tuple[str, str]]) -> Program:
    """Reads the program of a file.

    Raises:
        ExperimentError: There is no program, or it is wrong.
    """
    reader = READERS.get(file.suffix)
    if reader is not None:
        if sets:
            raise refuse("--set", f"{file} is no experiment file, whose keys could be replaced")
        return reader(file)
    experiment = experiments.read_file(file, sets)
    count = len(json.loads(experiment.points()))
    if count > 1:
        complain(f"warning: this is the program of the first of {count} points")
    core, _ = experiment.program(0)
    return Program._of(core, experiment.title or file.stem)


def summary_of(held: Program) -> dict[str, Any]:
    """Returns the totals of a program's messages, and the most that a rank sends and receives."""
    columns = held.messages()
    own = columns["source"] == columns["target"]
    return {
        "name": held.name,
        "ranks": held.ranks,
        "pairs": len(own) - int(own.sum()),
        "messages": int(columns["messages"].sum()),
        "bytes": int(columns["bytes"].sum()),
        "bytes_to_itself": int(columns["bytes"][own].sum()),
        "most_sent_bytes": _most(held, "source"),
        "most_received_bytes": _most(held, "target"),
    }


def _most(held: Program, end: str) -> int:
    """Returns the most bytes of a rank, as the sender or the receiver."""
    totals = [0] * held.ranks
    columns = held.messages()
    for rank, size in zip(columns[end].tolist(), columns["bytes"].tolist(), strict=True):
        totals[rank] += size
    return max(totals)


def _save(held: Program, directory: Path, pictures: Pictures) -> list[tuple[str, Path]]:
    """Writes the task graph and the pictures. Returns each file's description and path."""
    import cutthrough.plots as plots

    atomic.make_folder(directory)
    paths = []
    for what in pictures.chosen(MATRICES[:1], MATRICES):
        written = plots.write(held.plot(what), directory / f"matrix-{what}", pictures.extensions)
        paths += [("Plot", path) for path in written]
    graph = directory / "graph.csv"
    atomic.write_alone(graph, held.graph().to_edges())
    return [*paths, ("Task graph", graph)]
