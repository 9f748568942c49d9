"""Tests that what the project's pages say of its code is there: files to touch, tests of invariants, documentation."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from .conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
READMES = [*(crate / "README.md" for crate in CRATES), ROOT / "python" / "README.md"]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
#: How the names of files end.
FILES = (".rs", ".py", ".toml", ".md")
TOPOLOGIES = ROOT / "crates" / "topology" / "src"

#: Source files outside `topology` that name a family of topologies, and why. All others ask for its views.
NAMED = {
    "crates/mapping/src/machine/importers/wiring.rs": "machines that are read become edge lists",
    "crates/mapping/src/machine/importers/graphml/build.rs": "machines that are read become edge lists",
    "crates/mapping/src/machine/source.rs": "machines that are read become edge lists",
    "crates/system/src/model.rs": "the choice of the network model",
    "crates/system/src/networks.rs": "several networks have routers",
    "crates/topology/src/families/file/grids.rs": "a file that is a HyperX has the ports and views of one",
}


@cache
def tracked() -> frozenset[str]:
    """Names of the project's files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    return frozenset(listed.stdout.splitlines())


def exists(name: str) -> bool:
    """Returns whether a name is a file or a folder of the project."""
    return name in tracked() or any(file.startswith(f"{name.rstrip('/')}/") for file in tracked())


