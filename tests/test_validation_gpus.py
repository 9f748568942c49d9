"""Measured operations of NCCL beside simulated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cutthrough as ct
import pytest
from cutthrough.validation import predict, read, setup_of
from cutthrough.validation.measured import Measured
from cutthrough.validation.setups import known
from cutthrough.validation.simulating import Running, document

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "gpu,nccl,operation,type,gpus,message_elements,time_ns"
#: Machines of GPUs, with the largest number of GPUs that tables have.
GPUS = {
    "a100": 8, "h100": 8, "h200": 8, "b200": 8, "b300": 8, "gb200": 72, "gb300": 72, "l40s": 8, "rtx-pro-6000": 8,
}  # fmt: skip
#: Output of nccl-tests, without the line of the benchmark.
TESTS = """# nThread 1 nGpus 2 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  1234 on     node1 device  0 [0x07] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  1234 on     node1 device  1 [0x0b] NVIDIA H100 80GB HBM3
NCCL version 2.27.3+cuda12.9
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        4096          1024     float     sum      -1    11.50    0.36    0.36      0    11.40    0.36    0.36      0
     1048576        262144     float     sum      -1    21.25   49.34   49.34      0    21.00   49.93   49.93      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 24.85
"""


def table(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "nccl.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def test_elements_become_bytes_of_a_rank(tmp_path: Path) -> None:
    """Catches elements that are taken for bytes, the whole of an allgather for a part, and another GPU."""
    rows = [f"h100_sxm,2.27.3,{name},half,4,1024,9000" for name in ("all_reduce", "all_gather", "all_to_all")]
    rows += ["h100_sxm,2.27.3,reduce_scatter,int8,4,1026,9000"]
    points, notes = read(table(tmp_path, *rows))
    assert notes == []
    found = [(own.machine, own.operation, own.bytes, own.size, own.element, own.ranks) for own in points]
    assert found == [
        ("h100", "allreduce", 2048, 2048, 2, 4),
        ("h100", "allgather", 2048, 512, 2, 4),
        ("h100", "alltoall", 2048, 512, 2, 4),
        # Four parts of 256 elements.
        ("h100", "reduce-scatter", 1026, 1024, 1, 4),
    ]
    assert points[0].times == {"mean": 9000.0}


@pytest.mark.parametrize(
    ("gpu", "machine"),
    [("gb200_sxm", "gb200"), ("b200_sxm", "b200"), ("rtx_pro_6000_server", "rtx-pro-6000"), ("NVIDIA L40S", "l40s")],
)
def test_gpus_have_machines(tmp_path: Path, gpu: str, machine: str) -> None:
    """Catches a GPU whose name contains another one's."""
    (point,), _ = read(table(tmp_path, f"{gpu},2.27.3,all_reduce,half,2,1024,9000"))
    assert point.machine == machine


def test_output_of_nccl_tests_is_read(tmp_path: Path) -> None:
    """Catches times in place, microseconds as nanoseconds, and a benchmark that nobody names."""
    path = tmp_path / "all_reduce_perf.txt"
    path.write_text(TESTS)
    points, notes = read(path)
    assert [(own.machine, own.ranks, own.operation, own.library, own.bytes) for own in points] == [
        ("h100", 2, "allreduce", "NCCL 2.27.3", 4096),
        ("h100", 2, "allreduce", "NCCL 2.27.3", 1 << 20),
    ]
    assert [own.times for own in points] == [{"mean": 11500.0}, {"mean": 21250.0}]
    assert notes == ["1 lines that are not rows of a table are ignored"]
    other = tmp_path / "output.txt"
    other.write_text(TESTS)
    with pytest.raises(ct.ExperimentError, match="does not name its benchmark"):
        read(other)
    other.write_text("# Collective test starting: all_gather_perf\n# nccl-library=22909\n" + TESTS)
    points, _ = read(other)
    assert (points[0].operation, points[0].size, points[0].library) == ("allgather", 2048, "NCCL 2.29.9")
    # Without a list of devices.
    path.write_text("\n".join(line for line in TESTS.splitlines() if "Rank" not in line))
    with pytest.raises(ct.ExperimentError, match="number of GPUs"):
        read(path)
    assert read(path, ranks=4, machine="a100")[0][0].ranks == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("h100,2.27,all_reduce,quad,2,1024,9000", "no type `quad`"),
        ("h100,2.27,all_reduce,half,1,1024,9000", "column `gpus`: 1 is out of range"),
        ("h100,2.27,all_reduse,half,2,1024,9000", "no operation `allreduse`"),
        ("h100,2.27,all_reduce,half,2,1024,0", "no measured time"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, row: str, message: str) -> None:
    """Catches a row that becomes another point."""
    with pytest.raises(ct.ExperimentError, match=message):
        read(table(tmp_path, row))


