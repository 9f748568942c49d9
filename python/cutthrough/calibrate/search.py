"""The search of a fit: least squares of the logarithms of simulated over measured values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.calibrate.guesses import guesses
from cutthrough.calibrate.outcome import Fit, Fitted, Value, section_of
from cutthrough.calibrate.parts import PATH, Part
from cutthrough.calibrate.tables import BANDWIDTH, RATE
from cutthrough.calibrate.trials import simulated
from cutthrough.programs.amounts import picoseconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cutthrough.calibrate.tables import Table

__all__ = ["Search"]

#: Weight of a part's distance from its start, relative to an equal error of a row. Parts that the tables do not
#: determine stay at their start, and two parts that share a sum keep their shares.
HOLD = 0.02
#: Steps of the search with each tried choice, from each other starting point, and from the best of them to the end.
STEPS_TRIED, STEPS_DIVIDED, STEPS = 6, 15, 40
#: Number of choices that are searched from other starting points too.
FINALISTS = 3
#: Shares of the send overhead in the sum of both overheads that serve as further starting points.
SHARES = (0.2, 0.5, 0.8)
#: Change of a part's logarithm for a finite difference.
PROBE = 0.02
#: Change of all rows by a change of the part from which the tables determine it.
DETERMINED = 0.02
#: Bytes of the largest messages of windows that the search runs. A window of larger messages takes as long to run as
#: the rest of its table, and adds nothing where other messages cross at the full rate.
SEARCHED, FULL_RATE = 1 << 19, 1 << 16
#: Change of a part's logarithm from which the part has moved from its start.
MOVED = 0.05


@dataclass
class Search:
    """A search for the parts of an interface.

    Attributes:
        tables: The measured tables.
        start: The kind of `[nic]` to start from.
        latency: The delay of the path between the nodes. None if it is one of the parts.
        parts: The fitted quantities.
        runs: Number of benchmarks that were run.
        known: Simulated values, by table and interface.
    """

    tables: tuple[Table, ...]
    start: str
    latency: str | None
    parts: list[Part]
    runs: int = 0
    known: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def best(self, choices: Sequence[Mapping[str, Any]], watcher: Callable[[str], None] | None) -> Fit:
        """Returns the fit of the choice with the least errors."""
        begin = np.array([math.log(value) for value in guesses(self.tables, self.parts)])
        tried = []
        for number, chosen in enumerate(choices):
            if watcher is not None:
                watcher(f"{number + 1}/{len(choices)}: {', '.join(f'{key} = {own}' for key, own in chosen.items())}")
            tried.append(self._fit(chosen, begin, STEPS_TRIED))
        # The first of equally good choices wins: no row distinguishes them.
        order = sorted(range(len(tried)), key=lambda number: (round(tried[number][1], 6), number))
        found = [
            (choices[place], self._fit(choices[place], logs, STEPS_DIVIDED))
            for place in order[:FINALISTS]
            for logs in self._divided(tried[place][0])
        ]
        chosen, (logs, _, _) = min(found, key=lambda own: round(own[1][1], 9))
        logs, _, jacobian = self._fit(chosen, logs, STEPS)
        return self._outcome(chosen, logs, jacobian)

    def _divided(self, logs: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Returns the starting point, and copies of it with other divisions of the sum of both overheads.

        Latencies determine only that sum.
        """
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

    def _fit(
        self, chosen: Mapping[str, Any], begin: NDArray[np.float64], steps: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Fits the parts, starting from the logarithms of values in `begin`.

        Returns the fitted logarithms, the sum of squares, and the Jacobian.
        """
        from scipy.optimize import least_squares

        low, high = np.log(np.array([part.bounds for part in self.parts]).T)
        started = np.log(np.array([part.start for part in self.parts]))

        def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([self._residuals(chosen, np.exp(logs)), HOLD * (logs - started)])

        def jacobian(logs: NDArray[np.float64]) -> NDArray[np.float64]:
            # Steps are large beside the rounding to whole picoseconds.
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
        """Returns the fit with rounded values, and the simulated tables that they give."""
        values = [part.rounded(value) for part, value in zip(self.parts, np.exp(logs), strict=True)]
        determined = np.linalg.norm(jacobian, axis=0) > DETERMINED
        # A part that has moved so near to 0 that no row determines it any more stays there.
        moved = [abs(log - math.log(part.start)) > MOVED for part, log in zip(self.parts, logs, strict=True)]
        kept = [not is_determined and not has_moved for is_determined, has_moved in zip(determined, moved, strict=True)]
        values = [part.start if is_kept else own for own, is_kept, part in zip(values, kept, self.parts, strict=True)]
        fitted = self._run(chosen, values, self.tables)
        residuals = self._residuals(chosen, np.array(values))
        spread = float(residuals @ residuals) / max(1, len(residuals) - int(determined.sum()))
        inverse = np.linalg.pinv(jacobian.T @ jacobian + HOLD**2 * np.eye(len(values))) if values else np.zeros((0, 0))
        errors = [
            math.sqrt(max(0.0, spread * inverse[place, place])) if determined[place] else math.inf
            for place in range(len(values))
        ]
        own = tuple(Value(part, value, error) for part, value, error in zip(self.parts, values, errors, strict=True))
        delay = next((value.value for value in own if value.part.key == PATH), None)
        path = picoseconds_of(self.latency) if delay is None and self.latency is not None else delay or 0.0
        return Fit(self.start, own, chosen, tuple(fitted), path, self.runs)

    def _residuals(self, chosen: Mapping[str, Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
        fitted = self._run(chosen, values.tolist(), self.searched)
        logs = [
            math.log(own / row.value) for one in fitted for own, row in zip(one.values, one.table.rows, strict=True)
        ]
        return np.array(logs)

    @cached_property
    def searched(self) -> tuple[Table, ...]:
        """The tables without rows that cost time and add nothing."""
        return tuple(_brief(table) for table in self.tables)

    def _run(self, chosen: Mapping[str, Any], values: Sequence[float], tables: Sequence[Table]) -> list[Fitted]:
        """Returns the values that an interface gives in each table. Each interface is run once."""
        texts = {
            part.key: f"{round(value)} {'ps' if part.is_time else 'b/s'}"
            for part, value in zip(self.parts, values, strict=True)
        }
        path = texts.pop(PATH, self.latency or "200 ns")
        nic = section_of(self.start, texts, chosen)
        return [Fitted(table, self._simulated(table, nic, path)) for table in tables]

    def _simulated(self, table: Table, nic: Mapping[str, Any], path: str) -> tuple[float, ...]:
        name = repr((table.name, table.rows[0].line, len(table.rows), nic, path))
        if name not in self.known:
            self.known[name] = simulated(table, nic, path)
            self.runs += 1
        return self.known[name]


def _brief(table: Table) -> Table:
    """Returns a table of windows without its largest messages, if others of it cross at the full rate."""
    kept = tuple(row for row in table.rows if row.size <= SEARCHED)
    says = sum(row.size >= FULL_RATE for row in kept)
    return replace(table, rows=kept) if table.measure in {BANDWIDTH, RATE} and says > 1 else table
