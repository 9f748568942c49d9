"""The fit: the simulator's own benchmarks, and least squares of logarithms of what they give over what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough.sweeps as sweeps
from cutthrough.calibrate.parts import LIMIT, PATH, PROGRESS, RENDEZVOUS, Part, parts_of, preset
from cutthrough.calibrate.tables import BANDWIDTH, LEFT, RATE, TIME, Table
from cutthrough.experiment import built
from cutthrough.faults import nearest, refuse
from cutthrough.programs.amounts import picoseconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Fit", "Fitted", "Value", "calibrate"]

#: Iterations of a benchmark: the simulator repeats itself.
REPETITIONS, WARM_UP = 2, 1
#: How much a part is held to where it starts, against an error of the same size in a row: what the tables do not say
#: stays there, and what two parts share is shared as before.
HOLD = 0.02
#: Steps of the search, with a limit of eager messages that is tried, and with the one that is taken.
STEPS_TRIED, STEPS = 6, 40
#: How many of the choices are searched to the end.
FINALISTS = 3
#: Shares of the sending one in both overheads from which it is searched too.
SHARES = (0.2, 0.5, 0.8)
#: By how much a part is changed to see what depends on it.
PROBE = 0.02
#: Sizes among which the limit of eager messages is looked for.
LIMITS = (256, 1 << 20)
#: From which change of all rows by a change of the part it is told by the tables.
TOLD = 0.02
#: From which change of its logarithm on a part has moved from where it started.
MOVED = 0.05
#: The standard error from which on only what several parts share is known.
SHARED = 0.5
#: The link between the nodes: nothing that an interface could be bound by.
LINK = "1000 Tb/s"


@dataclass(frozen=True)
class Value:
    """A part and what was found.

    Attributes:
        part: The part.
        value: In picoseconds or bits a second.
        error: Its standard error, as a share of it; infinite if it was not told by the tables.
    """

    part: Part
    value: float
    error: float

    @property
    def is_changed(self) -> bool:
        """Whether it is another than that of the interface from which the fit started."""
        return self.value != self.part.start

    @property
    def known(self) -> str:
        """How well it is known, in words."""
        if math.isfinite(self.error):
            return f"± {self.error:.1%}" if self.error < SHARED else "only together with others"
        return "so small that no row shows it" if self.is_changed else "no row shows it: not changed"

    @property
    def text(self) -> str:
        """The value with its unit."""
        return self.part.written(self.value)


@dataclass(frozen=True)
class Fitted:
    """A table, and what the fitted interface gives in each row."""

    table: Table
    values: tuple[float, ...]

    @property
    def errors(self) -> list[float]:
        """By row, the share by which the fit is more than what was measured."""
        return [own / row.value - 1.0 for own, row in zip(self.values, self.table.rows, strict=True)]


@dataclass(frozen=True)
class Fit:
    """An interface that was fitted.

    Attributes:
        start: The kind that it started from.
        values: What was fitted.
        chosen: Keys that were chosen from a list: the limit of eager messages in bytes, progress.
        tables: Each with what the interface gives.
        delay: The delay of the path between the nodes, in picoseconds.
        runs: How many benchmarks were run.
    """

    start: str
    values: tuple[Value, ...]
    chosen: Mapping[str, Any]
    tables: tuple[Fitted, ...]
    delay: float
    runs: int = 0

    @property
    def errors(self) -> list[float]:
        """Of all rows of all tables."""
        return [error for fitted in self.tables for error in fitted.errors]

    @property
    def rms_error(self) -> float:
        """The root of the mean of the squares of them."""
        return math.sqrt(sum(error * error for error in self.errors) / len(self.errors))

    @property
    def max_error(self) -> float:
        """The largest of them, whatever its sign."""
        return max(abs(error) for error in self.errors)

    def nic(self) -> dict[str, Any]:
        """`[nic]`: the kind, and what was fitted."""
        return _nic(self.start, {own.part.key: own.text for own in self.values if own.is_changed}, self.chosen)

    def to_dict(self) -> dict[str, Any]:
        """The fit as `--json` prints it."""
        return {
            "from": self.start,
            "nic": self.nic(),
            "path_ns": self.delay / 1e3,
            "parts": [
                {
                    "key": own.part.key,
                    "value": own.text,
                    "error": own.error if math.isfinite(own.error) else None,
                    "known": own.known,
                }
                for own in self.values
            ],
            "tables": [
                {
                    "name": fitted.table.name,
                    "benchmark": fitted.table.kind,
                    "ranks": fitted.table.ranks,
                    "measure": fitted.table.measure,
                    "rows": [
                        {"size": row.size, "measured": row.value, "fitted": own, "error": error}
                        for row, own, error in zip(fitted.table.rows, fitted.values, fitted.errors, strict=True)
                    ],
                }
                for fitted in self.tables
            ],
            "rms_error": self.rms_error,
            "max_error": self.max_error,
            "runs": self.runs,
        }


def _nic(kind: str, parts: Mapping[str, str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """`[nic]` of a kind with some keys, which may be of its parts."""
    nic: dict[str, Any] = {"kind": kind}
    for key, value in {**chosen, **parts}.items():
        table, _, name = key.rpartition(".")
        (nic.setdefault(table, {}) if table else nic)[name] = value
    return {key: value for key, value in nic.items() if key != "link"}


def calibrate(
    tables: Sequence[Table],
    start: str = "ndr",
    *,
    latency: str | None = None,
    keep: Sequence[str] = (),
    watcher: Callable[[str], None] | None = None,
) -> Fit:
    """Fits an interface to tables.

    The simulator's benchmark of each table is run between nodes that a flat network joins, and the parts of the
    interface are changed until the sum of the squares of the logarithms of what it gives over what was measured is
    least. The limit of eager messages is tried at each size that was measured.

    Args:
        tables: What was measured.
        start: The kind of `[nic]` to start from: what is not fitted is as it has it.
        latency: The delay of the path between the nodes, such as `"500 ns"`; fitted if it is not given. Of latencies
            alone only its sum with both overheads can be told, and each keeps its share.
        keep: Keys that stay as they are, such as `"copy.bandwidth"`.
        watcher: Told of what is tried.

    Raises:
        ExperimentError: There is no such kind or key, or nothing to fit.
    """
    if not tables:
        raise refuse("tables", "there is no table to fit to")
    nic = preset(start)
    if "gap" not in nic:
        raise refuse("--from", f"`{start}` has no parts that could be fitted", help="`loggp` has, and named interfaces")
    if latency is not None:
        picoseconds_of(latency)
    all_parts = parts_of(nic, latency)
    names = [part.key for part in all_parts] + [LIMIT, PROGRESS, RENDEZVOUS]
    for key in keep:
        if key not in names:
            raise refuse("--keep", f"`{key}` is none of what is fitted", allowed=names, help=nearest(key, names))
    search = _Search(tuple(tables), start, latency, [part for part in all_parts if part.key not in keep])
    return search.best(_choices(tables, nic, keep), watcher)


def _choices(tables: Sequence[Table], nic: Mapping[str, Any], keep: Sequence[str]) -> list[dict[str, Any]]:
    """What is chosen from a list.

    That are limits between sizes that were measured; of an interface without a name, who moves long messages; and
    progress, if the processor was looked at.
    """
    sizes = sorted({row.size for table in tables if table.measure != LEFT for row in table.rows})
    of = {
        LIMIT: [f"{size} B" for size in sizes if LIMITS[0] <= size <= LIMITS[1]],
        RENDEZVOUS: ["write", "read"] if nic["kind"] == "loggp" else [],
        PROGRESS: ["calls", "independent", "interrupt"] if any(table.measure == LEFT for table in tables) else [],
    }
    open_ = {key: words for key, words in of.items() if words and key not in keep}
    if LIMIT not in open_ and LIMIT not in nic:
        open_.pop(RENDEZVOUS, None)
    return [dict(zip(open_, words, strict=True)) for words in product(*open_.values())]


@dataclass
class _Search:
    tables: tuple[Table, ...]
    start: str
    latency: str | None
    parts: list[Part]
    runs: int = 0
    known: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def best(self, choices: Sequence[Mapping[str, Any]], watcher: Callable[[str], None] | None) -> Fit:
        """The choice with the least errors, and its values."""
        begin = np.array([math.log(value) for value in self._guesses()])
        tried = []
        for number, chosen in enumerate(choices):
            if watcher is not None:
                watcher(f"{number + 1}/{len(choices)}: {', '.join(f'{key} = {own}' for key, own in chosen.items())}")
            tried.append(self._fit(chosen, begin, STEPS_TRIED))
        # Of choices that are as good, the first: what no row tells apart.
        order = sorted(range(len(tried)), key=lambda number: (round(tried[number][1], 6), number))
        found = [
            (choices[place], self._fit(choices[place], logs, STEPS))
            for place in order[:FINALISTS]
            for logs in self._divided(tried[place][0])
        ]
        chosen, (logs, _, jacobian) = min(found, key=lambda own: round(own[1][1], 9))
        return self._outcome(chosen, logs, jacobian)

    def _divided(self, logs: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """The same, and with the sum of both overheads divided otherwise: latencies know only that sum."""
        keys = [part.key for part in self.parts]
        found = [logs]
        if {"send_overhead", "receive_overhead"} <= set(keys):
            ends = [keys.index("send_overhead"), keys.index("receive_overhead")]
            total = np.exp(logs[ends]).sum()
            for share in SHARES:
                other = logs.copy()
                other[ends] = np.log(total * np.array([share, 1.0 - share]))
                found.append(other)
        return found

    def _guesses(self) -> list[float]:
        """Where the search starts: what can be read off the tables, and else the kind's own values."""
        found = {part.key: part.start for part in self.parts}
        rates = [rate for table in self.tables if (rate := _rate_of(table)) is not None]
        peaks = [peak for table in self.tables if (peak := _peak_of(table)) is not None]
        least = [table.rows[0].value * 1e3 for table in self.tables if table.measure == TIME]
        if peaks and "bus.bandwidth" in found:
            found["bus.bandwidth"] = 8.0 * max(peaks)
        if peaks and "gap_per_byte" in found:
            found["gap_per_byte"] = 1e12 / max(peaks)
        if rates and "gap" in found:
            found["gap"] = 1e12 / max(rates)
        ends = [key for key in ("send_overhead", "receive_overhead", PATH) if key in found]
        share = min(least) / sum(found[key] for key in ends) if least and ends else 1.0
        for key in ends:
            found[key] *= share
            if rates and key != PATH:
                found[key] = min(found[key], 0.9e12 / max(rates))
        return [min(max(found[part.key], part.bounds[0]), part.bounds[1]) for part in self.parts]

    def _fit(
        self, chosen: Mapping[str, Any], begin: NDArray[np.float64], steps: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """From logarithms of values on: those found, the sum of squares, and what depends on what."""
        from scipy.optimize import least_squares

        low, high = np.log(np.array([part.bounds for part in self.parts]).T)
        started = np.log(np.array([part.start for part in self.parts]))

        def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([self._residuals(chosen, np.exp(logs)), HOLD * (logs - started)])

        def jacobian(logs: NDArray[np.float64]) -> NDArray[np.float64]:
            # Steps that are large beside what whole picoseconds round off.
            steps = PROBE * np.eye(len(logs))
            return np.stack([(residuals(logs + own) - residuals(logs)) / PROBE for own in steps], axis=1)

        if not self.parts:
            own = self._residuals(chosen, np.array([]))
            return begin, float(own @ own), np.zeros((len(own), 0))
        inside = np.clip(begin, low + 1e-9, high - 1e-9)
        found = least_squares(residuals, inside, jac=jacobian, bounds=(low, high), max_nfev=steps, xtol=1e-6, ftol=1e-7)
        own = self._residuals(chosen, np.exp(found.x))
        return found.x, float(own @ own), jacobian(found.x)[: len(own)]

    def _outcome(self, chosen: Mapping[str, Any], logs: NDArray[np.float64], jacobian: NDArray[np.float64]) -> Fit:
        """What is written: rounded values, and what they give."""
        values = [part.rounded(value) for part, value in zip(self.parts, np.exp(logs), strict=True)]
        told = np.linalg.norm(jacobian, axis=0) > TOLD
        # What has come so near to nothing that no row tells it any more stays there.
        moved = [abs(log - math.log(part.start)) > MOVED for part, log in zip(self.parts, logs, strict=True)]
        kept = [not is_told and not has_moved for is_told, has_moved in zip(told, moved, strict=True)]
        values = [part.start if is_kept else own for own, is_kept, part in zip(values, kept, self.parts, strict=True)]
        fitted = self._run(chosen, values)
        residuals = self._residuals(chosen, np.array(values))
        spread = float(residuals @ residuals) / max(1, len(residuals) - int(told.sum()))
        inverse = np.linalg.pinv(jacobian.T @ jacobian + HOLD**2 * np.eye(len(values))) if values else np.zeros((0, 0))
        errors = [
            math.sqrt(max(0.0, spread * inverse[place, place])) if told[place] else math.inf
            for place in range(len(values))
        ]
        own = tuple(Value(part, value, error) for part, value, error in zip(self.parts, values, errors, strict=True))
        delay = next((value.value for value in own if value.part.key == PATH), None)
        path = picoseconds_of(self.latency) if delay is None and self.latency is not None else delay or 0.0
        return Fit(self.start, own, chosen, tuple(fitted), path, self.runs)

    def _residuals(self, chosen: Mapping[str, Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
        fitted = self._run(chosen, values.tolist())
        logs = [
            math.log(own / row.value) for one in fitted for own, row in zip(one.values, one.table.rows, strict=True)
        ]
        return np.array(logs)

    def _run(self, chosen: Mapping[str, Any], values: Sequence[float]) -> list[Fitted]:
        """What an interface gives in each table; the same interface is run once."""
        texts = {
            part.key: f"{round(value)} {'ps' if part.is_time else 'b/s'}"
            for part, value in zip(self.parts, values, strict=True)
        }
        path = texts.pop(PATH, self.latency or "200 ns")
        nic = _nic(self.start, texts, chosen)
        return [Fitted(table, self._simulated(table, nic, path)) for table in self.tables]

    def _simulated(self, table: Table, nic: Mapping[str, Any], path: str) -> tuple[float, ...]:
        name = repr((table.name, table.rows[0].line, nic, path))
        if name not in self.known:
            self.known[name] = simulated(table, nic, path)
            self.runs += 1
        return self.known[name]


def _rate_of(table: Table) -> float | None:
    """Messages a second of the smallest size, of a window of them."""
    row = table.rows[0]
    if table.measure == RATE:
        return row.value
    return row.value / max(1, row.size) if table.measure == BANDWIDTH else None


def _peak_of(table: Table) -> float | None:
    """Bytes a second of the largest messages."""
    if table.measure == BANDWIDTH:
        return max(row.value for row in table.rows) / (2.0 if table.kind == "osu-bibw" else 1.0)
    if table.measure == TIME and table.rows[-1].size:
        return table.rows[-1].size / (table.rows[-1].value * 1e-9)
    return None


def simulated(table: Table, nic: Mapping[str, Any], path: str) -> tuple[float, ...]:
    """What the simulator's benchmark gives in the rows of a table, in its unit.

    Raises:
        ExperimentError: The interface is none.
    """
    benchmark: dict[str, Any] = {"kind": table.kind}
    if table.kind == "comb-polling":
        benchmark |= {"message_size": f"{table.message} B", "intervals": [f"{row.size} ns" for row in table.rows]}
    else:
        benchmark |= {"sizes": [f"{row.size} B" for row in table.rows], "repetitions": REPETITIONS, "warm_up": WARM_UP}
    if table.window is not None:
        benchmark["window"] = table.window
    pairs = table.kind == "osu-mbw-mr"
    experiment = built(
        None,
        None,
        topology={"kind": "flat", "nodes": 2 if pairs else table.ranks},
        link={"bandwidth": LINK, "delay": path},
        nic=dict(nic),
        workload={"kind": "benchmark", "benchmark": benchmark},
        placement={"strategy": "contiguous", "processes_per_node": table.ranks // 2 if pairs else 1},
    )
    ran = sweeps.run(experiment, sweeps.Effort(1, 1), None)
    return tuple(float(row[table.measure]) for row in ran.points[0]["benchmark_rows"])
