"""Randomness comes from the request alone."""

import pytest
import torch

from engine.fakes import TableModel
from engine.families import near_copy, tiny
from univer import DraftTree
from univer.drafting.base import Draft, DraftSession
from univer.engine import Streams, generate, plain

PROMPT = torch.tensor([[3, 14, 15, 9, 26, 5]])


def sampled(**options):
    options = {"max_new_tokens": 16, "eos_token_id": None} | options
    return generate(tiny("llama"), near_copy("llama"), PROMPT, **options).sequences[0].tolist()


@pytest.mark.parametrize("method", ["univer", "traversal", "spectr", "membership", "univer-mixed"])
def test_fault_29_same_seed_same_text_whatever_the_global_state(method):
    torch.manual_seed(1)
    first = sampled(seed=11, method=method)
    torch.manual_seed(2)
    torch.rand(100)
    assert sampled(seed=11, method=method) == first
    assert sampled(seed=12, method=method) != first


def test_fault_29_the_global_state_is_left_alone():
    before = torch.get_rng_state()
    sampled(seed=3)
    sampled()
    assert torch.equal(torch.get_rng_state(), before)


def test_fault_29_a_generator_serves_as_well_and_moves_on():
    generator = torch.Generator().manual_seed(11)
    first = sampled(generator=generator)
    assert first == sampled(seed=11)
    assert sampled(generator=generator) != first


def test_without_a_seed_every_run_differs():
    assert len({tuple(sampled()) for _ in range(3)}) == 3


@pytest.mark.parametrize("draft", ["lookup", None])
def test_fault_29_rounds_with_an_empty_draft(draft):
    def run():
        return generate(tiny("llama"), draft, PROMPT, seed=4, max_new_tokens=16, eos_token_id=None)

    torch.manual_seed(5)
    first = run()
    torch.manual_seed(6)
    assert torch.equal(run().sequences, first.sequences)


def test_plain_sampling_is_seeded_too():
    assert torch.equal(plain(tiny("llama"), PROMPT, seed=1).sequences, plain(tiny("llama"), PROMPT, seed=1).sequences)


def test_seed_and_generator_exclude_each_other():
    with pytest.raises(ValueError, match="seed or generator"):
        sampled(seed=1, generator=torch.Generator())


def test_fault_25_a_generator_of_another_device_gives_a_readable_error():
    class Elsewhere(torch.Generator):
        @property
        def device(self):
            return torch.device("cuda:0")

    with pytest.raises(ValueError, match="must be a CPU generator, not one on cuda:0"):
        sampled(generator=Elsewhere())


class OneToken(Draft, DraftSession):
    """Proposes one token, drawn from a known distribution by a generator of its own that has the request's seed."""

    name = "one token"

    def __init__(self, row, seed):
        self.row, self.generator = row, torch.Generator().manual_seed(seed)

    def start(self, request):
        return self

    def propose(self, committed, growth):
        token = int(torch.multinomial(self.row, 1, generator=self.generator))
        return DraftTree([committed[-1], token], [-1, 0], ["root", "sampled"], {0: self.row}, growth.law)


@pytest.mark.parametrize("by", ["seed", "generator"])
def test_found_02_a_draft_with_the_seed_of_the_request_draws_other_numbers(by):
    law, row = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
    target, counts, runs = TableModel(law.expand(3, 3)), torch.zeros(3), 3000
    for seed in range(runs):
        source = {"seed": seed} if by == "seed" else {"generator": torch.Generator().manual_seed(seed)}
        request = {"method": "token", "tree": "chain-1", "max_new_tokens": 3, "eos_token_id": None}
        text = generate(target, OneToken(row, seed), torch.tensor([[0]]), **request, **source).texts[0]
        counts[text[2]] += 1
    # Five standard deviations of a share.
    assert (counts / runs - law).abs().max() < 5 * (0.25 / runs) ** 0.5


def test_found_02_no_two_streams_are_one_and_none_has_the_seed_itself():
    def numbers(generator):
        return set(torch.rand(200, generator=generator, dtype=torch.float64).tolist())

    found = [numbers(torch.Generator().manual_seed(7))]
    found += [numbers(stream) for row in range(3) for stream in Streams.of_seed(7, row)]
    found += [numbers(stream) for stream in Streams.of_seed(8)]
    assert len(set().union(*found)) == 200 * len(found)


def test_a_pair_of_streams_is_used_as_it_is():
    def streams():
        return Streams.of_seed(11)

    assert sampled(generator=streams()) == sampled(seed=11)
    with pytest.raises(TypeError, match=r"must be a torch\.Generator, not 3"):
        sampled(generator=3)
