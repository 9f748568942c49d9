"""Selection tables of MPI libraries by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.cli import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

FLAT: dict[str, Any] = {"topology": {"kind": "flat", "nodes": 24}, "link": {"bandwidth": "100 Gb/s", "delay": "1 us"}}


def chosen(table: str, operation: str, ranks: int, size: int) -> str:
    return {name: algorithm for name, algorithm, _ in _core.chosen_algorithms(table, ranks, size, 4)}[operation]


@pytest.mark.parametrize(
    ("operation", "ranks", "size", "algorithm"),
    [
        # Both sides of thresholds of bytes and of ranks in Open MPI's source.
        ("allreduce", 3, 4095, "recursive-doubling"), ("allreduce", 3, 4096, "ring"),
        # Rings of fewer elements of 4 B than members.
        ("allreduce", 60, 32, "recursive-doubling"), ("allreduce", 4, 15, "recursive-doubling"),
        ("allreduce", 4, 8191, "recursive-doubling"), ("allreduce", 4, 8192, "rabenseifner-doubling"),
        ("allreduce", 63, 128, "rabenseifner-doubling"), ("allreduce", 64, 128, "recursive-doubling"),
        ("allreduce", 3, 262143, "ring"), ("allreduce", 3, 262144, "rabenseifner-doubling"),
        ("allreduce", 10000, 1 << 30, "rabenseifner-doubling"),
        ("alltoall", 16, 511, "bruck"), ("alltoall", 16, 512, "linear-sync"), ("alltoall", 2, 262144, "pairwise"),
        ("alltoall", 5, 524288, "pairwise"), ("alltoall", 5, 1 << 20, "linear"),
        ("broadcast", 127, 1 << 20, "k-nomial"), ("broadcast", 128, 16384, "linear"),
        ("broadcast", 16, 1 << 20, "scatter-doubling"), ("broadcast", 512, 16384, "split-binary"),
        ("reduce", 15, 8191, "binary"), ("reduce", 15, 8192, "binomial"), ("reduce", 300, 8192, "in-order-binary"),
        ("reduce-scatter", 31, 262143, "recursive-halving"), ("reduce-scatter", 31, 262144, "ring"),
        ("reduce-scatter", 64, 512, "recursive-distance-doubling"),
        ("gather", 300, 2048, "linear"), ("gather", 7, 262144, "linear-sync"), ("scatter", 16, 16384, "linear"),
        ("barrier", 7, 0, "linear"), ("barrier", 64, 0, "dissemination"), ("scan", 8, 8, "chain"),
        ("allgather", 32, 1024, "neighbor-exchange"), ("allgather", 33, 1024, "ring"),
        ("allgather", 16, 1024, "recursive-doubling"), ("allgather", 24, 1024, "bruck"),
    ],
)  # fmt: skip
def test_choices_are_those_of_open_mpi(operation: str, ranks: int, size: int, algorithm: str) -> None:
    """Catches a threshold that is off by one byte or rank, and an algorithm that does not serve a number of members."""
    assert chosen("open-mpi-4.1", operation, ranks, size) == algorithm


def test_every_choice_can_be_carried_out() -> None:
    """Catches an algorithm that does not serve its operation, or not a number of members."""
    for ranks in (2, 3, 7, 24):
        for operation, algorithm, _ in _core.chosen_algorithms("open-mpi-4.1", ranks, 1 << 20, 4):
            program = {"kind": "collective", "operation": operation, "size": "1 MiB", "selection": "open-mpi-4.1"}
            if operation == "barrier":
                del program["size"]
            ct.check(**{**FLAT, "topology": {"kind": "flat", "nodes": ranks}},
                     workload={"kind": "program", "program": program})  # fmt: skip
            assert algorithm in dict(_core.collective_names()[0])[operation]


@pytest.mark.parametrize("ranks", [24, 20])
def test_a_benchmark_and_a_program_take_the_named_choice(ranks: int) -> None:
    """Catches a table that is not used by the benchmark, or replaced by the built-in one."""
    flat = {**FLAT, "topology": {"kind": "flat", "nodes": ranks}}

    def time(size: str, **keys: str) -> float:
        own = {"kind": "collective", "operation": "broadcast", "sizes": [size], "warm_up": 0, **keys}
        point = ct.run(**flat, workload={"kind": "benchmark", "benchmark": own})[0]
        return float(point["benchmark_rows"][0]["time_max_ns"])

    for size, algorithm in (("1 KiB", "k-nomial"), ("1 MiB", "scatter-doubling")):
        by_table = time(size, selection="open-mpi-4.1")
        assert by_table == time(size, algorithm=algorithm)
        assert by_table != time(size)
        assert time(size, selection="mpich-4") == time(size)
    with pytest.raises(ct.ExperimentError, match="it is for"):
        time("1 KiB", algorithm="chain", selection="open-mpi-4.1")


def test_a_file_takes_precedence_and_errors_name_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a table that hides a file of its name, and an unknown name without the known ones."""
    program = {"kind": "collective", "operation": "allreduce", "size": "1 MiB"}
    work = {"kind": "program", "program": {**program, "selection": "open-mpi-4"}}
    with pytest.raises(ct.ExperimentError, match=r"tables of libraries are `mpich-4`, `open-mpi-4\.1`"):
        ct.check(**FLAT, workload=work)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mpich-4").write_text("allreduce,0,0,ring\n")
    assert chosen("mpich-4", "allreduce", 8, 8) == "ring"


def test_explain_names_the_choices() -> None:
    """Catches options that are ignored, and names without help."""
    ran = CliRunner().invoke(app, ["explain", "selection.open-mpi-4.1:ranks=4,bytes=8 KiB", "--json"])
    told = {own["operation"]: own["algorithm"] for own in json.loads(ran.stdout)["algorithms"]}
    assert told["allreduce"] == "rabenseifner-doubling"
    shown = CliRunner().invoke(app, ["explain", "selection.mpich-4:ranks=7"]).output
    assert "among 7 ranks" in shown
    assert "dissemination" in shown
    for text, said in (("open-mpi", "there is no table"), ("mpich-4:rank=3", "there is no option"),
                       ("mpich-4:ranks=0", "out of range")):  # fmt: skip
        assert said in str(CliRunner().invoke(app, ["explain", f"selection.{text}"]).exception)
