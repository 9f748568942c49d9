"""A sample of every format that is read, and what reads it: the list that tests of readers draw from.

`SAMPLES` has each format of `cutthrough._core.INPUTS`, which a test compares, so that a new reader has to join. What a
reader has found is a value that two files share if, and only if, they mean the same.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import warnings
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
from cutthrough import _core, calibrate
from cutthrough.cli.map_inputs import hosts_of, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FORMATS", "ROOT", "SAMPLES", "Sample", "cut", "given_twice", "with_unknown"]

ROOT = Path(__file__).parent.parent
FORMATS = [name for _, _, formats in _core.INPUTS for name in formats]


@dataclass(frozen=True)
class Sample:
    """A file of a format.

    Attributes:
        format: The name of the format in `INPUTS`.
        name: The name of the file.
        parts: Its content: text that stays, lists of units whose order says nothing, and tuples of units in order.
        read: Reads the file; returns what it has found.
        beside: Other files that the reader needs, by name.
        command: The words of a command that reads the file, `{}` for its path.
    """

    format: str
    name: str
    parts: tuple[str | bytes | list[str] | tuple[str, ...], ...]
    read: Callable[[Path], Any]
    beside: dict[str, str | bytes] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return b"".join(_bytes(part) for part in self.parts)

    def write(self, folder: Path, content: bytes | None = None) -> Path:
        """Writes the file and the files beside it. Returns its path."""
        for name, held in self.beside.items():
            (folder / name).write_bytes(held if isinstance(held, bytes) else held.encode())
        path = folder / self.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.content if content is None else content)
        return path

    def changed(self, change: Callable[[list[str]], Any], *, ordered: bool) -> Iterator[bytes]:
        """The contents with each list of units changed in turn; with `ordered`, of units in order too."""
        for place, part in enumerate(self.parts):
            if isinstance(part, list) or (ordered and isinstance(part, tuple)):
                for units in change(list(part)):
                    yield b"".join(_bytes(units if at == place else own) for at, own in enumerate(self.parts))


def _bytes(part: str | bytes | list[str] | tuple[str, ...]) -> bytes:
    if isinstance(part, bytes):
        return part
    return (part if isinstance(part, str) else "".join(part)).encode()


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True, default=str))


def machine(path: Path) -> Any:
    """Nodes with their hosts, wires, distances and notes."""
    found = ct.Machine(str(path))
    numbers = np.arange(min(found.nodes, 40))
    hops = found.hops(numbers[:, None], numbers[None, :])
    wires = sorted(found.channels())
    about = {key: value for key, value in found.about.items() if key != "name"}
    return _plain([found.node_names(), found.node_homes(), hops.tolist(), wires, about])


REUSING = """
topology = "single-switch:4"
link = { bandwidth = "100 Gb/s", delay = "20 ns" }
simulation = { reuse = true }
workload = { kind = "program", packet_size = "1 KiB", program = { kind = "halo-2d", message_size = "4 KiB" } }
"""


def reusing(source: Path | None, target: Path | None) -> Any:
    """The reuse of a run that reads and writes records."""
    experiment = _core.Experiment.load(REUSING, "reuse.toml", ".", [])
    return json.loads(experiment.run(0, 1, _core.Progress(), None, {"inputs": (), "reuse": (source, target, "1")})[0])[
        "reuse"
    ]


def records() -> bytes:
    """A file of records, which only this version reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        reusing(None, path)
        return path.read_bytes()


def graph(path: Path) -> Any:
    """Arcs, loads and notes."""
    found = ct.TaskGraph(str(path))
    arcs = {name: np.asarray(column).tolist() for name, column in found.arcs().items()}
    about = {key: value for key, value in found.about.items() if key != "name"}
    return _plain([sorted(zip(*arcs.values(), strict=True)), np.asarray(found.loads).tolist(), about])


def experiment(path: Path) -> Any:
    """The keys that are written."""
    return json.loads(_core.Experiment.read(path, []).written())


def loads(path: Path) -> Any:
    """The channel loads of the experiment beside a file."""
    (analysis,) = ct.analyze(path.with_name("experiment.toml"))
    held = {key: value for key, value in analysis.items() if key != "wall_s"}
    return _plain([held, analysis.channel_loads().table.to_pydict()])


def tables(path: Path) -> Any:
    """The forwarding tables, with service levels, of the experiment beside a file."""
    (analysis,) = ct.analyze(path.with_name("experiment.toml"))
    return analysis.forwarding_tables()


def time(path: Path) -> Any:
    """The times of the experiment beside a file."""
    return [point["time_ns"] for point in ct.run(path.with_name("experiment.toml"))]


def program(read: Callable[[str], ct.Program]) -> Callable[[Path], Any]:
    """Reads a program: its calls, its contents, and notes."""

    def found(path: Path) -> Any:
        own = read(str(path))
        return [own.to_text(), own.contents, sorted(own.notes)]

    return found


def schedule(path: Path) -> Any:
    """The operations of a schedule, and notes."""
    found = ct.Program.from_goal(path)
    return [found.to_goal(), found.notes]


