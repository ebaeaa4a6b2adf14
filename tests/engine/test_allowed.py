"""Texts whose next tokens a function lists, on trees: as transformers writes them, and in law."""

import math

import pytest
import torch
from scipy.stats import chisquare

import univer
from engine.fakes import OracleDraft, ScriptedDraft, TableModel
from engine.families import greedy_reference, near_copy, tiny
from univer.engine import Engine, Sampling, generate
from univer.engine.allowed import AllowedTokens

PROMPT = [3, 14, 15, 9, 26, 5]
NEW = 16
V = 4


def near_the_last_two(text, ids):
    """Tokens near one of the last two, more of them in later texts."""
    return [token for token in range(61) if min(abs(token - last) for last in ids[-2:].tolist()) <= 5 + 3 * text]


def run(draft, prompts=(PROMPT,), **options):
    options = {"temperature": 0, "tree": "2x3", "max_new_tokens": NEW, "eos_token_id": None} | options
    return generate(tiny("llama"), draft, [list(prompt) for prompt in prompts], **options)


@pytest.mark.parametrize("tree", ["2x3", "grow:nodes=12,depth=4"])
@pytest.mark.parametrize("draft", ["near", "first=1", "lookup", "first=1+automaton"])
def test_fault_26_the_greedy_text_is_that_of_transformers(draft, tree):
    settings = {"prefix_allowed_tokens_fn": near_the_last_two, "repetition_penalty": 1.3}
    expected = greedy_reference(tiny("llama"), PROMPT, NEW, **settings)
    assert expected != greedy_reference(tiny("llama"), PROMPT, NEW, repetition_penalty=1.3)
    result = run(near_copy("llama", 0.2) if draft == "near" else draft, tree=tree, **settings)
    assert result.texts == [expected]


def test_fault_26_every_text_is_told_its_own_number():
    prompts = [PROMPT, PROMPT[:3], PROMPT]
    result = run(near_copy("llama", 0.2), prompts, prefix_allowed_tokens_fn=near_the_last_two)
    for number, (prompt, text) in enumerate(zip(prompts, result.texts, strict=True)):
        own = {"prefix_allowed_tokens_fn": lambda _, ids, number=number: near_the_last_two(number, ids)}
        assert text == greedy_reference(tiny("llama"), prompt, NEW, **own)
    assert result.texts[0] != result.texts[2]
    engine = Engine(tiny("llama"), "lookup")
    row = engine.add(PROMPT, temperature=0, max_new_tokens=NEW, prefix_allowed_tokens_fn=near_the_last_two)
    while engine.busy:
        engine.step()
    assert row.committed == result.texts[0]


def two_of_four(text, ids):
    """Two tokens of four, by the last two."""
    return [(int(ids[-1]) + int(ids[-2])) % V, (int(ids[-1]) + 1) % V]


@pytest.mark.parametrize(("method", "tree"), [("univer", "2x3"), ("traversal", "2x2")])
def test_fault_26_the_law_is_that_of_the_allowed_tokens(method, tree):
    weights = torch.rand(2, V, V, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.05
    target, draft = (TableModel(own / own.sum(-1, keepdim=True)) for own in weights)
    result = generate(
        target,
        draft,
        torch.tensor([[0, 1]]),
        method=method,
        tree=tree,
        prefix_allowed_tokens_fn=two_of_four,
        max_new_tokens=500,
        eos_token_id=None,
        seed=0,
    )
    assert result.stats.accepted > 100
    text = result.texts[0]
    counts = torch.zeros(V, V, V)
    for place in range(2, len(text)):
        counts[text[place - 2], text[place - 1], text[place]] += 1
    for before in range(V):
        for last in range(V):
            allowed = sorted(set(two_of_four(0, torch.tensor([before, last]))))
            row = counts[before, last]
            assert row[allowed].sum() == row.sum(), "a token that is not allowed was emitted"
            if len(allowed) > 1 and row.sum() > 30:
                law = Sampling().distributions(target.logits[last][None])[0, allowed].double()
                assert chisquare(row[allowed].double(), law / law.sum() * row.sum()).pvalue > 1e-4 / V**2


def test_a_branch_is_never_asked_about_behind_what_was_not_allowed():
    shown = []

    def allowed(text, ids):
        shown.append(ids.tolist())
        return range(0, 61, 2)

    allowed.depends_on_ids_alone = True
    wild = [[(0, 5), (0, 8), (1, 6), (2, 7), (2, 4), (5, 10), (4, 12)]] * 6
    run(ScriptedDraft(wild), prefix_allowed_tokens_fn=allowed, tree="3x3")
    assert all(token % 2 == 0 for ids in shown for token in ids[len(PROMPT) :])
    assert any(len(ids) > len(PROMPT) + 1 for ids in shown)


def test_a_branch_without_a_way_on_matters_only_where_it_is_taken():
    text = greedy_reference(tiny("llama"), PROMPT, NEW)
    elsewhere = next(token for token in range(3, 61) if token not in text)

    def dead_end(token):
        return lambda _, ids: [] if int(ids[-1]) == token else range(61)

    tree = [(0, elsewhere), (0, text[len(PROMPT) + 1])]
    assert run(ScriptedDraft([tree]), prefix_allowed_tokens_fn=dead_end(elsewhere)).texts == [text]
    with pytest.raises(ValueError, match="the processors forbid every token after"):
        run(OracleDraft(text), tree="chain-5", prefix_allowed_tokens_fn=dead_end(text[len(PROMPT) + 3]))


def test_fault_26_what_is_allowed_goes_before_what_is_forbidden_as_in_transformers():
    settings = {"prefix_allowed_tokens_fn": lambda _, ids: [7, 8], "bad_words_ids": [[7], [8]]}
    assert run("lookup", **settings).texts == [greedy_reference(tiny("llama"), PROMPT, NEW, **settings)]


class Turns:
    """Another answer from call to call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text, ids):
        self.calls += 1
        return [self.calls % 61]


def noted():
    seen = []

    def allowed(text, ids):
        seen.append(len(ids))
        return range(61)

    return allowed


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (Turns(), "prefix_allowed_tokens_fn gives another row"),
        (noted(), "prefix_allowed_tokens_fn has changed what it keeps"),
        (lambda text, ids: [5, 61], "prefix_allowed_tokens_fn lists token 61, which is outside"),
        (lambda text, ids: [-1], "prefix_allowed_tokens_fn lists token -1"),
    ],
)
@pytest.mark.parametrize("gap", [None, 0, 2])
def test_fault_27_functions_with_a_state_and_ids_that_there_are_not(function, message, gap):
    """In `generate`, in the drop-in, and there with padding before the prompt."""

    def drop_in():
        ids, mask = torch.tensor([[0] * gap + PROMPT]), torch.tensor([[0] * gap + [1] * len(PROMPT)])
        options = {"max_new_tokens": 4, "prefix_allowed_tokens_fn": function}
        tiny("llama").generate(ids, attention_mask=mask, custom_generate=univer.hf("lookup"), **options)

    with pytest.raises(ValueError, match=message):
        run("lookup", prefix_allowed_tokens_fn=function) if gap is None else drop_in()


def test_rows_are_masked_each_by_its_own_ids():
    allowed = AllowedTokens(lambda text, ids: torch.tensor([text, int(ids[0])]), 3)
    rows = allowed(torch.tensor([[0], [1]]), torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, -math.inf, 3.0, -math.inf]]))
    assert rows.tolist() == [[1.0, -math.inf, -math.inf, 4.0], [-math.inf, 0.0, -math.inf, 0.0]]
