"""The times that `make test-times` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tools.time_tests import print_table

from .conftest import ROOT

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


#: Runs the tests and prints their times, in a new process: threads of earlier tests would be counted too.
PROGRAM = """
import json, sys
import pytest
from tools.time_tests import Times

times = Times()
status = pytest.main([sys.argv[1], "-q", "-p", "no:cacheprovider", "-c", sys.argv[2]], plugins=[times])
print(json.dumps([int(status), times.tests, times.by_file()]))
"""


def test_what_a_test_computes_is_counted_wherever_it_does(tmp_path: Path) -> None:
    """Catches processes that are not counted, waiting that is, and a test under another one's name."""
    path, settings = tmp_path / "test_work.py", tmp_path / "pytest.ini"
    path.write_text(TESTS)
    settings.write_text("[pytest]\n")
    command = [sys.executable, "-c", PROGRAM, str(path), str(settings)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    status, tests, by_file = json.loads(ran.stdout.splitlines()[-1])
    assert status == 0
    by_name = {name.rpartition("::")[2]: seconds for seconds, name in tests}
    assert list(by_name) == ["test_here", "test_elsewhere", "test_idle"]
    assert min(by_name["test_here"], by_name["test_elsewhere"]) >= 0.05
    assert by_name["test_idle"] < 0.5
    ((whole, file),) = by_file
    assert file == "test_work.py"
    assert whole == pytest.approx(sum(by_name.values()))


def test_the_longest_is_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a sum that leaves out a row."""
    print_table("Files", [(1.5, "a"), (20.25, "b")])
    assert capsys.readouterr().out == "\nFiles: 22 s\n   20.25 b\n    1.50 a\n"
