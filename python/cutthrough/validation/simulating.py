"""Simulations of measured points: a barrier, the operation, and the time of the slowest rank."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
import cutthrough.files.kept as copies
import cutthrough.files.reading as reading
import cutthrough.runs.sweeps as sweeps
from cutthrough.arguments.faults import refuse
from cutthrough.channels import Outcome
from cutthrough.errors import ExperimentError
from cutthrough.keep.inputs import Inputs
from cutthrough.validation.background import HEAD_START, short
from cutthrough.validation.measured import ELEMENT
from cutthrough.validation.reading import rows_of
from cutthrough.validation.setups import call_of, merged, packet_of
from cutthrough.validation.software import with_software

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.validation.background import Background
    from cutthrough.validation.measured import Measured
    from cutthrough.validation.setups import Call, Setup

__all__ = [
    "Kept",
    "Parts",
    "Predicted",
    "Running",
    "document",
    "experiment_of",
    "is_whole",
    "predict",
    "simulated",
    "skew_of",
]

#: The workload of a point: one operation of each size behind a barrier, without warm-up.
WORKLOAD = {"kind": "benchmark"}
#: Operations with a root, in which most ranks do not wait for every other one.
ROOTED = {"broadcast", "reduce", "gather", "scatter"}
#: Key of the error of a point that cannot be built.
REFUSED = "refused"
#: A line of finished simulations. Lines of another form are not used.
KEPT = re.compile(r"([0-9a-f]{64}) ([0-9.e+]+)")


@dataclass(frozen=True)
class Parts:
    """Parts of a simulated time, in nanoseconds. Their sum is the time.

    Attributes:
        latency: Time that does not depend on rates: overheads, gaps, delays, and the skew of the barrier.
        bandwidth: Time that is proportional to the reciprocals of rates: links, buses, copies and reductions.
        contention: Time that packets wait for other packets between routers, or spend on detours around them.
        others: Times with each other algorithm. Empty if the table names the algorithm.
    """

    latency: float
    bandwidth: float
    contention: float
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Predicted:
    """Measured point with its simulated time.

    Attributes:
        point: The point.
        time: Simulated time in nanoseconds: of the slowest rank, or the mean over ranks if the table has that. None if
            the point was not simulated.
        reason: Reason why the point was not simulated.
        guessed: Whether the measured algorithm has no public definition, so that a similar one was simulated.
        parts: Parts of the time. None if they were not requested.
    """

    point: Measured
    time: float | None
    reason: str = ""
    guessed: bool = False
    parts: Parts | None = None

    def error(self, column: str) -> float:
        """Returns the error relative to a measured column: positive if the simulation is slower."""
        return (self.time or math.nan) / self.point.times[column] - 1.0


@dataclass
class Kept:
    """Times of finished simulations, by a digest of the experiment and the version of the program.

    Attributes:
        path: The file, which has a line for each simulation. None: nothing is stored.
        times: The times, in nanoseconds.
    """

    path: Path | None = None
    times: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path | None) -> Kept:
        """Reads the file of an earlier run if it exists.

        Removes an incomplete last line, to which the next one would be appended.
        """
        times = {}
        if path is not None and path.exists():
            whole, end, _ = path.read_text(encoding="utf-8").rpartition("\n")
            atomic.write_alone(path, whole + end)
            for line in whole.splitlines():
                if found := KEPT.fullmatch(line):
                    times[found[1]] = float(found[2])
        return cls(path, times)

    @staticmethod
    def name(text: str) -> str:
        """Returns the digest of an experiment and the version of the program."""
        return hashlib.sha256(f"{_core.__version__} {text}".encode()).hexdigest()

    def add(self, name: str, time: float) -> None:
        """Stores the time of a finished simulation, in nanoseconds."""
        self.times[name] = time
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{name} {time!r}\n")


@dataclass(frozen=True)
class Running:
    """Options of simulations.

    Attributes:
        hosts: Lists of hosts by run and number of ranks. Runs without one are on the first nodes.
        effort: The share of the computer to use.
        watcher: Notified of the progress.
        kept: Times of finished simulations. New ones are added.
        background: Other jobs on the network. None: the measured operation is alone.
    """

    hosts: Mapping[tuple[str, int], Path] = field(default_factory=dict)
    effort: sweeps.Effort = field(default_factory=sweeps.Effort)
    watcher: sweeps.Watcher | None = None
    kept: Kept = field(default_factory=Kept)
    background: Background | None = None


def document(
    point: Measured, setup: Setup, changes: Mapping[str, Any], running: Running, call: Call | None = None
) -> dict[str, Any] | str:
    """Returns the experiment of a point, or the reason why the point cannot be simulated.

    Args:
        point: The point.
        setup: The machine.
        changes: Sections that replace those of the machine.
        running: Options of the simulations: the hosts of the point's run, and the other jobs.
        call: The algorithm. None: that of the point.

    Raises:
        ExperimentError: A list of hosts does not fit, or the other jobs do not fit beside the point's run.
    """
    call = call or call_of(point)
    if call is None:
        return f"no algorithm stands for `{point.algorithm}`"
    if point.size == 0 and point.operation != "barrier":
        return "its ranks have no elements"
    benchmark: dict[str, Any] = {"kind": "collective", "operation": point.operation, "algorithm": call.algorithm}
    if point.operation != "barrier":
        benchmark["sizes"] = [f"{point.size} B"]
    if point.element != ELEMENT:
        benchmark["element_size"] = f"{point.element} B"
    benchmark |= {"repetitions": 1, "warm_up": 0, **call.keys}
    whole = merged(setup.of(point), changes)
    whole.pop("skew", None)
    if call.ports > 1 or call.facts:
        whole = with_software(whole, point, call, setup)
    benchmark = merged(benchmark, whole.pop("benchmark", {}))
    if point.operation not in {"reduce", "allreduce", "reduce-scatter"}:
        benchmark.pop("reduction_time", None)
    workload: dict[str, Any] = {**WORKLOAD, "benchmark": benchmark}
    if not is_whole(whole):
        packet = packet_of(point.size, combines="in_switch" in whole)
        workload["packet_size"] = f"{packet} B"
    placement = _placement(point, running.hosts.get((point.run, point.ranks)))
    alone = {**whole, "workload": workload, "placement": placement}
    return alone if running.background is None else _beside(alone, point, setup.folder, running.background)


def _beside(alone: Mapping[str, Any], point: Measured, folder: Path, background: Background) -> dict[str, Any] | str:
    """Returns the experiment of a point with other jobs, which send before the measured job starts, or why not."""
    machine = alone.get("machine", {}).get("name")
    if machine is None:
        message = "it needs a machine of the catalogue, whose hosts are those of the jobs"
        raise refuse("--background", message, help="name it in the experiment file with `[machine]`")
    if is_whole(alone):
        return "other jobs send packets, and the machine carries whole messages on this number of nodes"
    placement = alone["placement"]
    path = Path(placement["path"])
    listed = reading.given(path, "placement", "placement.path")
    hosts = _core.hosts_of_list(listed, str(path)) if placement["strategy"] == "hosts" else []
    taken = {short(own) for own in hosts} if hosts else {int(own) for own in listed.split()}
    others = background.beside(point, machine, taken, experiment_of(alone, folder).topology(0).nodes)
    measured = {"name": "measured", "start": HEAD_START, "workload": alone["workload"], "placement": placement}
    whole = {key: own for key, own in alone.items() if key not in {"workload", "placement"}}
    return {**whole, "seed": background.seed, "job": [measured, *background.documents(others)]}


def is_whole(whole: Mapping[str, Any]) -> bool:
    """Returns whether the network of a machine carries whole messages instead of packets."""
    kind, model = whole.get("topology", {}).get("kind"), whole.get("simulation", {}).get("model")
    return bool(kind == "flat" or model == "delay")


def _placement(point: Measured, hosts: Path | None) -> dict[str, Any]:
    """Returns the placement of the ranks: on the hosts of a list, or on the first nodes."""
    if hosts is None:
        nodes = "".join(f"{rank // point.per_node}\n" for rank in range(point.ranks))
        return {"strategy": "file", "path": str(_kept(nodes, "nodes"))}
    listed = _plain(hosts) if hosts.suffix == ".csv" else _kept(_text(hosts), "hosts")
    return {"strategy": "hosts", "path": str(listed), "processes_per_node": 1}


#: The column of hosts in lists with columns.
ALLOCATION = "allocation"


def _plain(path: Path) -> Path:
    """Writes the hosts of a CSV into a file with one host a line, and returns the file."""
    rows = rows_of(path, "short table", "--hosts")
    hosts = [(row.get(ALLOCATION) or "").strip() for row in rows]
    if not all(hosts) or not hosts:
        raise refuse("--hosts", f"{path} has no column `{ALLOCATION}` with a host in each line", file=str(path))
    return _kept("".join(f"{host}\n" for host in hosts), "hosts")


def _text(path: Path) -> str:
    return reading.given(path, "short table", "--hosts")


def _kept(text: str, kind: str) -> Path:
    """Writes a text into a file that is named by the digest of the text, and returns the file."""
    return copies.keep(text.encode(), kind, ".txt", "placement.path")


def predict(
    points: Sequence[Measured],
    setup: Setup,
    *,
    changes: Mapping[str, Any] | None = None,
    running: Running | None = None,
) -> list[Predicted]:
    """Simulates points. Points with equal experiments are simulated once.

    Args:
        points: The points.
        setup: The machine of all of them.
        changes: Sections that replace those of the machine.
        running: Options of the simulations.

    Raises:
        Stopped: Ctrl-C was pressed.
    """
    running = running or Running()
    made = [document(point, setup, changes or {}, running) for point in points]
    times = simulated([(own, point.quantity) for own, point in zip(made, points, strict=True)], setup.folder, running)
    times = [_with_file(time, own, running, point) for time, own, point in zip(times, made, points, strict=True)]
    return [
        Predicted(
            point,
            None if isinstance(time, str) else time + skew_of(point.operation, merged(setup.of(point), changes or {})),
            time if isinstance(time, str) else "",
            bool((call := call_of(point)) and call.guessed),
        )
        for point, time in zip(points, times, strict=True)
    ]


def _with_file(time: float | str, own: Mapping[str, Any] | str, running: Running, point: Measured) -> float | str:
    """Returns a reason with the name of the list of hosts instead of that of its copy. Returns times unchanged."""
    hosts = running.hosts.get((point.run, point.ranks))
    if not isinstance(time, str) or isinstance(own, str) or hosts is None:
        return time
    copy = re.escape(str((own.get("placement") or own["job"][0]["placement"])["path"]))
    # A list with columns has a heading, which the copy lacks.
    heading = int(hosts.suffix == ".csv")
    numbered = re.sub(f"{copy}:(\\d+)", lambda found: f"{hosts}:{int(found[1]) + heading}", time)
    return re.sub(copy, lambda _: str(hosts), numbered)


def experiment_of(document: Mapping[str, Any], folder: Path) -> _core.Experiment:
    """Returns the experiment of a document whose relative paths start from `folder`.

    Raises:
        ExperimentError: The document is not valid.
    """
    return experiments.from_text(experiments.to_toml(document), "experiment", folder, [])


def simulated(made: Sequence[tuple[Mapping[str, Any] | str, str]], folder: Path, running: Running) -> list[float | str]:
    """Simulates experiments. Equal ones are simulated once.

    Args:
        made: Each experiment with the name of the simulated quantity. A text is the reason why there is no experiment.
        folder: Folder from which relative paths in the experiments start.
        running: Options of the simulations.

    Returns:
        The time of each experiment in nanoseconds, or the reason why it was not simulated.

    Raises:
        Stopped: Ctrl-C was pressed.
    """
    kept = running.kept
    jobs: dict[str, sweeps.Job] = {}
    quantities: list[str] = []
    refused: dict[str, str] = {}
    names = []
    files = Inputs(folder.absolute())
    for own, quantity in made:
        name = own if isinstance(own, str) else Kept.name(f"{quantity} {_content(own, files)}")
        names.append(name)
        if isinstance(own, str):
            refused[name] = own
        elif name not in jobs and name not in kept.times and name not in refused:
            try:
                jobs[name] = _Alone(experiment_of(own, folder), len(jobs))
                quantities.append(quantity)
            except ExperimentError as error:
                refused[name] = str(error.message)
    order = [*jobs]

    def keep(outcome: Outcome) -> None:
        if REFUSED in outcome.point:
            refused[order[outcome.index]] = outcome.point[REFUSED]
        else:
            measured = outcome.point["jobs"][0] if "jobs" in outcome.point else outcome.point
            kept.add(order[outcome.index], float(measured["benchmark_rows"][0][quantities[outcome.index]]))

    sweeps.run_jobs([*jobs.values()], running.effort, running.watcher, keep)
    return [kept.times[name] if name in kept.times else refused.get(name, "") for name in names]


def _content(document: Mapping[str, Any], files: Inputs) -> str:
    """Returns a text that identifies an experiment, with hashes instead of the paths of files."""
    if "include" in document:
        document = tomllib.loads(experiment_of(document, files.base).resolved_point(0))
    return json.dumps(files.stamped(dict(document)), sort_keys=True)


def skew_of(operation: str, whole: Mapping[str, Any]) -> float:
    """Returns the time for which the first rank that leaves a barrier waits for the last one, in nanoseconds.

    Simulated ranks leave a barrier nearly together. On a machine, the time of the slowest rank includes its wait for
    ranks that left the barrier later, if the operation makes each rank wait for every other one. In an operation with a
    root, only the root waits or is waited for. Its exit is early or late by chance, so that tenth percentiles do not
    contain that wait.
    """
    if operation in ROOTED:
        return 0.0
    return float(_core.picoseconds(whole.get("skew", "0 ps"))) * 1e-3


class _Alone(sweeps.Job):
    """Job of an experiment with a single point, with a number among the jobs of several experiments."""

    def __init__(self, experiment: _core.Experiment, place: int) -> None:
        super().__init__(experiment, place, {})

    def run(self, threads: int, progress: _core.Progress) -> Outcome:
        """Runs the point in this thread. If the experiment cannot be built, the point contains the error."""
        try:
            outcome = sweeps.Job(self.experiment, 0, {}).run(threads, progress)
        except ExperimentError as error:
            return Outcome({REFUSED: str(error.message)}, self.index, {})
        return replace(outcome, index=self.index)
