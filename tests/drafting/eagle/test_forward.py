"""The forward pass of heads in every public format agrees with a second implementation."""

from pathlib import Path

import pytest
import torch

from drafting.eagle.checkpoints import DRAFT_TOKENS, FORMATS, HEAD_DIM, HEADS, LLAMA3, WIDTH, write_format
from drafting.eagle.references import eagle1_outputs, eagle3_outputs, llama3_speeds, norm
from engine.families import tiny
from univer.drafting.eagle.cache import HeadCache
from univer.drafting.eagle.checkpoint import load_head

LENGTH = 24


def inputs(features: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings and features of a text longer than the length at which the rescaling of the positions sets in."""
    generator = torch.Generator().manual_seed(5)
    return torch.randn(LENGTH, WIDTH, generator=generator), torch.randn(LENGTH, features * WIDTH, generator=generator)


def outputs(head, embeddings, hidden):
    """The head over a text, in three pieces with its cache."""
    cache = HeadCache(head.config, torch.float32, torch.device("cpu"))
    pieces = []
    for rows in (range(9), range(9, 10), range(10, LENGTH)):
        positions = torch.tensor(list(rows))
        pieces.append(head.block(embeddings[None, rows], hidden[None, rows], cache.attend_text, positions[None])[0])
    return torch.cat(pieces)


@pytest.mark.parametrize("name", [name for name in FORMATS if "eagle3" not in name])
@torch.no_grad()
def test_eagle(name: str, tmp_path: Path) -> None:
    directory, settings, tensors = write_format(tmp_path, name)
    head = load_head(directory)
    prefix = {"speculators-eagle": "transformer.", "eagle-prefixed": "model.layers.0."}.get(name, "layers.0.")
    embeddings, features = inputs(1)
    expected = eagle1_outputs(settings, tensors, prefix, embeddings, features)
    assert head.config.features == (-1,)
    torch.testing.assert_close(outputs(head, embeddings, head.fuse(features)), expected, atol=2e-5, rtol=1e-4)
    weight = tiny("llama").lm_head.weight
    torch.testing.assert_close(head.logits(expected, weight), expected @ weight.T)


@pytest.mark.parametrize("name", [name for name in FORMATS if "eagle3" in name])
@torch.no_grad()
def test_eagle3(name: str, tmp_path: Path) -> None:
    directory, settings, tensors = write_format(tmp_path, name)
    head = load_head(directory, layers=7)
    eps = 1e-5
    embeddings, features = inputs(3)
    joined = features
    if "input_norm.weight" in tensors:
        joined = norm(features, tensors["input_norm.weight"], eps)
    hidden = joined @ tensors["fc.weight"].T
    rescaled = name.startswith("speculators")
    expected = eagle3_outputs(
        tensors,
        "layers.0." if rescaled else "midlayer.",
        HEADS,
        llama3_speeds(HEAD_DIM, 5000.0 if rescaled else 10000.0, LLAMA3 if rescaled else None),
        eps,
        embeddings,
        hidden,
        norm_before_residual=settings.get("norm_before_residual", False),
    )
    normed = norm(expected, tensors["norm.weight"], eps)
    found = outputs(head, embeddings, head.fuse(features))
    fed_back = normed if settings.get("norm_output") else expected
    torch.testing.assert_close(found, fed_back, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(head.logits(found), normed @ tensors["lm_head.weight"].T, atol=1e-4, rtol=1e-4)
    named = {"eagle3-bias": (2, 1, 2), "speculators-eagle3": (0, 1, 3)}
    assert head.config.features == named.get(name, (2, 3, 4))
    assert (None if head.token_ids is None else head.token_ids.tolist()) == (
        None if name == "eagle3-full" else DRAFT_TOKENS
    )


@torch.no_grad()
def test_a_tree_reads_like_its_paths(tmp_path: Path) -> None:
    """Nodes read level by level give what each path gives alone."""
    head = load_head(write_format(tmp_path, "eagle3")[0], layers=7)
    embeddings, features = inputs(3)
    hidden = head.fuse(features)
    parents = [-1, -1, 0, 1, 1, 3]
    cache = HeadCache(head.config, torch.float32, torch.device("cpu"))
    head.block(embeddings[None, :5], hidden[None, :5], cache.attend_text, torch.arange(5)[None])
    found = []
    for level in ([0, 1], [2, 3, 4], [5]):
        rows = torch.tensor(level) + 5
        depth = torch.tensor([[0, 0, 1, 1, 1, 2][node] for node in level])

        def attend(q, k, v, level=level):
            return cache.attend_nodes([parents[node] for node in level], q, k, v)

        found += head.block(embeddings[None, rows], hidden[None, rows], attend, (5 + depth)[None])[0].unbind()
    for node in range(len(parents)):
        path, above = [node + 5], parents[node]
        while above >= 0:
            path, above = [above + 5, *path], parents[above]
        rows = [0, 1, 2, 3, 4, *path]
        alone = HeadCache(head.config, torch.float32, torch.device("cpu"))
        expected = head.block(
            embeddings[None, rows], hidden[None, rows], alone.attend_text, torch.arange(len(rows))[None]
        )
        torch.testing.assert_close(found[node], expected[0, -1], atol=1e-5, rtol=1e-4)


def test_rotary_angles_stay_in_float32(tmp_path: Path) -> None:
    head = load_head(write_format(tmp_path, "eagle-llama3")[0])
    before = head.speeds.clone()
    assert torch.equal(head.to(torch.bfloat16).speeds, before)
    assert head.fc.weight.dtype == torch.bfloat16
