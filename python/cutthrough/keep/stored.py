"""Results files, checked by the schema of results when they are read."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import cutthrough._core as _core
import cutthrough.files.reading as reading
from cutthrough.arguments.faults import path_of, printable, refuse
from cutthrough.quantities import Quantities
from cutthrough.quantities.measured import LOAD_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["check_measured", "read", "read_experiment"]

#: Range of the absolute values of numbers in results other than 0, so that sums, squares and quotients stay finite.
LEAST, LARGEST, LARGEST_WHOLE = 1e-100, 1e100, (1 << 64) - 1
#: Greatest depth of nesting of values without a schema, such as the value of a swept key.
DEEPEST = 16
#: Entries of a point other than its quantities and its sweep's keys: names, and the schema of each.
BESIDES: dict[str, dict[str, Any]] = {
    "seed": {"type": "whole", "minimum": 0},
    "seeds": {"type": "whole", "minimum": 1},
    "seeds_saturated": {"type": "whole", "minimum": 0},
    "seeds_converged": {"type": "whole", "minimum": 0},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    "ci": {"type": "object", "additionalProperties": {"type": ["number", "null"], "minimum": 0}},
    "workload.load": {"type": "number", "minimum": 0},
    "measure.confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
#: Quantities that must come together.
TOGETHER = {
    "benchmark_rows": ("benchmark_kind", "benchmark_ranks"),
    "pairs": ("message_size_B",),
    "breakdown": ("critical_path",),
}
#: Suffixes of the names of widths, which are not negative.
WIDTHS = ("_ci", "_ci_ns")
#: Quantities that points must have if a key is swept, because they are plotted with it.
DRAWN_ALONG = {"workload.load": "offered_load", "workload.benchmark.message_size": "message_size_B"}
#: Entries of channels and classes that no simulation measures.
REFERENCES = {f"{kind}{part}": {"type": ["number", "null"]} for kind in LOAD_KINDS for part in ("", "_mean", "_max")}
HEAD: dict[str, Any] = {
    "type": "object",
    "required": ["title", "version", "seed", "axes", "complete"],
    "properties": {
        "title": {"type": "string"},
        "version": {"type": "string"},
        "seed": {"type": "whole", "minimum": 0},
        "axes": {"type": "array", "items": {"type": "string"}},
        "complete": {"type": "boolean"},
        "points": {"type": "array", "items": {"$ref": "#/point"}},
        "replicas": {"type": "array", "items": {"$ref": "#/point"}},
        "settings": {"type": "object"},
    },
}


def read(named: str | Path) -> tuple[Path, dict[str, Any]]:
    """Returns the path and the content of a results file, given the file or its folder.

    Raises:
        ExperimentError: The file is missing, or does not hold results; `key` is the path of the wrong entry in it.
    """
    path = path_of("directory", named)
    try:
        path = path / "results.json" if path.is_dir() else path
        is_there = path.exists()
    except OSError as error:
        raise refuse("", f"{path} cannot be read: {error.strerror}", file=str(path)) from None
    if not is_there:
        message = f"no results in {named}: `cutthrough run FILE --out {named}` writes them"
        raise refuse("", message, file=str(path))
    text = reading.given(path, "file of results", "")
    try:
        held: Any = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise refuse("", f"{path} does not hold results of `cutthrough run`: {error}", file=str(path)) from None
    try:
        _check(held, HEAD, "")
        if "points" not in held:
            _wrong("points", "the key is missing")
        if unknown := next((name for name in held if name not in HEAD["properties"]), None):
            _wrong(unknown, "the key is unknown")
        _check_axes(held)
        for name in ("points", "replicas"):
            for place, point in enumerate(held.get(name, ())):
                _check_kind(point, f"{name}[{place}]")
    except _Wrong as wrong:
        message = f"{path} does not hold results of `cutthrough run`: {wrong.message}"
        raise refuse(wrong.key, message, file=str(path)) from None
    return path, held


def _once(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the entries of an object of JSON, whose keys have to differ.

    Raises:
        ValueError: A key is there twice.
    """
    held = dict(entries)
    if len(held) < len(entries):
        twice, _ = Counter(key for key, _ in entries).most_common(1)[0]
        message = f"the key {ascii(twice)[:40]} is there twice"
        raise ValueError(message)
    return held


