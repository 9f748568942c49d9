"""Reads the names and quotes of claims from their modules, and the claims that the documents of papers name."""

from __future__ import annotations

import ast
import fnmatch
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cutthrough.reproduce import Paper

#: A back-ticked word that may be a claim: hyphenated, with `*` for any part. Names of files have an ending.
HYPHENATED = re.compile(r"`([a-z0-9.*]+(?:-[a-z0-9.*]+)+)(?<!\.toml)(?<!\.csv)`")
NAME = re.compile(r"`([^`]+)`")


class Quotes(ast.NodeVisitor):
    """The quotes of a module of claims: what is literal of the second argument of each call of `claim`."""

    def __init__(self, source: str) -> None:
        self.bound: dict[str, list[ast.expr]] = {}
        self.calls: list[ast.Call] = []
        self.visit(ast.parse(source))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "claim":
            self.calls.append(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._bind(node.targets[0], [node.value])
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, self._elements(node.iter))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._bind(node.target, self._elements(node.iter))
        self.generic_visit(node)

    def _bind(self, target: ast.expr, values: list[ast.expr]) -> None:
        """Binds names to expressions, those of a tuple one by one."""
        if isinstance(target, ast.Name):
            self.bound.setdefault(target.id, []).extend(values)
        elif isinstance(target, ast.Tuple):
            held = [one for value in values for one in self._entries(value)]
            rows = [value.elts for value in held if isinstance(value, (ast.Tuple, ast.List))]
            for place, name in enumerate(target.elts):
                self._bind(name, [row[place] for row in rows if len(row) == len(target.elts)])

    def _entries(self, value: ast.expr) -> list[ast.expr]:
        """What an expression may be: any entry of a dictionary, or itself."""
        if not isinstance(value, ast.Subscript):
            return [value]
        held = self.bound.get(ast.unparse(value.value), [])
        return [entry for one in held if isinstance(one, ast.Dict) for entry in one.values]

    def _elements(self, iterable: ast.expr) -> list[ast.expr]:
        """What a loop goes through, as far as it is literal: a sequence, or the items of a dictionary."""
        if isinstance(iterable, (ast.Tuple, ast.List)):
            return iterable.elts
        if isinstance(iterable, ast.Name):
            return [one for value in self.bound.get(iterable.id, []) for one in self._elements(value)]
        if isinstance(iterable, ast.Call) and ast.unparse(iterable.func).endswith(".items"):
            held = [
                value for value in self.bound.get(ast.unparse(iterable.func)[:-6], []) if isinstance(value, ast.Dict)
            ]
            pairs = [(key, value) for one in held for key, value in zip(one.keys, one.values, strict=True) if key]
            return [ast.Tuple(list(pair), ast.Load()) for pair in pairs]
        return []

    def texts(self, node: ast.expr) -> Iterator[str]:
        """The texts that an expression may be."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name):
            yield from (text for value in self.bound.get(node.id, []) for text in self.texts(value))
        elif isinstance(node, ast.Subscript):
            yield from self.texts(node.value)
        else:
            parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
            parts += node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Tuple) else []
            yield from (text for part in parts for text in self.texts(part))


class Identifiers:
    """The identifiers of a paper's claims, as far as its modules have them literally.

    A part that is known only when the claims are judged stands for every word and number of the modules.
    """

    def __init__(self, paper: Paper) -> None:
        sources = [path.read_text(encoding="utf-8") for path in paper.claims.parent.rglob("*.py")]
        held = [node.value for source in sources for node in ast.walk(ast.parse(source)) if type(node) is ast.Constant]
        texts = {str(value).lower().replace("_", "-") for value in held if isinstance(value, (str, int, float))}
        texts |= {f"{value:.2f}" for value in held if type(value) is float}
        self.words = {text for text in texts if re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", text)}
        self.names = {
            name.partition(" ")[0]
            for module in map(Quotes, sources)
            for call in module.calls
            for name in self._texts(module, call.args[0])
        }

    def have(self, name: str) -> bool:
        """Whether a claim has this name, or at least one matches a pattern."""
        return any(fnmatch.fnmatchcase(known, name) for known in self.names) if "*" in name else name in self.names

    def _texts(self, module: Quotes, node: ast.expr) -> set[str]:
        """The texts that an expression may be."""
        if isinstance(node, ast.JoinedStr):
            parts = [self._texts(module, part) for part in _before_the_figure(node)]
            return {"".join(held) for held in itertools.product(*parts)}
        if isinstance(node, ast.FormattedValue):
            return self._texts(module, node.value)
        if isinstance(node, ast.IfExp):
            return self._texts(module, node.body) | self._texts(module, node.orelse)
        if isinstance(node, ast.Constant):
            return {str(node.value)}
        values = module.bound.get(node.id, []) if isinstance(node, ast.Name) else []
        if not values or not all(map(_is_text, values)):
            return self.words
        return {text for value in values for text in self._texts(module, value)}


def _before_the_figure(node: ast.JoinedStr) -> Iterator[ast.expr]:
    """The parts of a formatted name, up to the blank before the figure."""
    for part in node.values:
        if isinstance(part, ast.Constant) and " " in str(part.value):
            yield ast.Constant(str(part.value).partition(" ")[0])
            return
        yield part


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a text. Numbers are formatted in several ways."""
    return isinstance(node, (ast.JoinedStr, ast.IfExp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def section(text: str, title: str) -> str:
    """A section of a page, without its heading; empty if there is none."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def named_first(deviations: str) -> list[str]:
    """The names before the colon of each entry of what comes out otherwise."""
    entries = section(deviations, "What comes out otherwise").split("\n- ")[1:]
    return [name for entry in entries for name in NAME.findall(entry.partition(":")[0])]


def tabled(readme: str) -> list[str]:
    """The names in the first column of the table of claims."""
    rows = readme.partition("\n| claim |")[2].partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in NAME.findall(row.split("|")[1])]
