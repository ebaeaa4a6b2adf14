"""Processors along the branches of a tree: what they are shown, what is refused, and the law of the text."""

import math

import pytest
import torch
from scipy.stats import chisquare

from engine.fakes import OracleDraft, ScriptedDraft, TableModel
from engine.families import greedy_reference, near_copy, tiny
from univer import methods, outcome_law
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.builder import TreeBuilder
from univer.drafting.columns import DraftVocabulary
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.independent import IndependentDraft
from univer.drafting.lookup import LookupSource
from univer.drafting.proposals import complete
from univer.drafting.shapes import parse_shape
from univer.engine import Engine, Sampling, generate
from univer.engine.branches import BranchProcessors

PROMPT = [3, 14, 15, 9, 26, 5]
V = 4
EOS = frozenset({2})


def run(draft, **options):
    options = {"temperature": 0, "tree": "2x3", "max_new_tokens": 14, "eos_token_id": None} | options
    return generate(tiny("llama"), draft, torch.tensor([PROMPT]), **options)


class Twist:
    """Bans the token before the last and favours the last: a law of the last two tokens."""

    def __call__(self, input_ids, scores):
        rows = torch.arange(len(scores))
        scores[rows, input_ids[:, -1]] += 0.7
        scores[rows, input_ids[:, -2]] = -math.inf
        return scores


def table(seed, size=V):
    weights = torch.rand(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.05
    return weights / weights.sum(-1, keepdim=True)


def law_after(model, before, last, sampling):
    scores = Twist()(torch.tensor([[before, last]]), model.logits[last][None].clone())
    return sampling.distributions(scores)[0].double()


DRAFTS = {
    "model": lambda: TableModel(table(2)),
    "guesses": lambda: "lookup+automaton",
    "both": lambda: CombinedDraft(IndependentDraft(TableModel(table(2))), [LookupSource(), AutomatonSource()]),
}


@pytest.mark.parametrize(
    ("method", "tree", "draft"),
    [
        ("univer", "2x3", "model"),
        ("univer-mixed", "4x2", "model"),
        ("traversal", "2x2", "model"),
        ("block", "chain-3", "model"),
        ("univer", "grow:nodes=7,depth=3", "both"),
        ("univer", "3x2", "guesses"),
    ],
)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.8, top_p=0.9)])
def test_fault_26_the_law_is_that_of_the_processed_rows(method, tree, draft, sampling):
    target = TableModel(table(1))
    result = generate(
        target,
        DRAFTS[draft](),
        torch.tensor([[0, 1]]),
        method=method,
        tree=tree,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        logits_processor=[Twist()],
        max_new_tokens=1500,
        eos_token_id=None,
        seed=0,
    )
    text = result.sequences[0].tolist()
    assert result.stats.accepted > 100
    counts = torch.zeros(V, V, V)
    for place in range(2, len(text)):
        counts[text[place - 2], text[place - 1], text[place]] += 1
    for before in range(V):
        for last in range(V):
            row, law = counts[before, last], law_after(target, before, last, sampling)
            assert (row[law == 0] == 0).all(), "a token of probability zero was emitted"
            possible = law > 0
            if possible.sum() > 1 and row.sum() > 50:
                expected = law[possible] / law[possible].sum() * row.sum()
                assert chisquare(row[possible].double(), expected).pvalue > 1e-4 / V**2


@pytest.mark.parametrize("drafts_see_them", [True, False])
def test_the_law_of_a_round_by_enumeration(drafts_see_them):
    trees = 400
    target, committed = TableModel(table(3)), [0, 1, 2]
    own, theirs = (BranchProcessors([Twist()], frozenset()) for _ in range(2))
    request = DraftRequest(
        V,
        torch.device("cpu"),
        Sampling().distributions,
        torch.Generator().manual_seed(0),
        True,
        10**6,
        processors=theirs.scores if drafts_see_them else None,
    )
    session = IndependentDraft(TableModel(table(4))).start(request)
    shape = parse_shape("2x2", methods()["univer"].draft_law)
    pairs = torch.zeros(V, V, dtype=torch.float64)
    for _ in range(trees):
        tree = complete(session.propose(committed, StaticGrowth(shape)))
        paths = [tree.tokens[tree.topology.path(node)].tolist() if node else [] for node in range(len(tree))]
        laws = Sampling().distributions(own(committed, paths, target.logits[tree.tokens]).scores)
        outcome = outcome_law(tree, laws.double(), "univer")
        for node, path in enumerate(paths):
            for token in range(V):
                block = [*path, token]
                second = torch.zeros(V, dtype=torch.float64)
                if len(block) > 1:
                    second[block[1]] = 1
                else:
                    # The next round begins below the only token: its first one has the target's law.
                    second = law_after(target, committed[-1], token, Sampling())
                pairs[block[0]] += outcome[node, token] * second
        session.settle([])
    first = law_after(target, committed[-2], committed[-1], Sampling())
    expected = torch.stack([first[token] * law_after(target, committed[-1], token, Sampling()) for token in range(V)])
    assert (pairs / trees - expected).abs().max() < 4 * (0.25 / trees) ** 0.5