def _check_kind(point: dict[str, Any], path: str) -> None:
    """Checks that a point and its jobs have the quantities of their kinds. Removes those of open traffic from others.

    Points that finish had them in former results, and their throughput was an accepted load.
    """
    traffic, finishing = Quantities.KINDS[:2]
    kind = finishing if "phases" in point or "per_rank" in point else traffic
    if kind is finishing:
        for held in (point, point.get("ci") or {}):
            if "accepted_load" in held:
                held.setdefault("throughput", held["accepted_load"])
            for name in (*traffic.quantities, "seeds_saturated", "seeds_converged"):
                held.pop(name, None)
    _require(point, kind.required, _schemas()["#/point"]["properties"], path)
    for place, job in enumerate(point.get("jobs") or ()):
        _check_kind(job, f"{path}.jobs[{place}]")


def _check_axes(held: Mapping[str, Any]) -> None:
    """Checks that every point has the keys of the sweep."""
    for name in ("points", "replicas"):
        for place, point in enumerate(held.get(name, ())):
            for axis in held["axes"]:
                if axis not in point:
                    _wrong(f"{name}[{place}].{axis}", "the key is missing, which `axes` has")
                if axis in DRAWN_ALONG and point.get(DRAWN_ALONG[axis]) is None:
                    _wrong(f"{name}[{place}].{DRAWN_ALONG[axis]}", f"the number is missing, which goes with `{axis}`")


def read_experiment(path: Path) -> str:
    """Returns the text of the experiment beside results. Empty if there is none.

    Raises:
        ExperimentError: The file cannot be read, or is not TOML.
    """
    if not path.exists():
        return ""
    text = reading.given(path, "experiment", "")
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("", f"{path} is not TOML: {error}", file=str(path)) from None
    return text


def check_measured(point: dict[str, Any]) -> None:
    """Checks the measured values of a point.

    Raises:
        ValueError: The values do not follow the schema of results.
    """
    _check(point, _schemas()["#/point"], "")
    _check_kind(point, "")


