"""Experiment files to start from: a small machine with every key. Keys with defaults are comments."""

from __future__ import annotations

import json
import tomllib
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import cutthrough.experiment.documents as experiments
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.reference.keys import Section, is_joined, machines, sections, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PURPOSES", "names", "needed_files", "text_of"]

#: Columns of comments.
WIDTH = 100
LINK = {"bandwidth": "100 Gb/s", "delay": "20 ns"}
TRAFFIC = {"kind": "traffic", "load": 0.5}
#: The workload of machines without routers.
RANKS = {
    "title": "Ranks on a network that is a delay and a bandwidth",
    "workload": {"kind": "program", "program": {"kind": "halo-2d"}},
    "sweep": {"link.delay": ["20 ns", "1 us"]},
}
#: The edge list of a file to start from.
EDGES = """\
# Four routers, each wired to the others, with two nodes each: to be replaced by your network.
#
#   link A B [CLASS] [xN]   a wire between routers A and B, N times; channels of a class may have a bandwidth of their
#                           own, as [link.CLASS]
#   node R [xN]             a node on router R, N times; nodes are numbered in the order of the lines
link 0 1
link 0 2
link 0 3
link 1 2
link 1 3
link 2 3
node 0 x2
node 1 x2
node 2 x2
node 3 x2
"""
LOADS = {"workload.load": [0.1, 0.3, 0.5, 0.7, 0.9]}
#: Purposes of an experiment: changes to a load-latency curve of a fat-tree, after a title.
PURPOSES: dict[str, dict[str, Any]] = {
    "saturation": {"title": "The load at which a fat-tree saturates", "measure": {"search": "saturation"}, "sweep": {}},
    "routings": {
        "title": "Routings of a dragonfly under adversarial traffic",
        "topology": {"kind": "dragonfly", "h": 2},
        "routing": {"kind": "minimal"},
        "workload": {**TRAFFIC, "pattern": {"kind": "adversarial"}},
        "sweep": {"routing.kind": ["minimal", "valiant-group", "ugal-l"], "workload.load": [0.1, 0.2, 0.3, 0.4]},
    },
    "exchange": {"title": "Neighbours exchange data", "workload": {"kind": "exchange", "dims": [4, 4]}, "sweep": {}},
    "application": {
        "title": "A step of a stencil code",
        "topology": {"kind": "torus", "dims": [4, 4]},
        "workload": {"kind": "application", "graph": "stencil:4x4"},
        "placement": {"strategy": "identity"},
        "sweep": {"placement.strategy": ["identity", "auto"]},
    },
    "benchmark": {
        "title": "The latency of a message, by its size",
        "workload": {"kind": "benchmark", "benchmark": {"kind": "wocon"}},
        "sweep": {"workload.benchmark.message_size": ["64 B", "1 KiB", "16 KiB"]},
    },
    "program": {
        "title": "Ranks on a grid exchange their faces",
        "topology": {"kind": "torus", "dims": [4, 4]},
        "workload": {"kind": "program", "program": {"kind": "halo-2d", "dims": [4, 4]}},
        "placement": {"strategy": "contiguous"},
        "sweep": {"placement.strategy": ["contiguous", "random"]},
    },
}


def names() -> list[str]:
    """Returns the subjects of files besides named machines: every kind of topology, and purposes."""
    kinds = [section.tag[1] for section in sections() if section.path == "topology" and section.tag]
    return [*kinds, *PURPOSES]


def text_of(name: str) -> str:
    """Returns an experiment file with comments, for a kind of topology, a purpose, or a machine with its parameters.

    Raises:
        ExperimentError: There is no kind, purpose or machine of that name, or a parameter is wrong.
    """
    known = [*names(), *machines()]
    if name.partition(":")[0] not in machines() and name not in known:
        message = f"no experiment to start from is called `{name}`"
        raise refuse("", message, allowed=known, help=nearest(name, known))
    written = _experiment(name)
    resolved = _resolved(written)
    blocks = [_head(name, written)]
    blocks += ["\n".join(_section(path, table, resolved)) for path, table in _tables(written, resolved)]
    if written["sweep"]:
        lines = [f'"{key}" = {experiments.to_value(values)}' for key, values in written["sweep"].items()]
        blocks.append("\n".join(["# The points: every combination of these values.", "[sweep]", *lines]))
    return "\n\n".join(blocks) + "\n"


def needed_files(name: str) -> dict[str, str]:
    """Returns the files that such an experiment reads, with contents to start from."""
    return {_machine(name)["path"]: EDGES} if name == "file" else {}


