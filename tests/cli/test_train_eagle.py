"""`univer train-eagle` on a tiny model, interrupted and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from univer.cli import main

STEPS = 120
OPTIONS = ["--samples", "240", "--length", "12", "--steps", str(STEPS), "--batch", "2", "--unroll", "2"]


@pytest.fixture
def arguments(tiny_directory: Path, tmp_path: Path) -> list[str]:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one\nanother\n", encoding="utf-8")
    model = ["--target", str(tiny_directory), "--device", "cpu", "--dtype", "float32"]
    return ["train-eagle", *model, "--prompts", str(prompts), *OPTIONS]


def test_ctrl_c_and_the_same_command_again(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, metrics = tmp_path / "head", tmp_path / "head" / "metrics.jsonl"
    command = [*arguments, "--output", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", "import sys; from univer.cli import main; sys.exit(main())", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        # Ctrl-C may be ignored by whatever runs the tests in the background, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and (not metrics.exists() or metrics.read_text().count("\n") < 12):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert printed.startswith("interrupted at training steps: ")
    assert printed.endswith(f" of {STEPS}; repeat the command to resume\n")
    assert f"training steps: {STEPS // 10} of {STEPS}" in errors
    assert "Traceback" not in errors

    done = int(printed.removeprefix("interrupted at training steps: ").split()[0])
    assert main([*command[:-2], "--seed", "1", *command[-2:]]) == 2
    assert "has other settings: seed = 0 (now 1)" in capsys.readouterr().err
    assert main(command) == 0
    table = capsys.readouterr().out
    assert table.splitlines()[0].split() == ["drafting", "step", "acceptance", "agreement"]
    assert f"{STEPS} steps on " in table

    whole = tmp_path / "whole"
    assert main([*arguments, "--output", str(whole), "--json"]) == 0
    printed_result = json.loads(capsys.readouterr().out)
    assert (printed_result["steps"], printed_result["interrupted"]) == (STEPS, False)
    assert 0 < done < STEPS
    for name in ("model.safetensors", "metrics.jsonl", "README.md"):
        assert (output / name).read_bytes() == (whole / name).read_bytes(), name
    # Once it is finished, the model is not even loaded.
    assert main([*command, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == printed_result | {"directory": str(output)}


def test_an_interruption_as_json(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from univer.training import TrainingInterrupted, TrainingRun

    def interrupted(*given: object) -> None:
        raise TrainingInterrupted("training steps", 3, STEPS)

    monkeypatch.setattr(TrainingRun, "train", interrupted)
    assert main([*arguments, "--output", str(tmp_path / "head"), "--json"]) == 130
    printed = json.loads(capsys.readouterr().out)
    assert (printed["interrupted"], printed["stage"], printed["done"], printed["total"]) == (
        True,
        "training steps",
        3,
        STEPS,
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--target", "nowhere"], "unknown model 'nowhere'"),
        (["--temperature", "0"], "temperature must be above 0"),
        (["--layers", "2,x"], "--layers takes numbers separated by commas"),
        (["--layers", "2,9"], "has no hidden state 9"),
        (["--variant", "2"], "variant must be 1"),
        (["--draft-vocabulary", "500"], "the draft vocabulary (500) is larger than the target's (260)"),
        (["--prompts", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--init", "nowhere"], "nowhere holds no weights"),
        (["--samples", "10"], "1 texts are too few"),
        (["--length", "600", "--samples", "6000"], "too few for a prompt and length 600"),
        (["--dtype", "int8"], "float32, bfloat16, float16"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], extra: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *extra, "--output", str(tmp_path / "head")]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("univer: error: ")
    assert printed.err.count("\n") == 1


def test_an_output_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train-eagle"]) == 2
    assert "--output" in capsys.readouterr().err
