"""The sampled text has the law of the target: on models whose laws are tables."""

from itertools import pairwise

import pytest
import torch
from scipy.stats import chisquare

from engine.fakes import TableModel
from engine.families import near_copy, path_to
from univer import methods, outcome_law
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.independent import IndependentDraft
from univer.drafting.lookup import LookupSource
from univer.drafting.proposals import complete
from univer.drafting.shapes import parse_shape
from univer.engine import Sampling, generate, generate_rounds

VOCABULARY = 5
NEW = 600


def random_laws(seed, concentration=0.8, rows=VOCABULARY, columns=VOCABULARY):
    generator = torch.Generator().manual_seed(seed)
    laws = torch._standard_gamma(torch.full((rows, columns), concentration).double(), generator)
    return laws / laws.sum(-1, keepdim=True)


def transitions(text, size):
    counts = torch.zeros(size, size)
    for before, after in pairwise(text):
        counts[before, after] += 1
    return counts


def assert_follows(text, laws, size=VOCABULARY):
    """Given the token before, each token of a Markov chain is a fresh draw: one chi-square test for each row."""
    counts = transitions(text, size)
    for row, law in zip(counts, laws.double(), strict=True):
        assert (row[law == 0] == 0).all(), "a token of probability zero was emitted"
        possible = law > 0
        if possible.sum() > 1 and row.sum() > 50:
            expected = law[possible] / law[possible].sum() * row.sum()
            assert chisquare(row[possible].double(), expected).pvalue > 1e-4 / VOCABULARY


def long_text(target, draft, **options):
    options = {"tree": "2x2", "seed": 0, "max_new_tokens": NEW, "eos_token_id": None} | options
    return generate(target, draft, torch.tensor([[1]]), **options)


@pytest.mark.parametrize("method", ["univer", "traversal", "spectr-lifted", "univer-mixed"])
def test_text_follows_the_table(method):
    laws = random_laws(1)
    result = long_text(TableModel(laws), TableModel(random_laws(2)), method=method)
    assert_follows(result.sequences[0].tolist()[1:], laws)
    assert 1.1 < result.stats.tau < 3


@pytest.mark.parametrize("order", ["gain", "sampled-first"])
def test_text_follows_the_table_in_every_order(order):
    laws = random_laws(3)
    assert_follows(long_text(TableModel(laws), TableModel(random_laws(4)), order=order).sequences[0].tolist()[1:], laws)


@pytest.mark.parametrize("method", ["token", "block"])
def test_chains_follow_the_table(method):
    laws = random_laws(5)
    result = long_text(TableModel(laws), TableModel(random_laws(6)), method=method, tree="chain-3")
    assert_follows(result.sequences[0].tolist()[1:], laws)


def test_fault_02_a_deterministic_draft_is_no_bias():
    laws = torch.tensor([[0.6, 0.4], [0.6, 0.4]])
    draft = TableModel(torch.tensor([[0.8, 0.2], [0.8, 0.2]]))
    result = long_text(TableModel(laws), draft, method="membership", tree="chain-1")
    assert_follows(result.sequences[0].tolist(), laws, size=2)


@pytest.mark.parametrize("method", ["univer", "univer-mixed"])
def test_guesses_beside_a_model_follow_the_table(method):
    laws = random_laws(17)
    draft = CombinedDraft(IndependentDraft(TableModel(random_laws(18))), [LookupSource(), AutomatonSource()])
    result = long_text(TableModel(laws), draft, method=method, tree="4x2" if method == "univer-mixed" else "3x2")
    assert_follows(result.sequences[0].tolist()[1:], laws)


def test_look_up_follows_the_table():
    laws = random_laws(7)
    result = long_text(TableModel(laws), "lookup")
    assert result.stats.accepted > 30
    assert_follows(result.sequences[0].tolist()[1:], laws)


def test_fault_03_top_k_belongs_to_the_draft_law():
    target = torch.tensor([1, 1.8, 0.9, 0.2, 0, -1]).softmax(-1).expand(6, 6)
    draft = torch.tensor([2, 1.5, 1, 0.5, 0, -0.5]).softmax(-1).expand(6, 6)
    for method, tree in (("block", "chain-2"), ("univer", "2x2")):
        result = long_text(TableModel(target), TableModel(draft), method=method, tree=tree, top_k=2)
        expected = torch.tensor([0.310, 0.690, 0, 0, 0, 0]).expand(6, 6)
        assert_follows(result.sequences[0].tolist()[1:], expected, size=6)


