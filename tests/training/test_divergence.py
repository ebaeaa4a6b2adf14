"""The loss against plain arithmetic, and its gradient against automatic differentiation."""

import pytest
import torch

import univer.training.divergence as module
from univer.training.divergence import TargetRows, divergence

ROWS, TARGETS, WIDTH = 7, 5, 11


@pytest.fixture
def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(ROWS, WIDTH, generator=generator, dtype=torch.float64) * 2
    target = torch.softmax(torch.randn(TARGETS, WIDTH + 3, generator=generator, dtype=torch.float64) * 2, -1)
    return logits, target[:, :WIDTH].contiguous(), torch.randint(TARGETS, (ROWS,), generator=generator)


@pytest.mark.parametrize("chunk", [1, 3 * WIDTH, 1 << 19])
def test_values_and_gradient_are_those_of_plain_arithmetic(
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    logits, target, index = inputs
    logits.requires_grad_()
    loss, acceptance, agreement = divergence(logits, TargetRows.of(target), index)
    (gradient,) = torch.autograd.grad(3 * loss, logits)

    wanted = target[index] / target[index].sum(-1, keepdim=True)
    plain = torch.nn.functional.kl_div(torch.log_softmax(logits, -1), wanted, reduction="batchmean")
    (expected,) = torch.autograd.grad(3 * plain, logits)
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(gradient, expected)
    torch.testing.assert_close(acceptance, torch.minimum(torch.softmax(logits, -1), target[index]).sum(-1).mean())
    same = logits.argmax(-1) == target[index].argmax(-1)
    assert float(agreement) == pytest.approx(float(same.double().mean()))


def test_inputs_are_left_alone_and_empty_rows_teach_nothing(
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> None:
    logits, target, index = inputs
    target[int(index[0])] = 0.0
    before = target.clone()
    logits.requires_grad_()
    loss, _, _ = divergence(logits, TargetRows.of(target), index)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.equal(target, before)
    assert torch.isfinite(loss)
    assert (gradient[index == index[0]] == 0).all()
    assert (gradient[index != index[0]] != 0).any()
