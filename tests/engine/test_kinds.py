"""Kinds of models: back ends, precisions, adapters, quantised and offloaded weights; and those that are refused."""

import copy
from itertools import product

import pytest
import torch
from transformers import (
    FalconH1Config,
    FalconH1ForCausalLM,
    JambaConfig,
    JambaForCausalLM,
    Lfm2Config,
    Lfm2ForCausalLM,
    Mamba2Config,
    Mamba2ForCausalLM,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
    RecurrentGemmaConfig,
    RecurrentGemmaForCausalLM,
    Zamba2Config,
    Zamba2ForCausalLM,
    ZambaConfig,
    ZambaForCausalLM,
)

from engine.families import DECODER, FAMILIES, greedy_reference, near_copy, path_to, tiny
from univer.doctor import examine
from univer.doctor.identity import compare_texts
from univer.engine import Engine, generate
from univer.runtime.checks import check_model
from univer.runtime.runner import TreeRunner

PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9]
PROMPTS = [PROMPT, [7], list(range(20, 34))]
TREE = ([7, 11, 12, 13, 21, 22, 31, 41, 42, 43], [-1, 0, 0, 0, 1, 1, 2, 4, 7, 8])
NEW = 16


def texts(target, draft, **options):
    options = {"temperature": 0, "max_new_tokens": NEW, "eos_token_id": None} | options
    return generate(target, draft, PROMPTS, **options).texts


def expected(target):
    return [greedy_reference(target, prompt, NEW) for prompt in PROMPTS]


def in_dtype(family, dtype, attention=None):
    model = copy.deepcopy(tiny(family, attention))
    return model.to(dtype)


# transformers has no soft-capped attention scores in sdpa.
IN_BACK_ENDS = [pair for pair in product(FAMILIES, ("eager", "sdpa")) if pair != ("gemma2", "sdpa")]


@pytest.mark.parametrize(("family", "attention"), IN_BACK_ENDS)
def test_fault_22_batches_with_trees_in_both_back_ends(family, attention):
    target = tiny(family, attention)
    assert texts(target, near_copy(family), tree="3x3") == expected(target)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("family", "attention"), IN_BACK_ENDS)
def test_fault_20_half_precision_is_near_float32_and_finite(family, dtype, attention):
    model, exact = in_dtype(family, dtype, attention), tiny(family, attention)
    runner = TreeRunner(model)
    with torch.inference_mode():
        runner.extend(PROMPT)
        logits = runner.read_nodes(*TREE).float()
        paths = [PROMPT + path_to(node, TREE[1], TREE[0]) for node in range(len(TREE[0]))]
        plain = torch.stack([exact(input_ids=torch.tensor([path])).logits[0, -1] for path in paths])
    assert logits.isfinite().all()
    # Half a unit of the largest logit would be another row's; rounding after three layers stays well below.
    assert (logits - plain).abs().mean() < 0.05 * plain.abs().max()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2", "opt", "gpt-neox", "qwen3", "phi3"])
def test_fault_22_texts_in_half_precision_differ_at_ties_only(family, dtype):
    identity = compare_texts(in_dtype(family, dtype), near_copy(family), PROMPTS, NEW, "3x3")
    assert identity.errors == []


def test_fault_25_target_and_draft_of_different_types():
    target, draft = tiny("llama"), in_dtype("llama", torch.bfloat16)
    assert texts(target, draft, tree="2x3") == expected(target)
    sampled = generate(draft, target, [PROMPT], tree="2x3", seed=1, max_new_tokens=NEW, eos_token_id=None)
    assert sampled.stats.accepted > NEW / 3


MIXED = {"layers_block_type": ["mamba", "hybrid"]}
HYBRID = DECODER | {"num_hidden_layers": 2, "num_key_value_heads": 4}


def jamba():
    return JambaForCausalLM(
        JambaConfig(**HYBRID, attn_layer_period=2, attn_layer_offset=1, num_experts=1, use_mamba_kernels=False)
    )


def zamba():
    return ZambaForCausalLM(ZambaConfig(**HYBRID, **MIXED, n_mamba_heads=2, use_mamba_kernels=False))


def zamba2():
    return Zamba2ForCausalLM(Zamba2Config(**HYBRID, **MIXED, mamba_d_state=8, n_mamba_heads=2, mamba_headdim=16))


def mamba2():
    return Mamba2ForCausalLM(
        Mamba2Config(vocab_size=61, hidden_size=16, num_hidden_layers=1, state_size=8, num_heads=4, head_dim=8)
    )


def falcon_h1():
    return FalconH1ForCausalLM(FalconH1Config(**HYBRID, mamba_d_ssm=16, mamba_n_heads=2, mamba_d_state=8))


def recurrent_gemma():
    return RecurrentGemmaForCausalLM(RecurrentGemmaConfig(**HYBRID, lru_width=16, attention_window_size=8))


