"""What a report puts first, and the sentence that it makes of it."""

from pathlib import Path
from typing import Any

import pytest

from bench.report.made_up import METHODS, replay_records, write_run
from univer.bench.report import Run, Selection, load_runs
from univer.bench.report.focus import check_selection, main_row, ordered, sentence
from univer.bench.report.runs import Row


@pytest.fixture(scope="module")
def runs(live_folder: Path, replay_folder: Path) -> list[Run]:
    return load_runs([replay_folder, live_folder])


def row(**changed: Any) -> Row:
    return {
        "method": "univer (gain)",
        "tree": "2x5",
        "tau": {"value": 3.5, "low": 3.25, "high": 3.75, "prompts": 12},
        "gain": {"value": 0.0751, "low": 0.0512, "high": 0.0999, "prompts": 11},
        "reference_tree": "2x5",
        "speedup": None,
        "rate": None,
        "prompts": 12,
        "source": "replay",
    } | changed


def test_a_speed_up_comes_before_a_gain_and_is_first(runs: list[Run]) -> None:
    assert [run.name for run in ordered(runs, Selection())] == ["live", "replay"]
    said = "".join(sentence(main_row(runs[1], Selection()), "rrsw"))
    assert said.startswith("UniVer (gain) on the tree 2x5 generates text ")
    assert " times as fast as plain decoding (95\u202f% interval " in said


def test_the_choice_without_a_selection(runs: list[Run]) -> None:
    chosen = main_row(runs[0], Selection())
    assert (chosen["method"], chosen["tree"], chosen["temperature"]) == ("univer (gain)", "2x5", 1.0)


def test_a_selection(runs: list[Run]) -> None:
    for wanted in (("traversal", "3x3", 1.0), ("rrsw", "2x5", 0.3)):
        chosen = main_row(runs[0], Selection(*wanted))
        assert (chosen["method"], chosen["tree"], chosen["temperature"]) == wanted
    assert main_row(runs[0], Selection("univer:gain"))["method"] == "univer (gain)"
    with pytest.raises(ValueError, match="no run has the tree '9x9'; there are 2x5, 3x3"):
        check_selection(runs, Selection(tree="9x9"))


def test_without_univer_the_longest_acceptance_is_first(tmp_path: Path) -> None:
    others = tuple(name for name in METHODS if not name.startswith("univer"))
    records = replay_records(per_group=1, methods=others, trees=("3x3",), temperatures=(0.3, 0.6))
    write_run(tmp_path / "run", "replay", records)
    chosen = main_row(load_runs([tmp_path / "run"])[0], Selection())
    assert (chosen["method"], chosen["temperature"]) == ("greedy", 0.6)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"speedup": {"value": 1.42, "low": 1.36, "high": 1.49, "prompts": 12}},
            "UniVer (gain) on the tree 2x5 generates text 1.42 times as fast as plain decoding (95 % interval 1.36 to "
            "1.49, 12 prompts).",
        ),
        (
            {},
            "UniVer (gain) on the tree 2x5 gets 7.5 % more tokens out of a target pass than RRSw (95 % interval +5.1 % "
            "to +10.0 %, 11 prompts).",
        ),
        (
            {
                "gain": {"value": -0.02, "low": -0.03, "high": 0.01, "prompts": 12},
                "method": "membership",
                "tree": "grow",
            },
            "Membership on the tree grow gets 2.0 % fewer tokens out of a target pass than RRSw on the tree 2x5 (95 % "
            "interval −3.0 % to +1.0 %, 12 prompts).",
        ),
        (
            {"gain": None},
            "UniVer (gain) on the tree 2x5 gets 3.50 tokens out of a target pass (95 % interval 3.25 to 3.75, 12 "
            "prompts).",
        ),
        (
            {"gain": None, "tau": {"value": 3.5, "low": None, "high": None, "prompts": 4}},
            "UniVer (gain) on the tree 2x5 gets 3.50 tokens out of a target pass (4 prompts; an interval needs at "
            "least 6).",
        ),
        (
            {"gain": None, "tau": None},
            "UniVer (gain) on the tree 2x5 was run, but no round was completed, so there is no acceptance length yet.",
        ),
        (
            {
                "method": "plain",
                "tree": None,
                "gain": None,
                "rate": {"value": 21.34, "low": 20.16, "high": 22.5, "prompts": 12},
            },
            "Plain decoding generates 21.3 tokens per second (95 % interval 20.2 to 22.5, 12 prompts); nothing else "
            "was measured yet.",
        ),
    ],
)
def test_sentences(changed: dict[str, Any], said: str) -> None:
    assert "".join(sentence(row(**changed), "rrsw")).replace("\u202f", " ") == said
