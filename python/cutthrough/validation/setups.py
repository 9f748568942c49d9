"""Machines of measured tables: the experiment of each machine, and the simulated algorithm of each measured one."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.files.reading as reading
from cutthrough.arguments.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.validation.measured import Measured

__all__ = ["NCCL", "Call", "Setup", "Variant", "call_of", "known", "merged", "packet_of", "setup_of", "without"]

#: Bytes of a packet on the machines, of the largest simulated packet, and of the largest that switches combine.
PACKET, LARGEST_PACKET, LARGEST_COMBINED = 4096, 1 << 18, 1 << 16
#: Name of the algorithm that NCCL's tuning model chooses.
NCCL = "nccl"
#: Part of the names of algorithms over uTofu, and the largest message of whole elements there, in bytes.
UTOFU, LARGEST_PUT = "UTOFU", 16777212
#: Largest number of packets of a buffer before packets become larger.
MOST_PACKETS = 1024


@dataclass(frozen=True)
class Variant:
    """Variant of a machine: constants that apply to a part of its points.

    Attributes:
        match: Regular expression for the text `library algorithm operation` of a point.
        least: Smallest message of the variant, in bytes.
        ranks: Smallest number of ranks of the variant.
        sections: Sections that replace those of the machine.
    """

    match: str
    least: int
    sections: Mapping[str, Any]
    ranks: int = 0

    def fits(self, point: Measured) -> bool:
        """Returns whether the variant applies to a point."""
        large = point.bytes >= self.least and point.ranks >= self.ranks
        return large and re.search(self.match, f"{point.library} {point.algorithm} {point.operation}") is not None


@dataclass(frozen=True)
class Setup:
    """Machine of measured points, described by an experiment.

    Attributes:
        name: The machine's name in tables.
        about: The machine, its network and its library, on one line.
        base: The experiment without its workload and placement.
        variants: Variants, whose sections replace those of `base` for a part of the points.
        torus: Whether the network is a torus with the shape of the point's nodes.
        folder: Folder from which relative paths in `base` start.
        whole: Smallest number of nodes on which the delay model replaces that of `base`, without the routing that it
            refuses. 0: never.
    """

    name: str
    about: str
    base: Mapping[str, Any]
    variants: tuple[Variant, ...] = ()
    torus: bool = False
    folder: Path = Path()
    whole: int = 0

    @property
    def of_gpus(self) -> bool:
        """Whether the machine has GPUs, whose operations are those of NCCL."""
        return "nccl" in self.base.get("benchmark", {})

    def of(self, point: Measured) -> dict[str, Any]:
        """Returns the experiment of a point, without its workload and placement."""
        found = merged({}, self.base)
        for variant in self.variants:
            if variant.fits(point):
                found = merged(found, variant.sections)
        if self.torus:
            found = merged(found, {"topology": {"dims": list(point.shape), "wrap": [own > 2 for own in point.shape]}})
        if 0 < self.whole <= point.ranks // point.per_node:
            found = merged(found, {"simulation": {"model": "delay"}})
            found.pop("routing", None)
        return found


@dataclass(frozen=True)
class Call:
    """Simulated algorithm of a measured point.

    Attributes:
        algorithm: Name of the algorithm in experiments.
        keys: Further keys of the benchmark: `segment`, `radix`.
        guessed: Whether the measured algorithm has no public definition, so that a similar one is simulated.
        ports: Network interfaces over which the algorithm divides its data.
        facts: What the library does besides the messages of the algorithm (`software.py`).
    """

    algorithm: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    guessed: bool = False
    ports: int = 1
    facts: Mapping[str, Any] = field(default_factory=dict)


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested tables in which entries of `other` replace those of `one`."""
    found = dict(one)
    for key, value in other.items():
        own = found.get(key)
        found[key] = merged(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return found


def without(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested tables without the entries that `other` has."""
    found = {}
    for key, value in one.items():
        own = other.get(key)
        if isinstance(value, dict) and isinstance(own, dict):
            found[key] = without(value, own)
        elif key not in other:
            found[key] = value
    return found


def known() -> list[str]:
    """Returns the names of the machines that come with the package."""
    folder = resources.files("cutthrough.validation") / "setups"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def setup_of(name: str) -> Setup:
    """Returns a machine of the package by its name, or one of an experiment file by its path.

    Raises:
        ExperimentError: There is no such machine or file.
    """
    if name.endswith(".toml"):
        return _of_file(Path(name))
    if name not in known():
        raise refuse("--machine", f"there is no machine `{name}`", allowed=known(), help=nearest(name, known()))
    table = _table(name)
    variants = tuple(
        Variant(own.get("match", ""), own.get("least", 0), own.get("experiment", {}), own.get("ranks", 0))
        for own in table.get("variant", [])
    )
    is_torus, whole = table.get("torus", False), table.get("whole", 0)
    return Setup(name, table["about"], table["experiment"], variants, torus=is_torus, whole=whole)


def _table(name: str) -> dict[str, Any]:
    """Returns the table of a machine of the package. A machine that is `like` another one changes some of its keys."""
    text = (resources.files("cutthrough.validation") / "setups" / f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return merged(_table(table["like"]), table) if "like" in table else table


def _of_file(path: Path) -> Setup:
    try:
        table = tomllib.loads(reading.given(path, "experiment", "--machine"))
    except tomllib.TOMLDecodeError as error:
        raise refuse("--machine", f"{path} is no experiment: {error}", file=str(path)) from None
    base = {key: own for key, own in table.items() if key not in GIVEN}
    return Setup(path.stem, f"the network of {path.name}", base, folder=path.parent)


#: Keys of an experiment file that a measured point replaces.
GIVEN = {"title", "workload", "placement", "sweep", "measure", "job"}


@cache
def _rules() -> list[dict[str, Any]]:
    text = (resources.files("cutthrough.validation") / "algorithms.toml").read_text(encoding="utf-8")
    rules: list[dict[str, Any]] = tomllib.loads(text)["rule"]
    return rules


def call_of(point: Measured) -> Call | None:
    """Returns the simulated algorithm of a point. None if no rule names the point's algorithm."""
    for rule in _rules():
        if point.operation not in rule["operations"]:
            continue
        found = re.fullmatch(rule["name"], point.algorithm)
        if found is None or point.bytes < rule.get("least", 0) or not re.search(rule.get("library", ""), point.library):
            continue
        if rule.get("few", False) and point.bytes >= point.element * point.ranks:
            continue
        held = {key: own for key, own in found.groupdict().items() if own is not None}
        keys = dict(rule.get("keys", {}))
        facts = rule.get("facts", {}) if UTOFU in point.algorithm else {}
        ports = int(held.get("ports", "1"))
        # Each port has segments of the given size.
        segment = int(held.get("segment", "0")) or (LARGEST_PUT if facts.get("puts") else 0)
        if rule.get("of_part", False):
            segment = max(point.bytes // point.ranks // point.element, 1) * point.element
        if segment:
            keys["segment"] = f"{segment * (1 if facts.get('in_turn') else ports)} B"
        return Call(rule["algorithm"], keys, rule.get("guessed", False), ports, facts)
    return None


def packet_of(size: int, *, combines: bool = False) -> int:
    """Returns the size of a packet in bytes, for a buffer of `size` bytes.

    For buffers of more than 4 MiB, packets of up to 256 KiB shorten the run. Times change little, because a router
    forwards a packet as soon as its head has arrived. A switch combines whole packets: if it `combines`, packets have
    at most 64 KiB.
    """
    packet, largest = PACKET, LARGEST_COMBINED if combines else LARGEST_PACKET
    while size // packet > MOST_PACKETS and packet < largest:
        packet *= 2
    return packet
