"""The study of mapped ranks on the hosts of jobs: `benches/mapped_jobs.py`."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

BENCHES = Path(__file__).parent.parent / "benches"
#: Jobs on LUMI: of two groups, whose ranks alternate between them; of one group; and of another partition.
JOBS = {
    "1": ["nid005000", "nid005130", "nid005001", "nid005131", "nid005002", "nid005132", "nid005003", "nid005133"],
    "2": ["nid005000", "nid005001"],
    "3": ["nid001000", "nid001300"],
}


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, out: Path) -> list[dict[str, Any]]:
    monkeypatch.syspath_prepend(str(BENCHES))
    mapped_jobs = importlib.import_module("mapped_jobs")
    options = ["--jobs", f"lumi={folder}", "--out", str(out), "--size", "64 KiB", "--most", "8", "--jobs-at-once", "1"]
    monkeypatch.setattr(sys, "argv", ["mapped_jobs.py", *options])
    mapped_jobs.main()
    with (out / "mapped_jobs.csv").open() as file:
        return list(csv.DictReader(file))


def test_jobs_of_several_groups_are_mapped_on_their_own_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a mapping to other hosts, bytes of the wrong order, and a repeated run that simulates again."""
    folder, out = tmp_path / "jobs", tmp_path / "out"
    folder.mkdir()
    for name, hosts in JOBS.items():
        (folder / name).write_text("\n".join(hosts))
    rows = run(monkeypatch, folder, out)
    assert [(row["job"], row["hosts"], row["groups"]) for row in rows] == [("1", "8", "2")] * 3
    for row in rows:
        given, mapped = ((out / "hosts" / f"lumi-1-{row['algorithm']}-{order}.txt") for order in ("given", "mapped"))
        assert given.read_text().split() == JOBS["1"]
        assert sorted(mapped.read_text().split()) == sorted(JOBS["1"])
    # One of three exchanges crosses between two groups. By recursive doubling all exchanges have the whole buffer n. By
    # Rabenseifner's algorithm, partners at distance 1 exchange n/2 twice, and those at distance 4 exchange n/8 twice.
    buffer = 8 * 4096
    between = {row["algorithm"]: (int(row["given_bytes"]), int(row["mapped_bytes"])) for row in rows}
    assert between["recursive-doubling"] == (8 * buffer, 8 * buffer)
    assert between["rabenseifner-doubling"] == (8 * buffer, 2 * buffer)
    assert between["bine-bandwidth"][1] < between["bine-bandwidth"][0]
    before = (out / "kept.txt").read_bytes()
    assert run(monkeypatch, folder, out) == rows
    assert (out / "kept.txt").read_bytes() == before
