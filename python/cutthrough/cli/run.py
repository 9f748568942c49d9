"""`cutthrough run` and `cutthrough plot`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough.experiment.documents as experiments
import cutthrough.points.activity as activity
import cutthrough.points.benchmarks as benchmarks
import cutthrough.reports.checks as checks
import cutthrough.reports.tables as reports
import cutthrough.runs.sweeps as sweeps
from cutthrough.arguments.faults import refuse
from cutthrough.cli.common import (
    WRONG_INPUT,
    FileArgument,
    Format,
    FormatOption,
    JobsOption,
    JsonOption,
    SetOption,
    ThreadsOption,
    complain,
    emit,
    folder_target,
    out,
    parse_sets,
    titled,
)
from cutthrough.cli.keeping import DaskOption, FreshOption, PointsOption, Signals, folder_of, hold, workers
from cutthrough.cli.pictures import Pictures, Plots, PlotsOption
from cutthrough.cli.progress import Bar
from cutthrough.display.units import counted
from cutthrough.errors import ExperimentError, Interrupted
from cutthrough.keep.shares import points_of, ranges
from cutthrough.points.series import label_of
from cutthrough.points.table import MANY_PHASES, is_unconverged, phase_times
from cutthrough.processes.together import named, together
from cutthrough.quantities.measured import summary_note
from cutthrough.results import Results, heat
from cutthrough.runs.records import record_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import cutthrough._core as _core
    from cutthrough.runs.folder import Folder

__all__ = ["register", "report"]

#: Greatest number of points whose benchmark tables are shown.
MOST_TABLES = 12
#: Greatest number of points whose times measured by programs are shown.
MOST_MEASURED = 8
#: Greatest number of points whose phases are printed.
MOST_POINTS_OF_PHASES = 3
#: Names of the options that read and write records, and of the options that choose one point.
RECORDS = ("--reuse-from", "--reuse-to", "`--points` or `--set`")

MpiOption = Annotated[
    bool,
    typer.Option(
        "--mpi",
        help="Run each point in the processes that an MPI launcher has started.",
        show_default="if there are several",
    ),
]
NoMpiOption = Annotated[
    bool, typer.Option("--no-mpi", help="Run in one process, whatever an MPI launcher has started.")
]
ValidateOption = Annotated[
    str | None,
    typer.Option(
        "--validate",
        metavar="SHARE",
        help="Flow model: also simulate a share of the packets, such as `1%` or 0.01, and give the error of the flows.",
        show_default=False,
    ),
]
SaturationOption = Annotated[
    bool, typer.Option("--saturation", help="Search the load at which each point saturates, by bisection.")
]
UnprovenOption = Annotated[bool, typer.Option("--unproven", help="Run without the proof that packets cannot deadlock.")]
ReuseFromOption = Annotated[
    Path | None,
    typer.Option(
        "--reuse-from",
        metavar="FILE",
        help="Begin with the records of an earlier run with `simulation.reuse` on an equal network.",
        show_default=False,
    ),
]
ReuseToOption = Annotated[
    Path | None,
    typer.Option(
        "--reuse-to",
        metavar="FILE",
        help="Keep the records of a point with `simulation.reuse`, for `--reuse-from`. Runs it even if it is finished.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where results go.", show_default="results/NAME+OPTIONS"),
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
    threads: ThreadsOption = None,
    saturation: SaturationOption = False,
    unproven: UnprovenOption = False,
    validate: ValidateOption = None,
    plots: PlotsOption = Plots.MAIN,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
    points: PointsOption = None,
    fresh: FreshOption = False,
    dask: DaskOption = "",
    mpi: MpiOption = False,
    no_mpi: NoMpiOption = False,
    reuse_from: ReuseFromOption = None,
    reuse_to: ReuseToOption = None,
) -> None:
    """Simulate every point of an experiment: a table, plots, and files of results.

    Examples:
    - `cutthrough run examples/fat_tree.toml`
    - `cutthrough run examples/torus.toml --set workload.pattern=tornado --set workload.load=0.3`
    - `cutthrough run examples/fat_tree.toml --saturation`
    - `cutthrough run examples/fat_tree.toml --set workload.load=0.5 --json > points.json`
    - `cutthrough run examples/fat_tree.toml --points 3/16` in one of 16 jobs, then `cutthrough merge`
    - `cutthrough run training.toml --set simulation.model=flow --validate 1%`
    - `mpirun -n 8 cutthrough run examples/fat_tree.toml` runs each point in 8 processes

    A sweep in the file runs its points in parallel (`-j`). Each point is kept in the folder as soon as it has finished,
    and the command, given again, continues a run that was ended by Ctrl-C or otherwise. Results are written as
    `points.parquet`, `points.csv`, `results.json`, `channels-NNN.parquet` (the load of every channel at a point) and
    plots, with the resolved experiment beside them. With `--json` they are written only if `--out` is given.
    """
    # The interval of checkpoints does not change points.
    sets, options = parse_sets(set_), [own for own in set_ if own.partition("=")[0].strip() != "measure.checkpoint"]
    overrides = [*sets, *_chosen(options, saturation=saturation, unproven=unproven, validate=validate)]
    with together(_wanted(mpi, no_mpi), threads or 1) as processes:
        if out_directory is not None:
            folder_target(out_directory)
        if processes is not None:
            _begin(processes, "--jobs" if jobs else "--dask" if dask else None)
        experiment = experiments.read_file(file, overrides)
        count = len(json.loads(experiment.points()))
        numbers = range(count) if points is None else points_of(points, count, "--points")
        options += [] if points is None else [f"points={points.replace('/', '-of-')}"]
        others = "--dask" if dask else "several processes" if processes is not None else None
        reuse = record_files(reuse_from, reuse_to, points=len(numbers), others=others, names=RECORDS)
        again = numbers if reuse_to else ()
        directory = out_directory or (None if json_output else folder_of(file, options))
        with Signals() as signals, workers(dask) as executor, hold(directory, experiment, fresh, again) as folder:
            effort = sweeps.Effort(jobs, threads or 0, executor, processes, reuse)
            results, saved = _simulated(experiment, effort, folder, numbers)
            results = replace(results, title=titled(results.title, sets))
            report(results, directory, json_output, Pictures(plots, formats), saved=saved)
            _note_options(results, reuse_to, threads or 1)
        if saved is not None:
            raise typer.Exit(signals.status)


def _wanted(mpi: bool, no_mpi: bool) -> bool | None:
    """Returns whether a run joins the processes of a launcher. None: if there are several."""
    if mpi and no_mpi:
        raise refuse("--mpi", "it excludes --no-mpi: leave one of them out")
    return mpi if mpi or no_mpi else None


def _begin(processes: _core.Processes, excluded: str | None) -> None:
    """Names the processes of a run. `excluded` is a given option that needs one process."""
    if excluded is not None:
        raise refuse(excluded, "several processes run one point at a time: leave it out")
    complain(named(processes))


def _chosen(options: list[str], *, saturation: bool, unproven: bool, validate: str | None) -> list[tuple[str, str]]:
    """Returns the keys that options stand for, and adds the options to `options`, which name the folder."""
    chosen = []
    if saturation:
        chosen.append(("measure.search", '"saturation"'))
        options.append("saturation")
    if unproven:
        chosen.append(("measure.unproven", "true"))
        options.append("unproven")
    if validate is not None:
        if any(option.partition("=")[0].strip() == "simulation.validate" for option in options):
            raise refuse("--validate", "it excludes `--set simulation.validate`: leave one of them out")
        chosen.append(("simulation.validate", str(_share(validate))))
        options.append(f"validate={validate.replace('%', '-percent')}")
    return chosen


def _share(text: str) -> float:
    """Returns a share that is written as `1%` or `0.01`.

    Raises:
        ExperimentError: The text is no such share, or may be meant as either: a bare `1`.
    """
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise refuse("--validate", f"`{text}` is not a share above 0 and at most 100%", help="write for example `1%`")
    if share == 1 and not text.endswith("%"):
        raise refuse("--validate", f"`{text}` may mean 1% or 100%", help="write the sign `%`, or a fraction below 1")
    return share


def _note_options(results: Results, target: Path | None, threads: int) -> None:
    """Says which options have had no effect: records that were not written to `target`, and several threads."""

    def is_serial(point: Mapping[str, Any]) -> bool:
        reuse = point.get("reuse")
        return point.get("model") == "flow" or (reuse is not None and reuse["gave_up"] is None)

    reasons = [(point.get("reuse") or {}).get("gave_up") for point in results.points]
    if target is not None and any(reasons):
        complain(f"note: --reuse-to: nothing is kept, since the run was repeated without reuse: {reasons[0]}")
    if threads > 1 and results.points and all(map(is_serial, results.points)):
        complain(
            "note: --threads divides no point: runs with reuse or of flows use one thread each; use --jobs instead"
        )


def _simulated(
    experiment: _core.Experiment, effort: sweeps.Effort, folder: Folder | None, chosen: Sequence[int]
) -> tuple[Results, int | None]:
    """Returns the results of an experiment. If a signal has ended the run early, also the number of checkpoints."""
    try:
        with Bar() as bar:
            return sweeps.run(experiment, effort, bar, folder, chosen), None
    except Interrupted as interrupted:
        return interrupted.results, 0 if folder is None else folder.unfinished()


def plot(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that `run` has written.", show_default=False)
    ],
    out_directory: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where plots go.", show_default="DIR itself")
    ] = None,
    plots: PlotsOption = Plots.MAIN,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    points: Annotated[
        list[int] | None,
        typer.Option(
            "--point",
            "-p",
            metavar="N",
            help="A point, counted from 0, whose channels are drawn; may be given again.",
            show_default="the one with the hottest channel",
        ),
    ] = None,
) -> None:
    """Draw the plots of finished results again.

    Example: `cutthrough plot results/fat_tree --format pdf --out figures --point 3`
    """
    if out_directory is not None:
        folder_target(out_directory)
    try:
        results = Results.read(directory)
        paths = Pictures(plots, formats).draw(results, out_directory or directory, points)
    except ExperimentError:
        raise
    except ValueError as error:
        complain(f"error: {error}")
        raise typer.Exit(WRONG_INPUT) from None
    for path in paths:
        out.print(str(path), markup=False, soft_wrap=True)
    for note in dict.fromkeys(filter(None, map(summary_note, results))):
        complain(f"no heat map of channels: {note}")


def report(
    results: Results, directory: Path | None, json_output: bool, pictures: Pictures, *, saved: int | None = None
) -> None:
    """Writes and prints results. Skips plots, which take time, if the run ended early.

    `saved` is the number of checkpoints of a run that ended early.
    """
    if directory is not None and results.points:
        results.save(directory)
    if json_output:
        emit(results.to_json())
    elif results.points:
        out.print(reports.points_table(results))
        _show_benchmarks(results)
        _show_measures(results)
        _show_phases(results)
        _show_time(results)
        _show_channels(results)
        for note in checks.notes_of(results.points):
            out.print(f"Note: {note}", markup=False, soft_wrap=True)
    for warning in checks.warnings_of(results.points):
        complain(warning)
    if saved is not None:
        what = counted(results.runs, "finished point") + (f" and {counted(saved, 'checkpoint')}" if saved else "")
        is_kept = directory is not None and (results.points or saved)
        complain(f"interrupted: {what}" + (f" kept in {directory}; the same command goes on" if is_kept else ""))
    if directory is not None and results.points:
        plots = [] if saved is not None else pictures.draw(results, directory)
        if not json_output:
            _say_where(directory, plots)
    _warn_of_uncertainty(results)


def _warn_of_uncertainty(results: Results) -> None:
    """Names the points that ended before they were precise, or before they were done."""
    if which := _points_where(results, lambda part: "phases" not in part and is_unconverged(part)):
        complain(f"not converged: {which}; their means are less certain than `measure.precision` asks")
    if which := _points_where(results, lambda part: _is_cut(part) and not part.get("background")):
        complain(f"not finished by `measure.max_time`: {which}")
    if which := _points_where(results, lambda part: _is_cut(part) and bool(part.get("background"))):
        complain(f"still under way when the run ended, in the background: {which}")


def _is_cut(part: Mapping[str, Any]) -> bool:
    """Returns whether a workload that ends has not ended."""
    return "phases" in part and part["time_ns"] is None


def _points_where(results: Results, holds: Callable[[Mapping[str, Any]], bool]) -> str:
    """Returns the points, or points with a job, for which `holds` is true, in words. Empty if there are none."""
    found = {
        place: [part for part in point.get("jobs") or [point] if holds(part)] for place, point in enumerate(results)
    }
    places = [place for place, parts in found.items() if parts]
    names = dict.fromkeys(part["name"] for parts in found.values() for part in parts if "name" in part)
    of_jobs = f"; {'jobs' if len(names) > 1 else 'job'} {', '.join(names)}" if names else ""
    return (
        f"{len(places)} of {counted(len(results), 'point')} ({ranges(places)}, counted from 0{of_jobs})"
        if places
        else ""
    )


def _show_benchmarks(results: Results) -> None:
    """Prints the tables of benchmarks in the benchmarks' layout, or the name of their file if there are many points."""
    if not any(map(benchmarks.has_table, results.by_job())) and not any(map(benchmarks.has_table, results)):
        return
    out.print()
    if len(results) <= MOST_TABLES:
        out.print(results.benchmark_text(), markup=False, highlight=False, soft_wrap=True, end="")
    else:
        out.print("The tables of the benchmarks: benchmarks.txt", markup=False)


