"""Training mode is left for as long as a model works, and come back to."""

import pytest
from torch import nn

from univer.runtime.evaluation import evaluating


def _fail_in_evaluation_mode(model):
    assert not any(module.training for module in model.modules())
    raise KeyError


def test_only_what_was_in_training_mode_comes_back_to_it():
    model = nn.Sequential(nn.Dropout(), nn.Dropout())
    model[1].eval()
    with pytest.raises(KeyError), evaluating([model, "no module"]):
        _fail_in_evaluation_mode(model)
    assert [module.training for module in model.modules()] == [True, True, False]


def test_one_inside_another_changes_nothing():
    model = nn.Sequential(nn.Dropout())
    with evaluating([model]):
        with evaluating([model]):
            pass
        assert not any(module.training for module in model.modules())
    assert all(module.training for module in model.modules())
