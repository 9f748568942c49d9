"""Points as objects, results that add up, and what notebooks show."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import polars as pl
import pytest
from cutthrough import _core
from cutthrough.display import notebooks
from cutthrough.points.table import Point

from .conftest import ROOT, short, simulated_once

if TYPE_CHECKING:
    from pathlib import Path

QUICK = {"measure.precision": 0.3}


@pytest.fixture(scope="module")
def kinds() -> list[ct.Results]:
    """A run of each kind of workload."""
    names = ("application", "jobs", "wicon", "saturation", "single_switch")
    paths = [ROOT / "examples" / f"{name}.toml" for name in names]
    with simulated_once():
        return [ct.run(path, set=short(path)) for path in paths]


def test_what_is_measured_are_attributes(kinds: list[ct.Results]) -> None:
    """Expected: every quantity of every kind of workload is an attribute of equal value, for jobs and phases too."""
    for results in kinds:
        for point in results:
            assert isinstance(point, ct.Point)
            swept = {*results.axes, "seed"}
            check(point, {key: value for key, value in point.items() if key not in swept})
            assert json.loads(json.dumps(point)) == point.to_dict() == dict(point)
            assert type(point.to_dict()) is dict


def check(held: Any, quantities: dict[str, Any]) -> None:
    for key, value in quantities.items():
        name = f"{key}_" if key == "class" else key
        assert getattr(held, name) == value, key
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for own, each in zip(getattr(held, name), value, strict=True):
                check(own, each)


def test_what_another_kind_measures_is_refused(kinds: list[ct.Results]) -> None:
    """Catches a quantity of another kind of workload that is 0, and a wrong name that passes in silence."""
    traffic = kinds[-1][0]
    assert (traffic.saturation_load, traffic.jobs) == (None, [])
    for name in ("time_ns", "message_size_B", "phases"):
        with pytest.raises(AttributeError, match=f"`{name}` is a quantity of .*; this point is open traffic"):
            getattr(traffic, name)
    with pytest.raises(AttributeError, match="did you mean `latency_mean_ns`"):
        _ = traffic.latency_mean
    with pytest.raises(AttributeError, match=r'point\["workload.load"\]'):
        getattr(Point({"workload.load": 0.5}), "workload.load")
    assert pickle.loads(pickle.dumps(traffic)) == traffic  # noqa: S301  (our own)
    assert type(copy.deepcopy(traffic)) is Point


def test_documented_quantities_have_units_or_are_plain() -> None:
    """Catches a quantity without a description, which the attribute's documentation is made of."""
    properties = json.loads(_core.result_schema())["properties"]
    assert all(held.get("description") for held in properties.values())


@pytest.fixture(scope="module")
def pair() -> tuple[ct.Results, ct.Results]:
    """Results at two loads, with two routings."""
    path = ROOT / "examples" / "fat_tree.toml"
    loads = {"sweep": {"workload.load": [0.1, 0.2]}, **QUICK}
    return ct.run(path, set=loads), ct.run(path, set={**loads, "routing.kind": "d-mod-k"})


def test_results_add_up(pair: tuple[ct.Results, ct.Results], tmp_path: Path) -> None:
    """Expected: the points of both with the key in which the experiments differ, channels and files kept."""
    one, other = pair
    both = one + other
    assert both.axes == ["workload.load", "routing.kind"]
    kinds = [(point["routing.kind"], point.offered_load) for point in both]
    assert kinds == [("adaptive-up-down", 0.1), ("adaptive-up-down", 0.2), ("d-mod-k", 0.1), ("d-mod-k", 0.2)]
    assert [point.latency_mean_ns for point in both] == [point.latency_mean_ns for point in [*one, *other]]
    assert both.channels(3).equals(other.channels(1))
    assert both.experiment == ""
    read = ct.Results.read(both.save(tmp_path / "both"))
    assert read.points == both.points
    assert not (tmp_path / "both" / "experiment.toml").exists()
    assert len(both.plot().axes[0].get_lines()) >= 2
    assert sum(pair).points == both.points  # type: ignore[union-attr]


def test_a_swept_section_is_an_axis_of_sums(small: Path) -> None:
    """Catches a point of a swept section that gets the kind of the file's section in a sum."""
    swept = ct.run(small, set={"sweep": {"routing": [{"kind": "d-mod-k"}, {"kind": "adaptive-up-down"}]}, **QUICK})
    other = ct.run(small, set={"sweep": {"seed": [7]}, "routing": {"kind": "random-up-down"}, **QUICK})
    both = swept + other
    assert "routing.kind" not in both.axes
    kinds = [point["routing"]["kind"] for point in both]
    assert kinds == ["d-mod-k", "adaptive-up-down", "random-up-down"]


def test_shares_of_a_sweep_are_the_sweep(small: Path, tmp_path: Path) -> None:
    """Expected: the whole run, whichever the shares; a point that both have is kept once."""
    whole = ct.run(small)
    first, second = (ct.run(small, points=share) for share in ("0", "1"))
    both = first + second
    assert (first.complete, second.complete, both.complete) == (False, False, True)
    assert without_wall(both) == without_wall(whole)
    assert both.experiment == whole.experiment
    assert len(both + first) == 2
    assert (first + first).complete is False
    assert ct.Results.read(both.save(tmp_path / "both")).complete