@cache
def sources() -> dict[str, str]:
    """Returns the code of each Rust file of the crates, without comments and tests."""
    paths = [path for crate in CRATES for path in (crate / "src").rglob("*.rs") if "tests" not in path.stem]
    code = {str(path.relative_to(ROOT)): re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")) for path in paths}
    return {name: text.split("#[cfg(test)]\nmod tests {")[0] for name, text in code.items()}


def section(page: Path, heading: str) -> str:
    """Returns the text below a heading of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page}: there is no `{heading}`"
    return found[1]


def additions() -> dict[str, str]:
    """Returns the rows of the table "Where do I add X": what is added, and the files."""
    rows = re.findall(r"^\| ([\w ]+) \| (.+) \|$", section(ARCHITECTURE, "Where do I add X"), re.MULTILINE)
    return {what: files for what, files in rows if what != "X"}


@pytest.mark.parametrize("what", additions())
def test_files_of_an_addition_exist(what: str) -> None:
    """Catches a row that names a file, a folder or a symbol that has moved."""
    folder = ""
    for name in re.findall(r"`([^`]+)`", additions()[what]):
        if "/" not in name and not name.endswith(FILES):
            # A type, a function or a module.
            assert is_symbol(name), f"`{name}` is in no file of the project"
            continue
        # A file without a folder is in the folder of the previous file.
        path = name if "/" in name else f"{folder}/{name}"
        folder = path.rsplit("/", 1)[0]
        if re.search(r"(?:^|/)(?:X|NAME)(?:\.|/|$)", path):
            of_a_variant = re.sub(r"\b(?:X|NAME)\b", r"[\\w-]+", path.replace(".", r"\."))
            assert any(re.match(of_a_variant, file) for file in tracked()), f"there is no file like `{path}`"
        else:
            assert exists(path), f"there is no `{path}`"


@cache
def words() -> frozenset[str]:
    """Returns all names in the code of the project, and those of its files and folders."""
    code = [name for name in tracked() if name.endswith((".rs", ".py", ".toml", "Makefile"))]
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in code if (ROOT / name).is_file())
    return frozenset(word for text in (*texts, *tracked()) for word in re.findall(r"\w+", text))


def is_symbol(name: str) -> bool:
    """Returns whether the code has all parts of a name, such as `Phase` or `planned::Plan`."""
    return {*re.findall(r"\w+", name)} <= words()


@pytest.mark.parametrize("page", [ARCHITECTURE, *READMES], ids=lambda page: page.parent.name)
def test_pages_name_what_the_code_has(page: Path) -> None:
    """Catches a function, a type, a key or a file that has another name or place by now."""
    text = re.sub(r"^(?: {4}\S|```).*", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {re.sub(r"\s+", " ", name) for name in re.findall(r"`([^`]+)`", text)}
    named = {name for name in named if not re.search(r"\b(?:X|NAME)\b|[\" ]", name)}
    files = {name for name in named if "/" in name}
    assert {name for name in files if not any(place.exists() for place in places(page, name))} == set()
    assert {name for name in named - files if not is_symbol(name)} == set()


def places(page: Path, name: str) -> list[Path]:
    """Returns where a page may mean a file to be: below its folder, the package beside it, or the project."""
    return [folder / name for folder in (page.parent, page.parent / "cutthrough", ROOT)]


def families() -> dict[str, list[str]]:
    """Returns the module and the types of each family of topologies, from the catalogue."""
    catalogue = (TOPOLOGIES / "catalogue.rs").read_text(encoding="utf-8")
    imports = dict(re.findall(r"use crate::families::(\w+)::\{([^}]*)\};", catalogue))
    built = re.findall(r"build: (?:\|spec, \w+\| )?(?:shared\()?(\w+)::", catalogue)
    return {
        module: re.findall(r"\b[A-Z]\w*[a-z]\w*\b", types)
        for module, types in imports.items()
        if any(name in built for name in types.split(", "))
    }


def test_a_topology_touches_three_files() -> None:
    """Catches a family that more of its crate names than its file and two catalogues, one that another crate names
    instead of its views, and a row that lists more files."""
    named = families()
    assert {"fat_tree", "single_switch", "torus"} <= {*named}
    touched = re.findall(r"`([^`]+\.rs)`", additions()["topology"].split(";")[0])
    assert len(touched) <= 3
    for module, types in named.items():
        words = re.compile(rf"\b(?:{'|'.join([*types, f'families::{module}'])})\b")
        naming = {name for name, code in sources().items() if words.search(code)}
        own = {name for name in naming if name.startswith("crates/topology/")}
        files = {name.replace("X", module) for name in touched}
        files |= {name for name in own if name.startswith(f"crates/topology/src/families/{module}/")}
        assert own - {*NAMED} <= files, f"{module}: {own - files}"
        # `config` has another type of the name `FileSpec`.
        others = {name for name in naming - own if not name.startswith("crates/config/")}
        assert others <= {*NAMED}, f"{module}: {others - {*NAMED}}"
        if module == "single_switch":
            assert naming == own


def test_a_topology_is_asked_for_its_views() -> None:
    """Catches code that compares a topology's kind or casts it to its family, and a trait that grows by the properties
    of single families."""
    compares = re.compile(r"topology\.kind\(\)\)? (?:[!=]=|\{)|dyn Any\b|as_any")
    crates = {name: code for name, code in sources().items() if not name.startswith("crates/engine/")}
    assert {name for name, code in crates.items() if compares.search(code)} == set()
    methods = re.search(r"pub trait Topology\b.*?\n\}", sources()["crates/topology/src/network.rs"], re.DOTALL)
    assert methods
    assert methods[0].count("fn ") <= 15


def invariants() -> list[tuple[Path, str]]:
    """Returns each invariant of each README."""
    return [
        (readme, re.sub(r"\s+", " ", text))
        for readme in READMES
        for text in re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", section(readme, "Invariants"), re.MULTILINE | re.DOTALL)
    ]


def functions(path: Path) -> set[str]:
    """Returns the names of the test functions of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    return set(re.findall(r"#\[test\](?:\s*#\[[^\]]*\])*\s*fn (\w+)", text))


@cache
def names_of_tests(folder: Path) -> frozenset[str]:
    """Returns the names of all tests of a crate."""
    return frozenset(name for path in folder.rglob("*.rs") for name in functions(path))


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_every_invariant_names_its_test(readme: Path) -> None:
    """Catches an invariant that no test and no lint keeps, and a test that has moved or has another name."""
    own = [text for path, text in invariants() if path == readme]
    assert own
    for text in own:
        if "Kept by `clippy.toml`" in text:
            continue
        kept, found, tests = text.partition("Test: ") if "Test: " in text else text.partition("Tests: ")
        assert found, f"{readme}: no test is named: {text}"
        files = [*re.findall(r"`([^`]+\.rs)`", kept), *re.findall(r"`([^`]+\.(?:rs|py))`", tests)]
        read = [path for name in files for path in places(readme, name) if path.is_file()]
        known = {name for path in read for name in functions(path)} | names_of_tests(readme.parent)
        for name in re.findall(r"`(\w+_\w+)`", tests):
            assert name in known, f"{readme}: `{name}` is no test of {[str(path) for path in read]}"


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_the_documentation_of_a_crate_is_its_readme(crate: Path) -> None:
    """Catches a crate with a second description, and a README without the way to the glossary and the picture."""
    root = (crate / "src" / "lib.rs").read_text(encoding="utf-8")
    assert root.startswith('#![doc = include_str!("../README.md")]\n')
    assert not re.search(r"^//!", root, re.MULTILINE)
    text = (crate / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# cutthrough-{crate.name}\n")
    assert "(../../docs/glossary.md)" in text
    assert "(../../ARCHITECTURE.md)" in text
    # Rustdoc would run it as a test.
    assert not re.search(r"^(?: {4}|```)", text, re.MULTILINE)


def test_every_crate_stands_in_the_architecture() -> None:
    """Catches a crate without its line, a line without its crate, and a page that has grown long."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[`(\w+)`\]\(crates/\1/README.md\) \|", text, re.MULTILINE)) == {
        crate.name for crate in CRATES
    }
    assert len(text.splitlines()) <= 150


@pytest.mark.parametrize(("library", "crates"), [("pyo3", {"python"}), ("rayon", {"workers"})])
def test_libraries_stay_in_their_crates(library: str, crates: set[str]) -> None:
    """Catches a crate that knows of Python, and one with threads of rayon's."""
    uses = set()
    for crate in CRATES:
        manifest = (crate / "Cargo.toml").read_text(encoding="utf-8")
        ours = manifest.split("[dev-dependencies]")[0]
        if re.search(rf"^{library}\b", ours, re.MULTILINE):
            uses.add(crate.name)
    assert uses == crates


def lines(name: str) -> int:
    """Returns the number of lines of a page."""
    return len((ROOT / name).read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(("page", "most"), [("README.md", 130), ("CONTRIBUTING.md", 70), ("CHANGELOG.md", 64)])
def test_first_pages_stay_short(page: str, most: int) -> None:
    """Catches a first page that grows by one more paragraph with each change."""
    assert lines(page) <= most


def test_one_file_has_unsafe_code() -> None:
    """Catches unsafe code in another file, and a block without its proof."""
    blocks = re.compile(r"\bunsafe (?:\{|impl|fn)")
    files = [path for crate in CRATES for path in (crate / "src").rglob("*.rs")]
    found = {path.name: path for path in files if blocks.search(path.read_text(encoding="utf-8"))}
    assert list(found) == ["shim.rs"]
    text = found["shim.rs"].read_text(encoding="utf-8")
    assert text.count("// SAFETY:") + text.count("/// # Safety") >= len(blocks.findall(text))
