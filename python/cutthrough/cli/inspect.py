"""The commands that compute without simulation: `check` and `analyze`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.api as api
import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
import cutthrough.reports.checks as checks
import cutthrough.reports.designs as designs
import cutthrough.reports.tables as reports
import cutthrough.reports.upgrades as upgrades
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.channels import Stored
from cutthrough.cli.common import (
    FileArgument,
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
from cutthrough.cli.progress import LINE_S, Bar
from cutthrough.points.series import label_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["register"]

#: Number of binding channels that are printed. `--json` has more.
MOST_NAMED = 5
#: Descriptions of loads that are not exact, by their kind.
ESTIMATES = {
    "without_acknowledgements": "Packets that acknowledge results to the other members of a group are not counted.",
    "upper_bound": "Copies that may take several paths are counted on each: these loads are an upper bound.",
    "even_spread": "The routing is adaptive: these are the loads of an even spread over the candidates: an estimate.",
}


WorstOption = Annotated[
    bool, typer.Option("--worst", help="Search the worst permutation of the nodes for each network.")
]
PairingsOption = Annotated[
    int,
    typer.Option(
        "--pairings",
        metavar="N",
        min=0,
        max=api.MOST_PAIRINGS,
        help="Compute the effective bisection bandwidth over N random pairings of the nodes.",
        show_default="none",
    ),
]
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="DIR",
        help="Where the routing goes as forwarding tables of an InfiniBand fabric.",
        show_default="nowhere",
    ),
]
NetworkOption = Annotated[
    list[str],
    typer.Option(
        "--network",
        metavar="NAME",
        help="A network for --worst, --pairings and --tables, of several; may be given again.",
        show_default="all",
    ),
]
UpgradeOption = Annotated[
    bool, typer.Option("--upgrade", help="Print the cables whose doubling raises the bound most.")
]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(check)
    app.command()(analyze)


def check(
    file: FileArgument,
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Check an experiment without running it.

    Prints the file with every default written out, the size of the first point's network, and for every point of the
    sweep whether its routing can deadlock and an estimate of seconds and memory. A mistake is shown with its line and
    what is allowed. Warnings name what would mislead: buffers below the credit round trip, inputs that block, a run
    that is too short, sources that starve.

    Example: `cutthrough check examples/torus.toml --set router.vcs=1`
    """
    experiment = experiments.read_file(file, parse_sets(set_))
    with Bar(LINE_S) as bar:
        points = api.check_points(experiment, bar)
    resolved = experiments.resolved(experiment)
    if json_output:
        print_json({"version": _core.__version__, "resolved": resolved, "points": points})
        return
    out.print(resolved, markup=False, soft_wrap=True)
    out.print(checks.check_table(points[0]))
    if len(points) > 1:
        out.print()
        out.print(checks.checks_table(points, json.loads(experiment.axes())))
    out.print(checks.cost_line(points), markup=False)
    _print_notes(points)
    for warning in checks.warnings_of(points):
        complain(warning)


