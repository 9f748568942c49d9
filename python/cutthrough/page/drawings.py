"""The machines of results as drawings for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.series import label_of

if TYPE_CHECKING:
    from cutthrough.results import Results

__all__ = ["LARGEST", "drawn"]

#: Characters of the largest drawing that a page carries: the picture of a machine of thousands of routers is larger.
LARGEST = 400_000
#: Machines of a sweep that a page draws.
MOST = 6


def drawn(results: Results) -> list[tuple[str, str]]:
    """Each machine of the sweep as name and SVG, coloured by the channels of its point with the hottest one.

    Left out are machines whose channels are not known, and drawings too large for a page: `cutthrough draw` makes them.
    """
    import cutthrough.plots.machine as machine

    hottest: dict[str, int] = {}
    for place in results.network.places if results.network else ():
        name = _machine_of(results, place)
        if name not in hottest or _heat(results, place) > _heat(results, hottest[name]):
            hottest[name] = place
    pictures = [(name, machine.svg(results.channel_loads(place), name)) for name, place in list(hottest.items())[:MOST]]
    return [(name, text) for name, text in pictures if len(text) <= LARGEST]


def _machine_of(results: Results, place: int) -> str:
    """What distinguishes the machine of a point; empty if the sweep has only one.

    Keys that move together stand in points beside their label, which is the axis.
    """
    point = results.points[place]
    return ", ".join(label_of(point[key]) for key in point if key.split(".")[0] == "topology")


def _heat(results: Results, place: int) -> float:
    """The use of the hottest channel of a point."""
    return max((float(own["utilization"]) for own in results.points[place].get("hottest_channels", ())), default=0.0)
