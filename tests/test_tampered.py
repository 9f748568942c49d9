"""Results that something else than `cutthrough` has written or changed: one error with the key, or what they say."""

from __future__ import annotations

import copy
import json
import math
import random
import shutil
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import matplotlib.pyplot as plt
import pytest
from cutthrough import page, plots
from cutthrough.comparison import matched as comparison
from cutthrough.reports import compared
from cutthrough.reports import tables as reports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BASE: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [2, 2]},
    "link": {"bandwidth": "10 Gb/s", "delay": "10 ns"},
    "measure": {"max_time": "30 us", "precision": 0.3, "warm_up": "5 us", "min_time": "1 ns"},
}
TRAFFIC = {"kind": "traffic", "load": 0.2}
EXCHANGE = {"kind": "exchange", "dims": [4], "volume": "1 KiB"}
#: Experiments whose results have all kinds of parts.
KINDS: dict[str, dict[str, Any]] = {
    "sweep": {
        "workload": TRAFFIC,
        "sweep": {"workload.load": [0.2, 0.9], "routing.kind": ["shortest-path", "up-down"]},
    },
    "seeds": {"workload": TRAFFIC, "seeds": 3},
    "messages": {
        "workload": {**TRAFFIC, "message_size": "2 KiB"},
        "measure": {**BASE["measure"], "messages": True, "series": "2 us"},
    },
    "jobs": {
        "job": [
            {"name": "one", "node_count": 2, "workload": {**EXCHANGE, "dims": [2]}},
            {"name": "two", "node_count": 2, "background": True, "workload": TRAFFIC},
        ],
        "measure": {**BASE["measure"], "compare_alone": True, "series": "2 us"},
    },
    "phases": {"workload": EXCHANGE},
    "benchmark": {"workload": {"kind": "benchmark", "benchmark": {"kind": "PingPong", "sizes": ["1 B", "1 KiB"]}}},
    "timeline": {
        "workload": {"kind": "program", "program": {"kind": "halo-2d", "iterations": 2}},
        # Ranks have a timeline if all of them end.
        "measure": {**BASE["measure"], "timeline": True, "max_time": "10 ms"},
    },
}
#: What stands for a value of JSON.
VALUES: list[Any] = [
    None, True, -1, 0, 1e308, -1e308, 1e-320, 2**70, 10**400, "", "x", "0.5", "\0", [], {}, [1], [[]], {"a": 1}, [None],
    [{}], math.nan, math.inf, 0.5, 10**7, "\ud800",
]  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of results of each kind."""
    folder = tmp_path_factory.mktemp("results")
    return {name: ct.run(**{**BASE, **keys}).save(folder / name) for name, keys in KINDS.items()}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values within one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(held: Any, draw: random.Random) -> Any:
    """A copy with one to three values taken out, doubled, exchanged or replaced."""
    held = copy.deepcopy(held)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        every = list(places(held))
        if not every:
            break
        *path, key = draw.choice(every)
        parent = held
        for step in path:
            parent = parent[step]
        match draw.randrange(6):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, list):
                parent.insert(key, parent[key])
            case 2 if isinstance(parent, dict):
                parent[f"{key}_"] = parent.pop(key)
            case 3:
                *others, last = draw.choice(every)
                source = held
                try:
                    for step in others:
                        source = source[step]
                    parent[key] = copy.deepcopy(source[last])
                except (KeyError, IndexError, TypeError):
                    parent[key] = None
            case _:
                parent[key] = draw.choice(VALUES)
    return held


def exercise(folder: Path, other: ct.Results) -> None:
    """Does with results what commands do: tables, figures, a page, a comparison, a sum."""
    results = ct.Results.read(folder)
    if not results.points:
        return
    reports.points_table(results)
    results.to_json()
    results._repr_html_()
    for name in plots._names(results):
        plots.figure(results, name)
    for table in (
        "to_arrow",
        "jobs",
        "message_sizes",
        "benchmark_rows",
        "series",
        "breakdown",
        "critical_path",
        "timeline",
    ):
        getattr(results, table)()
    found = comparison.compare(results, other)
    found.to_dict()
    compared.comparison_table(found)
    page.render([page.Side("a", results), page.Side("b", other)])
    plt.close("all")
    with suppress(ValueError):
        # Refused is what two builds have measured differently.
        results + other


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_is_read(kind: str, originals: dict[str, Path]) -> None:
    """Catches a schema that refuses results as they are."""
    exercise(originals[kind], ct.Results.read(originals[kind]))


def fuzz(count: int, originals: dict[str, Path], folder: Path, seed: int) -> Counter[str]:
    """Reads mutations of results; gives how many were refused and accepted."""
    draw, kinds = random.Random(seed), list(KINDS)  # noqa: S311
    held = {kind: json.loads((path / "results.json").read_text(encoding="utf-8")) for kind, path in originals.items()}
    whole = {kind: ct.Results.read(path) for kind, path in originals.items()}
    seen: Counter[str] = Counter()
    for number in range(count):
        kind = draw.choice(kinds)
        text = json.dumps(mutated(held[kind], draw))
        if draw.random() < 0.05:
            cut = draw.randrange(len(text))
            text = text[:cut] + draw.choice(["", "}", "\0", "[" * 100_000]) + text[cut + 1 :]
        file = folder / kind / "results.json"
        file.parent.mkdir(exist_ok=True)
        shutil.copy(originals[kind] / "experiment.toml", file.parent)
        file.write_text(text, encoding="utf-8")
        try:
            exercise(file.parent, whole[kind])
            seen["accepted"] += 1
        except ct.ExperimentError as error:
            assert str(file) in str(error)
            seen["refused"] += 1
        except Exception as error:
            error.add_note(f"seed {seed}, number {number}, {kind}")
            raise
    return seen


def test_changed_results_are_one_error(originals: dict[str, Path], tmp_path: Path) -> None:
    """Catches tracebacks of results that something else has changed."""
    seen = fuzz(200, originals, tmp_path, 1)
    assert min(seen["accepted"], seen["refused"]) >= 20


@pytest.mark.long
def test_changed_results_are_one_error_at_length(originals: dict[str, Path], tmp_path: Path) -> None:
    """Catches tracebacks of 2,000 changed results with a fresh seed."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}: {fuzz(2000, originals, tmp_path, seed)}")  # noqa: T201


