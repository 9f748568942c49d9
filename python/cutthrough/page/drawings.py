"""The machines of results as drawings for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.points.series import label_of

if TYPE_CHECKING:
    from cutthrough.results import Results

__all__ = ["LARGEST", "drawn"]

#: Characters of the largest drawing on a page. The picture of a machine with thousands of routers is larger.
LARGEST = 400_000
#: Sections of a network that change neither routers nor wires.
NO_SHAPE = (["link"], ["router"], ["routing"])
#: Greatest number of a sweep's machines that a page draws.
MOST = 6


def drawn(results: Results) -> list[tuple[str, str]]:
    """Returns each machine of the sweep as name and SVG, coloured by the channels of its point with the hottest one.

    Machines whose channels are not known are left out, as are drawings too large for a page, which `cutthrough draw`
    makes.
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
    """Returns the keys that distinguish the machine of a point. Empty if the sweep has only one machine.

    Points have keys that move together beside their label, which is the axis.
    """
    point = results.points[place]
    return ", ".join(label_of(point[key]) for key in point if _is_of_the_shape(key.split(".")))


def _is_of_the_shape(key: list[str]) -> bool:
    """Returns whether a key changes routers, nodes or wires."""
    return key[0] in ("topology", "machine", "node") or (key[0] == "network" and key[2:3] not in NO_SHAPE)


def _heat(results: Results, place: int) -> float:
    """Returns the utilization of the hottest channel of a point."""
    return max((float(own["utilization"]) for own in results.points[place].get("hottest_channels", ())), default=0.0)
