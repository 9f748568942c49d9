"""Bytes between groups on the hosts of real jobs, where the material is there."""

from __future__ import annotations

import csv
import importlib.util
import math
import os
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("CUTTHROUGH_DATA", "absent")) / "measured"


def bench() -> Any:
    path = Path(__file__).parent.parent / "benches" / "jobs.py"
    spec = importlib.util.spec_from_file_location("jobs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def group_of(machine: str, host: str, cells: dict[str, int]) -> int:
    """The group of a host: a cell of Leonardo, 256 CPU nodes or 124 GPU nodes of LUMI."""
    if machine == "leonardo":
        return cells[host]
    number = int(host.removeprefix("nid"))
    return 100 + (number - 1000) // 256 if number < 5000 else min(23, (number - 5000) // 124)


@pytest.mark.skipif(not DATA.is_dir(), reason="CUTTHROUGH_DATA names no folder with measured/")
@pytest.mark.parametrize(("machine", "count"), [("lumi", 969), ("leonardo", 554)])
def test_bytes_between_groups_are_the_published_ones(machine: str, count: int, tmp_path: Path) -> None:
    """Every published value of a power of two of nodes, to the hundredth.

    Catches a partner, a size or an order of steps of Bine trees or of Rabenseifner's algorithm that is not theirs.
    """
    jobs = bench()
    with tarfile.open(DATA / f"jobs-{machine}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    cells = {}
    for line in (DATA / "leonardo-nodes.txt").read_text().splitlines():
        if found := re.match(r"NODE (\d+) .*CELL (\d+)", line):
            cells[f"lrdn{found[1]}"] = int(found[2])
    files = [path for path in (tmp_path / machine).iterdir() if "viz" not in path.read_text()]
    hosts = {host for path in files for host in path.read_text().split()}
    groups = {host: group_of(machine, host, cells) for host in hosts}
    with (DATA / f"global-bytes-{machine}.csv").open() as file:
        published = list(csv.DictReader(file))
    held = 0
    for (_, own), row in zip(jobs.jobs_of(tmp_path / machine, groups)[::2], published, strict=True):
        assert len(own) == int(row["Nodes"])
        if len(own) & (len(own) - 1) == 0:
            value = jobs.reduction(own, "rabenseifner-doubling", "bine-bandwidth")
            # Values are cut, not rounded.
            cut = math.trunc(value * 100 + math.copysign(1e-6, value)) / 100
            assert cut == pytest.approx(float(row["Reduction"]), abs=0.005)
            held += 1
    assert held == count