@pytest.mark.parametrize("temperature", [0.5])
def test_fault_04_settings_hold_for_every_token(temperature):
    law = torch.tensor([0.5, 0.3, 0.15, 0.05])
    draft = TableModel(torch.tensor([0.1, 0.1, 0.1, 0.7]).expand(4, 4))
    settings = {"temperature": temperature, "top_p": 0.75}
    expected = Sampling(**settings).distributions(law.log()[None])
    assert expected[0, 3] == 0
    for draft_sampling in (None, Sampling()):
        result = long_text(TableModel(law.expand(4, 4)), draft, draft_sampling=draft_sampling, **settings)
        assert_follows(result.sequences[0].tolist()[1:], expected.expand(4, 4), size=4)


@pytest.mark.parametrize("draft_temperature", [0, 2.0])
def test_the_draft_may_have_a_temperature_of_its_own(draft_temperature):
    laws = random_laws(8)
    result = long_text(TableModel(laws), TableModel(random_laws(9)), draft_temperature=draft_temperature)
    assert_follows(result.sequences[0].tolist()[1:], laws)


def test_fault_08_a_model_that_drafts_for_itself_in_bfloat16():
    logits = random_laws(10).log().bfloat16()
    model = TableModel(random_laws(10))
    model.logits = logits
    result = long_text(model, model)
    assert result.stats.tau > 2.9
    assert_follows(result.sequences[0].tolist()[1:], logits.float().softmax(-1))


@pytest.mark.parametrize(("draft_size", "target_size"), [(4, 6), (6, 4)])
def test_fault_24_vocabularies_of_other_sizes(draft_size, target_size):
    laws = random_laws(11, rows=target_size, columns=target_size)
    draft = random_laws(12, rows=draft_size, columns=draft_size)
    result = long_text(TableModel(laws), TableModel(draft))
    text = result.sequences[0].tolist()
    assert max(text) == target_size - 1
    assert_follows(text[1:], laws, size=target_size)


def test_the_rows_of_a_tree_are_the_laws_the_draft_had_at_its_nodes():
    draft, sampling = near_copy("mistral"), Sampling(temperature=0.8, top_p=0.9)
    request = DraftRequest(61, torch.device("cpu"), sampling.distributions, torch.Generator().manual_seed(0), True, 64)
    session = IndependentDraft(draft).start(request)
    committed = [3, 14, 15, 9, 26, 5, 35, 8]
    with torch.inference_mode():
        tree = complete(session.propose(committed, StaticGrowth(parse_shape("3x3", "mixed"))))
        tokens = tree.tokens.tolist()
        assert len(tree.draft_laws) > 8
        for node, row in tree.draft_laws.items():
            path = path_to(node, tree.parents, tokens)
            logits = draft(input_ids=torch.tensor([committed[:-1] + path])).logits[0, -1:]
            torch.testing.assert_close(row, sampling.distributions(logits)[0], atol=1e-4, rtol=0)


def test_the_exact_outcome_law_of_an_engine_round_averages_to_the_target():
    """Averaged over drafted trees, the law of the first token of a round is the target's row at the root."""
    laws = random_laws(13).float()
    draft, trees = TableModel(random_laws(14)), 1000
    request = DraftRequest(
        VOCABULARY, torch.device("cpu"), Sampling().distributions, torch.Generator().manual_seed(0), True, 10**6
    )
    shape = parse_shape("2x1", methods()["univer"].draft_law)
    session = IndependentDraft(draft).start(request)
    total = torch.zeros(VOCABULARY, dtype=torch.float64)
    committed = [1, 2]
    for _ in range(trees):
        tree = complete(session.propose(committed, StaticGrowth(shape)))
        outcome = outcome_law(tree, laws[tree.tokens], "univer")
        total += outcome[0].double()
        for child in tree.children[0]:
            total[tree.tokens[child]] += outcome[child].sum()
        session.settle([])
    assert (total / trees - laws[2]).abs().max() < 4 * (0.25 / trees) ** 0.5


def test_tau_of_the_engine_is_that_of_its_rounds():
    generation = generate_rounds(
        TableModel(random_laws(15)), TableModel(random_laws(15)), torch.tensor([[1]]), seed=0, max_new_tokens=200
    )
    rounds = [step.round for step in generation if step.round and not step.round.cut]
    assert generation.stats.tau == sum(entry.emitted for entry in rounds) / len(rounds)
