"""Two results compared: which points match, and which differences are significant."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.comparison.matched import compare

from tests.conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOPOLOGY = '[topology]\nkind = "torus"\n[link]\n'


def results(points: list[dict[str, Any]], axes: list[str], experiment: str = TOPOLOGY) -> ct.Results:
    return ct.Results(points=[ct.Point(point) for point in points], axes=axes, experiment=experiment)


def seeded(mean: float, half: float, **keys: Any) -> dict[str, Any]:
    return {**keys, "seeds": 4, "confidence": 0.95, "accepted_load": mean, "ci": {"accepted_load": half}}


def test_welchs_test_by_hand() -> None:
    """Catches a wrong standard error or number of degrees of freedom. Two samples of 4 with standard errors 0.01 and
    0.02: t = 0.1 / sqrt(5e-4) = 4.472, 4.4118 degrees of freedom, p = 0.00876."""
    t_of_4 = 3.182446305284263
    a = results([seeded(0.5, t_of_4 * 0.01)], [])
    b = results([seeded(0.6, t_of_4 * 0.02)], [])
    ((_, difference),) = compare(a, b)
    assert difference.change == pytest.approx(0.1)
    assert difference.relative == pytest.approx(0.2)
    assert difference.p == pytest.approx(0.00876, rel=0.01)
    assert (difference.significant, difference.mark) == (True, "**")
    # The interval of the change excludes 0 exactly where the test says so.
    assert difference.half_width is not None
    assert difference.half_width < 0.1
    ((_, other),) = compare(a, b, confidence=0.995)
    assert other.half_width is not None
    assert other.half_width > 0.1
    assert not other.significant


def test_a_run_counts_as_fifteen_degrees_of_freedom() -> None:
    """Catches the interval within a run taken for that of many seeds. Error 1.96 / 1.96 = 1 each, t = 3 / sqrt 2 and 30
    degrees of freedom: p = 0.0422; at 28 it would be 0.0429."""
    point = {"latency_mean_ns": 100.0, "latency_ci_ns": 1.959963984540054, "converged": True}
    a = results([point], [])
    b = results([{**point, "latency_mean_ns": 103.0}], [])
    ((_, difference),) = compare(a, b)
    assert difference.p == pytest.approx(0.04224, rel=1e-3)


def test_points_match_by_all_swept_keys() -> None:
    """Catches points matched by their place, and a key that only one side has swept."""
    loads = "[workload]\nload = 0.5\n"
    a = results([seeded(0.1, 0.01, **{"workload.load": load}) for load in (0.1, 0.5, 0.9)], ["workload.load"])
    both = [(kind, load) for kind in ("minimal", "valiant") for load in (0.9, 0.5)]
    b = results(
        [seeded(0.2, 0.01, **{"routing.kind": kind, "workload.load": load}) for kind, load in both],
        ["routing.kind", "workload.load"],
    )
    a = replace(a, experiment=f"{TOPOLOGY}[routing]\nkind = 'valiant'\n{loads}")
    found = compare(a, b)
    assert [(match.places, match.settings) for match in found.matches] == [
        ((1, 3), {"workload.load": 0.5, "routing.kind": "valiant"}),
        ((2, 2), {"workload.load": 0.9, "routing.kind": "valiant"}),
    ]
    assert found.unmatched[0] == [{"workload.load": 0.1, "routing.kind": "valiant"}]
    assert [keys["routing.kind"] for keys in found.unmatched[1]] == ["minimal", "minimal"]


def test_the_settings_that_differ_are_named() -> None:
    """Catches a setting that is left out, and swept ones that would always differ."""
    a = results([], ["workload.load"], 'title = "a"\n[router]\nbuffer = "4 packets"\n[workload]\nload = 0.1\n')
    b = results([], ["workload.load"], 'title = "b"\n[router]\nbuffer = "8 packets"\nvcs = 2\n[workload]\nload = 0.2\n')
    found = compare(a, b)
    assert [(one.key, one.a, one.b) for one in found.settings] == [
        ("router.buffer", "4 packets", "8 packets"),
        ("router.vcs", None, 2),
    ]


def test_results_are_compared_with_results() -> None:
    """Catches an error from inside, where a path was given."""
    other: Any = "results/b"
    with pytest.raises(TypeError, match="is of type Results"):
        results([], []).compare(other)


def test_many_differences_are_corrected() -> None:
    """Catches marks that do not count how often chance had an opportunity: p of about 0.03 twenty times."""
    t_of_4 = 3.182446305284263
    axis = {"workload.load": 0.1}
    places = [{**axis, "workload.load": place / 20} for place in range(20)]
    a = results([seeded(0.5, 0.01 * t_of_4, **place) for place in places], ["workload.load"])
    b = results([seeded(0.54, 0.01 * t_of_4, **place) for place in places], ["workload.load"])
    found = compare(a, b)
    assert found.significant == 20
    assert {difference.mark for _, difference in found} == {"*"}
    ((_, alone),) = compare(replace(a, points=a.points[:1]), replace(b, points=b.points[:1]))
    assert alone.mark == "**"


def test_latencies_of_saturated_points_are_not_judged() -> None:
    """Catches a verdict on latencies that grow with the length of the run."""
    point = {"latency_mean_ns": 100.0, "latency_ci_ns": 1.0, "accepted_load": 0.5, "accepted_load_ci": 0.01}
    a, b = (results([{**point, "latency_mean_ns": mean, "saturated": True}], []) for mean in (100.0, 900.0))
    found = {difference.metric: difference for _, difference in compare(a, b)}
    assert found["latency_mean_ns"].p is None
    assert found["accepted_load"].p == pytest.approx(1.0)
    assert compare(a, b).matches[0].notes == ["A saturated", "B saturated"]
    assert not compare(a, b).differs


def test_what_was_not_measured_is_no_zero() -> None:
    """Catches a change against a value that is not there."""
    a = results([{"time_ns": None, "phases": []}], [])
    b = results([{"time_ns": 5.0, "phases": []}], [])
    ((_, difference),) = compare(a, b)
    assert (difference.a, difference.b, difference.change, difference.p) == (None, 5.0, None, None)
    assert compare(a, b).differs


def test_jobs_are_compared_by_what_each_is_measured_by() -> None:
    """Catches rows of an open job for the time that a closed one takes, instead of its accepted load and latency."""
    open_job = {"name": "storage", "accepted_load": 0.2, "latency_mean_ns": 900.0, "latency_ci_ns": 9.0}
    closed = {"name": "training", "phases": [], "time_ns": 5.0, "slowdown": 1.5, "accepted_load": 0.1}
    a = results([{"jobs": [closed, open_job], "accepted_load": 0.3}], [])
    b = results([{"jobs": [closed, {**open_job, "latency_mean_ns": 990.0}], "accepted_load": 0.3}], [])
    training, storage = compare(a, b).matches
    assert [(one.metric, one.a, one.b) for one in training.differences] == [
        ("time_ns", 5.0, 5.0),
        ("slowdown", 1.5, 1.5),
    ]
    found = [(one.metric, one.a, one.b) for one in storage.differences]
    assert found == [("accepted_load", 0.2, 0.2), ("latency_mean_ns", 900.0, 990.0)]
    assert storage.differences[1].significant


def test_the_same_runs_do_not_differ(small: Path, tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a difference of a run from itself, and statuses that scripts could not rely on."""
    for name, options in (("a", ()), ("b", ()), ("c", ("--set", "router.delay=200 ns"))):
        assert cutthrough("run", small, "--out", tmp_path / name, "--plots", "none", *options).status == 0
    same = cutthrough("compare", tmp_path / "a", tmp_path / "b", "--exit-code")
    assert same.status == 0, same.err
    assert "0 of 4 differences are significant" in same.out
    other = cutthrough("compare", tmp_path / "a", tmp_path / "c", "--exit-code")
    assert other.status == 1
    assert "router.delay: 90 ns and 200 ns" in other.out
    plain = cutthrough("compare", tmp_path / "a", tmp_path / "c" / "results.json", "--json")
    assert plain.status == 0
    held = json.loads(plain.out)
    latency = [
        difference
        for match in held["matches"]
        for difference in match["differences"]
        if difference["metric"] == "latency_mean_ns"
    ]
    # The delay of the routers is 110 ns more, of three on most paths.
    assert all(difference["significant"] and 150 < difference["change"] < 350 for difference in latency)


