"""Profiles as files."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tiny_models import tiny_llama
from univer.drafting.eagle.shipped import fingerprint
from univer.engine import generate
from univer.models.machine import machine
from univer.tuning import Profile, load_profile
from univer.tuning.costs import Costs
from univer.tuning.curve import Curve
from univer.tuning.forecast import Forecast
from univer.tuning.profile import is_profile

LINE = Curve((1, 9), (0.5, 2.5))
COSTS = Costs(LINE, LINE, 0.25, LINE, LINE, 0.125, plain=1.0, prompt=LINE, draft_prompt=LINE)


@pytest.fixture(scope="module")
def target() -> Any:
    return tiny_llama(0)


@pytest.fixture
def profile(target: Any) -> Profile:
    settings = {
        "target": "tiny",
        "fingerprint": fingerprint(target),
        "draft": "skip=1",
        "draft_name": "skip=1",
        "method": "univer",
        "temperature": 1.0,
        "dtype": "float32",
        "device": "cpu",
        "machine": machine(),
    }
    return Profile(settings, "[-1,0,0,1]", Forecast((5,), (2.5,), (0.75,)), COSTS, {"interrupted": False})


def test_written_and_read(profile: Profile, tmp_path: Path) -> None:
    profile.save(tmp_path / "deep" / "tuned.json")
    assert load_profile(tmp_path / "deep" / "tuned.json") == profile


def test_its_tree_is_one_that_generate_takes(profile: Profile, target: Any) -> None:
    result = generate(target, "skip=1", [[5, 6, 7]], tree=profile.policy, max_new_tokens=9, seed=0)
    assert {entry.drafted for entry in result.stats.rounds if not entry.cut} <= {3}


def test_the_speed_it_expects(profile: Profile) -> None:
    rounds = (20 - 1 + 0.75) / 2.5
    assert profile.speed(9, 20) == pytest.approx(20 / (2.5 + 2.5 + rounds * 0.75))


@pytest.mark.parametrize(
    ("draft", "method", "message"),
    [
        ("skip=1", "rrsw", "made for the method univer, not rrsw"),
        ("lookup", "univer", "made for the draft skip=1, not lookup"),
    ],
)
def test_what_it_was_not_made_for(profile: Profile, target: Any, draft: str, method: str, message: str) -> None:
    profile.check(target, "skip=1", "univer")
    profile.check(target, "skip=1")
    with pytest.raises(ValueError, match=message):
        profile.check(target, draft, method)
    with pytest.raises(ValueError, match=r"made for the target tiny .* not for"):
        profile.check(tiny_llama(1), "skip=1", "univer")


def test_other_conditions_are_named(profile: Profile, target: Any) -> None:
    assert profile.differences(target, {"temperature": 1.0}) == []
    assert profile.differences(target, {"temperature": 0.5}) == ["temperature 0.5 instead of 1.0"]
    half = SimpleNamespace(dtype="torch.bfloat16", device=target.device)
    assert profile.differences(half, {}) == ["dtype bfloat16 instead of float32"]
    elsewhere = Profile({**profile.settings, "machine": {**machine(), "threads": 96}})
    assert any("instead of 96" in phrase for phrase in elsewhere.differences(target, {}))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "univer tune 1"}', '{"format": "univer tune 2"}'])
def test_other_files_are_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    file.write_text(content)
    with pytest.raises(ValueError, match="is not a profile that this 'univer tune' wrote"):
        load_profile(file)
    assert is_profile(file) == ("univer" in content)
    assert not is_profile(tmp_path / "nothing.json")


def test_without_a_tree_there_is_nothing_to_generate_with(profile: Profile, tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps({**profile.to_dict(), "tree": None, "forecast": None}))
    found = load_profile(file)
    assert found.speed(3, 4) is None
    with pytest.raises(ValueError, match="before a tree was chosen"):
        _ = found.policy
