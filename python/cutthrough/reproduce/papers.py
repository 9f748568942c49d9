"""The papers that come with Cutthrough."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutthrough.arguments.faults import nearest, refuse

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Paper", "catalogue", "find"]

#: `papers/` of the repository. The wheel has it inside the package.
HOME = Path(__file__).parent.parent / "papers"


@dataclass(frozen=True)
class Paper:
    """A directory under `papers/`."""

    directory: Path

    @property
    def name(self) -> str:
        """The identifier on the command line."""
        return self.directory.name

    @property
    def title(self) -> str:
        """The first heading of its README."""
        lines = (self.directory / "README.md").read_text(encoding="utf-8").splitlines()
        return next(line.removeprefix("# ") for line in lines if line.startswith("# "))

    def experiment(self, name: str) -> Path:
        """Returns the path of one of its experiment files."""
        return self.directory / "experiments" / f"{name}.toml"

    @property
    def claims(self) -> Path:
        """The path of its `claims.py`, or of its package `claims`."""
        path = self.directory / "claims.py"
        return path if path.exists() else self.directory / "claims" / "__init__.py"

    def module(self) -> ModuleType:
        """Returns its claims module, executed."""
        path, name = self.claims, f"cutthrough_paper_{self.name.replace('-', '_')}"
        # Removes the modules of another paper of this name, which tests may have imported.
        for known in [known for known in sys.modules if known.partition(".")[0] == name]:
            del sys.modules[known]
        parts = [str(path.parent)] if path.stem == "__init__" else None
        spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=parts)
        if spec is None or spec.loader is None:
            message = f"{path} cannot be loaded"
            raise ImportError(message)
        module = importlib.util.module_from_spec(spec)
        # Data classes find their module by its name.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


def find(names: list[str]) -> list[Paper]:
    """Returns the papers of these names, or all.

    Raises:
        ExperimentError: No paper has one of the names.
    """
    papers = (Paper(directory) for directory in sorted(HOME.glob("*")))
    held = {paper.name: paper for paper in papers if paper.claims.exists()}
    for name in names:
        if name not in held:
            raise refuse("", f"there is no paper `{name}`", allowed=list(held), help=nearest(name, held))
    return [held[name] for name in names] if names else list(held.values())


def catalogue() -> list[dict[str, str]]:
    """Returns name and summary of every paper."""
    return [{"name": paper.name, "summary": paper.title} for paper in find([])]
