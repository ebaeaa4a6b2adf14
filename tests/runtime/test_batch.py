"""Several texts in one batch: every row is as if it were alone."""

import pytest
import torch

from engine.families import FAMILIES, path_to, tiny
from univer.runtime.batch import TreeBatch
from univer.runtime.cache import entries
from univer.runtime.runner import TreeRunner

PROMPTS = [[3, 14, 15, 9, 26, 5, 35, 8, 9], [7], [21, 22, 23, 24, 25]]
TREES = [
    ([7, 11, 12, 13, 21], [-1, 0, 0, 1, 3]),
    ([5], [-1]),
    ([9, 4, 5, 6, 7, 8], [-1, 0, 0, 1, 1, 2]),
]
PATHS = [[0, 1, 3], [0], [0, 2, 5]]


def alone(model, prompt, tree):
    runner = TreeRunner(model)
    runner.extend(prompt)
    return runner, runner.read_nodes(*tree)


def together(model, prompts=PROMPTS, trees=TREES):
    batch = TreeBatch(model)
    for prompt in prompts:
        batch.extend(batch.add(), prompt)
    return batch, batch.read_nodes([tokens for tokens, _ in trees], [parents for _, parents in trees])


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_different_lengths_and_trees_are_as_if_alone(family):
    model = tiny(family)
    batch, logits = together(model)
    for row, (prompt, tree) in enumerate(zip(PROMPTS, TREES, strict=True)):
        torch.testing.assert_close(logits[row], alone(model, prompt, tree)[1], atol=1e-4, rtol=0)
    batch.keep(PATHS)
    following = batch.read_nodes([[17], [18, 19], [20]], [[-1], [-1, 0], [-1]])
    for row, (prompt, (tokens, parents), path) in enumerate(zip(PROMPTS, TREES, PATHS, strict=True)):
        text = prompt + path_to(path[-1], parents, tokens)
        assert batch.texts[row].length == len(text)
        expected = model(input_ids=torch.tensor([[*text, [17, 18, 20][row]]])).logits[0, -1]
        torch.testing.assert_close(following[row][0], expected, atol=1e-4, rtol=0)
        fresh = TreeRunner(model)
        fresh.extend(text)
        for ours, theirs in zip(
            entries(batch.cache, row, len(text)), entries(fresh.batch.cache, 0, len(text)), strict=True
        ):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("leaving", [0, 1, 2])
def test_rows_leave_and_join(leaving):
    model = tiny("llama")
    batch, _ = together(model)
    batch.keep(PATHS)
    texts = [
        prompt + path_to(path[-1], parents, tokens)
        for prompt, (tokens, parents), path in zip(PROMPTS, TREES, PATHS, strict=True)
    ]
    batch.remove(leaving)
    last = texts.pop()
    if leaving < len(texts):
        texts[leaving] = last
    row = batch.add()
    batch.extend(row, [30, 31, 32])
    texts.append([30, 31, 32])
    logits = batch.read_nodes([[17], [18], [19]], [[-1], [-1], [-1]])
    for text, token, own in zip(texts, [17, 18, 19], logits, strict=True):
        expected = model(input_ids=torch.tensor([[*text, token]])).logits[0, -1]
        torch.testing.assert_close(own[0], expected, atol=1e-4, rtol=0)


def test_a_pass_may_read_some_of_the_rows():
    model = tiny("mistral")
    batch, _ = together(model, PROMPTS[1:], TREES[1:])
    batch.keep([[0], [0, 2]])
    logits = batch.read_nodes([[17, 18]], [[-1, 0]], first=1)
    expected = model(input_ids=torch.tensor([[*PROMPTS[2], 9, 5, 17, 18]])).logits[0, -2:]
    torch.testing.assert_close(logits[0], expected, atol=1e-4, rtol=0)
    batch.keep([[0, 1]], first=1)
    assert [text.length for text in batch.texts] == [2, 9]
    after = batch.read_nodes([[1], [2]], [[-1], [-1]])
    expected = model(input_ids=torch.tensor([[7, 5, 1]])).logits[0, -1]
    torch.testing.assert_close(after[0][0], expected, atol=1e-4, rtol=0)


def test_features_of_every_row():
    model = tiny("llama")
    batch = TreeBatch(model, (1, -1))
    for prompt in PROMPTS[:2]:
        batch.extend(batch.add(), prompt)
    batch.read_nodes([[5, 6, 7], [8]], [[-1, 0, 0], [-1]])
    assert [states.shape[0] for states in batch.features] == [3, 1]
    runner = TreeRunner(model, (1, -1))
    runner.extend(PROMPTS[1])
    runner.read_nodes([8], [-1])
    torch.testing.assert_close(batch.features[1], runner.features, atol=1e-5, rtol=0)


def test_a_back_end_without_masks_reads_chains_of_equal_length_only():
    batch = TreeBatch(tiny("llama"))
    batch.pattern = type(batch.pattern)(batch.pattern.windows, "flash_attention_2")
    for prompt in ([5, 6], [7, 8, 9]):
        batch.extend(batch.add(), prompt)
    with pytest.raises(ValueError, match="one text at a time"):
        batch.read_nodes([[1, 2], [3, 4]], [[-1, 0], [-1, 0]])
