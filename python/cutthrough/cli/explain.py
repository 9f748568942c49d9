"""The commands that teach: `explain`, `list` and `new`."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.cli.complete as complete
import cutthrough.cli.selections as selections
import cutthrough.files.atomic as atomic
import cutthrough.reference.keys as reference
import cutthrough.reference.words as words
import cutthrough.reports.tables as reports
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import JsonOption, complain, out, print_json

if TYPE_CHECKING:
    from cutthrough.reference.keys import Key, Section, Topic
    from cutthrough.reference.words import Word

__all__ = ["register"]

#: Catalogues whose files are topics, such as `machine.lumi`, by the beginning of the topic.
FILES = {"machine": reference.machines, "node": reference.nodes}
#: Meaning of the marks in the files of machines and nodes.
MARKS = (
    "seen: in a text of the operator or the vendor; secondary: in a text about it; derived: arithmetic on such "
    "numbers; unsourced: an assumption"
)
#: Standard output, as a file's name.
STANDARD = Path("-")


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command()(explain)
    app.command("list")(list_)
    app.command()(new)


def explain(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="A section, a kind or a key: `topology`, `topology.dragonfly.h`, or the end of one: `precision`; or "
            "`machine.NAME` or `node.NAME`, for the numbers of a named machine or node and their sources; or "
            "`selection.open-mpi-4.1:ranks=64,bytes=4096`, for the algorithms that a library chooses. Case does not "
            "matter, and `_`, `-` and blanks are alike.",
            autocompletion=complete.topics,
        ),
    ],
    json_output: JsonOption = False,
) -> None:
    """Explain a section, a kind or a key of the experiment file.

    Prints its meaning, unit, default, range and an example. For other words of the field (ECN, SHARP, Slim Fly) it
    names the keys that model them, or says that they are not modelled.

    Example: `cutthrough explain topology.dragonfly.h`
    """
    name = " ".join(names)
    if name.lower().startswith("selection."):
        selections.show(name[len("selection.") :], json_output=json_output)
        return
    # Parameters do not change the file: `machine.lumi:groups=4` is that of `machine.lumi`.
    catalogue, _, named = name.lower().partition(":")[0].partition(".")
    text = FILES[catalogue]().get(named) if catalogue in FILES else None
    if text is not None:
        if json_output:
            print_json({"version": _core.__version__, catalogue: named, "text": text})
            return
        out.print(text, markup=False, soft_wrap=True)
        out.print(MARKS, markup=False)
        return
    word = words.find(name) if not reference.has(name) else None
    found = [] if word else reference.explain(name)
    if json_output:
        known = [_described_word(word)] if word else []
        print_json({"version": _core.__version__, "topics": [_described(topic) for topic in found], "words": known})
        return
    if word:
        _show_word(word)
    for place, topic in enumerate(found):
        if place:
            out.print()
        _show(topic)


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="topologies, routers, patterns, measure, link, job, strategies, ... or papers.",
            autocompletion=complete.lists,
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Name everything that an experiment file can hold or choose from, and the papers that can be reproduced.

    Examples:
    - `cutthrough list routers`
    - `cutthrough list measure`
    """
    from cutthrough.reproduce.papers import catalogue as papers

    entries: dict[str, Any] = {**reference.catalogue(), "papers": papers()}
    kind = reference.PLURALS.get(kind, kind) if kind is not None else None
    if kind is not None and kind not in entries:
        raise refuse("", f"there is no list of `{kind}`", allowed=list(entries), help=nearest(kind, entries))
    shown = entries if kind is None else {kind: entries[kind]}
    if json_output:
        print_json({"version": _core.__version__, **shown})
        return
    for name, group in shown.items():
        out.print(reports.catalogue_table(name, group))


def new(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A kind of topology, a named machine such as `lumi:groups=4`, or a purpose: saturation, routings, "
            "exchange, application, benchmark, program.",
            autocompletion=complete.starts,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to; `-` prints it.", show_default="WHAT.toml"),
    ] = None,
) -> None:
    """Write an experiment file with comments to start from.

    It has every key of its sections. Keys with defaults are comments. An existing file is not overwritten. For `file`,
    an edge list is written beside it.

    Examples:
    - `cutthrough new fat-tree`
    - `cutthrough new torus -o - | cutthrough run -`
    """
    from cutthrough.experiment.starts import needed_files, text_of

    text = text_of(what)
    path = output or Path(f"{what}.toml")
    if path == STANDARD:
        sys.stdout.write(text)
        for name in needed_files(what):
            complain(f"{name}, which it names, is yours to write: `cutthrough new {what}` writes one beside the file")
        return
    if file_target(path).exists():
        raise refuse("--out", f"{path} exists, and is not overwritten", help="name another")
    for name, content in needed_files(what).items():
        beside = path.with_name(name)
        if beside.exists():
            out.print(f"{beside}: as it was", markup=False, soft_wrap=True)
        else:
            atomic.write_alone(beside, content)
            out.print(f"{beside}: a small network, to be replaced by yours", markup=False, soft_wrap=True)
    atomic.write_alone(path, text)
    out.print(f"{path}: `cutthrough run {path}` simulates it", markup=False, soft_wrap=True)


