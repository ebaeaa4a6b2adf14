"""The test of goodness of fit."""

import numpy as np

from univer.audit.checks import FAMILY_LEVEL, fit_p_value


def test_p_values_of_the_right_law_are_spread_and_of_a_wrong_one_small() -> None:
    rng = np.random.default_rng(0)
    law = np.array([0.5, 0.3, 0.2 - 1e-5, 1e-5, 0.0])
    p_values = np.array([fit_p_value(rng.multinomial(20_000, law), law) for _ in range(400)])
    assert 0.4 < p_values.mean() < 0.6
    assert (p_values < 0.05).mean() < 0.1
    assert fit_p_value(rng.multinomial(20_000, [0.52, 0.28, 0.2, 0, 0]), law) < FAMILY_LEVEL
    assert fit_p_value(np.array([5, 3, 2, 0, 1]), law) == 0
