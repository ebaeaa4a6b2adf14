"""`univer trace` on a tiny model."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from univer.cli import main

QUICK = [
    "--count",
    "2",
    "--contexts",
    "2",
    "--drafted",
    "1",
    "--new-tokens",
    "8",
    "--tree",
    "2x2",
    "--method",
    "univer",
]


@pytest.fixture
def arguments(endless_directory: Path, tmp_path: Path) -> list[str]:
    return ["trace", str(tmp_path / "trace"), "--target", str(endless_directory), "--draft", "skip=1", *QUICK]


def test_a_trace_is_recorded_and_not_recorded_twice(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--rounds"]) == 0
    assert "2 of 2 prompts" in capsys.readouterr().out
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "trace").iterdir()}
    assert {file.name for file in times} == {
        "trace.json",
        ".lock",
        *(
            f"{kind}-000{number}.{ending}"
            for kind, ending in (("prompt", "npz"), ("rounds", "json"))
            for number in (0, 1)
        ),
    }
    texts = json.loads((tmp_path / "trace" / "rounds-0000.json").read_text())
    assert all(node["text"] for tree in texts for node in tree["nodes"])
    assert main([*arguments, "--rounds", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prompts"] == 2
    assert times == {file: file.stat().st_mtime_ns for file in (tmp_path / "trace").iterdir()}
    assert main([*arguments, "--rounds", "--seed", "1"]) == 2
    assert "has other settings: seed = 0 (now 1)" in capsys.readouterr().err


def test_the_limit_stops_and_a_larger_one_goes_on(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 0
    size = json.loads(capsys.readouterr().out)["bytes"]
    arguments[1] += "-limited"
    assert main([*arguments, "--limit-bytes", str(size * 4 // 5)]) == 1
    output = capsys.readouterr()
    assert "1 of 2 prompts" in output.out
    assert "larger --limit-bytes" in output.out
    assert "the trace may grow to" in output.err
    assert main(arguments) == 0
    assert "2 of 2 prompts" in capsys.readouterr().out


def test_ctrl_c_keeps_the_prompts_so_far(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("univer.bench.traces.record")
    original, calls = module.contexts, []

    def interrupted(*given: object, **named: object) -> object:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return original(*given, **named)

    monkeypatch.setattr(module, "contexts", interrupted)
    assert main(arguments) == 130
    assert "1 of 2 prompts" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--temperature", "0", "--target", "nowhere"], "at temperature 0"),
        (["--method", "unver", "--target", "nowhere"], "unknown method 'unver'"),
        (["--draft", "lookup"], "fixed tokens only"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *extra]) == 2
    assert message in capsys.readouterr().err
