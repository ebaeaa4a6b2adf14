"""Tuning from start to end on tiny models, for every kind of draft."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import tiny_llama
from univer.drafting.eagle.checkpoint import save_head
from univer.drafting.eagle.config import config_for_target
from univer.drafting.eagle.head import EagleHead
from univer.engine import generate
from univer.engine.contexts import ContextSettings, sample_text
from univer.engine.drafts import as_draft
from univer.engine.options import Options
from univer.methods import resolve
from univer.tuning import TuneSettings, Tuning
from univer.tuning.candidates import Candidate, list_candidates
from univer.tuning.check import Check
from univer.tuning.costs import Costs
from univer.tuning.curve import Curve
from univer.tuning.planner import Plan
from univer.tuning.profile import Profile
from univer.tuning.timing import time_rounds

QUICK = {"max_nodes": 5, "max_depth": 3, "width": 3, "contexts": 2, "new_tokens": 8, "repeats": 1}


@pytest.fixture(scope="module")
def target() -> Any:
    return tiny_llama(0)


def _prompts(*lengths: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(3, 250, (1, length), generator=generator) for length in lengths]


def _tune(
    target: Any,
    draft: str,
    method: str,
    temperature: float,
    order: str | None,
    stages: dict[str, int],
    seconds: list[float],
) -> tuple[Tuning, Profile]:
    settings = TuneSettings(Options(method=method, order=order, temperature=temperature), **QUICK)
    found = as_draft(draft, target)
    assert found is not None
    tuning = Tuning(target, found, settings)
    fit, other = _prompts(6, 9), _prompts(7)
    tuning.run(fit, other, lambda stage, done, total: stages.update({stage: done}), seconds.append)
    return tuning, tuning.profile()


@pytest.mark.parametrize(
    ("draft", "method", "temperature", "order"),
    [
        ("lookup", "univer", 1.0, None),
        ("skip=1+lookup", "univer-mixed", 0.7, None),
        ("first=1", "block", 1.0, None),
        ("skip=1", "rrs", 1.0, None),
        ("skip=1", "univer", 1.0, "gain"),
        ("skip=1", "univer", 0.0, None),
        ("eagle", "univer", 1.0, None),
    ],
)
def test_every_kind_of_draft_gets_a_tree(
    draft: str, method: str, temperature: float, order: str | None, target: Any, tmp_path: Path
) -> None:
    if draft == "eagle":
        torch.manual_seed(0)
        save_head(EagleHead(config_for_target(target, 3, 40)), tmp_path / "head", {})
        draft = f"eagle={tmp_path / 'head'}"
    stages: dict[str, int] = {}
    seconds: list[float] = []
    tuning, profile = _tune(target, draft, method, temperature, order, stages, seconds)
    assert tuning.chosen in tuning.candidates
    assert profile.tree == tuning.chosen.tree
    assert profile.policy.max_nodes <= 10
    assert profile.speed(8, 50) > 0
    assert len(tuning.check.tokens) == 1
    assert len(tuning.prompts) == 2
    assert set(stages) <= {"costs", "sample texts", "acceptance", "candidates", "fastest candidates", "check"}
    assert len(seconds) == 1
    assert seconds[0] > 0
    # Every candidate has met the same contexts.
    drafting = [entry for entry in tuning.candidates if entry.source != "plain"]
    assert len(drafting) == len(tuning.candidates) - 1 > 0
    assert len({tuple(map(len, entry.rounds)) for entry in drafting}) == 1
    assert all(tau >= 1 for entry in tuning.candidates for rounds in entry.rounds for tau, _ in rounds)


@pytest.mark.parametrize(
    ("name", "method", "temperature"), [("lookup", "univer", 1.0), ("skip=1", "rrs", 1.0), ("skip=1", "block", 1.0)]
)
def test_found_24_tune_compares_with_the_tree_that_generate_uses_by_default(
    name: str, method: str, temperature: float, target: Any
) -> None:
    draft = as_draft(name, target)
    assert draft is not None
    draft.suggested_tree = "grow:nodes=8,depth=3"
    level = Curve((1, 9), (0.001, 0.002))
    costs = Costs(level, level, 0.001, level, level, 0.001, plain=0.01, prompt=level, draft_prompt=level)
    plans = [(Plan((-1, 0, 1, 2, 3, 4), 1.0), 100.0)]
    found = list_candidates(plans, costs, draft, resolve(method), None, 64, greedy=temperature == 0)
    used = generate(target, draft, [[5, 6, 7]], method=method, temperature=temperature, max_new_tokens=1).stats.tree
    assert [entry.tree for entry in found if entry.source == "default"] == [used]


def test_the_target_as_its_own_draft_is_always_followed(target: Any) -> None:
    """With `Q = P` the sampled child of a chain is always kept, so tokens per round are known."""
    draft = as_draft(target, target)
    assert draft is not None
    text = sample_text(target, draft, _prompts(5)[0], ContextSettings(places=3, new_tokens=20), seed=1)
    tuning = Tuning(target, draft, TuneSettings(**QUICK), texts=[text])
    candidate = Candidate("chain-3", "planned")
    tuning.measure([candidate])
    (rounds,) = candidate.rounds
    assert [tau for tau, _ in rounds] == pytest.approx([4.0] * len(text.places), abs=1e-3)
    assert [tree.nodes for _, tree in rounds] == [3] * len(text.places)
    assert tuning.plain_speed is None


def test_rounds_are_timed_in_turns(target: Any) -> None:
    policies = [Profile({}, tree).policy for tree in ("2x2", "chain-3")]
    timings = time_rounds(target, "skip=1", _prompts(5, 12), policies, {}, repeats=6)
    assert {(entry.policy, entry.nodes, entry.widths) for entry in timings.rounds} == {
        (0, 6, (1, 2)),
        (1, 3, (1, 1, 1)),
    }
    assert abs(sum(1 if entry.policy else -1 for entry in timings.rounds)) <= 2
    assert len(timings.rounds) == len(timings.plain) == 12
    assert [tokens for tokens, _ in timings.prefills] == [5, 12]
    assert all(entry.total > 0 for entry in timings.rounds)


def test_prompts_without_room_are_refused(target: Any) -> None:
    with pytest.raises(ValueError, match="no room for a round"):
        time_rounds(target, "skip=1", _prompts(505), [Profile({}, "chain-9").policy], {}, repeats=1)


def test_a_forecast_that_is_off_says_so() -> None:
    check = Check([5], [30], [10], predicted=[1.0], measured=[1.2], taus=[3.0])
    assert check.error == pytest.approx(0.2)
    assert not check.holds
    assert Check([5], [30], [10], [1.0], [1.1], [3.0]).holds
    assert "error" not in Check().to_dict()


@pytest.mark.parametrize(("name", "value"), [("max_nodes", 0), ("contexts", 0), ("new_tokens", 1)])
def test_settings_out_of_range(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        TuneSettings(**{name: value})
