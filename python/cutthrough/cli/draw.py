"""`cutthrough draw`: the picture of a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import no_point, refuse
from cutthrough.cli.common import (
    WRONG_INPUT,
    Format,
    FormatOption,
    SetOption,
    complain,
    folder_target,
    out,
    parse_sets,
)

if TYPE_CHECKING:
    import cutthrough._core as _core
    from cutthrough.channels import ChannelLoads, ChannelTable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(draw)


def draw(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="An experiment file (`-` is standard input), a folder of results, or a shorthand such as `torus:8x8`.",
            show_default=False,
        ),
    ],
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    loads: Annotated[
        bool, typer.Option("--loads", help="Colour the channels of an experiment file by their exact loads.")
    ] = False,
    point: Annotated[
        int | None,
        typer.Option(
            "--point",
            "-p",
            min=0,
            metavar="N",
            help="The point of a sweep, counted from 0.",
            show_default="the first; of results, the one with the hottest channel",
        ),
    ] = None,
    stem: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PATH", help="The picture; an extension such as `.svg` is its format."),
    ] = Path("machine"),
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
) -> None:
    """Draw a machine: routers, nodes and wires, or groups of routers and bundles of wires if it is large.

    Trees are drawn by levels, tori and meshes as grids, dragonflies by groups on a circle. Of several networks, an
    island of each is drawn. The channels of a folder of results are coloured by their utilization.

    Examples:
    - `cutthrough draw dragonfly:h=2 --format svg`
    - `cutthrough draw examples/torus.toml --set workload.pattern=tornado --loads --out tornado`
    - `cutthrough draw results/torus --point 3`
    """
    folder_target(stem.parent)
    try:
        source, title = _source(what, parse_sets(set_), loads, point)
    except IndexError as error:
        complain(f"error: {error}")
        raise typer.Exit(WRONG_INPUT) from None
    import cutthrough.plots as plots
    import cutthrough.plots.machine as machine

    atomic.make_folder(stem.parent)
    names = [form.value for form in dict.fromkeys(formats)]
    if (ending := stem.suffix[1:]) in list(Format):
        stem, names = stem.with_suffix(""), [ending] if names == [Format.PNG] else list(dict.fromkeys([ending, *names]))
    for path in plots.write(machine.draw(source, title), stem, names):
        out.print(f"Picture: {path}", markup=False, soft_wrap=True)


def _source(
    what: str, sets: list[tuple[str, str]], loads: bool, point: int | None
) -> tuple[ChannelTable | ChannelLoads, str]:
    """Returns the channels, and a title.

    Raises:
        FileNotFoundError: The folder has no results.
        IndexError: The point does not exist, or its channels are not known.
        ExperimentError: The experiment or the shorthand is wrong.
    """
    import cutthrough._core as _core
    from cutthrough.channels import ChannelTable

    path = Path(what)
    if path.is_dir():
        _refuse_options(what, {"--set": bool(sets), "--loads": loads})
        return _of_results(path, point)
    if ":" in what and not path.exists():
        _refuse_options(what, {"--set": bool(sets), "--loads": loads, "--point": point is not None})
        return ChannelTable.of(_core.Topology(what, ".")), what
    experiment = experiments.read_file(path, sets)
    count = len(json.loads(experiment.points()))
    if point is not None and point >= count:
        raise IndexError(no_point(point, count))
    return _of_experiment(experiment, loads, point or 0), experiment.title


def _refuse_options(what: str, given: dict[str, bool]) -> None:
    """Refuses options that do not apply to what is drawn."""
    option = next((option for option, is_given in given.items() if is_given), None)
    if option is not None:
        raise refuse(option, f"it is for an experiment file, and {what} is none")


def _of_experiment(experiment: _core.Experiment, loads: bool, point: int) -> ChannelTable | ChannelLoads:
    from cutthrough.channels import ChannelTable, doubles

    machine = ChannelTable.of(experiment.topology(point))
    return machine.loads({"load": doubles(experiment.analyze(point)[1])}) if loads else machine


def _of_results(directory: Path, point: int | None) -> tuple[ChannelLoads, str]:
    from cutthrough.results import Results

    results = Results.read(directory)
    place = results.hottest_place() if point is None else point
    try:
        return results.channel_loads(place), results.title
    except ValueError as error:
        raise IndexError(str(error)) from None
