"""Figures from tables of results. They do not depend on the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cutthrough.files.atomic as atomic
from cutthrough.channels import Stored
from cutthrough.plots import activity, bars, curves, details, heat, surfaces, tables
from cutthrough.plots import measures as program_times
from cutthrough.plots import messages as message_times
from cutthrough.plots.theme import STYLE, looks
from cutthrough.points.activity import has_breakdown, has_timeline
from cutthrough.points.benchmarks import has_table
from cutthrough.points.series import label_of, name_of
from cutthrough.points.table import MANY_PHASES, has_operations, phase_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from cutthrough.channels import ChannelLoads
    from cutthrough.points.table import PointTable

__all__ = ["STYLE", "channels", "faceted", "figure", "heat_maps", "looks", "save", "surface", "write"]

#: The figures that can have a panel for each value of a key.
CURVES: dict[str, Callable[[PointTable, str], Figure]] = {
    "latency": curves.latency,
    "operations": curves.operations,
    "throughput": curves.throughput,
    "slowdown": curves.slowdown,
}
FIGURES: dict[str, Callable[[PointTable], Figure]] = {
    "latency": curves.latency,
    "operations": curves.operations,
    "throughput": curves.throughput,
    "slowdown": curves.slowdown,
    "completion": bars.completion,
    "phases": bars.phases,
    "messages": message_times.messages,
    "benchmark": tables.benchmark,
    "measures": program_times.measures,
    "sizes": details.message_sizes,
    "distribution": details.distribution,
    "series": details.time_series,
    "breakdown": activity.breakdown,
    "critical-path": activity.critical_path,
    "timeline": activity.timeline,
}


def figure(results: PointTable, quantity: str = "latency") -> Figure:
    """Draws one figure.

    Args:
        results: The points.
        quantity: `latency` or `throughput`; `operations` for collective traffic; `completion` or `phases` for a closed
            workload; `messages` for a benchmark, or `benchmark` if it gives a table; `measures` for a program that
            measures times; `slowdown` for jobs that were compared with runs alone; `sizes` or `distribution` for
            measured messages; `series` for a time series; `breakdown`, `critical-path` or `timeline` for ranks whose
            time is known.

    Raises:
        ValueError: The figure does not exist, or there is no point to draw.
    """
    if quantity not in FIGURES:
        message = f"no figure of {quantity!r}; there are {', '.join(FIGURES)} and channels"
        raise ValueError(message)
    _check_points(results)
    with looks():
        return FIGURES[quantity](results)


def faceted(results: PointTable, quantity: str, facets: str) -> Figure:
    """Draws curves with a panel for each value of a key.

    Args:
        results: The points.
        quantity: `latency`, `operations`, `throughput` or `slowdown`.
        facets: The key; `job` for a panel for each job.

    Raises:
        ValueError: The figure or the key does not exist, there is no point to draw, or the key has too many values.
    """
    if quantity not in CURVES:
        message = f"facets are of {', '.join(CURVES)}, and of heat maps; {quantity!r} has none"
        raise ValueError(message)
    _check_points(results)
    with looks():
        return CURVES[quantity](results, facets)


def surface(results: PointTable, quantity: str, keys: tuple[str | None, str], facets: str | None = None) -> Figure:
    """Draws heat maps of a quantity over two keys of the sweep; see `surfaces.surface`.

    Raises:
        ValueError: The key or the quantity does not exist, there is no point to draw, or more keys are swept than the
            figure has.
    """
    _check_points(results)
    with looks():
        return surfaces.surface(results, quantity, keys, facets)


def _check_points(results: PointTable) -> None:
    if not results.points:
        message = "no points to plot"
        raise ValueError(message)


def channels(results: PointTable, place: int | None = None) -> Figure:
    """Draws heat maps of the channels of a point. Default: the point with the hottest channel.

    Raises:
        ValueError: Its channels are not known.
    """
    if place is None:
        place = results.hottest_place()
    return heat_maps(results.channel_loads(place), _title(results, place))


def heat_maps(loads: ChannelLoads, title: str = "") -> Figure:
    """Draws heat maps of a table of channels."""
    with looks():
        return heat.heat_maps(loads, title)


def save(
    results: PointTable, directory: Path, formats: Sequence[str] = ("png",), places: Sequence[int] | None = None
) -> list[Path]:
    """Writes the figures in every format into a directory. Returns the paths, beginning with those of the points.

    Args:
        results: The points.
        directory: The directory, which is created if it does not exist.
        formats: `png`, `svg`, `pdf`.
        places: The points whose channels are drawn. Default: the point with the hottest channel.
    """
    atomic.make_folder(directory)
    paths = [path for name in _names(results) for path in write(figure(results, name), directory / name, formats)]
    if places is None:
        hottest = results.hottest_place()
        places = [hottest] if hottest in results.shown_places() else []
    for place in places:
        paths += write(channels(results, place), Stored.path(directory, place, ""), formats)
    return paths


def _names(results: PointTable) -> list[str]:
    """Returns the figures that suit what was run and measured."""
    return [*_main_names(results), *_detail_names(results)]


def _detail_names(results: PointTable) -> list[str]:
    """Returns the figures of messages, time series and times of ranks, if these were measured."""
    messages = [point["messages"] for point in results.by_job() if point.get("messages")]
    named = {
        "sizes": any(len(own["sizes"]) > 1 for own in messages),
        "distribution": any(own["distribution"] for own in messages),
        "series": any(point.get("series") for point in results),
        "breakdown": any(map(has_breakdown, results.by_job())),
        "critical-path": any(map(has_breakdown, results.by_job())),
        "timeline": any(map(has_timeline, results.by_job())),
    }
    return [name for name, is_there in named.items() if is_there]


def _main_names(results: PointTable) -> list[str]:
    keys = {key for point in results for key in point}
    if "jobs" in keys:
        compared = any("slowdown" in job for point in results for job in point.get("jobs", ()))
        begun = any("operations" in job and "phases" not in job for point in results for job in point.get("jobs", ()))
        return ["latency", *(["operations"] if begun else []), "throughput", *(["slowdown"] if compared else [])]
    if "pairs" in keys:
        return ["messages"]
    if "phases" in keys:
        many = any(len(phase_times(point)) > MANY_PHASES for point in results)
        if any(map(has_table, results)):
            return ["benchmark"] if any(point.get("benchmark_kind") != "connection-memory" for point in results) else []
        measured = ["measures"] if any(point.get("measures") for point in results) else []
        return ["completion", *(["phases"] if many else []), *measured]
    if any(map(has_operations, results)):
        return ["operations", "throughput"]
    return ["latency", *(["operations"] if "operations" in keys else []), "throughput"]


def _title(results: PointTable, place: int) -> str:
    """Returns the title of a point, in the words of its sweep."""
    point = results.points[place]
    keys = [axis for axis in results.axes if axis in point]
    return ": ".join(filter(None, (results.title, name_of(keys, [label_of(point[key]) for key in keys]))))


def write(drawn: Figure, stem: Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Writes a figure as `stem.FORMAT`, without a date: equal results give equal bytes.

    Each write is atomic.

    Raises:
        Unwritable: A file cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}.{extension}") for extension in formats]
    with looks():
        # The layout is computed once: a format's resolution would shift it slightly, and change what is written next.
        drawn.draw_without_rendering()
        drawn.set_layout_engine("none")
        for path in paths:
            with atomic.replacing(path) as aside:
                drawn.savefig(aside, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
