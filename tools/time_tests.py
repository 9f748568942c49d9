"""Lists the processor time of tests: by test program of Rust, by file and by test of Python.

    make test-times                           # both halves, as `make test` runs them
    python tools/time_tests.py tests/test_run.py -k plots     # what pytest takes: its half only, of these tests

Processor time, of a test's threads and of the processes that it has waited for, hardly depends on other load of the
machine, and so can be compared. Compiling the tests does not count.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
#: Number of Python tests that are listed individually.
LISTED = 30


def processor_time(who: int) -> float:
    """Returns the processor seconds of this process, or of the children that it has waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def own_and_children() -> float:
    """Returns the processor seconds of this process and of the children that it has waited for."""
    return processor_time(resource.RUSAGE_SELF) + processor_time(resource.RUSAGE_CHILDREN)


def main(arguments: Sequence[str]) -> int:
    """Runs the tests and prints the times. Returns 1 if a test has failed."""
    rust = [] if arguments else list(run_programs())
    failed = any(not passed for *_, passed in rust)
    print_table("Test programs of Rust", [(seconds, name) for name, seconds, _ in rust])
    times = Times()
    status = pytest.main([*arguments], plugins=[times])
    print_table("Files of Python", times.by_file())
    print_table(f"The {LISTED} slowest tests of Python", sorted(times.tests, reverse=True)[:LISTED])
    return int(failed or status != 0)


class Times:
    """A pytest plugin that notes the time of each test, its fixtures included."""

    def __init__(self) -> None:
        self.tests: list[tuple[float, str]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measures a test."""
        before = own_and_children()
        result = yield
        self.tests.append((own_and_children() - before, item.nodeid))
        return result

    def by_file(self) -> list[tuple[float, str]]:
        """Returns the sums of the files."""
        files: dict[str, float] = defaultdict(float)
        for seconds, name in self.tests:
            files[name.partition("::")[0]] += seconds
        return [(seconds, name) for name, seconds in files.items()]


def run_programs() -> Iterator[tuple[str, float, bool]]:
    """Builds the test programs and runs them in turn. Yields name, seconds, and whether it passed."""
    build = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json"]
    built = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if built.returncode != 0:  # cargo has written the cause
        sys.exit(built.returncode)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if not message.get("executable") or not message["profile"]["test"]:
            continue
        folder = Path(message["manifest_path"]).parent
        environment = {"PROPTEST_RNG_SEED": "2026", **os.environ, "CARGO_MANIFEST_DIR": str(folder)}
        before = processor_time(resource.RUSAGE_CHILDREN)
        ran = subprocess.run([message["executable"], "--quiet"], cwd=folder, env=environment, check=False)  # noqa: S603
        seconds = processor_time(resource.RUSAGE_CHILDREN) - before
        yield f"{folder.name} {message['target']['name']}", seconds, ran.returncode == 0


def print_table(title: str, rows: Sequence[tuple[float, str]]) -> None:
    """Prints seconds and names, the longest first, and their sum."""
    if not rows:
        return
    out = sys.stdout
    out.write(f"\n{title}: {sum(seconds for seconds, _ in rows):.0f} s\n")
    for seconds, name in sorted(rows, reverse=True):
        out.write(f"{seconds:8.2f} {name}\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
