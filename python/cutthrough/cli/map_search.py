"""The searches of `cutthrough map`, with a progress bar, and the mappings that they have found."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cutthrough.cli.common import complain, err
from cutthrough.cli.progress import LINE_S, POINT_S, Live
from cutthrough.mapping import Machine, MappingResult, SearchInterrupted, TaskGraph, map_tasks
from cutthrough.mapping.evaluation import Links, simulate

if TYPE_CHECKING:
    from cutthrough.cli.map_programs import Placed

__all__ = ["OTHER_OBJECTIVE", "Search"]

#: The objective of `auto` that is tried first where the simulated time decides.
OTHER_OBJECTIVE = "hop-bytes"


class Bar(Live):
    """A bar for a search. Writes a line every few seconds where the output is no terminal."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description:<24}"), BarColumn(bar_width=None), TimeElapsedColumn())
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task("", total=1.0)
        self._started = self._written = time.monotonic()

    def finish(self, what: str) -> None:
        """Writes that a step has finished, where the output is no terminal and the step has taken some time."""
        now = time.monotonic()
        if not err.is_terminal and now - self._written >= POINT_S:
            self._written = now
            complain(f"{what} after {now - self._started:,.0f} s")

    def update(self, fraction: float, phase: str) -> None:
        """Shows the progress of a search (see `solving.Watcher`)."""
        self._progress.update(self._task, completed=fraction, description=phase)
        now = time.monotonic()
        if not err.is_terminal and now - self._written >= LINE_S:
            self._written = now
            complain(f"{phase}: {fraction:.0%} after {now - self._started:,.0f} s")


@dataclass
class Search:
    """The searches of a command, and the mappings that they have found.

    Attributes:
        graph: The tasks.
        machine: The machine on which the tasks may run.
        options: The options of `map_tasks` that all searches share.
        placed: The program whose ranks are the tasks, if there is one.
        found: The mappings that have been found.
        steps: Simulated steps of `compared`, if all have been simulated.
        interrupted: Whether the user has ended the search.
    """

    graph: TaskGraph
    machine: Machine
    options: dict[str, Any]
    placed: Placed | None = None
    found: list[MappingResult] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def compared(self) -> list[MappingResult]:
        """The mappings that have been found, and the default placement."""
        known = any(mapping.strategy == self.default.strategy for mapping in self.found)
        return self.found if known else [*self.found, self.default]

    def run(self, searches: list[tuple[str, str | None]], links: Links | None) -> None:
        """Searches by each strategy and objective and, given links, simulates the mappings. Ctrl-C ends it."""
        self.default = self._unsought()
        with Bar() as bar:
            try:
                for number, (name, objective) in enumerate(searches, 1):
                    self._add(
                        map_tasks(self.graph, self.machine, name, objective=objective, watcher=bar, **self.options),
                        objective,
                    )
                    bar.finish(f"{number}/{len(searches)} searches, {name},")
                if links is not None:
                    self.steps = [self._step(mapping, links, bar) for mapping in self.compared]
                    bar.finish(f"{len(self.steps)}/{len(self.steps)} mappings simulated")
            except SearchInterrupted as ended:
                self.found.append(ended.result)
                self.interrupted = True
            except KeyboardInterrupt:
                self.interrupted = True

    def _unsought(self) -> MappingResult:
        """Returns the default placement: the experiment's, or tasks in order."""
        if self.placed is not None:
            return self.placed.default
        # Only `auto` has an objective.
        return map_tasks(self.graph, self.machine, "identity", **self.options)

    def _step(self, mapping: MappingResult, links: Links, bar: Bar) -> dict[str, Any]:
        """Simulates a step, or the whole program. Returns its time and the most used channels."""
        bar.update(0.0, f"simulating {mapping.strategy}")
        point = simulate(mapping, links).points[0] if self.placed is None else self.placed.run(mapping)
        used = [{"channel": row["channel"], "utilization": row["utilization"]} for row in point["hottest_channels"]]
        return {"step_time_ns": point["time_ns"], "step_phases": point["phases"], "step_hottest_channels": used}

    def _add(self, mapping: MappingResult, objective: str | None) -> None:
        """Adds a mapping, unless the same strategy has found it before. Names objectives where they differ."""
        name = mapping.strategy
        for at, other in enumerate(self.found):
            if other.strategy == name and (other.places == mapping.places).all():
                return
            if other.strategy == name and objective is not None:
                self.found[at] = replace(other, strategy=f"{name} ({OTHER_OBJECTIVE})")
                mapping = replace(mapping, strategy=f"{name} ({objective})")
        self.found.append(mapping)
