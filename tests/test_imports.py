"""Imports within the Python package that import-linter cannot see."""

from __future__ import annotations

import ast
from pathlib import Path


def test_no_module_of_the_package_imports_its_root() -> None:
    """Catches an arrow that the contracts in pyproject.toml cannot see: a linter takes `_core` for the root."""
    package = Path(__file__).resolve().parent.parent / "python/cutthrough"
    modules = [path for path in package.rglob("*.py") if "papers" not in path.relative_to(package).parts]
    assert len(modules) > 100
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names if alias.asname] if isinstance(node, ast.Import) else []
            named += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            assert not {"cutthrough", "."} & set(named), f"{path}: {ast.unparse(node)}"