class Watch:
    """Bans odd tokens and notes the texts that it is shown."""

    depends_on_ids_alone = True

    def __init__(self):
        self.shown = []

    def __call__(self, input_ids, scores):
        self.shown.append(input_ids.tolist())
        scores[:, 1::2] = -math.inf
        return scores


@pytest.mark.parametrize("draft", ["near", "lookup", "scripted"])
def test_processors_are_never_shown_what_they_forbid_nor_what_follows_an_end(draft):
    wild = [[(0, 5), (0, 8), (1, 6), (2, 7), (2, 4), (5, 10), (4, 12)]] * 6
    draft = {"near": near_copy("llama", 0.2), "scripted": ScriptedDraft(wild)}.get(draft, draft)
    watch = Watch()
    result = run(draft, logits_processor=watch, eos_token_id=[4, 8], tree="3x3")
    expected = greedy_reference(tiny("llama"), PROMPT, 14, [4, 8], logits_processor=[Watch()])
    assert result.sequences[0].tolist() == expected
    for texts in watch.shown:
        assert len({len(text) for text in texts}) == 1
        for text in texts:
            assert text[: len(PROMPT)] == PROMPT
            assert all(token % 2 == 0 and token not in (4, 8) for token in text[len(PROMPT) :])


def test_one_call_serves_a_level():
    watch, tree = Watch(), [(0, 2), (0, 4), (1, 6), (1, 8), (2, 6), (3, 10)]
    run(ScriptedDraft([tree]), logits_processor=watch, max_new_tokens=5)
    # Asked once for the prompt, once more by the check, then for the prefill, and for four levels of the first round.
    assert [len(texts) for texts in watch.shown[:7]] == [1, 2, 1, 1, 2, 3, 1]


def dead_end(token):
    """Leaves nothing to follow a token."""

    def process(input_ids, scores):
        return scores.masked_fill((input_ids[:, -1:] == token), -math.inf)

    return process


def test_a_branch_without_a_way_on_matters_only_where_it_is_taken():
    text = greedy_reference(tiny("llama"), PROMPT, 14)
    elsewhere = next(token for token in range(3, 61) if token not in text)
    tree = [(0, elsewhere), (0, text[len(PROMPT) + 1])]
    result = run(ScriptedDraft([tree]), logits_processor=dead_end(elsewhere))
    assert result.sequences[0].tolist() == text
    assert result.stats.rounds[0].accepted == 1
    taken = text[len(PROMPT) + 3]
    with pytest.raises(ValueError, match="the processors forbid every token after"):
        run(OracleDraft(text), tree="chain-5", logits_processor=dead_end(taken))
    # Where the text ends with that token, nobody asks what follows.
    ended = run(OracleDraft(text), tree="chain-5", logits_processor=dead_end(taken), eos_token_id=taken)
    assert ended.sequences[0].tolist() == text[: text.index(taken, len(PROMPT)) + 1]


class ThirdUse:
    """Forbids a token after its third use, counted over the calls."""

    def __init__(self):
        self.seen = []

    def __call__(self, input_ids, scores):
        self.seen.append(int(input_ids[0, -1]))
        for token in {token for token in self.seen if self.seen.count(token) >= 3}:
            scores[:, token] = -math.inf
        return scores


def third_use():
    seen = []

    def process(input_ids, scores):
        seen.append(input_ids[0, -1])
        return scores

    return process


def noise(input_ids, scores):
    return scores + torch.randn(scores.shape)


def of_the_batch(input_ids, scores):
    return scores - scores.sum() / 7


@pytest.mark.parametrize(
    ("processor", "message"),
    [
        (ThirdUse(), "ThirdUse has changed what it keeps"),
        (third_use(), "process has changed what it keeps"),
        (ThirdUse().__call__, "__call__ has changed what it keeps"),
        (noise, "noise gives another row"),
        (of_the_batch, "of_the_batch gives another row"),
        (lambda input_ids, scores: None, "returned a NoneType"),
        (lambda input_ids, scores: scores[:, 1:], r"not scores of the shape \[1, 61\]"),
    ],
)
@pytest.mark.parametrize("draft", ["lookup", None])
def test_fault_27_processors_with_a_state_are_refused(processor, message, draft):
    with pytest.raises(ValueError, match=message):
        run(draft, logits_processor=[processor])


