"""Contexts of real text, drafted trees below them, and the laws that a verification method needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from univer.drafting.alternatives import propose_alternatives
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.growth import TreePolicy
from univer.engine import Sampling, generate_rounds
from univer.engine.settings import check_settings
from univer.methods import Method
from univer.runtime.paths import PathReader
from univer.runtime.runner import TreeRunner
from univer.tree import DraftTree


@dataclass(frozen=True)
class Entry:
    """A row of a comparison: a method with its sibling order and its tree.

    Attributes:
        name: how the row is called, e.g. `univer (gain)`.
        method: the method.
        order: sibling order.
        policy: how the trees that are drafted for it grow.
        law: their draft law.
    """

    name: str
    method: Method
    order: str
    policy: TreePolicy
    law: str

    @property
    def growth(self) -> tuple[TreePolicy, str]:
        """What trees depend on: rows that share it share their trees."""
        return self.policy, self.law


@dataclass(frozen=True)
class Context:
    """One drafted tree below a text, with the target's laws.

    Attributes:
        place: number of tokens of the text.
        tree: the drafted tree.
        laws: `P_v` of every node `[N, V]`, float32; float64 from a trace. Where leaves were not read, and in a trace,
            all of their mass is on token 0: their laws bear on the next token, not on what is kept.
        growth: policy and draft law of the tree.
        merged: whether token 0 of the rows stands for several tokens, which a trace does not tell apart.
    """

    place: int
    tree: DraftTree
    laws: Tensor
    growth: tuple[TreePolicy, str]
    merged: bool = False


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
    growths: Sequence[tuple[TreePolicy, str]],
    *,
    sampling: Sampling,
    draft_sampling: Sampling,
    places: int,
    trees: int,
    new_tokens: int,
    seed: int,
    generation_config: Any = None,
    leaves: bool = True,
) -> Iterator[Context]:
    """Draft trees at some places of one text of the target's: `sample_text`, then `drafted_trees`.

    Args:
        target: a causal language model.
        draft: the draft.
        input_ids: the prompt `[1, L]`.
        growths: how trees grow, each policy with the draft law.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        places: how many places of the text.
        trees: how many trees per place and policy.
        new_tokens: length of the text; it does not stop at an end-of-text token.
        seed: of the text and of all draws.
        generation_config: in place of the target's.
        leaves: whether the target reads the leaves of the trees.

    Yields:
        One context per place, policy and tree.
    """
    text = sample_text(
        target,
        draft,
        input_ids,
        sampling=sampling,
        draft_sampling=draft_sampling,
        places=places,
        new_tokens=new_tokens,
        seed=seed,
        generation_config=generation_config,
    )
    yield from drafted_trees(
        target,
        draft,
        text,
        growths,
        sampling=sampling,
        draft_sampling=draft_sampling,
        trees=trees,
        seed=seed,
        leaves=leaves,
    )


def sample_text(
    target: Any,
    draft: Draft,
    input_ids: Tensor,
    *,
    sampling: Sampling,
    draft_sampling: Sampling,
    places: int,
    new_tokens: int,
    seed: int,
    generation_config: Any = None,
) -> SampledText:
    """A text of the target's own.

    It is generated with UniVer, so it has the target's law. The places are spread evenly over the beginnings of its
    rounds, which is where trees are drafted in earnest.

    Args:
        target: a causal language model.
        draft: the draft.
        input_ids: the prompt `[1, L]`.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        places: how many places of the text; a text of few rounds has fewer.
        new_tokens: length of the text; it does not stop at an end-of-text token.
        seed: of the text.
        generation_config: in place of the target's.

    Raises:
        ValueError: the configuration has settings beside temperature and filters, which the laws of the contexts lack.
    """
    config = generation_config or getattr(target, "generation_config", None)
    check_settings(config, {}, greedy=sampling.greedy, applied=False)
    committed = input_ids[0].tolist()
    request = {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p}
    steps = generate_rounds(
        target,
        draft,
        input_ids,
        method="membership" if draft.fixed_only else "univer",
        tree="2x3",
        max_new_tokens=new_tokens,
        eos_token_id=None,
        seed=seed,
        min_p=sampling.min_p,
        draft_sampling=draft_sampling,
        generation_config=generation_config,
        **request,
    )
    starts = []
    for step in steps:
        committed += step.tokens
        starts.append(len(committed))
    starts = starts[:-1] or starts  # the last round ends the text, nothing is drafted after it
    chosen = {starts[round(step * (len(starts) - 1) / max(1, places - 1))] for step in range(places)}
    return SampledText(tuple(committed), tuple(sorted(chosen)))


def drafted_trees(
    target: Any,
    draft: Draft,
    text: SampledText,
    growths: Sequence[tuple[TreePolicy, str]],
    *,
    sampling: Sampling,
    draft_sampling: Sampling,
    trees: int,
    seed: int,
    leaves: bool = True,
) -> Iterator[Context]:
    """Draft trees at the places of a text; at every place all policies see the same random numbers.

    What the trees of a place have in common is read once. In float32 a tree does not depend on those drafted beside it;
    in low precision, where a pass rounds by how many rows it has, draws near a tie may.

    Args:
        target: a causal language model.
        draft: the draft.
        text: the text.
        growths: how trees grow, each policy with the draft law.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        trees: how many trees per place and policy.
        seed: of all draws.
        leaves: whether the target reads the leaves of the trees.

    Yields:
        One context per place, policy and tree.
    """
    generator = torch.Generator()
    growers = [policy.start(law, greedy=sampling.greedy) for policy, law in growths]
    with torch.inference_mode():
        runner = TreeRunner(target, draft.features)
        runner.extend(text.tokens[: text.places[0] - 1])
        session = draft.start(
            DraftRequest(
                vocabulary=target.config.get_text_config().vocab_size,
                device=runner.device,
                distributions=draft_sampling.laws,
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
            for number in range(trees):
                begun = [grower.begin(policy.max_depth) for (policy, _), grower in zip(growths, growers, strict=True)]
                own_seed = crc32(f"{seed} {place} {number}".encode())
                drafted = propose_alternatives(session, committed, begun, generator, own_seed)
                wanted = [_wanted(tree, leaves) for tree in drafted]
                paths = [paths_of(tree, own) for tree, own in zip(drafted, wanted, strict=True)]
                together = runner.pattern.honours_masks  # trees side by side need a mask
                if together:
                    nodes.read([path for own in paths for path in own])
                for growth, tree, own, asked in zip(growths, drafted, paths, wanted, strict=True):
                    if not together:
                        nodes.forget()
                    rows = sampling.laws(nodes.read(own), f"place {place}")
                    yield Context(place, tree, _spread(rows, asked, len(tree)), growth)


def contexts_each(taus: Iterable[Sequence[float]], drafted: int) -> str:
    """How many contexts there were of every prompt, in words: a short text has fewer places than were asked for.

    Args:
        taus: per prompt and row, one figure for every tree.
        drafted: trees of every context.

    Example:
        >>> contexts_each([[1.5, 1.7], [1.2]], drafted=1)
        '1 to 2 contexts each'
    """
    counts = {len(own) // drafted for own in taus}
    fewest, most = min(counts), max(counts)
    return f"{most} contexts each" if fewest == most else f"{fewest} to {most} contexts each"


def paths_of(tree: DraftTree, nodes: Sequence[int]) -> list[tuple[int, ...]]:
    """Token ids from the root, the last committed token, down to some nodes."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return [paths[node] for node in nodes]


def _wanted(tree: DraftTree, leaves: bool) -> list[int]:
    """The nodes that the target is to read: all, or the root and those with children."""
    return [node for node, children in enumerate(tree.children) if leaves or children or not node]


def _spread(rows: Tensor, nodes: Sequence[int], count: int) -> Tensor:
    """Laws `[count, V]` from those of some nodes; all others have point masses."""
    if len(nodes) == count:
        return rows
    laws = rows.new_zeros(count, rows.shape[1])
    laws[:, 0] = 1.0
    laws[list(nodes)] = rows
    return laws
