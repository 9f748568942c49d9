"""Completion of keys and their values, topics, lists and names. Typer writes the scripts of the shells."""

from __future__ import annotations

import io
import os
import shlex
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["interfaces", "joined_words", "lists", "mapping_formats", "settings", "starts", "strategies", "topics"]

#: Environment variables that Typer's script for bash sets.
MODE, WORDS, PLACE = "_CUTTHROUGH_COMPLETE", "COMP_WORDS", "COMP_CWORD"


@contextmanager
def joined_words() -> Iterator[None]:
    """Joins `key`, `=` and `value`, which bash splits into three words, while their completions are computed.

    Bash keeps the text before the value, and takes the value alone.
    """
    kept = _join() if os.environ.get(MODE) == "complete_bash" else ""
    if not kept:
        yield
        return
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            yield
    finally:
        for line in printed.getvalue().splitlines():
            sys.stdout.write(line.removeprefix(kept) + "\n")


def _join() -> str:
    """Joins the words in the environment. Returns the text before the value that is typed, if there is one."""
    try:
        words = shlex.split(os.environ.get(WORDS, ""))
        place = int(os.environ.get(PLACE, ""))
    except ValueError:
        return ""
    words += [""] * (place + 1 - len(words))
    joined: list[str] = []
    for number, word in enumerate(words[: place + 1]):
        if number > 1 and "=" in (word, words[number - 1]):
            joined[-1] += word
        else:
            joined.append(word)
    os.environ[WORDS], os.environ[PLACE] = shlex.join(joined), str(len(joined) - 1)
    key, equals, _ = joined[-1].partition("=")
    return key + equals if equals else ""


def settings(incomplete: str) -> list[tuple[str, str]]:
    """Returns `KEY=`, or the words that a key accepts."""
    import cutthrough.reference.keys as reference

    key, equals, typed = incomplete.partition("=")
    if not equals:
        return [(f"{name}=", doc) for name, doc in reference.settable().items() if name.startswith(key)]
    words = reference.values_of(key).items()
    return [(f"{key}={word}", doc) for word, doc in words if word.startswith(typed)]


def topics(incomplete: str) -> list[str]:
    """Returns the topics of `explain`."""
    import cutthrough.reference.keys as reference

    files = {"machine": reference.machines(), "node": reference.nodes()}
    names = [*reference.topics(), *(f"{section}.{name}" for section, held in files.items() for name in held)]
    return [name for name in names if name.startswith(incomplete)]


def lists(incomplete: str) -> list[str]:
    """Returns the lists of `list`."""
    import cutthrough.reference.keys as reference

    return [name for name in (*reference.catalogue(), "papers") if name.startswith(incomplete)]


def starts(incomplete: str) -> list[str]:
    """Returns the files that `new` writes."""
    from cutthrough.experiment.starts import names
    from cutthrough.reference.keys import machines

    return [name for name in (*names(), *machines()) if name.startswith(incomplete)]


def strategies(incomplete: str) -> list[tuple[str, str]]:
    """Returns the strategies of `map`."""
    import cutthrough.reference.keys as reference

    found = reference.catalogue()["strategies"]
    return [(entry["name"], entry["summary"]) for entry in found if entry["name"].startswith(incomplete)]


def interfaces(incomplete: str) -> list[tuple[str, str]]:
    """Returns the interfaces of nodes from which `calibrate` starts."""
    import cutthrough.reference.keys as reference

    found = reference.catalogue()["nics"]
    return [(entry["name"], entry["summary"]) for entry in found if entry["name"].startswith(incomplete)]


def mapping_formats(incomplete: str) -> list[str]:
    """Returns the formats of `map`'s file."""
    from cutthrough.mapping.exports import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]
