"""Wrong input: one clear message on standard error, exit status 2, no traceback, nothing on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.cli.common import parse_sets
from cutthrough.experiment.documents import from_text, to_toml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: What is set, and what the message has to name.
WRONG = {
    "unknown key": ("workload.laod=0.5", "load"),
    "unknown section": ("worklod.load=0.5", "workload"),
    "unknown kind": ("topology.kind=fattree", "fat-tree"),
    "unknown pattern": ("workload.pattern=uniforn", "uniform"),
    "type": ("workload.load=high", "workload.load"),
    "range": ("workload.load=1.5", "workload.load"),
    "negative": ("workload.load=-0.1", "workload.load"),
    "no unit": ("link.delay=20", "ns"),
    "wrong unit": ('link.delay="20 m"', "ns"),
    "no room": ('router.buffer="0 packets"', "router.buffer"),
    "smaller than a packet": ('router.buffer="8 B"', "router.buffer"),
    "no channels": ("router.vcs=0", "router.vcs"),
    "too large": ("topology.k=1099511627776", "topology.k"),
    "too many nodes": ("topology.n=20", "topology"),
    "wrong topology for the routing": ("routing.kind=dimension-order", "routing"),
    "bits of no power of two": ("topology.k=3", "bit"),
    "absent file": ('workload.pattern={ kind = "matrix", path = "absent.csv" }', "absent.csv"),
    "empty sweep": ("sweep.workload.load=[]", "sweep"),
    "sweep out of range": ("sweep.workload.load=[0.5, 2.0]", "load"),
    "no key": ("=3", "KEY=VALUE"),
    "no value": ("workload.load", "KEY=VALUE"),
    "unknown class of links": ('link.global.delay="1 ns"', "global"),
    "unknown class of buffers": ("router.buffer={ dwon = '1 KiB' }", "did you mean `down`?"),
    "buffers of nodes": ("router.buffer={ ejection = '1 KiB' }", "node.receive_buffer"),
    "a class that is smaller than a packet": ("router.buffer={ up = '8 B' }", "less than one packet of 256 B"),
    "a class without a unit": ("router.buffer={ up = 8 }", "`router.buffer.up`: `8` has no unit"),
    "buffers that are no depth": ("router.buffer=deep", "a depth"),
    "buffers in a list": ("router.buffer=['1 KiB']", "a depth as a string with its unit"),
}


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_keys_are_named(cutthrough: Callable[..., Any], small: Path, command: str, case: str) -> None:
    """Catches a mistake that passes in silence, a message that does not name it, a wrong status, or a traceback."""
    text, named = WRONG[case]
    options = ["--set", "workload.pattern=bit-reversal"] if case.startswith("bits") else []
    ran = cutthrough(command, small, "--set", text, *options)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error:")
    assert named in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) <= 12


#: Kinds from elsewhere, and what is the way to them.
ELSEWHERE = {
    "topology.kind=bcube": 'kind = "file"',
    "routing.kind=o1turn": 'kind = "table"',
    "router.kind=wormhole": "no file describes other architectures",
    "nic.kind=efa": "cutthrough calibrate",
    "workload.kind=chakra": 'kind = "program"',
}


@pytest.mark.parametrize("text", ELSEWHERE)
def test_kinds_that_are_not_built_in_have_a_way(cutthrough: Callable[..., Any], small: Path, text: str) -> None:
    """Catches a kind of another tool that is taken for a misspelling, and a message that ends with a list of kinds."""
    ran = cutthrough("check", small, "--set", text)
    assert ran.status == 2
    assert "is not built in" in ran.err
    assert ELSEWHERE[text] in ran.err


def test_the_kind_follows_from_a_key_of_one_kind_only(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a key of `--set` that asks for its kind where one kind only has it, and a guess among several kinds."""
    ran = cutthrough("check", small, "--set", "workload.pacer.window=64 KiB", "--json")
    assert ran.status == 0, ran.err
    ran = cutthrough("check", small, "--set", "routing.path=absent.routes")
    assert 'goes with kind = "table" | "forwarding-tables"' in ran.err
    ran = cutthrough("check", small, "--set", "routing.threshold=3")
    assert 'goes with kind = "ugal-l" | "ugal-g" | "par"' in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "{small}", "--set", "topology.kind=NAME"),
        ("check", "{small}", "--set", "NAME=3"),
        ("check", "{small}", "--set", 'workload.pattern={ kind = "matrix", path = "NAME" }'),
        ("check", "NAME"),
        ("explain", "NAME"),
        ("convert", "NAME", "-o", "NAME.goal"),
        ("map", "-g", "NAME", "-m", "torus:4"),
        ("map", "-g", "stencil:4", "-m", "NAME:4"),
        ("map", "-g", "stencil:4", "-m", "torus:4", "--strategy", "NAME"),
        ("report", "NAME"),
        ("draw", "NAME", "-o", "x.png"),
        ("calibrate", "NAME"),
    ],
)
def test_a_long_name_does_not_fill_the_screen(
    cutthrough: Callable[..., Any], small: Path, arguments: tuple[str, ...]
) -> None:
    """Catches a message that shows all of a name of 10,000 characters."""
    words = [word.replace("NAME", "x" * 10_000).replace("{small}", str(small)) for word in arguments]
    ran = cutthrough(*words)
    assert ran.status == 2
    assert 0 < len(ran.err) < 2000, ran.err[:400]


