"""The times that `make test-times` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.time_tests import Times, print_table

if TYPE_CHECKING:
    from pathlib import Path

#: Two tests that compute for a twentieth of a second of processor time: in this process, and in one of their own.
TESTS = """
import subprocess, sys, time

WORK = "import time\\nend = time.process_time() + 0.05\\nwhile time.process_time() < end: pass"

def test_here():
    exec(WORK)

def test_elsewhere():
    subprocess.run([sys.executable, "-S", "-c", WORK], check=True)

def test_idle():
    time.sleep(0.5)
"""


def test_what_a_test_computes_is_counted_wherever_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches processes that are not counted, waiting that is, and a test under another one's name."""
    path = tmp_path / "test_work.py"
    path.write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    times = Times()
    assert (
        pytest.main([str(path), "-q", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")], plugins=[times])
        == 0
    )
    capsys.readouterr()
    by_name = {name.rpartition("::")[2]: seconds for seconds, name in times.tests}
    assert list(by_name) == ["test_here", "test_elsewhere", "test_idle"]
    assert min(by_name["test_here"], by_name["test_elsewhere"]) >= 0.05
    assert by_name["test_idle"] < 0.5
    ((whole, file),) = times.by_file()
    assert file == "test_work.py"
    assert whole == pytest.approx(sum(by_name.values()))


def test_the_longest_is_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a sum that leaves out a row."""
    print_table("Files", [(1.5, "a"), (20.25, "b")])
    assert capsys.readouterr().out == "\nFiles: 22 s\n   20.25 b\n    1.50 a\n"