def parts(path: Path) -> Any:
    """The trace of a folder of ranks."""
    trace = path.parent.with_suffix(".trace")
    joined = _core.join_trace(str(path.parent), str(trace))
    return [joined, ct.Program.from_trace(trace).to_text()]


def measured(path: Path) -> Any:
    """The rows of measured tables, without their lines, and notes."""
    tables = calibrate.read(path)
    rows = [
        [own.kind, own.measure, own.ranks, own.window, [(row.size, row.value) for row in own.rows]] for own in tables
    ]
    return [rows, sorted(tables[0].notes)]


def hosts(path: Path) -> Any:
    """The hosts of a machine of four nodes, with their slots."""
    found = hosts_of(path, ct.Machine("torus:4"))
    return [found.names, found.slots]


def groups(path: Path) -> Any:
    """The program of Chakra traces whose process groups are in a file."""
    own = ct.Program.from_chakra(path.with_name("step"))
    return [own.to_text(), own.notes]


EXPERIMENT = """
topology = { kind = "torus", dims = [4] }
link = { bandwidth = "10 Gb/s", delay = "20 ns" }
"""
FLAT = """
topology = { kind = "flat", nodes = 4 }
link = { bandwidth = "10 Gb/s", delay = "20 ns" }
"""
TRAFFIC = 'workload = { kind = "traffic", load = 0.1, pattern = { kind = "matrix", path = "%s" } }\n'
SELECTED = """
[workload]
kind = "program"
program = { kind = "collective", operation = "allreduce", size = "4 KiB", selection = "rules.csv" }
[sweep]
"workload.program.size" = ["64 B", "4 KiB"]
"""
PLACED = """
workload = { kind = "application", graph = "stencil:3" }
placement = { strategy = "file", path = "nodes.txt" }
"""
ANALYZE = ("analyze", "experiment.toml", "--json")
MAP = ("map", "-g", "stencil:4", "-m", "{}", "--strategy", "identity", "--json")
MAP_GRAPH = ("map", "-g", "{}", "-m", "torus:16", "--strategy", "identity", "--json")
CONVERT = ("convert", "{}", "-o", "out.calls", "--json")

SWITCH_1 = [
    '[1] "H-a1"[1](a1) # "cn1 mlx5_0" lid 4 4xNDR\n',
    '[2] "H-a2"[1](a2) # "cn1 mlx5_1" lid 5 4xNDR\n',
    '[3] "S-02"[3] # "leaf2" lid 3 4xNDR\n',
    '[4] "S-02"[4] # "leaf2" lid 3 4xNDR\n',
    '[65] "H-b1"[1](b1) # "Mellanox Technologies Aggregation Node" lid 9 4xNDR\n',
]
SWITCH_2 = [
    '[1] "H-a3"[1](a3) # "cn2 mlx5_0" lid 6 4xNDR\n',
    '[3] "S-01"[3] # "leaf1" lid 2 4xNDR\n',
    '[4] "S-01"[4] # "leaf1" lid 2 4xNDR\n',
]


def _adapter(guid: str, to: str, port: int, name: str) -> str:
    return (
        f'caguid=0x{guid}\nCa 1 "H-{guid}" # "{name}"\n[1]({guid}) "{to}"[{port}] # lid 4 lmc 0 "leaf" lid 2 4xNDR\n\n'
    )


ADAPTERS = [
    _adapter("a1", "S-01", 1, "cn1 mlx5_0"),
    _adapter("a2", "S-01", 2, "cn1 mlx5_1"),
    _adapter("a3", "S-02", 1, "cn2 mlx5_0"),
    _adapter("b1", "S-01", 65, "Mellanox Technologies Aggregation Node"),
]


def _node_record(lid: int, kind: str, guid: str, description: str) -> str:
    fields = {"lid": lid, "node_type": kind, "num_ports": 4, "node_guid": f"0x{guid:0>16}"}
    lines = [f"\t\t{name:.<24}{value}\n" for name, value in {**fields, "NodeDescription": description}.items()]
    return "".join(["NodeRecord dump:\n", *lines])


def _link_record(*ends: int) -> str:
    fields = zip(("FromLID", "FromPort", "ToLID", "ToPort"), ends, strict=True)
    return "".join(["LinkRecord dump:\n", *(f"\t\t{name:.<27}{value}\n" for name, value in fields)])


