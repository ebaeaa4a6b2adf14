"""Unrolled drafting steps are those of a head that drafts one token at a time."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from training.pairs import target
from univer.drafting.eagle.config import config_for_target
from univer.drafting.eagle.head import EagleHead
from univer.training.unroll import drafted, unroll

LENGTH, STEPS = 14, 4


def _random_head(variant: int, draft_vocabulary: int | None = None) -> EagleHead:
    """In float64, but for positions and the attention's weights."""
    config = config_for_target(target(), variant, draft_vocabulary)
    generator = torch.Generator().manual_seed(variant)
    head = EagleHead(config).double()
    for parameter in head.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4
    if config.reduced:
        head.set_vocabulary(range(7, 7 + config.draft_vocab_size))
    return head


def _random_inputs(head: EagleHead, texts: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    config = head.config
    tokens = torch.randint(config.vocab_size, (texts, LENGTH), generator=generator)
    width = len(config.features) * config.target_hidden_size
    features = torch.randn(texts, LENGTH, width, generator=generator, dtype=torch.float64)
    return tokens, features, target().get_input_embeddings().weight.detach().double()


class _PlainCache:
    """Attention of a head that drafts one chain: all keys so far, in the order in which they came."""

    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        outputs = []
        for place in range(queries.shape[2]):
            self.keys.append(keys[0, :, place])
            self.values.append(values[0, :, place])
            heads = []
            for number in range(queries.shape[1]):
                shared = number * keys.shape[1] // queries.shape[1]
                known = torch.stack([key[shared] for key in self.keys])
                scores = known @ queries[0, number, place] / queries.shape[3] ** 0.5
                heads.append(torch.softmax(scores, 0) @ torch.stack([value[shared] for value in self.values]))
            outputs.append(torch.stack(heads))
        return torch.stack(outputs, 1)[None]


@pytest.mark.parametrize("variant", [1, 3])
@pytest.mark.parametrize("place", [0, 5, LENGTH - 2 - STEPS])
def test_a_chain_drafted_token_by_token_has_the_same_outputs(variant: int, place: int) -> None:
    head = _random_head(variant)
    tokens, features, table = _random_inputs(head, texts=2)
    with torch.no_grad():
        unrolled = list(drafted(head, table, tokens, features, STEPS))
        for text in range(len(tokens)):
            attend = _PlainCache()
            read = tokens[text, 1 : place + 2]
            hidden = head.block(
                head.embed(read, table)[None],
                head.fuse(features[text, : place + 1])[None],
                attend,
                torch.arange(place + 1)[None],
            )[:, -1:]
            for step in range(STEPS):
                torch.testing.assert_close(unrolled[step][text, place], hidden[0, 0], rtol=1e-5, atol=1e-6)
                token = tokens[text, place + 2 + step]
                hidden = head.block(
                    head.embed(token[None, None], table), hidden, attend, torch.tensor([[place + 1 + step]])
                )


@pytest.mark.parametrize(("variant", "draft_vocabulary"), [(1, None), (3, 20)])
def test_losses_and_acceptance_are_means_over_the_places_that_count(variant: int, draft_vocabulary: int | None) -> None:
    head = _random_head(variant, draft_vocabulary)
    tokens, features, table = _random_inputs(head, texts=2)
    size = head.config.draft_vocab_size
    rows = torch.softmax(torch.randn(2, LENGTH, head.config.vocab_size, generator=torch.Generator().manual_seed(1)), -1)
    target_rows = rows[..., 7 : 7 + size] if head.config.reduced else rows
    output = table[:size] if variant == 1 else None
    lengths, starts = torch.tensor([LENGTH, 9]), torch.tensor([6, 0])
    with torch.no_grad():
        hidden = list(drafted(head, table, tokens, features, STEPS))
        results = unroll(head, table, tokens, lengths, starts, features, target_rows, STEPS, output)
    for step, result in enumerate(results):
        losses, overlaps, agreements = [], [], []
        for text in range(2):
            for place in range(LENGTH - 1):
                # The distribution after token `read`, of the token that the step drafts, which is not of the prompt.
                read = place + 1 + step
                if read < lengths[text] and place + 2 >= starts[text]:
                    log_draft = torch.log_softmax(head.logits(hidden[step][text, place], output), -1)
                    draft, wanted = log_draft.exp(), target_rows[text, read].double()
                    losses.append(functional.kl_div(log_draft, wanted / wanted.sum(), reduction="sum"))
                    overlaps.append(torch.minimum(draft, wanted).sum())
                    agreements.append(draft.argmax() == wanted.argmax())
        assert result.count == len(losses)
        torch.testing.assert_close(result.loss.double(), torch.stack(losses).mean(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(result.overlap.double(), torch.stack(overlaps).mean(), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(result.agreement, torch.stack(agreements).float().mean())


def test_steps_that_no_text_has_room_for_are_left_out() -> None:
    head = _random_head(3)
    tokens, features, table = _random_inputs(head, texts=2)
    target_rows = torch.full((2, LENGTH, head.config.vocab_size), 1 / head.config.vocab_size)
    results = unroll(head, table, tokens, torch.tensor([3, 2]), torch.tensor([0, 0]), features, target_rows, STEPS)
    assert [result.count for result in results] == [3, 1]
