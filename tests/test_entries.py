"""Every public entry of the package, with values and paths that are wrong."""

from __future__ import annotations

import inspect
import linecache
import os
import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.points.table import MEANINGS
from cutthrough.quantities import Quantities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(ct.__file__).parent
SMALL: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [2, 2]},
    "link": {"bandwidth": "10 Gb/s", "delay": "10 ns"},
    "workload": {"kind": "traffic", "load": 0.2},
    "measure": {"max_time": "20 us", "precision": 0.3},
}
#: What no argument means.
WRONG: list[Any] = [
    None, 3, -1, 1.5, float("nan"), "nowhere", "", "a\0b", "x" * 5000, b"x", [], {}, [None], ["x"], [-1], {"a": 1},
    {1: 2}, object(), True, Path("nowhere"), Path("/"), 1 << 70, lambda: 1,
]  # fmt: skip


#: What makes an object of each public name that is no exception and no constant, and arguments that are right.
CALLS: dict[str, tuple[Any, ...]] = {
    "Dragonfly": (2,),
    "Experiment": (),
    "FatTree": (2, 2),
    "Job": (),
    "Link": (),
    "LinkClass": (),
    "Machine": ("torus:2x2",),
    "Measure": (),
    "Mesh": ([2, 2],),
    "Node": (),
    "Point": (),
    "Program": (4, lambda rank: None),
    "Range": (),
    "Rank": (0, 4),
    "Results": ([],),
    "RouterClass": (),
    "RoutingTable": ([[0]],),
    "SingleSwitch": (4,),
    "TaskGraph": ("stencil:2x2",),
    "Topology": ("torus:2x2",),
    "Torus": ([2, 2],),
    "analyze": (SMALL,),
    "check": (SMALL,),
    "evaluate_places": (ct.TaskGraph("stencil:2x2"), ct.Machine("torus:2x2"), [0, 1, 2, 3]),
    "load": (SMALL,),
    "map_tasks": ("stencil:2x2", "torus:2x2"),
    "run": (SMALL,),
}
#: Made by others, and not called: analyses and mappings.
NOT_CALLED = {"ANY", "Analysis", "MappingResult", "__version__"}


