"""What a head proposes depends on the committed text alone, however the text came about."""

import copy
from collections.abc import Sequence

import pytest
import torch

from drafting.eagle.checkpoints import DRAFT_TOKENS
from drafting.eagle.pairs import exact_draft, features_of, random_draft
from engine.families import FAMILIES, VOCABULARY, greedy_reference, tiny
from univer.drafting.base import DraftRequest
from univer.drafting.eagle.draft import EagleDraft
from univer.drafting.growth.parse import parse_tree
from univer.drafting.proposals import complete
from univer.engine import Streams, generate
from univer.engine.contexts import ContextSettings, contexts
from univer.engine.warpers import Sampling
from univer.models.packing import pack
from univer.runtime.runner import TreeRunner
from univer.tree import DraftTree

PROMPT = [5, 9, 3, 17, 4, 8, 11]
KINDS = [(1, False), (1, True), (3, False), (3, True)]


def request(features: torch.Tensor, seed: int, sampling: Sampling | None = None) -> DraftRequest:
    return DraftRequest(
        vocabulary=VOCABULARY,
        device=torch.device("cpu"),
        distributions=(sampling or Sampling(0.8, top_k=12)).distributions,
        generator=torch.Generator().manual_seed(seed),
        branching=True,
        max_length=96,
        features=features,
    )


def growth(depth: int, law: str = "mixed"):
    return parse_tree("3x3").start(law, greedy=False).begin(depth)


def same(tree: DraftTree, other: DraftTree) -> None:
    assert tree.tokens.tolist() == other.tokens.tolist()
    assert list(tree.parents) == list(other.parents)
    assert tree.draft_laws.keys() == other.draft_laws.keys()
    for node, row in tree.draft_laws.items():
        torch.testing.assert_close(row, other.draft_laws[node], atol=1e-9, rtol=1e-6)


def path_of(tree: DraftTree, length: int) -> list[int]:
    """A path of so many nodes from the root down, by the last child at every node."""
    path: list[int] = []
    for _ in range(length):
        children = [node for node, parent in enumerate(tree.parents) if parent == (path[-1] if path else 0)]
        path.append(children[-1])
    return path


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize(("variant", "reduced"), KINDS)
@pytest.mark.parametrize("prompt", [PROMPT, PROMPT[:1]], ids=["long", "one token"])
@torch.no_grad()
def test_every_round_proposes_what_a_fresh_head_proposes(
    family: str, variant: int, reduced: bool, prompt: Sequence[int]
) -> None:
    """Nothing, some and all of a tree are accepted, plain rounds come between, and a tree is drafted twice."""
    draft, target = exact_draft(family, variant, reduced)
    runner = TreeRunner(target, draft.features)
    runner.extend(prompt)
    session = draft.start(request(runner.features, 0))
    committed = [*prompt, 7]
    for number, kept in enumerate([1, 0, 3, "plain", 2, 0, 0, 3, "plain", "twice", 1]):
        fresh = draft.start(request(features_of(target, committed[:-1], draft.features), number))
        if kept == "plain":
            tree = DraftTree([committed[-1]], [-1], ["root"], None, "mixed")
            kept = 0
        else:
            times, kept = (2, 1) if kept == "twice" else (1, kept)
            for _ in range(times):
                session.request.generator.manual_seed(number)
                tree = complete(session.propose(committed, growth(3)))
            same(tree, complete(fresh.propose(committed, growth(3))))
        path = path_of(tree, kept)
        runner.read_nodes(tree.tokens.tolist(), tree.parents)
        runner.keep([0, *path])
        session.settle(path, runner.features[[0, *path]])
        committed += [*tree.tokens[path].tolist(), 20 + number]
    assert session.passes > 20


@torch.no_grad()
def test_trees_on_trial_at_several_places_of_a_text() -> None:
    """The comparison of methods drafts many trees at one place and then moves on by several tokens."""
    draft, target = exact_draft("llama", 3, True)
    sampling, prompt = Sampling(0.8, top_k=12), torch.tensor([PROMPT])
    policy = parse_tree("3x3")
    settings = ContextSettings(sampling=sampling, places=3, new_tokens=12)
    found = contexts(target, draft, prompt, [(policy, "mixed"), (policy, "swor")], settings, seed=3)
    shared = {"tree": "2x3", "temperature": 0.8, "top_k": 12, "max_new_tokens": 12, "eos_token_id": None}
    stream = torch.Generator().manual_seed(3)
    text = generate(target, draft, prompt, generator=Streams(stream, stream), **shared).sequences[0].tolist()
    places = set()
    for context in found:
        features = features_of(target, text[: context.place - 1], draft.features)
        fresh = complete(draft.start(request(features, 0)).propose(text[: context.place], growth(1, "swor")))
        torch.testing.assert_close(context.tree.draft_laws[0], fresh.draft_laws[0], atol=1e-9, rtol=1e-6)
        places.add(context.place)
    assert len(places) == 3


