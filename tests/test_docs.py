"""The examples of the documentation run, and its links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from random_trees import random_tree
from tiny_models import tiny_llama
from univer import methods, outcome_law
from univer.methods import _registry

DOCS = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_table_of_methods_is_complete() -> None:
    (page,) = (page for page in DOCS if page.name == "methods.md")
    named = set(re.findall(r"`([a-z-]+)`", page.read_text(encoding="utf-8")))
    assert set(methods()) <= named


def test_every_fault_has_a_row_and_a_test_in_each_of_its_files() -> None:
    (page,) = (page for page in DOCS if page.name == "faults.md")
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 39))
    for number, cell in rows:
        files = re.findall(r"`([\w/]+\.py)`", cell)
        assert files, number
        for file in files:
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            assert f"def test_fault_{int(number):02}_" in text, (number, file)


def test_the_example_rule_is_the_law_of_membership_and_passes_the_audit(capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = (page for page in DOCS if page.name == "adding-a-rule.md")
    codes = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    known = dict(_registry)
    try:
        for code in codes:
            exec(compile(code, page.name, "exec"), {})
        assert capsys.readouterr().out == "True\n"
        tree, target = random_tree("fixed", "2x3", 9, seed=0)
        assert outcome_law(tree, target, "follow").allclose(outcome_law(tree, target, "membership"))
    finally:
        for name in set(_registry) - set(known):
            del _registry[name]


def test_the_examples_of_the_page_on_drafts_run() -> None:
    (page,) = (page for page in DOCS if page.name == "drafts.md")
    codes = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = {"model": tiny_llama(0), "prompt": torch.tensor([[1, 40, 41, 40]])}
    for code in codes:
        exec(compile(code, page.name, "exec"), names)
    assert names["result"].stats.draft == "repeat"
    assert len(names["store"]) == 5 + 2 * 13


def test_the_example_of_the_page_on_the_doctor_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = (page for page in DOCS if page.name == "doctor.md")
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, page.name, "exec"), {"model": tiny_llama(0)})
    assert "identity in float32: the same" in capsys.readouterr().out


def test_the_example_of_the_page_on_the_engine_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = (page for page in DOCS if page.name == "engine.md")
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {"model": tiny_llama(0)}
    exec(compile(code, page.name, "exec"), names)
    assert names["first"].stats.new_tokens <= 12
    assert names["second"].ended
    assert capsys.readouterr().out.startswith("5 [")


@pytest.mark.slow
def test_the_example_of_the_page_on_the_drop_in_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = (page for page in DOCS if page.name == "drop-in.md")
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, page.name, "exec"), {})
    assert "primary colours are" in capsys.readouterr().out
