"""The target pass over a tree: logits, positions, masks and what the cache holds afterwards."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.fakes import OracleDraft, ScriptedDraft, TableModel
from engine.families import FAMILIES, greedy_reference, near_copy, path_to, tiny
from univer.engine import generate_rounds
from univer.runtime.cache import entries
from univer.runtime.runner import TreeRunner

PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9]
# Three branches, one of them deeper than the window of the sliding models; the second list numbers it depth-first.
TOKENS = [7, 11, 12, 13, 21, 22, 31, 41, 42, 43]
PARENTS = [-1, 0, 0, 0, 1, 1, 2, 4, 7, 8]
UNBALANCED = ([9, 4, 5, 6, 7, 8], [-1, 0, 0, 1, 1, 2])
DEPTH_FIRST = ([9, 4, 6, 7, 5, 8], [-1, 0, 1, 1, 0, 4])


def plain_logits(model, tokens):
    with torch.no_grad():
        return model(input_ids=torch.tensor([tokens])).logits[0, -1]


def read(model, prompt, tokens, parents):
    runner = TreeRunner(model)
    with torch.inference_mode():
        runner.extend(prompt)
        return runner, runner.read_nodes(tokens, parents)


@pytest.mark.parametrize("tree", [(TOKENS, PARENTS), UNBALANCED, DEPTH_FIRST])
@pytest.mark.parametrize("family", FAMILIES)
def test_fault_20_logits_of_a_node_are_those_of_its_path(family, tree):
    tokens, parents = tree
    _, logits = read(tiny(family), PROMPT, tokens, parents)
    for node in range(len(tokens)):
        expected = plain_logits(tiny(family), PROMPT + path_to(node, parents, tokens))
        torch.testing.assert_close(logits[node], expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
def test_fault_20_siblings_do_not_influence_each_other(family, attention):
    model = tiny(family, attention)
    _, before = read(model, PROMPT, TOKENS, PARENTS)
    changed = list(TOKENS)
    changed[4] = 50
    _, after = read(model, PROMPT, changed, PARENTS)
    below = {4, 7, 8, 9}
    for node in range(len(TOKENS)):
        same = torch.allclose(before[node], after[node], atol=1e-6)
        assert same == (node not in below)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_fault_20_no_nan_in_half_precision(attention, dtype):
    model = LlamaForCausalLM(tiny("llama", attention).config).eval()
    model.load_state_dict(tiny("llama").state_dict())
    _, logits = read(model.to(dtype), PROMPT, TOKENS, PARENTS)
    assert logits.dtype == dtype
    assert logits.isfinite().all()


@pytest.mark.parametrize("prompt", [[7], PROMPT, list(range(3, 40))])
@pytest.mark.parametrize("family", ["mistral", "qwen2-sliding", "gemma2", "gemma3"])
def test_window_empty_full_and_wrapped(family, prompt):
    _, logits = read(tiny(family), prompt, TOKENS, PARENTS)
    for node in range(len(TOKENS)):
        expected = plain_logits(tiny(family), prompt + path_to(node, PARENTS, TOKENS))
        torch.testing.assert_close(logits[node], expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("length", [3, 4, 5, 8, 11])
@pytest.mark.parametrize("family", ["mistral", "gemma3", "llama"])
def test_long_prompts_are_read_in_pieces_where_they_need_a_mask(family, length, monkeypatch):
    monkeypatch.setattr("univer.runtime.batch.MASKED_TOKENS", 4)
    prompt = list(range(3, 3 + length))
    runner = TreeRunner(tiny(family))
    with torch.inference_mode():
        logits = runner.extend(prompt)
    torch.testing.assert_close(logits, plain_logits(tiny(family), prompt), atol=1e-4, rtol=0)
    masked = family != "llama" and length > 5
    assert runner.passes == (-(-length // 4) if masked else 1)


def cache_of(model, tokens):
    runner = TreeRunner(model)
    with torch.inference_mode():
        runner.extend(tokens)
    return held(runner.batch)


def held(batch):
    """Keys and values of the committed tokens of the first text, layer by layer."""
    return entries(batch.cache, 0, batch.texts[0].length)


def assert_same_cache(cache, expected):
    for ours, fresh in zip(cache, expected, strict=True):
        torch.testing.assert_close(ours, fresh, atol=1e-5, rtol=0)


@pytest.mark.parametrize("path", [[0], [0, 2, 6], [0, 1, 4, 7, 8, 9], [0, 3], [0, 1, 5]])
@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral", "gemma3"])
def test_fault_17_kept_entries_equal_a_fresh_prefill(family, path):
    runner, _ = read(tiny(family), PROMPT, TOKENS, PARENTS)
    with torch.inference_mode():
        runner.keep(path)
    kept = PROMPT + [TOKENS[node] for node in path]
    assert runner.length == len(kept)
    assert_same_cache(held(runner.batch), cache_of(tiny(family), kept))
    with torch.inference_mode():
        logits = runner.read_nodes([17], [-1])[0]
    torch.testing.assert_close(logits, plain_logits(tiny(family), [*kept, 17]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("layers", [2, 5])
def test_fault_14_every_layer_holds_all_committed_tokens_but_the_pending_one(layers):
    config = LlamaConfig(**tiny("llama").config.to_dict() | {"num_hidden_layers": layers})
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = LlamaForCausalLM(config).eval()
    text = greedy_reference(model, [7], 20)
    generation = generate_rounds(
        model,
        OracleDraft(text, [0, 3, 1]),
        torch.tensor([[7]]),
        temperature=0,
        max_new_tokens=20,
        tree="chain-3",
        eos_token_id=None,
    )
    for _ in generation:
        if generation.engine.rows:
            batch = generation.engine.batch
            assert batch.texts[0].length == len(generation.committed) - 1
            assert len(held(batch)) == layers
            assert_same_cache(held(batch), cache_of(model, generation.committed[:-1]))


def test_fault_13_positions_are_the_committed_length_plus_the_depth():
    table = TableModel(torch.full((60, 60), 1 / 60))
    script = [[(0, 5), (0, 6), (1, 7), (3, 8)], [(0, 1), (0, 2), (2, 3)]]
    generation = generate_rounds(
        table, ScriptedDraft(script), torch.tensor([[4, 9]]), max_new_tokens=12, tree="2x3", seed=0, eos_token_id=None
    )
    lengths = [len(generation.committed) for _ in generation]
    depths = [[0, 1, 1, 2, 3], [0, 1, 1, 2]]
    assert table.reads[0] == ([4, 9], [0, 1])
    for (_, positions), length, expected in zip(table.reads[1:], lengths, depths, strict=False):
        assert positions == [length - 1 + depth for depth in expected]


def test_draft_keeps_its_own_cache_equal_to_a_fresh_prefill():
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    generation = generate_rounds(
        target, draft, torch.tensor([PROMPT]), temperature=1, seed=2, max_new_tokens=40, eos_token_id=None
    )
    accepted = set()
    for step in generation:
        accepted.add(sum(step.from_draft))
        session = generation.rows[0].session
        if session.runner.length and not generation.rows[0].ended:
            assert session.runner.nodes == 0
            assert len(generation.committed) - 2 <= session.runner.length < len(generation.committed)
            assert_same_cache(
                held(session.runner.batch), cache_of(draft, generation.committed[: session.runner.length])
            )
    assert len(accepted) > 2, "the draft must be right now and then for the test to mean anything"


def test_committed_tokens_are_not_read_into_a_pending_tree():
    runner, _ = read(tiny("llama"), PROMPT, TOKENS, PARENTS)
    with pytest.raises(RuntimeError, match="call keep first"):
        runner.extend([5])
