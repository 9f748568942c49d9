"""The checks of text and shape, on files that break them."""

from __future__ import annotations

import importlib.util
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