def _described_word(word: Word) -> dict[str, Any]:
    """Returns a word that the file does not have, as JSON."""
    return {"names": list(word.names), "modelled": word.is_modelled, "keys": list(word.keys), "doc": word.doc}


def _show_word(word: Word) -> None:
    """Shows a word that the file does not have, on the terminal."""
    modelled = "modelled by other keys" if word.is_modelled else "not modelled"
    out.print(f"{word.names[0]}: {modelled}", style="bold", markup=False)
    out.print(word.doc, markup=False)
    for key in word.keys:
        out.print(f"`cutthrough explain {key}`", markup=False)
    if not word.is_modelled:
        out.print(f"{words.PAGE} has all that is not modelled.", markup=False)


def _described(topic: Topic) -> dict[str, Any]:
    """Returns a topic as JSON."""
    return {
        "name": topic.name,
        "sections": [
            {
                "section": section.path,
                "kind": section.tag[1] if section.tag else None,
                "doc": section.doc,
                "example": section.example,
                "keys": [_key(key) for key in section.keys if topic.key in {None, key.name}],
            }
            for section in topic.sections
        ],
    }


def _key(key: Key) -> dict[str, Any]:
    words = [{"name": name, "doc": doc} for name, doc in key.words]
    held = {"key": key.name, "doc": key.doc, "value": key.value, "unit": key.unit, "default": key.default}
    return {**held, "required": key.required, "range": key.range, "values": words, "example": key.example}


def _show(topic: Topic) -> None:
    """Shows one topic on the terminal."""
    if topic.key is not None:
        _show_key(topic, topic.key)
    else:
        for place, (_, kinds) in enumerate(groupby(topic.sections, lambda section: section.path)):
            if place:
                out.print()
            _show_kinds(list(kinds))


def _show_kinds(kinds: list[Section]) -> None:
    """Shows the kinds of a section, or a section that has only one."""
    first = kinds[0]
    if len(kinds) == 1:
        return _show_section(first)
    out.print(f"{first.heading}: `{first.tag[0] if first.tag else 'kind'}` is one of", style="bold", markup=False)
    entries = [
        {"name": s.tag[1], "summary": reference.summary(s.doc), "keys": [key.name for key in s.keys]}
        for s in kinds
        if s.tag
    ]
    out.print(reports.catalogue_table("", entries))
    _show_below(first)
    out.print(f"\n`cutthrough explain {first.name}` explains one of them.", markup=False)
    return None


def _show_below(section: Section) -> None:
    """Shows the names of the sections below a section, which have their own entries."""
    start, deep = f"{section.path}.", section.path.count(".") + 1
    others = (other for other in reference.sections() if section.path and other.path.startswith(start))
    below = dict.fromkeys(other.heading for other in others if other.path.count(".") == deep)
    if below:
        out.print(f"\nsections of its own: {', '.join(below)}", markup=False)


def _show_section(section: Section) -> None:
    kind = f', {section.tag[0]} = "{section.tag[1]}"' if section.tag else ""
    out.print(f"{section.heading or 'The top of the file'}{kind}", style="bold", markup=False)
    out.print(section.doc, markup=False)
    if section.keys:
        out.print()
        out.print(reports.keys_table(section.keys))
    _show_below(section)
    if section.example is not None:
        out.print("\nexample", style="bold")
        out.print(section.example, markup=False, soft_wrap=True)


def _show_key(topic: Topic, name: str) -> None:
    """Shows a key. Each reading of it stands with its kinds where kinds differ."""
    readings: dict[Key, list[Section]] = {}
    for section in topic.sections:
        for key in section.keys:
            if key.name == name:
                readings.setdefault(key, []).append(section)
    for place, (key, sections) in enumerate(readings.items()):
        if place:
            out.print()
        kinds = [section.tag[1] for section in sections if section.tag]
        of = f" of {', '.join(kinds)}" if kinds else ""
        out.print(f"{'.'.join(filter(None, (sections[0].path, name)))}{of}", style="bold", markup=False)
        out.print(key.doc, markup=False)
        out.print(reports.key_table(key, _example(key, sections[0])))


def _example(key: Key, section: Section) -> str:
    """Returns lines of TOML that set the key."""
    kind = f'{section.tag[0]} = "{section.tag[1]}"' if section.tag else ""
    return "\n".join(filter(None, (section.heading, kind, f"{key.name} = {key.example}")))
