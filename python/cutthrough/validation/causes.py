"""Causes of errors: the part of the simulated times whose correction leaves the smallest error of a group of points."""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
from cutthrough.calibrate.parts import bits_per_second
from cutthrough.errors import ExperimentError
from cutthrough.validation.judged import GROUPS
from cutthrough.validation.setups import Call, call_of, merged
from cutthrough.validation.simulating import Parts, document, experiment_of, is_whole, simulated, skew_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from cutthrough.validation.setups import Setup
    from cutthrough.validation.simulating import Predicted, Running

__all__ = ["NAMES", "Cause", "causes", "with_parts"]

#: Possible causes. The first three are the parts of a simulated time.
NAMES = ("latency", "bandwidth", "contention", "selection")
#: Factor by which channels between routers are faster in the simulation without contention.
FASTER = 64
#: Relative change of all rates for the derivative of a time.
PROBE = 0.05
#: Keys of times for each byte, page or packet.
PER_UNIT = {
    "combine_per_byte", "copy_time", "gap_per_byte", "overhead_per_byte", "per_packet", "per_page", "reduction_time",
}  # fmt: skip
#: Channels of nodes. All other classes of channels are between routers.
OF_NODES = {"injection", "ejection"}
#: Algorithms that no MPI library chooses by itself on processors. NCCL chooses some of them.
NOT_CHOSEN = re.compile("auto|bine.*|collnet|double-tree|hierarchical|in-switch|nvls.*|pat|sparbit")
#: Least number of points of a group for which a cause is named.
LEAST_POINTS = 3
#: Largest factor of a part. A part that needs a larger one hardly exists in the simulation.
LARGEST_FACTOR = 10.0
#: Least share of the error that a cause has to remove.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Cause:
    """What dominates the error of a group of points.

    Attributes:
        group: Machine, operation and class of sizes.
        points: Number of points.
        error: Mean of |log(simulated / measured)|.
        name: The cause: one of `NAMES`, or `none` if no correction removes a tenth of the error, or `too few points`.
        change: The correction: the factor of the part, or the algorithm.
        shares: Share of the error that the best correction of each possible cause removes.
    """

    group: tuple[str, ...]
    points: int
    error: float
    name: str
    change: str
    shares: Mapping[str, float]


def with_parts(
    found: Sequence[Predicted], setup: Setup, changes: Mapping[str, Any], running: Running
) -> list[Predicted]:
    """Returns the points with the parts of their times, by further simulations.

    Raises:
        Stopped: Ctrl-C was pressed.
    """
    requests: list[tuple[dict[str, Any] | str, str]] = []
    places: dict[tuple[int, str], int] = {}
    for number, each in enumerate(found):
        if each.time is None:
            continue
        for name, made in _variants(each, setup, changes, running):
            places[number, name] = len(requests)
            requests.append((made, each.point.quantity))
    times = simulated(requests, setup.folder, running)
    held: dict[int, dict[str, float]] = defaultdict(dict)
    for (number, name), place in places.items():
        time = times[place]
        if not isinstance(time, str):
            held[number][name] = time
    return [
        replace(
            each, parts=_parts(each, held[number], skew_of(each.point.operation, merged(setup.of(each.point), changes)))
        )
        if number in held
        else each
        for number, each in enumerate(found)
    ]


def _parts(each: Predicted, times: Mapping[str, float], skew: float) -> Parts | None:
    """Returns the parts of a time. `times` has the simulated times of the variants, without the skew."""
    if each.time is None or not {"idle", "slower"} <= times.keys():
        return None
    contention = max(0.0, each.time - skew - times["idle"])
    rest = each.time - contention
    bandwidth = min(rest, max(0.0, (times["slower"] - times["idle"]) / PROBE))
    others = {name.removeprefix("by "): time + skew for name, time in times.items() if name.startswith("by ")}
    return Parts(rest - bandwidth, bandwidth, contention, others)


def _variants(
    each: Predicted, setup: Setup, changes: Mapping[str, Any], running: Running
) -> Iterable[tuple[str, dict[str, Any] | str]]:
    """Returns the experiments that separate the parts of a point's time, with their names."""
    point = each.point
    base = document(point, setup, changes, running)
    if isinstance(base, str):
        return
    try:
        idle = _idle(base, setup.folder)
    except ExperimentError as error:
        yield "idle", str(error.message)
        return
    yield "idle", idle
    yield "slower", _slower(idle)
    call = call_of(point)
    if call is not None and call.algorithm == "auto":
        by_nccl = point.library.startswith("NCCL")
        for name in dict(_core.collective_names()[0])[point.operation]:
            if name != "auto" and (by_nccl or not NOT_CHOSEN.fullmatch(name)):
                yield f"by {name}", document(point, setup, changes, running, Call(name))


