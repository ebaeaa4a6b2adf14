"""What all commands share: help, version, one line for bad input."""

import subprocess
import sys

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
    assert "pip install 'univer[cli]'" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_models_need_their_own_extra() -> None:
    script = (
        "import sys; sys.modules['transformers'] = None; from univer.cli import main; "
        "sys.exit(main(['generate', 'hello', '--target', 'a/b']))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "pip install 'univer[models]'" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_listing_methods_loads_no_model_library() -> None:
    script = (
        "import sys; from univer.cli import main; main(['methods', '--json']); "
        "sys.exit('transformers' in sys.modules or 'scipy.stats' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
