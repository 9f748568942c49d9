"""The time of ranks on a page: tables and pictures of times by activity and of the critical path."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import TYPE_CHECKING, Any

import cutthrough.plots as plots
from cutthrough.display.units import time_unit
from cutthrough.page.lines import brief
from cutthrough.plots.activity import slowest
from cutthrough.points.activity import PARTS, has_breakdown, path_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.results import Results

__all__ = ["activity_of"]

#: The pictures of each result, with their captions.
PICTURES = {
    "breakdown": "What each rank does for how long",
    "critical-path": "What the critical path is made of",
    "timeline": "What ranks do when, with the critical path",
}
#: Resolution of pictures in dots per inch.
SHARPNESS = 120


def activity_of(results: Sequence[Results]) -> list[dict[str, Any]]:
    """Returns `result`, `tables` and `pictures` for each result with known times of ranks.

    Tables and pictures are of the points that took longest.
    """
    found = []
    for number, own in enumerate(results):
        if not any(map(has_breakdown, own.by_job())):
            continue
        tables = []
        for name, point in slowest(own.by_job(), has_breakdown):
            (ranks, spent), (path, long) = _ranks(point), _path(point)
            tables.append({"name": name, "headings": ["ranks", f"mean {spent}", f"most {spent}"], "rows": ranks})
            tables.append({"name": name, "headings": ["critical path", long, "share"], "rows": path})
        pictures = [{"alt": words, "src": _picture(own, name)} for name, words in PICTURES.items() if _has(own, name)]
        found.append({"result": number, "tables": tables, "pictures": pictures})
    return found


def _has(results: Results, name: str) -> bool:
    return name != "timeline" or any(point.get("timeline") for point in results.by_job())


def _ranks(point: Mapping[str, Any]) -> tuple[list[list[Any]], str]:
    """Returns mean and greatest times of ranks by activity, and their unit."""
    breakdown = point["breakdown"]
    ranks = breakdown["ranks"]
    held = [name for name in PARTS if any(ranks[name])]
    unit, scale = time_unit(max(ranks[name]) for name in held)
    rows = [[PARTS[name], brief(scale * breakdown[name]), brief(scale * max(ranks[name]))] for name in held]
    return rows, unit


def _path(point: Mapping[str, Any]) -> tuple[list[list[Any]], str]:
    """Returns the parts of the critical path, and the unit of their times."""
    parts = [part for part in path_parts(point["critical_path"]) if part[2] > 0.0]
    total = sum(time for *_, time in parts) or 1.0
    unit, scale = time_unit(time for *_, time in parts)
    rows = [
        [f"{group}: {what}" if group else what, brief(scale * time), f"{time / total:.1%}"]
        for group, what, time in parts
    ]
    return rows, unit


def _picture(results: Results, name: str) -> str:
    """Returns a figure as a data URL."""
    held = BytesIO()
    with plots.looks():
        plots.figure(results, name).savefig(held, format="png", dpi=SHARPNESS)
    return f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode('ascii')}"
