"""Imports go one way: each part of the package uses only what stands before it."""

import ast
from pathlib import Path

import univer

ROOT = Path(univer.__file__).parent
LEVELS = [
    ("laws", "topology", "files"),
    ("tree",),
    ("rules",),
    ("couplings",),
    ("methods",),
    ("verdict",),
    ("models",),
    ("runtime",),
    ("drafting",),
    ("engine",),
    ("audit", "tuning", "training", "bench", "doctor"),
    ("serve",),
    ("cli",),
]
RANK = {part: rank for rank, parts in enumerate(LEVELS) for part in parts}


def imported(source: str) -> set[str]:
    """Parts of the package that a module imports, anywhere in it: in functions and for type checkers as well."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "univer":
            modules = [f"univer.{alias.name}" for alias in node.names] if node.module == "univer" else [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names if alias.name.startswith("univer.")]
        else:
            continue
        names |= {module.split(".")[1] for module in modules}
    return names & RANK.keys()


def upward(part: str, source: str) -> set[str]:
    """Imports of a module of `part` that do not come before it."""
    return {name for name in imported(source) if name != part and RANK[name] >= RANK[part]}


def test_no_import_goes_upwards() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert part in RANK, f"{part} has no place in the order of imports"
        if wrong := upward(part, path.read_text(encoding="utf-8")):
            found[str(path.relative_to(ROOT))] = sorted(wrong)
    assert not found


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from univer.engine.row import Row
def late():
    import univer.cli.app
    from univer import audit
"""
    assert upward("drafting", source) == {"engine", "cli", "audit"}
    assert upward("cli", source) == set()
