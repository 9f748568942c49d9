"""`explain`, `list`, `new`, completion and standard input."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.cli.progress import Lines
from cutthrough.experiment import starts
from cutthrough.reference import keys as reference
from cutthrough.reference import words

from .conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: A workload of ranks, which have processors and interfaces.
RANKS = {"kind": "program", "program": {"kind": "fft"}}


def test_every_key_is_explained(cutthrough: Callable[..., Any]) -> None:
    """Catches a key without a meaning, a type or an example, and an example that is not TOML."""
    for section in reference.sections():
        for key in section.keys:
            if key.value == "list of table":  # [[job]] is a separate section
                continue
            (topic,) = reference.explain(f"{section.name}.{key.name}" if section.path else key.name)
            assert topic.key == key.name
            assert section in topic.sections
            assert key.doc, (section.name, key.name)
            assert key.value
            assert "x" in tomllib.loads(f"x = {key.example}")
        (topic,) = reference.explain(section.name)
        assert section in topic.sections
    for name in ("topology", "topology.torus", "job", "seed", "link.global.delay", "sweep.workload.load"):
        assert cutthrough("explain", name).status == 0


@pytest.mark.parametrize("path", ["router", "node", "link", "measure", "topology"])
def test_examples_are_values_that_the_key_takes(path: str) -> None:
    """Catches an example out of range or of another type."""
    for section in reference.sections():
        if section.path != path or section.tag == ("kind", "file"):
            continue
        kind = dict([section.tag]) if section.tag else {}
        base: dict[str, Any] = tomllib.loads(starts.text_of("fat-tree"))
        for key in section.keys:
            if key.name in {"group_dims", "group_wires"}:  # only of another kind of group
                continue
            if path == "node" and key.name in {"name", "endpoints", "count"}:  # only of several networks
                continue
            own: dict[str, Any] = {**base.get(path, {}), **kind} if not kind else {**kind}
            own |= starts._machine(kind["kind"]) if path == "topology" else {}
            own |= {"receive_buffer": "4 packets"} if path == "node" else {}
            if path == "node":
                base = {name: section for name, section in base.items() if name != "sweep"} | {"workload": RANKS}
            own[key.name] = tomllib.loads(f"x = {key.example}")["x"]
            ct.load({**base, path: own})


def test_sections_below_one_are_named(cutthrough: Callable[..., Any]) -> None:
    """Would catch parts that nobody finds, and a topic of two meanings of which one is left out."""
    for name in ("nic", "nic.loggp"):
        assert "[nic.dma]" in cutthrough("explain", name).out
    text = cutthrough("explain", "workload.program").out
    assert '[workload], kind = "program"' in text
    assert "[workload.program]: `kind` is one of" in text
    assert "`cutthrough explain workload.program.goal` explains one of them." in text


def test_examples_of_sections_are_read(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches an example that is no experiment, and `include`, `seeds`, `sweep` and `job` without one."""
    base = '[topology]\nkind = "dragonfly"\nh = 2\n[link]\nbandwidth = "100 Gb/s"\ndelay = "20 ns"\n'
    workload = '[workload]\nkind = "traffic"\nload = 0.5\n'
    examples = {section.path: section.example for section in reference.sections() if section.example}
    # Those of named interfaces, which share a path, are whole: `test_benchmarks` has them.
    assert 'kind = "slingshot"' in examples.pop("nic")
    networks = examples.pop("network") + "\n\n" + examples.pop("relay") + "\n\n[node]\nendpoints = 8\n"
    ct.load(tomllib.loads(networks + workload))
    names = ("matching", "pio", "dma", "copy", "bus", "registration", "connections", "rails")
    parts = {f"nic.{part}" for part in names}
    assert set(examples) == {
        *("topology.wires", "link.NAME", "job", "sweep", "sweep.zip", "sweep.NAME", "node.noise", "node.memory"),
        "router.NAME",
        *parts,
        "nic.collectives",
        "in_switch.elements",
        "in_switch.low_latency",
        "in_switch.streaming",
        "layout",
        "cost",
        "machine",
        "workload.late",
    }
    on_nic = {"kind": "program", "program": {"kind": "collective"}, "collectives": "nic"}
    interface = '[nic]\nkind = "loggp"\neager_limit = "16 KiB"\n'
    for path, example in examples.items():
        own = interface if path in parts else ""
        own += "[in_switch]\nverify = true\n" if path == "in_switch.elements" else ""
        own += examples["nic.dma"] + "\n" if path == "nic.pio" else ""
        groups = workload.replace("traffic", "collective") + "fanout = { mean = 2 }\n"
        begun = groups if path == "workload.late" else workload
        text = f"{base}{'' if path == 'job' else begun}{own}{example}\n"
        experiment = tomllib.loads(text)
        ranks = on_nic if path == "nic.collectives" else RANKS
        ct.load({**experiment, "workload": ranks} if path.startswith(("nic", "node")) else experiment)
        shown = cutthrough("explain", path).out
        assert shown.rstrip().endswith(example), shown
    assert len(ct.load(tomllib.loads(f"{base}{examples['job']}")).job) == 2
    for name in ("machine.toml", "workload.toml"):
        (tmp_path / name).write_text({"machine.toml": base, "workload.toml": workload}[name])
    assert "seeds = 10" in cutthrough("explain", "seeds").out
    (key,) = (key for key in reference.explain("include")[0].sections[0].keys if key.name == "include")
    (tmp_path / "all.toml").write_text(f"include = {key.example}\n")
    assert ct.load(tmp_path / "all.toml").machine().kind == "dragonfly"


