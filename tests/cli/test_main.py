"""What all commands share: help, version, one line for bad input."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import univer
from univer.cli import main


def test_without_a_command_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr().out
    assert "generate" in output
    assert "methods" in output


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{univer.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["no-such-command"], "no-such-command"),
        (["methods", "--no-such-option"], "--no-such-option"),
        (["generate", "hello", "--max-new-tokens", "many"], "max-new-tokens"),
        (["generate", "hello", "--max-new-tokens", "-1"], "max-new-tokens"),
        (["generate", "hello", "--method", "magic"], "unknown method 'magic'; known are token, block"),
        (["generate", "hello", "--tree", "oak"], "oak"),
        (["generate", "hello", "--tree", "[1,"], "not a JSON list"),
        (["generate", "hello", "--temperature", "-1"], "temperature must be 0"),
        (["generate", "hello", "--top-p", "2"], "top_p must be in (0, 1]"),
        (["generate", "hello", "--target", "nothing"], "unknown model 'nothing': use smollm2-135m"),
        (["generate", "hello", "--dtype", "int8"], "float32, bfloat16, float16"),
        (["generate", "hello", "--device", "abacus"], "unknown device 'abacus'"),
        (["generate", " "], "the prompt is empty"),
        (["generate", "a", "--prompt-file", "b"], "not both"),
        (["generate", "--prompt-file", "no/such/file"], "no/such/file"),
    ],
)
def test_bad_input_gives_one_line_and_status_2(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("univer: error: ")
    assert output.err.count("\n") == 1
    assert expected in output.err


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_package_is_answered_with_the_extra_to_install(missing: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; from univer.cli import main; sys.exit(main(['methods']))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "pip install 'univer[all]'" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_models_need_their_own_extra() -> None:
    script = (
        "import sys; sys.modules['transformers'] = None; from univer.cli import main; "
        "sys.exit(main(['generate', 'hello', '--target', 'a/b']))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "pip install 'univer[all]'" in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["--version"], ["methods"], ["generate", "--help"], ["bench", "--help"]]
)
def test_found_26_help_and_listings_import_neither_torch_nor_transformers(words: list[str]) -> None:
    script = (
        "import sys; from univer.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'numpy', 'scipy'} & set(sys.modules); assert not heavy, heavy"
    )
    finished = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_found_31_help_comes_in_groups_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--help"]) == 0
    printed = capsys.readouterr().out
    for heading in ("Prompts", "Models", "Drafting and verification", "Sampling", "Options"):
        assert f"\u2500 {heading} \u2500" in printed
    assert 'univer generate "Why is the sky blue?"' in printed


@pytest.mark.parametrize("wrapped", [False, True])
def test_found_29_an_interruption_while_libraries_are_imported(wrapped: bool) -> None:
    script = (
        "import sys\nfrom univer.cli import main\n"
        "class Finder:\n"
        " def find_spec(self, name, *_):\n"
        "  if name == 'torch':\n"
        "   try: exec('raise KeyboardInterrupt')\n"
        f"   except BaseException: raise {'ImportError' if wrapped else ''}\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.exit(main(['generate', 'abc']))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (130, "univer: interrupted\n")


@pytest.mark.parametrize("seconds", [0.5, 1.5, 3.0])
def test_found_29_an_interruption_at_any_moment(seconds: float, tiny_directory: Path) -> None:
    command = [sys.executable, "-m", "univer.cli", "generate", "abc", "--target", str(tiny_directory)]
    process = subprocess.Popen([*command, "--max-new-tokens", "400"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # It may have been done before.
    assert (process.returncode, errors) in ((130, b"univer: interrupted\n"), (0, b""))


def test_found_28_an_unknown_model_id_without_a_network_is_one_sentence_within_seconds() -> None:
    # A port at which nobody answers stands for the hub.
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "univer.cli", "generate", "abc", "--target", "nobody/nothing"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1
    assert "'nobody/nothing' could not be fetched" in finished.stderr
    assert "give the directory of a model" in finished.stderr
