"""What commands say of options, targets and results that are wrong, and of what a run or a search has found."""

from __future__ import annotations

import json
import pickle
import resource
from io import StringIO
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.arguments.faults import refuse
from cutthrough.cli import common, map_search
from cutthrough.cli.keeping import folder_of
from cutthrough.cli.progress import LINE_S, Lines
from cutthrough.reports.checks import warnings_of
from cutthrough.reports.tables import points_table
from rich.console import Console

from .conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GRID = ("map", "-g", "stencil:4x4", "-m", "torus:4x4")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bandwidth", "5 Gb/s"), "--bandwidth: it is for --evaluate"),
        (("--evaluate", "--bandwidth", "xx"), "--bandwidth: `xx` does not start with a number"),
        (("--evaluate", "--bandwidth=-4 Gb/s"), "--bandwidth: `-4 Gb/s` is negative; a bandwidth must be positive"),
        (("--evaluate", "--packet-size", "0 B"), "--packet-size: `packet_size` is"),
        (("--evaluate", "--buffer", "1 B"), "--buffer: 1 B is less than one packet"),
        (("--evaluate", "--router", "inputqueued"), "did you mean `input-queued`?"),
        (("--rank-order", "ABC"), "--rank-order: `ABC`"),
        (("--weight", "-1"), "--weight: the weights are one positive number"),
        (("--shuffle", 2**63), "9223372036854775807"),
        (("--fixed", "FILE"), "--fixed: FILE:1: expected `task place`"),
        (("--current", "FILE"), "--current: FILE:1: expected a place"),
        (("--hosts", "FILE"), "--hosts: FILE: 1 host is given for 16 nodes"),
        (("--hosts", "none"), "--hosts: none cannot be read: No such file or directory"),
        (("-f", "slurm"), "--format: there is no file to write; --out FILE says"),
        (("-o", "none/x"), "--out: none/x cannot be written: there is no folder none"),
    ],
)
def test_map_names_the_option(
    cutthrough: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Any, said: str
) -> None:
    """Catches an error that names a key or a file that the user has not seen, and an option that is ignored."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("a b c\n")
    ran = cutthrough(*GRID, *options)
    assert (ran.status, ran.out) == (2, "")
    # Typer breaks its messages into lines.
    assert said in (ran.err if "Usage" not in ran.err else "".join(ran.err.split("│")).replace("\n", "")), ran.err
    assert "experiment" not in ran.err


def test_an_experiment_is_a_machine(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Expected: its topology, and for `--evaluate` its links and router. Catches paths from the wrong folder."""
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "net.edges").write_text("link 0 1\nnode 0 x2\nnode 1 x2\n")
    text = SMALL.replace('kind = "fat-tree"\nk = 4\nn = 2', 'kind = "file"\npath = "net.edges"')
    (folder / "net.toml").write_text(text)
    asked = ("map", "-g", "stencil:2x2", "-s", "identity", "--evaluate", "--json", "-m")
    times = {}
    for name, more in (("file", ()), ("slow", ("--bandwidth", "1 Gb/s"))):
        ran = cutthrough(*asked, folder / "net.toml", *more)
        assert ran.status == 0, ran.err
        (point,) = json.loads(ran.out)["points"]
        assert point["nodes"] == 4
        times[name] = point["step_time_ns"]
    # 1 KiB to each of two neighbours at 10 and at 1 Gb/s.
    assert 1600 < times["file"] < 4000
    assert times["slow"] > 16_000
    small.write_text(SMALL.replace("[sweep]", '[sweep]\n"topology.k" = [2, 4]'))
    ran = cutthrough("map", "-g", "stencil:2x2", "-m", small)
    assert (ran.status, "sweeps `topology.k`" in ran.err) == (2, True)


