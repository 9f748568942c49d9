"""The messages of a page: slowdown by size and its distribution, of every point that measured them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutthrough.page.lines import brief
from cutthrough.points.table import is_saturated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.points.table import Point
    from cutthrough.results import Results

__all__ = ["messages_of"]

#: Greatest number of points whose messages are shown. Of more points, equidistant ones are chosen.
MOST_POINTS = 500


def messages_of(results: Sequence[Results]) -> list[dict[str, list[dict[str, Any]]]]:
    """Returns the lines of messages of each result by the index of the point, one for each job."""
    found = []
    for own in results:
        held = {place: lines for place, point in enumerate(own) if (lines := _lines(point))}
        step = -(-len(held) // MOST_POINTS) or 1
        found.append({str(place): held[place] for place in list(held)[::step]})
    return found


def _lines(point: Point) -> list[dict[str, Any]]:
    """Returns the messages of a point, or of each of its jobs."""
    jobs = [(job["name"], job) for job in point.get("jobs", ())] or [("all messages", point)]
    named = [(f"{name} (saturated)" if is_saturated(own) else name, own) for name, own in jobs]
    return [_line(name, own["messages"]) for name, own in named if own.get("messages")]


def _line(name: str, messages: Mapping[str, Any]) -> dict[str, Any]:
    """Returns sizes in bytes with their slowdowns, and slowdowns with the share of messages that do not exceed them."""
    sizes = messages.get("sizes") or []
    spread = messages.get("distribution") or {"part": [], "slowdown": []}
    return {
        "name": name,
        "bytes": [size["largest_B"] for size in sizes],
        "p50": [_first(size, "slowdown_p50", "slowdown_mean") for size in sizes],
        "p99": [_first(size, "slowdown_p99") for size in sizes],
        "part": spread["part"],
        "slowdown": [brief(value) for value in spread["slowdown"]],
    }


def _first(size: Mapping[str, Any], *names: str) -> Any:
    """Returns the first of some quantities that a size has."""
    return brief(next((size[name] for name in names if size[name] is not None), None))
