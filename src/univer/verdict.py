"""The public calls: the exact outcome law of a drafted tree, one verdict, and the decision for many trees at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from univer.couplings.base import next_token_laws
from univer.laws import LAW_DTYPES, check_laws, sample
from univer.methods import Method, resolve
from univer.tree import DraftTree, Forest, index


@dataclass(frozen=True)
class Verdict:
    """What one round keeps.

    Attributes:
        path: kept node ids from the root's child down; empty if nothing drafted is kept.
        tokens: their tokens.
        next_token: the token that the target itself supplies after them.
    """

    path: list[int]
    tokens: list[int]
    next_token: int


def outcome_law(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None = None) -> Tensor:
    """The exact law of the outcome of a round given the drafted tree.

    Args:
        tree: the drafted tree, or a forest.
        target_laws: `P_v` of every node after all processors, `[N, V]`, float32 or float64.
        method: a name of `univer.methods()` or a `Method`.
        order: sibling order (`drawn`, `sampled-first`, `descending`, `gain`); the method's own by default.

    Returns:
        `[N, V]`: probability that the path ends at node `n` and token `t` is emitted next. Sums to 1 per tree.

    Raises:
        ValueError: the tree does not fit the method, or the rows do not fit the tree.

    Example:
        >>> import torch, univer
        >>> q, p = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([[0.5, 0.3, 0.2]] * 2)
        >>> tree = univer.DraftTree([0, 2], [-1, 0], ["root", "sampled"], {0: q}, "chain")
        >>> univer.outcome_law(tree, p, "token").sum(1)
        tensor([0.6000, 0.4000])
    """
    chosen, order = _prepare(tree, target_laws, method, order)
    allocation = chosen.coupling.allocate(tree, target_laws, chosen.rule, order)
    laws = next_token_laws(tree, target_laws, chosen.rule, np.arange(len(tree)), allocation.scale)
    return laws.mul_(chosen.coupling.end_law(tree, allocation)[:, None])


def end_law(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None = None) -> Tensor:
    """The exact law of the node at which the kept path ends, given the drafted tree: `outcome_law` summed over tokens.

    Its mean of the depths is the expected accepted length, without the noise of counting.

    Args:
        tree: the drafted tree, or a forest.
        target_laws: `P_v` of every node after all processors, `[N, V]`, float32 or float64.
        method: a name of `univer.methods()` or a `Method`.
        order: sibling order; the method's own by default.

    Returns:
        `[N]`, sums to 1 per tree.

    Raises:
        ValueError: as `outcome_law`.

    Example:
        >>> import torch, univer
        >>> q, p = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([[0.5, 0.3, 0.2]] * 2)
        >>> tree = univer.DraftTree([0, 2], [-1, 0], ["root", "sampled"], {0: q}, "chain")
        >>> univer.end_law(tree, p, "token")
        tensor([0.6000, 0.4000])
    """
    chosen, order = _prepare(tree, target_laws, method, order)
    allocation = chosen.coupling.allocate(tree, target_laws, chosen.rule, order)
    return chosen.coupling.end_law(tree, allocation)


def verify(
    tree: DraftTree,
    target_laws: Tensor,
    method: str | Method,
    generator: torch.Generator | None = None,
    order: str | None = None,
    uniforms: Sequence[float] | Tensor | None = None,
) -> Verdict:
    """Decide which path of a drafted tree is kept and which token follows.

    Args:
        tree: the drafted tree.
        target_laws: `P_v` of every node after all processors, `[N, V]`, float32 or float64. Not modified.
        method: a name of `univer.methods()` or a `Method`.
        generator: source of the uniforms; torch's default generator if None.
        order: sibling order; the method's own by default.
        uniforms: `[N + 1]` in [0, 1) in place of the generator: entry `n` decides node `n`'s test, entry `N` draws the
            token.

    Returns:
        The verdict. Averaged over the uniforms it follows `outcome_law`; over the draws of the tree, the target.

    Raises:
        ValueError: the tree does not fit the method, the rows do not fit the tree, or a law is broken (NaN, no mass).

    Example:
        >>> import torch, univer
        >>> q, p = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([[0.5, 0.3, 0.2]] * 2)
        >>> tree = univer.DraftTree([0, 2], [-1, 0], ["root", "sampled"], {0: q}, "chain")
        >>> univer.verify(tree, p, "token", uniforms=[0.0, 0.9, 0.0])
        Verdict(path=[], tokens=[], next_token=0)
    """
    chosen, order = _prepare(tree, target_laws, method, order)
    coins = _uniforms(len(tree) + 1, generator, uniforms)
    end, scale = chosen.coupling.walk(tree, target_laws, chosen.rule, order, coins[:-1].tolist())
    law = next_token_laws(tree, target_laws, chosen.rule, np.array([end]), scale)
    path = tree.topology.path(end)
    token = int(sample(law, coins[-1:])[0])
    return Verdict(path, tree.tokens[path].tolist() if path else [], token)


def decide(
    forest: Forest,
    target_laws: Tensor,
    method: str | Method,
    uniforms: Tensor,
    token_uniforms: Tensor,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The decision for many trees at once, on the device of the laws; the same verdicts as `verify`, tree by tree.

    Args:
        forest: `B` trees with `M` nodes in all.
        target_laws: `[M, V]`, float32 or float64.
        method: a name of `univer.methods()` or a `Method`.
        uniforms: one per node, `[M]`, float64, in [0, 1).
        token_uniforms: one per tree, `[B]`, float64, in [0, 1).
        order: sibling order; the method's own by default.

    Returns:
        The node at which each tree's path ends `[B]` and the token emitted next `[B]`.

    Raises:
        ValueError: as `verify`.
    """
    chosen, order = _prepare(forest, target_laws, method, order)
    allocation = chosen.coupling.allocate(forest, target_laws, chosen.rule, order)
    ends = chosen.coupling.end_nodes(forest, allocation, uniforms.to(target_laws.device))
    laws = next_token_laws(forest, target_laws, chosen.rule, ends.cpu().numpy(), allocation.scale[ends])
    return ends, sample(laws, token_uniforms)


