"""What commands import before they answer: presence of modules, not time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import cutthrough as ct
import pytest

if TYPE_CHECKING:
    from pathlib import Path

#: Runs a command line and prints which of the modules named first were imported.
PROGRAM = """
import sys
from cutthrough.cli import main
watched, sys.argv = sys.argv[1].split(","), ["cutthrough", *sys.argv[2:]]
try:
    main()
finally:
    print("IMPORTED", *(name for name in watched if name in sys.modules))
"""
DRAWING = ["matplotlib"]
ALL = ["matplotlib", "numpy", "pyarrow", "pandas", "rich.progress", "cutthrough.results"]


@pytest.mark.parametrize(
    ("arguments", "watched"),
    [
        (["--version"], ALL),
        (["list"], DRAWING),
        (["check", "FILE"], DRAWING),
        (["analyze", "FILE"], DRAWING),
        (["run", "FILE", "--json"], DRAWING),
        (["map", "-g", "stencil:4x4", "-m", "mesh:4x4"], DRAWING),
    ],
    ids=lambda value: value[0],
)
def test_commands_do_not_import_what_they_do_not_use(small: Path, arguments: list[str], watched: list[str]) -> None:
    """Catches an import at the top of a module that makes every command wait."""
    words = [str(small) if word == "FILE" else word for word in arguments]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(watched), *words], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1].split() == ["IMPORTED"]


def test_the_watched_modules_are_those_that_drawing_imports(small: Path, tmp_path: Path) -> None:
    """Catches a test that watches for a module that nothing imports."""
    command = [sys.executable, "-c", PROGRAM, "matplotlib,numpy", "run", str(small), "--out", str(tmp_path / "out")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1].split() == ["IMPORTED", "matplotlib", "numpy"]


def test_every_name_of_the_package_is_there() -> None:
    """Catches a name without a home, and a wrong name that is not refused."""
    assert all(getattr(ct, name) is not None for name in ct.__all__)
    assert set(ct.__all__) <= set(dir(ct))
    with pytest.raises(AttributeError, match="no attribute 'Tours'"):
        ct.Tours  # type: ignore[attr-defined]  # noqa: B018
