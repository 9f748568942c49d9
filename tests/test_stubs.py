"""The stub of the compiled half, against the compiled half."""

from __future__ import annotations

import ast
from pathlib import Path

import cutthrough
from cutthrough import _core

STUB = ast.parse(Path(cutthrough.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


#: Classes of the stub. Typed dictionaries are plain ones in the compiled half.
CLASSES = [
    node
    for node in STUB.body
    if isinstance(node, ast.ClassDef) and "TypedDict" not in [ast.unparse(base) for base in node.bases]
]


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_stub_names_what_the_module_has() -> None:
    """Catches a function or class that only one of the two has."""
    named = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)} | {node.name for node in CLASSES}
    assigned = (node.target for node in STUB.body if isinstance(node, ast.AnnAssign))
    constants = [target.id for target in assigned if isinstance(target, ast.Name)]
    assert named | public(constants) == public(dir(_core))


def test_stub_names_what_the_classes_have() -> None:
    """Catches a method or property that only one of the two has, and parameters that differ."""
    for node in CLASSES:
        held = getattr(_core, node.name)
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        annotated = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
        attributes = [target.id for target in annotated if isinstance(target, ast.Name)]
        inherited = public(dir(held.__base__))
        assert public([*methods, *attributes]) == public(dir(held)) - inherited, node.name
        for name, method in methods.items():
            signature = getattr(getattr(held, name), "__text_signature__", None)
            if signature and name != "__init__":
                given = [part.partition("=")[0].strip(" $/") for part in signature.strip("()").split(",")]
                stubbed = [argument.arg for argument in method.args.args]
                assert [part for part in given if part] == stubbed, f"{node.name}.{name}"


def test_version_is_the_workspace_s() -> None:
    """Catches a wheel and a module of different versions."""
    from importlib.metadata import version

    assert _core.__version__ == version("cutthrough")
