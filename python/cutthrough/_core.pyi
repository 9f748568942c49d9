"""The compiled half of Cutthrough. Private: use what `cutthrough` exports."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, NotRequired, TypedDict, final

__version__: str

#: Keys of the experiment file whose values may name a file.
FILE_KEYS: list[str]

#: Kinds of files that are read: name, the most bytes, and the names of their formats.
INPUTS: list[tuple[str, int, list[str]]]

def read_together(path: str | PathLike[str]) -> list[Path]:
    """The files that are read where one is named: of a trace of Chakra, those of all ranks and of process groups."""

class ExperimentError(ValueError):
    """The experiment is wrong; `str()` is the whole message, with the line, the key and what is allowed."""

    message: str
    """What is wrong, without its place."""
    key: str
    """The path of the key at fault, such as `router.buffer`, or the argument; empty if none is."""
    file: str | None
    """The file at fault, or the option that overrides it."""
    line: int | None
    """The line in the file, from 1."""
    column: int | None
    """The column in the file, from 1."""
    allowed: tuple[str, ...]
    """What would be right, if it is one of a list."""
    help: str | None
    """What to do, such as the nearest name."""
    coloured: str | None
    """The message with the escapes of a terminal that show colours, if it has any."""

def error_text(message: str, file: str | None, allowed: list[str], help: str | None) -> tuple[str, str]:
    """The text of an error as those of experiment files have it: plain, and with the escapes of a terminal."""

class RunError(RuntimeError):
    """A simulation ended without a result, such as in a deadlock; `str()` says what was seen."""

class Cancelled(Exception):
    """A run was cancelled through its `Progress`."""

@final
class Progress:
    """The progress of a run, which can be cancelled. Safe to use from several threads."""

    def __init__(self) -> None: ...
    @property
    def fraction(self) -> float:
        """The part that is done, 0 to 1: an estimate that never falls."""
    @property
    def phase(self) -> str:
        """The current phase, in a word or two."""
    def cancel(self) -> None:
        """Makes the run raise `Cancelled` soon."""

@final
class Processes:
    """The processes that an MPI launcher has started to run points together."""

    @staticmethod
    def open(path: str | PathLike[str], threads: int) -> Processes:
        """Joins the processes: all of them call this, with the path of the compiled shim and the threads of each.

        Raises RunError if MPI cannot be loaded or initialized.
        """
    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
    @property
    def size(self) -> int:
        """The number of processes."""
    @property
    def names(self) -> list[str]:
        """The names of all processes: rank, number of the process in its system, and node."""
    def share(self, text: str) -> str:
        """Returns the text of process 0. All processes call this. Leaves the interpreter free."""
    def fail(self, message: str) -> NoReturn:
        """Ends all processes with a message that names this one."""
    def close(self) -> None:
        """Leaves the other processes: all of them call this."""

class RunFiles(TypedDict):
    """Files of a run.

    Attributes:
        inputs: Paths and hashes of the files that the point reads, which have to be equal in all processes.
        checkpoints: Folder of checkpoints, and a text that is equal for runs with equal results only.
        reuse: Files of records of episodes, one to read, and one to write, and the version and the build.
    """

    inputs: Sequence[tuple[str, str]]
    checkpoints: NotRequired[tuple[str, str] | None]
    reuse: NotRequired[tuple[Path | None, Path | None, str]]

@final
class Experiment:
    """A checked experiment: one point, or the points of a sweep."""

    @staticmethod
    def load(text: str, name: str, base_dir: str, overrides: list[tuple[str, str]]) -> Experiment:
        """Reads TOML. `name` stands in messages; paths in the file start from `base_dir`.

        Raises ExperimentError.
        """
    @staticmethod
    def read(path: str | PathLike[str], overrides: list[tuple[str, str]]) -> Experiment:
        """Reads a file; paths in it start from its folder. Raises ExperimentError."""
    def parts(self) -> tuple[str, str, Path, list[tuple[str, str]]]:
        """The arguments of `load` that make the same experiment: text, name, base directory, overrides."""
    @property
    def title(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def points(self) -> str:
        """JSON: a list of `{"keys": {...}, "seed": n}`, one a point."""
    def written(self) -> str:
        """JSON: what is written, with overrides.

        `{"sections": {...}, "sweep": [{"keys": [[key, values], ...], "labels": null}, ...]}`: keys of a group move
        together, and the last group changes fastest; `labels` is null where steps have no names.
        """
    def axes(self) -> str:
        """JSON: the keys that distinguish points, in order."""
    def resolved_point(self, point: int, complete: bool = True) -> str:
        """One point as TOML, with every default written out; if `complete`, those of its network too."""
    def derived_keys(self, point: int) -> list[str]:
        """The keys of a point that are left out and follow from its network."""
    def validate(self, point: int, progress: Progress | None = None, threads: int = 0) -> None:
        """Builds a point and proves it free of deadlock, without simulating it. Raises ExperimentError.

        On a number of threads; 0 for as many as processors.
        """
    def check(self, point: int) -> str:
        """JSON: sizes, cost and deadlock freedom of a point. Raises ExperimentError."""
    def called_back(self) -> list[str]:
        """The names of its programs that are called back: no file can say them."""
    def program(self, point: int) -> tuple[Program, bytes]:
        """What the ranks of a point do, and the node of each, as 32-bit numbers. Raises ExperimentError."""
    def topology(self, point: int) -> Topology:
        """The shape of a point's machine. Raises ExperimentError."""
    def analyze(self, point: int, progress: Progress | None = None) -> tuple[str, bytes]:
        """JSON: channel loads of a point; and those of `Topology.channel_table`. Raises ExperimentError.

        The loads are 64-bit floats: shares of the channels' own bandwidths, per unit of offered load.
        """
    def worst_case(self, point: int, network: str | None = None, progress: Progress | None = None) -> tuple[str, bytes]:
        """JSON: the permutation of the nodes that loads a channel most; and the partner of each node.

        The partners are 32-bit numbers. Raises ExperimentError.
        """
    def forwarding_files(self, point: int, network: str | None = None) -> list[tuple[str, str]]:
        """The forwarding tables of a point's network: name and text of each file. Raises ExperimentError."""
    def effective_bisection(
        self, point: int, pairings: int, network: str | None = None, progress: Progress | None = None
    ) -> str:
        """JSON: the effective bisection bandwidth of a point's network over random pairings. Raises ExperimentError."""
    def job_loads(self, point: int) -> list[bytes]:
        """The channel loads of each job of a point, as `analyze` has them, per unit of the load that the job offers.

        Raises ExperimentError.
        """
    def run(
        self,
        point: int,
        threads: int,
        progress: Progress,
        processes: Processes | None = None,
        files: RunFiles = ...,
    ) -> tuple[str, bytes]:
        """JSON: what a point measures; and how much the channels of `Topology.channel_table` were used.

        All of the `processes` call this with one point and run it together. Process 0 gets the results.

        That is the share of time in which each sends, as 64-bit floats. 0 threads stand for one that simulates, while
        proofs take all processors. Raises ExperimentError, RunError, Cancelled; leaves the interpreter free.
        """