def test_explain_has_meaning_default_range_and_example(cutthrough: Callable[..., Any]) -> None:
    """Catches a fact of a key that is not shown."""
    shown = cutthrough("explain", "topology.dragonfly.h").out
    for part in ("Global ports of each router.", "whole number", "required", "from 1 to 65533", 'kind = "dragonfly"'):
        assert part in shown
    shown = cutthrough("explain", "arrangement").out
    assert all(word in shown for word in ('"palmtree"', '"absolute"', '"circulant"', "cyclically"))
    assert "ps, ns, us" in cutthrough("explain", "link.delay").out
    shown = cutthrough("explain", "buffer").out
    assert shown.count("router.buffer of") == len(
        {section.keys[0].doc for section in reference.explain("router")[0].sections}
    )
    assert cutthrough("explain", "router.buffer.global").out == cutthrough("explain", "router.buffer").out
    assert "depth or table of depth" in shown
    topic = json.loads(cutthrough("explain", "precision", "--json").out)["topics"][0]
    assert topic["sections"][0]["keys"][0]["default"] == "0.02"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("topolgy.dragonfly.h", "`topology.dragonfly.h`"),
        ("precisio", "`measure.precision`"),
        ("dragonfyl", "`topology.dragonfly`"),
        ("xyzzy", "allowed: experiment, machine, topology"),
    ],
)
def test_explain_names_the_nearest(cutthrough: Callable[..., Any], wrong: str, right: str) -> None:
    """Catches a typo that is answered with nothing."""
    ran = cutthrough("explain", wrong)
    assert (ran.status, ran.out) == (2, "")
    assert right in ran.err


@pytest.mark.parametrize("word", words.WORDS, ids=lambda word: word.names[0])
def test_words_of_the_field_are_needed(word: words.Word, cutthrough: Callable[..., Any]) -> None:
    """Catches a word that is still said to be missing, or to stand for others, when a key, a kind or a value of its
    name has appeared: take its entry out of `cutthrough.reference.words` then.
    Catches an entry whose keys are not there."""
    held = {words.plain(part) for path in reference.topics() for part in path.split(".")}
    values = {words.plain(value) for section in reference.sections() for key in section.keys for value, _ in key.words}
    # A value, such as of `ties`, is not explained by its name: the entry of a word that is modelled stays useful.
    taken = {words.plain(name) for name in word.names} & (held if word.is_modelled else held | values)
    assert not taken, f"{taken} are names of the experiment file now"
    for key in word.keys:
        assert reference.has(key), key
    ran = cutthrough("explain", word.names[-1])
    assert ran.status == 0
    assert ("not modelled" in ran.out) is not word.is_modelled
    assert (words.PAGE in ran.out) is not word.is_modelled
    (known,) = json.loads(cutthrough("explain", word.names[0].upper(), "--json").out)["words"]
    assert known["names"] == list(word.names)


def test_words_of_the_field_are_one_each() -> None:
    """Catches a word that stands in two entries, and a list that lacks what people try."""
    names = [words.plain(name) for word in words.WORDS for name in word.names]
    assert len(names) == len(set(names))
    tried = (
        "ECN DCQCN PFC RoCEv2 SHARP NVLink NVSwitch rail spray HammingGraph Megafly PolarStar topology.pgft "
        "dragonfly+ Xpander QoS priority link-failure packet_loss flowlets RCCL tapered flap MoE VOQ virtual-lanes "
        "IB double-tree scale-up pause UGAL Valiant DOR LFT OpenSM injection_rate num_vcs vc_buf_size MTU anynet cmesh "
        "QP straggler"
    )
    for word in tried.split():
        assert words.find(word), word
    assert (ROOT / words.PAGE).is_file()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("Fat_Tree", "topology.fat-tree"),
        ("topology.fat tree", "topology.fat-tree"),
        ("ugal_l", "routing.ugal-l"),
        ("UGAL-L", "routing.ugal-l"),
        ("MEASURE.Warm-Up", "measure.warm_up"),
        ("InfiniBand", "nic.infiniband"),
        ("SlimFly", "topology.slim-fly"),
        ("Jellyfish", "topology.jellyfish"),
        ("dragonflyplus", "topology.dragonfly-plus"),
    ],
)
def test_names_are_found_in_any_spelling(cutthrough: Callable[..., Any], asked: str, name: str) -> None:
    """Catches a kind or a key that is unknown in capitals, or with `_` for `-`, or with a blank in separate words."""
    assert [topic.name for topic in reference.explain(asked)] == [name]
    assert cutthrough("explain", *asked.split()).out == cutthrough("explain", name).out


