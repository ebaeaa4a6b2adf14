"""Contexts of real text: drafted trees below it, with the target's distributions at their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from univer.drafting.alternatives import propose_alternatives
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.growth import TreePolicy
from univer.engine.api import generate_rounds
from univer.engine.settings import check_settings
from univer.engine.streams import Streams
from univer.engine.warpers import Sampling
from univer.runtime.paths import PathReader
from univer.runtime.runner import TreeRunner
from univer.tree import DraftTree

# How a tree grows, and the sampling scheme by which its children are drawn.
GrowthScheme = tuple[TreePolicy, str]


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """How contexts are sampled.

    Attributes:
        sampling: settings of the target's distributions.
        draft_sampling: settings of the draft's; None for those of the target.
        places: contexts of one prompt; a text of few rounds has fewer.
        drafted: trees of one context and growth.
        new_tokens: length of the text that contexts are taken from; it does not stop at an end-of-text token.
        generation_config: in place of the target's own.
    """

    sampling: Sampling = field(default_factory=Sampling)
    draft_sampling: Sampling | None = None
    places: int = 8
    drafted: int = 2
    new_tokens: int = 64
    generation_config: Any = None

    @property
    def of_draft(self) -> Sampling:
        """Settings of the draft's distributions."""
        return self.draft_sampling or self.sampling


@dataclass(frozen=True)
class Context:
    """One drafted tree below a text, with the target's distributions.

    Attributes:
        place: number of tokens of the text.
        tree: the drafted tree.
        target: `P_v` of every node `[N, V]`, float32. Where leaves were not read, all of their mass is on token 0:
            their distributions bear on the next token, not on what is kept.
        growth: how the tree grew.
    """

    place: int
    tree: DraftTree
    target: Tensor
    growth: GrowthScheme


@dataclass(frozen=True)
class SampledText:
    """A text of the target's own and the places in it at which trees are drafted.

    Attributes:
        tokens: token ids, the prompt first.
        places: numbers of tokens before which a tree is drafted, rising.
    """

    tokens: tuple[int, ...]
    places: tuple[int, ...]


def contexts(
    target: Any,
    draft: Draft,
    input_ids: Tensor,
    growths: Sequence[GrowthScheme],
    settings: ContextSettings,
    *,
    seed: int,
    leaves: bool = False,
) -> Iterator[Context]:
    """Draft trees at some places of one text of the target's: `sample_text`, then `drafted_trees`.

    Args:
        target: a causal language model.
        draft: the draft.
        input_ids: the prompt `[1, L]`.
        growths: how trees grow.
        settings: how the text and the trees are sampled.
        seed: of the text and of all trees.
        leaves: whether the target reads the leaves of the trees.

    Yields:
        One context per place, tree and growth.
    """
    text = sample_text(target, draft, input_ids, settings, seed=seed)
    yield from drafted_trees(target, draft, text, growths, settings, seed=seed, leaves=leaves)


def sample_text(target: Any, draft: Draft, input_ids: Tensor, settings: ContextSettings, *, seed: int) -> SampledText:
    """A text of the target's own.

    It is generated with UniVer, so it has the target's distribution. The places are spread evenly over the beginnings
    of its rounds, which is where trees are drafted in earnest.

    Args:
        target: a causal language model.
        draft: the draft.
        input_ids: the prompt `[1, L]`.
        settings: how the text is sampled.
        seed: of the text.

    Raises:
        ValueError: the configuration has settings other than temperature and filters, which contexts do not support.
    """
    sampling = settings.sampling
    config = settings.generation_config or getattr(target, "generation_config", None)
    check_settings(config, {}, greedy=sampling.greedy, applied=False)
    committed = input_ids[0].tolist()
    request = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    # One stream for all, as in the results on record: a text only has to be the target's, and to stay the same.
    stream = torch.Generator().manual_seed(seed)
    steps = generate_rounds(
        target,
        draft,
        input_ids,
        method="membership" if draft.fixed_only else "univer",
        tree="2x3",
        max_new_tokens=settings.new_tokens,
        eos_token_id=None,
        generator=Streams(stream, stream),
        min_p=sampling.min_p,
        draft_sampling=settings.of_draft,
        generation_config=settings.generation_config,
        **request,
    )
    starts = []
    for step in steps:
        committed += step.tokens
        starts.append(len(committed))
    starts = starts[:-1] or starts  # the last round ends the text, nothing is drafted after it
    chosen = {starts[round(step * (len(starts) - 1) / max(1, settings.places - 1))] for step in range(settings.places)}
    return SampledText(tuple(committed), tuple(sorted(chosen)))


