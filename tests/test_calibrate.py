"""Fits of network interfaces to measured tables."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import calibrate
from cutthrough.cli import app
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable

#: Ten steps of LAMMPS on 8 ranks.
LAMMPS = Path(__file__).parent.parent / "examples" / "lj.trace"
KNOWN: dict[str, Any] = {
    "kind": "loggp",
    "send_overhead": "450 ns",
    "receive_overhead": "220 ns",
    "gap": "600 ns",
    "eager_limit": "8 KiB",
    "bus": {"bandwidth": "90 Gb/s"},
    "copy": {"bandwidth": "40 Gb/s"},
}
SIZES = ["1 B", "256 B", "2 KiB", "8 KiB", "16 KiB", "128 KiB", "1 MiB"]


def simulated(benchmark: dict[str, Any], nic: dict[str, Any] = KNOWN) -> ct.Results:
    """A benchmark on a known interface, over a path of 300 ns."""
    return ct.run(
        topology={"kind": "flat", "nodes": 2},
        link={"bandwidth": "1000 Tb/s", "delay": "300 ns"},
        nic=nic,
        workload={"kind": "benchmark", "benchmark": benchmark},
    )


def printed(kind: str, nic: dict[str, Any] = KNOWN, sizes: list[str] = SIZES) -> str:
    """What a benchmark prints on the known interface."""
    return simulated({"kind": kind, "sizes": sizes}, nic).benchmark_text()


def test_a_fit_gives_back_the_parts_of_which_the_tables_were_made(tmp_path: Path) -> None:
    """Catches a unit, a size or a window that is read wrongly, and a search that stops beside what was there."""
    tables = []
    for kind in ("osu-latency", "osu-bw"):
        path = tmp_path / f"{kind}.txt"
        path.write_text(printed(kind))
        tables += calibrate.read(path)
    fit = calibrate.calibrate(tables, "loggp", latency="300 ns", keep=["rendezvous"])
    found = {value.part.key: value.value for value in fit.values}
    assert fit.chosen == {"eager_limit": "8192 B"}
    assert found["send_overhead"] == pytest.approx(450e3, rel=0.03)
    assert found["receive_overhead"] == pytest.approx(220e3, rel=0.06)
    assert found["gap"] == pytest.approx(600e3, rel=0.02)
    assert found["copy.bandwidth"] == pytest.approx(40e9, rel=0.02)
    assert found["bus.bandwidth"] == pytest.approx(90e9, rel=0.02)
    assert fit.max_error < 0.02


@given(
    overheads=st.tuples(st.integers(100, 800), st.integers(100, 800)),
    slack=st.integers(120, 300),
    bandwidth=st.integers(10, 400),
)
@settings(max_examples=4, deadline=None)
def test_any_latency_gap_and_bandwidth_are_found(overheads: tuple[int, int], slack: int, bandwidth: int) -> None:
    """Catches a search that ends beside what there is, wherever that lies."""
    gap = max(overheads) * slack / 100
    nic: dict[str, Any] = {
        "kind": "loggp",
        "send_overhead": f"{overheads[0]} ns",
        "receive_overhead": f"{overheads[1]} ns",
        "gap": f"{gap:.0f} ns",
        "bus": {"bandwidth": f"{bandwidth} Gb/s"},
    }
    sizes = ["1 B", "1 KiB", "64 KiB", "1 MiB"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.txt"
        path.write_text(printed("osu-latency", nic, sizes) + printed("osu-bw", nic, sizes))
        tables = calibrate.read(path)
    fit = calibrate.calibrate(
        tables, "loggp", latency="300 ns", keep=["eager_limit", "rendezvous", "copy.bandwidth", "registration.time"]
    )
    found = {value.part.key: value.value for value in fit.values}
    assert fit.max_error < 0.02
    assert found["send_overhead"] + found["receive_overhead"] == pytest.approx(1e3 * sum(overheads), rel=0.02)
    assert found["gap"] == pytest.approx(1e3 * gap, rel=0.02)
    assert found["bus.bandwidth"] == pytest.approx(1e9 * bandwidth, rel=0.02)


@pytest.mark.parametrize("kind", ["osu-bibw", "imb-exchange"])
def test_tables_of_both_directions_are_fitted(tmp_path: Path, kind: str) -> None:
    """Catches a factor of two in what is counted, and a benchmark that is run in one direction only."""
    path = tmp_path / "table.txt"
    path.write_text(printed("osu-latency") + "\n" + printed("osu-bibw") if kind == "osu-bibw" else printed(kind))
    tables = calibrate.read(path)
    assert kind in {table.kind for table in tables}
    fit = calibrate.calibrate(tables, "loggp", latency="300 ns", keep=["rendezvous", "registration.time"])
    found = {value.part.key: value.value for value in fit.values}
    assert fit.max_error < 0.03
    assert found["bus.bandwidth"] == pytest.approx(90e9, rel=0.03)


def test_overlap_says_who_makes_progress(tmp_path: Path) -> None:
    """Catches intervals in another unit, an availability read as a bandwidth, and progress that is not tried."""
    polling = {"kind": "comb-polling", "message_size": "100 KiB", "intervals": ["10 us", "100 us"]}
    rows = simulated(polling, KNOWN | {"progress": "independent"}).points[0]["benchmark_rows"]
    path = tmp_path / "overlap.csv"
    lines = ["benchmark,message_B,interval_us,availability"]
    lines += [f"comb-polling,102400,{row['interval_ns'] / 1e3:g},{row['availability']}" for row in rows]
    path.write_text("\n".join(lines) + "\n")
    start = tmp_path / "latency.txt"
    start.write_text(printed("osu-latency"))
    tables = [*calibrate.read(path), *calibrate.read(start)]
    assert [row.size for row in tables[0].rows] == [10000, 100000]
    keep = ["rendezvous", "eager_limit", "registration.time", "copy.bandwidth", "gap"]
    fit = calibrate.calibrate(tables, "loggp", latency="300 ns", keep=keep)
    assert fit.chosen == {"progress": "independent"}


def test_a_recorded_program_runs_on_what_was_fitted_as_on_what_was_measured(tmp_path: Path) -> None:
    """From a measured table to the replay. Catches parts that meet the table and say something else of a program."""
    path = tmp_path / "tables.txt"
    path.write_text(printed("osu-latency") + "\n" + printed("osu-bw"))
    fit = calibrate.calibrate(calibrate.read(path), "loggp", latency="300 ns", keep=["rendezvous"])
    program = ct.Program.from_trace(LAMMPS, compute_scale=0)
    times = [
        program.run("flat:8", nic=nic, link={"bandwidth": "1000 Tb/s", "delay": "300 ns"})[0]["time_ns"]
        for nic in (KNOWN, fit.nic(), {"kind": "infinipath"})
    ]
    assert times[1] == pytest.approx(times[0], rel=0.02)
    assert abs(times[2] / times[0] - 1.0) > 0.05


@pytest.mark.parametrize(
    ("given_", "named", "wrong"),
    [
        ({"latency": "fast"}, "--latency", "`fast`"),
        ({"latency": "-1 ns"}, "--latency", "`-1 ns`"),
        ({"latency": "2000 s"}, "--latency", "0 to 1000 s"),
        ({"latency": "0 ns"}, "--latency", "0 ns"),
        ({"start": "infinipaht"}, "--from", "infinipath"),
        ({"start": "ideal"}, "--from", "no parts"),
        ({"keep": ["gapp"]}, "--keep", "`gap`"),
    ],
)
def test_what_is_wrong_with_an_option_has_its_name(
    tmp_path: Path, given_: dict[str, Any], named: str, wrong: str
) -> None:
    """Catches an error of the experiment inside, whose keys no one has written."""
    path = tmp_path / "table.csv"
    path.write_text("benchmark,size_B,time_us\nosu-latency,1,1.5\n")
    with pytest.raises(ct.ExperimentError) as caught:
        calibrate.calibrate(calibrate.read(path), **given_)
    assert caught.value.key == named
    assert wrong in str(caught.value)


def test_tables_are_read_as_they_are_printed(tmp_path: Path) -> None:
    """Catches a column of another table, megabytes for mebibytes, pairs for ranks, and one table of several."""
    path = tmp_path / "tables.txt"
    path.write_text(printed("PingPong") + printed("Sendrecv"))
    ping, send = calibrate.read(path)
    assert (ping.kind, send.kind, ping.ranks) == ("ping-pong", "sendrecv", 2)
    assert [row.size for row in ping.rows][:3] == [1, 256, 2048]
    assert ping.rows[0].value == pytest.approx(970.0, abs=10)
    path.write_text(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 3 ] [ window size: 16 ]\n"
        "# Size                  MB/s        Messages/s\n8  2.5  312500.0\n"
    )
    (many,) = calibrate.read(path)
    assert (many.ranks, many.window, many.rows[0].value) == (6, 16, 2.5e6)
    path.write_text("size_B,time_us\n0,1.5\n8,1.6\n")
    (plain,) = calibrate.read(path, "osu-latency")
    assert [row.value for row in plain.rows] == [1500.0, 1600.0]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"", "there is no table in it"),
        (b"# OSU MPI Latency Test\n# Size Latency (us)\n", "there is no table in it"),
        (b"# OSU MPI Latency Test\n1\n", "line 2: 1 column, where 2 are needed"),
        (b"# OSU MPI Latency Test\n1 two\n", "line 2: `two` is no number"),
        (b"# OSU MPI Latency Test\n1 nan\n", "line 2: `nan` is no number"),
        (b"# OSU MPI Latency Test\n1 0.0\n", "line 2: `0.0` is no measured value"),
        (b"# OSU MPI Latency Test\n4 1\n4 1\n", "line 3: the size 4 is there already, in line 2"),
        (b"64 1.9\n# OSU MPI Latency Test\n128 2\n", "line 1: it is a row of numbers before the title"),
        (b"# OSU MPI Latency Test\n# Size Latency (us)\n1 2 3\n", "line 3: 3 columns, where the heading has 2"),
        (b"# OSU MPI Latency Test\n1 2\n# Size Latency (us)\n", "line 2: it is a row of numbers before the heading"),
        (b"# OSU MPI Latency Test v7.5\n# Size Avg Latency(us) Validation\n1 2 Fail\n", "line 3: the validation"),
        (
            b"# nThread 1 nGpus 8 minBytes 8\n8 2 float sum -1 17.3\n",
            "line 1: tables of nccl-tests cannot be fitted to",
        ),
        (b"  RDMA_Write BW Test\n 65536 5000 2700\n", "line 1: tables of perftest cannot be fitted to"),
        (b"benchmark,ranks,size_B,latency_us\nosu_latency,1e999,64,1.9\n", "line 2: ranks = 1e999 is out of range"),
        (b"benchmark,window,size_B,latency_us\nosu_bw,1e999,64,1.9\n", "line 2: window = 1e999 is out of range"),
        (b"size_B,bytes,time_us\n1,2,3\n", "line 1: the columns `size_B` and `bytes`"),
        (b"size_B,time_us,latency_us\n1,2,3\n", "line 1: the columns `time_us` and `latency_us`"),
        (b"# OSU MPI Latency Test\n99999999999 1\n", "line 2: `99999999999` is no number that can be here"),
        (b"# OSU MPI Latency Test\n1 \xff\n", "line 2: it is no text"),
        (b"# OSU MPI Latency Test\n# [ pairs: 999999 ]\n1 1\n", "line 2: pairs = 999999 is out of range"),
        (
            b"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: varied ]\n"
            b"# Size 1 2 4 8\n1 1.5 2.5 3.5 4.5\n",
            "line 2: `window size: varied` cannot be fitted to",
        ),
        (b"# Benchmarking Gather\n#bytes t[usec]\n1 1\n", "line 1: `Gather` cannot be fitted to"),
        (b"a,b\n1,2\n", "line 1: the names of columns need"),
        (b"size_B,time_us\n1,2\n", "line 2: it does not say of which benchmark it is"),
        (b"benchmark,size_B,time_us\nosu-bx,1,2\n", "line 2: there is no benchmark `osu-bx`"),
        (b"benchmark,size_B,time_us\nosu-bw,1\n", "line 2: 2 columns, and 3 names of columns"),
        (b"benchmark,interval_us,availability\ncomb-polling,1,0.5\n", "line 2: polling needs a column `message_B`"),
        (b"# OSU MPI Latency Test\n# Size Latency (ns)\n1 1\n", "line 2: the columns of `osu-latency` are read in us"),
        (b"# OSU MPI Bandwidth Test\n# Size GB/s\n1 1\n", "line 2: the columns of `osu-bw` are read in MB/s"),
        (b"# OSU MPI Bandwidth Test\n0 1\n", "line 2: messages of 0 bytes have no bandwidth"),
        (b"# Benchmarking PingPong\n#bytes t[usec]\n0 1\nxx 1\n", "line 4: `xx` is no number"),
        (b"size_B,size_B,time_us\n1,2,3\n", "line 1: there are two columns `size_B`"),
        (
            b"benchmark,size_B,messages_per_s\nosu-latency,1,2\n",
            "line 2: `osu-latency` does not measure messages_per_s",
        ),
        (b"benchmark,ranks,size_B,time_us\nosu-bw,7,1,2\n", "line 2: `osu-bw` is of 2 ranks, not of 7"),
        (b"benchmark,ranks,size_B,time_us\nosu-mbw-mr,3,1,2\n", "line 2: `osu-mbw-mr` is of an even number of ranks"),
        (b"x" * (1 << 23), "it is larger than 4 MiB"),
    ],
)
def test_what_is_wrong_with_a_table_has_its_line(tmp_path: Path, text: bytes, wrong: str) -> None:
    """Catches a traceback, a row that is passed over in silence, and an error without its place."""
    path = tmp_path / "table.txt"
    path.write_bytes(text)
    with pytest.raises(ct.ExperimentError) as caught:
        calibrate.read(path)
    assert wrong in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "title",
    [
        "Allreduce Latency Test v5.6.2",
        "All-to-All Personalized Exchange Latency Test v5.6.2",
        "Broadcast Latency Test v7.0",
        "Multi Latency Test",
        "Multi-threaded Latency Test v7.4",
        "Non-blocking Allreduce Latency Test v7.5",
        "_Put Latency Test v5.6.2",
        "_Put Bi-directional Bandwidth Test v5.6.2",
        "_Get Bandwidth Test",
        "-CUDA Reduce_scatter Latency Test v7.5",
    ],
)
def test_benchmarks_of_the_family_are_refused_by_name(tmp_path: Path, title: str) -> None:
    """Catches a collective or one-sided benchmark that is fitted as if two ranks sent messages."""
    path = tmp_path / "table.txt"
    written = f"OSU MPI{title}" if title[0] in "_-" else f"OSU MPI {title}"
    path.write_text(f"# {written}\n# Size       Avg Latency(us)\n1   8.00\n64   8.03\n")
    with pytest.raises(ct.ExperimentError) as caught:
        calibrate.read(path)
    assert f"line 1: `{written}` cannot be fitted to" in str(caught.value)


@pytest.mark.parametrize(
    "title", ["MPI Latency Test v3.1.1", "MPI-CUDA Latency Test v7.5", "MPI Latency Test (Version 2.0)"]
)
def test_lines_around_a_table_are_left_out_and_counted(tmp_path: Path, title: str) -> None:
    """Catches a line of mpirun, a prompt or a fence that is taken for a row, or left out without a word."""
    path = tmp_path / "table.txt"
    table = (
        f"# OSU {title}\n# Size          Latency (us)\n0                       1.82\n1024                       3.0\n"
    )
    path.write_text(table)
    (bare,) = calibrate.read(path)
    assert bare.notes == []
    noise = "[login01:12345] mca_base: unable to open mca_pnet_opa\n```\n$ mpirun -n 2 ./osu_latency\n"
    path.write_text(f"{noise}{table}```\n[cn01:999] 1 more process has sent help message\n")
    (found,) = calibrate.read(path)
    assert [(row.size, row.value) for row in found.rows] == [(0, 1820.0), (1024, 3000.0)]
    assert found.notes == ["5 lines that are no rows are left out (the first: line 1)"]
    path.write_text(table.replace("# Size          Latency (us)", "# Latency (us)  Size").replace("0   ", "1.82 ", 1))
    with pytest.raises(ct.ExperimentError):
        calibrate.read(path)
    path.write_text(f"# OSU {title}\n# Latency (us)     Size\n1.82    0\n3.0   1024\n")
    (turned,) = calibrate.read(path)
    assert [(row.size, row.value) for row in turned.rows] == [(0, 1820.0), (1024, 3000.0)]


def test_what_imb_could_not_measure_is_counted(tmp_path: Path) -> None:
    """Catches a row of a table without a value that ends the reading, and benchmarks of two programs in one file."""
    path = tmp_path / "table.txt"
    path.write_text(
        printed("PingPong")
        + '  67108864   10  ... out-of-mem.; needed X=   0.126 GB; use flag "-mem 0.128"\n'
        + printed("osu-latency")
    )
    tables = calibrate.read(path)
    assert [table.kind for table in tables] == ["osu-latency", "ping-pong"]
    assert tables[0].notes == ["1 row without a value is left out: IMB had no memory or no time for it"]


def test_the_command_answers_a_garbled_table_in_one_error(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a traceback, another exit status than 2, and a section or a file for a table that is none."""
    path, section = tmp_path / "cut.txt", tmp_path / "nic.toml"
    path.write_text("# OSU MPI Latency Test\n# Size  Latency (us)\n1 1.2\n2")
    ran = cutthrough("calibrate", path, "-o", section)
    assert (ran.status, ran.out, section.exists()) == (2, "", False)
    assert f"{path}: line 4: 1 column" in ran.err
    assert "Traceback" not in ran.err


def test_the_command_writes_a_section_that_runs(tmp_path: Path) -> None:
    """Catches a section that is no TOML or is refused, and JSON with something else beside."""
    table = tmp_path / "latency.csv"
    table.write_text("size_B,time_us\n1,1.5\n1024,1.9\n65536,12.0\n1048576,110.0\n")
    section = tmp_path / "nic.toml"
    words = ["calibrate", str(table), "--benchmark", "osu-latency", "--keep", "eager_limit", "-o", str(section)]
    done = CliRunner().invoke(app, [*words, "--picture", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert [row["size"] for row in answer["tables"][0]["rows"]] == [1, 1024, 65536, 1048576]
    assert (tmp_path / "calibration.png").exists()
    rest = '[topology]\nkind = "flat"\nnodes = 2\n[link]\nbandwidth = "1 Tb/s"\ndelay = "200 ns"\n'
    rest += '[workload]\nkind = "benchmark"\nbenchmark = { kind = "osu-latency", sizes = ["1 B"] }\n'
    file = tmp_path / "run.toml"
    file.write_text(rest + section.read_text())
    assert len(ct.run(file).points) == 1
