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


def test_found_24_one_default_tree_in_every_command(
    tiny_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, _ = load(tiny_directory, dtype="float32", device="cpu")
    torch.manual_seed(0)
    suggested = "grow:nodes=3,depth=2"
    save_head(EagleHead(config_for_target(target, 3, 40)), tmp_path / "head", {"suggested_tree": suggested})
    pair = ["--target", str(tiny_directory), "--dtype", "float32", "--draft", str(tmp_path / "head"), "--json"]
    assert main(["generate", "abc", *pair, "--max-new-tokens", "4"]) == 0
    tree = json.loads(capsys.readouterr().out)["stats"]["tree"]
    assert tree.startswith("grow:nodes=3")
    few = ["--count", "1", "--contexts", "1", "--drafted", "1", "--new-tokens", "6"]
    assert main(["compare", *pair, *few]) == 0
    assert {record["tree"] for record in json.loads(capsys.readouterr().out)["records"]} == {suggested}
    bench = ["--count", "1", "--groups", "translation", "--tokens", "4"]
    assert main(["bench", "spec-bench", *pair, *bench]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert {record["tree"] for record in records} == {None, suggested}
