"""The compiled half of Cutthrough. Private: use what `cutthrough` exports."""

from os import PathLike
from typing import final

__version__: str

class ExperimentError(ValueError):
    """The experiment is wrong; `str()` is the whole message, with the line, the key and what is allowed."""

class RunError(RuntimeError):
    """A simulation ended without a result, such as in a deadlock; `str()` says what was seen."""

class Cancelled(Exception):
    """A run was cancelled through its `Progress`."""

@final
class Progress:
    """How far a run is, and a way to end it early. Safe to use from several threads."""

    def __init__(self) -> None: ...
    @property
    def fraction(self) -> float:
        """The part that is done, 0 to 1: an estimate that never falls."""
    @property
    def phase(self) -> str:
        """What is under way, in a word or two."""
    def cancel(self) -> None:
        """Makes the run raise `Cancelled` soon."""

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
    @property
    def title(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def points(self) -> str:
        """JSON: a list of `{"keys": {...}, "seed": n}`, one a point."""
    def resolved_point(self, point: int) -> str:
        """One point as TOML, with every default written out."""
    def check(self, point: int) -> str:
        """JSON: sizes, cost and deadlock freedom of a point. Raises ExperimentError."""
    def topology(self, point: int) -> Topology:
        """The shape of a point's machine. Raises ExperimentError."""
    def analyze(self, point: int) -> tuple[str, bytes]:
        """JSON: channel loads of a point; and those of `Topology.channel_table`. Raises ExperimentError.

        The loads are 64-bit floats: shares of the channels' own bandwidths, per unit of offered load.
        """
    def run(self, point: int, threads: int, progress: Progress) -> tuple[str, bytes]:
        """JSON: what a point measures; and how much the channels of `Topology.channel_table` were used.

        That is the share of time in which each sends, as 64-bit floats. Raises ExperimentError, RunError, Cancelled;
        leaves the interpreter free.
        """

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
    def diameter(self) -> int: ...
    @property
    def bisection_channels(self) -> int | None: ...
    def spec(self) -> str:
        """JSON: the table of `[topology]`."""
    def distance(self, router: int, other: int) -> int: ...
    def hops(self, node: int, other: int) -> int: ...
    def router_of(self, node: int) -> int: ...
    def coordinates(self, router: int) -> list[int]: ...
    def coordinate_names(self) -> list[str]: ...
    def channels(self) -> list[tuple[int, int, str]]: ...
    def class_names(self) -> list[str]: ...
    @property
    def groups(self) -> int | None: ...
    @property
    def grid(self) -> list[int] | None: ...
    def channel_table(self) -> dict[str, bytes]:
        """Every channel by its number, injection channels and unconnected ports included.

        Columns of 32-bit integers, -1 for what there is not (everything, for an unconnected port).
        """
    def coordinate_table(self) -> bytes:
        """The coordinates of every router, as 32-bit integers: a row for each router."""

def catalogue() -> str:
    """JSON: for each kind of part, the variants that an experiment file can name."""

def schema() -> str:
    """The JSON Schema of the experiment file."""

def reference() -> str:
    """JSON: the documentation of every section of the experiment file and of its keys."""
