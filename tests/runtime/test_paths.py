"""Several trees below one text, of which every path is read once."""

import pytest
import torch

from engine.families import FAMILIES, tiny
from univer.runtime.paths import PathInput, PathReader
from univer.runtime.runner import TreeRunner

PROMPT = [3, 14, 15, 9, 26, 5, 35, 8, 9]
FIRST = [(7,), (7, 11), (7, 12), (7, 11, 21), (7, 12, 31)]
SECOND = [(7,), (7, 12), (7, 13), (7, 12, 31), (7, 12, 31), (7, 13, 21), (7, 12, 31, 42)]


def plain_logits(model, tokens):
    with torch.no_grad():
        return model(input_ids=torch.tensor([tokens])).logits[0, -1]


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_every_tree_are_those_of_its_paths(family):
    model = tiny(family)
    runner = TreeRunner(model)
    reader = PathReader(runner)
    with torch.inference_mode():
        runner.extend(PROMPT)
        for paths in (FIRST, SECOND):
            for path, logits in zip(paths, reader.read(paths), strict=True):
                torch.testing.assert_close(logits, plain_logits(model, PROMPT + list(path)), atol=1e-4, rtol=0)


def test_a_path_is_read_once_until_the_text_goes_on():
    runner = TreeRunner(tiny("llama"))
    reader = PathReader(runner)
    with torch.inference_mode():
        runner.extend(PROMPT)
        reader.read(FIRST)
        assert runner.nodes == len(FIRST)
        reader.read(SECOND)
        assert runner.nodes == len({*FIRST, *SECOND})
        passes = runner.passes
        assert reader.read([*FIRST, *SECOND]).shape[0] == len(FIRST) + len(SECOND)
        assert runner.passes == passes
        reader.forget()
        assert runner.nodes == 0
        runner.extend([7])
        torch.testing.assert_close(
            reader.read([(12,)])[0], plain_logits(tiny("llama"), [*PROMPT, 7, 12]), atol=1e-4, rtol=0
        )


def test_a_path_whose_parent_was_not_read_is_refused():
    runner = TreeRunner(tiny("llama"))
    reader = PathReader(runner)
    with torch.inference_mode():
        runner.extend(PROMPT)
        with pytest.raises(KeyError):
            reader.read([(7, 11)])
        expected = plain_logits(tiny("llama"), [*PROMPT, 7, 11])
        torch.testing.assert_close(reader.read([(7,), (7, 11)])[1], expected, atol=1e-4, rtol=0)


def test_what_several_trees_need_is_one_pass():
    runner = TreeRunner(tiny("llama"))
    reader = PathReader(runner)
    with torch.inference_mode():
        runner.extend(PROMPT)
        passes = runner.passes
        first, second = PathInput(reader, FIRST).run_with([PathInput(reader, SECOND)])
        assert runner.passes == passes + 1
        torch.testing.assert_close(first, reader.read(FIRST))
        torch.testing.assert_close(second, reader.read(SECOND))
