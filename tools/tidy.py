"""Checks the text and the shape of the project's files: `python tools/tidy.py` (part of `make lint`).

Phrases that make readers read a sentence twice are counted by file in comments, docstrings and pages. `tools/tidy.json`
records the numbers, which may only fall: `--record` writes what is left. Some phrases are banned: the record admits
none in a file that had none. Comments and prose have at most 120 columns, files 600 lines, functions 70 in Rust and 60
in Python (longer ones are recorded, and may only get shorter); structs of the simulator have at most 30 fields and
traits 15 methods; nothing is left TODO; links within the repository lead to files and headings; text states no number
of variants that a catalogue contradicts; every crate forbids unsafe code but `processes`, which calls MPI in one file.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
RECORD = "tools/tidy.json"

#: Phrases that are counted, as regular expressions.
PHRASES = (
    "so many",
    "those that",
    "of its own",
    "one after the other",
    "[Ww]hat it (?:takes|is|comes|has|does)",
    "(?:^|[.:;] )The same(?: |,|\\.)",
    "[Ll]ikewise",
    "[Ww]ithout it,",
    "goes by",
    "is asked for",
    "stands beside",
    "in the place of",
    "/// (?:Of|And|With) ",
)
#: Phrases that are errors, as regular expressions.
BANNED = ("so many", "those that", "of its own", "one after the other", "[Ww]hat it takes")
#: Whether the ban holds in every file. Otherwise it spares the files that `tools/tidy.json` records with phrases.
BANNED_EVERYWHERE = False
COLUMNS = 120
FILE_LINES = 600
FUNCTION_LINES = {".rs": 70, ".py": 60}
#: Crates whose structs and traits are limited, and the limits: keyword, what a member begins with, and most members.
SIMULATOR = ("crates/engine/src/", "crates/fabric/src/", "crates/host/src/")
MEMBERS = (("struct", r"(?:pub(?:\([^)]*\))? )?\w+:", 30), ("trait", r"(?:const |async )*fn ", 15))

#: Files that scripts write.
GENERATED = (
    *("python/cutthrough/sections/", "docs/reference/generated/"),
    *("python/cutthrough/quantities/__init__.py", "python/cutthrough/quantities/tables.py"),
)
#: Numbers in words, for counts of variants.
NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
#: Catalogues: the file, the enum, and how text names all of its variants, as a regular expression.
CATALOGUES = (
    ("crates/fabric/src/catalogue.rs", "RouterSpec", "(?:router )?architectures"),
    ("crates/topology/src/catalogue.rs", "families!", "kinds of topolog(?:y|ies)"),
    ("crates/routing/src/catalogue.rs", "RoutingSpec", "kinds of routings?|routing algorithms"),
    ("crates/traffic/src/catalogue.rs", "PatternSpec", "kinds of patterns?|traffic patterns"),
    ("crates/apps/src/benchmarks/catalogue.rs", "BenchmarkSpec", "kinds of benchmarks?"),
    ("crates/experiment/src/nic.rs", "NicSpec", "kinds of (?:network )?interfaces?"),
)
#: The history states the numbers of its day.
HISTORY = "CHANGELOG.md"
#: What the root of every crate says, and the crate and file with unsafe code. The crate denies it outside the file.
NO_UNSAFE = "#![forbid(unsafe_code)]"
CALLS_C, CALLS_C_FILE = "crates/processes", "crates/processes/src/shim.rs"


@dataclass(frozen=True)
class Line:
    """A line of a comment, a docstring or a page, without its marker."""

    number: int
    text: str


def main() -> int:
    """Checks all tracked files. Returns 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the numbers of phrases to tools/tidy.json")
    record = parser.parse_args().record
    files = tracked()
    counts = {name: count for name in files if (count := phrases_in(name))}
    recorded: dict[str, int] = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))
    found = [line for name in files for line in banned(name, recorded)]
    if record:
        recorded = counts | dict(too_long(files))
        (ROOT / RECORD).write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    found += risen(counts, recorded)
    for name in files:
        found += wide(name)
        found += long(name, recorded)
        found += crowded(name)
        found += unfinished(name)
        found += broken_links(name)
    found += miscounted(files)
    found += unsafe_crates()
    for line in found:
        sys.stdout.write(f"{line}\n")
    return 1 if found else 0


