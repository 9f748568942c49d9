"""The Python interface."""

from __future__ import annotations

import doctest
import itertools
import tomllib
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cutthrough import api, reproduce
from cutthrough.experiment import documents as experiments
from cutthrough.machines import topology as topologies
from cutthrough.runs import sweeps

from .conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def table() -> dict[str, Any]:
    return tomllib.loads(SMALL)


def measured(results: ct.Results) -> list[dict[str, Any]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in results]


def test_file_mapping_and_keywords_are_the_same(small: Path, table: dict[str, Any]) -> None:
    """Catches an experiment that means something else when it comes from Python."""
    from_file = ct.run(small)
    assert measured(ct.run(table)) == measured(from_file)
    sections = {**table, "topology": ct.FatTree(k=4, n=2)}
    assert measured(ct.run(**sections)) == measured(from_file)


def test_set_takes_python_values(small: Path) -> None:
    """Catches values that lose their type: NumPy numbers, arrays, tables."""
    loads = np.array([0.1, 0.4])
    results = ct.run(small, set={"sweep.workload.load": loads, "workload.pattern": {"kind": "shift", "offset": 3}})
    assert [point["workload.load"] for point in results] == [0.1, 0.4]


def test_tables_in_three_libraries_agree(small: Path) -> None:
    """Catches a column that is lost or changed."""
    results = ct.run(small)
    pandas, polars, arrow = results.to_pandas(), results.to_polars(), results.to_arrow()
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert list(pandas.columns) == polars.columns == arrow.column_names
    latencies = [point["latency_mean_ns"] for point in results]
    assert pandas["latency_mean_ns"].tolist() == polars["latency_mean_ns"].to_list() == latencies


def test_results_read_back(small: Path, tmp_path: Path) -> None:
    """Catches anything that is lost on disk."""
    results = ct.run(small)
    again = ct.Results.read(results.save(tmp_path / "kept"))
    assert again.points == results.points
    assert (again.axes, again.title, again.seed) == (["workload.load"], "small", 7)
    assert ct.load(tmp_path / "kept" / "experiment.toml").points == ct.load(small).points


def test_resolved_experiment_of_swept_kinds_runs_again(table: dict[str, Any]) -> None:
    """Catches a resolved file whose first point's keys do not fit the other kinds."""
    table["sweep"] = {"router.kind": ["output-queued", "input-queued"], "workload.load": [0.1, 0.2]}
    experiment = ct.load(table).built()
    again = experiments.from_text(experiments.resolved(experiment), "resolved", ".", [])
    assert [again.resolved_point(i) for i in range(4)] == [experiment.resolved_point(i) for i in range(4)]


def test_watcher_sees_the_end(small: Path) -> None:
    """Catches progress that does not reach the number of points."""
    seen: list[tuple[float, int]] = []

    class Watcher:
        def update(self, done: float, total: int, phase: str) -> None:
            seen.append((done, total))
            assert phase

    ct.run(small, watcher=Watcher())
    assert seen[-1] == (2, 2)
    assert all(first[0] <= second[0] for first, second in itertools.pairwise(seen))


def test_wrong_experiments_raise_value_errors() -> None:
    """Catches another exception than the documented one."""
    with pytest.raises(ct.ExperimentError, match="topology"):
        ct.run(link={"bandwidth": "1 Gb/s", "delay": "1 ns"}, workload={"kind": "traffic", "load": 0.1})
    assert issubclass(ct.ExperimentError, ValueError)
    with pytest.raises(ct.ExperimentError, match="TOML"):
        ct.run({"topology": object()})


@pytest.mark.parametrize(
    ("topology", "nodes", "routers", "diameter"),
    [
        (ct.SingleSwitch(8), 8, 1, 0),
        (ct.FatTree(k=4, n=4), 256, 256, 6),
        (ct.FatTree(k=16, n=2), 256, 32, 2),
        (ct.Torus([8, 8, 8]), 512, 512, 12),
        (ct.Mesh([4, 3], nodes_per_router=2), 24, 12, 5),
        (ct.Topology("torus:8x8x8"), 512, 512, 12),
        # Planes have separate routers, and share nodes.
        (ct.SingleSwitch(8, planes=3), 8, 3, 0),
        (ct.FatTree(k=4, n=4, planes=2), 256, 512, 6),
        (ct.Torus([8, 8, 8], planes=2), 512, 1024, 12),
        (ct.Mesh([4, 3], nodes_per_router=2, planes=4), 24, 48, 5),
        (ct.Dragonfly(2, planes=2), 72, 72, 3),
    ],
)
def test_topologies_in_closed_form(topology: ct.Topology, nodes: int, routers: int, diameter: int) -> None:
    """Expected: the families' formulas. Catches keys that reach the wrong parameter."""
    assert (topology.nodes, topology.routers, topology.diameter) == (nodes, routers, diameter)
    # The channels into and out of the network count where routers are no nodes.
    ends = 0 if topology.kind in ("torus", "mesh") and topology.nodes * topology.planes == topology.routers else 2
    between = topology.distance(topology.router_of(0), topology.router_of(nodes - 1))
    assert topology.hops(0, nodes - 1) == between + ends
    assert len(topology.coordinates(0)) == len(topology.coordinate_names)


def test_torus_by_hand() -> None:
    """Expected by hand: 0 to 5 is three back around a ring of eight; 8^3 routers have 3 * 2 channels each."""
    torus = ct.Torus([8, 8, 8])
    assert torus.hops(0, 5) == 3
    assert torus.coordinates(8 + 2) == (2, 1, 0)
    assert len(torus.channels()) == 3072
    assert torus.bisection_channels == 128
    assert torus.bisection_bounds is not None
    assert torus.bisection_bounds[0] <= 128 == torus.bisection_bounds[1]
    assert ct.Topology("slim-fly:q=5").bisection_channels is None
    assert torus.spec == {"kind": "torus", "dims": [8, 8, 8], "nodes_per_router": 1}


@pytest.mark.parametrize(
    "shape", ["", "torus", "torus:0x8", "klein-bottle:4", {"kind": "torus"}, {"kind": "mesh", "dims": "a"}]
)
def test_no_such_topology(shape: Any) -> None:
    """Catches another exception than the documented one."""
    with pytest.raises(ct.ExperimentError):
        ct.Topology(shape)


def test_no_such_router_or_node() -> None:
    """Catches a panic on numbers out of range."""
    switch = ct.SingleSwitch(4)
    calls: tuple[Callable[[Any], Any], ...] = (
        switch.router_of,
        switch.coordinates,
        switch.place_of_rank,
        switch.rank_to_coordinates,
    )
    for call in (lambda n: switch.hops(0, n), lambda n: switch.distance(0, n), *calls):
        for number in (4, -1, 1 << 40):
            with pytest.raises(IndexError, match=f"no (node|router|rank) {number}; there (is|are) "):
                call(number)
        with pytest.raises(TypeError):
            call(0.5)


@pytest.mark.parametrize("module", [api, topologies, reproduce.claims, sweeps])
def test_examples_in_docstrings(module: Any) -> None:
    """Catches a docstring whose example no longer works as shown."""
    assert doctest.testmod(module).failed == 0