def test_unknown_kinds_name_the_way_round_them(cutthrough: Callable[..., Any]) -> None:
    """Catches suggestions of keys that have nothing to do with what was asked for."""
    for asked, way in (
        ("topology.foldedcube", 'kind = "file"'),
        ("routing.o1turn", 'kind = "table"'),
        ("workload.pattern.zipf", 'kind = "matrix"'),
        ("workload.program.otf2", "cutthrough record"),
        ("topology.tours", "did you mean `topology.torus`"),
    ):
        ran = cutthrough("explain", asked)
        assert (ran.status, ran.out) == (2, "")
        assert way in ran.err


def test_lists_are_complete() -> None:
    """Catches a section, a kind or a key that no list names."""
    lists = {name: {entry["name"] for entry in entries} for name, entries in reference.catalogue().items()}
    for section in reference.sections():
        if section.tag:
            assert section.tag[1] in lists[reference.PLURALS[section.path]]
        elif section.keys:
            assert {key.name for key in section.keys} == lists[section.path or reference.TOP]


def test_lists_have_the_names_of_sections_too(cutthrough: Callable[..., Any]) -> None:
    """Catches `list topology` that is refused, and brackets in a text that are taken for markup."""
    assert cutthrough("list", "topology").out == cutthrough("list", "topologies").out
    assert "[nic.dma]" in cutthrough("list", "nic.pio").out
    assert "default 0.95" in " ".join(cutthrough("list", "measure").out.split())


@pytest.mark.parametrize("kind", [name for name in starts.names() if name not in {*starts.PURPOSES, "file"}])
def test_every_topology_has_a_file_to_start_from(kind: str) -> None:
    """Catches required keys of a topology whose examples are no machine together."""
    written = tomllib.loads(starts.text_of(kind))
    assert ct.load(written).machine().kind == kind


@pytest.mark.parametrize("name", starts.names())
def test_new_files_mean_what_they_say(cutthrough: Callable[..., Any], tmp_path: Path, name: str) -> None:
    """Catches a file that is wrong, and a comment that names another default than the program has."""
    path = tmp_path / "start.toml"
    assert cutthrough("new", name, "--out", path).status == 0
    assert (tmp_path / "network.edges").exists() == (name == "file")
    text = path.read_text()
    assert max(map(len, text.splitlines())) <= 120
    assert cutthrough("check", path).status == 0
    # An experiment with every default written out is equal.
    plain = ct.load(path).built()
    known = tomllib.loads(plain.resolved_point(0, complete=False))
    for table in ("router", "nic", "placement", "measure"):
        if f"# [{table}]" in text:
            block = text[text.index(f"# [{table}]") :].split("\n\n")[0]
            keys = [line.removeprefix("# ") for line in block.splitlines() if re.match(r"# \w+ = ", line)]
            shown = tomllib.loads("\n".join(keys))
            assert {key: shown[key] for key in known[table] if key in shown} == known[table]