def drafted_trees(
    target: Any,
    draft: Draft,
    text: SampledText,
    growths: Sequence[GrowthScheme],
    settings: ContextSettings,
    *,
    seed: int,
    leaves: bool = False,
) -> Iterator[Context]:
    """Draft trees at the places of a text; at every place all growths see the same random numbers.

    The common part of the trees of a place is read once. In float32 a tree does not depend on which others are drafted
    with it; in low precision, where rounding depends on the number of rows in a pass, draws near a tie may.

    Args:
        target: a causal language model.
        draft: the draft.
        text: the text.
        growths: how trees grow.
        settings: how the trees are sampled.
        seed: of all draws.
        leaves: whether the target reads the leaves of the trees.

    Yields:
        One context per place, tree and growth.
    """
    sampling = settings.sampling
    generator = torch.Generator()
    growers = [policy.start(law, greedy=sampling.greedy) for policy, law in growths]
    with torch.inference_mode():
        runner = TreeRunner(target, draft.features)
        runner.extend(text.tokens[: text.places[0] - 1])
        session = draft.start(
            DraftRequest(
                vocabulary=target.config.get_text_config().vocab_size,
                device=runner.device,
                distributions=settings.of_draft.distributions,
                generator=generator,
                branching=True,
                max_length=len(text.tokens) + max(policy.max_depth for policy, _ in growths),
                features=runner.features,
                repeated=True,
            )
        )
        nodes = PathReader(runner)
        for place in text.places:
            nodes.forget()
            committed = list(text.tokens[:place])
            if unread := committed[runner.length : -1]:
                runner.extend(unread)
                session.settle([], runner.features)
            for number in range(settings.drafted):
                begun = [grower.begin(policy.max_depth) for (policy, _), grower in zip(growths, growers, strict=True)]
                own_seed = crc32(f"{seed} {place} {number}".encode())
                drafted = propose_alternatives(session, committed, begun, generator, own_seed)
                wanted = [_wanted(tree, leaves) for tree in drafted]
                paths = [paths_of(tree, of_tree) for tree, of_tree in zip(drafted, wanted, strict=True)]
                together = runner.pattern.honours_masks  # trees side by side need a mask
                if together:
                    nodes.read([path for of_tree in paths for path in of_tree])
                for growth, tree, of_tree, asked in zip(growths, drafted, paths, wanted, strict=True):
                    if not together:
                        nodes.forget()
                    rows = sampling.distributions(nodes.read(of_tree), f"place {place}")
                    yield Context(place, tree, spread(rows, asked, len(tree)), growth)


def paths_of(tree: DraftTree, nodes: Sequence[int]) -> list[tuple[int, ...]]:
    """Token ids from the root, the last committed token, down to some nodes."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return [paths[node] for node in nodes]


def _wanted(tree: DraftTree, leaves: bool) -> list[int]:
    """The nodes that the target is to read: all, or the root and those with children."""
    return [node for node, children in enumerate(tree.children) if leaves or children or not node]


def spread(rows: Tensor, nodes: Sequence[int], count: int) -> Tensor:
    """Distributions `[count, V]` from those of some nodes; all others have point masses."""
    if len(nodes) == count:
        return rows
    found = rows.new_zeros(count, rows.shape[1])
    found[:, 0] = 1.0
    found[list(nodes)] = rows
    return found