def analyze(
    context: typer.Context,
    file: FileArgument,
    set_: SetOption = [],  # noqa: B006  (typer copies it)
    out_directory: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Where tables and heat maps of the channels go.", show_default="nowhere"
        ),
    ] = None,
    plots: PlotsOption = Plots.MAIN,
    formats: FormatOption = [Format.PNG],  # noqa: B006  (typer copies it)
    worst: WorstOption = False,
    pairings: PairingsOption = 0,
    upgrade: UpgradeOption = False,
    tables: TablesOption = None,
    network: NetworkOption = [],  # noqa: B006  (typer copies it)
    json_output: JsonOption = False,
) -> None:
    """Compute exact channel loads and the saturation bound, without simulation.

    Loads are per unit of offered load, in units of an injection channel's bandwidth. They are exact if the routing does
    not depend on congestion. For an adaptive routing, they assume an even spread over the candidates.

    With `--out`, the load of every channel is written as `channels-NNN.parquet`, with heat maps of the point that
    saturates first, or with `--plots all` of every point. `designs.csv` has one row a point.

    Also counts switches, free ports and cables. `[layout]` gives the lengths of cables, and `[cost]` prices and powers.
    A sweep over designs ends with a table of one row a design.

    `--worst` searches the permutation of the nodes that loads a channel most. With `--out` it is written as
    `worst-NNN.csv`, which `workload.pattern = { kind = "matrix", path = ... }` reads. `--pairings` prints the effective
    bisection bandwidth.

    `--tables` writes files that `routing.kind = "forwarding-tables"` reads. Each point of a sweep has a folder.

    Of several networks, these options take each or those of `--network`. Names of files and folders have the network's.

    Example: `cutthrough analyze examples/torus.toml --set workload.pattern=tornado --out loads`
    """
    needs_folder(context, out_directory, "--out")
    for option, folder in {"--out": out_directory, "--tables": tables}.items():
        if folder is not None:
            folder_target(folder, option)
    experiment = experiments.read_file(file, parse_sets(set_))
    if network and not (worst or pairings or tables):
        raise refuse("--network", "it is for --worst, --pairings and --tables")
    analyses, cases = _analyzed(experiment, (worst, pairings), network)
    axes = [axis for axis in json.loads(experiment.axes()) if axis in analyses[0]]
    paths = []
    if out_directory:
        paths = _save(analyses, axes, out_directory, Pictures(plots, formats))
        atomic.write_alone(out_directory / "designs.csv", designs.designs_csv(analyses, axes))
    written = [case.save(out_directory / f"worst-{place}.csv") for place, case in cases.items() if out_directory]
    exported = _export(analyses, network, tables) if tables else []
    if json_output:
        print_json({"version": _core.__version__, "points": analyses})
        return
    _print_analyses(analyses, axes, upgrade)
    _print_files(("Plot", paths), ("Pattern", written), ("Forwarding tables", exported))


def _analyzed(
    experiment: _core.Experiment, asked: tuple[bool, int], given: Sequence[str]
) -> tuple[list[api.Analysis], dict[str, api.WorstCase]]:
    """Returns the analyses, with what options add to them, and the worst permutations by point and network.

    `asked` says whether worst permutations are searched, and the number of random pairings.
    """
    (worst, pairings), cases = asked, {}
    with Bar(LINE_S) as bar:
        analyses = api.analyze_points(experiment, bar)
        chosen = [(place, name) for place, analysis in enumerate(analyses) for name in _networks(analysis, given)]
        pairs = [(analyses[place], name) for place, name in chosen]
        if worst:
            found = api.worst_cases(pairs, bar)
            cases = {_place(*key): case for key, case in zip(chosen, found, strict=True)}
            _add("worst_case", pairs, found)
        if pairings:
            _add("effective_bisection", pairs, api.effective_bisections(pairs, pairings, bar))
    return analyses, cases


def _networks(analysis: api.Analysis, given: Sequence[str]) -> list[str] | list[None]:
    """Returns the networks that options of `analyze` take: the given ones of several, all, or the only one."""
    known: list[str] = analysis.get("networks", [])
    if given and not known:
        raise refuse("--network", "the file has one network, which has no name: leave it out")
    for name in given:
        if name not in known:
            raise refuse("--network", f"there is no network `{name}`", allowed=known, help=nearest(name, known))
    return list(dict.fromkeys(given)) or known or [None]


def _place(place: int, network: str | None) -> str:
    """Returns the part of a file's name that says its point and its network."""
    return f"{place:03}" if network is None else f"{place:03}-{network}"


def _add(key: str, pairs: Sequence[tuple[api.Analysis, str | None]], found: Sequence[Mapping[str, Any]]) -> None:
    """Adds a result to each analysis. Those of several networks are a mapping by their names."""
    for (analysis, network), extra in zip(pairs, found, strict=True):
        if network is None:
            analysis[key] = extra
        else:
            analysis.setdefault(key, {})[network] = extra


def _export(analyses: Sequence[api.Analysis], given: Sequence[str], directory: Path) -> list[Path]:
    """Writes the forwarding tables of every point and network; returns the paths of the files."""
    paths = []
    for place, analysis in enumerate(analyses):
        for network in _networks(analysis, given):
            texts = analysis.forwarding_tables(network)
            folder = directory / f"{place:03}" if len(analyses) > 1 else directory
            folder = folder if network is None else folder / network
            atomic.make_folder(folder)
            for name, text in texts.items():
                atomic.write_alone(folder / name, text)
                paths.append(folder / name)
    return paths