def check_records(path: str | PathLike[str], simulator: str) -> None:
    """Checks a file of records of episodes as far as no point matters. Raises ExperimentError."""

@final
class Topology:
    """A machine's shape, from a shorthand (`torus:8x8x8`) or a table as JSON."""

    def __init__(self, shape: str, base_dir: str) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def routers(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def planes(self) -> int: ...
    @property
    def diameter(self) -> int: ...
    @property
    def bisection_channels(self) -> int | None: ...
    def bisection_bounds(self) -> tuple[int, int] | None:
        """Bounds of the bisection: spectral, and the best cut found."""
    def spec(self) -> str:
        """JSON: the table of `[topology]`; null for a machine read from a file of another kind."""
    def distances(self, routers: bytes, others: bytes) -> bytes:
        """Channels on a shortest path, for pairs of routers: 32-bit numbers in and out."""
    def hops(self, nodes: bytes, others: bytes) -> bytes:
        """Hops as mappings count them, for pairs of nodes: 32-bit numbers in and out."""
    def attachments(self) -> bytes:
        """The router of every node, as 32-bit numbers."""
    def router_of(self, node: int) -> int: ...
    def coordinates(self, router: int) -> list[int]: ...
    def coordinate_names(self) -> list[str]: ...
    def channels(self) -> list[tuple[int, int, str]]: ...
    def class_names(self) -> list[str]: ...
    @property
    def groups(self) -> int | None: ...
    @property
    def grid(self) -> list[int] | None: ...
    def networks(self) -> list[tuple[str, int, int, Topology]]:
        """Each of several networks: name, numbers of planes and of islands, topology of an island. Empty: one network.

        Routers are numbered network by network, plane by plane, and island by island.
        """
    def channel_table(self) -> dict[str, bytes]:
        """Every channel by its number, injection channels and unconnected ports included.

        Columns of 32-bit integers, -1 for missing values (all values of an unconnected port).
        """
    def routing_table(
        self, routing: str, base_dir: str
    ) -> tuple[tuple[int, int, int], tuple[str, str], tuple[bytes, bytes, bytes]]:
        """A routing (JSON of `[routing]`; empty for the default) of this topology as a table.

        Its shape (layers, columns, ports of an entry); what the columns are and how ties are resolved; and 32-bit
        integers: ports, classes and next layers by layer, router and destination. Raises ExperimentError.
        """
    def coordinate_table(self) -> bytes:
        """The coordinates of every router, as 32-bit integers: a row for each router."""

def mpi_library(path: str | PathLike[str]) -> str:
    """Returns the name and the version of the MPI library that a compiled shim loads. Raises RunError."""

def student_quantile(tail: float, freedom: float) -> float:
    """The value that a t variable exceeds with probability `tail`; NaN unless 0 < tail < 1 and freedom >= 1."""

def student_tail(t: float, freedom: float) -> float:
    """The probability of a t variable to exceed `t`; NaN unless freedom >= 1."""

@final
class Program:
    """What ranks do."""

    @staticmethod
    def of_calls(counts: bytes, rows: bytes, groups: list[list[int]]) -> Program:
        """From the calls of all ranks: how many each makes, and the calls, as 64-bit numbers. Raises ExperimentError.

        Groups are the ranks of communicators, numbered from 1 on.
        """
    @staticmethod
    def of_text(source: str) -> Program:
        """From the text of calls. Raises ExperimentError."""
    @staticmethod
    def of_goal(source: str) -> Program:
        """From a schedule in GOAL. Raises ExperimentError."""
    @staticmethod
    def of_trace(path: str, wildcards: bool, compute_scale: float) -> Program:
        """From a trace of a real program. Raises ExperimentError."""
    @staticmethod
    def of_chakra(
        path: str,
        speeds: tuple[float, float | None],
        groups: dict[str, list[int]],
        ranks: tuple[int, list[str]] | None,
    ) -> Program:
        """From execution traces of Chakra, given their prefix or the file of a rank. Raises ExperimentError."""
    def contents(self) -> dict[str, int] | None:
        """Counts of what traces of Chakra have; None of another program."""
    def notes(self) -> list[str]:
        """What of the files is left out, or carried out otherwise than it is written."""
    @property
    def ranks(self) -> int: ...
    def messages(self) -> dict[str, bytes]:
        """The messages between pairs: columns of 32-bit `source` and `target`, and 64-bit `bytes` and `messages`."""
    def text(self) -> str:
        """The text of the calls. Raises ExperimentError."""
    def goal(self) -> str:
        """The schedule in GOAL. Raises ExperimentError."""
    def recording(self) -> dict[str, Any] | None:
        """Of a trace, what is known beside what its ranks call; None of another program."""

def join_trace(folder: str, path: str) -> dict[str, Any]:
    """Makes one trace of the files of ranks in a folder; returns what is in it. Raises ExperimentError."""

def collective_names() -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Collective operations in the order of their numbers, with the algorithms that serve each; and all algorithms."""

def selection_names() -> list[str]:
    """The names of the selection tables of MPI libraries."""

def chosen_algorithms(selection: str, ranks: int, bytes: int, element: int) -> list[tuple[str, str, int]]:
    """The algorithm of each operation that a selection table chooses, and the size of its segments (0: none)."""

def picoseconds(text: str) -> int:
    """Picoseconds of a time as experiment files write it. Raises ExperimentError."""

def bytes_of(text: str) -> int:
    """Bytes of a size as experiment files write it. Raises ExperimentError."""

@final
class TaskGraph:
    """What the tasks of an application send to one another in a step."""

    @staticmethod
    def read(graph: str, base_dir: str, seed: int) -> TaskGraph:
        """From a shorthand or a file. Raises ExperimentError."""
    @staticmethod
    def of_arcs(tasks: int, arcs: tuple[bytes, bytes, bytes], loads: bytes, name: str) -> TaskGraph:
        """From lists: 32-bit sources and targets and 64-bit bytes; 64-bit floats for loads (none for all 1); a name.

        Raises ExperimentError.
        """
    @property
    def tasks(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...
    def about(self) -> str:
        """JSON: the name, the phases, the arrays, and what is assumed."""
    def arcs(self) -> dict[str, bytes]:
        """The arcs of all phases: columns of 32-bit `source` and `target` and 64-bit `bytes`."""
    def loads(self) -> bytes:
        """The loads of the tasks, as 64-bit floats."""
    def shuffled(self, seed: int) -> TaskGraph:
        """The same with its tasks numbered at random."""
    @staticmethod
    def combine(graphs: list[TaskGraph], weights: list[float]) -> TaskGraph:
        """Several graphs over the same tasks as one, each with a weight. Raises ExperimentError."""
    @staticmethod
    def beside(graphs: list[TaskGraph]) -> TaskGraph:
        """Several applications beside one another as one graph. Raises ExperimentError."""
    def metis(self) -> str:
        """The graph in METIS's format."""

@final
class Machine:
    """A topology with cores and an allocation."""

    def __init__(
        self,
        machine: str,
        cores: int | None,
        rank_order: str,
        allocation: str | None,
        node: str | None,
        base_dir: str,
    ) -> None: ...
    @staticmethod
    def of_topology(
        topology: Topology,
        name: str,
        cores: int | None,
        rank_order: str,
        allocation: str | None,
        node: str | None,
    ) -> Machine:
        """A machine of a topology that is built. Raises ExperimentError."""
    @property
    def places(self) -> int: ...
    @property
    def cores(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def extents(self) -> list[int]: ...
    @property
    def is_torus(self) -> list[bool]: ...
    @property
    def is_contiguous(self) -> bool: ...
    def nodes(self) -> list[int]:
        """The number of each place's node in the topology."""
    def names(self) -> list[str]:
        """The name of each place's node."""
    def homes(self) -> list[tuple[str | None, int]]:
        """The host of each place's node, if it is known, and the number of the node among those of the host."""
    def topology(self) -> Topology:
        """The topology of the whole machine."""
    def topology_spec(self) -> str:
        """JSON: the table of `[topology]`; null if the machine is a file of another kind."""
    def about(self) -> str:
        """JSON: the name, what is in a node, links, and what is assumed."""
    def hops(self, places: bytes, others: bytes) -> bytes:
        """Hops for pairs of places: 32-bit numbers in and out."""
    def place_of_rank(self, rank: int) -> tuple[int, int]: ...
    def rank_to_coordinates(self, rank: int) -> tuple[list[int], int]: ...
    def coordinates_to_rank(self, coordinates: list[int], core: int) -> int: ...
    def hops_between_ranks(self, rank: int, other: int) -> int: ...
    def closest_rank(self, rank: int, others: list[int]) -> int: ...
    def ranks_by_hops(self, rank: int, others: list[int]) -> list[int]: ...

def hosts_of_list(text: str, name: str) -> list[str]:
    """The hosts of a list in lines and commas, also in the form of Slurm. Raises ExperimentError."""

def hosts_of_machine(name: str) -> list[tuple[str, list[int]]]:
    """The nodes of each host of a named machine. Raises ExperimentError if its numbering of hosts is not public."""

@final
class MapProgress:
    """The progress of a search, which can be stopped and limited in time."""

    def __init__(self) -> None: ...
    @property
    def fraction(self) -> float: ...
    @property
    def phase(self) -> str: ...
    @property
    def time_decided(self) -> bool:
        """Whether the allowed time has decided how the search went on, so that another run may find another mapping."""

    def set_time_share(self, share: float) -> None:
        """Sets the share of the allowed time that has passed."""

    def stop(self) -> None:
        """Makes the search return soon, with the best mapping found so far, or raise `Cancelled` if there is none."""

def default_budget(graph: TaskGraph) -> float:
    """The nominal seconds of a search for the mapping of a graph, if none are given."""

def map_tasks(
    graph: TaskGraph,
    machine: Machine,
    spec: str,
    fixed: list[tuple[int, int]],
    current: bytes | None,
    progress: MapProgress,
) -> bytes:
    """The place of every task, as 32-bit numbers. Raises ExperimentError, Cancelled; leaves the interpreter free."""

def measure_mapping(graph: TaskGraph, machine: Machine, places: bytes) -> tuple[str, bytes]:
    """JSON: the measures of a mapping; and the bytes over every channel, as 64-bit floats. Raises ExperimentError."""

def mapping_catalogue() -> str:
    """JSON: strategies, machines and graphs that can be named, each with a line about it."""

def catalogue() -> str:
    """JSON: for each kind of part, the variants that an experiment file can name."""

def perfetto(timeline: str, title: str) -> bytes:
    """A timeline, as JSON, as a file that Perfetto opens.

    Raises:
        ValueError: The text is no timeline.
    """

def message_latency(flit: int, bytes_per_s: int, links: int, length: int) -> tuple[float, float] | None:
    """The two terms of equation 1 of Bhatele in nanoseconds, for sizes in bytes; None if a time is too long."""

def bits_per_second(text: str) -> int:
    """Bits per second of a bandwidth as experiment files write it. Raises ExperimentError."""

def result_schema() -> str:
    """The JSON Schema of what a point measures."""

def schema() -> str:
    """The JSON Schema of the experiment file."""

def reference() -> str:
    """JSON: the documentation of every section of the experiment file and of its keys."""
