"""Tests that every example runs, and that every block of the documentation works as shown."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.arguments.packages import MissingPackage

from .conftest import ROOT, short

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts)]
#: Pages whose programs run in the environment of `make`, and what is not installed there.
FIRST = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
OPTIONAL = ("pandas", "polars", "mpi4py", "scipy")
#: What is less here in programs that would take long, by page.
LESS = {
    "application": {"budget=2": "budget=0.05", "--budget 2": "--budget 0.05"},
    "architect": {"--out designs\n": "--out designs --points 1,16\n"},
    "calibration": {"--from infinipath": "--from infinipath --keep eager_limit"},
    "channels": {'"measure.precision": 0.2': '"measure.warm_up": "10 us", "measure.max_time": "40 us"'},
    "networks": {"training_networks.toml": "training_networks.toml --points 0 --set workload.program.hidden=64"},
    "time-explained": {"--budget 2": "--budget 0.05"},
    "tutorial": {"[0.3, 0.6, 0.9]": "[0.3]"},
    "researcher": {"60 us": "20 us", '"workload.load": [0.1, 0.2, 0.3, 0.4]': '"workload.load": [0.1, 0.4]'},
}
#: Examples that take about a minute.
LARGE = {"designs", "training_networks"}
#: Examples are drawn in a test of their own.
PLAIN = ["--plots", "none"]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem not in LARGE], ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    """Catches an example that no longer runs, gives nothing, or cannot be drawn.

    Large ones are left out. Pages run some of their points, or smaller ones.
    """
    results = ct.run(path, set=short(path))
    assert results.points
    assert all(found["packets"] > 0 for found in results)
    assert results.title
    results.save(tmp_path)
    names = [path.name for path in results.save_plots(tmp_path)]
    keys = results.points[0]
    tables = {"pairs": "messages", "benchmark_rows": "benchmark"}
    closed = [figure for key, figure in tables.items() if key in keys] or ["completion"]
    # Reductions at a rate are measured by their own times, multicasts by those of copies too.
    timed = ["operations"] if "operation_time_ci_ns" in keys else ["latency"]
    timed += ["operations"] if "operations" in keys and timed == ["latency"] else []
    curves = closed if "phases" in keys else [*timed, "throughput"]
    curves += ["slowdown"] if any("slowdown" in job for job in keys.get("jobs", ())) else []
    assert names[: len(curves)] == [f"{curve}.png" for curve in curves]
    # A flat network has no channels.
    assert any(name.startswith("channels-") for name in names) != ('kind = "flat"' in path.read_text())


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_programs_run_and_are_those_of_the_page(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a program of ranks that no longer runs, and one that the page shows differently."""
    text = path.read_text(encoding="utf-8")
    assert f"python examples/{path.name}" in text
    exec(compile(text, str(path), "exec"), {})  # noqa: S102  (our own example)
    assert re.match(r"[\d.]+ ns", capsys.readouterr().out)
    _, function, _ = text.split("\n\n\n")
    assert function in (ROOT / "docs" / "concepts" / "python-programs.md").read_text(encoding="utf-8")


def test_the_page_of_rails_has_the_times_of_its_example() -> None:
    """Catches numbers of the page that are no longer those of the commands above them."""
    page = (ROOT / "docs" / "concepts" / "rails.md").read_text(encoding="utf-8")
    shown = [re.findall(r"\| (\d\.\d{3})\b", line) for line in page.splitlines() if re.search(r"\| \d\.\d{3} \|", line)]
    one_each = {"placement.processes_per_node": 1, "workload.program.tensor": 1}
    runs = [ct.run(ROOT / "examples" / "planes.toml", set=keys) for keys in ({}, one_each)]
    found = [[f"{point['time_ns'] * 1e-6:.3f}" for point in points] for points in zip(*runs, strict=True)]
    assert shown == found
    four, one = runs
    # In stripes as fast as on one network; slower in turn, and slowest by one rail of four.
    assert one[1]["time_ns"] == pytest.approx(one[0]["time_ns"], rel=1e-3)
    assert one[3]["time_ns"] > 1.2 * one[2]["time_ns"] > 1.2 * 1.2 * one[0]["time_ns"]
    assert max(point["time_ns"] for point in four) < 1.01 * min(point["time_ns"] for point in four)


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
    for form in ("topo", "lfts"):
        shutil.copy(ROOT / f"crates/mapping/tests/forwarding/tree.{form}", tmp_path / f"fabric.{form}")
    (tutorial,) = [block for block in blocks(ROOT / "docs" / "tutorial.md", "toml") if "title" in block]
    assert "[measure]" not in tutorial
    measure = '\n[measure]\nwarm_up = "10 us"\nmax_time = "40 us"\n'
    (tmp_path / "tree.toml").write_text(tutorial + measure, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def programs(page: Path) -> list[tuple[str, str]]:
    """The commands and programs of a page in their order, shorter where they would take long."""
    text = page.read_text(encoding="utf-8")
    for long, less in LESS.get(page.stem, {}).items():
        assert long in text, f"{page} has no {long}"
        text = text.replace(long, less)
    return re.findall(r"^```(console|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_do_what_they_show(
    page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, cutthrough: Callable[..., Any]
) -> None:
    """Catches a command, a program or a file in the documentation that does not work, and a program of the first pages
    that fails without the optional packages."""
    assert page not in FIRST or blocks(page, "python")
    for number, text in enumerate(blocks(page, "toml")):
        named = re.match(r"# (\S+\.toml)\n", text)
        path = workplace / (named[1] if named else f"block{number}.toml")
        path.write_text(text, encoding="utf-8")
        assert cutthrough("check", path).status == 0, text
    # In their order, as in one session: a command may read what a program before it has written.
    session: dict[str, Any] = {}
    for language, text in programs(page):
        if language == "python":
            with monkeypatch.context() as hidden:
                for package in OPTIONAL if page in FIRST else ():
                    hidden.setitem(sys.modules, package, None)
                exec(compile(text, str(page), "exec"), session)  # noqa: S102  (our own documentation)
            continue
        for line in text.splitlines():
            if line.startswith("$ cutthrough "):
                words = shlex.split(line.removeprefix("$ cutthrough "), comments=True)
                if words[0] == "run":
                    words += [f"--set={key}={value}" for key, value in short(Path(words[1])).items()]
                    words += [] if {"--plots", "--format"} & {*words} else PLAIN
                if words[0] == "map" and "--budget" not in words:
                    words += ["--budget", "0.05"]
                ran = cutthrough(*words)
                assert ran.status == 0, f"{line}\n{ran.err}"


def test_the_first_page_shows_what_its_experiment_prints(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches numbers of the README that are no longer those of its first experiment."""
    readme = ROOT / "README.md"
    (tmp_path / "tree.toml").write_text(blocks(readme, "toml")[0], encoding="utf-8")
    (shown,) = blocks(readme, "text")
    ran = cutthrough("run", tmp_path / "tree.toml", "--out", tmp_path / "tree", *PLAIN)
    assert ran.status == 0, ran.err
    printed = [line.rstrip() for line in ran.out.splitlines()]
    assert printed[: len(shown.splitlines())] == shown.splitlines()


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an error that does not say what to install."""
    results = ct.Results(points=[ct.Point(a=1)])
    for package, convert in (("pandas", results.to_pandas), ("polars", results.to_polars)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingPackage, match=rf"needs {package}: pip install {package} ") as raised:
            convert()
        assert "\n" not in str(raised.value)
        assert raised.value.__suppress_context__
