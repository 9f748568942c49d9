#!/usr/bin/env python3
"""Compares the speed of two commits by the works of compare.py, with a test of significance. See README.md."""

from __future__ import annotations

import argparse
import math
import platform
import shlex
import shutil
import statistics
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compare import DRAGONFLY, SPEED
from peer import HERE, Cutthrough, Failed, execute, pinned, say, table
from ranks import RANKS, run
from scipy.stats import wilcoxon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = HERE.parent
#: A row is slower if its ratio is below this and the ratios of its turns are unlikely to be chance.
SLOWER, CHANCE = 0.97, 0.05

#: Works of one thread, each with a function that runs it with a command and returns its rate.
WORKS: dict[str, Callable[[Cutthrough], float]] = {
    **{work.name: lambda ours, work=work: ours.run(work)[0].rate for work in (*SPEED, *DRAGONFLY)},
    **{work.name: lambda ours, work=work: run(work, ours.command)["rate"] for work in RANKS if work.threads == 1},
}


@contextmanager
def worktrees(folder: Path) -> Iterator[None]:
    """Removes the worktrees in `folder` at the end."""
    try:
        yield
    finally:
        for worktree in folder.glob("*/.git"):
            execute(["git", "worktree", "remove", "--force", str(worktree.parent)], ROOT)


def build(commit: str, folder: Path, profile: str) -> Cutthrough:
    """Builds a commit in a new worktree in `folder`, and returns its command."""
    worktree = folder / commit
    say(f"building {commit}")
    execute(["git", "worktree", "add", "--quiet", "--detach", str(worktree), commit], ROOT)
    # Both commits share a folder, so that their dependencies are compiled once.
    target = folder / "target"
    options = ["--locked", "--profile", profile, "--package", "cutthrough-python", "--target-dir", str(target)]
    execute(["cargo", "build", *options], worktree)
    (library,) = (target / profile).glob("lib*.dylib" if platform.system() == "Darwin" else "lib*.so")
    shutil.copy(library, worktree / "python" / "cutthrough" / "_core.abi3.so")
    command = folder / f"cutthrough-{commit}"
    start = shlex.join([sys.executable, "-c", "from cutthrough.cli import main; main()"])
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(worktree / "python"))} exec {start} "$@"\n')
    command.chmod(0o755)
    return Cutthrough(str(command), 1.0)


def turns(work: Callable[[Cutthrough], float], old: Cutthrough, new: Cutthrough, runs: int) -> Iterator[float]:
    """Yields the rate of the new commit over that of the old one, a turn at a time. Each commit begins every other."""
    with pinned(1):
        for turn in range(runs):
            if turn % 2 == 0:
                before, after = work(old), work(new)
            else:
                after, before = work(new), work(old)
            yield after / before


def compare(old: Cutthrough, new: Cutthrough, names: list[str], runs: int) -> bool:
    """Measures and prints. Returns whether a row is slower."""
    lines, slower = [], False
    for name in names:
        ratios = list(turns(WORKS[name], old, new, runs))
        ratio = statistics.median(ratios)
        p = float(wilcoxon([math.log(each) for each in ratios]).pvalue)
        worse = ratio < SLOWER and p < CHANCE
        slower |= worse
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        lines.append([name, f"{ratio:.3f}", spread, f"{p:.4f}", "slower" if worse else ""])
        say(f"{name}: {ratio:.3f}, p = {p:.4f}")
    sys.stdout.write(table(["work", "new / old", "all turns", "p", ""], lines) + "\n")
    return slower


def main() -> int:
    """Builds, measures and prints. Returns the exit status: 1 if a row is slower, 2 if a commit fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs=2, metavar=("OLD", "NEW"), help="the commits")
    parser.add_argument("--rows", nargs="+", metavar="TEXT", default=[""], help="only works whose names contain a text")
    parser.add_argument("--runs", type=int, default=15, metavar="N", help="runs of each commit (15)")
    parser.add_argument("--profile", choices=("release", "quick"), default="release", help="how to build (release)")
    args = parser.parse_args()
    names = [name for name in WORKS if any(text in name for text in args.rows)]
    if not names or args.runs < 1:
        parser.error(f"no works to run; those of `--rows` are: {'; '.join(WORKS)}")
    try:
        ids = [execute(["git", "rev-parse", f"{name}^{{commit}}"], ROOT).text.strip() for name in args.commits]
        with tempfile.TemporaryDirectory(prefix="cutthrough-commits-") as folder, worktrees(Path(folder)):
            built = {commit: build(commit, Path(folder), args.profile) for commit in dict.fromkeys(ids)}
            return int(compare(*(built[commit] for commit in ids), names, args.runs))
    except Failed as failed:
        say(str(failed))
        return 2


if __name__ == "__main__":
    sys.exit(main())
