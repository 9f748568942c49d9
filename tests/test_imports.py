"""The check that modules of a crate use one another in the drawn order, and never in a cycle."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tools.check_imports import DRAWN, ROOT, cycles, main, orders, out_of_order, rust_graph

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def rust_cycles(root: Path, files: dict[str, str]) -> list[list[str]]:
    return cycles(rust_graph(write(root / "src", files)))


LIB = "mod a;\nmod b;\npub use a::A;\npub use b::B;\n"


@pytest.mark.parametrize(
    "back",
    [
        "use crate::A;\npub struct B(A);\n",
        "use super::a::A;\npub struct B(A);\n",
        "use crate::{a::{self, A as Other}};\npub struct B;\n",
        "pub struct B;\nfn f() { let _ = crate::a::g(); }\n",
        "pub struct B;\nfn f() -> crate::A { todo!() }\n",
        "use crate::a::*;\npub struct B;\n",
    ],
)
def test_rust_every_form_of_path_closes_a_cycle(tmp_path: Path, back: str) -> None:
    """Catches a form of path that is overlooked."""
    files = {"lib.rs": LIB, "a.rs": "use crate::B;\npub struct A;\npub fn g(_: B) {}\n", "b.rs": back}
    assert rust_cycles(tmp_path, files) == [["crate::a", "crate::b"]]


@pytest.mark.parametrize(
    "text",
    [
        "// use crate::A;\npub struct B;\n",
        "/* use crate::A; */ pub struct B;\n",
        'pub struct B;\nconst TEXT: &str = "\\" use crate::A;";\n',
        'pub struct B;\nconst TEXT: &str = r#"" use crate::A;"#;\n',
        "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n",
        "pub struct B;\n#[cfg(test)]\nuse crate::A;\n",
    ],
)
def test_rust_comments_literals_and_tests_do_not_count(tmp_path: Path, text: str) -> None:
    """Catches text that is taken for code, and tests, which may use everything."""
    files = {"lib.rs": LIB, "a.rs": "use crate::B;\npub struct A(B);\n", "b.rs": text}
    assert rust_cycles(tmp_path, files) == []


def test_rust_folders_follow_the_same_rule(tmp_path: Path) -> None:
    """Catches re-exports that hide a cycle between files of two folders."""
    files = {
        "lib.rs": "mod q;\nmod r;\n",
        "q/mod.rs": "pub mod x;\n",
        "q/x.rs": "pub fn f() { crate::r::g() }\n",
        "r/mod.rs": "mod y;\npub use y::g;\n",
        "r/y.rs": "use crate::q;\npub fn g() { q::x::f() }\nfn h() { crate::q::x::f() }\n",
    }
    assert rust_cycles(tmp_path, files) == [["crate::q::x", "crate::r::y"]]


PARENT = "mod part;\nuse part::help;\npub struct T;\nimpl T { pub fn f(&self) { help() } }\n"


def test_rust_parent_and_child_form_a_cycle(tmp_path: Path) -> None:
    """Catches a rule that excuses every cycle inside a folder."""
    files = {"lib.rs": "mod t;\n", "t/mod.rs": PARENT, "t/part.rs": "use super::T;\npub fn help() -> T { T }\n"}
    assert rust_cycles(tmp_path, files) == [["crate::t", "crate::t::part"]]


def test_rust_an_impl_may_be_spread_over_private_children(tmp_path: Path) -> None:
    """Catches a report of a type whose methods are in several files, and an exception that is too wide."""
    part = "use super::T;\nimpl T { pub fn g(&self) { self.f() } }\npub fn help() {}\n"
    assert rust_cycles(tmp_path, {"lib.rs": "mod t;\n", "t/mod.rs": PARENT, "t/part.rs": part}) == []
    # An implementation of a trait does not make a child a part of its parent, nor may a public child be one.
    foreign = part.replace("impl T", "impl Clone for T")
    assert rust_cycles(tmp_path, {"t/part.rs": foreign}) == [["crate::t", "crate::t::part"]]
    assert rust_cycles(tmp_path, {"t/mod.rs": f"pub {PARENT}", "t/part.rs": part}) == [["crate::t", "crate::t::part"]]


def test_a_shortest_cycle_of_each_knot_is_reported() -> None:
    """Catches cycles that are reported twice, at length or not at all."""
    knot = {"a": {"b": 1}, "b": {"c": 2}, "c": {"a": 3, "b": 4}}
    apart = {"x": {"y": 5}, "y": {"x": 6, "a": 7}}
    assert cycles({**knot, **apart}) == [["b", "c"], ["x", "y"]]
    assert cycles({"a": {"b": 1, "c": 1}, "b": {"d": 1}, "c": {"d": 1}, "d": {}}) == []


def test_the_command_prints_the_path_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches an exit status of 0, a wrong line number, and names that are not checked."""
    source = write(tmp_path / "crates/one/src", {"lib.rs": LIB, "a.rs": "use crate::B;\npub struct A(B);\n"})
    write(source, {"b.rs": "\nuse crate::A;\npub struct B(A);\n"})
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out == "one: import cycle: crate::a (line 1) -> crate::b (line 2) -> crate::a\n"
    with pytest.raises(SystemExit, match="2"):
        main(["two"], tmp_path)
    assert "there is no `two`; allowed: one" in capsys.readouterr().err


