"""Checkpoints: what is read, what is written, and what is refused by name."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from drafting.eagle.checkpoints import (
    DRAFT_TOKENS,
    EAGLE3,
    FORMATS,
    LLAMA,
    WIDTH,
    eagle1,
    eagle3,
    speculators,
    write,
    write_format,
)
from engine.families import VOCABULARY, tiny
from univer.drafting.eagle.checkpoint import is_head, load_head, save_head
from univer.drafting.eagle.config import EagleConfig
from univer.drafting.eagle.draft import EagleDraft, eagle_draft
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.shipped import shipped_head, target_note
from univer.engine.drafts import as_draft


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_saved_loads_again(name: str, tmp_path: Path) -> None:
    head = load_head(write_format(tmp_path, name)[0], layers=7).to(torch.bfloat16)
    save_head(head, tmp_path / "saved", {"target": {"names": ["a"]}})
    again = load_head(tmp_path / "saved")
    assert again.config == head.config
    assert again.fc.weight.dtype == torch.bfloat16
    assert again.state_dict().keys() == head.state_dict().keys()
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in head.state_dict().items())
    assert torch.equal(again.speeds, head.speeds)
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["target"] == {"names": ["a"]}


def test_a_head_of_eagle3_is_saved_under_the_public_names(tmp_path: Path) -> None:
    directory, _, tensors = write_format(tmp_path, "eagle3")
    save_head(load_head(directory, layers=3), tmp_path / "saved")
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "saved" / "model.safetensors")
    assert saved.keys() == tensors.keys()
    assert all(torch.equal(tensor, saved[name]) for name, tensor in tensors.items())


def test_draft_tokens_in_any_order_are_put_in_order(tmp_path: Path) -> None:
    tensors = eagle3()
    order = torch.randperm(len(DRAFT_TOKENS))
    scores, ids = tensors["lm_head.weight"][order], torch.tensor(DRAFT_TOKENS)[order]
    mixed = tensors | {"lm_head.weight": scores, "d2t": ids - torch.arange(len(ids))}
    write(tmp_path / "a", EAGLE3, tensors)
    write(tmp_path / "b", EAGLE3, mixed)
    head, again = (load_head(tmp_path / name, layers=3).state_dict() for name in "ab")
    assert all(torch.equal(tensor, again[name]) for name, tensor in head.items())


@pytest.mark.parametrize("name", FORMATS)
def test_a_head_is_told_from_a_model(name: str, tmp_path: Path) -> None:
    directory = write_format(tmp_path, name)[0]
    assert is_head(directory)
    assert is_head(str(directory))


def test_a_model_is_no_head(tmp_path: Path, tiny_directory: Path) -> None:
    assert not is_head(tiny_directory)
    assert not is_head(tmp_path)
    assert not is_head(tmp_path / "missing")
    assert not is_head("skip=1")
    assert not is_head("x" * 5000)


@pytest.mark.parametrize(
    ("settings", "tensors", "message"),
    [
        ({"medusa_num_heads": 4}, {}, "is a Medusa checkpoint"),
        (LLAMA, {"medusa_head.0.0.linear.weight": 1}, "is a Medusa checkpoint"),
        ({"architectures": ["MiMoMTPModel"]}, {}, "is a multi-token-prediction checkpoint"),
        (LLAMA, {"mtp.layers.0.mlp.up_proj.weight": 1}, "is a multi-token-prediction checkpoint"),
        (LLAMA, {"model.layers.61.eh_proj.weight": 1}, "is a multi-token-prediction checkpoint"),
        (speculators("mlp_speculator"), {}, "speculators checkpoint of type 'mlp_speculator'"),
        (speculators("hass"), {}, "speculators checkpoint of type 'hass'"),
        (
            speculators("eagle", layernorms=True),
            eagle1("transformer.", "fusion_fc"),
            "layernorms=True is not supported",
        ),
        (LLAMA | {"num_hidden_layers": 2}, eagle1(), "num_hidden_layers=2 is not supported"),
        (LLAMA | {"hidden_act": "gelu"}, eagle1(), "hidden_act='gelu' is not supported"),
        (LLAMA | {"rope_scaling": {"rope_type": "yarn", "factor": 2}}, eagle1(), "type 'yarn' are not supported"),
        (LLAMA, {"model.embed_tokens.weight": 1}, "is no EAGLE head: it has no fc.weight"),
        ({"architectures": []}, eagle1(), "is no EAGLE head: it has no hidden_size"),
        (
            LLAMA,
            eagle1() | {"layers.0.self_attn.q_norm.weight": torch.ones(4)},
            "holds the tensor 'layers.0.self_attn.q",
        ),
        (LLAMA, {k: t for k, t in eagle1().items() if "down" not in k}, "lacks the tensor 'layers.0.mlp.down_proj"),
        (LLAMA | {"intermediate_size": 25}, eagle1(), r"is \[24, 16\], its settings say \[25, 16\]"),
        (EAGLE3, {k: t for k, t in eagle3().items() if k != "d2t"}, "no d2t that says which tokens"),
        (EAGLE3, eagle3() | {"d2t": torch.zeros(38, dtype=torch.long) + 50}, "names tokens outside the vocabulary"),
        (EAGLE3, eagle3() | {"d2t": -torch.arange(38)}, "does not name 38 different tokens"),
        (EAGLE3 | {"eagle_aux_hidden_state_layer_ids": [1, 2]}, eagle3(), "joins 3 hidden states, but 2 layers are"),
        (
            EAGLE3 | {"target_hidden_size": 24},
            eagle3(wide=24) | {"fc.weight": torch.ones(16, 50)},
            "no multiple of the",
        ),
    ],
)
def test_refusals(settings: dict[str, Any], tensors: dict[str, Any], message: str, tmp_path: Path) -> None:
    tensors = {name: torch.ones(2) if isinstance(tensor, int) else tensor for name, tensor in tensors.items()}
    directory = write(tmp_path / "head", settings, tensors or {"weight": torch.ones(1)})
    with pytest.raises(ValueError, match=message):
        load_head(directory, layers=3)


def test_a_checkpoint_that_does_not_name_its_layers_needs_the_depth_of_the_target(tmp_path: Path) -> None:
    directory = write_format(tmp_path, "eagle3")[0]
    with pytest.raises(ValueError, match="does not name the 3 target layers"):
        load_head(directory)


class _Harmful:
    def __reduce__(self) -> Any:
        return print, ("code of the checkpoint ran",)


@pytest.mark.parametrize("content", [_Harmful(), [1], {"fc.weight": 1}], ids=["code", "list", "number"])
def test_pickles_hold_tensors_only(content: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = write(tmp_path / "head", LLAMA, {}, "bin")
    torch.save(content, directory / "pytorch_model.bin")
    with pytest.raises(ValueError, match="is not loaded"):
        load_head(directory)
    (directory / "pytorch_model.bin").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match="is not loaded"):
        load_head(directory)
    assert capsys.readouterr().out == ""


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"it has no config\.json"):
        load_head(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with pytest.raises(ValueError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        load_head(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors here, only words")
    with pytest.raises(ValueError, match="cannot be read as safetensors"):
        load_head(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        load_head(tmp_path)
    parts = write_format(tmp_path, "eagle-embeddings")[0]
    (parts / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(ValueError, match=r"lacks pytorch_model-00002-of-00002\.bin"):
        load_head(parts)


def test_the_suggested_tree_may_depend_on_the_precision(tmp_path: Path) -> None:
    target, table = tiny("llama"), {"float32": "2x2", "bfloat16": "3x3"}
    for number, (suggested, expected) in enumerate([("1x3", "1x3"), (table, "2x2"), ({"float16": "3x3"}, None)]):
        directory = write(tmp_path / str(number), LLAMA | {"suggested_tree": suggested}, eagle1())
        assert eagle_draft(target, directory).suggested_tree == expected


def test_the_targets_own_embeddings_are_shared(tmp_path: Path) -> None:
    target = tiny("llama")
    table = target.get_input_embeddings().weight.detach()
    tensors = eagle1() | {"embed_tokens.weight": table.to(torch.float16)}
    copied = eagle_draft(target, write(tmp_path / "copied", LLAMA, tensors))
    assert copied.head.embed_tokens is None
    assert copied.table is target.get_input_embeddings().weight
    tensors["embed_tokens.weight"] = table + 1
    other = eagle_draft(target, write(tmp_path / "other", LLAMA, tensors))
    torch.testing.assert_close(other.head.embed(torch.tensor([3]), other.table), table[3:4] + 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_hidden_size": 24}, "with hidden states of width 24, the LlamaForCausalLM has 16"),
        ({"hidden_size": 24}, "with token embeddings of width 24, the LlamaForCausalLM has 16"),
        ({"vocab_size": 64}, f"with a vocabulary of 64, the LlamaForCausalLM has {VOCABULARY}"),
        ({"features": (2, 15, 27)}, "with at least as many layers as 27, the LlamaForCausalLM has 3"),
    ],
)
def test_targets_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    sizes = {"hidden_size": WIDTH, "target_hidden_size": WIDTH, "heads": 4, "kv_heads": 2, "head_dim": 4}
    sizes |= {"intermediate_size": 24, "vocab_size": VOCABULARY, "draft_vocab_size": 30, "features": (0, 1, 2)}
    with pytest.raises(ValueError, match=message):
        EagleDraft(EagleHead(EagleConfig(variant=3, **(sizes | changes))), tiny("llama"))


def test_texts_that_name_a_head(tmp_path: Path) -> None:
    target = tiny("llama")
    directory = write_format(tmp_path, "eagle3-bias")[0]
    for text in (f"eagle={directory}", str(directory)):
        draft = as_draft(text, target)
        assert isinstance(draft, EagleDraft)
        assert draft.name == "eagle=eagle3-bias"
        assert draft.features == (2, 1, 2)
    combined = as_draft(f"eagle={directory}+lookup", target)
    assert combined is not None
    assert combined.features == (2, 1, 2)
    with pytest.raises(ValueError, match="no EAGLE head for this LlamaForCausalLM comes with the package"):
        as_draft("eagle", target)
    with pytest.raises(ValueError, match=r"it has no config\.json"):
        as_draft("eagle=/nowhere", target)


def test_heads_that_come_with_the_package_are_found_by_name_and_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("univer.drafting.eagle.shipped.HEADS", tmp_path / "heads")
    target = tiny("llama")
    assert shipped_head(target, "small") is None
    (tmp_path / "heads").mkdir()
    head = load_head(write_format(tmp_path, "eagle3-bias")[0])
    directory = tmp_path / "heads" / "small-one"
    save_head(head, directory, target_note(target, "small", "someone/small"))
    assert shipped_head(target, "small") == shipped_head(target, "someone/small") == shipped_head(target) == directory
    assert shipped_head(target, "large") is None
    rounded = copy.deepcopy(target).to(torch.bfloat16)
    assert shipped_head(rounded, "small") == directory
    assert shipped_head(tiny("qwen2"), "small") is None
    draft = as_draft("eagle", rounded)
    assert draft is not None
    assert draft.name == "eagle=small-one"
    assert draft.head.fc.weight.dtype == torch.bfloat16


def test_draft_vocabularies_are_checked() -> None:
    config = EagleConfig(3, WIDTH, WIDTH, 4, 2, 4, 24, VOCABULARY, len(DRAFT_TOKENS), (0, 1, 2))
    head = EagleHead(config)
    head.set_vocabulary(DRAFT_TOKENS)
    assert head.token_ids is not None
    assert head.token_ids.tolist() == DRAFT_TOKENS
    with pytest.raises(ValueError, match="not 1 from 0 to 0"):
        head.set_vocabulary([0, 0])
    with pytest.raises(ValueError, match="different token ids below 61"):
        head.set_vocabulary(range(40, 40 + len(DRAFT_TOKENS)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": 2}, "of variant 1 .* or 3"),
        ({"heads": 3}, "3 query heads cannot share 2 key heads evenly"),
        ({"head_dim": 3}, "an even head_dim, not 3"),
        ({"hidden_size": 0}, "hidden_size of at least 1"),
        ({"draft_vocab_size": 70}, "larger than the target's"),
        ({"features": ()}, "at least one target layer"),
        ({"variant": 1}, "last hidden state alone"),
        ({"rope_scaling": {"type": "dynamic"}}, "type 'dynamic' are not supported"),
    ],
)
def test_sizes_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    sizes = {"variant": 3, "hidden_size": WIDTH, "target_hidden_size": WIDTH, "heads": 4, "kv_heads": 2, "head_dim": 4}
    sizes |= {"intermediate_size": 24, "vocab_size": VOCABULARY, "draft_vocab_size": 30, "features": (0, 1, 2)}
    with pytest.raises(ValueError, match=message):
        EagleConfig(**(sizes | changes))