def test_shares_of_kinds_and_seeds_have_the_order_of_the_sweep(small: Path, tmp_path: Path) -> None:
    """Catches points in the order of the shares where the resolved experiment sweeps `routing`, the file its kind."""
    sweep = {"routing.kind": ["d-mod-k", "adaptive-up-down"], "workload.load": [0.1, 0.2], "seed": [1, 2]}
    whole = ct.run(small, set={"sweep": sweep, **QUICK})
    shares = [ct.run(small, set={"sweep": sweep, **QUICK}, points=f"{number}/3") for number in (1, 2, 3)]
    read = [ct.Results.read(share.save(tmp_path / str(number))) for number, share in enumerate(shares)]
    for both in (sum(shares), sum(reversed(read))):
        assert isinstance(both, ct.Results)
        assert both.complete
        settings = [[point[axis] for axis in whole.axes] for point in whole]
        assert [[point[axis] for axis in whole.axes] for point in both] == settings
        assert [point.ci for point in both] == [point.ci for point in whole]
        assert [run.latency_mean_ns for run in both.replicas] == [run.latency_mean_ns for run in whole.replicas]
        for pooled, point in zip(both, whole, strict=True):
            for row, held in zip(*(copy.deepcopy(one["class_utilization"]) for one in (pooled, point)), strict=True):
                assert row.pop("class") == held.pop("class")
                assert row == pytest.approx(held, rel=1e-12)


def without_wall(results: ct.Results) -> list[dict[str, Any]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in results]


def test_titles_and_seeds_tell_points_apart(small: Path) -> None:
    """Catches points of two runs that differ in nothing that the table shows."""
    one, other = ct.run(small, set={"seed": 1}), ct.run(small, set={"title": "another"})
    assert (one + other).axes == ["workload.load", "title"]
    with pytest.raises(TypeError):
        _ = one + 3  # type: ignore[operator]


def test_arrow_readers_take_results(pair: tuple[ct.Results, ct.Results]) -> None:
    """Catches a table that other libraries cannot read directly."""
    frame = pl.DataFrame(pair[0])
    assert frame["latency_mean_ns"].to_list() == [point.latency_mean_ns for point in pair[0]]


def test_results_show_themselves_as_html(pair: tuple[ct.Results, ct.Results]) -> None:
    """Expected: a row a point, marked where it has not converged, and no markup from titles."""
    html = pair[0]._repr_html_()
    assert html.count("<tr>") == 1 + len(pair[0])
    assert "offered" in html
    wild = ct.Results(points=[Point(offered_load=0.1, converged=False)], title="<script>", complete=False)
    html = wild._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "not converged" in html
    assert "missing" in html
    many = ct.Results(points=[Point(offered_load=n / 1000) for n in range(200)])
    html = many._repr_html_()
    assert html.count("<tr>") == 1 + 50 + 1
    assert "150 more points" in html


def test_points_machines_and_experiments_show_themselves_as_html(small: Path) -> None:
    """Expected: a row for each quantity of a point, empty if it was not measured, and no markup from texts."""
    point = ct.Point(
        accepted_load=1 / 3, saturated=True, latency_mean_ns=None, jobs=[{}, {}], messages={"count": 12345}
    )
    html = point._repr_html_()
    rows = dict(re.findall(r'left">(.*?)</td><td style="text-align: right">(.*?)</td>', html))
    assert rows == {
        "accepted_load": "0.333333",
        "saturated": "yes",
        "latency_mean_ns": "",
        "jobs": "2 entries",
        "messages.count": "12,345",
    }
    machine = ct.Machine("torus:4x4", cores=2)._repr_html_()
    assert '<td style="text-align: left">ranks</td><td style="text-align: right">32</td>' in machine
    assert "<caption>torus" in machine
    experiment = ct.load(small, set={"title": "<b>"})
    assert experiment._repr_html_().startswith("<pre>title = &quot;&lt;b&gt;&quot;")


class Kernel:
    """A notebook: what is displayed, and what becomes of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kernel: object | None) -> None:
        self.outputs: list[list[str]] = []
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.get_ipython = lambda: SimpleNamespace(kernel=kernel)  # type: ignore[attr-defined]
        display.display = self.display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(notebooks, "PAUSE_S", 0.0)

    def display(self, shown: Any, *, display_id: bool) -> Any:
        assert display_id
        output = [shown._repr_html_()]
        self.outputs.append(output)
        return SimpleNamespace(update=lambda again: output.append(again._repr_html_()))


def test_notebooks_have_a_bar(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: one output that is updated, whose share never falls and ends at 1; of runs and of searches."""
    kernel = Kernel(monkeypatch, object())
    ct.run(small)
    (output,) = kernel.outputs
    shares = [float(found) for text in output for found in re.findall(r'value="([\d.]+)"', text)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "2/2 points" in output[-1]
    search = notebooks.search_bar()
    assert search is not None
    search.update(0.25, "annealing")
    assert "annealing" in kernel.outputs[1][0]


def test_a_watcher_of_ones_own_replaces_the_bar(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches two displays of one run."""
    kernel = Kernel(monkeypatch, object())
    seen: list[float] = []
    ct.run(small, watcher=SimpleNamespace(update=lambda done, total, phase: seen.append(done)))
    assert seen
    assert kernel.outputs == []


def test_terminals_and_scripts_have_no_bar(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches output of a script, and of IPython's shell in a terminal, which has no kernel."""
    assert notebooks.run_bar() is None
    kernel = Kernel(monkeypatch, None)
    ct.run(small)
    assert kernel.outputs == []


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.7, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations_are_words(seconds: float, words: str) -> None:
    """Expected by hand."""
    assert notebooks._duration(seconds) == words