@torch.no_grad()
def test_room_for_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffers of the cache grow while trees hang in them."""
    target, draft = tiny("llama"), random_draft("llama", 3, True)
    text = torch.randint(3, 40, (40,), generator=torch.Generator().manual_seed(0)).tolist()
    features = features_of(target, text[:-1], draft.features)
    expected = complete(draft.start(request(features, 1)).propose(text, growth(3)))
    monkeypatch.setattr("univer.drafting.eagle.cache.FIRST_ROOM", 40)
    same(complete(draft.start(request(features, 1)).propose(text, growth(3))), expected)


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(0.7, top_k=5), Sampling(1.3, top_p=0.8), Sampling(min_p=0.1)]
)
@torch.no_grad()
def test_rows_are_distributions_over_the_draft_vocabulary(sampling: Sampling) -> None:
    """The row is the distribution of the head's scores with every other token at -inf, in float32."""
    target, draft = tiny("llama"), random_draft("llama", 3, True)
    features = features_of(target, PROMPT, draft.features)
    session = draft.start(request(features, 0, sampling))
    tree = complete(session.propose([*PROMPT, 7], growth(1)))
    head, ids = draft.head, torch.tensor(DRAFT_TOKENS)
    rows = head.embed(torch.tensor([*PROMPT[1:], 7]), draft.table)
    hidden = head.block(
        rows[None], head.fuse(features)[None], lambda q, k, v: _causal(q, k, v), torch.arange(len(PROMPT))[None]
    )
    scores = torch.full((1, VOCABULARY), -torch.inf).index_copy_(1, ids, head.logits(hidden[0, -1:]))
    row = tree.draft_laws[0]
    assert row.dtype == torch.float32
    torch.testing.assert_close(row, sampling.distributions(scores)[0], atol=1e-6, rtol=1e-4)
    assert not row[[token for token in range(VOCABULARY) if token not in DRAFT_TOKENS]].any()


def _causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name.startswith(("llama", "qwen2"))])
@pytest.mark.parametrize(("variant", "reduced"), KINDS)
@pytest.mark.parametrize("prompt", [PROMPT, PROMPT[:1]], ids=["long", "one token"])
def test_greedy_text_is_that_of_the_target(family: str, variant: int, reduced: bool, prompt: list[int]) -> None:
    draft = random_draft("qwen2" if family.startswith("qwen2") else family, variant, reduced)
    target = tiny(family)
    for tree, method in (("3x3", "univer"), ("chain-4", "block")):
        result = generate(
            target,
            EagleDraft(draft.head, target),
            torch.tensor([prompt]),
            tree=tree,
            method=method,
            temperature=0,
            max_new_tokens=24,
            eos_token_id=None,
        )
        assert result.sequences[0].tolist() == greedy_reference(target, prompt, 24)


def test_a_seed_decides_and_nothing_stays_behind() -> None:
    target, draft = tiny("llama"), random_draft("llama", 3, True)
    before = {name: tensor.clone() for name, tensor in draft.head.state_dict().items()}
    runs = [
        generate(target, draft, torch.tensor([PROMPT]), tree="3x3", max_new_tokens=20, seed=seed, eos_token_id=None)
        for seed in (1, 2, 1)
    ]
    texts = [run.sequences[0].tolist() for run in runs]
    assert texts[0] == texts[2] != texts[1]
    assert runs[0].stats.draft == "eagle"
    assert runs[0].stats.draft_passes > 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in draft.head.state_dict().items())


@pytest.mark.parametrize("variant", [1, 3])
@torch.no_grad()
def test_found_11_a_head_keeps_its_precision_within_autocast(variant: int) -> None:
    target, head = tiny("llama"), copy.deepcopy(random_draft("llama", variant, True).head)
    draft = EagleDraft(pack(head), target)
    features = features_of(target, PROMPT, draft.features)
    expected = complete(draft.start(request(features, 1)).propose([*PROMPT, 7], growth(3)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        same(complete(draft.start(request(features, 1)).propose([*PROMPT, 7], growth(3))), expected)
        settings = {"tree": "2x2", "max_new_tokens": 12, "seed": 1, "eos_token_id": None}
        text = generate(target, draft, torch.tensor([PROMPT]), **settings).sequences[0]
    assert len(text) == len(PROMPT) + 12


@torch.no_grad()
def test_missing_and_foreign_features_are_refused() -> None:
    target, draft = tiny("llama"), random_draft("llama", 3, True)
    features = features_of(target, PROMPT, draft.features)
    with pytest.raises(ValueError, match="hidden states, which the request does not hold"):
        draft.start(request(None, 0))
    session = draft.start(request(features, 0))
    with pytest.raises(ValueError, match="hidden states of 7 tokens below a text of 7"):
        complete(session.propose(PROMPT, growth(2)))
    session.settle([], features[:2])
    with pytest.raises(ValueError, match="hidden states of 9 tokens below a text of 8"):
        complete(session.propose([*PROMPT, 7], growth(2)))