def _prepare(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None) -> tuple[Method, str]:
    chosen = resolve(method)
    order = chosen.order if order is None else order
    if target_laws.dim() != 2 or len(target_laws) != len(tree):
        raise ValueError(f"target_laws must be [{len(tree)}, V], one row per node, got {list(target_laws.shape)}")
    if target_laws.dtype not in LAW_DTYPES:
        raise ValueError(
            f"target laws must be float32 or float64, got {target_laws.dtype}: use univer.laws.law_from_logits"
        )
    _check_vocabulary(tree, target_laws.shape[1])
    check_laws(target_laws, "target laws")
    chosen.check(tree, order)
    return chosen, order


def _check_vocabulary(tree: Forest, size: int) -> None:
    rows = tree.draft_laws
    some_row = rows if isinstance(rows, Tensor) else next(iter(rows.values()), None)
    if some_row is not None and some_row.shape[-1] != size:
        raise ValueError(
            f"draft laws have {some_row.shape[-1]} tokens and target laws {size}: cut or zero-fill the draft's rows"
        )
    drafted = tree.tokens[index(np.nonzero(tree.topology.parents >= 0)[0], tree.device)]
    if len(drafted) and not 0 <= int(drafted.min()) <= int(drafted.max()) < size:
        raise ValueError(f"the tree holds tokens outside the target's vocabulary of {size}")


def _uniforms(count: int, generator: torch.Generator | None, given: Sequence[float] | Tensor | None) -> Tensor:
    """The coins of one round `[count]` in float64, given or drawn on the generator's own device."""
    if given is None:
        device = "cpu" if generator is None else generator.device
        return torch.rand(count, generator=generator, dtype=torch.float64, device=device)
    coins = torch.as_tensor(given, dtype=torch.float64)
    if coins.shape != (count,) or not bool(((coins >= 0) & (coins < 1)).all()):
        raise ValueError(
            f"uniforms must be [{count}] (one per node and one for the token) in [0, 1), got {list(coins.shape)}"
        )
    return coins
