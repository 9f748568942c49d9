"""The functions of `import cutthrough as ct`.

>>> import cutthrough as ct
>>> results = ct.run(
...     topology=ct.SingleSwitch(8),
...     link={"bandwidth": "10 Gb/s", "delay": "20 ns"},
...     router={"kind": "output-queued"},
...     workload={"kind": "traffic", "pattern": "uniform"},
...     sweep={"workload.load": [0.2, 0.5]},
... )
>>> [point["saturated"] for point in results]
[False, False]
"""

from __future__ import annotations

import functools
import json
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import cutthrough._core as _core
import cutthrough.display.notebooks as notebooks
import cutthrough.files.atomic as atomic
import cutthrough.runs.sweeps as sweeps
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.channels import ChannelLoads, ChannelTable, doubles, is_irregular
from cutthrough.errors import Interrupted
from cutthrough.experiment.objects import Experiment, built
from cutthrough.keep.shares import points_of
from cutthrough.runs.folder import Folder
from cutthrough.runs.records import record_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    import pyarrow as pa
    from matplotlib.figure import Figure

    from cutthrough.experiment.documents import Source
    from cutthrough.results import Results
    from cutthrough.runs.sweeps import Watcher

Found = TypeVar("Found")

__all__ = ["Analysis", "WorstCase", "analyze", "check", "load", "run"]

#: Greatest number of points at once, and of threads.
MOST_WORKERS = 65_536
#: Largest number of random pairings.
MOST_PAIRINGS = 1_000_000
#: Interval in seconds at which the progress of an analysis is read.
TICK_S = 0.1


@checked
def run(  # noqa: PLR0913  (a keyword for each choice)
    source: Source | Experiment | _core.Experiment | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    jobs: int = 0,
    threads: int | None = None,
    executor: Executor | None = None,
    directory: str | Path | None = None,
    fresh: bool = False,
    points: str | None = None,
    reuse_from: str | Path | None = None,
    reuse_to: str | Path | None = None,
    watcher: Watcher | None = None,
    **sections: Any,
) -> Results:
    """Simulates every point of an experiment, after all of them have been validated.

    Args:
        source: A file, its content as nested mappings, or an `Experiment`. Default: `sections` are the experiment.
        set: Dotted keys and values that replace those of the file, such as `{"workload.load": 0.5}`.
        jobs: Points to run at once. 0 runs one point a core, or one point if `threads` is given.
        threads: Threads of each point, and the greatest number of cores that it uses. Default: one thread simulates,
            and proofs before the simulation use all cores. The results do not depend on this number.
        executor: Runs the points instead of threads of this process: any executor of `concurrent.futures`, such as
            Dask's (`distributed.Client.get_executor()`) or mpi4py's (`mpi4py.futures.MPIPoolExecutor`). Workers need
            the same version of Cutthrough, and the files that the experiment reads at the same paths.
        directory: Folder that keeps every point as soon as it has finished, and the results at the end. Points that
            have finished in it before are not run again.
        fresh: Whether points that have finished in `directory` before are run again.
        points: The points to run: a share (`3/16`), or numbers from 0 (`5,7-9`). Default: all.
        reuse_from: File of records with which points with `simulation.reuse` begin. Excludes `executor`.
        reuse_to: File that keeps the records of one point with `simulation.reuse`. The point runs even if it has
            finished in `directory` before. Excludes `executor`.
        watcher: Notified of the progress of the run about ten times a second. Default: a bar in notebooks, nothing
            elsewhere.
        sections: Top-level entries of the experiment, such as `topology=ct.topology.FatTree(k=4, n=4)`, or as tables
            (`topology={"kind": "fat-tree", "k": 4, "n": 4}`).

    Returns:
        The points with their measured quantities.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
        RunError: A simulation ended without a result, such as in a deadlock.
        OSError: The directory cannot be written, or another run holds it.
        Interrupted: Ctrl-C was pressed; it holds the finished points.
    """
    own = 0 if threads is None else whole_number("threads", threads, 1, MOST_WORKERS)
    at_once = whole_number("jobs", jobs, 0, MOST_WORKERS)
    experiment = built(source, set, **sections)
    count = len(json.loads(experiment.points()))
    numbers = range(count) if points is None else points_of(points, count)
    reads, writes = (None if path is None else Path(path) for path in (reuse_from, reuse_to))
    reuse = record_files(reads, writes, points=len(numbers), others="`executor`" if executor else None)
    effort = sweeps.Effort(at_once, own, executor, reuse=reuse)
    simulated = functools.partial(sweeps.run, experiment, effort, watcher or notebooks.run_bar(), chosen=numbers)
    if directory is None:
        return simulated()
    with Folder.claim(Path(directory), experiment, fresh=fresh, again=numbers if writes else ()) as folder:
        return _saved(lambda: simulated(folder), Path(directory))


def _saved(simulated: Callable[[], Results], directory: Path) -> Results:
    """Returns the results of a run, and writes them to a folder even if the run is interrupted."""
    try:
        results = simulated()
    except Interrupted as interrupted:
        interrupted.results.save(directory)
        raise
    results.save(directory)
    return results


