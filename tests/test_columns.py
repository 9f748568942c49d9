"""Columns of the files of results, by kind of run: `CUTTHROUGH_BLESS=1 pytest tests/test_columns.py` records them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import cutthrough as ct
from pyarrow import csv, parquet

RECORD = Path(__file__).with_name("columns.json")

LINK = 'link = { bandwidth = "10 Gb/s", delay = "20 ns" }\n'
#: Sixteen nodes, and points that take a tenth of a second.
NETWORK = LINK + 'topology = { kind = "fat-tree", k = 4, n = 2 }\nrouter = { kind = "output-queued" }\n'
SHORT = 'warm_up = "10 us", max_time = "40 us"'
MEASURE = f"measure = {{ {SHORT} }}\n"
TRAFFIC = 'workload = { kind = "traffic", load = 0.3 }\n'
HALO = 'workload = { kind = "program", program = { kind = "halo-2d", iterations = 2, message_size = "2 KiB" } }\n'
JOBS = """
[[job]]
name = "victim"
node_count = 8
workload = { kind = "exchange", volume = "4 KiB" }
[[job]]
name = "bully"
node_count = 8
background = true
workload = { kind = "traffic", load = 0.3 }
"""


def collective(keys: str) -> str:
    """Returns a workload of operations of groups at a rate."""
    return f'workload = {{ kind = "collective", fanout = {{ mean = 3 }}, load = 0.05, {keys} }}\n'


#: An experiment for each kind of run.
KINDS = {
    "traffic": NETWORK + TRAFFIC + MEASURE,
    "traffic, messages and series": f'{NETWORK}{TRAFFIC}measure = {{ {SHORT}, messages = true, series = "5 us" }}\n',
    "traffic, several seeds": "seeds = 2\n" + NETWORK + TRAFFIC + MEASURE,
    "traffic, sweep": f'{NETWORK}{TRAFFIC}{MEASURE}[sweep]\n"workload.load" = [0.1, 0.2]\n',
    "saturation search": f'{NETWORK}{TRAFFIC}measure = {{ {SHORT}, search = "saturation", resolution = 0.2 }}\n',
    "multicasts": NETWORK + collective('operation = "multicast"') + MEASURE,
    "reductions": NETWORK + collective('operation = "allreduce", groups = "persistent", size = "1 KiB"') + MEASURE,
    "exchange": NETWORK + 'workload = { kind = "exchange", volume = "4 KiB" }\n',
    "application": NETWORK + 'workload = { kind = "application", graph = "stencil:4x4,bytes=1024" }\n',
    "program": NETWORK + HALO,
    "program, timeline": NETWORK + HALO + "measure = { timeline = true }\n",
    "program in planes": NETWORK.replace("n = 2", "n = 2, planes = 2") + HALO,
    "program on a flat network": LINK + 'topology = { kind = "flat", nodes = 16 }\n' + HALO,
    "collective in switches": NETWORK
    + HALO.replace('"halo-2d"', '"collective", algorithm = "in-switch"').replace("message_size", "size"),
    "benchmark of pairs": NETWORK + 'workload = { kind = "benchmark", benchmark = { kind = "wicon", messages = 2 } }\n',
    "benchmark by size": NETWORK.replace("k = 4", "k = 2")
    + 'workload = { kind = "benchmark", benchmark = { kind = "osu-bw", sizes = ["64 B"], repetitions = 1 } }\n',
    "jobs": f"{NETWORK}measure = {{ {SHORT}, compare_alone = true }}\n{JOBS}",
}


def columns(text: str, folder: Path) -> dict[str, list[str]]:
    """Runs an experiment, and returns the columns with their types by file. CSV has those of Parquet."""
    folder.mkdir()
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    saved = ct.run(path).save(folder / "results")
    found = {}
    for file in sorted(saved.glob("*.parquet")):
        schema = parquet.read_schema(file)
        found[file.stem] = [f"{field.name}: {field.type}" for field in schema]
        text_file = file.with_suffix(".csv")
        assert not text_file.exists() or csv.read_csv(text_file).column_names == schema.names
    return found


def test_columns_are_those_recorded(tmp_path: Path) -> None:
    """Catches a column of a file of results that is added, removed, renamed or moved, and a type that changes."""
    found = {kind: columns(text, tmp_path / str(number)) for number, (kind, text) in enumerate(KINDS.items())}
    if os.environ.get("CUTTHROUGH_BLESS"):
        RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    assert found == recorded, "if that is meant, run with CUTTHROUGH_BLESS=1 and say why"
