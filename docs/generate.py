"""Writes what the program itself documents: keys of the experiment file, commands, catalogues, pictures of machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cutthrough import _core, api, plots
from cutthrough.channels import ChannelTable
from cutthrough.plots import machine
from cutthrough.quantities import Quantities
from cutthrough.quantities.measured import Quantity
from cutthrough.reference import keys as reference
from cutthrough.reference import words

COMMANDS = (
    "run",
    "merge",
    "compare",
    "report",
    "check",
    "analyze",
    "draw",
    "plot",
    "map",
    "calibrate",
    "record",
    "mpi build",
    "convert",
    "new",
    "explain",
    "list",
    "reproduce",
)

#: The study of the page on jobs.
JOBS = Path(__file__).parent.parent / "examples" / "jobs.toml"

#: Machines of the page on topologies.
MACHINES = {
    "single-switch": "single-switch:8",
    "fat-tree": "fat-tree:k=4,n=3",
    "fat-tree-4096": "fat-tree:k=16,n=3",
    "xgft": "xgft:m=4x4x2,w=1x2x2",
    "leaf-spine": "leaf-spine:leaves=8,spines=4,nodes_per_leaf=8,wires=2",
    "mesh": "mesh:4x4x3",
    "torus": "torus:6x5",
    "torus-3d": "torus:4x4x4",
    "hyperx": "hyperx:5x4",
    "dragonfly-plus": "dragonfly-plus:leaves=4,spines=4,groups=5,wires=4",
    "slim-fly": "slim-fly:q=5",
    "polarfly": "polarfly:q=3",
    "jellyfish": "jellyfish:routers=20,degree=4",
    "dragonfly": "dragonfly:h=2",
    "dragonfly-16512": "dragonfly:h=8",
}
#: The edge list of the page on topologies.
EDGES = "link 0 1\nlink 0 1 x2\nlink 1 2 global\nnode 0\nnode 2 x8\n"
#: The machine of the page on dragonflies, whose groups send to the next.
LOADED = {
    "topology": {"kind": "dragonfly", "h": 3},
    "link": {"bandwidth": "100 Gb/s", "delay": "10 ns"},
    "workload": {"kind": "traffic", "pattern": {"kind": "shift", "groups": 1}, "load": 0.05},
}


def write(directory: Path) -> None:
    """Writes every generated page."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "keys.md").write_text(keys(), encoding="utf-8")
    (directory / "catalogue.md").write_text(catalogue(), encoding="utf-8")
    (directory / "kinds.md").write_text(kinds(), encoding="utf-8")
    (directory / "words.md").write_text(known_words(), encoding="utf-8")
    (directory / "commands.md").write_text("\n".join(command(name) for name in COMMANDS), encoding="utf-8")


def draw(directory: Path) -> None:
    """Draws the machines of the pages on topologies and dragonflies, and the study of the page on jobs."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "file.edges").write_text(EDGES, encoding="utf-8")
    shapes = MACHINES | {"file": f"file:{directory / 'file.edges'}"}
    for name, shape in shapes.items():
        picture = machine.svg(ChannelTable.of(_core.Topology(shape, ".")), "file" if name == "file" else shape)
        (directory / f"{name}.svg").write_text(picture, encoding="utf-8")
    for routing in ("minimal", "valiant-node"):
        (loads,) = (found.channel_loads() for found in api.analyze(LOADED, set={"routing.kind": routing}))
        picture = machine.svg(loads, f"Shift by a group, {routing}")
        (directory / f"loads-{routing}.svg").write_text(picture, encoding="utf-8")
    plots.write(api.run(JOBS).plot("slowdown"), directory / "jobs-slowdown", ("svg",))


def keys() -> str:
    """Every section of the experiment file, each with a table of its keys."""
    return "\n".join(section(each) for each in json.loads(_core.reference()))


def section(described: dict[str, Any]) -> str:
    """One section, or one kind of it."""
    name = described["section"]
    heading = f"`[[{name}]]`" if described["list"] else f"`[{name}]`" if name else "Top level"
    if described["kind"]:
        tag, kind = described["kind"]
        heading += f' with `{tag} = "{kind}"`'
    lines = [f"## {heading}", "", described["doc"], ""]
    if described["keys"]:
        lines += ["| key | value | default | |", "|---|---|---|---|"]
        lines += [key(each) for each in described["keys"]]
    return "\n".join(lines) + "\n"


def key(described: dict[str, Any]) -> str:
    """One line of a table of keys."""
    value = described["value"] + (f" ({described['range']})" if described["range"] else "")
    default = (
        f"`{described['default']}`" if described["default"] is not None else "required" if described["required"] else ""
    )
    words = "".join(f'<br>`"{word["name"]}"`: {word["doc"]}' for word in described["values"])
    return (
        "| "
        + " | ".join(cell(text) for text in (f"`{described['key']}`", value, default, described["doc"] + words))
        + " |"
    )


def cell(text: str) -> str:
    """A text that can stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def catalogue() -> str:
    """What `cutthrough list` names."""
    lines = []
    for kind, entries in reference.catalogue().items():
        lines += [f"## {kind[0].upper()}{kind[1:]}", ""]
        lines += [f"`{entry['name']}`\n: {entry['summary']}\n" for entry in entries]
    return "\n".join(lines)


def kinds() -> str:
    """Returns the table of quantities by kind of workload."""
    special = {name for kind in Quantities.KINDS for name in kind.quantities}
    measured = [held.entry for held in vars(Quantities).values() if isinstance(held, Quantity)]
    rows = [("every point", [name for name in measured if name not in special])]
    rows += [(kind.name, list(kind.quantities)) for kind in Quantities.KINDS]
    lines = [f"| {name} | {', '.join(f'`{each}`' for each in held)} |" for name, held in rows]
    return "\n".join(["| kind | quantities |", "|---|---|", *lines]) + "\n"


def known_words() -> str:
    """The words of other tools and of vendors; words that are not modelled come first."""
    lines = ["| word | here |", "|---|---|"]
    for word in sorted(words.WORDS, key=lambda word: word.is_modelled):
        keys = "; ".join(f"`{key}`" for key in word.keys)
        here = f"{keys}. {word.doc}" if keys else f"Not modelled. {word.doc}"
        lines.append(f"| {cell(', '.join(word.names))} | {cell(here)} |")
    return "\n".join(lines) + "\n"


def command(name: str) -> str:
    """The help of a command, as the terminal shows it."""
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "TERMINAL_WIDTH": "100"}
    shown = subprocess.run(  # noqa: S603  (our own program)
        [sys.executable, "-m", "cutthrough.cli", *name.split(), "--help"],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    body = shown.stdout.replace("python -m cutthrough.cli", "cutthrough").strip("\n")
    return f"## `cutthrough {name}`\n\n```text\n{body}\n```\n"