@checked
class Analysis(dict[str, Any]):
    """The analysis of a point, and the load of every channel.

    A mapping with the sweep's keys other than the load, and these results:

    - `throughput_bound`: a load
    - `class_loads`: maximum and mean of each class of channels, per unit of load
    - `binding_channels`: the channels that bound the throughput
    - `bandwidth_bound` and `credit_limited`: the bound without credits, and whether credits lower it
    - `design`: switches, ports and cables, with lengths if there is a `[layout]`, and sums if there is a `[cost]`
    - `upgrades`: the bound if the cables of a class, or a single cable, are doubled
    - `exact`: whether all of the loads and bounds are exact
    - `loads_kind`: `exact`, `without_acknowledgements`, `upper_bound`, or `even_spread` for an adaptive routing
    - `networks`: the names of several networks, absent for one
    """

    def __init__(
        self, keys: Mapping[str, Any], experiment: _core.Experiment, index: int, progress: _core.Progress | None = None
    ) -> None:
        described, per_load = experiment.analyze(index, progress)
        super().__init__({**keys, **json.loads(described)})
        self._place = (experiment, index)
        self._loads = doubles(per_load)

    def channels(self) -> pa.Table:
        """Returns the load of every channel as an Arrow table.

        `load` is a share of its bandwidth, per unit of offered load.
        """
        return self.channel_loads().table

    def channel_loads(self) -> ChannelLoads:
        """Returns the load of every channel, with methods for means by class and the hottest channels."""
        experiment, index = self._place
        return ChannelTable.of(experiment.topology(index)).loads({"load": self._loads})

    def class_loads(self) -> list[dict[str, Any]]:
        """Returns the `class`, `channels`, `max` and `mean` of each class.

        The two directions of an edge list's class are separate.
        """
        experiment, index = self._place
        topology = experiment.topology(index)
        if not is_irregular(topology.coordinate_names(), topology.class_names()):
            return list(self["class_loads"])
        loads = self.channel_loads()
        return [
            {"class": row["class"], "channels": row["channels"], **row[loads.quantity]} for row in loads.by_direction()
        ]

    def worst_case(self, network: str | None = None) -> WorstCase:
        """Searches the permutation of the nodes that loads a channel of the network most, whatever the workload.

        Args:
            network: The name of one of several networks. The permutation is then that of an island, on each island.

        Raises:
            ExperimentError: The network has no channels, its flows take too many paths, there is no network of that
                name, or there are several and none is named.
        """
        return self._worst_case(network)

    def _worst_case(self, network: str | None, progress: _core.Progress | None = None) -> WorstCase:
        experiment, index = self._place
        return WorstCase(*experiment.worst_case(index, network, progress))

    def effective_bisection(self, pairings: int = 100, network: str | None = None) -> dict[str, Any]:
        """Computes the bandwidth that a node gets on average if all nodes exchange data in random pairs.

        Args:
            pairings: Number of random pairings, from 1 to 1,000,000.
            network: The name of one of several networks. Nodes of one island exchange data.

        Returns:
            `mean`, the half-width of its 95 % confidence interval over pairings (`half_width`), the smallest mean of a
            pairing (`least`) and the smallest bandwidth of a flow (`least_flow`), all as shares of an injection link's
            bandwidth, on one of several planes; the `routing` whose paths are followed, and whether it is `exact`.

        Raises:
            ExperimentError: The network has no channels or one node, `pairings` is out of range, there is no network of
                that name, or there are several and none is named.
        """
        return self._effective_bisection(pairings, network)

    def _effective_bisection(
        self, pairings: int, network: str | None, progress: _core.Progress | None = None
    ) -> dict[str, Any]:
        experiment, index = self._place
        count = whole_number("pairings", pairings, 1, MOST_PAIRINGS)
        found: dict[str, Any] = json.loads(experiment.effective_bisection(index, count, network, progress))
        return found

    def forwarding_tables(self, network: str | None = None) -> dict[str, str]:
        """Returns the routing as forwarding tables of an InfiniBand fabric, which `forwarding-tables` reads.

        Args:
            network: The name of one of several networks. The tables are those of an island.

        Returns:
            The text of each file: `opensm-lfts.dump`; `path-sl.txt` if paths have service levels other than 0; and
            `fabric.topo`, ibnetdiscover's output, if the topology was not read from such a file.

        Raises:
            ExperimentError: The network has no channels; forwarding tables cannot express the routing (the output of a
                router may only depend on the destination, and a path has one class of virtual channels); there is no
                network of that name, or there are several and none is named.
        """
        experiment, index = self._place
        return dict(experiment.forwarding_files(index, network))

    def plot(self) -> Figure:
        """Draws heat maps of the channels' loads."""
        import cutthrough.plots as plots

        return plots.heat_maps(self.channel_loads())


