"""Readers account for all of their input: properties and mutated files, over every format that the code lists."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core

from . import fuzz_readers as fuzz
from .readers import FORMATS, ROOT, SAMPLES, Sample, cut, given_twice, with_unknown

if TYPE_CHECKING:
    from pathlib import Path

SEED = int(os.environ.get("CUTTHROUGH_TEST_SEED", "7"))
TEXTS = [sample for sample in SAMPLES if any(isinstance(part, list | tuple) for part in sample.parts)]


def named(sample: Sample) -> str:
    """The name of a case."""
    return f"{sample.format}-{sample.name}"


def outcome(sample: Sample, folder: Path, content: bytes) -> Any:
    """What a reader finds, or the error that refuses the file."""
    try:
        return sample.read(sample.write(folder, content))
    except (ct.ExperimentError, ValueError) as error:
        return f"refused: {error}"


def test_every_format_has_a_sample() -> None:
    """Catches a new reader that no test knows, and a format of which the list has lost the reader."""
    assert sorted({sample.format for sample in SAMPLES}) == sorted(FORMATS)


def test_the_reference_has_every_limit() -> None:
    """Catches a kind of file, a format or a limit that the reference does not have."""
    page = (ROOT / "docs" / "reference" / "files.md").read_text()
    for name, most, formats in _core.INPUTS:
        limit = f"{most >> 30} GiB" if most >= 1 << 30 else f"{most >> 20} MiB"
        limit = limit if most < 1 << 50 else "no limit: read a window at a time"
        assert f"| {name} | {limit} | {', '.join(formats)} |" in page


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_samples_are_read(sample: Sample, tmp_path: Path) -> None:
    """Catches a sample that is refused, so that the properties below would hold for nothing."""
    assert not str(outcome(sample, tmp_path, sample.content)).startswith("refused")


@pytest.mark.parametrize("sample", TEXTS, ids=named)
def test_the_order_of_rows_lines_and_sections_says_nothing(sample: Sample, tmp_path: Path) -> None:
    """Catches numbers that are given in the order of the file, and a heading or a section that has to come first."""
    draw = random.Random(SEED)  # noqa: S311
    whole = sample.read(sample.write(tmp_path))

    def orders(units: list[str]) -> list[list[str]]:
        return [units[::-1], *(draw.sample(units, len(units)) for _ in range(4))]

    for content in sample.changed(orders, ordered=False):
        assert outcome(sample, tmp_path, content) == whole, content.decode()


@pytest.mark.parametrize("sample", TEXTS, ids=named)
@pytest.mark.parametrize("times", [0, 2], ids=["dropped", "doubled"])
def test_what_is_dropped_or_doubled_is_seen(sample: Sample, tmp_path: Path, times: int) -> None:
    """Catches a row, a line or a section whose loss or repetition changes nothing that is shown."""
    whole = sample.read(sample.write(tmp_path))

    def changes(units: list[str]) -> list[list[str]]:
        return [[*units[:at], *units[at : at + 1] * times, *units[at + 1 :]] for at in range(len(units))]

    for content in sample.changed(changes, ordered=True):
        assert outcome(sample, tmp_path, content) != whole, content.decode()


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_what_is_given_twice_is_refused(sample: Sample, tmp_path: Path) -> None:
    """Catches a key, an attribute, a column or a heading of which the reader takes one and drops the other."""
    for content in given_twice(sample):
        assert content != sample.content
        assert str(outcome(sample, tmp_path, content)).startswith("refused"), content


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_what_is_unknown_is_seen(sample: Sample, tmp_path: Path) -> None:
    """Catches a word, an attribute, a column or a key that is passed over without an error and without a note."""
    whole = sample.read(sample.write(tmp_path))
    for content in with_unknown(sample):
        assert content != sample.content
        assert outcome(sample, tmp_path, content) != whole, content


@pytest.mark.parametrize(
    ("name", "old", "new", "due"),
    [
        ("node.xml", 'Cache" cpuset="0x00000003"', 'Cache" cpuset="0x00000001"', "the Core has processor 1"),
        (
            "node.xml",
            "allowed_cpuset=",
            'complete_cpuset="0x3f" allowed_cpuset=',
            "2 processors of a `complete_cpuset` are left out",
        ),
        ("node.xml", 'allowed_cpuset="0x00000007"', 'allowed_cpuset="0x3"', "2 cores are left out: not allowed"),
        ("sections.topo", '"cn2 mlx5_0"', '"c"n2 mlx5_0"', "1 adapter without the name of a host is listed by GUID"),
        (
            "sections.topo",
            "lid 3 4xNDR",
            "lid 3 4xHDR",
            "2 wires whose ends report different speeds have the slower one",
        ),
        ("p.goal", "l2 requires l1\n", "l2 requires l1\n" * 2, "1 requirement is listed before"),
        ("p.goal", "to 1 tag 3", "to 1 tag 3 nic 2", "1 operation is on a `cpu` or `nic` other than 0"),
        ("p.goal", "rank 2 { }\n", "", "rank 2 of 3 has no section"),
        ("step.groups.json", "[1, 0]", "[1, 1]", "process group `tp1`: rank 1 is there twice"),
        ("g.mat", "0 10 0 5\n", ",a,b,c,d\na,0,10,0,5\n", "a row and a column of labels are not expected"),
        ("g.mat", "0 10 0 5\n", "a,b,c,d\na,0,10,0,5\n", "the row begins with the label `a`"),
        ("hosts", "max-slots=2", "port=2", "`port=2` follows the name of a host"),
        ("hosts", "max-slots=2", "slots=x", "`slots=x` follows the name of a host"),
    ],
)
def test_contradictions_are_named(name: str, old: str, new: str, due: str, tmp_path: Path) -> None:
    """Catches a contradiction that is settled without a word, and an error or a note that does not name the cause."""
    sample = next(sample for sample in SAMPLES if sample.name == name)
    content = sample.content.replace(old.encode(), new.encode())
    assert content != sample.content
    assert due in str(outcome(sample, tmp_path, content))


def test_errors_of_included_files_name_their_path(tmp_path: Path) -> None:
    """Catches the name of an included file without the folder of the file that includes it."""
    (tmp_path / "main.conf").write_text("Include sub.conf\nInclude sub.conf\n")
    (tmp_path / "sub.conf").write_text("SwitchName=leaf1 Nodes=cn[001-002]\n")
    with pytest.raises(ct.ExperimentError, match=f"{tmp_path}/sub.conf:1: the switch leaf1 is there twice"):
        ct.Machine(str(tmp_path / "main.conf"))


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_what_is_cut_off_is_seen(sample: Sample, tmp_path: Path) -> None:
    """Catches a file that ends too early, and a row without its last value, that mean the same as the whole file."""
    whole = sample.read(sample.write(tmp_path))
    for content in cut(sample):
        assert outcome(sample, tmp_path, content.encode()) != whole, content


def test_mutated_files_are_read_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a panic, a traceback, a reader that takes all memory or many seconds: `fuzz_readers` in short."""
    report = fuzz.in_process(3000, SEED, workers=1)
    with capsys.disabled():
        print(report.text)  # noqa: T201
    assert not report.faults
    assert report.accepted_share >= fuzz.LEAST_ACCEPTED