def _idle(base: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns an experiment with all its values, whose channels between routers are so fast that no packet waits."""
    experiment = experiment_of(base, folder)
    whole: dict[str, Any] = tomllib.loads(experiment.resolved_point(0))
    whole = {key: own for key, own in whole.items() if key not in {"title", "measure"}}
    if is_whole(whole):
        return whole
    topology = experiment.topology(0)
    tables = [(whole, topology)]
    if networks := whole.get("network"):
        tables = list(zip(networks, (own for *_, own in topology.networks()), strict=True))
    for table, own in tables:
        link = table["link"]
        for name in {*own.class_names()} - OF_NODES:
            rate = bits_per_second(link.get(name, {}).get("bandwidth", link["bandwidth"]))
            link[name] = {**link.get(name, {}), "bandwidth": f"{rate * FASTER:.0f} b/s"}
    return whole


def _slower(value: Any, key: str = "") -> Any:
    """Returns a table whose rates are divided by 1 + `PROBE`, and whose times for each byte are multiplied by it."""
    if isinstance(value, dict):
        return {name: _slower(own, name) for name, own in value.items()}
    if isinstance(value, list):
        return [_slower(own, key) for own in value]
    if isinstance(value, str) and value.endswith(("b/s", "B/s")):
        return f"{bits_per_second(value) / (1.0 + PROBE):.0f} b/s"
    if isinstance(value, str) and key in PER_UNIT:
        return f"{_core.picoseconds(value) * (1.0 + PROBE):.0f} ps"
    return value


def causes(found: Iterable[Predicted], column: str) -> list[Cause]:
    """Returns the cause of the error of each group, in the order of the groups' first points.

    The correction of a part multiplies this part of each point by a common factor between 0 and 10. The correction of
    the selection replaces the algorithm of all points whose library chose it by one common algorithm. The correction
    that leaves the least mean of |log(simulated / measured)| names the cause.
    """
    groups: dict[tuple[str, ...], list[Predicted]] = defaultdict(list)
    for each in found:
        if each.parts is not None and column in each.point.times:
            groups[tuple(GROUPS[name](each.point) for name in ("machine", "operation", "size"))].append(each)
    return [_cause(key, own, column) for key, own in groups.items()]


def _cause(group: tuple[str, ...], found: Sequence[Predicted], column: str) -> Cause:
    measured = [each.point.times[column] for each in found]
    error = _error([each.time or 0.0 for each in found], measured)
    if len(found) < LEAST_POINTS or error == 0.0:
        return Cause(group, len(found), error, "none" if error == 0.0 else "too few points", "", {})
    tried = {name: _scaled(name, found, measured) for name in NAMES[:3]}
    tried["selection"] = _chosen(found, measured)
    shares = {name: max(0.0, 1.0 - left / error) for name, (left, _) in tried.items()}
    best = max(NAMES, key=lambda name: shares[name])
    if shares[best] < LEAST_SHARE:
        return Cause(group, len(found), error, "none", "", shares)
    return Cause(group, len(found), error, best, tried[best][1], shares)


def _error(times: Sequence[float], measured: Sequence[float]) -> float:
    return math.fsum(abs(math.log(max(own, 1e-3) / other)) for own, other in zip(times, measured, strict=True)) / len(
        measured
    )


def _scaled(name: str, found: Sequence[Predicted], measured: Sequence[float]) -> tuple[float, str]:
    """Returns the least error with a common factor of a part, and the factor.

    Tries all factors that make a point exact, within the bounds.
    """
    pairs = [(each.time or 0.0, float(getattr(each.parts, name))) for each in found]
    exact = {1.0 + (own - time) / part for (time, part), own in zip(pairs, measured, strict=True) if part > 0.0}
    tried = sorted({1.0, *(min(LARGEST_FACTOR, max(0.0, factor)) for factor in exact)}, key=lambda own: abs(own - 1.0))
    left = [(_error([time + (factor - 1.0) * part for time, part in pairs], measured), factor) for factor in tried]
    error, factor = min(left, key=lambda own: own[0])
    return error, f"x {factor:.2f}"


def _chosen(found: Sequence[Predicted], measured: Sequence[float]) -> tuple[float, str]:
    """Returns the least error if a common algorithm replaces the choice of the library, and the algorithm."""
    names = sorted({name for each in found if each.parts for name in each.parts.others})
    best = (_error([each.time or 0.0 for each in found], measured), "")
    for name in names:
        times = [each.parts.others.get(name, each.time or 0.0) if each.parts else 0.0 for each in found]
        best = min(best, (_error(times, measured), name), key=lambda own: own[0])
    return best
