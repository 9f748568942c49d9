"""The reference of the experiment file, from its one definition: for `list`, `explain`, `new` and completion."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.reference.words as words
from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Key",
    "Section",
    "Topic",
    "catalogue",
    "explain",
    "has",
    "is_joined",
    "machines",
    "nodes",
    "sections",
    "settable",
    "summary",
    "topics",
    "values_of",
]

#: Names of the kinds of a section in lists, where they differ from the section's name.
PLURALS = {
    "topology": "topologies",
    "router": "routers",
    "routing": "routings",
    "workload.pattern": "patterns",
    "workload.benchmark": "benchmarks",
    "workload.program": "programs",
    "workload.pacer": "pacers",
    "nic": "nics",
    "in_switch.trees": "trees",
    "in_switch.combine": "combine-units",
    "workload": "workloads",
    "placement": "placements",
}
#: The name of the section whose keys are at the top of the file.
TOP = "experiment"
#: Example values of a type, as TOML, where a key has no default.
SAMPLES = {
    "bandwidth": '"100 Gb/s"',
    "time": '"20 ns"',
    "duration": '"10 min"',
    "word or time": '"20 us"',
    "size": '"4 KiB"',
    "depth": '"4 packets"',
    "depth or table of depth": '"4 packets"',
    "string": '"..."',
    "true or false": "true",
    "list of string": '["..."]',
    "list of table": "[]",
    "any value": "0.5",
}
#: The units of quantities, by type.
UNITS = {
    "bandwidth": "b/s or B/s, with k, M, G, T (b is bit, B is byte)",
    "time": "ps, ns, us, ms or s",
    "word or time": "ps, ns, us, ms or s",
    "size": "B, KiB, MiB, GiB (Ki is 1024) or kB, MB, GB (k is 1000)",
    "depth": "packets, or a size in bytes",
    "depth or table of depth": "packets, or a size in bytes; a table has classes of channels as keys",
}
#: Numbers that are preferred in examples, where the range has them.
ROUND_NUMBERS = (4, 2, 1)
#: An example of a time that belongs to a run rather than to a hop.
LONG_TIME = '"200 us"'
#: Greatest number of near topics that are named if a topic does not exist.
MOST_NEAR = 3


@dataclass(frozen=True)
class Key:
    """A key of a section: its type, default, range, words and meaning."""

    name: str
    value: str
    default: str | None
    required: bool
    range: str | None
    words: tuple[tuple[str, str], ...]
    doc: str
    given_example: str | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Key:
        """Returns a key from its JSON."""
        words = tuple((word["name"], word["doc"]) for word in described["values"])
        facts = {name: described[name] for name in ("value", "default", "required", "range", "doc")}
        return cls(name=described["key"], words=words, given_example=described["example"], **facts)

    @property
    def unit(self) -> str | None:
        """The units of a value. None for plain numbers and words."""
        return UNITS.get(self.value)

    @property
    def example(self) -> str:
        """A value as TOML: the definition's example, the default, or a value of the key's type and range."""
        known = self.given_example if self.given_example is not None else self.default
        if known is not None:
            return known
        if self.words:
            return json.dumps(self.words[0][0])
        if self.value == "time" and self.name not in {"delay", "refresh"}:
            return LONG_TIME
        if "number" not in self.value:
            return SAMPLES.get(self.value, '"..."')
        if self.value == "number":
            return "0.5"
        number = self._whole()
        return f"[{number}, {number or 1}]" if self.value.startswith("list") else str(number)

    def _whole(self) -> int:
        """Returns a whole number within the range."""
        found = [int(text) for text in re.findall(r"\d+", self.range or "")]
        least, most = (found[0] if found else 1), (found[1] if len(found) > 1 else None)
        if least == 0:
            return 0
        return next((n for n in ROUND_NUMBERS if n >= least and (most is None or n <= most)), least)


@dataclass(frozen=True)
class Section:
    """A section of the experiment file, or one kind of it.

    Attributes:
        path: The dotted path. Empty at the top of the file.
        tag: The key that selects the kind, and the kind. None without kinds.
        is_list: Whether the section is a list of tables (`[[job]]`).
        doc: The documentation.
        example: Lines of TOML with the section. None where its keys are examples enough.
        otherwise: Advice where no kind fits. None without kinds.
        keys: The keys.
    """

    path: str
    tag: tuple[str, str] | None
    is_list: bool
    doc: str
    example: str | None
    otherwise: str | None
    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        """The name as a topic: `topology.dragonfly`, `measure`."""
        return ".".join(filter(None, (self.path or TOP, self.tag[1] if self.tag else "")))

    @property
    def heading(self) -> str:
        """The line of TOML that starts it. Empty at the top of the file."""
        return f"[[{self.path}]]" if self.is_list else f"[{self.path}]" if self.path else ""


@dataclass(frozen=True)
class Topic:
    """A subject of `explain`: sections (several where they are kinds of one), or a key of some of them."""

    name: str
    sections: tuple[Section, ...]
    key: str | None = None


@cache
def sections() -> tuple[Section, ...]:
    """Returns every section and every kind of it, in the order of the reference."""
    return tuple(
        Section(
            described["section"],
            (described["kind"][0], described["kind"][1]) if described["kind"] else None,
            described["list"],
            described["doc"],
            described["example"],
            described["otherwise"],
            tuple(Key.of(key) for key in described["keys"]),
        )
        for described in json.loads(_core.reference())
    )


@cache
def topics() -> dict[str, Topic]:
    """Returns all topics by their dotted names."""
    held: dict[str, Topic] = {}

    def add(name: str, section: Section, key: str | None = None) -> None:
        before = held[name].sections if name in held and held[name].key == key else ()
        held[name] = Topic(name, (*before, section), key)

    for section in sections():
        base = section.path or TOP
        add(base, section)
        if section.tag:
            add(section.name, section)
    for section in sections():
        for key in section.keys:
            paths = [f"{section.path}.{key.name}" if section.path else key.name]
            if section.tag:
                paths.append(f"{section.name}.{key.name}")
            for path in paths:
                # The table of a list of tables has the name of the key that holds it.
                if path not in held or held[path].key is not None:
                    add(path, section, key.name)
        if section.tag:
            add(f"{section.path}.{section.tag[0]}", section)
    return held


def has(name: str) -> bool:
    """Returns whether a section, a kind or a key has a name."""
    return bool(_found(_asked(name)))


def explain(name: str) -> list[Topic]:
    """Returns the topics of a name: dotted from the top of the file, or the end of one, such as `dragonfly.h`.

    Raises:
        ExperimentError: There is no such topic; the message has the nearest.
    """
    asked = _asked(name)
    found = _found(asked)
    if found:
        return found
    path, _, last = asked.rpartition(".")
    has_kinds = any(section.path == path and section.tag for section in sections())
    raise _unknown_kind(path, last) if has_kinds else _unknown(asked)


def _asked(name: str) -> str:
    """A name as the file has it: any case, and `_`, `-` and blanks alike, where nothing is written so."""
    asked = name.strip().strip("[]").replace('"', "")
    return asked if asked in _endings().values() else _endings().get(_plain(asked), asked)


def _plain(path: str) -> str:
    return ".".join(map(words.plain, path.split(".")))


@cache
def _endings() -> dict[str, str]:
    """The ends of all paths as the file has them, by their spelling without case and hyphens."""
    parts = (path.split(".") for path in topics())
    ends = [".".join(part[start:]) for part in parts for start in range(len(part))]
    return {_plain(end): end for end in ends}


def _found(asked: str) -> list[Topic]:
    """Returns the topics of a name. Empty if nothing has this name."""
    held = topics()
    for candidate in _readings(asked):
        if candidate in held:
            return [held[candidate]]
    # `router.buffer.global` is explained with `router.buffer`, whose table has classes of channels as keys.
    above = held.get(asked.rpartition(".")[0])
    if above and any(key.name == above.key and "table of" in key.value for key in above.sections[0].keys):
        return [above]
    ends = [topic for path, topic in held.items() if path.endswith(f".{asked}")]
    # `router.buffer` has all that `router.input-queued.buffer` has.
    whole: list[Topic] = []
    for topic in sorted(ends, key=lambda topic: -len(topic.sections)):
        if not any(topic.key == held.key and set(topic.sections) <= set(held.sections) for held in whole):
            whole.append(topic)
    return whole


def _readings(asked: str) -> list[str]:
    """Returns the possible readings of a path, with `NAME` for users' names (a class of links, a job, a swept key)."""
    first, *rest = asked.split(".")
    named = [".".join([first, "NAME", *rest[skip:]]) for skip in (1, len(rest)) if rest]
    # The tables of a job have the keys of the whole file's tables.
    inside = [".".join(rest[skip:]) for skip in (0, 1) if first == "job" and len(rest) > skip + 1]
    return [asked, *named[: 2 if first == "sweep" else 1], *inside]


