"""Results by pattern, series and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutthrough.reproduce import average

from .runs import SIZES, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cutthrough.reproduce import Measured
    from cutthrough.results import Results

#: Ratio of half a 95 % interval to half a 99 % interval, which the points have.
NARROWER = 1.960 / 2.576


@dataclass(frozen=True)
class Found:
    """Results by pattern, series and size."""

    results: Mapping[str, Results]

    def has(self, *name: str) -> bool:
        """Returns whether a run exists."""
        return "/".join(name) in self.results

    def value(self, *name: str, quantity: str = "") -> float:
        """Returns a quantity of a run, as a mean over seeds. Default: as for `values`."""
        values = self.values(*name, quantity=quantity)
        return sum(values) / len(values)

    def values(self, *name: str, quantity: str = "") -> list[float]:
        """Returns a quantity of a run, for each seed. Default: the accepted load, or the throughput of an exchange."""
        results = self.results["/".join(name)]
        points = results.replicas or results
        own = quantity or ("throughput" if "throughput" in points[0] else "accepted_load")
        return [float(point[own]) for point in points]

    def accepted(self, pattern: str, series: str, size: Size) -> Measured:
        """Returns accepted load with half of its 95 % interval: over seeds, or of the only run.

        An exchange has none.
        """
        values = self.values(pattern, series, size.name)
        if len(values) > 1:
            return average(values)
        point = self.results[f"{pattern}/{series}/{size.name}"][0]
        return values[0], NARROWER * float(point.get("accepted_load_ci") or 0.0)

    def exact(self, pattern: str, series: str, size: Size) -> float:
        """Returns the exact bound on the throughput."""
        return self.value("exact", pattern, series, size.name, quantity="throughput_bound")

    def sizes(self, pattern: str, series: str, keep: Callable[[Size], bool] = lambda size: size.balanced) -> list[Size]:
        """Returns the sizes that were run and satisfy `keep`, the smallest first. Default: balanced sizes."""
        return [size for size in SIZES if self.has(pattern, series, size.name) and keep(size)]
