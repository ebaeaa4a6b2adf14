"""The settings of a checkpoint are followed, or refused by name; none that matters is ignored."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from drafting.eagle.checkpoints import DRAFT_TOKENS, EAGLE3, LLAMA, LLAMA3, eagle1, eagle3, speculators, write
from engine.families import tiny
from univer.drafting.eagle.checkpoint import load_head
from univer.drafting.eagle.config import EagleConfig, config_for_target, rope_settings
from univer.drafting.eagle.draft import eagle_draft

LAYERS = 30
SPECULATORS = speculators("eagle3", draft_vocab_size=len(DRAFT_TOKENS))


def loaded(directory: Path, settings: dict[str, Any], tensors: dict[str, Any] | None = None) -> EagleConfig:
    """The configuration of a checkpoint of EAGLE-3, unless other tensors are given."""
    return load_head(write(directory / "head", settings, tensors or eagle3()), layers=LAYERS).config


@pytest.mark.parametrize(
    ("scaling", "key"),
    [
        ({"rope_type": "linear"}, "factor"),
        ({"type": "linear", "factor": None}, "factor"),
        ({"rope_type": "linear", "factor": 0}, "factor"),
        ({"rope_type": "linear", "factor": "two"}, "factor"),
        *((LLAMA3 | {key: None}, key) for key in LLAMA3 if key != "rope_type"),
        (LLAMA3 | {"high_freq_factor": 1.0}, "high_freq_factor"),
    ],
)
def test_found_14_a_rescaling_without_its_numbers_names_file_and_key(
    scaling: dict[str, Any], key: str, tmp_path: Path
) -> None:
    for settings, tensors in ((EAGLE3, eagle3()), (LLAMA, eagle1())):
        with pytest.raises(ValueError, match=rf"the head 'head', config\.json: .*rope_scaling.*{key}"):
            loaded(tmp_path, settings | {"rope_scaling": scaling}, tensors)


@pytest.mark.parametrize("name", ["hidden_size", "num_attention_heads", "rope_theta", "rms_norm_eps", "eagle_config"])
def test_found_14_a_setting_that_is_no_number_names_the_file(name: str, tmp_path: Path) -> None:
    for value in ("wide", [1], 0)[: 2 if name in ("rope_theta", "rms_norm_eps", "eagle_config") else 3]:
        with pytest.raises(ValueError, match=r"the head 'head', config\.json: "):
            loaded(tmp_path, EAGLE3 | {name: value})


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        ([1, 14, 26], (2, 15, 27)),
        ([0, 9, 28], (1, 10, 29)),
        # The usual three, by their inputs: 2, N / 2 and N - 3.
        ([2, 15, 27], (2, 15, 27)),
        ([], (2, 15, 27)),
    ],
)
def test_found_15_nested_layer_ids_name_outputs(nested: list[int], expected: tuple[int, ...], tmp_path: Path) -> None:
    settings = EAGLE3 | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": nested}}
    assert loaded(tmp_path, settings).features == expected


def test_found_15_layer_ids_at_the_top_name_inputs(tmp_path: Path) -> None:
    ids = {"eagle_aux_hidden_state_layer_ids": [1, 14, -1]}
    assert loaded(tmp_path, EAGLE3 | ids).features == (1, 14, -1)
    both = EAGLE3 | ids | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 14, 26]}}
    with pytest.raises(ValueError, match=r"eagle_config\.eagle_aux_hidden_state_layer_ids .*\[2, 15, 27\]\) differ"):
        loaded(tmp_path, both)
    agreeing = both | {"eagle_aux_hidden_state_layer_ids": [2, 15, 27]}
    assert loaded(tmp_path, agreeing).features == (2, 15, 27)


@pytest.mark.parametrize(
    "spelling",
    [
        "aux_hidden_state_layer_ids",
        "target_layer_ids",
        "eagle3_layers_to_capture",
        "aux_layers",
        "layer_ids",
        "aux_layer_indices",
    ],
)
def test_found_15_other_spellings_of_the_layer_ids_are_refused(spelling: str, tmp_path: Path) -> None:
    for settings in (
        EAGLE3 | {spelling: [2, 15, 27]},
        EAGLE3 | {"eagle_config": {spelling: [2, 15, 27]}},
        SPECULATORS | {spelling: [2, 15, 27]},
    ):
        with pytest.raises(ValueError, match=rf"config\.json: .*{spelling}.*eagle_aux_hidden_state_layer_ids"):
            loaded(tmp_path, settings)


@pytest.mark.parametrize(
    ("settings", "layer"),
    [
        ({"eagle_aux_hidden_state_layer_ids": [2, 15, 30]}, 30),
        ({"eagle_aux_hidden_state_layer_ids": [2, 15, -2]}, -2),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 15, 29]}}, 30),
    ],
)
def test_found_15_layers_that_the_target_lacks_are_refused(
    settings: dict[str, Any], layer: int, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=rf"input of layer {layer}, but the target's layers go from 0 to 29"):
        loaded(tmp_path, EAGLE3 | settings)
    with pytest.raises(ValueError, match="names a layer below 0"):
        loaded(tmp_path, EAGLE3 | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 14, -1]}})


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("norm_before_fc", True),
        ("fc_norm", True),
        ("use_fc_norm", True),
        ("norm_after_fc", True),
        ("use_last_layernorm", False),
        ("use_input_layernorm_in_first_layer", False),
        ("use_mtp_layernorm", True),
        ("use_aux_hidden_state", False),
        ("next_layer_regular", False),
        ("has_lm_head", False),
    ],
)
def test_found_16_flags_that_cannot_be_followed_or_contradict_the_tensors(
    flag: str, value: bool, tmp_path: Path
) -> None:
    for settings in (EAGLE3 | {flag: value}, EAGLE3 | {"eagle_config": {flag: value}}):
        with pytest.raises(ValueError, match=rf"the head 'head', config\.json: {flag}={value}"):
            loaded(tmp_path, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded(tmp_path, EAGLE3 | {flag: not value})


def test_found_16_a_norm_that_is_switched_off_but_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"norm_before_fc=False, but the checkpoint holds the tensor 'input_norm"):
        loaded(tmp_path, EAGLE3 | {"norm_before_fc": False}, eagle3(feature_norm=True))


def test_found_16_flags_of_eagle_are_those_of_its_layer(tmp_path: Path) -> None:
    flags = dict.fromkeys(["use_aux_hidden_state", "use_input_layernorm_in_first_layer", "use_last_layernorm"], False)
    assert loaded(tmp_path, LLAMA | {"eagle_config": flags}, eagle1()).variant == 1
    for flag in flags:
        with pytest.raises(ValueError, match=f"{flag}=True is not supported in a head of EAGLE, only False"):
            loaded(tmp_path, LLAMA | {flag: True}, eagle1())


def test_found_16_the_output_may_be_normalised_under_two_names(tmp_path: Path) -> None:
    assert loaded(tmp_path, EAGLE3 | {"eagle_config": {"return_hidden_post_norm": True}}).norm_output
    assert not loaded(tmp_path, EAGLE3).norm_output
    with pytest.raises(ValueError, match="norm_output and return_hidden_post_norm contradict"):
        loaded(tmp_path, EAGLE3 | {"return_hidden_post_norm": True, "norm_output": False})


def test_found_16_unknown_settings_that_could_matter_are_named(tmp_path: Path) -> None:
    unknown = {"norm_between_steps": True, "initializer_range": 0.1, "architecture_notes": "none"}
    with pytest.warns(UserWarning, match=r"the head 'head', config\.json: .*: norm_between_steps; if"):
        loaded(tmp_path, EAGLE3 | unknown)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sliding_window": 8}, "sliding_window=8"),
        ({"sliding_window": 8, "use_sliding_window": True, "model_type": "qwen2"}, "sliding_window=8"),
        ({"sliding_window": 8, "layer_types": ["sliding_attention"]}, "layer_types="),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary_factor=0.5"),
        ({"rope_interleaved": True}, "rope_interleaved=True"),
        ({"rope_parameters": {"sliding_attention": {"rope_theta": 5e5}}}, "no entry 'full_attention'"),
        (
            {"rope_parameters": LLAMA3, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
            "rope_scaling .* and rope_parameters .* contradict",
        ),
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping=50.0"),
        ({"query_pre_attn_scalar": 256}, "query_pre_attn_scalar=256"),
        ({"attention_multiplier": 0.1}, "attention_multiplier=0.1"),
        ({"residual_multiplier": 0.2}, "residual_multiplier=0.2"),
        ({"embedding_multiplier": 12.0}, "embedding_multiplier=12.0"),
        ({"logits_scaling": 8.0}, "logits_scaling=8.0"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping=30.0"),
    ],
)
def test_found_17_attention_settings_that_cannot_be_followed(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=rf"the head 'head', config\.json: .*{message}"):
        loaded(tmp_path, EAGLE3 | settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"sliding_window": 8, "use_sliding_window": False},
        {"sliding_window": 8, "model_type": "qwen2"},
        {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 28, "model_type": "qwen2"},
        {"sliding_window": 8, "layer_types": ["full_attention"]},
        {"sliding_window": 4096},
        {"query_pre_attn_scalar": 4, "attention_multiplier": 0.5, "residual_multiplier": 1.0},
        {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default", "partial_rotary_factor": 1.0}},
    ],
)
def test_attention_settings_that_change_nothing(settings: dict[str, Any], tmp_path: Path) -> None:
    assert loaded(tmp_path, EAGLE3 | settings) == loaded(tmp_path, EAGLE3)


def test_found_17_rotary_positions_of_full_attention_and_beside_a_default(tmp_path: Path) -> None:
    kinds = {"full_attention": {"rope_theta": 5e5, "rope_type": "default"}, "sliding_attention": {"rope_theta": 1e4}}
    assert loaded(tmp_path, EAGLE3 | {"rope_parameters": kinds}).rope_theta == 5e5
    beside = EAGLE3 | {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}, "rope_scaling": LLAMA3}
    config = loaded(tmp_path, beside)
    assert (config.rope_theta, config.rope_scaling) == (5e5, LLAMA3)
    assert rope_settings({"rope_parameters": LLAMA3, "rope_scaling": LLAMA3, "rope_theta": 7.0}) == (7.0, LLAMA3)


def test_found_17_a_new_head_has_the_base_of_the_target_s_full_attention() -> None:
    target = tiny("gemma3")
    tables = target.config.rope_parameters
    assert config_for_target(target).rope_theta == tables["full_attention"]["rope_theta"]
    assert tables["full_attention"] != tables["sliding_attention"]


def test_settings_of_a_head_that_was_saved_here_are_all_known(tmp_path: Path) -> None:
    """No warning, and no refusal, for the three public layouts on a real target."""
    torch.manual_seed(0)
    for settings, tensors in ((LLAMA, eagle1()), (EAGLE3, eagle3())):
        eagle_draft(tiny("llama"), write(tmp_path / "head", settings, tensors))
