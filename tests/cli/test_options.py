"""Options that several commands share."""

from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from univer.cli import main
from univer.cli.options import FilterOptions, PairOptions, SamplingOptions, VerificationOptions, expanded
from univer.couplings.order import ORDERS
from univer.engine.options import Options

COMMANDS = [
    ["generate", "abc"],
    ["compare"],
    ["doctor"],
    ["tune"],
    ["trace", "folder"],
    ["reproduce", "depth"],
    ["bench", "spec-bench"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("draft", ["", " "])
def test_an_empty_name_of_a_draft_is_refused_before_a_model_is_loaded(
    command: list[str], draft: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--target", str(tmp_path / "nowhere"), "--draft", draft]) == 2
    error = capsys.readouterr().err
    assert "'--draft': the name is empty: leave the option out for the default" in error


def test_the_options_of_the_command_line_are_those_of_generate_in_python() -> None:
    shown = {field.name for group in (VerificationOptions, SamplingOptions) for field in fields(group)}
    assert shown <= {field.name for field in fields(Options)}


def test_the_orders_that_are_offered_are_those_that_there_are() -> None:
    offered, _ = get_args(get_type_hints(VerificationOptions)["order"])
    assert get_args(offered) == ORDERS


def test_a_group_stands_for_its_options() -> None:
    found = []

    def command(*, models: PairOptions, filters: FilterOptions, words: int = 3) -> None:
        found.append((models, filters, words))

    app = typer.Typer()
    app.command()(expanded(command))
    result = CliRunner().invoke(app, ["--target", "a/b", "--top-k", "4", "--words", "5"])
    assert result.exit_code == 0, result.output
    assert found == [(PairOptions(target="a/b"), FilterOptions(top_k=4), 5)]
