"""Whole validations: choice of the points to fit to, machines and hosts, fit of constants, and all predictions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutthrough.arguments.faults import nearest, refuse
from cutthrough.display.units import counted
from cutthrough.runs.sweeps import Effort
from cutthrough.validation.causes import with_parts
from cutthrough.validation.fitting import Constants, fit
from cutthrough.validation.measured import KEYS
from cutthrough.validation.reading import rows_of
from cutthrough.validation.setups import NCCL, call_of, known, setup_of, without
from cutthrough.validation.simulating import Kept, Predicted, Running, predict
from cutthrough.validation.source import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cutthrough.runs.sweeps import Watcher
    from cutthrough.validation.background import Background
    from cutthrough.validation.measured import Measured
    from cutthrough.validation.setups import Setup

__all__ = ["COLUMNS", "Request", "chosen_column", "hosts_of", "limited", "listed", "study"]

#: Columns of measured times, the most robust first.
COLUMNS = ("p10", "median", "mean", "max", "min", "p90")
#: The largest share of points to which constants are fitted.
MOST_SHARE = 0.5


@dataclass(frozen=True)
class Request:
    """Request for a validation.

    Attributes:
        machine: The machine of all points: a name, or an experiment file. None: the points name their machines.
        hosts: A list of hosts, or a folder with a list for each run: `MACHINE__RUN.csv`, or for each number of ranks of
            a run `MACHINE__RUN__alloc_RANKS.csv`. None: the first nodes.
        column: The column of measured times to compare with.
        fit: A share of the points such as `5%`, or a CSV with the keys of points. None: nothing is fitted.
        effort: The share of the computer to use.
        kept: File that stores the times of finished simulations. None: nothing is stored.
        causes: Whether further simulations separate the parts of each time.
        background: Other jobs on the network. None: each measured operation is alone.
    """

    machine: str | None
    hosts: Path | None
    column: str
    fit: str | None = None
    effort: Effort = field(default_factory=Effort)
    kept: Path | None = None
    causes: bool = False
    background: Background | None = None


def chosen_column(points: Sequence[Measured], named: str | None) -> str:
    """Returns the column to compare with: the named one, or the most robust one that all points have.

    Raises:
        ExperimentError: Some point lacks the column.
    """
    shared = set.intersection(*({*point.times} for point in points))
    if not shared:
        raise refuse("--column", "the tables have no column of times in common", help="compare them one by one")
    if named is None:
        return next(name for name in COLUMNS if name in shared)
    if named not in shared:
        raise refuse("--column", f"not all points have `{named}`", allowed=sorted(shared), help=nearest(named, shared))
    return named


def limited(points: Sequence[Measured], count: int | None) -> list[Measured]:
    """Returns at most `count` points, spread evenly over `points`."""
    if count is None or count >= len(points):
        return list(points)
    return [points[int((place + 0.5) * len(points) / count)] for place in range(count)]


def study(
    points: Sequence[Measured],
    request: Request,
    watcher: Watcher | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[list[Predicted], dict[str, Constants]]:
    """Fits constants if `request.fit` is given, and predicts all other points.

    Returns:
        The predictions in the order of the points, and the fitted constants by machine and variant. Fitted points have
        no prediction.

    Raises:
        ExperimentError: There is no such machine, or a list of hosts does not fit.
        Stopped: Ctrl-C was pressed.
    """
    # Points of several files may have equal keys, so that results are found by the place of their point.
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    setups: dict[str, Setup] = {}
    for place, point in enumerate(points):
        name = request.machine or point.machine
        if not name:
            raise refuse("--machine", "the table does not name its machine", allowed=known())
        setup = setups.setdefault(name, setup_of(name))
        _check_library(point, setup)
        groups[name, _variant(setup, point)].append(place)
    if request.hosts is not None and not request.hosts.exists():
        raise refuse("--hosts", f"{request.hosts} does not exist", file=str(request.hosts))
    fitted = _to_fit(points, request.fit)
    kept = Kept.of(request.kept)
    constants: dict[str, Constants] = {}
    found: dict[int, Predicted] = {}
    fits: dict[tuple[str, tuple[int, ...]], Mapping[str, Any]] = {}
    for (name, variant), places in sorted(groups.items(), key=lambda each: (each[0][0], len(each[0][1]), each[0][1])):
        setup, own = setups[name], [points[place] for place in places]
        hosts = {(point.run, point.ranks): path for point in own if (path := hosts_of(request.hosts, name, point))}
        if tell is not None and (request.hosts is not None or any(point.hosts for point in points)):
            for run in sorted({point.run for point in own if (point.run, point.ranks) not in hosts}):
                where = "there are" if request.hosts is None else f"{request.hosts} has"
                tell(f"note: {where} no hosts of run `{run}` of {name}, which is on the first nodes")
        quiet = Running(hosts, request.effort, None, kept, request.background)
        # A variant starts from the constants of the machine's earlier variants. Its own keys stay.
        known_of = max((count for count in range(len(variant) + 1) if (name, variant[:count]) in fits), default=None)
        begin = {} if known_of is None else fits[name, variant[:known_of]]
        for place in variant[known_of or 0 :]:
            begin = without(begin, setup.variants[place].sections)
        changes: Mapping[str, Any] = begin
        held = [point for point in own if point.key in fitted]
        if held:
            _announce(name, len(held), tell)
            made = fit(held, setup, begin, column=request.column, running=quiet, watcher=tell)
            constants[name + "".join(f" {place}" for place in variant)] = made
            changes = fits[name, variant] = made.changes
        rest = [place for place in places if points[place].key not in fitted]
        running = replace(quiet, watcher=watcher)
        ran = predict([points[place] for place in rest], setup, changes=changes, running=running)
        if request.causes:
            ran = with_parts(ran, setup, changes, running)
        found.update(zip(rest, ran, strict=True))
    return [found[place] for place in sorted(found)], constants


def _announce(name: str, count: int, tell: Callable[[str], None] | None) -> None:
    """Says to how many points the constants of a machine are fitted."""
    if tell is not None:
        tell(f"fitting {name} to {counted(count, 'point')}")
        if count == 1:
            tell(f"warning: one point cannot determine the constants of {name}: most stay near their start")


def _check_library(point: Measured, setup: Setup) -> None:
    """Refuses an operation of MPI on a machine of GPUs."""
    if setup.of_gpus and point.algorithm != NCCL:
        raise refuse(
            "--machine",
            f"`{setup.name}` has operations of NCCL, and line {point.line} of the table has `{point.algorithm}` of MPI",
            allowed=[own for own in known() if not setup_of(own).of_gpus],
        )


def _variant(setup: Setup, point: Measured) -> tuple[int, ...]:
    """Returns the indices of the machine's variants that apply to a point."""
    return tuple(place for place, variant in enumerate(setup.variants) if variant.fits(point))


