"""The figures of the time of ranks: times by activity, the critical path, and the timeline."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cutthrough.display.units import time_unit
from cutthrough.plots.legends import below, title_of
from cutthrough.plots.theme import in_lines
from cutthrough.points.activity import PARTS, has_breakdown, has_timeline, path_parts
from cutthrough.points.series import brief_labels, label_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from cutthrough.points.table import Point, PointTable

    Doubles = npt.NDArray[np.float64]

__all__ = ["breakdown", "critical_path", "ordinal", "slowest", "timeline"]

#: Greatest number of bars in a figure. Beyond it neighbouring ranks share a bar.
MOST_BARS = 64
#: Greatest number of points in a figure. Beyond it the slowest are drawn.
MOST_POINTS = 4
#: Greatest number of rows in a timeline. Beyond it neighbouring ranks share a row.
MOST_ROWS = 256
#: Number of time steps of a timeline whose ranks share rows.
STEPS = 1200
#: Greatest number of messages in a timeline. Beyond it only messages of the critical path are drawn.
MOST_MESSAGES = 600
#: Colours of activities, which differ in grey too: work is dark, waiting light.
COLOURS = {
    "computing": "#2c7a4b",
    "overhead": "#d9822b",
    "late sender": "#c9a9dd",
    "late receiver": "#8f5db7",
    "transfer": "#9cc4e4",
    "ended": "#eeeeee",
    "noise": "#b23b3b",
}
#: Lightness of the class's colour for the parts of a critical path at its channels.
TINTS = {"sending": 0.0, "delay": 0.45, "waiting": 0.75}
#: Colours of classes of channels, and of the path outside channels.
CLASSES = ("#1f5fa8", "#7a3e9d", "#a8511f", "#1f8a8a", "#8a7a1f", "#5a5a9d", "#9d3e6a")
OUTSIDE = {"routers": "#8c8c8c", "interfaces": "#5c5c5c", "network, unresolved": "#cfcfcf"}
PATH = "#b2182b"


def breakdown(results: PointTable) -> Figure:
    """Draws a bar of times by activity for each rank. Neighbours share a bar, their mean, if there are many ranks.

    Raises:
        ValueError: No time of ranks was measured.
    """
    held = slowest(results.by_job(), has_breakdown)
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(1.35 * width, height * (0.6 + 0.5 * len(held)))
    unit, scale = time_unit(_total(point) for _, point in held)
    used: dict[str, None] = {}
    for axes, (label, point) in zip(_rows(figure, len(held)), held, strict=True):
        _bars(axes, point["breakdown"]["ranks"], scale, used)
        axes.set_ylabel(f"Time ({unit})")
        axes.set_title(in_lines(label), fontsize="medium", loc="left")
    axes.set_xlabel("Rank")
    below(figure, [Patch(color=COLOURS[name]) for name in used], list(used))
    _title(figure, title_of(figure, results.title, "time of ranks"))
    return figure


def _bars(axes: Axes, ranks: Mapping[str, Sequence[float]], scale: float, used: dict[str, None]) -> None:
    """Draws the bars of a point. Notes the activities that occur in `used`."""
    count = len(ranks["computing_ns"])
    size = -(-count // MOST_BARS)
    first = np.arange(0, count, size)
    shared = np.diff(np.append(first, count))
    bottom = np.zeros(len(first))
    for name, words in PARTS.items():
        times = scale * np.add.reduceat(np.asarray(ranks[name], np.float64), first) / shared
        if times.any():
            used[words] = None
        width = shared * (0.86 if count <= MOST_BARS else 1.0)
        axes.bar(first + (shared - 1) / 2, times, bottom=bottom, color=COLOURS[words], linewidth=0, width=width)
        bottom += times
    axes.set_xlim(-0.5 - 0.01 * count, count - 0.5 + 0.01 * count)
    axes.grid(visible=False, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def critical_path(results: PointTable) -> Figure:
    """Draws a bar for each point of the parts of its critical path: computing, overheads, and each class of channels.

    Raises:
        ValueError: No time of ranks was measured.
    """
    held = slowest(results.by_job(), has_breakdown, 12)
    figure = Figure()
    axes = figure.add_subplot()
    width, height = figure.get_size_inches()
    figure.set_size_inches(1.35 * width, height * (0.45 + 0.12 * len(held)))
    parts = [path_parts(point["critical_path"]) for _, point in held]
    unit, scale = time_unit(sum(time for *_, time in own) for own in parts)
    left = np.zeros(len(held))
    names = list(dict.fromkeys((group, what) for own in parts for group, what, time in own if time > 0.0))
    classes = list(dict.fromkeys(group for own in parts for group, *_ in own if group))
    times = [{(group, what): time for group, what, time in own} for own in parts]
    handles, labels = [], []
    for group, what in names:
        colour = _path_colour(group, what, classes)
        lengths = scale * np.asarray([own.get((group, what), 0.0) for own in times])
        axes.barh(np.arange(len(held)), lengths, left=left, color=colour, height=0.62, linewidth=0)
        handles.append(Patch(color=colour))
        labels.append(f"{group}: {what}" if group else what)
        left += lengths
    axes.set_yticks(np.arange(len(held)), [label for label, _ in held])
    axes.set_ylim(len(held) - 0.4, -0.6)
    axes.set_xlabel(f"Time ({unit})")
    axes.grid(visible=False, axis="y")
    below(figure, handles, labels)
    axes.set_title(title_of(figure, results.title, "critical path"))
    return figure


def _path_colour(group: str, what: str, classes: Sequence[str]) -> Any:
    """Returns the colour of a part. A class of channels has one colour, lighter where the path waits."""
    if not group:
        return COLOURS.get(what) or OUTSIDE[what]
    base = CLASSES[classes.index(group) % len(CLASSES)]
    channel = np.asarray([int(base[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return tuple(channel + (1.0 - channel) * TINTS[what])


def timeline(results: PointTable) -> Figure:
    """Draws the activities of ranks over time, a row each, with messages as lines and the critical path in red.

    If there are more ranks than rows, neighbours share a row, which has the colour of the activity of most of them. If
    there are many messages, only those of the critical path are drawn.

    Raises:
        ValueError: No timeline of ranks was measured.
    """
    held = slowest(results.by_job(), has_timeline)
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(1.6 * width, height * (0.35 + 0.95 * len(held)))
    unit, scale = time_unit(point["timeline"]["end_ns"] - point["timeline"]["start_ns"] for _, point in held)
    used: dict[str, None] = {}
    has_messages = False
    for axes, (label, point) in zip(_rows(figure, len(held)), held, strict=True):
        line = point["timeline"]
        _states(axes, line, scale, used)
        has_messages |= _messages(axes, line, scale)
        _path(axes, line, scale)
        axes.set_xlim(scale * line["start_ns"], scale * line["end_ns"])
        axes.set_ylabel("Rank" if line["every"] == 1 else f"Rank (every {ordinal(line['every'])})")
        axes.set_title(in_lines(label), fontsize="medium", loc="left")
        axes.grid(visible=False)
    axes.set_xlabel(f"Simulated time ({unit})")
    handles: list[Any] = [Patch(color=COLOURS[name]) for name in used]
    labels = list(used)
    if has_messages:
        handles.append(Line2D([], [], color="#333333", linewidth=0.6))
        labels.append("message")
    handles.append(Line2D([], [], color=PATH, linewidth=1.8))
    below(figure, handles, [*labels, "critical path"])
    _title(figure, title_of(figure, results.title, "timeline of ranks"))
    return figure


def _states(axes: Axes, line: Mapping[str, Any], scale: float, used: dict[str, None]) -> None:
    """Draws the states of ranks as rows of colours."""
    rank, every = np.asarray(line["rank"], np.int64), int(line["every"])
    state = np.asarray(line["state"], np.int64)
    begin, end = (scale * np.asarray(line[name], np.float64) for name in ("begin_ns", "interval_end_ns"))
    used.update(dict.fromkeys(line["states"][number] for number in np.unique(state)))
    rows = int(rank.max()) // every + 1
    if rows <= MOST_ROWS:
        # Gaps between many rows would hide their content.
        half = (0.42 if rows <= MOST_BARS else 0.5) * every
        for number in np.unique(state):
            held = state == number
            spans = [
                [(low, row - half), (high, row - half), (high, row + half), (low, row + half)]
                for row, low, high in zip(rank[held], begin[held], end[held], strict=True)
            ]
            colour = COLOURS[line["states"][number]]
            axes.add_collection(PolyCollection(spans, facecolors=colour, edgecolors="none", rasterized=True))
        axes.set_ylim((rows - 0.4) * every, -0.6 * every)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.imshow(
        _shared_rows(line, (rank, state, begin, end), scale),
        extent=(scale * line["start_ns"], scale * line["end_ns"], rows * every, 0),
        aspect="auto",
        interpolation="nearest",
    )


def _shared_rows(line: Mapping[str, Any], columns: Sequence[Any], scale: float) -> Doubles:
    """Returns the colour of each row and step of time: the most common activity of its ranks, white without any."""
    rank, state, begin, end = columns
    start, length = scale * line["start_ns"], scale * (line["end_ns"] - line["start_ns"])
    # Indices of the ranks that have been kept.
    place = rank // int(line["every"])
    row = place * MOST_ROWS // (int(place.max()) + 1)
    first = np.clip((begin - start) / length * STEPS, 0, STEPS)
    last = np.clip((end - start) / length * STEPS, 0, STEPS)
    share = np.zeros((len(line["states"]), MOST_ROWS, STEPS + 1))
    # Each interval adds its share of each step that it covers: its ends in parts, and all between by differences.
    steps, rest = np.floor(first).astype(np.int64), first - np.floor(first)
    np.add.at(share, (state, row, steps), 1.0 - rest)
    np.add.at(share, (state, row, np.minimum(steps + 1, STEPS)), rest)
    steps, rest = np.floor(last).astype(np.int64), last - np.floor(last)
    np.add.at(share, (state, row, steps), rest - 1.0)
    np.add.at(share, (state, row, np.minimum(steps + 1, STEPS)), -rest)
    share = np.cumsum(share, axis=2)[:, :, :STEPS]
    colours = np.asarray([_rgb(COLOURS[name]) for name in line["states"]])
    image = colours[np.argmax(share, axis=0)]
    image[share.sum(axis=0) < 1e-9] = 1.0
    return np.asarray(image, np.float64)


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))


def _messages(axes: Axes, line: Mapping[str, Any], scale: float) -> bool:
    """Draws lines from the start to the arrival of messages, if they are not too many."""
    messages = line["messages"]
    if not 0 < len(messages["from"]) <= MOST_MESSAGES:
        return False
    columns = (messages["from"], messages["to"], messages["handed_ns"], messages["arrived_ns"])
    lines = [
        [(scale * sent, source), (scale * arrived, target)]
        for source, target, sent, arrived in zip(*columns, strict=True)
    ]
    axes.add_collection(LineCollection(lines, colors="#333333", linewidths=0.4, alpha=0.7))
    return True


def _path(axes: Axes, line: Mapping[str, Any], scale: float) -> None:
    """Draws the critical path, from rank to rank."""
    path = line["path"]
    columns = (path["from"], path["to"], path["begin_ns"], path["end_ns"])
    lines = [
        [(scale * begin, source), (scale * end, target)] for source, target, begin, end in zip(*columns, strict=True)
    ]
    # A wide line with many steps would hide the activities of ranks.
    width = 1.8 if len(lines) <= MOST_MESSAGES else 0.7
    axes.add_collection(LineCollection(lines, colors=PATH, linewidths=width))


def ordinal(number: int) -> str:
    """Returns an ordinal number, as in `2nd`."""
    last = 0 if 10 < number % 100 < 20 else number % 10
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")  # codespell:ignore nd


def slowest(results: PointTable, has: Callable[[Point], bool], most: int = MOST_POINTS) -> list[tuple[str, Point]]:
    """Returns the points for which `has` is true, with their names; at most the `most` that took longest."""
    held = [point for point in results if has(point)]
    if not held:
        message = "no time of ranks was measured (`measure.timeline`)"
        raise ValueError(message)
    longest = sorted(range(len(held)), key=lambda place: -(held[place].get("time_ns") or 0.0))[:most]
    held = [held[place] for place in sorted(longest)]
    brief = {axis: brief_labels([point.get(axis) for point in held]) for axis in results.axes}

    def name(point: Point) -> str:
        keys = [axis for axis in results.axes if axis in point]
        return name_of(keys, [brief[axis][label_of(point[axis])] for axis in keys])

    return [(name(point), point) for point in held]


def _title(figure: Figure, text: str) -> None:
    """Sets the title of a figure with several axes, which have titles too."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold")


def _rows(figure: Figure, count: int) -> list[Axes]:
    return list(chain.from_iterable(figure.subplots(count, 1, squeeze=False)))


def _total(point: Point) -> float:
    return sum(float(point["breakdown"][name]) for name in PARTS)
