"""What is installed: its version, its metadata, and that it imports no more than it must."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import univer

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def _requirements() -> list[Requirement]:
    listed = [
        *PROJECT["dependencies"],
        *(entry for extra in PROJECT["optional-dependencies"].values() for entry in extra),
    ]
    return [Requirement(entry) for entry in listed]


def test_every_place_that_names_the_version_names_the_same() -> None:
    version = PROJECT["version"]
    assert univer.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_says_that_it_is_typed() -> None:
    assert files("univer").joinpath("py.typed").is_file()


def test_every_dependency_has_a_range() -> None:
    for requirement in _requirements():
        assert requirement.name == "univer" or requirement.specifier, requirement


def test_the_tested_versions_lie_in_the_ranges() -> None:
    pins = _pins()
    for requirement in _requirements():
        if requirement.name == "univer":
            continue
        assert requirement.name in pins, f"constraints.txt lacks {requirement.name}"
        assert pins[requirement.name] in requirement.specifier, requirement


def test_found_25_one_install_line_runs_everything_but_ray() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = [Requirement(entry) for entry in extras["all"]]
    assert everything.extras == set(extras) - {"all", "ray", "test", "docs", "dev"}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {extra for page in pages for extra in _extras(page.read_text(encoding="utf-8"))}
    sources = (ROOT / "src").rglob("*.py")
    named |= {extra for source in sources for extra in _extras(source.read_text(encoding="utf-8"))}
    assert named <= {"all", "ray", "test", "docs"}


def _extras(text: str) -> list[str]:
    """The extras that a text asks to install."""
    return [extra for found in re.findall(r"""['"](?:\.|univer)\[([a-z,]+)\]""", text) for extra in found.split(",")]


def test_continuous_integration_installs_the_tested_torch() -> None:
    named = re.findall(r"torch==([0-9.]+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert named == [_pins()["torch"]]


@pytest.mark.parametrize("statement", ["import univer; univer.methods()", "import univer.models; import univer.cli"])
def test_the_core_needs_no_extra(statement: str) -> None:
    script = f"import sys; {statement}; print(*sorted({{'transformers', 'typer', 'rich', 'gguf'}} & set(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == []
