"""`cutthrough run` and `cutthrough plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cutthrough.experiments as experiments
import cutthrough.reports as reports
import cutthrough.sweeps as sweeps
from cutthrough.cli.common import (
    FAILED,
    INTERRUPTED,
    WRONG_INPUT,
    Bar,
    FileArgument,
    JobsOption,
    JsonOption,
    SetOption,
    ThreadsOption,
    complain,
    out,
    parse_sets,
)
from cutthrough.errors import Interrupted
from cutthrough.results import Results
from cutthrough.series import label_of

__all__ = ["register"]

OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where results go.", show_default="results/NAME of the file"),
]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(run)
    app.command()(plot)


def run(
    file: FileArgument,
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    out_directory: OutOption = None,
    jobs: JobsOption = 0,
    threads: ThreadsOption = 1,
    saturation: Annotated[
        bool, typer.Option("--saturation", help="Search the load at which each point saturates, by bisection.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Simulate every point of an experiment: a table, plots, and files of results.

    Examples:
    - `cutthrough run examples/fat_tree.toml`
    - `cutthrough run examples/torus.toml --set workload.pattern=tornado --set workload.load=0.3`
    - `cutthrough run examples/fat_tree.toml --saturation`
    - `cutthrough run examples/fat_tree.toml --set workload.load=0.5 --json > points.json`

    A sweep in the file runs its points in parallel (`-j`). Ctrl-C keeps the points that have finished. Results are
    written as `points.parquet`, `points.csv`, `results.json`, `channels-NNN.parquet` (the load of every channel at a
    point) and plots, with the resolved experiment beside them; with `--json` they are written only if `--out`
    is given.
    """
    overrides = parse_sets(set_)
    if saturation:
        overrides.append(("measure.search", '"saturation"'))
    experiment = experiments.read_file(file, overrides)
    directory = out_directory or (None if json_output else Path("results") / file.stem)
    _claim(directory)
    try:
        with Bar() as bar:
            results = sweeps.run(experiment, sweeps.Effort(jobs, threads), bar)
    except Interrupted as interrupted:
        results = interrupted.results
    _report(results, directory, json_output)
    if not results.complete:
        raise typer.Exit(INTERRUPTED)


def plot(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that `run` has written.", show_default=False)
    ],
    out_directory: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where plots go.", show_default="DIR itself")
    ] = None,
    formats: Annotated[
        list[str], typer.Option("--format", "-f", help="A format of files: png, svg or pdf; may be given again.")
    ] = ["png", "svg"],  # noqa: B006  (typer copies it)
    points: Annotated[
        list[int] | None,
        typer.Option(
            "--point",
            "-p",
            metavar="N",
            help="A point, counted from 0, whose channels are drawn; may be given again.",
            show_default="of every line, the one with the hottest channel",
        ),
    ] = None,
) -> None:
    """Draw the plots of finished results again.

    Example: `cutthrough plot results/fat_tree --format pdf --out figures --point 3`
    """
    unknown = sorted(set(formats) - {"png", "svg", "pdf"})
    if unknown:
        complain(f"error: no such format: {', '.join(unknown)}; there are png, svg and pdf")
        raise typer.Exit(WRONG_INPUT)
    try:
        paths = Results.read(directory).save_plots(out_directory or directory, formats, points)
    except FileNotFoundError:
        complain(f"error: no results in {directory}: `cutthrough run FILE --out {directory}` writes them")
        raise typer.Exit(WRONG_INPUT) from None
    except ValueError as error:
        complain(f"error: {error}")
        raise typer.Exit(WRONG_INPUT) from None
    for path in paths:
        out.print(str(path), markup=False, soft_wrap=True)


def _claim(directory: Path | None) -> None:
    """Makes the directory before the work, so that a wrong path fails early."""
    if directory is None:
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        complain(f"error: cannot write results to {directory}: {error.strerror}")
        raise typer.Exit(FAILED) from None


def _report(results: Results, directory: Path | None, json_output: bool) -> None:
    if directory is not None and results.points:
        results.save(directory)
    if json_output:
        typer.echo(results.to_json())
    elif results.points:
        out.print(reports.points_table(results))
        _show_channels(results)
    for warning in reports.warnings_of(results.points):
        complain(warning)
    if not results.complete:
        kept = f" kept in {directory}" if directory is not None and results.points else ""
        complain(f"interrupted: {len(results)} finished points{kept}")
    if directory is not None and results.points:
        plots = [] if json_output and not results.complete else results.save_plots(directory)
        if not json_output:
            _say_where(directory, plots)


def _show_channels(results: Results) -> None:
    """The classes of channels and the hottest of them, at the point where they are hottest."""
    place = results.hottest_place()
    if results.network is None or place not in results.network.places:
        return
    loads = results.channel_loads(place)
    out.print(f"\nChannels{_where(results, place)}: share of their bandwidth", style="bold", markup=False)
    out.print(reports.channels_table(loads))
    out.print()
    out.print(reports.hottest_table(loads))
    for note in results.network.notes:
        out.print(note, markup=False, soft_wrap=True)


def _where(results: Results, place: int) -> str:
    point = results.points[place]
    keys = ", ".join(f"{axis} = {label_of(point[axis])}" for axis in results.axes if axis in point)
    return f" at {keys}" if keys else ""


def _say_where(directory: Path, plots: list[Path]) -> None:
    out.print(f"\nTables and the resolved experiment: {directory}", markup=False, soft_wrap=True)
    for path in (path for path in plots if path.suffix == ".png"):
        out.print(f"Plot: {path}", markup=False, soft_wrap=True)