def _resolved(written: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the experiment with every default, and the routing that suits its topology."""
    # The network of a file does not exist yet. Another machine has the same defaults.
    stands_in = _kind(written) == "file"
    known = {**written, "topology": _machine("fat-tree")} if stands_in else written
    experiment = experiments.load({key: value for key, value in known.items() if key != "sweep"})
    resolved = tomllib.loads(experiment.resolved_point(0, complete=False))
    if stands_in:
        return {**resolved, "topology": written["topology"]}
    if _is_flat(written) or "network" in resolved:
        return resolved
    return {"routing": {"kind": json.loads(experiment.check(0))["routing"]}, **resolved}


def _experiment(name: str) -> dict[str, Any]:
    """Returns the keys that the file sets."""
    traffic = {"workload": TRAFFIC, "measure": {}, "sweep": LOADS}
    if name.partition(":")[0] in machines():
        if is_joined(name):
            title, traffic = f"An all-reduce on {name}", {"workload": experiments.ALLREDUCE, "measure": {}, "sweep": {}}
        else:
            title = f"Uniform traffic on {name}"
        return {"title": title, "machine": {"name": name}, **traffic}
    base = {"title": f"Uniform traffic on a {name}", "link": LINK, **traffic}
    machine = {"topology": _machine("fat-tree" if name in PURPOSES else name)}
    return {**base, **machine, **(RANKS if name == "flat" else PURPOSES.get(name, {}))}


def _is_flat(written: Mapping[str, Any]) -> bool:
    """Returns whether the machine has no routers, and no channels to analyse."""
    return _kind(written) == "flat"


def _kind(written: Mapping[str, Any]) -> str | None:
    """Returns the kind of the topology; None if a machine has it."""
    kind: str | None = written.get("topology", {}).get("kind")
    return kind


def _machine(kind: str) -> dict[str, Any]:
    """Returns a small machine of a kind, as the table of its topology: the examples of its required keys."""
    (section,) = (section for section in sections() if section.path == "topology" and section.tag == ("kind", kind))
    lines = [f"{key.name} = {key.example}" for key in section.keys if key.required]
    return {"kind": kind, **tomllib.loads("\n".join(lines))}


def _head(name: str, written: Mapping[str, Any]) -> str:
    commands = {
        f"check {name}.toml": "what the file means, and whether the routing can deadlock",
        f"analyze {name}.toml": "exact channel loads, without simulation",
        f"run {name}.toml": f"tables and plots, in results/{name}",
        "explain topology": "any section, kind or key",
    }
    if _is_flat(written):
        del commands[f"analyze {name}.toml"]
    width = max(map(len, commands))
    lines = [
        f"# {written['title']}: a file to start from.",
        "# Lines `# key = value` are defaults, or examples where there is none.",
        "#",
        *(f"#   cutthrough {command:<{width}}  {what}" for command, what in commands.items()),
    ]
    for needed in needed_files(name):
        lines += ["#", f"# {needed} holds the network: replace it by yours. Its comments say how it is written."]
    return "\n".join([*lines, f"title = {json.dumps(written['title'])}", "# seed = 1"])


def _tables(written: Mapping[str, Any], resolved: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the tables of the file in the order of the reference, each with the keys that it sets."""
    held_in = dict.fromkeys(section.path for section in sections() if section.path and not section.is_list)
    # The values of a sweep are written last. Users choose the names of a link's classes.
    paths = [path for path in held_in if path != "sweep" and "NAME" not in path]
    absent: tuple[str, ...] = ("router", "routing") if _is_flat(written) else ()
    if "network" in resolved:
        # Each network has these sections.
        absent = ("topology", "link", "routing", "layout")
    for path in paths:
        if path in absent:
            continue
        held, own = _at(resolved, path), _at(written, path)
        if held is None and own is None and path != "routing":
            continue
        yield path, own or {}


def _section(path: str, own: Mapping[str, Any], resolved: Mapping[str, Any]) -> list[str]:
    """Returns the lines of a table: its documentation, the keys that are set, and the others as comments."""
    kinds = [section for section in sections() if section.path == path]
    held = _at(resolved, path) or {}
    tag = kinds[0].tag[0] if kinds[0].tag else None
    found = next((section for section in kinds if section.tag and section.tag[1] == held.get(tag)), kinds[0])
    lines = _comment(_about(found, kinds))
    # A table that sets nothing is a comment as a whole.
    lines.append(found.heading if own else f"# {found.heading}")
    if tag is not None:
        value = held.get(tag)
        lines.append(f"{'' if tag in own else '# '}{tag} = {json.dumps(value or '...')}" if value or own else "")
    for key in found.keys if held or own or tag is None else ():
        lines += _comment(summary(key.doc))
        value = own.get(key.name, held.get(key.name))
        shown = experiments.to_value(value) if value is not None else key.example
        lines.append(f"{'' if key.name in own else '# '}{key.name} = {shown}")
    return [line for line in lines if line]


def _about(section: Section, kinds: list[Section]) -> str:
    """Returns a table's documentation, and its other possible kinds."""
    others = [kind.tag[1] for kind in kinds if kind.tag and kind is not section]
    choice = f" Other kinds: {', '.join(others)}." if others else ""
    if section.path == "routing":
        choice = f" Without this table, what suits the topology.{choice}"
    return summary(section.doc) + choice


def _comment(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _at(table: Any, path: str) -> Any:
    for key in path.split("."):
        table = table.get(key) if isinstance(table, dict) else None
    return table