class _Wrong(ValueError):
    """The error of a wrong entry: a message, and the path of its key."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


@cache
def _schemas() -> dict[str, dict[str, Any]]:
    """Returns the schemas of a point and of its parts, by their references."""
    point: dict[str, Any] = json.loads(_core.result_schema())
    del point["x-kinds"]
    parts = {f"#/$defs/{name}": part for name, part in point.pop("$defs").items()}
    for reference, part in parts.items():
        if reference != "#/$defs/JobResult":
            part["null"] = [name for name, own in part["properties"].items() if _may_be_null(own)]
        part["properties"] |= REFERENCES
        if reference == "#/$defs/TimelineResult":
            part["properties"]["every"] |= {"type": "whole", "minimum": 1}
        if reference.startswith("#/$defs/Timeline"):
            # Ranks and states are indices into other lists. A timeline is of one seed, and has no means.
            whole = [own for own in part["properties"].values() if own.get("items", {}).get("type") == "integer"]
            for own in whole:
                own["items"]["type"] = "whole"
    # Seeds have different hottest channels. Where they differ, their mean has null.
    parts["#/$defs/ChannelUtilization"]["properties"] |= {
        key: {"type": ["string", "null"]} for key in ("channel", "class")
    }
    point["properties"] |= BESIDES
    for own in (point, *parts.values()):
        for name, width in own["properties"].items():
            if name.endswith(WIDTHS):
                width["minimum"] = 0
    return {"#/point": point, **parts}


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    """Returns whether a quantity may be null or missing where it is not known. Lists and tables may only be missing."""
    kinds = schema.get("type", ())
    return "null" in kinds and "array" not in kinds


def _wrong(path: str, message: str) -> NoReturn:
    raise _Wrong(path.removeprefix("."), message)


def _check(value: Any, schema: Mapping[str, Any], path: str) -> None:
    """Checks a value by the part of JSON Schema that the schema of results uses."""
    if "$ref" in schema:
        schema = _schemas()[schema["$ref"]]
    if "anyOf" in schema:
        # One of the two choices is null.
        other = next(choice for choice in schema["anyOf"] if choice != {"type": "null"})
        if value is not None:
            _check(value, other, path)
        return
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    kind = next((kind for kind in kinds if TYPES[kind][0](value)), None)
    if kinds and kind is None:
        _wrong(path, f"must be {' or '.join(TYPES[kind][1] for kind in kinds)}, not {_shown(value)}")
    if kind == "string":
        _check_text(value, path)
    elif kind in {"integer", "number", "whole"}:
        _check_range(value, schema, path)
    elif kind == "array":
        _check_items(value, schema, path)
    elif kind == "object":
        _check_keys(value, schema, path)
    elif not kinds:
        _check_free(value, path, DEEPEST)


def _check_text(text: str, path: str) -> None:
    """Refuses an unpaired surrogate, which JSON allows and which no file or table can hold."""
    if printable(text) != text:
        _wrong(path, f"is not UTF-8: {ascii(text)[:40]}")


def _check_range(value: float, schema: Mapping[str, Any], path: str) -> None:
    least, most = schema.get("minimum", -LARGEST), schema.get("maximum", LARGEST)
    if not least <= value <= most:
        _wrong(path, f"must be from {least:g} to {most:g}, not {_shown(value)}")


def _check_items(value: list[Any], schema: Mapping[str, Any], path: str) -> None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        _wrong(path, f"must have {schema['minItems']} items, not {len(value)}")
    first = schema.get("prefixItems", [])
    for place, item in enumerate(value):
        _check(item, first[place] if place < len(first) else schema.get("items") or {}, f"{path}[{place}]")


def _check_keys(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> None:
    known = schema.get("properties", {})
    _require(value, schema.get("required", ()), known, path)
    for name, others in TOGETHER.items():
        if missing := [other for other in others if value.get(name) and other not in value and other in known]:
            _wrong(f"{path}.{missing[0]}", f"the key is missing, which goes with `{name}`")
    for name, item in value.items():
        _check_text(name, f"{path}.{name}")
        _check(item, known.get(name, schema.get("additionalProperties", {})), f"{path}.{name}")
    for name in schema.get("null", ()):
        # Unknown quantities may be missing.
        value.setdefault(name, None)
    _check_columns(value, known, path)


def _require(value: dict[str, Any], names: Iterable[str], known: Mapping[str, Any], path: str) -> None:
    """Checks that a table has the keys of some names. Adds those whose values may be unknown, or empty lists."""
    for name in names:
        if name in value:
            continue
        # Unknown quantities and empty lists of tables may be missing: results of an older version lack keys.
        own = known.get(name, {})
        if "null" in own.get("type", ()) or {"type": "null"} in own.get("anyOf", ()):
            value[name] = None
        elif "$ref" in own.get("items", {}):
            value[name] = []
        else:
            _wrong(f"{path}.{name}", "the key is missing")


def _check_columns(value: Mapping[str, Any], known: Mapping[str, Any], path: str) -> None:
    """Checks that the columns of a table, which are lists of numbers, have one length."""
    columns = [name for name in value if _is_column(known.get(name, {}))]
    for name in columns[1:]:
        if len(value[name]) != len(value[columns[0]]):
            _wrong(f"{path}.{name}", f"has {len(value[name])} numbers, and `{columns[0]}` {len(value[columns[0]])}")
    for place, queue in enumerate(value.get("queues") or () if "time_ns" in columns else ()):
        for name, held in queue.items():
            if isinstance(held, list) and len(held) != len(value["time_ns"]):
                _wrong(
                    f"{path}.queues[{place}].{name}", f"has {len(held)} numbers, and `time_ns` {len(value['time_ns'])}"
                )
    if "states" in value and "state" in columns and any(state >= len(value["states"]) for state in value["state"]):
        _wrong(f"{path}.state", f"has a number that is none of the {len(value['states'])} states")


def _is_column(schema: Mapping[str, Any]) -> bool:
    """Returns whether a schema is of a list of numbers of any length."""
    items = schema.get("items")
    if "array" not in schema.get("type", ()) or not isinstance(items, dict):
        return False
    kinds = items.get("type", ())
    return "number" in kinds or "integer" in kinds or "whole" in kinds


def _check_free(value: Any, path: str, depth: int) -> None:
    """Checks values without a schema: text is UTF-8, numbers are finite, and nesting is limited."""
    if isinstance(value, dict | list) and depth == 0:
        _wrong(path, "is nested too deeply")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_text(name, f"{path}.{name}")
            _check_free(item, f"{path}.{name}", depth - 1)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            _check_free(item, f"{path}[{place}]", depth - 1)
    elif isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool) and not _is_number(value):
        _wrong(path, f"must be a finite number, not {_shown(value)}")


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return value == 0.0 or LEAST <= abs(value) <= LARGEST
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_WHOLE


#: Types by name: the test of a value, and the type's description.
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "null": (lambda value: value is None, "null"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    # The mean of a whole number over seeds need not be whole.
    "integer": (_is_number, "a number"),
    "number": (_is_number, "a number"),
    "whole": (lambda value: isinstance(value, int) and _is_number(value), "a whole number"),
    "string": (lambda value: isinstance(value, str), "a string"),
    "array": (lambda value: isinstance(value, list), "a list"),
    "object": (lambda value: isinstance(value, dict), "a table"),
}


def _shown(value: object) -> str:
    """Returns a value's text in a message."""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a number of more than 100 digits"
    text = "null" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
