"""What libbine over uTofu does besides its messages, and the command `validate` on wrong input."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import cutthrough as ct
import pytest
from cutthrough.cli import app
from cutthrough.validation import read, setup_of
from cutthrough.validation.judged import of_groups
from cutthrough.validation.measured import KEYS
from cutthrough.validation.setups import Setup, call_of
from cutthrough.validation.simulating import Predicted, Running, document
from cutthrough.validation.software import links
from typer.testing import CliRunner

from tests.test_validation import machine, point, table

#: A torus whose links carry 8 bits each nanosecond. An overhead of MPI takes 100 ns, one of uTofu 10 ns.
OWN = {
    "topology": {"kind": "torus"},
    "link": {"bandwidth": "8 Gb/s"},
    "nic": {
        "kind": "loggp", "send_overhead": "100 ns", "receive_overhead": "100 ns", "dma": {"setup": "400 ns"},
        "bus": {"bandwidth": "8 Gb/s"}, "gap": "20 ns",
    },
    "benchmark": {"step_time": "7 ns", "start_time": "1 ns", "copy_time": "1 ns"},
}  # fmt: skip


def made(operation: str, algorithm: str, size: int, shape: str = "4x4x4") -> dict[str, Any]:
    """Returns the experiment of a point on a torus."""
    setup = Setup("m", "a torus", OWN, torus=True)
    nodes = [int(own) for own in shape.split("x")]
    ranks = nodes[0] * nodes[1] * nodes[2]
    own = document(point(operation, algorithm, size, 1.0, nodes=shape, ranks=ranks), setup, {}, Running())
    assert isinstance(own, dict)
    return own


def benchmark(own: dict[str, Any]) -> dict[str, Any]:
    held: dict[str, Any] = own["workload"]["benchmark"]
    return held


def test_ports_are_at_most_the_links_of_a_node() -> None:
    """Catches a link that is counted twice in a dimension of two nodes: six ports are not faster than three there."""
    assert [links(own) for own in [(2, 2, 2), (4, 4, 4), (64, 64), (32, 1), (4, 2, 3)]] == [3, 6, 4, 2, 5]
    bandwidth = [made("allreduce", "BINE-L-UTOFU-0-6", 64, shape)["link"]["bandwidth"] for shape in ("2x2x2", "4x4x4")]
    assert bandwidth == ["24000000000 b/s", "48000000000 b/s"]


def test_steps_of_the_library_take_their_time() -> None:
    """Catches an exchange, a step or a copy that is left out, counted for another algorithm, or not shared by ports."""
    # 6 steps with 200 ns of overheads each, and a message of 600 ns; twice with ports of the opposite directions.
    exchange = 6 * 200 + 600
    for name, start, step in [
        ("BINE-B_CONT-UTOFU-4096-1", 1 + exchange, 7),
        ("BINE-B_CONT-UTOFU-4096-6", 6 + 2 * exchange, 6 * 7),
        ("BINE-B_CONT-UTOFU-4096-3", 3 + exchange, 3 * 7),
        ("BINE-L-UTOFU-0-1", 1, 7 + 600),
    ]:
        own = benchmark(made("allreduce", name, 65536))
        assert (own["start_time"], own["step_time"]) == (f"{start:.3f} ns", f"{step:.3f} ns"), name
    # Receivers of short messages need not be ready. Messages of MPI have none of it.
    assert benchmark(made("allreduce", "BINE-L-UTOFU-0-1", 1024))["step_time"] == "7.000 ns"
    assert benchmark(made("allreduce", "BINE-B_CONT-MPI-0-1", 65536))["start_time"] == "1 ns"
    # A thread for each port copies its share; one thread copies all.
    shared = benchmark(made("allgather", "BINE-VEC_DOUBLING_CONT_PERMUTE-UTOFU-0-3", 6144))
    alone = benchmark(made("broadcast", "BINE-BINOMIAL_TREE_TMPBUF-UTOFU-0-3", 6144))
    assert (shared["start_time"], alone["start_time"]) == ("2051.000 ns", "6147.000 ns")
    # Threads wait for one another at each block.
    blocks = made("allgather", "BINE-VEC_DOUBLING_BLOCKS-UTOFU-0-6", 6144)
    assert (blocks["nic"]["gap"], benchmark(blocks)["algorithm"]) == ("120.000 ns", "sparbit")


def test_segments_are_those_of_each_port() -> None:
    """Catches segments that are shorter by the number of ports, and segments of an algorithm that ignores them."""
    held = {
        name: benchmark(made(operation, name, 1 << 26)).get("segment")
        for operation, name in [
            ("allreduce", "BINE-B_CONT-UTOFU-4096-6"),
            ("allreduce", "BINE-B_CONT-UTOFU-0-1"),
            ("allreduce", "BINE-B_CONT-MPI-0-1"),
            ("allreduce", "BINE-L-UTOFU-4096-6"),
            ("reduce", "BINE-BINOMIAL_TREE-UTOFU-4096-6"),
        ]
    }
    assert list(held.values()) == ["24576 B", "16777212 B", None, None, "4096 B"]
    # A reduction uses its ports in turn.
    assert made("reduce", "BINE-BINOMIAL_TREE-UTOFU-4096-6", 64)["link"] == OWN["link"]
    # Without a size, libbine over MPI has a segment for each rank.
    call = call_of(point("allreduce", "bine_bdw_remap_segmented_over", 1000, 1.0))
    assert call is not None
    assert call.keys == {"segment": "124 B"}


def run(*arguments: object) -> tuple[int, str]:
    ran = CliRunner().invoke(app, ["validate", *map(str, arguments)])
    is_refused = isinstance(ran.exception, ct.ExperimentError)
    return (2 if is_refused else ran.exit_code), ran.output + str(ran.exception)


ROW = "lumi,r,0,3,3,allreduce,OMPI,ring_ompi,{bytes},50000,60000"


def test_wrong_input_is_one_error_that_names_it(tmp_path: Path) -> None:
    """Catches an error of a copy that the command has made, an error without its column, and another exit status."""
    path = table(tmp_path, ROW.format(bytes=4096))
    there = tmp_path / "there"
    there.write_text("")
    status, said = run(path, "--out", there)
    assert (status, f"{there} is a file; a folder is allowed" in said) == (2, True)
    status, said = run(path, "--ranks", "99999999")
    assert (status, "ranks: `99999999` is out of range: 1 to 1048576 are allowed" in said) == (2, True)
    hosts = tmp_path / "hosts.csv"
    hosts.write_text("MPI_Rank,allocation\n0,nid001001\n1,nid005001\n2,nid005002\n")
    status, said = run(path, "--hosts", hosts)
    assert status == 2
    assert f"{hosts}:2: `lumi` has no host `nid001001`" in said
    status, said = run(table(tmp_path, ROW.format(bytes="4o96")))
    assert (status, "line 2: column `bytes`: `4o96` is no whole number" in said) == (2, True)
    status, said = run(table(tmp_path, ROW.format(bytes=4096)), "--machine", "a100")
    assert status == 2
    assert "`a100` has operations of NCCL, and line 2 of the table has `ring_ompi` of MPI" in said


def test_a_fit_writes_its_points_and_constants(tmp_path: Path) -> None:
    """Catches a list that `--fit` does not read, constants that are no sections, and a fit of one point unnoticed."""
    path, own = table(tmp_path, *(ROW.format(bytes=size) for size in (64, 4096))), machine(tmp_path)
    out = tmp_path / "out"
    status, said = run(path, "--machine", own, "--fit", "50%", "--out", out)
    assert status == 0, said
    assert f"one point cannot determine the constants of {own}" in said
    (constants,) = tomllib.loads((out / "constants.toml").read_text()).values()
    assert constants["nic"]["send_overhead"] == constants["nic"]["receive_overhead"]
    points, _ = read(path)
    lines = (out / "fitted.csv").read_text().splitlines()
    assert lines == [",".join(KEYS), ",".join(points[1].key)]
    status, again = run(path, "--machine", own, "--fit", out / "fitted.csv", "--limit", 2, "--json")
    assert status == 0, again


def test_reports_sort_nodes_and_name_the_assumed_library(tmp_path: Path) -> None:
    """Catches 1000 nodes before 32, and choices of a library that the table does not name."""
    found = [Predicted(point("allreduce", "a", 64, 1.0, nodes=own), 2.0) for own in ("1000", "32", "8x8x8", "4")]
    assert [key[0] for key, _ in of_groups(found, "p10", ["nodes"])] == ["4", "32", "8x8x8", "1000"]
    osu = tmp_path / "osu.txt"
    osu.write_text("# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n64  10.0\n")
    status, said = run(osu, "--machine", "lumi", "--ranks", "4")
    assert status == 0, said
    assert "1 points: the table names no library; the choices of MPICH 4 are assumed" in said


def test_names_of_the_tutorial_are_known() -> None:
    """Catches a name in the tutorial's table that no rule knows."""
    text = (Path(__file__).parents[1] / "docs/tutorials/measured.md").read_text()
    rows = re.findall(r"^\| (allreduce|allgather|reduce-scatter|broadcast|reduce|gather|scatter|alltoall) \| (.+) \|$",
                      text, re.M)  # fmt: skip
    assert len(rows) == 8
    for operation, names in rows:
        for name in re.findall(r"`(\w+)`", names):
            found = [call_of(point(operation, name + end, 1 << 20, 1.0)) for end in ("_over", "_ompi", "_mpich")]
            assert all(own is not None and not own.guessed for own in found), (operation, name)


@pytest.mark.parametrize("name", ["fugaku", "lumi", "leonardo", "mare-nostrum"])
def test_machines_of_mpi_have_no_times_of_gpus(name: str) -> None:
    """Catches a machine that is refused for tables of MPI."""
    assert not setup_of(name).of_gpus
