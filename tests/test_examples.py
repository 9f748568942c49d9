"""Every example runs, and every block of the documentation does what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.packages import MissingPackage

from .conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts)]
#: Whether it runs, not what it finds.
SHORT = {"measure.precision": 0.3, "measure.resolution": 0.2}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    """Catches an example that no longer runs, gives nothing, or cannot be drawn."""
    results = ct.run(path, set=SHORT)
    assert results.points
    assert all(found["packets"] > 0 for found in results)
    assert results.title
    results.save(tmp_path)
    names = [path.name for path in results.save_plots(tmp_path)]
    keys = results.points[0]
    closed = ["messages"] if "pairs" in keys else ["completion"]
    curves = closed if "phases" in keys else ["latency", "throughput"]
    curves += ["slowdown"] if any("slowdown" in job for job in keys.get("jobs", ())) else []
    assert names[: len(curves)] == [f"{curve}.png" for curve in curves]
    assert any(name.startswith("channels-") for name in names)


def test_examples_say_how_to_run_them() -> None:
    """Catches an example without its command."""
    for path in EXAMPLES:
        assert f"cutthrough run examples/{path.name}" in path.read_text(encoding="utf-8"), path


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what the documentation speaks of, where a run takes no time."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tutorial,) = [block for block in blocks(ROOT / "docs" / "tutorial.md", "toml") if "title" in block]
    (tmp_path / "tree.toml").write_text(tutorial, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_do_what_they_show(page: Path, workplace: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a command, a program or a file in the documentation that does not work."""
    for number, text in enumerate(blocks(page, "toml")):
        path = workplace / f"block{number}.toml"
        path.write_text(text, encoding="utf-8")
        assert cutthrough("check", path).status == 0, text
    # In their order: a command may read what a program before it has written.
    for language, text in re.findall(
        r"^```(console|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        if language == "python":
            exec(compile(text, str(page), "exec"), {})  # noqa: S102  (our own documentation)
            continue
        for line in text.splitlines():
            if line.startswith("$ cutthrough "):
                words = shlex.split(line.removeprefix("$ cutthrough "), comments=True)
                short = [f"--set={key}={value}" for key, value in SHORT.items()] if words[0] == "run" else []
                ran = cutthrough(*words, *short)
                assert ran.status == 0, f"{line}\n{ran.err}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "tutorial.md"], ids=lambda page: page.stem)
def test_first_programs_need_no_optional_package(
    page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, cutthrough: Callable[..., Any]
) -> None:
    """Catches a program that fails in the environment of `make`, where pandas and polars are not installed."""
    for package in ("pandas", "polars", "mpi4py", "scipy"):
        monkeypatch.setitem(sys.modules, package, None)
    programs = blocks(page, "python")
    assert programs
    for text in programs:
        exec(compile(text, str(page), "exec"), {})  # noqa: S102  (our own documentation)


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an error that does not say what to install."""
    results = ct.Results(points=[{"a": 1}])
    for package, convert in (("pandas", results.to_pandas), ("polars", results.to_polars)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingPackage, match=rf"needs {package}: pip install {package} ") as raised:
            convert()
        assert "\n" not in str(raised.value)
        assert raised.value.__suppress_context__