class WorstCase(dict[str, Any]):
    """The permutation of the nodes that loads a channel most.

    A mapping with these results:

    - `routing`: kind of the routing whose paths are followed; with detours chosen by queues, that of direct paths
    - `exact`: whether the permutation is proven to be the worst, which requires oblivious routing
    - `throughput_bound`: largest offered load without an overloaded channel
    - `channel`, `class` and `load`: the channel that is loaded most
    - `senders`: number of nodes that send
    """

    def __init__(self, described: str, partners: bytes) -> None:
        super().__init__(json.loads(described))
        #: By node, the node to which it sends. A node that names itself does not send.
        self.partners = list(memoryview(partners).cast("I"))

    def save(self, path: str | Path) -> Path:
        """Writes the permutation as a file for `pattern = { kind = "matrix", path = ... }`. Creates missing folders.

        Returns:
            The path.
        """
        target = Path(path)
        rows = [f"{source},{to},1\n" for source, to in enumerate(self.partners) if source != to]
        atomic.make_folder(target.parent)
        atomic.write_alone(target, "".join(["from,to,weight\n", *rows]))
        return target


@checked
def analyze(
    source: Source | Experiment | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    **sections: Any,
) -> list[Analysis]:
    """Computes exact channel loads, without simulation.

    Returns:
        One mapping for each combination of the sweep's keys other than the load and the seed: these keys,
        `throughput_bound` (a load), `class_loads` (maximum and mean of each class of channels, per unit of load),
        `binding_channels`, the parts and costs of the `design`, and whether the loads are `exact` (with adaptive
        routing they are an estimate: packets are spread evenly; see `loads_kind`). Its `channels()` is the load of
        every channel.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
    """
    return analyze_points(built(source, set, **sections))


@checked
def check(
    source: Source | Experiment | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    **sections: Any,
) -> list[dict[str, Any]]:
    """Checks an experiment without simulating it.

    Returns:
        One mapping a point: its sweep keys, sizes, cost, and whether it is free of deadlock.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
    """
    return check_points(built(source, set, **sections))


@checked
def load(
    source: Source | Experiment | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Experiment:
    """Reads an experiment without running it. Its sections are objects, which can be changed.

    Args:
        source: A file, its content as nested mappings or sections, or an experiment, which is copied.
        set: Dotted keys and values that replace those of the source, such as `{"workload.load": 0.5}`.
        sections: Top-level entries, which replace those of the source.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
    """
    return Experiment.load(source, set, **sections)


def check_points(experiment: _core.Experiment, watcher: sweeps.Watcher | None = None) -> list[dict[str, Any]]:
    """Checks a loaded experiment without simulating it, as `check`; notifies a watcher of every point."""
    points = json.loads(experiment.points())
    found = []
    for index, point in enumerate(points):
        found.append({**point["keys"], **json.loads(experiment.check(index))})
        if watcher is not None:
            watcher.update(index + 1, len(points), "checking")
    return found


def analyze_points(experiment: _core.Experiment, watcher: sweeps.Watcher | None = None) -> list[Analysis]:
    """Computes the channel loads of a loaded experiment, as `analyze`; notifies a watcher about ten times a second."""
    # Channel loads are per unit of load, so that points that differ in their load alone share them.
    first: dict[str, tuple[dict[str, Any], int]] = {}
    for index, point in enumerate(json.loads(experiment.points())):
        # The first of several seeds stands for all.
        keys = {key: value for key, value in point["keys"].items() if key not in {"workload.load", "seed"}}
        first.setdefault(json.dumps(keys, sort_keys=True), (keys, index))
    calls = [functools.partial(Analysis, keys, experiment, index) for keys, index in first.values()]
    return _watched(calls, watcher, "analyzing")


def worst_cases(asked: Sequence[tuple[Analysis, str | None]], watcher: sweeps.Watcher | None = None) -> list[WorstCase]:
    """Searches the worst permutation of analyses' networks; notifies a watcher about ten times a second."""
    return _watched([functools.partial(one._worst_case, network) for one, network in asked], watcher, "searching")


def effective_bisections(
    asked: Sequence[tuple[Analysis, str | None]], pairings: int, watcher: sweeps.Watcher | None = None
) -> list[dict[str, Any]]:
    """Computes the effective bisection bandwidth of analyses' networks; notifies a watcher ten times a second."""
    calls = [functools.partial(one._effective_bisection, pairings, network) for one, network in asked]
    return _watched(calls, watcher, "pairing")


def _watched(
    calls: Sequence[Callable[[_core.Progress], Found]], watcher: sweeps.Watcher | None, doing: str
) -> list[Found]:
    """Returns what the calls return. Each of them gets a progress, which is cancelled if the caller is interrupted."""
    found: list[Found] = []
    with ThreadPoolExecutor(1, thread_name_prefix="analysis") as pool:
        for call in calls:
            progress = _core.Progress()
            future = pool.submit(call, progress)
            try:
                while wait([future], timeout=TICK_S).not_done:
                    if watcher is not None:
                        watcher.update(len(found) + progress.fraction, len(calls), doing)
            except BaseException:
                progress.cancel()
                raise
            found.append(future.result())
    return found