def test_new_writes_the_network_beside_its_file(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a file that names a network which is nowhere, the user's own that is lost, and an error in numbers."""
    mine = "link 0 1\nnode 0\nnode 1\n"
    (tmp_path / "network.edges").write_text(mine)
    ran = cutthrough("new", "file", "--out", tmp_path / "start.toml")
    assert (ran.status, "network.edges: as it was" in ran.out) == (0, True)
    assert (tmp_path / "network.edges").read_text() == mine
    ran = cutthrough("new", "file", "--out", "-")
    assert (ran.status, "network.edges" in ran.err) == (0, True)
    for target, why in ((tmp_path / "none" / "x.toml", "no folder"), (tmp_path, "is a folder")):
        ran = cutthrough("new", "torus", "--out", target)
        assert (ran.status, ran.out) == (2, "")
        assert why in ran.err
        assert "Errno" not in ran.err


def test_new_does_not_overwrite(
    cutthrough: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches work that is lost, and a name that is not there."""
    monkeypatch.chdir(tmp_path)
    assert cutthrough("new", "torus").status == 0
    (tmp_path / "torus.toml").write_text("mine")
    ran = cutthrough("new", "torus")
    assert ran.status == 2
    assert "exists" in ran.err
    assert (tmp_path / "torus.toml").read_text() == "mine"
    ran = cutthrough("new", "tours")
    assert ran.status == 2
    assert "did you mean `torus`?" in ran.err
    assert cutthrough("new", "torus", "--out", "-").out == starts.text_of("torus")


@pytest.mark.parametrize("command", ["run", "check", "analyze"])
def test_standard_input_is_a_file(
    cutthrough: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Catches `-` taken for a file of that name, and a message without the line."""

    def pipe(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    options = ("--json", "--set", "routing.kind=d-mod-k")
    expected = json.loads(cutthrough(command, small, *options).out)
    pipe(small.read_bytes())
    found = json.loads(cutthrough(command, "-", *options).out)
    for printed in (expected, found):
        for point in printed.get("points", ()):
            point.pop("wall_s", None)
    assert found == expected
    pipe(small.read_bytes().replace(b"load = 0.3", b"laod = 0.3"))
    ran = cutthrough(command, "-")
    assert ran.status == 2
    assert "standard input:21:1" in ran.err
    pipe(b"\xff\xfe")
    ran = cutthrough(command, "-")
    assert ran.status == 2
    assert "UTF-8" in ran.err


def test_results_of_standard_input_have_a_folder(
    cutthrough: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches results in a folder named `-`."""
    monkeypatch.chdir(small.parent)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(small.read_bytes())))
    assert cutthrough("run", "-", "--plots", "none").status == 0
    assert (small.parent / "results" / "stdin" / "points.csv").exists()


def test_progress_is_written_where_there_is_no_terminal(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a long run that is silent in a batch job, and progress on standard output."""
    ran = cutthrough("run", small, "--json")
    assert "2/2 points (100%)" in ran.err
    json.loads(ran.out)


def test_progress_lines_are_few(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a line for every poll, points that end unseen for long, and silence during a long point."""
    now = 0.0
    monkeypatch.setattr("cutthrough.cli.progress.time.monotonic", lambda: now)
    lines = Lines()
    for tick in range(1, 601):
        now = tick / 10
        lines.update(min(tick, 300) / 100, 4, "measuring")
    written = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in written] == ["1/4", "2/4", "3/4", "3/4", "3/4", "3/4"]
    assert written[0] == "1/4 points (25%) after 10 s, measuring, about 30 s left"


@pytest.fixture
def complete(cutthrough: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What is offered for a word of a command line, as the scripts of the shells ask for it: by the environment."""

    def offered(words: list[str], place: int, shell: str = "bash") -> list[str]:
        line = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(place)}
        if shell != "bash":
            line = {"_TYPER_COMPLETE_ARGS": " ".join(words), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        for name, value in {**line, "_CUTTHROUGH_COMPLETE": f"complete_{shell}"}.items():
            monkeypatch.setenv(name, value)
        # The variable's name is made of the program's: that of the installed command, not of `python -m pytest`.
        monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
        lines: list[str] = cutthrough().out.split("\n")
        return lines

    return offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["cutthrough", "repr"], "reproduce"),
        (["cutthrough", "run", "x.toml", "--pl"], "--plots"),
        (["cutthrough", "run", "x.toml", "--plots", "ma"], "main"),
        (["cutthrough", "run", "x.toml", "--set", "measure.prec"], "measure.precision="),
        (["cutthrough", "run", "x.toml", "--set", "workload.pattern", "=", "trans"], "transpose"),
        (["cutthrough", "check", "x.toml", "-s", "topology.dragonfly", "=", ""], ""),
        (["cutthrough", "explain", "topology.dragonfly.arr"], "topology.dragonfly.arrangement"),
        (["cutthrough", "list", "routi"], "routings"),
        (["cutthrough", "new", "drag"], "dragonfly"),
        (["cutthrough", "map", "--strategy", "gree"], "greedy"),
        (["cutthrough", "map", "--format", "openm"], "openmpi-rankfile"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_bash_completes(complete: Callable[..., list[str]], words: list[str], offered: str) -> None:
    """Catches commands, options, kinds and keys that are not completed, and `=` that ends a word in bash."""
    assert complete(words, len(words) - 1)[0] == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_complete_values_of_keys(complete: Callable[..., list[str]], shell: str) -> None:
    """Catches values of keys that are completed in one shell only."""
    offered = "\n".join(complete(["cutthrough", "run", "--set", "topology.kind=drag"], 3, shell))
    assert "topology.kind=dragonfly" in offered
    assert "Groups of routers" in offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_of_completion_are_printed(
    cutthrough: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    """Catches a shell without a script."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
    ran = cutthrough("--show-completion", shell)
    assert ran.status == 0
    assert "COMPLETE=complete_" + shell in ran.out