def test_a_long_name_in_a_file_does_not_fill_the_screen(tmp_path: Path) -> None:
    """Catches a message that shows all of a name of 10,000 characters that a file holds."""
    file = tmp_path / "topology.conf"
    file.write_text(f"SwitchName={'x' * 10_000} Switches=absent\n")
    with pytest.raises(ct.ExperimentError, match="absent") as raised:
        ct.Machine(str(file))
    assert len(str(raised.value)) < 1000


FILES: dict[str, bytes | None] = {
    "absent": None,
    "empty": b"",
    "blank": b"\n\n  \n",
    "binary": bytes(range(256)),
    "not TOML": b"this is not TOML\n",
    "cut off": SMALL.encode()[:-5],
    "huge": b"# " + b"x" * (5 << 20),
    "without topology": SMALL.replace("topology", "title.topology").encode(),
    "a section as a value": b"topology = 3\n",
}


@pytest.mark.parametrize("command", ["run", "check", "analyze"])
@pytest.mark.parametrize("case", FILES)
def test_wrong_files_are_refused(cutthrough: Callable[..., Any], tmp_path: Path, command: str, case: str) -> None:
    """Catches a traceback, a hang or a wrong status on a file that is no experiment."""
    path = tmp_path / "wrong.toml"
    content = FILES[case]
    if content is not None:
        path.write_bytes(content)
    ran = cutthrough(command, path)
    assert (ran.status, ran.out) == (2, "")
    assert "wrong.toml" in ran.err
    assert "Traceback" not in ran.err


def test_directory_is_no_file(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a traceback when a directory is given."""
    ran = cutthrough("check", tmp_path)
    assert (ran.status, ran.out) == (2, "")


@pytest.mark.parametrize("section", ["topology", "link", "workload"])
def test_missing_sections_are_named(cutthrough: Callable[..., Any], tmp_path: Path, section: str) -> None:
    """Catches a required section that is filled in by silence."""
    blocks = [block for block in SMALL.split("\n\n") if not block.startswith((f"[{section}]", "[sweep]"))]
    path = tmp_path / "part.toml"
    path.write_text("\n\n".join(blocks) + "\n")
    ran = cutthrough("check", path)
    assert ran.status == 2
    assert section in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["fly"],
        ["run", "x.toml", "--fast"],
        ["run", "x.toml", "-j", "many"],
        ["list", "birds"],
        ["reproduce", "x"],
    ],
)
def test_wrong_command_lines(cutthrough: Callable[..., Any], arguments: list[str]) -> None:
    """Catches a wrong status of what is wrong before any file is read."""
    ran = cutthrough(*arguments)
    assert ran.status == 2
    assert "Traceback" not in ran.err


KEY = st.sampled_from(
    ["workload.load", "topology.k", "router.buffer", "link.delay", "seed", "sweep", "sweep.workload.load", "x", "a.b.c"]
) | st.text(max_size=12)
VALUE = st.one_of(
    st.text(max_size=12),
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(["[]", "{}", "[[", '"', "{ a = 1 }"]),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(KEY, VALUE), min_size=1, max_size=3))
def test_overrides_never_crash(pairs: list[tuple[str, str]]) -> None:
    """Catches a panic (which is not an `Exception`) or an untyped error from any `--set`."""
    try:
        ct.load(small_table(), set=dict(pairs))
    except ct.ExperimentError as error:
        assert str(error)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_files_never_crash(data: st.DataObject) -> None:
    """Catches a panic of the parser on a file with a piece replaced by anything."""
    start = data.draw(st.integers(0, len(SMALL)))
    end = data.draw(st.integers(start, min(len(SMALL), start + 30)))
    text = SMALL[:start] + data.draw(st.text(max_size=10)) + SMALL[end:]
    try:
        from_text(text, "damaged.toml", ".", [])
    except ct.ExperimentError as error:
        assert "damaged.toml" in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["topology", "link", "workload", "x", "sweep"]), JSON, max_size=4))
def test_any_mapping_is_an_experiment_or_an_error(table: dict[str, Any]) -> None:
    """Catches a value that Python cannot write as TOML and that is reported as anything but a wrong experiment."""
    with pytest.raises(ct.ExperimentError):
        ct.load(table)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(-9, 9), max_size=3))
def test_toml_of_a_table_reads_back(table: dict[str, int]) -> None:
    """Catches keys that are not quoted as they should."""
    import tomllib

    assert tomllib.loads(to_toml(table)) == table


def test_sets_are_split_at_the_first_equals_sign() -> None:
    """Catches values with an equals sign that are cut."""
    assert parse_sets(['a.b={ kind = "shift" }']) == [("a.b", '{ kind = "shift" }')]


def small_table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(SMALL)