def tracked() -> list[str]:
    """Returns the names of the files that people write: Rust, Python and pages."""
    command = ["git", "ls-files"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")  # noqa: S603
    written = [name for name in names if name.endswith((".rs", ".py", ".md")) and not name.startswith(GENERATED)]
    return [name for name in written if name != "tools/tidy.py" and (ROOT / name).is_file()]


def read(name: str) -> str:
    """Returns the text of a file."""
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> Iterator[Line]:
    """Yields the lines of a file that readers read: comments and docstrings, or a page without its code blocks."""
    text = read(name)
    if name.endswith(".rs"):
        for number, line in enumerate(text.splitlines(), 1):
            if (comment := re.search(r"(?:^|\s)(//[/!]?.*)$", line)) and '"' not in line[: comment.start(1)]:
                yield Line(number, comment.group(1))
    elif name.endswith(".py"):
        yield from python_prose(text)
    else:
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            if not fenced:
                yield Line(number, line)


def python_prose(text: str) -> Iterator[Line]:
    """Yields the comments and docstrings of a Python file."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield Line(number, line.lstrip())
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            for offset, line in enumerate(first.value.value.splitlines()):
                yield Line(first.lineno + offset, line)


def phrases_in(name: str) -> int:
    """Returns the number of counted phrases in a file's text."""
    found = re.compile("|".join(PHRASES))
    return sum(len(found.findall(line.text)) for line in prose(name))


def risen(counts: dict[str, int], recorded: dict[str, int]) -> Iterator[str]:
    """Yields files with more phrases than recorded, or with fewer, which must be recorded."""
    for name in sorted(set(counts) | {name for name in recorded if ": " not in name}):
        now, before = counts.get(name, 0), recorded.get(name, 0)
        if now > before:
            found = re.compile("|".join(PHRASES))
            for line in prose(name):
                if phrase := found.search(line.text):
                    yield f"{name}:{line.number}: `{phrase.group().strip()}`: say it with the subject first"
        elif now < before:
            yield f"{name}: {now} phrases, recorded are {before}: run `python tools/tidy.py --record`"


def banned(name: str, recorded: dict[str, int]) -> Iterator[str]:
    """The banned phrases of a file in which the ban holds."""
    if recorded.get(name, 0) and not BANNED_EVERYWHERE:
        return
    phrases = re.compile("|".join(BANNED))
    for line in prose(name):
        for phrase in phrases.findall(line.text):
            yield f"{name}:{line.number}: `{phrase}` is banned: name the parameter, or say it with the subject first"


def wide(name: str) -> Iterator[str]:
    """Yields lines of text that are too wide. Tables and links are exempt."""
    for line in prose(name):
        whole = read(name).splitlines()[line.number - 1] if name.endswith(".md") else ""
        text = whole or line.text
        kept = text.lstrip().startswith(("|", "$$")) or text.startswith("    ") or "](" in text or "http" in text
        if len(text) > COLUMNS and not kept:
            yield f"{name}:{line.number}: {len(text)} columns; text has at most {COLUMNS}"


def long(name: str, recorded: dict[str, int]) -> Iterator[str]:
    """Yields files and functions that are too long."""
    if name.endswith(".md"):
        return
    lines = read(name).splitlines()
    if len(lines) > FILE_LINES and not is_test(name):
        yield f"{name}: {len(lines)} lines; a file has at most {FILE_LINES}"
    most = FUNCTION_LINES[Path(name).suffix]
    for start, end, function in functions(name, lines):
        allowed = max(most, recorded.get(f"{name}: {function}", 0))
        if end - start + 1 > allowed and not is_test(name):
            yield f"{name}:{start}: `{function}` has {end - start + 1} lines; a function has at most {most}"


def crowded(name: str) -> Iterator[str]:
    """Yields structs and traits of the simulator that have too many members."""
    text = read(name) if name.startswith(SIMULATOR) and name.endswith(".rs") else ""
    for keyword, member, most in MEMBERS:
        form = rf"^(?:pub(?:\([^)]*\))? )?{keyword} (\w+)[^;{{]*\{{\n(.*?)^\}}"
        for item, body in re.findall(form, text, re.MULTILINE | re.DOTALL):
            if (count := len(re.findall(rf"^    {member}", body, re.MULTILINE))) > most:
                yield f"{name}: `{item}` has {count} members; a {keyword} has at most {most}"


def too_long(files: list[str]) -> Iterator[tuple[str, int]]:
    """Yields the functions that are too long today, and their lines."""
    for name in files:
        if name.endswith(".md") or is_test(name):
            continue
        for start, end, function in functions(name, read(name).splitlines()):
            if end - start + 1 > FUNCTION_LINES[Path(name).suffix]:
                yield f"{name}: {function}", end - start + 1


def is_test(name: str) -> bool:
    """Returns whether a file is one of tests or benchmarks."""
    return bool(re.search(r"(^|/)(tests?|benches|testkit)/", name)) or name.endswith("tests.rs")


def functions(name: str, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields the first and last line and the name of each function."""
    if name.endswith(".py"):
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.lineno, node.end_lineno or node.lineno, node.name
        return
    for at, line in enumerate(lines):
        if begin := re.match(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)", line):
            ends = (row for row in range(at, len(lines)) if re.match(rf"^{begin.group(1)}\}}", lines[row]))
            opened = next((row for row in range(at, len(lines)) if lines[row].rstrip().endswith(("{", ";", "}"))), at)
            if lines[opened].rstrip().endswith("{"):
                yield at + 1, next(ends, at) + 1, begin.group(2)


def unfinished(name: str) -> Iterator[str]:
    """Yields comments that leave work for later without an issue."""
    for line in prose(name):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line.text):
            yield f"{name}:{line.number}: nothing is left `{line.text.strip()[:40]}`"


def broken_links(name: str) -> Iterator[str]:
    """Yields links of a page to files or headings that do not exist."""
    if not name.endswith(".md"):
        return
    for line in prose(name):
        for target in re.findall(r"\]\(([^)\s]+)\)", line.text):
            if re.match(r"[a-z]+:", target) or "/generated/" in target:
                continue
            path, _, heading = target.partition("#")
            page = (ROOT / name).parent / path if path else ROOT / name
            if not page.exists():
                yield f"{name}:{line.number}: link to `{target}`: there is no such file"
            elif heading and page.suffix == ".md" and heading not in headings(page):
                yield f"{name}:{line.number}: link to `{target}`: there is no such heading"


def headings(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, and the anchors that it names itself."""
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    return anchors | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def variants(catalogue: str, enum: str) -> int:
    """The number of variants of an enum, or of a macro that makes one; 0 if it has moved."""
    body = re.search(rf"^(?:pub enum )?{enum} \{{(.*?)\n\}}", read(catalogue), re.DOTALL | re.MULTILINE)
    return len(re.findall(r"^    [A-Z]\w*", body.group(1), re.MULTILINE)) if body else 0


def miscounted(files: list[str]) -> Iterator[str]:
    """Numbers of variants that a catalogue contradicts."""
    for catalogue, enum, words in CATALOGUES:
        count = variants(catalogue, enum) if (ROOT / catalogue).is_file() else 0
        if not count:
            yield f"tools/tidy.py: there is no {enum} in {catalogue}: CATALOGUES has to follow it"
            continue
        said = re.compile(rf"\b({'|'.join(NUMBERS)}|\d+) ({words})\b", re.IGNORECASE)
        right = (str(count), *NUMBERS[count : count + 1])
        for name in files:
            for line in () if name == HISTORY else prose(name):
                for number, noun in said.findall(line.text):
                    if number.lower() not in right:
                        yield f"{name}:{line.number}: {number} {noun}, and {enum} has {count}"


def unsafe_crates() -> Iterator[str]:
    """Crates that do not forbid unsafe code, or do not take the lints of the workspace."""
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        name = f"crates/{manifest.parent.name}"
        said = NO_UNSAFE.replace("forbid", "deny") if name == CALLS_C else NO_UNSAFE
        if said not in read(f"{name}/src/lib.rs").splitlines():
            yield f"{name}/src/lib.rs: the crate has to say `{said}`"
        if "[lints]\nworkspace = true" not in manifest.read_text(encoding="utf-8"):
            yield f"{name}/Cargo.toml: the crate has to take the lints of the workspace"
    for path in sorted((ROOT / CALLS_C / "src").rglob("*.rs")):
        name = path.relative_to(ROOT).as_posix()
        if name != CALLS_C_FILE and "allow(unsafe_code" in path.read_text(encoding="utf-8"):
            yield f"{name}: unsafe code is in {CALLS_C_FILE} alone"


if __name__ == "__main__":
    sys.exit(main())