def _show_measures(results: Results) -> None:
    """Prints the partial times that programs measure, at the points that took longest."""
    points = results.by_job()
    known = [place for place, point in enumerate(points) if len(point.get("measures", ())) > 1]
    slowest = sorted(sorted(known, key=lambda place: -(points[place].get("time_ns") or math.inf))[:MOST_MEASURED])
    if slowest:
        out.print("\nTimes that programs measure", style="bold", markup=False)
        names = [_where(points, place).removeprefix(" at ") for place in slowest]
        out.print(reports.measures_table([points[place] for place in slowest], names))
        if len(known) > len(slowest):
            out.print(f"Of {len(known)} points those that took longest; `--json` has all.", style="dim", markup=False)


def _show_phases(results: Results) -> None:
    """Prints the times of many phases, at the points that took longest."""
    many = [place for place, point in enumerate(results) if len(phase_times(point)) > MANY_PHASES]
    slowest = sorted(many, key=lambda place: -(results[place].get("time_ns") or math.inf))[:MOST_POINTS_OF_PHASES]
    for place in sorted(slowest):
        out.print()
        out.print(reports.phases_table(results[place], f"Phases{_where(results, place)}"))


def _show_time(results: Results) -> None:
    """Prints the times of ranks by activity and the critical path, at the points that took longest."""
    known = [place for place, point in enumerate(results.by_job()) if activity.has_breakdown(point)]
    points = results.by_job()
    slowest = sorted(known, key=lambda place: -(points[place].get("time_ns") or math.inf))[:MOST_POINTS_OF_PHASES]
    for place in sorted(slowest):
        out.print()
        out.print(activity.breakdown_table(points[place], f"Time of ranks{_where(points, place)}"))
        out.print()
        out.print(activity.path_table(points[place]["critical_path"], f"Critical path{_where(points, place)}"))


