"""What surrounds the command: streams that are closed or full, sizes of terminals, locales, names that are no text."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cutthrough.cli import HOMES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and locales of POSIX")

CUTTHROUGH = f'"{sys.executable}" -m cutthrough.cli'


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell, in a folder with `small.toml`, where `$C` is the command."""
    variables = {**os.environ, **variables}
    line = line.replace("$C", CUTTHROUGH)
    return subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=folder,
        env=variables,
        capture_output=True,
        timeout=120,
        errors="replace",
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("$C run small.toml --plots none -o out >&-", 1),
        ("$C run small.toml --plots none -o out 2>&-", 0),
        ("$C run small.toml --plots none -o out <&- >&- 2>&-", 1),
    ],
)
def test_closed_streams_are_null(line: str, status: int, small: Path) -> None:
    """Catches commands that need a stream to write to, and files that become the standard output."""
    ran = shell(line, small.parent)
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False)
    assert (small.parent / "out" / "results.json").read_text(encoding="utf-8").startswith("{")


#: A line for each command, and for the help, that prints something.
PRINTING = {
    "run": "run small.toml --plots none --json",
    "plot": "plot out -f svg",
    "merge": "merge --help",
    "compare": "compare out out",
    "report": "report out",
    "check": "check small.toml",
    "analyze": "analyze small.toml",
    "draw": "draw torus:4x4 -o t.svg",
    "program": "program --help",
    "record": "record --help",
    "mpi": "mpi build --help",
    "convert": "convert --help",
    "map": "map -g stencil:2x2 -m mesh:2x2",
    "calibrate": "calibrate --help",
    "validate": "validate --help",
    "new": "new fat-tree",
    "explain": "explain router",
    "list": "list",
    "reproduce": "reproduce --help",
}


@pytest.mark.parametrize("name", HOMES)
def test_an_answer_that_nobody_can_read_is_an_error(name: str, small: Path) -> None:
    """Catches a command that prints nothing and succeeds: standard output is closed before it begins."""
    if " out" in PRINTING[name]:
        shell("$C run small.toml --plots none -o out", small.parent)
    ran = shell(f"$C {PRINTING[name]} >&-", small.parent)
    assert (ran.returncode, ran.stderr.count("error:"), "Traceback" in ran.stderr) == (1, 1, False)
    assert "standard output is closed" in ran.stderr


@pytest.mark.parametrize(
    ("line", "variables", "status", "said"),
    [
        ("$C check small.toml > /dev/full", {}, 1, "No space left on device"),
        ("$C check small.toml -s $'title=o\\xfe'", {}, 2, r"'title=o\xfe' is not text in the encoding utf-8"),
        ("$C check small.toml -s title=hé", {"LC_ALL": "C", "PYTHONUTF8": "0"}, 2, "PYTHONUTF8=1"),
        ("$C check - <&-", {}, 2, "missing section [topology]"),
    ],
)
def test_what_cannot_be_is_one_error(line: str, variables: dict[str, str], status: int, said: str, small: Path) -> None:
    """Catches tracebacks of what surrounds the command."""
    ran = shell(line, small.parent, **variables)
    assert (ran.returncode, "Traceback" in ran.stderr) == (status, False)
    assert said in ran.stderr
    assert ran.stderr.count("error:") == 1


@pytest.mark.parametrize(
    "variables",
    [{"COLUMNS": "0"}, {"COLUMNS": "²"}, {"COLUMNS": "-3"}, {"COLUMNS": "9" * 12}, {"TERMINAL_WIDTH": "x"}],
)
def test_odd_sizes_of_terminals_are_none(variables: dict[str, str], small: Path) -> None:
    """Catches output that is left out, or padded to gigabytes."""
    ran = shell("$C check small.toml && $C check --help", small.parent, **variables)
    assert ran.returncode == 0
    assert "buffers of a router" in ran.stdout
    assert "--set" in ran.stdout
    assert len(ran.stdout) < 20_000


def test_other_encodings_show_what_they_can(small: Path) -> None:
    """Catches errors for characters that a terminal does not have."""
    small.write_text(
        small.read_text(encoding="utf-8").replace('"small"', '"sm\N{LATIN SMALL LETTER A WITH DIAERESIS}ll"'),
        encoding="utf-8",
    )
    ran = shell("$C run small.toml --plots none -o out", small.parent, LC_ALL="C", PYTHONUTF8="0")
    assert (ran.returncode, "sm?ll" in ran.stdout) == (0, True)
    assert "sm\N{LATIN SMALL LETTER A WITH DIAERESIS}ll" in (small.parent / "out" / "experiment.toml").read_text(
        encoding="utf-8"
    )


def test_folders_may_have_any_name(small: Path) -> None:
    """Catches names of folders that are taken for text."""
    folder = os.path.join(os.fsencode(small.parent), b"o\xfe")
    os.mkdir(folder)
    os.rename(small, os.path.join(folder, b"small.toml"))
    line = "cd $'o\\xfe' && $C run small.toml --plots none -o out && $C report out && $C compare out out"
    ran = shell(line, small.parent)
    assert (ran.returncode, "error" in ran.stderr) == (0, False)


def test_outputs_follow_links_and_fill_pipes(small: Path) -> None:
    """Catches a link, a pipe or a device that becomes a file."""
    folder = small.parent
    (folder / "real.txt").write_text("former\n", encoding="utf-8")
    (folder / "link.txt").symlink_to("real.txt")
    mapping = "$C map -g stencil:2x2 -m mesh:2x2 -o"
    ran = shell(f"{mapping} link.txt && mkfifo pipe && (cat pipe > taken.txt & {mapping} pipe; wait)", folder)
    assert ran.returncode == 0, ran.stderr
    assert (folder / "link.txt").is_symlink()
    assert (folder / "pipe").is_fifo()
    real, taken = ((folder / name).read_text(encoding="utf-8") for name in ("real.txt", "taken.txt"))
    assert sorted(real.split()) == ["0", "1", "2", "3"]
    assert taken == real