def _unknown(asked: str) -> _core.ExperimentError:
    """Returns the error for an unknown name."""
    files = {"machine": machines(), "node": nodes()}
    names = [*topics(), *(f"{section}.{name}" for section, held in files.items() for name in held)]
    near = difflib.get_close_matches(asked, names, MOST_NEAR, 0.5)
    ends = {path.rsplit(".", asked.count(".") + 1)[-1] if asked.count(".") == 0 else path: path for path in names}
    near += [ends[end] for end in difflib.get_close_matches(asked, ends, MOST_NEAR, 0.7)]
    near = list(dict.fromkeys([*near, *words.near(asked, 1)]))[:MOST_NEAR]
    hint = f"did you mean {' or '.join(f'`{found}`' for found in near)}?" if near else None
    top = list(dict.fromkeys((section.path or TOP).split(".")[0] for section in sections()))
    message = f"nothing is called `{asked}`: neither a section, nor a kind, nor a key"
    return refuse("", message, allowed=top, help=hint)


def _unknown_kind(path: str, asked: str) -> _core.ExperimentError:
    """Returns the error for a kind that a section does not have."""
    alike = [section for section in sections() if section.path == path and section.tag]
    kinds = [section.tag[1] for section in alike if section.tag]
    keys = {key.name for section in alike for key in section.keys}
    near = difflib.get_close_matches(asked, [*kinds, *sorted(keys)], MOST_NEAR, 0.6)
    hint = f"did you mean {' or '.join(f'`{path}.{found}`' for found in near)}?" if near else alike[0].otherwise
    return refuse("", f"`{path}` has no kind and no key `{asked}`", allowed=kinds, help=hint)


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Returns the lists of `cutthrough list`: kinds by section, keys of the other sections, the parts of mapping."""
    lists: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue())
    listed_there = set(lists)
    for section in sections():
        if section.tag is None:
            listed = lists.setdefault(section.path or TOP, [])
            listed += [{"name": key.name, "summary": summary(key.doc), "keys": _facts(key)} for key in section.keys]
        elif PLURALS.get(section.path, section.path) not in listed_there:
            names = [key.name for key in section.keys]
            listed = lists.setdefault(PLURALS.get(section.path, section.path), [])
            listed.append({"name": section.tag[1], "summary": summary(section.doc), "keys": names})
    mapping: dict[str, list[dict[str, Any]]] = json.loads(_core.mapping_catalogue())
    for files in ("machines", "nodes"):
        mapping[files] = [{key: entry[key] for key in ("name", "summary", "keys")} for entry in mapping[files]]
    return {name: entries for name, entries in {**lists, **mapping}.items() if entries}


def machines() -> dict[str, str]:
    """Returns the file of each machine of the catalogue by its name. Comments name the source of each number."""
    return _files("machines")


def is_joined(machine: str) -> bool:
    """Returns whether a machine of the catalogue, named with or without parameters, has several networks."""
    return "\n[topology]" not in machines()[machine.partition(":")[0]]


def nodes() -> dict[str, str]:
    """Returns the file of each node of the catalogue by its name. Comments name the source of each number."""
    return _files("nodes")


def _files(catalogue: str) -> dict[str, str]:
    return {entry["name"]: entry["text"] for entry in json.loads(_core.mapping_catalogue())[catalogue]}


def summary(doc: str) -> str:
    """Returns the first paragraph, on one line."""
    return " ".join(doc.split("\n\n", maxsplit=1)[0].split())


def _facts(key: Key) -> list[str]:
    """Returns a list's facts on a key besides its meaning."""
    default = f"default {key.default}" if key.default is not None else "required" if key.required else ""
    return [fact for fact in (key.value, key.range or "", default) if fact]


def settable() -> dict[str, str]:
    """Returns every key of `--set` by its dotted path, with its meaning, including keys that select a kind."""
    held: dict[str, str] = {}
    for section in sections():
        if section.is_list or "NAME" in section.path:
            continue
        start = f"{section.path}." if section.path else ""
        if section.tag:
            held.setdefault(start + section.tag[0], f"the kind of {section.path}")
        for key in section.keys:
            held.setdefault(start + key.name, summary(key.doc))
    return held


def values_of(path: str) -> dict[str, str]:
    """Returns the words that a key accepts, with their meanings. Empty if it takes numbers or quantities."""
    held: dict[str, str] = {}
    for section in sections():
        start = f"{section.path}." if section.path else ""
        # `workload.pattern=uniform` is short for `workload.pattern.kind=uniform`.
        if section.tag and path in {start + section.tag[0], section.path}:
            held.setdefault(section.tag[1], summary(section.doc))
        for key in section.keys:
            if path == start + key.name:
                held.update({word: summary(doc) for word, doc in key.words})
                held.update({word: "" for word in ("true", "false") if key.value == "true or false"})
    return held
