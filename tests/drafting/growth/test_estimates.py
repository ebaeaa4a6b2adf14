"""Estimates of acceptance: what they must have in common with probabilities."""

import numpy as np
import pytest

from univer.drafting.growth.adaptive import EDGES, Calibration
from univer.drafting.growth.estimates import Candidate, Estimates, agreement, sampled_acceptance, spread
from univer.tree import DraftTree

ENTROPIES = np.array([0.0, 0.4, 1.3, 2.7, 6.0])


def test_the_acceptance_of_a_sampled_token_is_the_mean_over_a_log_normal_ratio() -> None:
    ratios = np.random.default_rng(0).standard_normal(400_000)
    for mass, kappa in ((1.0, 0.7), (0.4, 0.7), (0.1, 0.5)):
        sigma = spread(np.array(kappa))
        counted = np.minimum(1, mass * np.exp(sigma * ratios - sigma**2 / 2)).mean()
        assert sampled_acceptance(np.array(mass), sigma) == pytest.approx(counted, abs=2e-3)


def test_limits_of_the_acceptance() -> None:
    kappa = np.linspace(0.3, 0.99, 8)
    np.testing.assert_allclose(sampled_acceptance(np.ones(8), spread(kappa)), kappa)
    masses = np.array([0.0, 1e-4, 0.01, 0.2, 0.7, 1.0])
    values = sampled_acceptance(masses, np.full(6, 1.2))
    assert values[0] == 0
    assert (np.diff(values) > 0).all()
    assert (values <= masses).all()
    # The part of the mass that the child covers grows as the mass falls.
    assert (np.diff(values[1:] / masses[1:]) < 0).all()


def test_a_more_doubtful_draft_is_trusted_less() -> None:
    assert (np.diff(agreement(ENTROPIES)) < 0).all()
    beliefs = Estimates(ENTROPIES)
    assert (np.diff(beliefs.sampled(np.full((5, 1), 0.5))[:, 0]) < 0).all()
    assert (np.diff(beliefs.shares(3)[:, 1]) >= 0).all()


@pytest.mark.parametrize("place", range(5))
def test_fixed_children_share_what_the_likeliest_one_loses(place: int) -> None:
    chances = [0.5, 0.3, 0.15, 0.05]
    found = Estimates(ENTROPIES).fixed(place, [Candidate(t, q, q) for t, q in enumerate(chances)])
    assert sum(found) == pytest.approx(1)
    assert found[0] < 0.5
    assert np.array(found[1:]) / chances[1:] == pytest.approx(found[1] / chances[1])
    guessed = Estimates(ENTROPIES).fixed(place, [Candidate(9, 0.0, 0.6), Candidate(0, 0.5, 0.5)])
    assert guessed == [0.6, found[0]]


def test_likelier_tokens_are_accepted_rather() -> None:
    beliefs = Estimates(ENTROPIES)
    for place in range(5):
        found = [beliefs.drawn(place, 0.4, chance) for chance in (1e-6, 1e-4, 0.01, 0.1, 0.3)]
        assert (np.diff(found) > 0).all()
        assert found[0] > 0
        assert found[-1] <= 0.4


def test_corrections_are_those_of_the_formula_and_apart_by_kind_and_range() -> None:
    """Tested three times and accepted once at 0.25; a fourth child hangs below a node that was not kept."""
    calibration = Calibration(4.0)
    tree = DraftTree([0, 1, 2, 1], [-1, 0, 0, 2], ["root", "fixed", "fixed", "fixed"], None, "fixed")
    for path in ([1], [2], []):
        calibration.count(tree, path, [1.0, 0.25, 0.01, 0.9])
    estimates = np.array([0.25, 0.3, 0.01, 0.9, 0.5])
    # The child of node 2 was tested once, in the round that kept node 2.
    factors = [(4 + 1) / (4 + 0.75)] * 2 + [(4 + 1) / (4 + 0.03), 4 / (4 + 0.9), 1.0]
    np.testing.assert_allclose(calibration.corrected("fixed", estimates), np.minimum(1, estimates * factors))
    np.testing.assert_allclose(calibration.corrected("sampled", estimates), estimates)
    assert Calibration(0.0).corrected("fixed", estimates) is estimates
    assert list(EDGES) == sorted(EDGES)
