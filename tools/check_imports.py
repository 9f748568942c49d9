"""Checks that modules of a crate use one another in no cycle, and in the order that tools/module-order.md draws.

    python tools/check_imports.py            # all crates
    python tools/check_imports.py mapping    # one crate

The nodes of a graph are modules (files); an arrow leads from a module to each module whose items it names. A cycle is
reported as a path, with the line of each arrow.

`use` declarations and paths in expressions and types count, outside `#[cfg(test)]` and files that only tests
declare. A name is followed through re-exports to the module that defines it. Neither `mod x;` nor `pub use x::Item` is
an arrow by itself; if the file uses the re-exported name, that is. A private child module that adds an inherent `impl`
to a type of its parent is one node with the parent: a type whose methods are spread over several files.

Order: a paragraph "Within `CRATE`, each may use those before it: ..." of tools/module-order.md lists the modules of
a crate. A module belongs to the entry that is the longest prefix of its path, so that `run::outcome` may stand before
`run`. Every module has to belong to an entry, every entry to be a module, and no arrow may lead to a later entry. The
crate's root, which re-exports, belongs to none.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Draws the order of modules within some crates.
DRAWN = "tools/module-order.md"

Graph = dict[str, dict[str, int]]
"""Of each module, the modules that it names, and the line of the first mention."""


# --- cycles ----------------------------------------------------------------------------------------------------------


def cycles(graph: Graph) -> list[list[str]]:
    """A shortest cycle of each set of modules that all reach one another; its first module is not repeated."""
    found: list[list[str]] = []
    covered: set[str] = set()
    for module in sorted(graph):
        reached = _reachable(graph, module)
        if module in covered or module not in reached:
            continue
        members = {other for other in reached if module in _reachable(graph, other)}
        covered |= members
        found.append(min((_shortest_cycle(graph, member) for member in sorted(members)), key=len))
    return found


def _reachable(graph: Graph, start: str) -> set[str]:
    """The modules that a path of at least one arrow leads to."""
    seen: set[str] = set()
    stack = [start]
    while stack:
        new = graph.get(stack.pop(), {}).keys() - seen
        seen |= new
        stack += new
    return seen


def _shortest_cycle(graph: Graph, start: str) -> list[str]:
    """A shortest cycle through `start`, by breadth-first search; empty if there is none."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        module = queue.popleft()
        for target in sorted(graph.get(module, {})):
            if target == start:
                path = [module]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if target not in came_from:
                came_from[target] = module
                queue.append(target)
    return []


# --- Rust ------------------------------------------------------------------------------------------------------------

Module = tuple[str, ...]
"""A module's path from the crate's root, which is empty."""

_SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|\S")
_DEFINITION = re.compile(
    r"^(?:pub(?:\([^)]*\))?\s+)?(?:const\s+fn|async\s+fn|fn|struct|enum|union|trait|type|const|static)\s+(\w+)"
    r"|macro_rules!\s+(\w+)",
    re.MULTILINE,
)
_INHERENT_IMPL = re.compile(r"^impl(?:\s*<[^{]*?>)?\s+(?:\w+::)*(\w+)(?![^{]*\bfor\b)[^{;]*\{", re.MULTILINE)


@dataclass
class _File:
    """What the graph needs of a module's source."""

    defines: set[str] = field(default_factory=set)
    uses: dict[str, tuple[Module, int, bool]] = field(default_factory=dict)
    """Of each name that a `use` brings in, the path that it stands for, the line, and whether it is re-exported."""
    globs: list[tuple[Module, int]] = field(default_factory=list)
    paths: list[tuple[Module, int]] = field(default_factory=list)
    """Paths in expressions and types, and their lines."""
    mentions: set[str] = field(default_factory=set)
    """Identifiers outside `use` declarations."""
    extends: set[str] = field(default_factory=set)
    """Types with an inherent `impl`."""
    children: set[str] = field(default_factory=set)
    """Modules that `mod x;` declares."""
    private_children: set[str] = field(default_factory=set)


def rust_graph(source: Path) -> Graph:
    """The dependencies between the modules of a crate, whose `src` directory is given."""
    files: dict[Module, _File] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        module: Module = parts[:-1] if parts[-1] in {"lib", "main", "mod"} else parts
        files[module] = _parse(path.read_text(encoding="utf-8"), module)
    files = {module: file for module, file in files.items() if _declared(files, module)}
    graph: Graph = {}
    for module, file in files.items():
        node = _node(files, module)
        targets = graph.setdefault(_written(node), {})
        for path_named, line in _mentioned(file):
            defining = _resolve(files, module, path_named)
            target = None if defining is None else _node(files, defining)
            if target is not None and target != node:
                targets.setdefault(_written(target), line)
    return graph


