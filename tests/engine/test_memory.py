"""Memory that runs out in a pass: what is in the caches stays right, and the engine can be used again."""

import pytest
import torch

from engine.families import greedy_reference, near_copy, tiny
from univer.engine import Engine

FIRST, SECOND = [3, 14, 15, 9], [5, 7] * 30


@pytest.fixture
def exhaust(monkeypatch):
    """Let the `n`-th tensor of zeros that is asked for from now on fail."""

    def arm(number):
        plain, count = torch.Tensor.new_zeros, 0

        def new_zeros(*args, **named):
            nonlocal count
            count += 1
            if count == number:
                raise MemoryError
            return plain(*args, **named)

        monkeypatch.setattr(torch.Tensor, "new_zeros", new_zeros)

    yield arm
    monkeypatch.undo()


@pytest.mark.parametrize("draft", [None, "model"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_first_room_cannot_be_made(exhaust, monkeypatch, number, draft):
    target, draft = tiny("llama"), near_copy("llama") if draft else None
    engine = Engine(target, draft)
    failing = engine.add(FIRST, max_new_tokens=5, temperature=0, eos_token_id=None)
    exhaust(number)
    with pytest.raises(MemoryError):
        engine.step()
    monkeypatch.undo()
    assert failing.ended
    row = engine.add(FIRST, max_new_tokens=9, temperature=0, eos_token_id=None)
    while engine.busy:
        engine.step()
    assert row.error is None
    assert row.committed == greedy_reference(target, FIRST, 9)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_room_cannot_grow(exhaust, monkeypatch, number):
    monkeypatch.setattr("univer.runtime.cache.FIRST_ROOM", 16)
    target = tiny("llama")
    engine = Engine(target, None)
    row = engine.add(FIRST, max_new_tokens=20, temperature=0, eos_token_id=None)
    engine.step()
    engine.add(SECOND, max_new_tokens=4, temperature=0, eos_token_id=None)
    exhaust(number)
    with pytest.raises(MemoryError):
        engine.step()
    monkeypatch.undo()
    while engine.busy:
        engine.step()
    assert row.error is None
    assert row.committed == greedy_reference(target, FIRST, 20)


def test_what_was_committed_before_a_step_failed_is_told_by_the_next(exhaust, monkeypatch):
    monkeypatch.setattr("univer.runtime.cache.FIRST_ROOM", 16)
    engine = Engine(tiny("llama"), None)
    row = engine.add(FIRST, max_new_tokens=9, temperature=0, eos_token_id=None)
    told = [token for _, step in engine.step() for token in step.tokens]
    engine.add(SECOND, max_new_tokens=4, temperature=0, eos_token_id=None)
    exhaust(1)
    with pytest.raises(MemoryError):
        engine.step()
    monkeypatch.undo()
    while engine.busy:
        told += [token for own, step in engine.step() for token in step.tokens if own is row]
    assert [*FIRST, *told] == row.committed