def test_commands_answer_mutated_files(tmp_path: Path) -> None:
    """Catches another exit status than 0 and 2, and a traceback."""
    report = fuzz.by_command(6, SEED, tmp_path)
    assert not report.faults


@pytest.mark.long
def test_many_mutated_files_are_read_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As above: 100,000 files in processes of 2 GB, 1,000 commands."""
    reports = [fuzz.in_process(100_000, SEED, workers=2), fuzz.by_command(1000, SEED, tmp_path)]
    with capsys.disabled():
        for report in reports:
            print(report.text)  # noqa: T201
    assert not [fault for report in reports for fault in report.faults]
    assert all(report.accepted_share >= fuzz.LEAST_ACCEPTED for report in reports)


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_what_has_no_end_is_refused_at_its_limit(sample: Sample, tmp_path: Path) -> None:
    """Catches a reader that takes all memory for a file that has grown too large. The file is sparse."""
    limit = next(most for _, most, formats in _core.INPUTS if sample.format in formats)
    if limit > 1 << 40:
        pytest.skip("its reader keeps a window of the file")
    path = sample.write(tmp_path)
    with path.open("r+b") as file:
        file.truncate(limit + 1)
    with pytest.raises((ct.ExperimentError, ValueError), match="larger than"):
        sample.read(path)


#: The command, with Ctrl-C: a shell has it ignored where tests run in the background.
WAITING = """
import signal, sys
from cutthrough.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["cutthrough", *sys.argv[1:]]
main()
"""


@pytest.mark.alone
@pytest.mark.parametrize("arguments", [("check", "{}"), ("check", "e.toml"), ("map", "-g", "stencil:4", "-m", "{}")])
def test_ctrl_c_ends_the_wait_for_a_pipe(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Catches a wait that swallows the signal, for an experiment, a file that it includes, and a machine."""
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    (tmp_path / "e.toml").write_text('include = "pipe.toml"\n')
    words = [sys.executable, "-c", WAITING, *(str(pipe) if word == "{}" else word for word in arguments)]
    ran = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3.0)
    assert ran.poll() is None
    ran.send_signal(signal.SIGINT)
    try:
        _, error = ran.communicate(timeout=20)
    finally:
        ran.kill()
    assert ran.returncode in {1, 130, -2}, error
    assert "Traceback" not in error