def _declared(files: dict[Module, _File], module: Module) -> bool:
    """Whether the crate has the module without its tests: whether `mod` declares it and all around it."""
    around = module[:-1]
    return not module or (around in files and module[-1] in files[around].children and _declared(files, around))


def _mentioned(file: _File) -> list[tuple[Module, int]]:
    used = [(path, line) for name, (path, line, public) in file.uses.items() if not public or name in file.mentions]
    return [*used, *file.globs, *file.paths]


def _written(module: Module) -> str:
    return "::".join(("crate", *module))


def _node(files: dict[Module, _File], module: Module) -> Module:
    """The module that stands for `module`: its parent, where it only continues the parent's types."""
    while module:
        parent = module[:-1]
        above = files.get(parent, _File())
        if module[-1] not in above.private_children or not files[module].extends & above.defines:
            break
        module = parent
    return module


def _resolve(files: dict[Module, _File], start: Module, path: Module, depth: int = 0) -> Module | None:
    """The module that defines what a path names, seen from `start`; None for what is outside the crate."""
    head, rest = path[0], path[1:]
    if head == "crate":
        here: Module = ()
    elif head == "self":
        here = start
    elif head == "super":
        here = start[:-1]
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
    elif (*start, head) in files:
        here = (*start, head)
    else:
        return None
    for index, name in enumerate(rest):
        if (*here, name) in files:
            here = (*here, name)
            continue
        return _defining(files, here, rest[index:], depth)
    return here


def _defining(files: dict[Module, _File], module: Module, rest: Module, depth: int) -> Module | None:
    """The module that defines the first name of `rest`, which is found in `module` and is no child of it."""
    file = files[module]
    if rest[0] in file.defines or depth > len(files):
        return module
    if rest[0] in file.uses:
        return _resolve(files, module, (*file.uses[rest[0]][0], *rest[1:]), depth + 1)
    for path, _ in file.globs:
        behind = _resolve(files, module, path, depth + 1)
        if behind is not None and (rest[0] in files[behind].defines or rest[0] in files[behind].uses):
            return _defining(files, behind, rest, depth + 1)
    return module


def _parse(text: str, module: Module) -> _File:
    """Reads a module's source without its comments, literals and tests; inline modules count as part of it."""
    code = _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    tokens = [(match[0], match.start()) for match in _TOKEN.finditer(code)]
    code, tokens = _without_tests(code, tokens)
    file = _File(
        defines={name for pair in _DEFINITION.findall(code) for name in pair if name},
        extends={match[1] for match in _INHERENT_IMPL.finditer(code)},
    )
    words = [word for word, _ in tokens]
    index = 0
    while index < len(tokens):
        word, at = tokens[index]
        line = code.count("\n", 0, at) + 1
        if word == "use" and words[index + 1] != "<":
            end = words.index(";", index)
            public = index > 0 and words[index - 1] in {"pub", ")"}
            _add_use(file, words[index + 1 : end], line, public)
            index = end
        elif word == "mod" and words[index + 2] == ";":
            file.children.add(words[index + 1])
            if words[index - 1] not in {"pub", ")"}:
                file.private_children.add(words[index + 1])
            index += 2
        elif word.isidentifier():
            file.mentions.add(word)
            path = _path_at(words, index)
            if len(path) > 1:
                file.paths.append((path, line))
                index += 2 * len(path) - 2
        index += 1
    return file


def _without_tests(code: str, tokens: list[tuple[str, int]]) -> tuple[str, list[tuple[str, int]]]:
    """Blanks every item under `#[cfg(test)]`."""
    words = [word for word, _ in tokens]
    marker = ["#", "[", "cfg", "(", "test", ")", "]"]
    index = 0
    kept: list[tuple[str, int]] = []
    while index < len(tokens):
        if words[index : index + len(marker)] != marker:
            kept.append(tokens[index])
            index += 1
            continue
        end = _end_of_item(words, index + len(marker))
        start, stop = tokens[index][1], tokens[min(end, len(tokens) - 1)][1] + 1
        code = code[:start] + re.sub(r"[^\n]", " ", code[start:stop]) + code[stop:]
        index = end + 1
    return code, kept


def _end_of_item(words: list[str], index: int) -> int:
    """The last token of the item that starts at `index`: its `;`, or the brace that closes it."""
    depth = 0
    while index < len(words):
        depth += (words[index] in "{[(") - (words[index] in "}])")
        if depth == 0 and words[index] in {";", "}"}:
            return index
        index += 1
    return index


def _path_at(words: list[str], index: int) -> Module:
    """The path `a::b::c` that starts at a token; macros' `$crate` and what follows `::` or `.` start none."""
    if index > 0 and words[index - 1] in {"::", ".", "$"}:
        return ()
    path = [words[index]]
    while words[index + 1 : index + 2] == ["::"] and words[index + 2 : index + 3] and words[index + 2].isidentifier():
        index += 2
        path.append(words[index])
    return tuple(path)