def ours(error: BaseException) -> bool:
    """Whether an error says what is wrong: it is the package's own, the
    system's of a file, or one that the package's code raises in words."""
    if isinstance(error, ct.ExperimentError | ct.RunError | OSError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return Path(last.filename).is_relative_to(HERE) and line.startswith("raise ") and bool(str(error))


def with_wrong(call: Callable[..., Any], right: tuple[Any, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls with one argument that may be wrong."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return
    kinds = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    for place, parameter in enumerate(kinds):
        for value in WRONG:
            by_place = parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD} and place <= len(
                right
            )
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_place = True
            args = (*right[:place], value, *right[place + 1 :]) if by_place else right
            words = {} if by_place else {parameter.name: value}
            yield f"{parameter.name}={value!r:.40}", lambda args=args, words=words: call(*args, **words)  # type: ignore[misc]


def faults(name: str, call: Callable[..., Any], right: tuple[Any, ...]) -> Iterator[str]:
    """What wrong arguments end in that is no error of ours."""
    for label, attempt in with_wrong(call, right):
        try:
            attempt()
        except Exception as error:
            if not ours(error) and not re.match(r".*(takes|missing) .*argument", str(error)):
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                yield f"{name}({label}): {type(error).__name__}: {error!s:.90} at {where}"


def test_every_entry_is_here() -> None:
    """Catches a public name that nobody has tried with wrong values."""
    held = {name: getattr(ct, name) for name in ct.__all__}
    modules = {name for name, value in held.items() if inspect.ismodule(value)}
    errors = {name for name, value in held.items() if isinstance(value, type) and issubclass(value, BaseException)}
    assert set(ct.__all__) == modules | errors | CALLS.keys() | NOT_CALLED


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_errors_of_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches errors of Python, or of libraries, that do not name the argument."""
    monkeypatch.chdir(tmp_path)
    call = getattr(ct, name)
    call(*CALLS[name])
    assert list(faults(name, call, CALLS[name])) == []


#: What makes an object of each class with methods.
OBJECTS: dict[str, Callable[[], Any]] = {
    "Analysis": lambda: ct.analyze(SMALL)[0],
    "Communicator": lambda: ct.Rank(0, 4).split([0] * 4),
    "Experiment": lambda: ct.load(SMALL),
    "Machine": lambda: ct.Machine("torus:2x2"),
    "MappingResult": lambda: ct.map_tasks("stencil:2x2", "torus:2x2"),
    "Point": lambda: ct.run(SMALL)[0],
    "Program": lambda: ct.Program(4, lambda rank: None),
    "Rank": lambda: ct.Rank(0, 4),
    "Request": lambda: ct.Rank(0, 4).isend(1, 8),
    "Results": lambda: ct.run(SMALL),
    "RoutingTable": lambda: ct.RoutingTable([[0]]),
    "TaskGraph": lambda: ct.TaskGraph("stencil:2x2"),
    "Topology": lambda: ct.Topology("torus:2x2"),
}


#: Methods that the recording of a program calls, and no user.
INTERNAL = {"settle", "take"}


@pytest.mark.parametrize("name", OBJECTS)
def test_wrong_arguments_of_methods_are_errors_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches errors of other kinds than ours from wrong arguments of methods."""
    monkeypatch.chdir(tmp_path)
    made = OBJECTS[name]()
    found: list[str] = []
    for method in dir(made):
        if method.startswith("_") or method in INTERNAL or hasattr(dict, method):
            continue
        call = getattr(made, method)
        if callable(call):
            found += faults(f"{name}.{method}", call, ())
    assert found == []


#: Modules whose classes are the kinds of a section.
SECTIONS = sorted(name for name in ct.__all__ if inspect.ismodule(getattr(ct, name)))


@pytest.mark.parametrize("module", SECTIONS)
def test_wrong_values_of_sections_are_errors_of_ours(module: str) -> None:
    """Catches a value of a section that is neither refused where it is given nor where the experiment is loaded."""
    held = vars(getattr(ct, module))
    kinds = [held[name] for name in held["__all__"] if isinstance(held[name], type)]
    assert kinds
    found: list[str] = []
    for kind in kinds:

        def load(*args: Any, kind: Any = kind, **words: Any) -> Any:
            return ct.load({**SMALL, SECTION_OF.get(module, module): kind(*args, **words)})

        load.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
        found += faults(f"{module}.{kind.__name__}", load, ())
    assert found == []


#: Sections within another: where their kinds stand makes no difference to whose the error is.
SECTION_OF = {"benchmark": "workload", "pacer": "workload", "pattern": "workload", "program": "workload"}


#: Quantities of a point, in their order.
MEASURED = dict.fromkeys(
    (
        *("offered_load", "accepted_load", "accepted_load_ci", "latency_mean_ns", "latency_ci_ns", "latency_p50_ns"),
        *(
            "latency_p99_ns",
            "hops_mean",
            "saturated",
            "accepted_load_min",
            "steady",
            "converged",
            "drained",
            "warm_up_ns",
        ),
    ),
    1.0,
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("latency", "latency_mean_ns"),
        ("mean_latency", "latency_mean_ns"),
        ("latencies", "latency_mean_ns"),
        ("p99", "latency_p99_ns"),
        ("throughput", "accepted_load"),
        ("delay", "latency_mean_ns"),
        ("hops", "hops_mean"),
        ("Saturated", "saturated"),
    ],
)
def test_points_name_the_quantity_that_is_meant(name: str, meant: str) -> None:
    """Catches hints by spelling alone: `latency` is no confidence interval, `throughput` is spelled like nothing."""
    point = ct.Point(MEASURED)
    with pytest.raises(KeyError, match=f"did you mean `{meant}`"):
        point[name]
    with pytest.raises(AttributeError, match=f"did you mean `{meant}`"):
        getattr(point, name)


def test_every_quantity_that_is_meant_is_one() -> None:
    """Catches a hint at a quantity that was renamed."""
    known = {name for name, held in vars(Quantities).items() if isinstance(held, property)}
    assert set(MEANINGS.values()) <= known


def test_errors_have_the_argument_as_key() -> None:
    """Catches messages from which the argument is missing."""
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: ct.Torus(4, 4), "dims"),  # type: ignore[arg-type]
        (lambda: ct.Results.read(3), "directory"),  # type: ignore[arg-type]
        (lambda: ct.run(SMALL, executor=3), "executor"),  # type: ignore[arg-type]
        (lambda: ct.load(3), "source"),  # type: ignore[arg-type]
        (lambda: ct.Machine("torus:2x2").coordinates_to_rank("x"), "coordinates"),  # type: ignore[arg-type]
        (lambda: ct.Machine("torus:2x2").coordinates_to_rank(0, 0, 1 << 70), "coordinates"),
        (lambda: ct.Point(3), "quantities"),  # type: ignore[arg-type]
        (lambda: ct.map_tasks("stencil:2x2", "torus:2x2", strategy=None), "strategy"),  # type: ignore[arg-type]
    ]
    for call, key in calls:
        with pytest.raises(ct.ExperimentError) as raised:
            call()
        assert raised.value.key == key
    with pytest.raises(ct.ExperimentError, match="no results in nowhere: `cutthrough run FILE --out nowhere`"):
        ct.Results.read("nowhere")
    with pytest.raises(KeyError, match="did you mean `latency_mean_ns`"):
        ct.run(SMALL)[0]["latency"]


def test_text_that_is_not_utf_8_is_an_error_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an error of Python's codecs for a path of other bytes, in arguments and in messages."""
    path = os.fsdecode(b"n\xfe.toml")
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: ct.Machine(path), "machine"),
        (lambda: ct.Machine(Path(path)), "machine"),
        (lambda: ct.Machine("torus:2x2", node=path), "node"),
        (lambda: ct.Machine("torus:2x2", allocation=path), "allocation"),
        (lambda: ct.Machine("torus:2x2", rank_order=path), "rank_order"),
        (lambda: ct.TaskGraph(path), "graph"),
        (lambda: ct.Program.from_chakra(path), "prefix"),
        (lambda: ct.Topology(path), "shape"),
        (lambda: ct.map_tasks(path, "torus:2x2"), "graph"),
        (lambda: ct.map_tasks("stencil:2x2", "torus:2x2", strategy=path), "strategy"),
        (lambda: ct.run(topology={"kind": "file", "path": path}), "topology.path"),
        (lambda: ct.run({"job": [{"name": path}]}), "job[0].name"),
        (lambda: ct.run(ct.Experiment(title=path)), "title"),
        (lambda: ct.run({path: {}}), "source"),
    ]
    for call, key in calls:
        with pytest.raises(ct.ExperimentError, match=r"n\\udcfe") as raised:
            call()
        assert raised.value.key == key
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ct.ExperimentError, match="no results in"):
        ct.Results.read(path)
