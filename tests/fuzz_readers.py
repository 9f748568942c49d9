"""Mutated files through every reader: in processes of limited memory, and through the command.

python -m tests.fuzz_readers --count 100000 --workers 2
python -m tests.fuzz_readers --commands 1000
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import queue
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from tests.forked import status_of

__all__ = ["LEAST_ACCEPTED", "Report", "by_command", "in_process"]

#: The memory of a worker in bytes, the seconds of a processor that a file may take, and the share of files that are
#: to be accepted.
MEMORY, LONGEST_S, LEAST_ACCEPTED = 2 << 30, 20.0, 0.3
#: Files of a worker between two reports.
BATCH = 1000
#: What stands in the place of a number or a word.
WORDS = [
    *("0", "1", "-1", "2", "1e999", "nan", "inf", "1.5", "4294967296", "18446744073709551616", "0x10", "1e-300"),
    *("", " ", '"', "'", "#", "\\", "{", "[", "\u00e9", "\ufeff", "\x00", "a" * 300, "cn[001-999999]", "%s", "$x$"),
]


@dataclass
class Report:
    """What has become of mutated files.

    Attributes:
        what: What was run.
        seed: The seed of all draws.
        files: How many, by format.
        accepted: How many of them were accepted, by format.
        slowest: The most seconds that a file took, by format.
        faults: Formats with what is wrong, and the bytes in hexadecimal.
    """

    what: str
    seed: int
    files: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def accepted_share(self) -> float:
        """The share of all files that was accepted."""
        return self.accepted.total() / max(1, self.files.total())

    @property
    def text(self) -> str:
        """A few lines."""
        slowest = max(self.slowest, key=lambda name: self.slowest[name], default="")
        head = f"{self.what}: seed {self.seed}, {self.files.total()} files, {self.accepted_share:.0%} accepted"
        if slowest:
            head += f", slowest {self.slowest[slowest]:.1f} s ({slowest})"
        shares = (f"{name} {self.accepted[name] / count:.0%}" for name, count in sorted(self.files.items()))
        return "\n".join([f"{head}, {len(self.faults)} faults", ", ".join(shares), *self.faults])

    def add(self, other: Report) -> None:
        """Adds the files of another report."""
        self.files += other.files
        self.accepted += other.accepted
        for name, seconds in other.slowest.items():
            self.slowest[name] = max(seconds, self.slowest.get(name, 0.0))
        self.faults += other.faults


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four changes: of bytes, of lines, or of words."""
    for _ in range(draw.choice([1, 1, 1, 1, 1, 2, 4])):
        content = draw.choice([_byte, _slice, _line, _line, _line, _word, _word, _digit, _digit, _blank, _blank])(
            content, draw
        )
    return content


def _byte(content: bytes, draw: random.Random) -> bytes:
    if not content:
        return bytes([draw.randrange(256)])
    at = draw.randrange(len(content))
    return content[:at] + bytes([draw.randrange(256)]) + content[at + draw.choice([0, 1]) :]


def _slice(content: bytes, draw: random.Random) -> bytes:
    one, other = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return draw.choice([content[:one], content[:one] + content[other:], content[:other] + content[one:]])