def _print_analyses(analyses: Sequence[api.Analysis], axes: Sequence[str], upgrade: bool) -> None:
    for analysis in analyses:
        _print_analysis(analysis, axes)
        _print_extras(analysis, upgrade)
    if len({json.dumps(analysis["design"]) for analysis in analyses}) > 1:
        out.print(designs.designs_table(analyses, axes))
    _print_notes(analyses)


def _print_files(*groups: tuple[str, Sequence[Path]]) -> None:
    for what, paths in groups:
        for path in paths:
            out.print(f"{what}: {path}", markup=False, soft_wrap=True)


def _print_extras(analysis: Mapping[str, Any], upgrade: bool) -> None:
    """Prints the upgrades if asked to, and the worst permutation and the effective bisection if there are any."""
    if upgrade:
        out.print(upgrades.upgrades_table(analysis["upgrades"]))
        out.print(upgrades.cable_line(analysis["upgrades"]), markup=False)
    lines = {"worst_case": upgrades.worst_line, "effective_bisection": upgrades.bisection_line}
    for key, line in lines.items():
        found = analysis.get(key, {})
        by_network = found if "networks" in analysis else {"": found} if found else {}
        for network, one in by_network.items():
            name = f"{network}: " if network else ""
            out.print(f"{name}{line(one)}", markup=False, soft_wrap=True)


def _print_notes(points: Sequence[Mapping[str, Any]]) -> None:
    for note in checks.notes_of(points):
        out.print(f"Note: {note}", markup=False, soft_wrap=True)


def _save(analyses: Sequence[api.Analysis], axes: Sequence[str], directory: Path, pictures: Pictures) -> list[Path]:
    """Writes the channels of every point, as tables and heat maps; returns the paths of the heat maps."""
    import cutthrough.plots as plots

    atomic.make_folder(directory)
    places = range(len(analyses))
    # The point with the lowest saturation load limits the sweep.
    first = min(places, key=lambda place: float(analyses[place]["throughput_bound"]))
    drawn = pictures.chosen([first], places)
    paths = []
    for place, analysis in enumerate(analyses):
        loads = analysis.channel_loads()
        loads.save(Stored.path(directory, place))
        if place in drawn:
            figure = plots.heat_maps(loads, _name(analysis, axes))
            paths += plots.write(figure, Stored.path(directory, place, ""), pictures.extensions)
    return paths


def _name(analysis: Mapping[str, Any], axes: Sequence[str]) -> str:
    return ", ".join(f"{axis} = {label_of(analysis[axis])}" for axis in axes)


def _print_analysis(analysis: api.Analysis, axes: Sequence[str]) -> None:
    if keys := _name(analysis, axes):
        out.print(keys, style="bold", markup=False)
    out.print(reports.analysis_table(analysis.class_loads()))
    out.print(reports.buffers_table(analysis["buffers"]))
    for line in reports.memory_lines(analysis["router_memory"]):
        out.print(f"Buffers of a router: {line}", markup=False)
    design = analysis["design"]
    out.print(designs.parts_line(design), markup=False)
    out.print(designs.cables_table(design))
    for line in designs.cost_lines(design):
        out.print(line, markup=False)
    if note := ESTIMATES.get(analysis["loads_kind"]):
        out.print(note)
    if model := analysis.get("imbalance_model"):
        out.print(
            "If consecutive groups send to consecutive groups: between "
            f"{model['lower']:.4f} and {model['upper']:.4f} (equation 1), about {model['estimate']:.4f} (equation 4)"
        )
    bound = f"{analysis['throughput_bound']:.4f}"
    if analysis["credit_limited"]:
        without = f"{analysis['bandwidth_bound']:.4f}"
        out.print(f"Credits bind: buffers do not cover their round trip. Bandwidths alone would allow {without}.")
    if analysis["exact"]:
        out.print(f"No offered load above {bound} can be accepted: full first are")
    else:
        out.print(f"At an offered load of about {bound} the first channels are full:")
    named = analysis["binding_channels"][:MOST_NAMED]
    for channel in named:
        out.print(f"  {channel['channel']}", markup=False, soft_wrap=True)
    if analysis["binding_channels_total"] > len(named):
        out.print(f"  and {analysis['binding_channels_total'] - len(named):,} more")
    out.print()
