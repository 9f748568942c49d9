"""Results in the format of commit 6e273bdc, in which every point had the quantities of open traffic."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

from .conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMER = ROOT / "tests" / "former"
KINDS = {"traffic": "open traffic", "program": "a program", "benchmark": "a benchmark"}
#: Quantities that workloads that finish no longer have.
GONE = (
    *("offered_load", "accepted_load", "accepted_load_ci", "accepted_load_min", "latency_ci_ns", "saturated"),
    *("steady", "converged", "drained", "warm_up_ns"),
)


def former(kind: str) -> dict[str, Any]:
    """The first point as it was written."""
    point: dict[str, Any] = json.loads((FORMER / kind / "results.json").read_text(encoding="utf-8"))["points"][0]
    return point


@pytest.mark.parametrize("kind", KINDS)
def test_a_former_point_has_the_quantities_of_its_kind(kind: str) -> None:
    """Expected: the former values; without those of open traffic, except in open traffic."""
    point, held = ct.Results.read(FORMER / kind)[0], former(kind)
    if kind != "traffic":
        assert point.throughput == held["accepted_load"]
        held = {name: value for name, value in held.items() if name not in GONE} | {"throughput": point.throughput}
    assert point == held


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_measures_what_the_former_run_measured(kind: str) -> None:
    """Catches a measured number that differs, and a quantity that went without being listed."""
    path = FORMER / kind
    now, read = ct.run(path / "experiment.toml")[0], ct.Results.read(path)[0]
    assert {**now, "wall_s": 0.0} == {**read, "wall_s": 0.0}


@pytest.mark.parametrize("kind", ["program", "benchmark"])
def test_a_quantity_of_another_kind_is_refused_by_name(kind: str) -> None:
    """Expected: an error that names both kinds, and no such name in completion."""
    point = ct.Results.read(FORMER / kind)[0]
    for name in GONE:
        with pytest.raises(
            AttributeError, match=f"`{name}` is a quantity of open traffic; this point is {KINDS[kind]}"
        ):
            getattr(point, name)
    assert not {*GONE} & {*dir(point)}
    assert {"time_ns", "throughput", "latency_mean_ns", "series"} <= {*dir(point)}


def test_open_traffic_has_no_times() -> None:
    """Expected: an error that names both kinds; None for a search that was not asked for."""
    point = ct.Results.read(FORMER / "traffic")[0]
    with pytest.raises(
        AttributeError, match="`time_ns` is a quantity of workloads that finish; this point is open traf"
    ):
        _ = point.time_ns
    with pytest.raises(AttributeError, match="did you mean `accepted_load`"):
        _ = point.throughput
    assert (point.saturation_load, point.series, point.jobs) == (None, None, [])


@pytest.mark.parametrize("kind", KINDS)
def test_commands_read_former_folders(kind: str, cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Expected: pages and comparisons; `merge` refuses points of another build, and a run repeats them."""
    folder = tmp_path / kind
    shutil.copytree(FORMER / kind, folder)
    assert cutthrough("report", folder, "--out", tmp_path / "page.html").status == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert cutthrough("compare", folder, FORMER / kind).status == 0
    merged = cutthrough("merge", folder, "--out", tmp_path / "merged")
    assert merged.status == 2
    assert "was made by another build of Cutthrough" in merged.err
    again = cutthrough("run", folder / "experiment.toml", "--out", folder, "--plots", "none")
    assert again.status == 0
    assert "another build of Cutthrough" in again.err
    now, read = ct.Results.read(folder)[0], ct.Results.read(FORMER / kind)[0]
    assert {**now, "wall_s": 0.0} == {**read, "wall_s": 0.0}