def _line(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(5)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    elif kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 3:
        lines.insert(one, draw.choice([b"", b"# a comment", b"   ", b"\r"]))
    else:
        draw.shuffle(lines)
    return b"\n".join(lines)


def _spans(content: bytes, kind: str) -> list[tuple[int, int]]:
    return [
        found.span()
        for found in re.finditer({"word": rb"[\w.+-]+", "digit": rb"[0-9]", "blank": rb"[ \t]+"}[kind], content)
    ]


def _word(content: bytes, draw: random.Random) -> bytes:
    spans = _spans(content, "word")
    if not spans:
        return content
    begin, end = draw.choice(spans)
    other = draw.choice(spans)
    word = draw.choice([draw.choice(WORDS).encode(), content[slice(*other)]])
    return content[:begin] + word + content[end:]


def _digit(content: bytes, draw: random.Random) -> bytes:
    spans = _spans(content, "digit")
    if not spans:
        return content
    at, _ = draw.choice(spans)
    return content[:at] + draw.choice("0123456789").encode() + content[at + 1 :]


def _blank(content: bytes, draw: random.Random) -> bytes:
    spans = _spans(content, "blank")
    if not spans:
        return content + draw.choice([b"\n", b" "])
    begin, end = draw.choice(spans)
    return content[:begin] + draw.choice([b" ", b"  ", b"\t", b"   "]) + content[end:]


def _cases(seed: int, first: int, count: int) -> Any:
    """Mutated samples by their number, which do not depend on the number of workers."""
    from tests.readers import SAMPLES

    for number in range(first, first + count):
        draw = random.Random(f"{seed}-{number}")  # noqa: S311
        sample = SAMPLES[number % len(SAMPLES)]
        yield sample, mutated(sample.content, draw)


def _read_batch(job: tuple[int, int, int]) -> Report:
    """Reads some mutated files in this process."""
    import cutthrough as ct

    report = Report("", job[0])
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for sample, content in _cases(*job):
            name = sample.format
            here = Path(tempfile.mkdtemp(dir=folder))
            (folder / "last").write_bytes(name.encode() + b"\n" + content)
            path = sample.write(here, content)
            report.files[name] += 1
            # Time of the processor: a file may wait long on a busy machine.
            begin = time.process_time()
            try:
                sample.read(path)
                report.accepted[name] += 1
            except ct.ExperimentError:
                pass
            except ValueError as error:
                # Results are refused so, by a sentence that names the file.
                if not (name == "results" and str(here) in str(error)):
                    report.faults.append(_fault(name, content, traceback.format_exc()))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                report.faults.append(_fault(name, content, traceback.format_exc()))
            took = time.process_time() - begin
            report.slowest[name] = max(took, report.slowest.get(name, 0.0))
            if took > LONGEST_S:
                report.faults.append(_fault(name, content, f"it took {took:.0f} s"))
            shutil.rmtree(here)
    finally:
        shutil.rmtree(folder)
    return report


def _fault(name: str, content: bytes, why: str) -> str:
    return f"{name}: {why.strip()[-1500:]}\n  {content[:3000].hex()}"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["RAYON_NUM_THREADS"] = "1"


def _batch_apart(job: tuple[int, int, int], answers: Any) -> None:
    _limit()
    answers.put(_read_batch(job))


def in_process(count: int, seed: int, workers: int, batch: int = BATCH) -> Report:
    """Reads `count` mutated files, by calls, in up to `workers` processes of 2 GB. A process that dies is a fault."""
    report = Report("readers, in process", seed)
    context = multiprocessing.get_context("spawn")
    jobs = [(seed, first, min(batch, count - first)) for first in range(0, count, batch)][::-1]
    answers = context.Queue()
    open_: dict[Any, tuple[int, int, int]] = {}
    while jobs or open_:
        while jobs and len(open_) < workers:
            job = jobs.pop()
            process = context.Process(target=_batch_apart, args=(job, answers), daemon=True)
            process.start()
            open_[process] = job
        with contextlib.suppress(queue.Empty):
            report.add(answers.get(timeout=0.2))
        for process in [process for process in open_ if not process.is_alive()]:
            job = open_.pop(process)
            if process.exitcode:
                report.faults.append(
                    f"files {job[1]} to {job[1] + job[2] - 1}: the process ended with {process.exitcode}"
                )
    while not answers.empty():
        report.add(answers.get())
    return report


def by_command(count: int, seed: int, folder: Path) -> Report:
    """Gives `count` mutated files to the command: its status has to be 0 or 2, without a traceback.

    Each command is a fork of one process that has imported the package, and no network has been built in.
    """
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_commands, args=(count, seed, folder, answers))
    process.start()
    report: Report = answers.get()
    process.join()
    return report


def _commands(count: int, seed: int, folder: Path, answers: Any) -> None:
    import cutthrough.api
    import cutthrough.cli.convert
    import cutthrough.cli.inspect
    import cutthrough.cli.mapping
    import cutthrough.cli.run  # noqa: F401  (imported once for all commands)

    from tests.readers import SAMPLES

    report = Report("readers, by command", seed)
    samples = [sample for sample in SAMPLES if sample.command]
    for number in range(count):
        draw = random.Random(f"{seed}-command-{number}")  # noqa: S311
        sample = samples[number % len(samples)]
        content = mutated(sample.content, draw)
        here = folder / f"case-{number}"
        here.mkdir()
        path = sample.write(here, content)
        begin = time.perf_counter()
        words = [str(path) if word == "{}" else word for word in sample.command]
        status = status_of(partial(_command, here, words), 6 * LONGEST_S)
        took = time.perf_counter() - begin
        report.files[sample.format] += 1
        report.accepted[sample.format] += status == 0
        report.slowest[sample.format] = max(took, report.slowest.get(sample.format, 0.0))
        error = (here / "stderr").read_text(errors="replace")
        if status not in {0, 2} or "Traceback" in error or "panicked" in error:
            report.faults.append(_fault(sample.format, content, f"status {status}: {error[-800:]}"))
        shutil.rmtree(here)
    answers.put(report)


def _command(here: Path, words: list[str]) -> NoReturn:
    """Runs a command line, and ends the process."""
    import cutthrough.cli as cli

    os.chdir(here)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))
    sys.argv = ["cutthrough", *words]
    status = 0
    try:
        cli.main()
    except SystemExit as stopped:
        status = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--commands", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    given = parser.parse_args()
    if given.count:
        print(in_process(given.count, given.seed, given.workers).text)  # noqa: T201
    if given.commands:
        with tempfile.TemporaryDirectory() as folder:
            print(by_command(given.commands, given.seed, Path(folder)).text)  # noqa: T201


if __name__ == "__main__":
    _main()
