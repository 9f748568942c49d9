"""Machines of measured tables: the experiment that stands for a machine, and the algorithms that its tables name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutthrough.arguments.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.validation.measured import Measured

__all__ = ["Call", "Setup", "Variant", "call_of", "known", "merged", "packet_of", "setup_of"]

#: Bytes of a packet as the machines have them, and of the largest packet that is simulated.
PACKET, LARGEST_PACKET = 4096, 1 << 18
#: Packets of a buffer from which they are made larger.
MOST_PACKETS = 1024


@dataclass(frozen=True)
class Variant:
    """Points of a machine with other constants.

    Attributes:
        match: A pattern of `library algorithm`.
        least: Bytes from which a message is of the variant.
        sections: Sections that replace those of the machine.
    """

    match: str
    least: int
    sections: Mapping[str, Any]

    def fits(self, point: Measured) -> bool:
        """Returns whether a point is of the variant."""
        return point.bytes >= self.least and re.search(self.match, f"{point.library} {point.algorithm}") is not None


@dataclass(frozen=True)
class Setup:
    """The experiment that stands for a machine.

    Attributes:
        name: The machine's name in tables.
        about: The machine, its network and its library, in a line.
        base: The experiment without its workload and placement.
        variants: Points with sections that replace those of `base`.
        torus: Whether the shape of the nodes is that of the network.
    """

    name: str
    about: str
    base: Mapping[str, Any]
    variants: tuple[Variant, ...] = ()
    torus: bool = False

    def of(self, point: Measured) -> dict[str, Any]:
        """Returns the experiment of a point, without its workload and placement."""
        found = merged({}, self.base)
        for variant in self.variants:
            if variant.fits(point):
                found = merged(found, variant.sections)
        if self.torus:
            found = merged(found, {"topology": {"dims": list(point.shape), "wrap": [own > 2 for own in point.shape]}})
        return found


@dataclass(frozen=True)
class Call:
    """A collective operation as an experiment calls it.

    Attributes:
        algorithm: The algorithm of the experiment.
        keys: Further keys of the benchmark: `segment`, `radix`.
        guessed: Whether the algorithm stands for one that has no public definition.
        ports: Network interfaces over which the algorithm divides its data.
    """

    algorithm: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    guessed: bool = False
    ports: int = 1


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested tables in which entries of `other` replace those of `one`."""
    found = dict(one)
    for key, value in other.items():
        own = found.get(key)
        found[key] = merged(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
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
    text = (resources.files("cutthrough.validation") / "setups" / f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    variants = tuple(
        Variant(own.get("match", ""), own.get("least", 0), own.get("experiment", {}))
        for own in table.get("variant", [])
    )
    return Setup(name, table["about"], table["experiment"], variants, table.get("torus", False))


def _of_file(path: Path) -> Setup:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refuse("--machine", f"{path} cannot be read: {error.strerror or error}", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise refuse("--machine", f"{path} is no experiment: {error}", file=str(path)) from None
    return Setup(path.stem, f"the network of {path.name}", {key: own for key, own in table.items() if key not in GIVEN})


#: Sections of an experiment that a measured point gives.
GIVEN = {"title", "workload", "placement", "sweep", "measure", "job"}


@cache
def _rules() -> list[dict[str, Any]]:
    text = (resources.files("cutthrough.validation") / "algorithms.toml").read_text(encoding="utf-8")
    rules: list[dict[str, Any]] = tomllib.loads(text)["rule"]
    return rules


def call_of(point: Measured) -> Call | None:
    """Returns the call that stands for a point's algorithm. None if there is no rule for it."""
    for rule in _rules():
        if point.operation not in rule["operations"]:
            continue
        found = re.fullmatch(rule["name"], point.algorithm)
        if found is None or point.bytes < rule.get("least", 0) or not re.search(rule.get("library", ""), point.library):
            continue
        held = {key: own for key, own in found.groupdict().items() if own is not None}
        keys = dict(rule.get("keys", {}))
        if int(held.get("segment", "0")):
            keys["segment"] = f"{held['segment']} B"
        return Call(rule["algorithm"], keys, rule.get("guessed", False), int(held.get("ports", "1")))
    return None


def packet_of(size: int) -> int:
    """Returns the bytes of a packet for messages of a size.

    A buffer of more than 4 MiB has larger packets, of up to 256 KiB, which make a run short. Times change little:
    packets are forwarded from their first byte on.
    """
    packet = PACKET
    while size // packet > MOST_PACKETS and packet < LARGEST_PACKET:
        packet *= 2
    return packet
