"""Threads that share a model, each with an engine of its own."""

import copy
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from drafting.eagle.pairs import random_draft
from engine.families import DECODER, greedy_reference, near_copy, tiny
from univer.engine import generate
from univer.runtime.evaluation import evaluating
from univer.runtime.features import FeatureTap

PROMPTS = [[3, 14, 15, 9], [7], list(range(20, 34)), [5, 6]]


def at_once(work, count):
    """What a function gives for 0, 1, ... in as many threads, begun together."""
    start = Barrier(count)

    def run(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("variant", [1, 3])
def test_found_04_heads_are_given_the_features_of_their_own_texts(variant):
    draft = random_draft("llama", variant, reduced=False)

    def text(number):
        options = {"seed": number, "max_new_tokens": 16, "eos_token_id": None}
        return [generate(tiny("llama"), draft, [PROMPTS[number]], **options).texts[0] for _ in range(4)]

    expected = [text(number) for number in range(4)]
    for _ in range(2):
        assert at_once(text, 4) == expected


def test_found_04_a_pass_of_another_thread_is_not_listened_to():
    model, tap, ids = tiny("llama"), FeatureTap(tiny("llama"), (1, -1)), torch.tensor([[3, 4, 5]])

    @torch.no_grad()
    def other(number):
        model(torch.tensor([[6, 7]]))

    with torch.no_grad(), tap.open():
        model(ids)
        at_once(other, 1)
    assert tap.take().shape == (1, 3, 32)


def test_found_04_training_mode_comes_back_when_the_last_one_leaves():
    model = torch.nn.Sequential(torch.nn.Dropout())
    first, second = evaluating([model]), evaluating([model])
    first.__enter__()
    at_once(lambda number: second.__enter__(), 1)
    first.__exit__(None, None, None)
    assert not any(module.training for module in model.modules())
    at_once(lambda number: second.__exit__(None, None, None), 1)
    assert all(module.training for module in model.modules())


def test_found_04_greedy_texts_with_dropout_in_training_mode():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        target = LlamaForCausalLM(LlamaConfig(**DECODER, attention_dropout=0.5)).train()
    draft = copy.deepcopy(near_copy("llama")).train()
    expected = [greedy_reference(copy.deepcopy(target).eval(), prompt, 16) for prompt in PROMPTS]

    def texts(number):
        options = {"temperature": 0, "max_new_tokens": 16, "eos_token_id": None}
        return [generate(target, draft, [PROMPTS[number]], **options).texts[0] for _ in range(4)]

    assert at_once(texts, 4) == [[text] * 4 for text in expected]
    assert target.training
    assert draft.training