@pytest.mark.parametrize("gpu", GPUS)
def test_every_machine_of_gpus_simulates_its_operations(tmp_path: Path, gpu: str) -> None:
    """Catches a machine without keys, one with fewer ports than GPUs, and sizes at which a choice does not run."""
    assert gpu in known()
    operations = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    rows = [f"{gpu},2.27.3,{name},half,{GPUS[gpu]},{size},9000" for name in operations for size in (2304, 1 << 22)]
    rows += [f"{gpu},2.27.3,all_reduce,half,2,{1 << 22},9000"]
    points, _ = read(table(tmp_path, *rows))
    found = predict(points, setup_of(gpu))
    assert [own.reason for own in found] == [""] * len(found)
    assert all(own.time for own in found)
    # A larger buffer takes longer.
    assert all(one.time < other.time for one, other in zip(found[0:8:2], found[1:8:2], strict=True))  # type: ignore[operator]
    made = document(points[0], setup_of(gpu), {}, Running())
    assert isinstance(made, dict)
    assert made["workload"]["benchmark"]["element_size"] == "2 B"


@pytest.mark.parametrize(
    ("algorithm", "size", "published"),
    [
        ("recursive-doubling", 8, 6.01),
        ("recursive-doubling", 4096, 46.9),
        ("in-switch", 8, 2.83),
        ("in-switch", 4096, 14.5),
    ],
)
def test_sharp_takes_its_published_latency(algorithm: str, size: int, published: float) -> None:
    """Catches members whose packets a unit combines twice, and segments that wait for one another.

    Published microseconds of an allreduce of 128 hosts on EDR, by messages and by SHARP. Two overheads, the time to
    combine a byte and the words of a cycle are chosen by these four values; the cycle is that of the paper on units.
    """
    by_switches = algorithm == "in-switch"
    overhead = "1 us" if by_switches else "307 ns"
    unit = {"kind": "word-serial", "cycle": "4 ns", "words_per_cycle": 4, "header_cycles": 3, "units": 1}
    program = {
        "kind": "collective", "operation": "allreduce", "algorithm": algorithm, "size": f"{size} B",
        "element_size": "8 B", "reduction_time": "0 ps" if by_switches else "1350 ps",
    }  # fmt: skip
    run = ct.run(
        topology="leaf-spine:leaves=8,spines=16,nodes_per_leaf=16",
        link={"bandwidth": "100 Gb/s", "delay": "20 ns"},
        router={"kind": "output-queued", "delay": "100 ns", "buffer": "64 packets"},
        nic={"send_overhead": overhead, "receive_overhead": overhead},
        in_switch={"combine": unit},
        workload={"kind": "program", "packet_size": "256 B" if by_switches else "2 KiB", "program": program},
    )
    assert run.points[0]["operation_time_max_ns"] == pytest.approx(published * 1e3, rel=0.1)


def test_one_rate_gives_nvls_its_published_bandwidths() -> None:
    """Catches bytes of owners that are not counted, and an efficiency that has no effect.

    Published GB/s of an allreduce on H100 (NCCL's issue 1455). The rate of a GPU is that of rings.
    """
    for gpus, published in ((5, 258), (6, 265), (7, 270), (8, 273)):
        size = (1 << 28) // gpus // 2 * 2 * gpus
        point = Measured(
            "h100", "", "half", str(gpus), gpus, "allreduce", "NCCL 2.27.3", "nccl", size, size, {"mean": 1.0}, 1,
            element=2,
        )  # fmt: skip
        (found,) = predict([point], setup_of("h100"), changes={"benchmark": {"algorithm": "nvls"}})
        assert found.time is not None
        # Without the launch and the step, of which a large buffer sees little.
        assert size / (found.time - 23_447) == pytest.approx(published, rel=0.06)