def _add_use(file: _File, words: list[str], line: int, public: bool) -> None:
    """Adds each leaf of a `use` tree."""
    for path in _leaves(words):
        *names, alias = path
        if alias == "*":
            file.globs.append((tuple(names), line))
        elif names and alias != "_":
            file.uses[alias] = (tuple(names), line, public)


def _leaves(words: list[str], prefix: tuple[str, ...] = ()) -> list[Module]:
    """The paths of a `use` tree, each followed by the name that it is known by (or `*`)."""
    leaves: list[Module] = []
    for part in _split(words):
        head = list(prefix)
        rest = part
        while len(rest) > 1 and rest[1] == "::":
            head.append(rest[0])
            rest = rest[2:]
        if rest[:1] == ["{"]:
            leaves += _leaves(rest[1:-1], tuple(head))
        elif rest[:1] == ["*"]:
            leaves.append((*head, "*"))
        elif rest:
            path = head if rest[0] == "self" and head else [*head, rest[0]]
            leaves.append((*path, rest[2] if rest[1:2] == ["as"] else path[-1]))
    return leaves


def _split(words: list[str]) -> list[list[str]]:
    """Splits at the commas that no brace holds."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word == "{") - (word == "}")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


# --- order -----------------------------------------------------------------------------------------------------------


def orders(text: str) -> dict[str, list[str]]:
    """Of each crate whose order a text draws, the modules that it lists; what stands in parentheses is remarks."""
    found: dict[str, list[str]] = {}
    for match in re.finditer(
        r"^Within `(\w+)`, each may use those before it: (.*?)\n\n", f"{text}\n\n", re.DOTALL | re.MULTILINE
    ):
        listed, count = match[2], 1
        while count:
            listed, count = re.subn(r"\([^()]*\)", "", listed)
        found[match[1]] = [name.rstrip("/") for name in re.findall(r"`([\w:]+/?)`", listed)]
    return found


def out_of_order(name: str, order: list[str], graph: Graph) -> list[str]:
    """A line for each entry or module without its counterpart, entry listed twice, and arrow to a later entry."""
    entries = {module: _entry(order, module) for module in graph}
    inside = {
        "::".join(module.split("::")[1:length]) for module in graph for length in range(2, module.count("::") + 2)
    }
    place = {entry: index for index, entry in enumerate(order)}
    lines = [f"{DRAWN} lists `{entry}`, which is no module" for entry in place if entry not in inside]
    lines += [f"{DRAWN} lists `{entry}` twice" for entry in place if order.count(entry) > 1]
    lines += [f"{DRAWN} does not list {module}" for module in graph if module != "crate" and not entries[module]]
    for module, targets in graph.items():
        for target, line in targets.items():
            user, used = entries[module], entries[target]
            if user and used and place[user] < place[used]:
                lines.append(f"{module} (line {line}) uses {target}, but {DRAWN} lists `{user}` before `{used}`")
    return [f"{name}: {line}" for line in lines]


def _entry(order: list[str], module: str) -> str:
    """The entry that is the longest prefix of a module's path; empty if none is."""
    return max((entry for entry in order if f"{module}::".startswith(f"crate::{entry}::")), key=len, default="")


# --- command ---------------------------------------------------------------------------------------------------------


def report(name: str, graph: Graph) -> list[str]:
    """A line for each cycle: the modules along it, each with the line on which it names the next."""
    lines = []
    for cycle in cycles(graph):
        following = [*cycle[1:], cycle[0]]
        steps = [f"{module} (line {graph[module][target]})" for module, target in zip(cycle, following, strict=True)]
        lines.append(f"{name}: import cycle: {' -> '.join([*steps, cycle[0]])}")
    return lines


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Checks what is named on the command line; returns the exit status, 1 if something is wrong."""
    crates = {path.parent.parent.name: path.parent for path in sorted(root.glob("crates/*/src/lib.rs"))}
    names = list(crates)
    parser = argparse.ArgumentParser(
        description="Report import cycles in the crates, and imports against the drawn order."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}; default: all")
    chosen = parser.parse_args(arguments).names or names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        parser.error(f"there is no `{unknown[0]}`; allowed: {', '.join(names)}")
    graphs = {name: rust_graph(crates[name]) for name in chosen}
    lines = [line for name, graph in graphs.items() for line in report(name, graph)]
    drawn = root / DRAWN
    for name, order in orders(drawn.read_text(encoding="utf-8") if drawn.exists() else "").items():
        if name in graphs:
            lines += out_of_order(name, order, graphs[name])
        elif name not in names:
            lines.append(f"{DRAWN} draws the order within `{name}`, which is no crate")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