def test_rust_files_that_only_tests_declare_do_not_count(tmp_path: Path) -> None:
    """Catches an arrow from a test in a separate file."""
    files = {
        "lib.rs": LIB,
        "a.rs": 'pub struct A;\n#[cfg(test)]\n#[path = "a_tests.rs"]\nmod tests;\n',
        "a_tests.rs": "use crate::B;\n",
        "b.rs": "use crate::A;\npub struct B(A);\n",
    }
    assert rust_graph(write(tmp_path / "src", files)) == {"crate": {}, "crate::a": {}, "crate::b": {"crate::a": 1}}


def test_the_order_is_read_without_remarks() -> None:
    """Catches remarks that are taken for modules, and a list that runs on into the next paragraph."""
    text = """# Title

Within `one`, each may use those before it: `a` (what `x` has (and `y`)), `b::c`;
`d/` (all of it).

Other words: `z`.

Within `two`, each may use those before it: `e`.
"""
    assert orders(text) == {"one": ["a", "b::c", "d"], "two": ["e"]}


def test_arrows_and_modules_outside_the_drawn_order_are_refused() -> None:
    """Catches an arrow to a later entry, and an entry or a module without its counterpart."""
    graph = {"crate": {"crate::b": 1}, "crate::a": {}, "crate::b": {"crate::a": 2}, "crate::b::c": {"crate::b": 3}}
    graph["crate::b"]["crate::b::c"] = 4
    assert out_of_order("one", ["a", "b"], graph) == []
    assert out_of_order("one", ["a", "b::c", "b"], graph) == [
        f"one: crate::b::c (line 3) uses crate::b, but {DRAWN} lists `b::c` before `b`"
    ]
    assert out_of_order("one", ["b", "a"], graph) == [
        f"one: crate::b (line 2) uses crate::a, but {DRAWN} lists `b` before `a`"
    ]
    assert out_of_order("one", ["b", "gone", "b"], graph) == [
        f"one: {DRAWN} lists `gone`, which is no module",
        f"one: {DRAWN} lists `b` twice",
        f"one: {DRAWN} does not list crate::a",
    ]


def test_the_command_reads_the_drawn_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a list that is not checked."""
    write(
        tmp_path / "crates/one/src",
        {"lib.rs": LIB, "a.rs": "use crate::B;\npub struct A(B);\n", "b.rs": "pub struct B;\n"},
    )
    drawn = "Within `one`, each may use those before it: {}.\n"
    write(tmp_path, {DRAWN: drawn.format("`b`, `a`")})
    assert main([], tmp_path) == 0
    write(tmp_path, {DRAWN: drawn.format("`a`, `b`")})
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out == f"one: crate::a (line 1) uses crate::b, but {DRAWN} lists `a` before `b`\n"
    write(tmp_path, {DRAWN: drawn.format("`b`, `a`").replace("one", "two")})
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out == f"{DRAWN} draws the order within `two`, which is no crate\n"


def test_the_project_has_no_cycles_and_keeps_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a cycle, and an arrow against the order that is drawn."""
    assert orders((ROOT / DRAWN).read_text(encoding="utf-8")).keys() == {"fabric", "system"}
    assert main([]) == 0, capsys.readouterr().out


def test_no_module_of_the_package_imports_its_root() -> None:
    """Catches an arrow that the contracts in pyproject.toml cannot see: a linter takes `_core` for the root."""
    package = ROOT / "python/cutthrough"
    modules = [path for path in package.rglob("*.py") if "papers" not in path.relative_to(package).parts]
    assert len(modules) > 100
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names if alias.asname] if isinstance(node, ast.Import) else []
            named += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            assert not {"cutthrough", "."} & set(named), f"{path}: {ast.unparse(node)}"
