"""The search for layers to skip: what it measures, against models pruned by hand, and which sets it tries."""

from itertools import pairwise

import pytest
import torch

from tiny_models import tiny_llama
from univer.drafting.layers import skip_layers
from univer.engine import Sampling, generate
from univer.training.samples import sample_texts
from univer.tuning.skip_search import SkipSearch, Text, pass_seconds
from univer.tuning.skip_set import best_chain, skip_text

LAWS = Sampling(temperature=0.7).distributions
PROMPTS = [[1, 40, 41, 42], [1, 50, 51], [1, 60, 61, 62, 63, 64]]


@pytest.fixture(scope="module")
def target():
    return tiny_llama(0, layers=4)


@pytest.fixture(scope="module")
def texts(target):
    drawn = sample_texts(target, PROMPTS, 12, torch.Generator().manual_seed(0), 0.7).tolist()
    return [Text((*given, *tokens), len(given)) for given, tokens in zip(PROMPTS, drawn, strict=True)]


def overlap(target, layers, texts):
    """The same as a sum over positions, from passes over whole texts."""
    shares = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([text.tokens])
            p, q = (
                LAWS(model(ids, use_cache=False).logits[0]) for model in (target, skip_layers(target, layers).model)
            )
            shares += [float(torch.minimum(p[t], q[t]).sum()) for t in range(text.start - 1, len(text.tokens) - 1)]
    return sum(shares) / len(shares)


def test_overlaps_are_those_of_the_positions_where_the_target_s_tokens_were_drawn(target, texts):
    search = SkipSearch(target, texts, LAWS, most=2, beam=9, shortlist=9, timed=False)
    search.run()
    assert len(search.found) == 4 + 6
    for entry in search.found:
        assert entry.overlap == pytest.approx(overlap(target, entry.layers, texts), abs=1e-5)
    pairs = {entry.layers: entry.overlap for entry in search.found if len(entry.layers) == 2}
    assert len(pairs) == 6
    assert search.best[1].overlap == max(pairs.values())
    assert search.chosen == max(search.found, key=lambda entry: entry.overlap)


def test_one_layer_after_the_other(target, texts):
    done = []
    search = SkipSearch(target, texts, LAWS, most=3, timed=False)
    best = search.run(done.append)
    assert [len(entry.layers) for entry in best] == [1, 2, 3]
    assert set(best[0].layers) < set(best[1].layers) < set(best[2].layers)
    assert done == list(range(1, search.trials + 1))
    assert search.trials == 4 + 3 + 2


def test_the_shortlist_leaves_out_the_layers_missed_most(target, texts):
    search = SkipSearch(target, texts, LAWS, shortlist=2, timed=False)
    best = search.run()
    alone = sorted((entry for entry in search.found if len(entry.layers) == 1), key=lambda entry: -entry.overlap)
    assert [entry.layers for entry in best[1:]] == [tuple(sorted(layer for e in alone[:2] for layer in e.layers))]


def test_passes_are_timed_and_costs_fall_with_every_layer(target, texts):
    search = SkipSearch(target, texts, LAWS, most=3)
    best = search.run()
    costs = [1.0, *(entry.cost for entry in best)]
    assert all(0 < entry.seconds <= search.target_seconds for entry in best)
    steps = [before - after for before, after in pairwise(costs)]
    assert steps == pytest.approx([steps[0]] * 3)
    assert search.chosen.chain[1] == max(entry.chain[1] for entry in best)
    assert all(seconds > 0 for seconds in pass_seconds([target], [5, 6, 7]))


def test_what_is_found_is_a_draft(target, texts):
    chosen = SkipSearch(target, texts, LAWS, most=1, timed=False).run()[0]
    prompt = torch.tensor([PROMPTS[0]])
    result = generate(target, chosen.draft, prompt, max_new_tokens=4, seed=0, tree="2x2")
    assert result.stats.draft == chosen.draft
    figures = chosen.to_dict()
    assert (figures["draft"], figures["layers"], figures["ratio"]) == (chosen.draft, list(chosen.layers), None)


def test_an_interrupted_search_keeps_what_it_measured(target, texts):
    def stop(done):
        if done == 3:
            raise KeyboardInterrupt

    search = SkipSearch(target, texts, LAWS, timed=False)
    with pytest.raises(KeyboardInterrupt):
        search.run(stop)
    assert len(search.found) == 3
    assert search.chosen == max(search.found, key=lambda entry: entry.overlap)


def test_before_the_search_nothing_is_chosen(target, texts):
    assert SkipSearch(target, texts, LAWS).chosen is None


@pytest.mark.parametrize(("layers", "text"), [([3], "3"), ([0, 1], "0-1"), ([3, 16, 17, 18, 20], "3,16-18,20")])
def test_the_text_of_a_set(layers, text):
    assert skip_text(layers) == f"skip={text}"


def test_the_best_chain_against_a_sum_over_its_outcomes():
    overlap, cost = 0.6, 0.2
    length, ratio = best_chain(overlap, cost)
    ratios = {}
    for tried in range(1, 9):
        kept = sum(k * overlap**k * (1 - overlap) for k in range(tried)) + tried * overlap**tried
        ratios[tried] = (kept + 1) / (tried * cost + 1)
    assert ratio == pytest.approx(max(ratios.values()))
    assert ratios[length] == pytest.approx(ratio)
    assert best_chain(1.0, 0.0) == (16, 17.0)
    assert best_chain(0.1, 0.9)[1] < 1


def test_bad_input_is_refused(target, texts):
    with pytest.raises(ValueError, match="beam must be at least 1, got 0"):
        SkipSearch(target, texts, LAWS, beam=0)
    with pytest.raises(ValueError, match="no position to compare"):
        SkipSearch(target, [Text((1, 2), 2)], LAWS)
    with pytest.raises(ValueError, match="only one layer"):
        SkipSearch(tiny_llama(0, layers=1), texts, LAWS)
    with pytest.raises(ValueError, match="layers of a Linear were not found"):
        SkipSearch(torch.nn.Linear(2, 2), texts, LAWS)