def test_seeds_make_small_differences_visible(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches intervals within a run used although there are seeds."""
    path = tmp_path / "x.toml"
    path.write_text(SMALL.replace("seed = 7", "seed = 7\nseeds = 4"))
    for name, options in (("a", ()), ("b", ("--set", "seed=100"))):
        cutthrough("run", path, "--out", tmp_path / name, "--plots", "none", *options)
    held = json.loads(cutthrough("compare", tmp_path / "a", tmp_path / "b", "--json").out)
    assert [setting["key"] for setting in held["settings"]] == ["seed"]
    point, other = (ct.Results.read(tmp_path / name)[0] for name in "ab")
    difference = next(one for one in held["matches"][0]["differences"] if one["metric"] == "latency_mean_ns")
    assert difference["change"] == pytest.approx(other["latency_mean_ns"] - point["latency_mean_ns"])
    # Of two equal intervals of 4 seeds the change has at most sqrt 2 times as much.
    widest = max(point["latency_ci_ns"], other["latency_ci_ns"])
    assert widest * 0.7 < difference["half_width"] < widest * 2**0.5 + 1e-9


def test_benchmarks_are_compared_size_by_size(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches sizes that are matched by their place, and a difference at a size that peaks hide."""
    benchmark = {"kind": "osu-bw", "sizes": ["1 KiB", "64 KiB", "1 MiB"]}
    runs = []
    # The other limit changes 64 KiB alone, whose messages no longer wait for their receivers.
    for limit, sizes in (("2 MiB", benchmark["sizes"]), ("63 KiB", ["512 B", *benchmark["sizes"][1:]])):
        runs.append(
            ct.run(
                topology={"kind": "flat", "nodes": 2},
                link={"bandwidth": "100 Gb/s", "delay": "100 us"},
                nic={"kind": "loggp", "eager_limit": limit},
                workload={"kind": "benchmark", "benchmark": benchmark | {"sizes": sizes}},
            )
        )
    (match,) = compare(runs[0], runs[1]).matches
    assert [own.at for own in match.sizes] == ["65536 B", "1048576 B"]
    most = {own.at: own.change for own in match.sizes}
    assert most["65536 B"] < most["1048576 B"] < 0.0
    for number, results in enumerate(runs):
        results.save(tmp_path / f"run{number}")
    ran = cutthrough("compare", tmp_path / "run0", tmp_path / "run1")
    assert "By size" in ran.out
    assert "65536 B" in ran.out
    assert "1048576 B" not in ran.out
    assert cutthrough("compare", tmp_path / "run0", tmp_path / "run1", "--exit-code").status == 1
    ran = cutthrough("compare", tmp_path / "run0", tmp_path / "run1", "--json")
    assert len(json.loads(ran.out)["matches"][0]["sizes"]) == 2


@pytest.mark.parametrize("arguments", [("a", "nowhere"), ("nowhere", "a"), ("a", "a", "--confidence", "1")])
def test_wrong_input(
    small: Path,
    tmp_path: Path,
    cutthrough: Callable[..., Any],
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a traceback, and a status that is not that of wrong input."""
    monkeypatch.chdir(tmp_path)
    cutthrough("run", small, "--out", tmp_path / "a", "--plots", "none")
    ran = cutthrough("compare", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
