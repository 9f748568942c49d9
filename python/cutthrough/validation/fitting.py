"""Constants of a machine, fitted to a few of its measured points."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough._core as _core
from cutthrough.calibrate.parts import Part, bits_per_second
from cutthrough.validation.setups import merged
from cutthrough.validation.simulating import predict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cutthrough.validation.measured import Measured
    from cutthrough.validation.setups import Setup
    from cutthrough.validation.simulating import Running

__all__ = ["Constants", "fit"]

#: Constants that are fitted if a machine's experiment has them, with bounds in picoseconds or bits a second. The
#: overheads of both ends are set equal, because points of collective operations determine only their sum.
TIMES = {
    "skew": (1e4, 1e8),
    "nic.send_overhead": (5e4, 1e7),
    "nic.gap": (1e3, 1e7),
    "nic.registration.time": (1e3, 1e8),
    "nic.dma.setup": (1e3, 1e9),
    "benchmark.reduction_time": (1.0, 5e3),
    "benchmark.copy_time": (1.0, 5e3),
    "benchmark.buffer_time": (1.0, 5e3),
    "benchmark.start_time": (1e4, 1e9),
    "benchmark.step_time": (1e4, 1e9),
    "benchmark.nccl.launch": (1e5, 1e9),
    "benchmark.nccl.ll_step": (1e4, 1e8),
    "benchmark.nccl.ll128_step": (1e4, 1e8),
    "benchmark.nccl.simple_step": (1e4, 1e8),
    "benchmark.nccl.nvls_step": (1e4, 1e9),
}
RATES = {
    "nic.bus.bandwidth": (1e9, 1e13),
    "nic.copy.bandwidth": (1e9, 1e13),
    "nic.dma.bandwidth": (1e9, 1e13),
    "benchmark.nccl.copy_bandwidth": (1e9, 1e15),
}
#: Fitted keys, and the keys that are set to the same value.
TWINS = {"nic.send_overhead": "nic.receive_overhead"}
#: Candidate eager limits.
LIMITS = ("8 KiB", "16 KiB", "32 KiB")
#: Step of a logarithm for finite differences, and the residual above which the loss grows only linearly.
PROBE, SOFT = 0.05, 0.2
#: Weight of the logarithmic distance of a constant from its start, relative to an equal residual of a point: measured
#: points repeat to 10 %, and a constant is known to a factor of e before the fit. Constants on which no point depends
#: stay at their start.
HOLD = 0.1
#: Evaluations of the search with each candidate eager limit, and of the final search.
STEPS_TRIED, STEPS = 2, 6


@dataclass(frozen=True)
class Constants:
    """Fitted constants.

    Attributes:
        changes: Sections of the experiment that contain the constants.
        values: Each constant with its unit, by its key.
        points: The points to which they were fitted.
        error: Median absolute error of these points, relative to their measured times.
    """

    changes: Mapping[str, Any]
    values: Mapping[str, str]
    points: tuple[Measured, ...]
    error: float


def fit(
    points: Sequence[Measured],
    setup: Setup,
    begin: Mapping[str, Any] | None = None,
    *,
    column: str,
    running: Running,
    watcher: Callable[[str], None] | None = None,
) -> Constants:
    """Fits the constants of a machine to points.

    Minimizes the sum of a soft L1 loss of log(simulated time / measured time). Tries each candidate eager limit.

    Args:
        points: The points, to all of which the same variants of the machine apply. If there is a variant, only the
            constants that the last one contains are fitted.
        setup: The machine.
        begin: Sections with the constants from which the search starts. Their eager limit does not change, nor do
            constants on which no point depends.
        column: The column of measured times.
        running: Options of the simulations.
        watcher: Notified of each candidate eager limit.
    """
    base = merged(setup.of(points[0]), begin or {})
    variants = [own for own in setup.variants if own.fits(points[0])]
    parts = [part for part in _parts(base) if not variants or _held(variants[-1].sections, part.key) is not None]
    known: dict[str, NDArray[np.float64]] = {}

    def residuals(chosen: Mapping[str, Any], logs: NDArray[np.float64]) -> NDArray[np.float64]:
        changes = merged(merged(begin or {}, chosen), _changes(parts, np.exp(logs)))
        name = json.dumps(changes, sort_keys=True)
        if name not in known:
            found = predict(points, setup, changes=changes, running=running)
            known[name] = np.array(
                [math.log(own.time / own.point.times[column]) for own in found if own.time is not None]
            )
        return known[name]

    def held(chosen: Mapping[str, Any], logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([residuals(chosen, logs), HOLD * (logs - start)])

    start = np.log(np.array([part.start for part in parts]))
    tried = []
    has_limit = "eager_limit" in base.get("nic", {}) and not begin
    for limit in LIMITS if has_limit else ("",):
        chosen = {"nic": {"eager_limit": limit}} if limit else {}
        if watcher is not None:
            watcher(f"eager limit {limit}" if limit else "constants")
        tried.append((*_search(partial(held, chosen), start, parts, STEPS_TRIED), chosen))
    logs, _, chosen = min(tried, key=lambda own: own[1])
    logs, _ = _search(partial(held, chosen), logs, parts, STEPS)
    changes = merged(merged(begin or {}, chosen), _changes(parts, np.exp(logs)))
    left = sorted(abs(math.expm1(own)) for own in residuals(chosen, logs))
    values = {part.key: part.written(value) for part, value in zip(parts, np.exp(logs), strict=True)}
    if chosen:
        values["nic.eager_limit"] = chosen["nic"]["eager_limit"]
    return Constants(changes, values, tuple(points), left[len(left) // 2] if left else math.nan)


def _search(
    residuals: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    begin: NDArray[np.float64],
    parts: Sequence[Part],
    steps: int,
) -> tuple[NDArray[np.float64], float]:
    """Returns the logarithms of the constants with the least loss, and the loss."""
    from scipy.optimize import least_squares

    bounds = np.log(np.array([_bounds(part.key) for part in parts]).T)

    def jacobian(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        own = residuals(logs)
        return np.stack([(residuals(logs + step) - own) / PROBE for step in PROBE * np.eye(len(logs))], axis=1)

    inside = np.clip(begin, bounds[0] + 1e-9, bounds[1] - 1e-9)
    found = least_squares(
        residuals, inside, jac=jacobian, bounds=bounds, loss="soft_l1", f_scale=SOFT, max_nfev=steps, xtol=1e-3
    )
    return found.x, float(found.cost)


def _bounds(key: str) -> tuple[float, float]:
    return TIMES.get(key) or RATES[key]


def _parts(base: Mapping[str, Any]) -> list[Part]:
    """Returns the constants that an experiment has, with their values."""
    found = []
    for key in (*TIMES, *RATES):
        text = _held(base, key)
        if text is not None:
            is_time = key in TIMES
            value = float(_core.picoseconds(text)) if is_time else bits_per_second(text)
            found.append(Part(key, max(value, 1.0), is_time))
    return found


def _held(base: Mapping[str, Any], key: str) -> str | None:
    held: Any = base
    for name in key.split("."):
        held = held.get(name) if isinstance(held, dict) else None
    return held if isinstance(held, str) else None


def _changes(parts: Sequence[Part], values: NDArray[np.float64]) -> dict[str, Any]:
    """Returns sections that set the constants to `values`."""
    found: dict[str, Any] = {}
    for part, value in zip(parts, values.tolist(), strict=True):
        text = f"{part.rounded(value):.0f} {'ps' if part.is_time else 'b/s'}"
        for key in (part.key, TWINS.get(part.key)):
            if key is not None:
                *tables, name = key.split(".")
                own = found
                for table in tables:
                    own = own.setdefault(table, {})
                own[name] = text
    return found
