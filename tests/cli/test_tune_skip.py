"""`univer tune-skip` on a tiny model."""

import json
from pathlib import Path

import pytest

from univer.cli import main
from univer.tuning.skip_search import SkipSearch


@pytest.fixture
def arguments(tiny_directory: Path) -> list[str]:
    return ["tune-skip", "--target", str(tiny_directory), "--count", "2", "--new-tokens", "6"]


def test_the_table_ends_with_a_draft_that_generate_takes(
    arguments: list[str], tiny_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    output = capsys.readouterr()
    heading, first, second, *rest = output.out.splitlines()
    assert heading.split()[:3] == ["skipped", "draft", "acceptance"]
    assert [row.split()[0] for row in (first, second)] == ["1", "2"]
    assert "12 positions of 2 texts" in rest[0]
    (advice,) = [line for line in rest if line.startswith("use --draft")]
    draft = advice.split()[-1]
    assert draft in first or draft in second
    assert "skip sets: 5 of 5" in output.err
    generate = ["generate", "abc", "--target", str(tiny_directory), "--max-new-tokens", "3", "--json"]
    assert main([*generate, "--draft", draft, "--tree", "2x1"]) == 0


def test_json_and_the_seed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed in ("3", "3", "4"):
        assert main([*arguments, "--json", "--seed", seed, "--beam", "3"]) == 0
        output = capsys.readouterr()
        assert output.err == ""
        found.append(json.loads(output.out))
    assert found[0]["measured"] == found[1]["measured"] != found[2]["measured"]
    assert len(found[0]["measured"]) == 6
    assert found[0]["draft"] in [entry["draft"] for entry in found[0]["best"]]
    assert found[0]["target_seconds"] > 0
    assert found[0]["interrupted"] is False


def test_ctrl_c_keeps_the_best_so_far(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SkipSearch.run

    def interrupted(search: SkipSearch, progress: object) -> object:
        def stop(done: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        return run(search, stop)

    monkeypatch.setattr(SkipSearch, "run", interrupted)
    assert main([*arguments, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert found["interrupted"] is True
    assert len(found["measured"]) == 2
    assert found["draft"] in ("skip=0", "skip=1")
    assert main(arguments) == 130
    printed = capsys.readouterr().out
    assert "interrupted: the best so far" in printed
    assert f"use --draft {found['draft']}" in printed


def test_prompts_of_a_file(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("one\ntwo\nthree\n")
    assert main([*arguments, "--json", "--count", "9", "--prompts", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["prompts"] == 3


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--temperature", "0"], "--temperature must be above 0"),
        (["--prompts", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--beam", "0"], "beam"),
        (["--target", "nothing"], "unknown model 'nothing'"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *extra]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
