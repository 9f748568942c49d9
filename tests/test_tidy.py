"""The checks of text and shape, on files that break them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def tidy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The checks, over an empty folder."""
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "tools" / "tidy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tidy", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_a_phrase_more_than_recorded_is_named_with_its_line(tidy: Any, tmp_path: Path) -> None:
    """Catches phrases in code that count, phrases in comments that do not, and a record that may rise."""
    (tmp_path / "a.rs").write_text('/// Those that wait.\nlet s = "// so many";\n/// One of its own.\n')
    assert tidy.phrases_in("a.rs") == 1
    assert list(tidy.risen({"a.rs": 1}, {})) == ["a.rs:3: `of its own`: say it with the subject first"]
    assert list(tidy.risen({"a.rs": 1}, {"a.rs": 1})) == []
    assert "--record" in next(tidy.risen({}, {"a.rs": 1}))


def test_pages_and_functions_are_checked(tidy: Any, tmp_path: Path) -> None:
    """Catches wide prose, code and tables that count as prose, links that lead nowhere, and long functions."""
    page = ["# A page", "x " * 70, "| " + "x " * 70, "```", "y " * 70, "```", "[here](b.md)", "[there](a.md#a-page)"]
    (tmp_path / "a.md").write_text("\n".join(page))
    assert list(tidy.wide("a.md")) == ["a.md:2: 140 columns; text has at most 120"]
    assert list(tidy.broken_links("a.md")) == ["a.md:7: link to `b.md`: there is no such file"]
    (tmp_path / "b.rs").write_text(
        "pub fn long(\n    a: u8,\n) {\n" + "    a;\n" * 70 + "}\nfn short() -> u8 {\n    1\n}\n"
    )
    assert list(tidy.long("b.rs", {})) == ["b.rs:1: `long` has 74 lines; a function has at most 70"]
    assert list(tidy.long("b.rs", {"b.rs: long": 74})) == []
    (tmp_path / "c.py").write_text("# TODO: later\n")
    assert list(tidy.unfinished("c.py")) == ["c.py:1: nothing is left `# TODO: later`"]


def test_structs_and_traits_of_the_simulator_are_limited(tidy: Any, tmp_path: Path) -> None:
    """Catches a limit that counts comments, members of other items, or the fields of other crates."""
    text = "".join(
        f"pub struct S{count} {{\n" + "    /// Number: 1.\n    pub(crate) a: u8,\n" * count + "}\n"
        for count in (30, 31)
    )
    for name in ("crates/host/src/a.rs", "crates/sim/src/a.rs"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text + "trait T {\n" + "    fn f(&self) {\n    }\n" * 16 + "}\n")
    assert list(tidy.crowded("crates/host/src/a.rs")) == [
        "crates/host/src/a.rs: `S31` has 31 members; a struct has at most 30",
        "crates/host/src/a.rs: `T` has 16 members; a trait has at most 15",
    ]
    assert list(tidy.crowded("crates/sim/src/a.rs")) == []


def test_banned_phrases_are_errors_where_none_is_recorded(
    tidy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a new banned phrase that `--record` admits, and a ban that holds for code or never holds everywhere."""
    (tmp_path / "a.rs").write_text('/// A barrier for so many threads.\nlet s = "// those that";\n')
    error = "a.rs:1: `so many` is banned: name the parameter, or say it with the subject first"
    assert list(tidy.banned("a.rs", {})) == [error]
    assert list(tidy.banned("a.rs", {"a.rs": 1})) == []
    monkeypatch.setattr(tidy, "BANNED_EVERYWHERE", True)
    assert list(tidy.banned("a.rs", {"a.rs": 1})) == [error]


def test_functions_of_python_have_their_own_limit(tidy: Any, tmp_path: Path) -> None:
    """Catches Python held to the limit of Rust, and an exception that does not count."""
    (tmp_path / "a.py").write_text("def long():\n" + "    a()\n" * 60)
    assert list(tidy.long("a.py", {})) == ["a.py:1: `long` has 61 lines; a function has at most 60"]
    assert list(tidy.long("a.py", {"a.py: long": 61})) == []
    assert list(tidy.too_long(["a.py"])) == [("a.py: long", 61)]


def test_numbers_of_variants_are_those_of_the_catalogue(
    tidy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches numbers with a capital, numbers above twelve, and a catalogue that has moved."""
    monkeypatch.setattr(tidy, "CATALOGUES", (("c.rs", "Spec", "(?:router )?architectures"),))
    variants = "".join(f"    Kind{number}(Keys),\n" for number in range(14))
    (tmp_path / "c.rs").write_text(f"pub enum Spec {{\n{variants}}}\n")
    page = ["Six architectures.", "Fourteen router architectures.", "14 architectures.", "13 router architectures."]
    (tmp_path / "a.md").write_text("\n".join(page))
    assert list(tidy.miscounted(["a.md"])) == [
        "a.md:1: Six architectures, and Spec has 14",
        "a.md:4: 13 router architectures, and Spec has 14",
    ]
    (tmp_path / "c.rs").write_text("pub enum Other {\n    Kind(Keys),\n}\n")
    assert "there is no Spec in c.rs" in next(tidy.miscounted(["a.md"]))


def test_every_crate_forbids_unsafe_code(tidy: Any, tmp_path: Path) -> None:
    """Catches a new crate without the lints, and a ban that stands in a comment only."""
    for name, root, manifest in (("good", "#![forbid(unsafe_code)]\n", "[lints]\nworkspace = true\n"), ("bad", "", "")):
        (tmp_path / "crates" / name / "src").mkdir(parents=True)
        (tmp_path / "crates" / name / "src" / "lib.rs").write_text(root or "// #![forbid(unsafe_code)]\n")
        (tmp_path / "crates" / name / "Cargo.toml").write_text(manifest)
    assert [line.split(":")[0] for line in tidy.unsafe_crates()] == ["crates/bad/src/lib.rs", "crates/bad/Cargo.toml"]


def test_misspelt_words_are_found(tmp_path: Path) -> None:
    """Catches a check of spelling that is switched off by its settings, and names that it takes for mistakes."""
    codespell = Path(sys.executable).with_name("codespell")
    if not codespell.exists():
        pytest.skip("codespell is not installed")
    page = tmp_path / "a.md"
    wrong = "rec" + "ieve"  # in two parts, so that this file is right
    page.write_text(f"NAMD on a folded Clos network.\nWhat we {wrong}.\n")
    command = [str(codespell), "--toml", str(ROOT / "pyproject.toml"), str(page)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert [line.split(": ")[1] for line in found.stdout.splitlines()] == [f"{wrong} ==> receive"]