def test_changed_keys_are_refused_by_their_names(originals: dict[str, Path], tmp_path: Path) -> None:
    """Catches what only `report` or `plot` finds later, without the file and the key."""

    def rename(point: dict[str, Any]) -> None:
        point["routing.kind_"] = point.pop("routing.kind")

    changes: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
        ("sweep", lambda point: point.pop("routing.kind"), "points[0].routing.kind"),
        ("sweep", rename, "points[0].routing.kind"),
        ("sweep", lambda point: point.update({"routing.kind": "\ud800"}), "points[0].routing.kind"),
        ("sweep", lambda point: point.update({"\ud800": 1}), r"points[0].\ud800"),
        ("sweep", lambda point: point.update({"latency_ci_ns": -1}), "points[0].latency_ci_ns"),
        ("seeds", lambda point: point["ci"].update({"latency_mean_ns": -1}), "points[0].ci.latency_mean_ns"),
        (
            "timeline",
            lambda point: point["timeline"]["state"].__setitem__(1, 1e-320),
            "points[0].timeline.state[1]",
        ),
        (
            "timeline",
            lambda point: point["timeline"]["rank"].__setitem__(0, 0.5),
            "points[0].timeline.rank[0]",
        ),
    ]
    for kind, change, key in changes:
        held = json.loads((originals[kind] / "results.json").read_text(encoding="utf-8"))
        change(held["points"][0])
        file = tmp_path / "results.json"
        file.write_text(json.dumps(held), encoding="utf-8")
        with pytest.raises(ct.ExperimentError) as raised:
            ct.Results.read(tmp_path)
        assert (raised.value.key, str(file) in str(raised.value)) == (key, True)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 100])
def test_other_files_are_one_error(content: bytes, originals: dict[str, Path], tmp_path: Path) -> None:
    """Catches tracebacks of the files beside the results."""
    for name, said in [("experiment.toml", "is not TOML"), ("channels-000.parquet", "does not hold channels")]:
        folder = tmp_path / name
        shutil.copytree(originals["sweep"], folder)
        (folder / name).write_bytes(content or b"[")
        with pytest.raises(ct.ExperimentError, match=said):
            ct.Results.read(folder).channels(0)