#: Records of saquery: three hosts on two switches with two wires.
SUBNET = [
    _node_record(2, "Switch", "1", "leaf1"),
    _node_record(3, "Switch", "2", "leaf2"),
    *(_node_record(lid, "Channel Adapter", f"a{lid}", f"cn{lid} mlx5_0") for lid in (4, 5, 6)),
    *(_link_record(*ends) for ends in ((2, 3, 3, 3), (3, 3, 2, 3), (2, 4, 3, 4), (3, 4, 2, 4))),
    *(_link_record(*ends) for ends in ((4, 1, 2, 1), (2, 1, 4, 1), (5, 1, 2, 2), (2, 2, 5, 1))),
    *(_link_record(*ends) for ends in ((6, 1, 3, 1), (3, 1, 6, 1))),
]
#: Two hosts with two interfaces, two leaves and a spine.
INFRAGRAPH = {
    "devices": [
        {"name": "server", "components": [{"name": "nic", "count": 2, "choice": "nic"}], "links": [], "edges": []},
        {"name": "switch", "components": [{"name": "port", "count": 4, "choice": "port"}], "links": [], "edges": []},
    ],
    "links": [{"name": "up", "physical": {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": 100}}}],
    "instances": [
        {"name": "server", "device": "server", "count": 2},
        {"name": "leaf", "device": "switch", "count": 2},
        {"name": "spine", "device": "switch", "count": 1},
    ],
}
INFRAGRAPH_EDGES: list[dict[str, Any]] = [
    {
        "ep1": {"instance": one, "component": from_port},
        "ep2": {"instance": other, "component": to_port},
        "scheme": "one2one",
        "link": "up",
    }
    for one, from_port, other, to_port in (
        ("server[0]", "nic", "leaf[0]", "port[:2]"),
        ("server[1]", "nic", "leaf[1]", "port[:2]"),
        ("leaf[0]", "port[3]", "spine", "port[0]"),
        ("leaf[1]", "port[3]", "spine", "port[1]"),
    )
]
CORE = (
    '<object type="Core" os_index="{0}" cpuset="0x{1:08x}">'
    '<object type="PU" os_index="{0}" cpuset="0x{1:08x}"/></object>\n'
)
CRAY = [
    "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l00(0:0:1)\n",
    "c0-0c0s1a0l00(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n",
    "c0-0c0s0a0l01(0:0:0) green -> c0-0c0s1a0l01(0:0:1)\n",
    "c0-0c0s1a0l01(0:0:1) green -> c0-0c0s0a0l01(0:0:0)\n",
    *(f"c0-0c0s{slot}a0l{tile}(0:0:{slot}) ptile -> processor\n" for slot in range(2) for tile in range(50, 54)),
]


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _node(number: int, kind: int, needs: tuple[int, ...] = (), **attributes: int | str) -> bytes:
    body = _field(1, number) + _field(2, b"a node") + _field(3, kind)
    body += b"".join(_field(5, other) for other in needs) + _field(7, 10)
    for name, value in attributes.items():
        body += _field(
            10, _field(1, name.encode()) + _field(*((9, value) if isinstance(value, int) else (29, value.encode())))
        )
    return _varint(len(body)) + body


def chakra(rank: int) -> bytes:
    """A step: a calculation, a message to the next of two ranks, one from it, a collective operation of a group."""
    return (
        b"\x05"
        + _field(1, b"0.1")
        + b"".join(
            [
                _node(1, 4),
                _node(2, 5, (1,), comm_dst=1 - rank, comm_size=1000, comm_tag=3),
                _node(3, 6, comm_src=1 - rank, comm_size=1000, comm_tag=3),
                _node(4, 7, (3,), comm_type=0, comm_size=4096, pg_name="tp0"),
            ]
        )
    )


def feeder(*nodes: dict[str, Any]) -> str:
    """A trace in the feeder's JSON."""
    return json.dumps({"workload_graph": nodes})


FEEDER: list[dict[str, Any]] = [
    {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "ctrl_deps": [], "runtime": 5, "is_cpu_op": 1},
    {"Id": 2, "Name": "b", "NodeType": 4, "data_deps": [1], "ctrl_deps": [], "runtime": 50, "is_cpu_op": 0},
    {"Id": 3, "Name": "c", "NodeType": 4, "data_deps": [1], "ctrl_deps": [2], "runtime": 7, "is_cpu_op": 1},
]
HOST: list[dict[str, Any]] = [
    {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "inputs": {"values": []}},
    {"id": 2, "name": "aten::add", "ctrl_deps": 1, "inputs": {"values": []}},
    {
        "id": 3,
        "name": "record_param_comms",
        "ctrl_deps": 2,
        "inputs": {"values": [[[10, 4, 0, 1024, 4, "cuda:0"]], 5, ["0", ""], 0, "allreduce", [], [], 0, 1, 1]},
    },
]


def _listed(before: str, entries: list[dict[str, Any]], after: str) -> tuple[str | list[str], ...]:
    """JSON with a list of objects as units: each but the last that stays ends in a comma."""
    return (before, [json.dumps(entry) + ",\n" for entry in entries[:-1]], json.dumps(entries[-1]) + after)


@cache
def _archive(form: str) -> bytes:
    """An array of NumPy: bytes between ranks, or the ports of a mesh of four routers in a row (0 up, 1 down)."""
    table = np.array([[-1, 0, 0, 0], [1, -1, 0, 0], [1, 1, -1, 0], [1, 1, 1, -1]])
    written = io.BytesIO()
    if form == "graph":
        np.save(written, np.array([[0, 10, 0, 5], [10, 0, 20, 0], [0, 20, 0, 7], [5, 0, 7, 0]]))
    elif form == "npz":
        np.savez(written, ports=table, classes=np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]))
    else:
        np.save(written, table)
    return written.getvalue()


def _table(path: str) -> dict[str, str | bytes]:
    return {
        "experiment.toml": f"""
topology = {{ kind = "mesh", dims = [4] }}
link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
router = {{ kind = "input-queued", vcs = 2 }}
routing = {{ kind = "table", path = "{path}" }}
workload = {{ kind = "traffic", load = 0.1 }}
"""
    }


#: OpenSM's records of three switches in a triangle; with LMC 1 and SL to VL tables in `triangle-lmc1`.
RECORDS = ROOT / "crates/mapping/tests/forwarding"
LMC = (RECORDS / "triangle-lmc1.lfts").read_bytes()


def _parts(name: str, heading: str) -> list[str]:
    """The sections of a record, which begin with a heading. Comments of entries are left out."""
    text = re.sub(r"^(0x\w+ \d+) #.*", r"\1", (RECORDS / name).read_text(), flags=re.MULTILINE)
    return [heading + rest for rest in text.split(heading)[1:]]


def _fabric(topo: str, keys: str, **files: bytes) -> dict[str, str | bytes]:
    experiment = f"""
topology = {{ kind = "file", path = "f.topo" }}
link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
router = {{ kind = "input-queued", vcs = 8 }}
routing = {{ kind = "forwarding-tables", {keys} }}
workload = {{ kind = "traffic", load = 0.1 }}
"""
    held: dict[str, str | bytes] = {"experiment.toml": experiment, "f.topo": (RECORDS / topo).read_bytes()}
    return held | {f"f.{name}": content for name, content in files.items()}


_SL2VL = _parts("triangle-lmc1.sl2vl", "Switch ")
#: The tables of adapters follow those of switches.
ADAPTER_LANES = "".join("Channel Adapter " + rest for part in _SL2VL for rest in part.split("Channel Adapter ")[1:])
SWITCH_LANES = [part.split("Channel Adapter ")[0] for part in _SL2VL]

#: The file of a rank that is alone: the communicator of all ranks, two polls, the end.
RANK = b"CTRANK\0\x01\x00\x01\x00" + b"\x08\x01\x01\x00\x01" + b"\x04\x04" + b"\x09\x88\x27\x00\x00"
CALLS = ct.Program.from_arrays(2, [0, 1, 0], [1, 0, 1], [100, 50, 9]).to_text()
OSU = "# OSU MPI Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size          Latency (us)\n"
IMB = (
    "#---\n# Benchmarking Sendrecv\n# #processes = 4\n#---\n"
    "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n"
)
RESULTS = {
    "version": "0.1.0",
    "title": "t",
    "seed": 1,
    "axes": ["workload.load"],
    "complete": True,
    "points": [
        {"workload.load": 0.1, "seed": 1, "accepted_load": 0.1}
        | dict.fromkeys(("offered_load", "nic_overhead_ns", "packets", "packet_hops", "warm_up_ns", "wall_s"), 1)
        | dict.fromkeys(("measured_ns", "sim_time_ns"), 1)
        | dict.fromkeys(("saturated", "steady", "converged", "drained"), False)
    ],
}

SAMPLES = [
    Sample(
        "toml",
        "e.toml",
        (
            'title = "t"\nseed = 7\n',
            [
                '[topology]\nkind = "torus"\ndims = [4, 4]\n',
                '[link]\nbandwidth = "10 Gb/s"\ndelay = "20 ns"\n',
                '[workload]\nkind = "traffic"\nload = 0.2\npattern = "uniform"\n',
                "[measure]\nprecision = 0.1\n",
            ],
        ),
        experiment,
        command=("check", "{}", "--json"),
    ),
    Sample(
        "edge-list",
        "m.edges",
        (
            ["link 0 1\n", "link 1 2\n", "link 2 3 x2\n", "link 3 0 global\n"],
            ("node 0\n", "node 1\n", "node 2\n", "node 3\n"),
        ),
        machine,
        command=MAP,
    ),
    Sample(
        "ibnetdiscover",
        "sections.topo",
        (
            "#\n# Topology file\n#\n",
            [
                'switchguid=0x01\nSwitch 65 "S-01" # "leaf1" base port 0 lid 2 lmc 0\n' + "".join(SWITCH_1) + "\n",
                'switchguid=0x02\nSwitch 65 "S-02" # "leaf2" base port 0 lid 3 lmc 0\n' + "".join(SWITCH_2) + "\n",
                *ADAPTERS,
            ],
        ),
        machine,
        command=MAP,
    ),
    Sample("saquery", "records.txt", (SUBNET,), machine, command=MAP),
    Sample(
        "ibnetdiscover",
        "ports.topo",
        (
            'Switch 65 "S-01" # "leaf1" base port 0 lid 2 lmc 0\n',
            SWITCH_1,
            'Switch 65 "S-02" # "leaf2" base port 0 lid 3 lmc 0\n',
            SWITCH_2,
            "".join(ADAPTERS),
        ),
        machine,
        command=MAP,
    ),
    Sample(
        "infragraph",
        "f.json",
        _listed(json.dumps(INFRAGRAPH)[:-1] + ', "edges": [\n', INFRAGRAPH_EDGES, "]}"),
        machine,
        command=MAP,
    ),
    Sample(
        "slurm-conf",
        "topology.conf",
        (
            [
                'SwitchName = leaf1 Nodes="cn[001-002]"\n',
                "SwitchName=leaf2 Nodes=cn[003-004] LinkSpeed=100\n",
                "SwitchName=spine Switches=leaf[1-2]\n",
            ],
        ),
        machine,
        command=MAP,
    ),
    Sample(
        "slurm-yaml",
        "topology.yaml",
        (
            "---\n- topology: default\n  cluster_default: true\n  tree:\n    switches:\n",
            [
                "      - switch: leaf1\n        nodes: cn[001-002]\n",
                "      - switch: leaf2\n        nodes: cn[003-004]\n",
                "      - switch: spine\n        children: leaf[1-2]\n",
            ],
        ),
        machine,
        command=MAP,
    ),
    Sample("cray", "aries.txt", (CRAY[:8], CRAY[8:]), machine, command=MAP),
    Sample(
        "hwloc",
        "node.xml",
        (
            '<?xml version="1.0"?>\n<topology version="2.0">\n<object type="Machine" cpuset="0x0000000f" '
            'allowed_cpuset="0x00000007">\n<info name="HostName" value="cn7"/>\n'
            '<object type="Package" os_index="0" cpuset="0x0000000f">\n<object type="L2Cache" cpuset="0x00000003">\n',
            tuple(CORE.format(core, 1 << core) for core in range(2)),
            '</object><object type="L2Cache" cpuset="0x0000000c">\n',
            tuple(CORE.format(core, 1 << core) for core in range(2, 4)),
            "</object></object></object></topology>\n",
        ),
        machine,
        command=MAP,
    ),
    Sample(
        "graphml",
        "net.graphml",
        (
            '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n',
            [
                '<key id="k" for="node" attr.name="kind"/>\n',
                '<key id="n" for="node" attr.name="nodes" attr.type="int"/>\n',
                '<key id="c" for="edge" attr.name="class"/>\n',
                '<key id="w" for="edge" attr.name="count"><default>2</default></key>\n',
            ],
            '<graph edgedefault="undirected">\n',
            (
                '<node id="a"><data key="n">2</data></node>\n',
                '<node id="b"><data key="n">1</data></node>\n',
                '<node id="c"/>\n',
                '<node id="d"><data key="k">node</data></node>\n',
            ),
            [
                '<edge source="a" target="b"/>\n',
                '<edge source="b" target="c"><data key="c">global</data></edge>\n',
                '<edge source="c" target="a"><data key="w">3</data></edge>\n',
                '<edge source="d" target="c"><data key="w">1</data></edge>\n',
            ],
            "</graph></graphml>\n",
        ),
        machine,
        command=MAP,
    ),
    Sample(
        "metis",
        "g.graph",
        ("4 4 001\n", ("2 5 4 7\n", "1 5 3 6\n", "2 6 4 8\n", "1 7 3 8\n")),
        graph,
        command=MAP_GRAPH,
    ),
    Sample(
        "matrix-market",
        "g.mtx",
        (
            "%%MatrixMarket matrix coordinate integer general\n4 4 4\n",
            ["1 2 100\n", "2 3 200\n", "3 4 300\n", "4 1 400\n"],
        ),
        graph,
        command=MAP_GRAPH,
    ),
    Sample(
        "edges",
        "g.csv",
        ("messages;dst;src;bytes;tag\n", ["1;1;0;1000;7\n", "2;2;1;2000;7\n", "3;3;2;500;9\n", "task,3,2.5\n"]),
        graph,
        command=MAP_GRAPH,
    ),
    Sample(
        "edges",
        "pairs.csv",
        ("from,to,bytes,messages\n", ["0,1,1000,1\n", "1,2,2000,1\n", "2,0,500,1\n"]),
        graph,
        command=MAP_GRAPH,
    ),
    Sample("matrix", "g.mat", (("0 10 0 5\n", "10 0 20 0\n", "0 20 0 7\n", "5 0 7 0\n"),), graph, command=MAP_GRAPH),
    Sample("npy", "g.npy", (_archive("graph"),), graph, command=MAP_GRAPH),
    Sample(
        "charm-lb",
        "lb.dat",
        ((ROOT / "crates/tasks/tests/data/ring.lbdump").read_bytes(),),
        graph,
        command=MAP_GRAPH,
    ),
    Sample(
        "traffic-list",
        "t.csv",
        ('"from","to","weight"\n', ["0,1,2\n", "1,2,1\n", "2,3,1\n", "3,0,4\n"]),
        loads,
        {"experiment.toml": EXPERIMENT + TRAFFIC % "t.csv"},
        ANALYZE,
    ),
    Sample(
        "traffic-matrix",
        "t.csv",
        (("0,1,0,2\n", "1,0,1,0\n", "0,2,0,1\n", "1,0,3,0\n"),),
        loads,
        {"experiment.toml": EXPERIMENT + TRAFFIC % "t.csv"},
        ANALYZE,
    ),
    Sample(
        "selection",
        "rules.csv",
        (
            "algorithm,min_bytes,operation,min_ranks\n",
            ["ring,0,allreduce,2\n", "recursive-doubling,1024,allreduce,2\n"],
        ),
        time,
        {"experiment.toml": FLAT + SELECTED},
        ("run", "experiment.toml", "--json", "--plots", "none"),
    ),
    Sample(
        "placement",
        "nodes.txt",
        (("3\n", "1\n", "0\n"),),
        loads,
        {"experiment.toml": EXPERIMENT + PLACED},
        ANALYZE,
    ),
    Sample(
        "goal",
        "p.goal",
        (
            "num_ranks 3\n",
            [
                "rank 0 {\nl1: calc 100\nl2: send 64b to 1 tag 3\nl2 requires l1\n}\n",
                "rank 1 {\nl1: recv 64b from 0 tag 3\n}\n",
                "rank 2 { }\n",
            ],
        ),
        schedule,
        command=("convert", "{}", "-o", "out.csv", "--json"),
    ),
    Sample(
        "calls",
        "p.calls",
        (CALLS,),
        program(ct.Program.from_text),
        command=CONVERT,
    ),
    Sample(
        "routing-text",
        "r.routes",
        (["0 * 0\n", "1 0 1\n", "1 2 0\n", "1 3 0\n", "2 3 0\n", "2 0 1\n", "2 1 1\n", "3 * 1\n"],),
        loads,
        _table("r.routes"),
        ANALYZE,
    ),
    Sample("routing-npy", "r.npy", (_archive("npy"),), loads, _table("r.npy"), ANALYZE),
    Sample("routing-npz", "r.npz", (_archive("npz"),), loads, _table("r.npz"), ANALYZE),
    *(
        Sample(form, name, (_parts(f"triangle.{record}", heading),), tables, _fabric("triangle.topo", keys), ANALYZE)
        for form, record, heading in (
            ("opensm-lfts", "lfts", "Unicast"),
            ("opensm-fdbs", "fdbs", "dump_ucast_routes"),
            ("ibroute", "ibroute", "Unicast"),
        )
        for name in [f"f.{record}"]
        for keys in [f'path = "{name}"']
    ),
    Sample(
        "opensm-sl2vl",
        "f.sl2vl",
        (ADAPTER_LANES, SWITCH_LANES),
        loads,
        _fabric("triangle-lmc1.topo", 'path = "f.lfts", sl2vl = "f.sl2vl"', lfts=LMC),
        ANALYZE,
    ),
    Sample(
        "path-sl",
        "f.sl",
        ("# source destination SL\n", ["2 8 3\n", "0x2 0xa 3\n", "8 2 1\n"]),
        tables,
        _fabric("triangle-lmc1.topo", 'path = "f.lfts", path_sl = "f.sl"', lfts=LMC),
        ANALYZE,
    ),
    Sample(
        "trace",
        "lj.trace",
        ((ROOT / "examples/lj.trace").read_bytes(),),
        program(ct.Program.from_trace),
        command=CONVERT,
    ),
    Sample("trace-parts", "ranks/rank-0", (RANK,), parts),
    Sample(
        "chakra",
        "step.0.et",
        (chakra(0),),
        program(ct.Program.from_chakra),
        {"step.1.et": chakra(1), "step.groups.json": '{"tp0": [0, 1]}'},
        CONVERT,
    ),
    Sample(
        "chakra-json",
        "step.0.json",
        _listed('{"workload_graph": [\n', FEEDER, "]}"),
        program(ct.Program.from_chakra),
        {},
        CONVERT,
    ),
    Sample(
        "pytorch-json",
        "host.json",
        _listed('{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [\n', HOST, "]}"),
        program(ct.Program.from_chakra),
        {},
        CONVERT,
    ),
    Sample(
        "hosts",
        "hosts",
        (("cn1 slots=2\n", "cn2 max-slots=2\n", "cn3\n", "cn4\n"),),
        hosts,
    ),
    Sample("fixed", "fixed", (["0 3\n", "1 2\n", "2 0\n"],), lambda path: sorted(pairs_of(path, "fixed", 2))),
    Sample("current", "current", (("3\n", "2\n", "0\n"),), lambda path: pairs_of(path, "current", 1)),
    Sample(
        "process-groups",
        "step.groups.json",
        ("{", ['"tp0": [0, 1],\n', '"tp1": [1, 0],\n'], '"tp2": [0]}'),
        groups,
        {"step.0.et": chakra(0), "step.1.et": chakra(1)},
        ("convert", "step.0.et", "-o", "out.calls", "--json"),
    ),
    Sample("osu", "osu.txt", (OSU, ["0   1.82\n", "1   1.73\n", "1024   3.0\n", "65536   18.0\n"]), measured),
    Sample(
        "osu",
        "several.txt",
        (
            [
                OSU + "1   1.73\n1024   3.0\n\n",
                "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1   2.5\n1024   900\n\n",
            ],
        ),
        measured,
    ),
    Sample("imb", "imb.txt", (IMB, ["0 1000 1.1 1.3 1.2 0.0\n", "64 1000 1.4 1.6 1.5 160.0\n"]), measured),
    Sample(
        "measured-csv",
        "m.csv",
        (
            "host,latency_us,size_B,benchmark\n",
            ["a,1.5,1,osu_latency\n", "a,1.7,64,osu_latency\n", "a,1.9,1,ping-pong\n", "a,2.5,1024,ping-pong\n"],
        ),
        measured,
    ),
    Sample(
        "results",
        "results.json",
        (json.dumps(RESULTS),),
        lambda path: _plain([[dict(point) for point in ct.Results.read(path).points], ct.Results.read(path).axes]),
    ),
    Sample("reuse", "ring.records", (records(),), lambda path: reusing(path, None)),
]

#: Formats without names: every value has its meaning by its place, or each line is of one thing.
NAMELESS = {
    *("metis", "matrix", "npy", "charm-lb", "traffic-matrix", "placement", "calls", "routing-npy", "trace"),
    *("reuse", "trace-parts", "current", "cray"),
}
#: Formats of JSON, in which each key is given twice in turn.
JSON = {"chakra-json", "pytorch-json", "process-groups", "results", "infragraph"}
HEADING = "algorithm,min_bytes,operation,min_ranks\n"
#: What a file says once, and the same said twice: keys, attributes, columns, headings, sections.
TWICE: dict[str, list[tuple[str, str]]] = {
    "toml": [("seed = 7", "seed = 7\nseed = 8"), ("[link]\n", "[link]\n[link]\n")],
    "edge-list": [("3 0 global", "3 0 global local"), ("2 3 x2", "2 3 x2 x3")],
    "ibnetdiscover": [
        ("4xNDR\n", "4xNDR 4xHDR\n"),
        ('Switch 65 "S-01"', 'Switch 65 "S-01" # ""\nSwitch 65 "S-01"'),
    ],
    "saquery": [("FromPort...................1\n", "FromPort...................1\n\t\tFromPort...................1\n")],
    "slurm-conf": [("LinkSpeed=100", "LinkSpeed=100 LinkSpeed=200"), ("SwitchName=leaf2", "SwitchName=a SwitchName=b")],
    "slurm-yaml": [("        nodes: cn[001-002]\n", "        nodes: cn[001-002]\n        nodes: cn3\n")],
    "hwloc": [
        ('type="Machine"', 'type="Machine" type="Package"'),
        (
            '<info name="HostName" value="cn7"/>',
            '<info name="HostName" value="cn7"/><info name="HostName" value="cn8"/>',
        ),
    ],
    "graphml": [
        ('<node id="c"/>', '<node id="c"/><node id="c"/>'),
        ('<data key="n">2</data>', '<data key="n">2</data><data key="n">3</data>'),
        ('for="node" attr.name="kind"', 'for="node" attr.name="nodes"'),
        ("<default>2</default>", "<default>2</default><default>2</default>"),
        ("</graph>", '</graph><graph edgedefault="undirected"/>'),
    ],
    "matrix-market": [(" general\n", f" {kind}\n") for kind in ("general symmetric", "general\n%%MatrixMarket matrix")]
    + [("3 4 300\n", "3 4 300\n%%MatrixMarket matrix coordinate integer symmetric\n")],
    "edges": [(";bytes;tag\n", f";bytes;{name}\n") for name in ("bytes", "volume", "dst", "msgs")],
    "traffic-list": [('"weight"\n', f'"weight","{name}"\n') for name in ("weight", "bytes", "from")],
    "selection": [(HEADING, 2 * HEADING), (HEADING, HEADING.replace("\n", ",min_ranks\n"))],
    "goal": [
        ("num_ranks 3\n", "num_ranks 3\nnum_ranks 3\n"),
        ("calc 100", "calc 100 cpu 0 cpu 1"),
        ("to 1 tag 3", "to 1 tag 3 nic 0 nic 1"),
        ("to 1 tag 3", "to 1 tag 3 tag 4"),
        ("l1: calc 100\n", "l1: calc 100\nl1: calc 100\n"),
    ],
    "routing-text": [("1 0 1\n", "1 0 1\n1 0 0\n")],
    "opensm-lfts": [("0x0001 003\n", "0x0001 003\n0x0001 003\n"), ("6 lids dumped\n", 2 * "6 lids dumped\n")],
    "opensm-fdbs": [("0x0001 : 003  : 01   : yes\n", 2 * "0x0001 : 003  : 01   : yes\n")],
    "ibroute": [("6 valid lids dumped \n", 2 * "6 valid lids dumped \n")],
    "opensm-sl2vl": [("0   1   : 0", "0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n0   1   : 0")],
    "path-sl": [("2 8 3\n", "2 8 3\n2 8 3\n")],
    "hosts": [("cn1 ", "cn2 "), ("slots=2\n", "slots=2 slots=2\n")],
    "fixed": [("0 3\n", "0 3\n0 1\n")],
    "osu": [
        ("# Size          Latency (us)\n", 2 * "# Size          Latency (us)\n"),
        ("# Size          Latency (us)\n", "# Size  Latency (us)  Latency (us)\n"),
        ("1   1.73\n", "1   1.73\n1   1.74\n"),
    ],
    "imb": [
        ("# #processes = 4\n", "# #processes = 4\n# #processes = 8\n"),
        (IMB.splitlines()[-1], "\n".join(2 * [IMB.splitlines()[-1]])),
    ],
    "measured-csv": [(",size_B,", ",size_B,size_B,"), (",size_B,", ",size_B,bytes,"), ("host,", "host,host,")],
}


def given_twice(sample: Sample) -> Iterator[bytes]:
    """The contents that say twice what the sample says once."""
    text = sample.content
    if sample.format in JSON:
        for key in re.finditer(r'"\w+": (?=\S)', text.decode()):
            _, end = json.JSONDecoder().raw_decode(text.decode(), key.end())
            yield text[: key.start()] + text[key.start() : end] + b", " + text[key.start() :]
    elif sample.format == "chakra":
        named = _field(10, _field(1, b"comm_tag") + _field(9, 4))
        node = _node(2, 5, (1,), comm_dst=1, comm_size=1000, comm_tag=3)
        body = node[1:] + named
        yield text.replace(node, _varint(len(body)) + body)
    elif sample.format == "routing-npz":
        written = io.BytesIO(text)
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(written, "a") as archive:
            archive.writestr("ports.npy", archive.read("ports.npy"))
        yield written.getvalue()
    elif sample.format not in NAMELESS:
        for once, twice in TWICE[sample.format]:
            if once.encode() in text:
                yield text.replace(once.encode(), twice.encode(), 1)


#: Lines whose loss, repetition or further words change nothing: comments, blank lines, identifiers, names.
BESIDE = re.compile(r"\s*(#.*|---|- topology:.*|\w*guid=.*|NodeDescription\.+leaf.*|<\?xml.*|)\s*")
#: The separator of words in a line, by format. Default: a blank.
SEPARATORS = {
    "edges": ";",
    "traffic-list": ",",
    "traffic-matrix": ",",
    "selection": ",",
    "measured-csv": ",",
}
#: Formats in which the last word of a line may say nothing: a line break has no meaning, or a number is not used.
UNLINED = JSON | {"hwloc", "graphml", "ibnetdiscover"}
#: Formats of bytes.
BINARY = {"npy", "charm-lb", "routing-npy", "routing-npz", "trace", "trace-parts", "chakra", "reuse"}


def cut(sample: Sample) -> Iterator[str]:
    """The contents that end before a line, or lack the last word of a line."""
    if sample.format in BINARY:
        return
    lines = sample.content.decode().splitlines(keepends=True)
    for at, line in enumerate(lines):
        if BESIDE.fullmatch(line):
            continue
        yield "".join(lines[:at])
        words = _words(sample, line)
        if sample.format not in UNLINED and len(words) > 1:
            separator = _separator(sample, line)
            yield "".join([*lines[:at], separator.join(words[:-1]) + "\n", *lines[at + 1 :]])


def _separator(sample: Sample, line: str) -> str:
    separator = SEPARATORS.get(sample.format, " ")
    return separator if separator in line or separator == " " else ","


def _words(sample: Sample, line: str) -> list[str]:
    separator = _separator(sample, line)
    return line.split() if separator == " " else line.rstrip().split(separator)


def _unknown_in_xml(text: bytes) -> Iterator[bytes]:
    """The contents of a file of XML with an attribute, an element or a name that the reader does not know."""
    for found in re.finditer(rb"<(object|node|edge|graph|key|graphml) ", text):
        yield text[: found.end()] + b'zzz="1" ' + text[found.end() :]
    if b"<graphml" in text:
        for found in re.finditer(rb"\n", text[:-1]):
            yield text[: found.end()] + b"<zzz/>" + text[found.end() :]
        yield text.replace(b'attr.name="nodes"', b'attr.name="zzz"')
    else:
        yield text.replace(b'type="Package"', b'type="Zzz"')


def with_unknown(sample: Sample) -> Iterator[bytes]:
    """The contents with a word, an attribute, a column or a key that the reader does not know."""
    text = sample.content
    if sample.format in JSON:
        for found in re.finditer(rb"\{(?=\s*\")", text):
            yield text[: found.end()] + b'"zzz": 1, ' + text[found.end() :]
    elif sample.format in ("hwloc", "graphml"):
        yield from _unknown_in_xml(text)
    elif sample.format == "chakra":
        node = _node(2, 5, (1,), comm_dst=1, comm_size=1000, comm_tag=3)
        body = node[1:] + _field(10, _field(1, b"comm_priority") + _field(9, 4))
        yield text.replace(node, _varint(len(body)) + body)
    elif sample.format == "routing-npz":
        written = io.BytesIO(text)
        with zipfile.ZipFile(written, "a") as archive:
            archive.writestr("zzz.npy", archive.read("ports.npy"))
        yield written.getvalue()
    elif sample.format in BINARY:
        yield text + b"\x01zzz"
    else:
        lines = text.decode().splitlines(keepends=True)
        for at, line in enumerate(lines):
            if not BESIDE.fullmatch(line):
                wrong = f"{line.rstrip()}{_separator(sample, line)}zzz\n"
                yield "".join([*lines[:at], wrong, *lines[at + 1 :]]).encode()
        if sample.format in SEPARATORS and "matrix" not in sample.format:
            # A column without a name, as tables of pandas have it, and one with an unknown name.
            separator = _separator(sample, lines[0])
            for name in ("", "zzz"):
                rows = [f"{at}{separator}{line}" for at, line in enumerate(lines[1:])]
                yield "".join([f"{name}{separator}{lines[0]}", *rows]).encode()