def _show_channels(results: Results) -> None:
    """Prints the classes of channels and the hottest channels, at the point with the hottest one."""
    place = results.hottest_place()
    if results.network is None or place not in results.network.places:
        _show_summary(results)
        return
    loads = results.channel_loads(place)
    out.print(f"\nChannels{_where(results, place)}: share of their bandwidth", style="bold", markup=False)
    out.print(reports.channels_table(loads))
    out.print()
    out.print(reports.hottest_table(loads))
    if note := reports.reference_note(loads):
        out.print(note, markup=False, soft_wrap=True, style="dim")
    for note in results.network.notes:
        out.print(note, markup=False, soft_wrap=True)


def _show_summary(results: Results) -> None:
    """Prints the classes of channels and the hottest channels of the hottest point, if results summarize channels."""
    known = [place for place, point in enumerate(results) if summary_note(point)]
    if known:
        place = max(known, key=lambda place: heat(results[place]))
        out.print(f"\nChannels{_where(results, place)}: share of their bandwidth", style="bold", markup=False)
        out.print(reports.summary_table(results[place]))
        out.print()
        out.print(reports.busiest_table(results[place]))


def _where(results: Results, place: int) -> str:
    point = results.points[place]
    keys = ", ".join(f"{axis} = {label_of(point[axis])}" for axis in results.axes if axis in point)
    return f" at {keys}" if keys else ""


def _say_where(directory: Path, plots: list[Path]) -> None:
    out.print(f"\nTables and the resolved experiment: {directory}", markup=False, soft_wrap=True)
    for path in plots:
        out.print(f"Plot: {path}", markup=False, soft_wrap=True)
