"""`univer methods`."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import univer
from univer.cli.app import app
from univer.methods import _registry
from univer.tree import DRAFT_LAWS


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> str:
    """A registered method that is not exact, by name."""
    method = replace(univer.methods()["univer"], name="test-lossy", exact=False, paper="nowhere")
    monkeypatch.setitem(_registry, method.name, method)
    return method.name


def test_found_31_the_table_has_descriptions_and_the_recommended_method_first(lossy: str) -> None:
    result = CliRunner().invoke(app, ["methods"])
    assert result.exit_code == 0
    table, _, legend = result.output.partition("\n\n")
    heading, *lines = table.splitlines()
    assert heading.split() == ["name", "description", "sampling", "coupling", "exact", "paper"]
    rows = {line.split()[0]: line for line in lines}
    assert next(iter(rows)) == "univer"
    assert set(rows) == set(univer.methods())
    assert "Use this one" in rows["univer"]
    assert re.search(r"  greedy +lifted +no +nowhere$", rows[lossy])
    assert not any(
        type(method.rule).__name__ in table for method in univer.methods().values() if method.name != "mixed"
    )
    assert all(f"{scheme} (" in legend.replace("\n", " ") for scheme in DRAFT_LAWS)
    assert all("\x1b" not in line and line == line.rstrip() for line in lines)


def test_the_same_as_json(lossy: str) -> None:
    result = CliRunner().invoke(app, ["methods", "--json"])
    rows = {row["name"]: row for row in json.loads(result.output)}
    assert set(rows) == set(univer.methods())
    block = univer.methods()["block"]
    assert rows["block"] == {
        "name": "block",
        "title": "Block",
        "description": block.description,
        "draft_law": "chain",
        "rule": "MaximalCoupling",
        "coupling": "lifted",
        "exact": True,
        "paper": block.paper,
    }
    assert rows[lossy]["exact"] is False
