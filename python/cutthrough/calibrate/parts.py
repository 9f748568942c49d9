"""The quantities of `[nic]` that are fitted, with their units and bounds."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.experiment.documents as experiments
from cutthrough.arguments.faults import refuse
from cutthrough.errors import ExperimentError
from cutthrough.experiment.objects import built

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIMIT", "PATH", "PER_PACKET", "PROGRESS", "RENDEZVOUS", "Part", "parts_of", "preset"]

#: Keys that are chosen from a list, not fitted, and the delay of the path between nodes, which is no key of `[nic]`.
LIMIT, PROGRESS, RENDEZVOUS, PATH = "eager_limit", "progress", "rendezvous", "link.delay"
#: Time of a packet on the bus, which only tables of several pairs separate from overheads.
PER_PACKET = "bus.per_packet"
#: Bounds, in picoseconds and in bits a second.
TIMES, BANDWIDTHS = (1e3, 1e9), (1e6, 1e15)
#: Bounds of times with other ranges, in picoseconds. A shorter path would make runs longer than the fit is worth.
OTHER_TIMES = {"gap_per_byte": (1.0, 1e6), PATH: (1e4, 1e9)}
#: Times that are fitted, and where they start if the kind has 0, in picoseconds.
TIME_KEYS = {
    "send_overhead": 300_000.0,
    "receive_overhead": 300_000.0,
    "gap": 100_000.0,
    "gap_per_byte": 0.0,
    "registration.time": 0.0,
    PER_PACKET: 0.0,
}
#: Parts that `loggp` lacks and gets: data are copied and cross a bus, and rendezvous costs more.
LOGGP_BANDWIDTHS = {"copy.bandwidth": 5e10, "bus.bandwidth": 1e11}
LOGGP_TIMES = {"registration.time": 50_000.0}
BANDWIDTH_KEYS = ("pio.bandwidth", "copy.bandwidth", "bus.bandwidth")
#: Significant digits of written values.
DIGITS = 4
UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


@dataclass(frozen=True)
class Part:
    """A quantity that is fitted.

    Attributes:
        key: The part's path below `nic`, or `link.delay`.
        start: The starting value of the fit, in picoseconds or in bits a second.
        is_time: Whether the part is a time; otherwise it is a bandwidth.
    """

    key: str
    start: float
    is_time: bool

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value, in picoseconds or in bits a second."""
        return OTHER_TIMES.get(self.key, TIMES) if self.is_time else BANDWIDTHS

    def rounded(self, value: float) -> float:
        """Returns a value rounded to four significant digits and to whole picoseconds or bits a second."""
        return max(1.0, round(float(f"{value:.{DIGITS}g}")))

    def written(self, value: float) -> str:
        """Returns a value with its unit."""
        unit = ("ps", "ns", "us", "ms") if self.is_time else ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")
        step, value = 0, self.rounded(value)
        while value >= 1e3 and step + 1 < len(unit):
            step, value = step + 1, value / 1e3
        return f"{value:.{DIGITS}g} {unit[step]}"


def preset(kind: str) -> dict[str, Any]:
    """Returns `[nic]` of a kind, with all values written out.

    Raises:
        ExperimentError: There is no such kind.
    """
    try:
        experiment = built(
            None,
            None,
            topology={"kind": "flat", "nodes": 2},
            link={"bandwidth": "1 Tb/s", "delay": "1 ns"},
            nic={"kind": kind},
            workload={"kind": "benchmark", "benchmark": {"kind": "osu-latency"}},
        )
    except ExperimentError as error:
        # The error names `--from`, since the user has not written the key inside.
        raise refuse("--from", f"there is no interface `{kind}`", allowed=error.allowed, help=error.help) from None
    nic: dict[str, Any] = tomllib.loads(experiments.resolved(experiment))["nic"]
    return nic


def parts_of(nic: Mapping[str, Any], delay: str | None) -> list[Part]:
    """Returns the quantities of an interface that can be fitted: overheads, gaps, and the rates of its parts.

    Includes the delay of the path if `delay` is None.
    """
    found = []
    own = LOGGP_TIMES if nic["kind"] == "loggp" else {}
    for key, start in (TIME_KEYS | own).items():
        value = float(_core.picoseconds(_held(nic, key) or "0 ps"))
        if value or start:
            found.append(Part(key, value or start, True))
    per_byte = any(part.key == "gap_per_byte" for part in found)
    for key in BANDWIDTH_KEYS:
        text = _held(nic, key)
        # Either the gap per byte or the bus bounds the bandwidth: with both, only one could be determined.
        if key == "bus.bandwidth" and per_byte:
            continue
        if text is None and nic["kind"] == "loggp" and key in LOGGP_BANDWIDTHS:
            found.append(Part(key, LOGGP_BANDWIDTHS[key], False))
        elif text is not None:
            found.append(Part(key, bits_per_second(text), False))
    return found if delay is not None else [*found, Part(PATH, 200_000.0, True)]


def bits_per_second(text: str) -> float:
    """Returns the bits a second of a bandwidth as a resolved experiment writes it."""
    found = re.fullmatch(r"([0-9.]+) ([kMGTP]?)(b|B)/s", text)
    return float(found[1]) * UNITS[found[2]] * (8 if found[3] == "B" else 1) if found else 1e11


def _held(nic: Mapping[str, Any], key: str) -> str | None:
    table, _, name = key.rpartition(".")
    held: Any = nic.get(table, {}) if table else nic
    text = held.get(name)
    return text if isinstance(text, str) else None
