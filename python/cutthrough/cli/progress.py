"""The display of progress, on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cutthrough.cli.common import complain, err

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["Bar", "Lines", "Live"]

#: Seconds between two lines of progress: if a point has finished, and otherwise.
POINT_S, LINE_S = 2.0, 10.0
#: Greatest rounding error of a sum of finished parts of points below a whole number.
ROUNDING = 1e-9


class Live:
    """A display that is shown during a run or a search."""

    _progress: Progress

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()


class Bar(Live):
    """A progress bar over all points, with the time left. Writes lines of text where the output is no terminal."""

    def __init__(self, quiet_s: float = 0.0) -> None:
        """Creates the bar. Lines of text begin after `quiet_s` seconds."""
        columns = (
            TextColumn("{task.fields[phase]:<10}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[points]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task("", total=1.0, phase="", points="")
        self._begun = False
        self._lines = None if err.is_terminal else Lines(quiet_s)

    def update(self, done: float, total: int, phase: str) -> None:
        """Shows the progress of a run (see `sweeps.Watcher`)."""
        points = f"{int(done)}/{total} points"
        if not self._begun:
            # Points that finished before this run do not count for its speed.
            self._begun = True
            self._progress.reset(self._task, total=total, completed=int(done), phase=phase, points=points)
        self._progress.update(self._task, completed=done, total=total, phase=phase, points=points)
        if self._lines is not None:
            self._lines.update(done, total, phase)


class Lines:
    """Progress as lines on standard error: the first and the last finished point, and one every few seconds between."""

    def __init__(self, quiet_s: float = 0.0) -> None:
        self._started = self._written = time.monotonic()
        self._quiet_until = self._started + quiet_s
        self._finished = 0
        self._before: int | None = None

    def update(self, done: float, total: int, phase: str) -> None:
        """Writes a line if a point has finished, or if some time has passed since the last line."""
        now = time.monotonic()
        # Rounding may leave a finished point slightly below a whole number.
        finished = int(done + ROUNDING)
        if self._before is None:
            # Points that were finished before this run took it no time.
            self._before = finished if finished < total else 0
        pause = now - self._written
        news = finished > self._finished and (pause >= POINT_S or finished == total or self._finished == 0)
        if now < self._quiet_until or (not news and pause < LINE_S):
            return
        self._finished, self._written = finished, now
        running = f", {phase}" if phase and finished < total else ""
        here = done - self._before
        left = (now - self._started) * (total - done) / here if here > 0 else None
        rest = f", about {left:,.0f} s left" if left is not None and finished < total else ""
        complain(f"{finished}/{total} points ({done / total:.0%}) after {now - self._started:,.0f} s{running}{rest}")
