"""Greedy text against transformers' own, for every architecture, draft and shape."""

import copy

import pytest
import torch

from engine.fakes import OracleDraft, ScriptedDraft, chain
from engine.families import FAMILIES, greedy_reference, near_copy, tiny
from univer.engine import generate, generate_rounds, plain

PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9, 26, 5]
NEW = 24


def text_of(target, draft, prompt, **options):
    options = {"temperature": 0, "max_new_tokens": NEW, "eos_token_id": None} | options
    return generate(target, draft, torch.tensor([prompt]), **options).sequences[0].tolist()


@pytest.mark.parametrize("draft", ["independent", "itself", "lookup", "first=2", "skip=1", "none"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fault_22_greedy_text_is_that_of_transformers(family, draft):
    target = tiny(family)
    drafts = {"independent": near_copy(family), "itself": target, "none": None}
    expected = greedy_reference(target, PROMPT, NEW)
    assert len(set(expected[len(PROMPT) :])) > 3, "a text that repeats one token tests nothing"
    for tree in ("2x3", "chain-4"):
        assert text_of(target, drafts.get(draft, draft), PROMPT, tree=tree) == expected


@pytest.mark.parametrize("tree", ["eagle", "2x5", "3x2", [-1, 0, 0, 1, 1, 2], [[0], [1], [1, 0], [0, 0]], "chain-1"])
def test_every_shape_gives_the_greedy_text(tree):
    assert text_of(tiny("llama"), near_copy("llama"), PROMPT, tree=tree) == greedy_reference(tiny("llama"), PROMPT, NEW)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
def test_both_masked_back_ends_give_the_greedy_text(family, attention):
    target = tiny(family, attention)
    assert text_of(target, near_copy(family), PROMPT) == greedy_reference(target, PROMPT, NEW)


def test_same_model_as_draft_is_always_right():
    stats = generate(
        tiny("llama"), tiny("llama"), torch.tensor([PROMPT]), temperature=0, max_new_tokens=25, tree="chain-3"
    ).stats
    assert stats.tau == 4


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("right", [[0], [1], [4], [0, 1, 4]])
def test_fault_13_one_token_prompt(family, right):
    target = tiny(family)
    expected = greedy_reference(target, [7], 40)
    draft = OracleDraft(expected, right)
    assert text_of(target, draft, [7], tree="chain-4", max_new_tokens=40) == expected
    assert {len(path) for path in draft.paths[:-2]} <= set(right)


def test_fault_16_a_draft_that_is_always_wrong_adds_one_token_a_round():
    target = tiny("llama")
    expected = greedy_reference(target, PROMPT, 4)
    generation = generate_rounds(
        target,
        OracleDraft(expected, [0]),
        torch.tensor([PROMPT]),
        temperature=0,
        max_new_tokens=4,
        tree="chain-5",
        eos_token_id=None,
    )
    assert [len(step.tokens) for step in generation] == [1, 1, 1, 1]
    assert generation.result.sequences[0].tolist() == expected


def test_fault_06_a_longer_branch_below_a_likely_token_does_not_win():
    target = tiny("llama")
    expected = greedy_reference(target, PROMPT, 8)
    first, second, third = expected[len(PROMPT) : len(PROMPT) + 3]
    wrong = next(token for token in range(10) if token != second)
    after_wrong = greedy_reference(target, [*PROMPT, first, wrong], 3)[len(PROMPT) + 2 :]
    tree = [(0, wrong), (0, second), (1, after_wrong[0]), (3, after_wrong[1]), (4, after_wrong[2]), (2, third)]
    draft = ScriptedDraft([tree])
    assert text_of(target, draft, PROMPT, tree="2x4", max_new_tokens=8) == expected
    assert draft.paths[0] == [2, 6]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_fault_09_rejection_at_every_place_of_the_chain(length):
    target = tiny("llama")
    expected = greedy_reference(target, PROMPT, 12)
    for correct in range(length + 1):
        draft = OracleDraft(expected, [correct])
        assert text_of(target, draft, PROMPT, tree=f"chain-{length}", max_new_tokens=12) == expected
        assert len(draft.paths[0]) == correct


def test_fault_10_an_unbalanced_tree_in_either_numbering():
    target = tiny("gpt2")
    expected = greedy_reference(target, PROMPT, 8)
    first, second = expected[len(PROMPT) + 1 : len(PROMPT) + 3]
    breadth = [(0, 1), (0, first), (1, 4), (1, 6), (2, second)]
    depth = [(0, 1), (1, 4), (1, 6), (0, first), (4, second)]
    for script in (breadth, depth):
        draft = ScriptedDraft([script])
        assert text_of(target, draft, PROMPT, tree="2x2", max_new_tokens=8) == expected
        assert len(draft.paths[0]) == 2


def test_fault_37_tree_wider_than_the_vocabulary():
    expected = greedy_reference(tiny("llama"), PROMPT, 6)
    assert text_of(tiny("llama"), near_copy("llama"), PROMPT, tree="70x1", max_new_tokens=6) == expected


@pytest.mark.parametrize("method", ["token", "rrs", "rrsw", "univer", "univer-mixed", "spectr"])
def test_every_method_gives_the_greedy_text(method):
    expected = greedy_reference(tiny("llama"), PROMPT, NEW)
    assert text_of(tiny("llama"), near_copy("llama"), PROMPT, method=method, tree="chain-2") == expected


def test_plain_is_the_one_token_loop():
    result = plain(tiny("llama"), torch.tensor([PROMPT]), temperature=0, max_new_tokens=NEW, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(tiny("llama"), PROMPT, NEW)
    assert result.stats.method == "plain"
    assert result.stats.target_passes == NEW
    assert result.stats.tau == 1


def test_bfloat16_differs_at_near_ties_only():
    target = tiny("llama").__class__(tiny("llama").config).eval()
    target.load_state_dict(tiny("llama").state_dict())
    target = target.to(torch.bfloat16)
    ours = text_of(target, near_copy("llama"), PROMPT, tree="2x3")
    reference = greedy_reference(target, PROMPT, NEW)
    if ours != reference:
        split = next(i for i, (a, b) in enumerate(zip(ours, reference, strict=True)) if a != b)
        with torch.no_grad():
            logits = target(input_ids=torch.tensor([reference[:split]])).logits[0, -1].float()
        top = logits.topk(2).values
        assert top[0] - top[1] < 0.05 * top[0].abs()


def test_target_and_draft_of_different_precision():
    expected = greedy_reference(tiny("llama"), PROMPT, NEW)
    draft = near_copy("qwen2").__class__(near_copy("qwen2").config).eval().to(torch.bfloat16)
    assert text_of(tiny("llama"), draft, PROMPT) == expected


def test_chain_of_right_tokens_in_script_is_followed_to_its_end():
    expected = greedy_reference(tiny("llama"), PROMPT, 7)
    draft = ScriptedDraft([chain(expected[len(PROMPT) + 1 : len(PROMPT) + 4])])
    assert text_of(tiny("llama"), draft, PROMPT, tree="chain-3", max_new_tokens=7) == expected
    assert draft.paths[0] == [1, 2, 3]


def test_double_precision_throughout():
    target = copy.deepcopy(tiny("gpt2")).double()
    expected = greedy_reference(target, PROMPT, NEW)
    assert text_of(target, copy.deepcopy(near_copy("gpt2")).double(), PROMPT) == expected
    assert text_of(target, near_copy("gpt2"), PROMPT) == expected
    sampled = [
        text_of(target, draft, PROMPT, temperature=0.8, seed=1, tree="2x2") for draft in (near_copy("gpt2"), "first=1")
    ]
    assert all(len(text) == len(PROMPT) + NEW for text in sampled)
