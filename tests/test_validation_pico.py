"""Folders of results of the benchmark suite PICO."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.cli import app
from cutthrough.validation import read
from typer.testing import CliRunner

from .test_validation import table

if TYPE_CHECKING:
    from pathlib import Path

RUN = "2025_03_16___14_58_59"
HEAD = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version,libbine_version,gpu_awareness,"
HEAD += "gpu_lib,gpu_lib_version,output_level,MPI_Op,notes\n"
HOSTS = ["nid005250", "nid005271", "nid005300", "nid005301"]


def row(test: int, operation: str, nodes: str = "4", per_node: int = 1, gpu: str = "no") -> str:
    return f"{RUN},{test},{nodes},{per_node},{operation},CRAY_MPICH,8.1.29,1.0,{gpu},null,null,all,MPI_SUM,null\n"


def files(root: Path, held: dict[str, str]) -> Path:
    for name, text in held.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def results(tmp_path: Path, **others: str) -> Path:
    """Writes results in the forms of PICO's writers: all ranks, the slowest rank only, and lists of hosts."""
    root = tmp_path / "results"
    alloc = "MPI_Rank,allocation,xname\n" + "".join(f"{rank},{host},x{rank}\n" for rank, host in enumerate(HOSTS))
    held = {
        "lumi_metadata.csv": HEAD + row(0, "ALLREDUCE") + row(1, "ALLGATHER"),
        f"lumi/{RUN}/alloc_4.csv": alloc,
        f"lumi/{RUN}/0/1024_recursive_doubling_over_int32.csv":
            "highest,rank0,rank1,rank2,rank3\n" + "".join(f"{t},{t - 1},{t},{t - 2},0\n" for t in range(100, 111)),
        f"lumi/{RUN}/1/4096_ring_over_double.csv": "highest\n" + "50000\n" * 4 + "60000\n",
        **{name.format(run=f"lumi/{RUN}"): text for name, text in others.items()},
    }  # fmt: skip
    return files(root, held)


def test_points_are_those_of_the_files(tmp_path: Path) -> None:
    """Catches bytes of another type, percentiles of another column, and a run that depends on the given folder."""
    root = results(tmp_path)
    points, notes = read(root)
    assert notes == []
    assert points == read(root / "lumi")[0] == read(root / "lumi" / RUN)[0]
    first, second = points
    assert (first.machine, first.run, first.test, first.nodes, first.ranks) == ("lumi", RUN, "0", "4", 4)
    assert (first.operation, first.library, first.algorithm) == (
        "allreduce",
        "CRAY_MPICH 8.1.29",
        "recursive_doubling_over",
    )
    assert (first.bytes, first.size, second.bytes, second.size) == (4096, 4096, 32768, 8192)
    # 100, 101, ..., 110: the percentile q is 100 + q / 10.
    assert first.times == {"min": 100.0, "p10": 101.0, "median": 105.0, "p90": 109.0, "max": 110.0, "mean": 105.0}
    assert second.times["mean"] == 52000.0


def test_a_folder_is_simulated_as_its_table_is(tmp_path: Path) -> None:
    """Catches hosts that are read otherwise than those of `--hosts`, or that do not reach the simulation."""
    root = results(tmp_path)
    rows = [f"lumi,{RUN},0,4,4,allreduce,CRAY_MPICH 8.1.29,recursive_doubling_over,4096,101,105",
            f"lumi,{RUN},1,4,4,allgather,CRAY_MPICH 8.1.29,ring_over,32768,50000,50000"]  # fmt: skip
    (tmp_path / "hosts.txt").write_text("\n".join(HOSTS))
    by_table = [str(table(tmp_path, *rows)), "--hosts", str(tmp_path / "hosts.txt")]
    told = [json.loads(CliRunner().invoke(app, ["validate", *own, "--json"]).stdout)["points"]
            for own in ([str(root)], by_table, [str(table(tmp_path, *rows))])]  # fmt: skip
    times = [[own["simulated_ns"] for own in each] for each in told]
    assert times[0] == times[1] != times[2]
    assert [own["measured_ns"] for own in told[0]] == [101.0, 50000.0]


def test_files_that_are_not_compared_are_counted(tmp_path: Path) -> None:
    """Catches files that are left out silently."""
    root = results(
        tmp_path,
        **{
            "lumi_metadata.csv": HEAD
            + "".join((row(0, "ALLREDUCE"), row(1, "ALLTOALLV"), row(2, "REDUCE", gpu="yes"), row(9, "GATHER"))),
            "{run}/2/64_binomial_ompi_int32.csv": "highest\n1\n",
            "{run}/0/1024_ring_over_int32_instrument.csv": "rank0,reduce\n1,1\n",
            "{run}/slurm_1.out": "log\n",
            "{run}/aggregated_results_summary.csv": "a\n",
            "lumi/2025_01_01___00_00_00.tar.gz": "",
        },
    )  # fmt: skip
    points, notes = read(root)
    assert [own.test for own in points] == ["0"]
    said = "\n".join(notes)
    for reason in (
        "operation ALLTOALLV",
        "GPU memory",
        "_instrument",
        "`.out`",
        "`.csv`",
        "archives",
        "without a folder",
    ):
        assert reason in said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("{run}/0/readme.csv", "highest\n1\n", "its name is not COUNT_ALGORITHM_TYPE.csv"),
        ("{run}/0/1_ring_over_int32.csv", "highest,rank0\n5,5\n", "the columns are not `highest` and rank0 to rank3"),
        ("{run}/0/1_ring_over_int32.csv", "highest\n0\n", "line 2: it needs whole numbers of nanoseconds"),
        ("{run}/0/1_ring_over_int32.csv", "highest,rank0,rank1,rank2,rank3\n9,1,2,3,4\n", "not the largest time"),
        ("{run}/0/1_ring_over_int32.csv", "highest\n", "it has no iteration"),
        ("{run}/0/1_ring_over_int32.csv", "times\n1\n", "there is no column `highest`"),
        ("{run}/7/1_ring_over_int32.csv", "highest\n1\n", f"it has no test 7 of run {RUN}"),
        ("{run}/alloc_4.csv", "MPI_Rank,allocation\n0,a\n2,b\n", "a line for each of the ranks 0 to 3"),
        ("{run}/alloc_4.csv", "MPI_Rank,allocation\n0,a\n1,b\n2,b\n3,c\n", "3 hosts, and the metadata has 4 nodes"),
        ("{run}/other.csv", "a\n", "it has no place in a folder of PICO"),
        ("lumi_metadata.csv", "timestamp,test_id\n", "there is no column `nnodes`"),
        ("lumi_metadata.csv", HEAD + row(0, "REDUCE", nodes="4y") + row(1, "REDUCE"), "are no numbers of nodes"),
    ],
)  # fmt: skip
def test_what_is_not_of_pico_is_refused_with_its_file(tmp_path: Path, name: str, text: str, said: str) -> None:
    """Catches a traceback, and a file that is read as something else."""
    others: dict[str, Any] = {name: text}
    with pytest.raises(ct.ExperimentError, match=said.replace("(", r"\(")):
        read(results(tmp_path, **others))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ct.ExperimentError, match="it is no folder of PICO"):
        read(tmp_path / "empty")