@pytest.mark.parametrize("banned", [False, True])
def test_a_processor_whose_rounding_depends_on_the_number_of_rows_is_no_state(banned):
    generator = torch.Generator().manual_seed(0)
    outer, inner = torch.randn(16, 61, generator=generator), torch.randn(61, 16, generator=generator)

    def process(input_ids, scores):
        scores = scores + torch.tanh(scores @ inner) @ outer
        return scores.masked_fill(torch.arange(61) % 5 == 0, -math.inf) if banned else scores

    target = tiny("llama")
    plain = greedy_reference(target, PROMPT, 14, logits_processor=[process])
    assert run("lookup", logits_processor=process).sequences[0].tolist() == plain


def test_a_processor_that_takes_back_what_it_forbade_is_refused():
    def process(input_ids, scores):
        return scores.masked_fill(torch.arange(61) == len(scores), -math.inf)

    with pytest.raises(ValueError, match="process gives another row"):
        run("lookup", logits_processor=process)


def test_fault_27_a_processor_may_keep_what_does_not_matter():
    class Counter:
        depends_on_ids_alone = True
        calls = 0

        def __call__(self, input_ids, scores):
            self.calls += 1
            return scores

    counter = Counter()
    assert run("lookup", logits_processor=counter).sequences[0].tolist() == greedy_reference(tiny("llama"), PROMPT, 14)
    assert counter.calls > 3


def test_processors_of_a_request_serve_the_next_one_and_are_not_changed():
    processor = Twist()
    first, second = (run(near_copy("llama", 0.2), logits_processor=processor) for _ in range(2))
    assert torch.equal(first.sequences, second.sequences)
    assert vars(processor) == {}


def test_an_exception_in_a_processor_ends_its_own_text_only():
    def failing(input_ids, scores):
        if input_ids.shape[1] > 9:
            raise KeyError("no such state")
        return scores

    engine = Engine(tiny("llama"), near_copy("llama", 0.2))
    options = {"temperature": 0, "max_new_tokens": 14, "eos_token_id": None}
    bad = engine.add(PROMPT, logits_processor=failing, **options)
    good = engine.add(PROMPT, repetition_penalty=1.4, **options)
    while engine.busy:
        engine.step()
    assert isinstance(bad.error, KeyError)
    text = greedy_reference(tiny("llama"), PROMPT, 14)
    assert bad.committed == text[: len(bad.committed)]
    assert good.error is None
    assert good.committed == greedy_reference(tiny("llama"), PROMPT, 14, repetition_penalty=1.4)


def test_what_the_target_may_not_say_is_not_drafted():
    banned = list(range(3, 40))
    generator = torch.Generator().manual_seed(0)

    def drafted(processors):
        applied = processors and processors.scores
        request = DraftRequest(
            61, torch.device("cpu"), Sampling().distributions, generator, True, 64, processors=applied
        )
        with torch.inference_mode():
            return complete(
                IndependentDraft(near_copy("llama"))
                .start(request)
                .propose(PROMPT, StaticGrowth(parse_shape("3x2", "mixed")))
            )

    def ban(input_ids, scores):
        scores[:, banned] = -math.inf
        return scores

    assert set(drafted(None).tokens.tolist()[1:]) & set(banned)
    tree = drafted(BranchProcessors([ban], EOS))
    assert not set(tree.tokens.tolist()[1:]) & set(banned)
    for row in tree.draft_laws.values():
        assert row[banned].sum() == 0


def test_rows_of_a_reduced_vocabulary_are_processed_by_the_tokens_of_their_columns():
    def force(input_ids, scores):
        forced = torch.full_like(scores, -math.inf)
        forced[:, input_ids[0, -1]] = 0
        return forced

    columns = DraftVocabulary(torch.tensor([1, 3]), 5)
    applied = BranchProcessors([force], EOS).scores
    request = DraftRequest(
        5, torch.device("cpu"), Sampling().distributions, torch.Generator(), True, 64, processors=applied
    )
    logits = torch.tensor([[0.0, 2.0]])
    inside = request.rows(logits, "draft", [4, 1], TreeBuilder(1, "mixed", columns), [0])
    assert inside.tolist() == [[1, 0]]
    # The only token that is left has no column: the draft's own row serves, and the target will refuse what it draws.
    outside = request.rows(logits, "draft", [1, 4], TreeBuilder(4, "mixed", columns), [0])
    assert torch.equal(outside, logits.softmax(-1))