@pytest.mark.parametrize("build", [jamba, zamba, zamba2, mamba2, falcon_h1, recurrent_gemma])
def test_fault_15_recurrent_and_hybrid_models_are_refused_by_name(build):
    model = build()
    with pytest.raises(ValueError, match=f"the target {type(model).__name__} keeps a recurrent state"):
        generate(model, None, [PROMPT], max_new_tokens=2)


def lfm2():
    return Lfm2ForCausalLM(Lfm2Config(**HYBRID, layer_types=["conv", "full_attention"]))


def qwen3_next():
    types = ["linear_attention", "full_attention"]
    return Qwen3NextForCausalLM(Qwen3NextConfig(**HYBRID, layer_types=types, num_experts=0, head_dim=4))


@pytest.mark.parametrize("build", [lfm2, qwen3_next])
def test_fault_15_layers_of_other_kinds_are_refused_by_name(build):
    model = build()
    with pytest.raises(ValueError, match=rf"the target {type(model).__name__}.*cannot be rolled back"):
        generate(model, None, [PROMPT], max_new_tokens=2)


@pytest.mark.filterwarnings("ignore::FutureWarning:transformers")
def test_an_adapter_that_changes_weights_is_part_of_the_target():
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        target = peft.get_peft_model(copy.deepcopy(tiny("llama")), config).eval()
    text = expected(target)
    assert text != expected(tiny("llama"))
    for draft in (tiny("llama"), "first=2", "lookup", target):
        assert texts(target, draft, tree="2x3") == text


@pytest.mark.filterwarnings("ignore::FutureWarning:transformers")
def test_an_adapter_of_virtual_tokens_is_refused_by_name():
    peft = pytest.importorskip("peft")
    config = peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")
    target = peft.get_peft_model(copy.deepcopy(tiny("llama")), config)
    with pytest.raises(ValueError, match="PeftModelForCausalLM has an adapter that puts 3 virtual tokens"):
        check_model(target, "target")


def quantised(bits, package):
    """The tiny Llama with weights of so few bits, or a skipped test where the package is missing."""
    model = copy.deepcopy(tiny("llama"))
    if package == "torchao":
        quantisation = pytest.importorskip("torchao.quantization", exc_type=ImportError)
        kind = {8: torch.int8, 4: torch.int4}[bits]
        quantisation.quantize_(model, quantisation.IntxWeightOnlyConfig(weight_dtype=kind))
    else:
        quanto = pytest.importorskip("optimum.quanto")
        quanto.quantize(model, weights={8: quanto.qint8, 4: quanto.qint4}[bits])
        quanto.freeze(model)
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("bits", "package"), [(8, "torchao"), (4, "torchao"), (8, "optimum-quanto")])
def test_fault_22_quantised_weights(bits, package):
    target = quantised(bits, package)
    assert type(target.model.layers[0].mlp.up_proj.weight) is not torch.nn.Parameter
    for draft in (tiny("llama"), "first=2", None):
        identity = compare_texts(target, draft, PROMPTS, NEW, None if draft is None else "2x3")
        assert identity.differences == []
    assert texts(tiny("llama"), target, tree="2x3") == expected(tiny("llama"))


def test_fault_22_quantised_weights_that_do_not_work_in_inference_mode_are_refused():
    model = quantised(4, "optimum-quanto")
    for role, pair in (("target", (model, "lookup")), ("draft", (tiny("llama"), model))):
        with pytest.raises(ValueError, match=f"the {role} LlamaForCausalLM has weights of 4 bits by optimum-quanto"):
            Engine(*pair)


@pytest.mark.parametrize("places", ["cpu", "disk"])
def test_fault_25_a_target_that_accelerate_dispatches(places, tmp_path):
    accelerate = pytest.importorskip("accelerate")
    model = copy.deepcopy(tiny("llama"))
    if places == "cpu":
        target = accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    else:
        names = ["embed_tokens", "layers.0", "layers.1", "layers.2", "norm", "rotary_emb"]
        device_map = {f"model.{name}": "disk" if name == "layers.1" else "cpu" for name in names} | {"lm_head": "disk"}
        target = accelerate.dispatch_model(model, device_map, main_device="cpu", offload_dir=tmp_path, force_hooks=True)
    for draft in (near_copy("llama"), "lookup", None):
        assert texts(target, draft) == expected(tiny("llama"))
    with pytest.raises(ValueError, match="was wrapped"):
        Engine(target, "first=1")
    assert examine(target, near_copy("llama"), new_tokens=6).sound


def test_fault_25_layers_with_keys_on_another_device():
    """Every layer's room lies where its keys do; the devices that a test has are the CPU and one without data."""
    from univer.runtime.cache import Place, keep_nodes, new_cache

    place = Place(0, [0])
    cache = new_cache(place)
    for layer, device in enumerate(["cpu", "meta"]):
        states = torch.ones(1, 2, 3, 4, device=device)
        keys, _ = cache.update(states, states, layer)
        assert keys.device.type == device
    keep_nodes(cache, [1], [[1]])
    assert [layer.rooms[0].device.type for layer in cache.layers] == ["cpu", "meta"]
