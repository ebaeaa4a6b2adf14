"""`univer generate` as a person runs it: a real process, a pipe or a terminal, a real (small) model."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from univer.cli import main

COMMAND = [sys.executable, "-m", "univer.cli", "generate"]


def _small(directory: Path, *more: str) -> list[str]:
    return ["--target", str(directory), "--dtype", "float32", "--device", "cpu", "--seed", "1", "--tree", "2x2", *more]


def test_text_then_figures_without_colours_in_a_pipe(tiny_directory: Path) -> None:
    arguments = [*COMMAND, "abc abc", *_small(tiny_directory, "--max-new-tokens", "12")]
    finished = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "\x1b[" not in finished.stdout
    assert finished.stderr == ""
    assert "plain" not in finished.stdout
    for name in ("setting", "sampling", "tau", "tokens per pass", "speed", "time"):
        assert f"\n{name} " in finished.stdout


def test_one_object_with_everything(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "abc abc", *_small(tiny_directory, "--max-new-tokens", "12", "--json", "--raw")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["prompt"] == "abc abc"
    assert report["stats"]["prompt_tokens"] == 7
    assert report["stats"]["new_tokens"] == len(report["tokens"]) == len(report["from_draft"])
    assert report["compare_plain"] is None
    assert report["seed"] == 1


def test_a_seed_repeats_a_text_and_a_drawn_one_is_reported(
    tiny_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(*seed: str) -> dict[str, object]:
        arguments = [word for word in _small(tiny_directory, "--json") if word not in ("--seed", "1")]
        assert main(["generate", "abc abc", "--max-new-tokens", "16", *arguments, *seed]) == 0
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    drawn = report()
    assert report("--seed", str(drawn["seed"]))["tokens"] == drawn["tokens"]


@pytest.mark.parametrize("draft", ["lookup", "first=2", "skip=1", "tiny"])
@pytest.mark.parametrize(("method", "temperature"), [("univer", "1"), ("univer", "0")])
def test_every_kind_of_draft(
    draft: str, method: str, temperature: str, tiny_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = str(tiny_directory) if draft == "tiny" else draft
    options = ["--draft", draft, "--method", method, "--temperature", temperature, "--json", "--max-new-tokens", "12"]
    assert main(["generate", "abc abc", *_small(tiny_directory), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["stats"]["new_tokens"] == len(report["tokens"]) > 0
    if temperature == "0" and draft == str(tiny_directory):
        # The target as its own draft: its first guess is always right.
        whole = [entry for entry in report["stats"]["rounds"] if not entry["cut"]]
        assert all(entry["accepted"] == 2 for entry in whole)


def test_a_chain_method_gets_a_chain_by_default(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [word for word in _small(tiny_directory, "--json") if word not in ("--tree", "2x2")]
    options = ["--draft", "first=2", "--method", "block", "--max-new-tokens", "8"]
    assert main(["generate", "abc", *arguments, *options]) == 0
    assert json.loads(capsys.readouterr().out)["stats"]["tree"] == "chain-5"


def test_a_tree_as_a_list(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--draft", "first=2", "--max-new-tokens", "8", "--json", "--tree", "[-1, 0, 0, 1]"]
    assert main(["generate", "abc", *_small(tiny_directory), *options]) == 0
    drafted = [entry["drafted"] for entry in json.loads(capsys.readouterr().out)["stats"]["rounds"]]
    assert max(drafted) == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--draft", "skip=9"], "layers 0 to 2"),
        (["--draft", "look-up"], "other drafts are lookup, automaton, eagle, eagle=DIRECTORY, first=8, skip=16-18"),
        (["--order", "gain", "--method", "block", "--tree", "2x2", "--draft", "first=2"], "chain"),
    ],
)
def test_what_the_engine_refuses_is_one_line(
    options: list[str], expected: str, tiny_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "abc", *_small(tiny_directory), *options]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert expected in output.err


def test_ctrl_c_prints_what_there_is_and_ends_with_130(endless_directory: Path) -> None:
    options = _small(endless_directory, "--max-new-tokens", "480", "--draft", "first=1", "--raw")
    process = subprocess.Popen([*COMMAND, "abc", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    first = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    text = (first + output).decode(errors="replace")
    assert process.returncode == 130
    assert errors == b"univer: interrupted\n"
    assert "ended by         interrupted" in text
    assert "\ntau " in text


def test_a_terminal_shows_colours(endless_directory: Path) -> None:
    ours, theirs = pty.openpty()
    options = _small(endless_directory, "--max-new-tokens", "24", "--draft", str(endless_directory))
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
    process = subprocess.Popen(
        [*COMMAND, "abc", *options], stdout=theirs, env={**environment, "TERM": "xterm-256color"}
    )
    os.close(theirs)
    output = b""
    try:
        while block := os.read(ours, 4096):
            output += block
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"\x1b[32m" in output
    assert b"\x1b[35m" in output
    assert b"accepted draft tokens" in output


def _report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["generate", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_found_22_plain_decoding_is_timed_on_request(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = _small(tiny_directory, "--max-new-tokens", "6", "--compare-plain", "--draft", "first=2")
    comparison = _report(capsys, "abc abc", *options)["compare_plain"]
    assert comparison["speed_up"]["low"] <= comparison["speed_up"]["mean"] <= comparison["speed_up"]["high"]
    assert len(comparison["tokens_per_second"]["plain"]) == 5
    assert main(["generate", "abc abc", *options]) == 0
    printed = capsys.readouterr().out
    assert "\nplain decoding " in printed
    assert "\nspeed-up " in printed


def _recommending(directory: Path, target: Path, **settings: object) -> Path:
    shutil.copytree(directory, target)
    config = json.loads((target / "generation_config.json").read_text()) | settings
    (target / "generation_config.json").write_text(json.dumps(config))
    return target


def test_found_23_the_default_sampling_is_the_model_s_own(
    endless_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = _recommending(endless_directory, tmp_path / "own", do_sample=True, temperature=0.5, top_k=7)
    report = _report(capsys, "abc", *_small(own, "--max-new-tokens", "4"))
    expected = {"temperature": 0.5, "top_k": 7, "top_p": None, "min_p": None}
    assert report["sampling"] == expected | {"recommended": True}
    same = ["--temperature", "0.5", "--top-k", "7"]
    given = _report(capsys, "abc", *_small(endless_directory, "--max-new-tokens", "4", *same))
    assert given["tokens"] == report["tokens"]
    assert given["sampling"] == expected | {"recommended": False}
    assert main(["generate", "abc", *_small(own, "--max-new-tokens", "4")]) == 0
    assert "temperature 0.5, top_k 7, seed 1 (recommended for this model)" in capsys.readouterr().out
    # One setting of the caller's replaces the whole recommendation.
    report = _report(capsys, "abc", *_small(own, "--max-new-tokens", "4", "--top-p", "0.9"))
    assert report["sampling"] == {"temperature": 1.0, "top_k": None, "top_p": 0.9, "min_p": None, "recommended": False}


def test_found_30_at_temperature_0_no_seed_is_shown(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = _small(tiny_directory, "--temperature", "0", "--max-new-tokens", "4")
    del options[options.index("--seed") : options.index("--seed") + 2]
    assert _report(capsys, "abc", *options)["seed"] is None
    assert main(["generate", "abc", *options]) == 0
    assert "seed" not in capsys.readouterr().out


def test_found_30_no_tokens_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "abc", "--max-new-tokens", "0"]) == 2
    assert "'--max-new-tokens': Input should be greater than or equal to 1" in capsys.readouterr().err


def test_found_31_quiet_prints_the_text_only(endless_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = _small(endless_directory, "--max-new-tokens", "8")
    text = _report(capsys, "abc", *options)["text"]
    assert main(["generate", "abc", *options, "--quiet"]) == 0
    assert capsys.readouterr().out == text + "\n"


def test_found_31_several_prompts_in_one_process(
    endless_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("abc\nxyz\n")
    options = _small(endless_directory, "--max-new-tokens", "6", "--raw")
    report = _report(capsys, "--prompts", str(file), *options)
    assert [answer["prompt"] for answer in report["answers"]] == ["abc", "xyz"]
    alone = _report(capsys, "xyz", *options)
    assert report["answers"][1]["tokens"] == alone["tokens"]
    assert main(["generate", "--prompts", str(file), *options]) == 0
    printed = capsys.readouterr().out
    assert "> abc\n" in printed
    assert "(12 tokens, " in printed
    assert main(["generate", "abc", "--prompts", str(file), *options]) == 2
    assert "--prompts brings all prompts" in capsys.readouterr().err


def test_found_31_a_stop_text_a_repetition_penalty_a_system_message_and_turns(
    endless_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = _small(endless_directory, "--max-new-tokens", "16", "--temperature", "0")
    plain = _report(capsys, "abc", *options)
    stopped = _report(capsys, "abc", *options, "--stop", plain["text"][2])
    assert stopped["stats"]["stopped_by"] == "stop_string"
    assert stopped["tokens"] == plain["tokens"][: len(stopped["tokens"])]
    assert len(stopped["tokens"]) < 16
    assert _report(capsys, "abc", *options, "--repetition-penalty", "1.8")["tokens"] != plain["tokens"]
    more = _report(capsys, "abc", *options, "--system", "s", "--turn", "next")["answers"]
    assert [answer["prompt"] for answer in more] == ["abc", "next"]
    assert more[0]["stats"]["prompt_tokens"] > plain["stats"]["prompt_tokens"]


@pytest.mark.slow
def test_the_default_model_answers(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--temperature", "0", "--dtype", "float32", "--json", "--max-new-tokens", "16"]
    assert main(["generate", "What is the capital of France?", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "Paris" in report["text"]
    assert report["stats"]["draft"] == "eagle=smollm2-135m-instruct"
    assert report["stats"]["tree"].startswith("grow")
    assert report["stats"]["tau"] > 1
    assert report["seed"] is None


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--order", "foo"], "'foo' is not one of 'drawn', 'sampled-first', 'descending', 'gain'"),
        (["--tree", '[[0],"a"]'], "is not a tree"),
        (["--tree", "4x14"], "more than 4096 nodes"),
    ],
)
def test_what_needs_no_model_is_refused_before_one_is_loaded(
    option: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "abc", "--target", "nowhere", *option]) == 2
    assert message in capsys.readouterr().err
