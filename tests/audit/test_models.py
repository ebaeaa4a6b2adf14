"""Models by tables: rows are laws, prefixes are numbered, and a seed gives the same model."""

import numpy as np
import pytest
import torch

from univer.audit.models import KINDS, make_model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_laws(kind: str, dtype: torch.dtype) -> None:
    model = make_model(kind, 4, 3, seed=3, dtype=dtype)
    for table in (model.target, model.draft):
        assert table.shape == (21, 4)
        assert table.dtype == dtype
        assert bool((table >= 0).all())
        torch.testing.assert_close(table.sum(1), torch.ones(21, dtype=dtype))


def test_the_kinds_are_what_they_are_called() -> None:
    same, apart = make_model("P = Q", 4, 3, 0), make_model("disjoint", 4, 3, 0)
    assert bool((same.target == same.draft).all())
    assert float(torch.minimum(apart.target, apart.draft).max()) == 0
    assert bool(((make_model("point draft", 4, 3, 0).draft > 0).sum(1) == 1).all())
    assert int((make_model("used up", 5, 3, 0).draft > 0).sum(1).max()) == 2


def test_a_longer_model_has_the_same_first_rows() -> None:
    short, long = make_model("medley", 3, 2, 5), make_model("medley", 3, 4, 5)
    assert bool((long.target[:4] == short.target).all())
    assert bool((long.draft[:4] == short.draft).all())
    assert not bool((make_model("medley", 3, 2, 6).target == short.target).all())


def test_the_target_continues_what_was_put_out() -> None:
    model = make_model("smooth", 2, 2, 0)
    mass = np.zeros(7)
    mass[1], mass[5], mass[6] = 0.5, 0.2, 0.3  # "0", "1 0" and "1 1"
    row = model.target[1].numpy()
    np.testing.assert_allclose(model.extended(mass, 2), [0.5 * row[0], 0.5 * row[1], 0.2, 0.3])
    np.testing.assert_allclose(model.output_distribution(2).sum(), 1)
