"""Experiments as objects, typed sections, and errors with their parts."""

from __future__ import annotations

import copy
import doctest
import inspect
import json
import pickle
import pydoc
import re
import subprocess
import sys
import textwrap
import tomllib
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core, sections
from cutthrough.experiment import documents as experiments
from cutthrough.experiment import objects as experiment
from cutthrough.quantities import ClassUtilization, JobResult
from cutthrough.reference import keys as reference
from cutthrough.sections.base import Choice, Open, Section

from .conftest import ROOT, SMALL

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted([*(ROOT / "examples").glob("*.toml"), *(ROOT / "papers").glob("*/*.toml")])


def essence(results: ct.Results) -> list[dict[str, Any]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in results]


def test_generated_modules_are_what_the_definitions_give() -> None:
    """Catches a key, a kind or a quantity that was added in Rust and not in Python."""
    command = [sys.executable, str(ROOT / "tools" / "generate_api.py"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_sections_have_every_key_of_the_reference() -> None:
    """Catches a section, a kind or a key that no class has."""
    held = {"": [sections_of(sections_module("file").File, "")]}
    for module in (
        "topology",
        "router",
        "routing",
        "nic",
        "workload",
        "pattern",
        "pacer",
        "benchmark",
        "program",
        "placement",
    ):
        held[module] = [sections_of(kind, module) for kind in sections_module(module).CHOICE.kinds.values()]
    for section in reference.sections():
        name = section.path.rsplit(".", 1)[-1]
        if section.tag is None or name not in held:
            continue
        (keys,) = {tuple(keys) for kind, keys in held[name] if kind == section.tag[1]}
        assert {key.name for key in section.keys} <= set(keys), section.name


def sections_module(name: str) -> Any:
    import importlib

    return importlib.import_module(f"{sections.__name__}.{name}")


def sections_of(kind: type[Section], module: str) -> tuple[str, list[str]]:
    names = [kind.RENAMED.get(name, name) for name in kind.__dataclass_fields__]  # type: ignore[attr-defined]
    return (kind.TAG[1] if kind.TAG else module, names)


def test_kinds_have_their_keys_in_order_with_documentation() -> None:
    """Catches an inherited key that is lost, out of order, positional or without documentation.

    Expected: the keys of the definitions, in their order, in the constructor and in the documentation of each kind.
    """
    paths = {section.path for section in reference.sections()}
    for name in ("topology", "routing", "nic", "benchmark", "placement", "program"):
        having = (section for section in reference.sections() if section.path == PATHS[name])
        held = {section.tag[1]: section for section in having if section.tag}
        kinds = {kind.TAG[1]: kind for kind in sections_module(name).CHOICE.kinds.values()}
        assert held.keys() == kinds.keys()
        for tag, kind in kinds.items():
            keys = [key.name for key in held[tag].keys]
            parameters = inspect.signature(kind).parameters
            names = [name.removesuffix("_") for name in parameters]
            # Tables are no keys of the reference, but sections.
            tables = {key for key in names if key in kind.TABLES or f"{PATHS[name]}.{key}" in paths}
            assert [key for key in names if key in keys or key not in tables] == keys
            assert {parameter.kind for parameter in parameters.values()} <= {inspect.Parameter.KEYWORD_ONLY}
            assert parameters.keys() <= kind.__annotations__.keys()
            text = inspect.getdoc(kind) or ""
            assert re.findall(r"^    (\w+?)_?: ", text.partition("\nAttributes:\n")[2], re.MULTILINE) == names
            shown = " ".join(text.split())
            assert [key.name for key in held[tag].keys if " ".join(key.doc.split()).rstrip(".")[1:] not in shown] == []
            assert repr(kind()) == f"{kind.__name__}()"
            assert pickle.loads(pickle.dumps(kind())) == kind()  # noqa: S301  (our own)
    assert "eager_limit: Eager limit." in pydoc.render_doc(ct.nic.Slingshot)
    alike: list[Section] = [ct.nic.Slingshot(eager_limit="4 KiB"), ct.nic.Ndr(eager_limit="4 KiB")]
    assert alike[0] != alike[1]


#: Where sections with kinds stand in an experiment.
PATHS = {name: name for name in ("topology", "routing", "nic", "placement")}
PATHS |= {"benchmark": "workload.benchmark", "program": "workload.program"}


def test_quantities_read_the_entries_of_their_names() -> None:
    """Catches a quantity that reads another entry, hides a missing one, or has lost its documentation."""
    point = ct.Point(
        {"offered_load": 0.5, "jobs": [{"name": "a"}], "class_utilization": [{"class": "up", "mean": 0.1}]}
    )
    assert (point.offered_load, point.latency_mean_ns, point.phases) == (0.5, None, [])
    assert isinstance(point.jobs[0], JobResult)
    assert isinstance(point.class_utilization[0], ClassUtilization)
    assert point.class_utilization[0].class_ == "up"
    with pytest.raises(KeyError):
        _ = point.class_utilization[0].max
    with pytest.raises(AttributeError):
        point.offered_load = 0.1  # type: ignore[assignment]
    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301  (our own)
    assert inspect.getdoc(ClassUtilization.class_) == "Name of the class."
    assert inspect.signature(ClassUtilization.exact_mean.fget).return_annotation == float | None  # type: ignore[arg-type]
    assert "Mean utilization of the channels" in pydoc.render_doc(ClassUtilization)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_loaded_is_what_is_written(path: Path, tmp_path: Path) -> None:
    """Expected: equal points from the file, from the objects, and from a file that the objects write elsewhere."""
    loaded = ct.load(path)
    plain = ct.Experiment(**loaded.to_dict())
    names = [
        name for name in ("topology", "link", "router", "workload", "measure") if getattr(loaded, name) is not None
    ]
    assert all(isinstance(getattr(loaded, name), Section) for name in names)
    assert plain.to_dict() == loaded.to_dict()
    core = loaded.built()
    saved = ct.load(loaded.save(tmp_path / "again.toml")).built()
    assert core.points() == saved.points()
    for index in range(len(loaded.points)):
        mine, theirs = (json.loads(json.dumps(tomllib.loads(each.resolved_point(index)))) for each in (core, saved))
        assert without_files(mine) == without_files(theirs)


def without_files(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_files(item) for key, item in value.items() if key not in {"path", "graph", "file"}}
    return value


def test_a_changed_experiment_is_validated_as_a_file_is(small: Path) -> None:
    """Catches a change that is lost, and one that passes unseen."""
    experiment = ct.load(small)
    assert isinstance(experiment.topology, ct.topology.FatTree)
    assert isinstance(experiment.workload, ct.workload.Traffic)
    experiment.topology.k = 2
    experiment.workload.pattern = ct.pattern.Shift(offset=1)
    experiment.sweep["workload.load"] = [0.1]
    by_file = ct.run(small, set={"topology.k": 2, "workload.pattern": {"kind": "shift", "offset": 1}}, points="0-0")
    ran = ct.run(experiment)
    assert ran[0].offered_load == 0.1
    assert ct.run(experiment, set={"sweep.workload.load": [0.2]})[0].latency_mean_ns == by_file[0].latency_mean_ns
    experiment.topology.k = 1
    with pytest.raises(ct.ExperimentError, match="from 2 to") as raised:
        ct.run(experiment)
    assert raised.value.key == "topology.k"


def test_sections_and_files_give_the_same_results(small: Path) -> None:
    """Catches sections that mean something else than the tables of a file."""
    built = ct.Experiment(
        title="small",
        seed=7,
        topology=ct.topology.FatTree(k=4, n=2),
        link=ct.Link(bandwidth="10 Gb/s", delay="20 ns"),
        router=ct.router.OutputQueued(delay="90 ns"),
        workload=ct.workload.Traffic(pattern="uniform", packet_size="256 B", load=0.3),
        measure=ct.Measure(precision=0.1),
        sweep={"workload.load": [0.2, 0.5]},
    )
    assert essence(ct.run(built)) == essence(ct.run(small))
    assert tomllib.loads(str(built)) == {**tomllib.loads(SMALL), "workload": built.to_dict()["workload"]}
    ranged = built.copy()
    ranged.sweep = {"workload.load": ct.Range(from_=0.2, to=0.5, step=0.3)}
    assert ranged.points == built.points
    assert built.sweep == {"workload.load": [0.2, 0.5]}


def test_swept_kinds_and_classes_of_links() -> None:
    """Catches tables without a kind, objects in a sweep, and tables of classes that are lost."""
    experiment = ct.Experiment(
        link=ct.Link(bandwidth="10 Gb/s", delay="20 ns", classes={"local": ct.LinkClass(delay="5 ns")}),
        workload=ct.workload.Traffic(load=0.1),
        sweep={
            "topology": [ct.topology.Dragonfly(h=1), ct.Dragonfly(2)],
            "routing": [ct.routing.UgalL(threshold=2), ct.routing.Minimal()],
        },
    )
    assert len(experiment.points) == 4
    experiment.validate()
    assert [experiment.machine(index).nodes for index in (0, 2, -1)] == [6, 72, 72]
    assert experiment.resolved(0).routing == ct.load(experiment).resolved(0).routing
    again = ct.load(experiment.to_dict())
    assert again.link == experiment.link
    assert again.points == experiment.points
    swept = ct.load(SWEPT_KIND)
    assert isinstance(swept.routing, Open)
    assert swept.routing.threshold == 2
    swept.routing.threshold = 3
    assert json.loads(json.dumps(swept.to_dict()))["routing"] == {"threshold": 3}
    assert ct.load(swept.to_dict()).resolved(1).routing == swept.resolved(1).routing
    with pytest.raises(AttributeError, match="threshold"):
        _ = swept.routing.detour
    with pytest.raises(IndexError, match="there are 2"):
        swept.resolved(2)


SWEPT_KIND: dict[str, Any] = {
    "topology": {"kind": "dragonfly", "h": 1},
    "link": {"bandwidth": "10 Gb/s", "delay": "20 ns"},
    "routing": {"threshold": 2},
    "workload": {"kind": "traffic", "load": 0.1},
    "sweep": {"routing.kind": ["ugal-l", "ugal-g"]},
}


def test_overrides_are_in_their_places(small: Path) -> None:
    """Catches an override that the objects do not show, and a sweep that it should have ended."""
    experiment = ct.load(small, set={"workload.load": 0.25, "router.buffer": "8 packets"})
    assert experiment.workload is not None
    assert (experiment.workload.to_dict()["load"], experiment.sweep) == (0.25, {})
    assert experiment.router == ct.router.OutputQueued(delay="90 ns", buffer="8 packets")
    depths = {"injection": "2 packets", "up": "8 packets"}
    experiment = ct.load({**experiment.to_dict(), "router": ct.router.OutputQueued(buffer=depths)})
    assert experiment.router == ct.router.OutputQueued(buffer=depths)
    inside = ct.load(
        {**tomllib.loads(SMALL), "sweep": {"topology": [{"kind": "fat-tree", "k": k, "n": 2} for k in (2, 4)]}},
        set={"topology.n": 1},
    )
    assert [topology["n"] for topology in inside.sweep["topology"]] == [1, 1]  # type: ignore[union-attr]
    assert ct.load(inside.to_dict()).machine(0).nodes == 2


def test_copies_are_apart(small: Path) -> None:
    """Catches a copy that changes with its original, and an experiment that copying or pickling loses."""
    first = ct.load(small)
    second = first.copy()
    assert second == first
    assert isinstance(second.topology, ct.topology.FatTree)
    second.topology.k = 2
    assert first.machine().nodes == 16
    assert second.machine().nodes == 4
    assert second != first
    assert copy.copy(first) == copy.deepcopy(first) == pickle.loads(pickle.dumps(first)) == first  # noqa: S301
    for kind in (first.topology, first.link, Open({"a": 1})):
        assert pickle.loads(pickle.dumps(kind)) == kind  # noqa: S301  (our own)


def test_a_saved_experiment_finds_its_files(tmp_path: Path) -> None:
    """Catches relative paths that break where the file goes to another folder."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "net.edges").write_text("link 0 1\nnode 0\nnode 1\n")
    table = {**tomllib.loads(SMALL), "topology": {"kind": "file", "path": "net.edges"}}
    (tmp_path / "a" / "x.toml").write_text(experiments.to_toml(table))
    experiment = ct.load(tmp_path / "a" / "x.toml")
    experiment.seed = 3
    assert experiment.machine().nodes == 2
    assert ct.load(experiment.save(tmp_path / "b" / "x.toml")).machine().nodes == 2
    experiment.save(tmp_path / "a" / "y.toml")
    assert 'path = "net.edges"' in (tmp_path / "a" / "y.toml").read_text()


def test_errors_have_their_parts(small: Path) -> None:
    """Catches a part of a message that only its text has."""
    small.write_text(SMALL.replace("load = 0.3", "laod = 0.3"))
    with pytest.raises(ct.ExperimentError) as raised:
        ct.load(small)
    error = raised.value
    assert (error.key, error.file, error.line, error.column) == ("workload.laod", str(small), 21, 1)
    assert "load" in error.allowed
    assert error.help == "did you mean `load`?"
    assert error.message in str(error)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own)
    assert (again.key, again.line, again.allowed) == (error.key, error.line, error.allowed)


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: ct.Torus([1]), "topology.dims"),
        (lambda: ct.Topology("klein:3"), "topology.kind"),
        (lambda: ct.Machine("torus:4x4", cores=0), "cores"),
        (lambda: ct.FatTree(k=4.7, n=2), "k"),  # type: ignore[arg-type]
        (lambda: ct.Dragonfly(1 << 40), "h"),
        (lambda: ct.map_tasks("stencil:4", "torus:4", "greedy", tasks_per_node=1.5), "tasks_per_node"),
        (lambda: ct.TaskGraph.from_arcs(2, [0], [1], [8], [1 + 2j, 1]), "loads"),
        (lambda: ct.Machine("torus:4x4", rank_order="XY"), "rank_order"),
        (lambda: ct.Machine("torus:4x4", allocation="0-99"), "allocation"),
        (lambda: ct.Machine(ct.Torus([4, 4]), allocation="0-99"), "allocation"),
        (lambda: ct.TaskGraph("stencil:4", seed=-1), "seed"),
        (lambda: ct.TaskGraph("random:4").shuffled(1 << 64), "seed"),
        (lambda: ct.map_tasks("stencil:4", "torus:4", "atuo"), "strategy"),
        (lambda: ct.run(jobs=-1, topology=ct.SingleSwitch(2)), "jobs"),
        (lambda: ct.run(threads=0, topology=ct.SingleSwitch(2)), "threads"),
    ],
)
def test_arguments_are_named(call: Any, key: str) -> None:
    """Catches an error without the argument at fault, and a number that is cut to fit."""
    with pytest.raises(ct.ExperimentError) as raised:
        call()
    assert raised.value.key == key
    assert str(raised.value).startswith("error: ")
    assert raised.value.message


def test_a_file_at_fault_is_named(tmp_path: Path) -> None:
    """Catches errors of files without the line."""
    path = tmp_path / "wrong.csv"
    path.write_text("0,1,8\n0,x,8\n")
    with pytest.raises(ct.ExperimentError) as raised:
        ct.TaskGraph(path)
    assert (raised.value.file, raised.value.line) == (str(path), 2)


def test_words_and_aliases_become_sections() -> None:
    """Catches a kind that is known by another name and stays a text."""
    choice: Choice = ct.pattern.CHOICE
    assert choice.read("neighbour") == ct.pattern.Neighbor()
    assert choice.read({"kind": "shift", "offset": 2}) == ct.pattern.Shift(offset=2)
    assert choice.read({"kind": "swirl"}) == Open({"kind": "swirl"})
    assert choice.read(3) == 3
    assert repr(ct.pattern.Shift(offset=2)) == "Shift(offset=2)"


def test_types_are_known_to_mypy(tmp_path: Path) -> None:
    """Expected: mypy accepts what is right, and finds a wrong key, type, word or quantity, inherited ones too."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """\
            from dataclasses import replace

            import cutthrough as ct

            experiment = ct.Experiment(
                topology=ct.topology.Dragonfly(h=4, arrangement="palmtree"),
                link=ct.Link(bandwidth="100 Gb/s", delay="20 ns"),
                workload=ct.workload.Traffic(pattern=ct.pattern.Adversarial(), load=0.3),
                routing=ct.routing.UgalL(threshold=3),
            )
            experiment.topology = ct.Machine("torus:4x4")
            point = ct.run(experiment)[0]
            half: float = point.offered_load / 2
            slowdown: float | None = point.jobs[0].slowdown
            nic: ct.nic.Loggp = replace(ct.nic.Loggp(eager_limit="4 KiB", gap="1 ns"), progress="calls")
            limit: str | None = nic.eager_limit
            ct.topology.Dragonfly(hh=4)
            ct.topology.Dragonfly(h="4")
            ct.topology.Dragonfly(h=4, arrangement="palm")
            experiment.routing = ct.Link()
            point.latency_ns
            ct.nic.Slingshot(eager_limit=4)
            ct.nic.Slingshot("4 KiB")
            ct.nic.Ideal(gap="1 ns")
            count: int = point.class_utilization[0].mean
            point.offered_load = 0.5
            """
        )
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(program)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = [int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line and "program.py" in line]
    # A point answers to any name, with an error for an unknown one: mypy sees that nothing comes back.
    assert found == [17, 18, 19, 20, 22, 23, 24, 25, 26], ran.stdout


def test_examples_in_the_docstring() -> None:
    """Catches a docstring whose example no longer works as shown."""
    assert doctest.testmod(experiment).failed == 0


def test_the_compiled_experiment_is_accepted(small: Path) -> None:
    """Catches internals that cannot be queried through the typed experiment."""
    core = ct.load(small).built()
    assert isinstance(core, _core.Experiment)
    assert ct.load(core.parts()[0] and ct.load(small)).points == ct.load(small).points


def test_what_a_misfit_routing_is_answered_with_takes_the_same_paths(tmp_path: Path) -> None:
    """Catches a wrong hint: a built-in tree, and a file with its wires and the routing that the hint names."""
    lines = [f"link {leaf} {4 + spine}" for leaf in range(4) for spine in range(4)] + [
        f"node {leaf} x4" for leaf in range(4)
    ]
    (tmp_path / "tree.edges").write_text("\n".join(lines) + "\n")
    file = {"kind": "file", "path": str(tmp_path / "tree.edges")}
    base: dict[str, Any] = {
        "link": {"bandwidth": "100 Gb/s", "delay": "50 ns"},
        "workload": {"kind": "traffic", "load": 0.8},
        "measure": {"max_time": "40 us"},
    }
    for kind, ties in (("adaptive-up-down", "least-loaded"), ("random-up-down", "random")):
        with pytest.raises(ct.ExperimentError, match=f'ties = "{ties}" and vc_rule = "single"'):
            ct.check({**base, "topology": file, "routing": {"kind": kind}})
        (built,) = ct.run({**base, "topology": {"kind": "fat-tree", "k": 4, "n": 2}, "routing": {"kind": kind}})
        routing = {"kind": "shortest-path", "ties": ties, "vc_rule": "single"}
        (written,) = ct.run({**base, "topology": file, "routing": routing})
        assert written["latency_mean_ns"] == built["latency_mean_ns"]


def test_classes_of_routers() -> None:
    """Catches tables of classes of routers that are lost, and delays of a class that are given to all."""
    built = ct.Experiment(
        topology=ct.topology.LeafSpine(leaves=4, spines=2, nodes_per_leaf=3),
        link=ct.Link(bandwidth="400 Gb/s", delay="20 ns"),
        router=ct.router.SharedBuffer(ports=8, classes={"spine": ct.RouterClass(delay="600 ns")}),
        workload=ct.workload.Traffic(load=0.1),
    )
    built.validate()
    assert ct.load(built.to_dict()).router == built.router
    resolved = built.resolved(0).to_dict()["router"]
    assert (resolved["delay"], resolved["spine"]["delay"]) == ("200 ns", "600 ns")
    swept = ct.load(built.to_dict() | {"sweep": {"router.spine.delay": ["300 ns", "600 ns"]}})
    assert len(swept.points) == 2
