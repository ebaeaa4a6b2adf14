"""`univer methods`."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import univer
from univer.cli.app import app
from univer.methods import _registry


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> str:
    """A registered method that does not keep the law, by name."""
    method = replace(univer.methods()["univer"], name="test-lossy", exact=False, paper="nowhere")
    monkeypatch.setitem(_registry, method.name, method)
    return method.name


def test_the_table_has_one_line_for_each_method(lossy: str) -> None:
    result = CliRunner().invoke(app, ["methods"])
    assert result.exit_code == 0
    heading, *lines = result.output.splitlines()
    assert heading.split() == ["name", "draft", "law", "rule", "coupling", "exact", "paper"]
    assert [line.split()[0] for line in lines] == list(univer.methods())
    rows = {line.split()[0]: line.split() for line in lines}
    assert rows["univer"][:5] == ["univer", "greedy", "GreedyTransport", "lifted", "yes"]
    assert rows[lossy][4] == "no"
    assert all("\x1b" not in line and line == line.rstrip() for line in lines)


def test_the_same_as_json(lossy: str) -> None:
    result = CliRunner().invoke(app, ["methods", "--json"])
    rows = {row["name"]: row for row in json.loads(result.output)}
    assert list(rows) == list(univer.methods())
    assert rows["block"] == {
        "name": "block",
        "draft_law": "chain",
        "rule": "MaximalCoupling",
        "coupling": "lifted",
        "exact": True,
        "paper": univer.methods()["block"].paper,
    }
    assert rows[lossy]["exact"] is False
