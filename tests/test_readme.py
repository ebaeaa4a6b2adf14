"""What README.md shows works as shown."""

import re
from pathlib import Path

import pytest

from univer.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_commands_install_with_the_tested_versions() -> None:
    start, tests = _blocks("bash")
    for command in (start, tests):
        assert command.startswith("python -m pip install -c constraints.txt ")
        assert command.count("\n") == 1
    assert " && univer generate " in start
    assert tests.rstrip().endswith(" && python -m pytest -n auto --dist loadfile")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_first_command_writes_text(capsys: pytest.CaptureFixture[str]) -> None:
    prompt = re.search(r'univer generate "([^"]+)"', README)
    assert prompt is not None
    assert main(["generate", prompt[1], "--max-new-tokens", "8", "--seed", "0"]) == 0
    output = capsys.readouterr().out
    text, figures = output.split("\nsetting ")
    assert text.strip()
    assert "\nspeed " in figures


@pytest.mark.slow
def test_the_example_in_python_has_six_lines_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = _blocks("python")
    assert len([line for line in code.splitlines() if line]) == 6
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("The three primary colours are")
