"""Greedy text of the real SmolLM2 against transformers' own."""

import pytest
import torch

from univer.engine import generate, plain

pytestmark = pytest.mark.slow

NEW = 64
QUESTIONS = [
    "Why is the sky blue?",
    "Write a Python function that reverses a list.",
    "Translate to French: The cat sleeps on the chair.",
    "What is 17 times 23? Show the steps.",
    "Tell a short story about a lighthouse.",
    "Summarise: Bees visit flowers. They carry pollen. Plants need it to make seeds.",
    "Repeat after me: one two three one two three one two three",
    "Write SQL that counts the orders of each customer.",
]


def prompt_of(tokenizer, question):
    return tokenizer.apply_chat_template(
        [{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_fault_22_greedy_text_is_that_of_transformers(smollm2, question):
    model, tokenizer = smollm2
    prompt = prompt_of(tokenizer, question)
    expected = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=NEW, pad_token_id=2
    )
    for draft, tree in (("lookup", "2x5"), ("eagle", None)):
        result = generate(model, draft, prompt, temperature=0, tree=tree, max_new_tokens=NEW)
        assert torch.equal(result.sequences, expected)


def test_sampled_text_is_accepted_for_the_most_part(smollm2):
    model, tokenizer = smollm2
    stats = generate(
        model,
        "skip=16-18",
        prompt_of(tokenizer, QUESTIONS[4]),
        tree="chain-3",
        method="block",
        seed=0,
        max_new_tokens=NEW,
    ).stats
    assert stats.tau > 1.8


def test_first_differences_in_bfloat16_are_near_ties(smollm2):
    model, tokenizer = smollm2
    model = type(model)(model.config).eval().to(torch.bfloat16)
    model.load_state_dict(smollm2[0].state_dict())
    for question in QUESTIONS[:3]:
        prompt = prompt_of(tokenizer, question)
        ours = generate(model, "skip=16-18", prompt, temperature=0, tree="2x3", max_new_tokens=NEW).sequences[0]
        reference = plain(model, prompt, temperature=0, max_new_tokens=NEW).sequences[0]
        length = min(len(ours), len(reference))
        differing = (ours[:length] != reference[:length]).nonzero()
        if len(differing):
            split = int(differing[0])
            with torch.inference_mode():
                top = model(reference[None, :split]).logits[0, -1].float().topk(2).values
            assert top[0] - top[1] <= 0.02 * top[0].abs()