def test_an_interrupted_evaluation_says_what_is_missing(
    cutthrough: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a table without step times, and a mapping that is kept by another measure, in silence."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(map_search.Search, "_step", interrupted)
    ran = cutthrough(*GRID, "--evaluate", "--budget", 0, "--json")
    assert ran.status == 130
    (warning,) = (text for text in json.loads(ran.out)["warnings"] if "interrupted" in text)
    assert "no step time" in warning
    assert "hop-bytes and load of the fullest channel" in warning


def test_a_budget_of_nothing_is_no_time_limit(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a search without steps that is said to have been ended by a limit of time that there is not."""
    (tmp_path / "two.csv").write_text("\ufefffrom,to,bytes\n0,1,1\n1,0,1\n", encoding="utf-8")
    (tmp_path / "two.edges").write_text("\ufefflink 0 1\nnode 0\nnode 1\n", encoding="utf-8")
    ran = cutthrough("map", "-g", tmp_path / "two.csv", "-m", tmp_path / "two.edges", "--budget", 0, "--json")
    assert ran.status == 0, ran.err
    assert all(point["reproducible"] for point in json.loads(ran.out)["points"])


def test_worse_mappings_are_warned_of_in_bytes(cutthrough: Callable[..., Any]) -> None:
    """Catches hop-bytes as fractions or without a unit."""
    ran = cutthrough(*GRID, "-s", "random", "--json")
    (warning,) = json.loads(ran.out)["warnings"]
    for measure, key in (("hop-bytes", "hop_bytes"), ("load of the fullest channel", "max_channel_load")):
        value = json.loads(ran.out)["points"][0][key]
        assert f"{measure}: {value:,.0f} B instead of " in warning


def test_alike_warnings_are_one() -> None:
    """Catches a warning for each load of a sweep, and the numbers of one class of channels taken for another's."""

    def warned(*messages: str) -> dict[str, Any]:
        return {"warnings": [{"key": "router.buffer", "message": message} for message in messages]}

    points = [
        warned(f"a buffer of {size} covers {share} % of dim0", "b") for size, share in (("4 KiB", 3.5), ("512 B", 0.1))
    ]
    points += [warned("a buffer of 1,024 B covers 7 % of dim1", "b"), {}]
    assert warnings_of(points) == [
        "warning: 2 points (first: point 0): a buffer of 4 KiB covers 3.5 % of dim0 (`router.buffer`)",
        "warning: 3 of 4 points: b (`router.buffer`)",
        "warning: 1 of 4 points: a buffer of 1,024 B covers 7 % of dim1 (`router.buffer`)",
    ]
    assert warnings_of(points[:1] * 3)[1] == "warning: b (`router.buffer`)"


def test_searches_are_read_in_the_table(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a search for each load, and a table that says neither the bracket nor that nothing saturates."""
    options = ("--set", "measure.resolution=0.5", "--set", "measure.max_time=20 us", "--saturation", "--json")
    (point,) = json.loads(cutthrough("run", small, *options).out)["points"]
    assert "workload.load" not in point
    base = {"offered_load": 0.5, "saturation_load": 0.4971}
    for bracket, shown in (([0.5, 0.508], "0.500 to 0.508"), ([1.0, 1.0], "no saturation up to 1.0")):
        table = points_table(ct.Results(points=[ct.Point({**base, "saturation_bracket": bracket})]))
        console = Console(file=StringIO(), width=120)
        console.print(table)
        printed = console.file.getvalue()  # type: ignore[attr-defined]
        assert "0.4971" in printed
        assert shown in printed


def test_results_say_which_points_there_are(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches a number of a point that is answered without how many there are, and an option that is ignored."""
    out = tmp_path / "out"
    assert cutthrough("run", small, "--out", out, "--plots", "none").status == 0
    for command in (("plot", out), ("draw", out)):
        ran = cutthrough(*command, "--point", 99)
        assert (ran.status, ran.err) == (2, "error: no point 99: there are 2, counted from 0\n")
    for option in (("--loads",), ("--set", "seed=1"), ("--point", 1)):
        ran = cutthrough("draw", "torus:4x4", *option)
        assert (ran.status, f"{option[0]}: it is for an experiment file" in ran.err) == (2, True)
    stored = json.loads((out / "results.json").read_text())
    (out / "results.json").write_text(json.dumps({**stored, "points": [3]}))
    for words in (["plot", out], ["report", out], ["compare", out, out]):
        ran = cutthrough(*words)
        assert (ran.status, "does not hold results" in ran.err) == (2, True)


def test_what_other_results_name_is_left_out(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches `label = null` of points without labels, and columns without a name among those left out."""
    names = ("offered_load", "nic_overhead_ns", "packets", "packet_hops", "warm_up_ns", "measured_ns", "sim_time_ns")
    measured = dict.fromkeys((*names, "accepted_load", "wall_s"), 0.5)
    measured |= dict.fromkeys(("saturated", "steady", "converged", "drained"), False)
    for name, axes, point in (("a", ["label"], {"label": "x"}), ("b", ["seed"], {"seed": 4})):
        results = ct.Results(points=[ct.Point({**point, **measured})], axes=axes, experiment="[topology]\n")
        results.save(tmp_path / name)
    ran = cutthrough("compare", tmp_path / "a", tmp_path / "b")
    assert "only in b: seed = 4\n" in ran.out
    assert "null" not in ran.out


def test_targets_that_cannot_be_written_are_refused_first(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    """Catches work that is done for nothing, and an error number instead of words."""
    for command in (("run", small), ("draw", "torus:4x4"), ("analyze", small), ("merge", tmp_path), ("reproduce",)):
        for place in (small / "x", small):
            if command[0] == "draw" and place == small:
                continue
            ran = cutthrough(*command, "--out", place)
            assert (ran.status, ran.out) == (2, "")
            assert "cannot write to " in ran.err
            assert "Errno" not in ran.err
            assert len(ran.err.splitlines()) == 1


def test_a_picture_is_whole_or_absent(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches half a picture, and an error without the file, where the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        ran = cutthrough("draw", "torus:4x4", "--out", tmp_path / "machine")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (ran.status, ran.err) == (1, f"error: cannot write {tmp_path / 'machine.png'}: File too large\n")
    assert list(tmp_path.iterdir()) == []


def test_options_make_names_that_read(tmp_path: Path) -> None:
    """Catches a folder named by brackets, and different options that share a folder."""
    file = tmp_path / "x.toml"
    assert folder_of(file, ["sweep={}"]).name == "x+sweep=none"
    assert folder_of(file, ["a=[1]"]) != folder_of(file, ["a=[2]"])


def test_errors_are_coloured_on_terminals_only(
    cutthrough: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches escapes in a file, a terminal without colours, and colours that change the text."""
    plain = cutthrough("check", small, "--set", "workload.laod=1").err
    assert "\x1b" not in plain
    terminal = common.Stream(file=StringIO(), force_terminal=True, color_system="standard", width=200)
    monkeypatch.setattr(common, "err", terminal)
    with pytest.raises(ct.ExperimentError) as raised:
        ct.load(small, set={"workload.laod": 1})
    common.complain_of(raised.value)
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in shown
    assert "".join(part.split("m", 1)[-1] if place else part for place, part in enumerate(shown.split("\x1b"))) == plain


def test_refusals_keep_their_parts() -> None:
    """Catches parts that are lost on the way to another process, as mpi4py sends an error."""
    error = refuse("--key", "wrong", allowed=["a", "b"], help="take one", file="f")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own)
    for name in ("key", "message", "allowed", "help", "file", "coloured"):
        assert getattr(again, name) == getattr(error, name)
    assert str(again).splitlines()[0] == "error: --key: wrong"
    assert "= allowed: a, b" in str(error)
    assert "= help: take one" in str(error)


def test_short_checks_are_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a line of progress for a check of a moment, and a long one in silence."""
    now = 0.0
    monkeypatch.setattr("cutthrough.cli.progress.time.monotonic", lambda: now)
    lines = Lines(LINE_S)
    for now in (1.0, 9.0, 11.0):
        lines.update(now / 20, 1, "checking")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("0/1 points (55%) after 11 s, checking")


def test_options_for_and_against_processes_exclude_each_other(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a contradiction of which the last option wins."""
    for options in (("--mpi", "--no-mpi"), ("--no-mpi", "--mpi")):
        ran = cutthrough("run", small, "--json", *options)
        assert (ran.status, ran.err.splitlines()[0]) == (2, "error: --mpi: it excludes --no-mpi: leave one of them out")
