"""`cutthrough validate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse
from cutthrough.cli.common import JsonOption, err, folder_target, out, print_json
from cutthrough.cli.grouped import grouped

if TYPE_CHECKING:
    from cutthrough.validation.background import Background
    from cutthrough.validation.measured import Measured

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command()(grouped(validate))


@dataclass(frozen=True)
class Inputs:
    """Measured tables, their machine and their hosts."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="Measured tables: CSV, output of OSU, IMB or nccl-tests, or folders of PICO.",
            show_default=False,
        ),
    ]
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Machine: a name, or an experiment file. Default: the column `machine` of a CSV.",
            show_default=False,
        ),
    ] = None
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Hosts of the ranks: a file, or a folder with `MACHINE__RUN.csv`.",
            show_default="the first nodes",
        ),
    ] = None  # fmt: skip
    ranks: Annotated[
        int | None,
        typer.Option(min=1, help="Number of ranks, if a table does not contain it.", show_default=False),
    ] = None
    column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Measured column: min, p10, median, p90, mean, max.", show_default=False),
    ] = None


@dataclass(frozen=True)
class Fitting:
    """Points to which constants are fitted, number of used points, and analysis of the errors."""

    fit: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Fit constants to a share of the points, such as `5%`, or to the points of a CSV.",
            show_default="none",
        ),
    ] = None  # fmt: skip
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N points, spread over the tables.",
                                 show_default=False)
    ] = None  # fmt: skip
    causes: Annotated[
        bool,
        typer.Option(
            "--causes", help="Report what dominates the error of each group. Simulates each point three times."
        ),
    ] = False


@dataclass(frozen=True)
class Others:
    """Traffic of other jobs during the simulated operations."""

    background: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Folder or tar archive with a list of hosts for each job. Jobs drawn from it "
                     "send during the simulated operations.", show_default="no other jobs"),
    ] = None  # fmt: skip
    background_load: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1.0, metavar="LOAD", help="Offered load of each node of these jobs.", show_default="0.1"
        ),
    ] = None
    background_jobs: Annotated[
        int | None,
        typer.Option(min=1, max=63, metavar="N", help="Number of these jobs beside each run.", show_default="8"),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, help="Seed of these jobs and of their traffic.", show_default="1"),
    ] = None


def validate(
    inputs: Inputs,
    fitting: Fitting,
    others: Others,
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for points.csv and report.html.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Number of points that run at once. 0: one for each core.")] = 0,
    json_output: JsonOption = False,
) -> None:
    """Compare measured collective operations with simulated ones, and print the errors.

    The simulation of a point repeats its measurement: a barrier, then one operation on the hosts of its run, by the
    algorithm that the table names. The time of a point is that of the slowest rank.

    Example: `cutthrough validate osu_allreduce.txt --machine mare-nostrum --ranks 32`
    """
    import cutthrough.validation.reports as reports
    import cutthrough.validation.study as studies
    from cutthrough.cli.progress import Bar
    from cutthrough.runs.sweeps import Effort

    if output is not None:
        atomic.make_folder(folder_target(output))
    points = studies.limited(_points(inputs), fitting.limit)
    column = studies.chosen_column(points, inputs.column)
    kept = None if output is None else output / "kept.txt"
    background = _background(others)
    request = studies.Request(
        inputs.machine, inputs.hosts, column, fitting.fit, Effort(jobs), kept, fitting.causes, background
    )
    with Bar() as bar:
        found, constants = studies.study(points, request, bar, _tell)
    if found and all(own.time is None for own in found):
        raise refuse("TABLE", f"no point can be simulated: {found[0].reason}")
    drawn = [] if background is None else background.rows()
    written = {} if output is None else reports.write(output, (found, column), constants, drawn)
    if json_output:
        fitted = {name: dict(own.values) for name, own in constants.items()}
        print_json({"version": _core.__version__, "constants": fitted, "background": drawn,
                    **reports.to_dict(found, column)})  # fmt: skip
        return
    for name, own in constants.items():
        shown = ", ".join(f"{key} = {value}" for key, value in own.values.items())
        out.print(f"fitted {name} to {len(own.points)} points: {shown}", markup=False, highlight=False)
    for line in (*reports.drawn_lines(drawn), *reports.summary(found, column)):
        out.print(line, markup=False, highlight=False)
    for names in (["machine", "operation"], ["machine", "size"]):
        out.print()
        out.print(reports.groups_table(found, column, names))
    if table := reports.causes_table(found, column):
        out.print("\nWhat dominates the error, and the share of the error that each correction removes:")
        out.print(table)
    if written:
        lines = "\n".join(f"{name}: {path}" for name, path in written.items())
        out.print(f"\n{lines}", markup=False, highlight=False, soft_wrap=True)


def _background(others: Others) -> Background | None:
    """Returns the other jobs. None: there are none."""
    from cutthrough.validation.background import Background

    for name in ("background_load", "background_jobs", "seed"):
        if others.background is None and getattr(others, name) is not None:
            raise refuse(f"--{name.replace('_', '-')}", "it requires `--background`")
    if others.background is None:
        return None
    load, seed = others.background_load or 0.1, 1 if others.seed is None else others.seed
    return Background(others.background, load, others.background_jobs or 8, seed)


def _points(inputs: Inputs) -> list[Measured]:
    """Reads all tables, and prints notes on ignored lines and columns."""
    from cutthrough.validation.reading import read

    points = []
    for file in inputs.files:
        held, notes = read(file, machine=inputs.machine or "", ranks=inputs.ranks)
        points += held
        for note in notes:
            _tell(f"note: {file.name}: {note}")
    return points


def _tell(line: str) -> None:
    err.print(line, markup=False, highlight=False, soft_wrap=True)