def _to_fit(points: Sequence[Measured], text: str | None) -> set[tuple[str, ...]]:
    """Returns the keys of the points to fit to: those of a file, or a share of the points."""
    if text is None:
        return set()
    if not text.endswith("%"):
        given = listed(Path(text))
        if not any(point.key in given for point in points):
            raise refuse("--fit", f"no point of the tables is in {text}", file=text)
        return given
    try:
        share = float(text.removesuffix("%")) / 100.0
    except ValueError:
        share = 0.0
    if not 0.0 < share <= MOST_SHARE:
        raise refuse("--fit", f"`{text}` is not allowed; a share is above 0% and at most 50%, such as `5%`")
    least = min(point.ranks for point in points)
    small = [point for point in points if point.per_node == 1 and point.size and point.ranks <= max(8, least)]
    able = [point for point in small if (call := call_of(point)) is not None and not call.guessed]
    able.sort(key=lambda own: (own.machine, own.operation, own.bytes, own.algorithm, own.run, own.test))
    return {point.key for point in limited(able, max(1, int(share * len(points))))}


def listed(path: Path) -> set[tuple[str, ...]]:
    """Returns the keys of the points that a CSV lists.

    Raises:
        ExperimentError: The file cannot be read, or a line lacks a value.
    """
    rows = rows_of(path, "measured table", "--fit")
    for line, row in enumerate(rows, 2):
        if any(row.get(name) is None for name in KEYS) or row["collective"] not in OPERATIONS:
            raise refuse("--fit", f"{path}: line {line}: it needs valid values of {', '.join(KEYS)}", file=str(path))
    return {tuple(OPERATIONS[row[name]] if name == "collective" else row[name] for name in KEYS) for row in rows}


def hosts_of(given: Path | None, machine: str, point: Measured) -> Path | None:
    """Returns the file with the hosts of a point: the given one, or that of the table. None: there is no such file."""
    if given is None:
        return point.hosts
    if not given.is_dir():
        return given
    names = (f"{machine}__{point.run}__alloc_{point.ranks}.csv", f"{machine}__{point.run}.csv")
    return next((given / name for name in names if (given / name).is_file()), None)
