"""EAGLE heads on the command line."""

import json
from pathlib import Path

import pytest
import torch

from univer.cli import main
from univer.drafting.eagle.checkpoint import save_head
from univer.drafting.eagle.config import config_for_target
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.shipped import target_note
from univer.models import load


def generated(target: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The name of the draft that a run used."""
    shared = ["--target", str(target), "--dtype", "float32", "--device", "cpu", "--seed", "1", "--tree", "2x2"]
    shared += ["--json", "--max-new-tokens", "8"]
    assert main(["generate", "abc abc", *shared, *options]) == 0
    return str(json.loads(capsys.readouterr().out)["stats"]["draft"])


def test_a_head_is_named_by_its_directory_or_comes_with_the_package(
    tiny_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("univer.drafting.eagle.shipped.HEADS", tmp_path)
    target, _ = load(tiny_directory, dtype="float32", device="cpu")
    torch.manual_seed(0)
    head = EagleHead(config_for_target(target, 3, 40))
    directory = tmp_path / "tiny-head"
    save_head(head, directory, target_note(target, "another name"))
    assert generated(tiny_directory, capsys, "--draft", str(directory)) == "eagle=tiny-head"
    assert generated(tiny_directory, capsys, "--draft", f"eagle={directory}+lookup") == "eagle=tiny-head+lookup"
    assert generated(tiny_directory, capsys, "--draft", "eagle") == "eagle=tiny-head"
    assert generated(tiny_directory, capsys) == "lookup"
    save_head(head, directory, target_note(target, str(tiny_directory)))
    assert generated(tiny_directory, capsys) == "eagle=tiny-head"
