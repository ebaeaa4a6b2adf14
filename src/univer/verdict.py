"""The public calls: the exact outcome distribution of a drafted tree, and verification of one tree or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from univer.couplings.base import next_token_distributions
from univer.laws import DTYPES, check_distributions, sample
from univer.methods import Method, resolve
from univer.topology import Ints
from univer.tree import DraftTree, Forest, index


@dataclass(frozen=True)
class Verdict:
    """What one round keeps.

    Attributes:
        path: kept node ids from the root's child down; empty if no drafted token is kept.
        tokens: their tokens.
        next_token: the token that the target itself supplies after them.
    """

    path: list[int]
    tokens: list[int]
    next_token: int


def outcome_law(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None = None) -> Tensor:
    """The exact distribution of the outcome of a round, given the drafted tree.

    Args:
        tree: the drafted tree, or a forest; `N` nodes.
        target_laws: target distributions `P_v` of every node after all processors, `[N, V]`, float32 or float64.
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
    rows = next_token_distributions(tree, target_laws, chosen.rule, np.arange(len(tree)), allocation.scale)
    return rows.mul_(chosen.coupling.end_distribution(tree, allocation)[:, None])


def end_distribution(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None = None) -> Tensor:
    """The exact distribution of the node at which the kept path ends: `outcome_law` summed over tokens.

    Its mean of the depths is the expected accepted length given the tree, without the noise of counting.

    Args:
        tree: the drafted tree, or a forest; `N` nodes.
        target_laws: target distributions `P_v` of every node after all processors, `[N, V]`, float32 or float64.
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
        >>> univer.end_distribution(tree, p, "token")
        tensor([0.6000, 0.4000])
    """
    chosen, order = _prepare(tree, target_laws, method, order)
    allocation = chosen.coupling.allocate(tree, target_laws, chosen.rule, order)
    return chosen.coupling.end_distribution(tree, allocation)


def verify(
    tree: DraftTree,
    target_laws: Tensor,
    method: str | Method,
    generator: torch.Generator | None = None,
    order: str | None = None,
    uniforms: Sequence[float] | Tensor | None = None,
) -> Verdict:
    """Verify a drafted tree: which path is kept, and which token follows.

    Args:
        tree: the drafted tree; `N` nodes.
        target_laws: target distributions `P_v` of every node after all processors, `[N, V]`, float32 or float64. Not
            modified.
        method: a name of `univer.methods()` or a `Method`.
        generator: source of the uniforms; torch's default generator if None.
        order: sibling order; the method's own by default.
        uniforms: `[N + 1]` in [0, 1) in place of the generator: entry `n` is for node `n`'s test, entry `N` draws the
            token.

    Returns:
        The verdict. Averaged over the uniforms it follows `outcome_law`; over the draws of the tree as well, the
        target.

    Raises:
        ValueError: the tree does not fit the method, the rows do not fit the tree, or a row is no distribution (NaN, no
            mass).

    Example:
        >>> import torch, univer
        >>> q, p = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([[0.5, 0.3, 0.2]] * 2)
        >>> tree = univer.DraftTree([0, 2], [-1, 0], ["root", "sampled"], {0: q}, "chain")
        >>> univer.verify(tree, p, "token", uniforms=[0.0, 0.9, 0.0])
        Verdict(path=[], tokens=[], next_token=0)
    """
    chosen, order = _prepare(tree, target_laws, method, order)
    coins = _uniforms(len(tree) + 1, generator, uniforms)
    (end,), token = _verify(tree, target_laws, chosen, order, coins[:-1], coins[-1:])
    path = tree.topology.path(int(end))
    return Verdict(path, tree.tokens[path].tolist() if path else [], int(token[0]))


def verify_forest(
    forest: Forest,
    target_laws: Tensor,
    method: str | Method,
    uniforms: Tensor,
    token_uniforms: Tensor,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Verify many trees at once, on the device of the target distributions; the verdicts of `verify`, tree by tree.

    Args:
        forest: `B` trees with `M` nodes in all.
        target_laws: target distributions `[M, V]`, float32 or float64.
        method: a name of `univer.methods()` or a `Method`.
        uniforms: one per node, `[M]`, float64, in [0, 1).
        token_uniforms: one per tree, `[B]`, float64, in [0, 1).
        order: sibling order; the method's own by default.

    Returns:
        The node at which each tree's path ends, `[B]`, and the token emitted next, `[B]`, both int64.

    Raises:
        ValueError: as `verify`.
    """
    chosen, order = _prepare(forest, target_laws, method, order)
    ends, tokens = _verify(forest, target_laws, chosen, order, uniforms, token_uniforms)
    return index(ends, target_laws.device), tokens


def _verify(
    forest: Forest, target_laws: Tensor, method: Method, order: str, uniforms: Tensor, token_uniforms: Tensor
) -> tuple[Ints, Tensor]:
    """Where the path of each tree ends and the token emitted next."""
    coupling = method.coupling
    ends, scale = coupling.end_nodes(forest, target_laws, method.rule, order, uniforms.to(target_laws.device))
    nodes = ends.cpu().numpy()
    return nodes, sample(next_token_distributions(forest, target_laws, method.rule, nodes, scale), token_uniforms)


def _prepare(tree: Forest, target_laws: Tensor, method: str | Method, order: str | None) -> tuple[Method, str]:
    chosen = resolve(method)
    order = chosen.order if order is None else order
    if target_laws.dim() != 2 or len(target_laws) != len(tree):
        raise ValueError(f"target_laws must be [{len(tree)}, V], one row per node, got {list(target_laws.shape)}")
    if target_laws.dtype not in DTYPES:
        raise ValueError(
            f"target_laws must be float32 or float64, got {target_laws.dtype}: "
            "use univer.laws.distributions_from_logits"
        )
    _check_vocabulary(tree, target_laws.shape[1])
    check_distributions(target_laws, "target_laws")
    chosen.check(tree, order)
    return chosen, order


def _check_vocabulary(tree: Forest, size: int) -> None:
    rows = tree.draft_laws
    some_row = rows if isinstance(rows, Tensor) else next(iter(rows.values()), None)
    if some_row is not None and some_row.shape[-1] != size:
        raise ValueError(
            f"draft_laws have {some_row.shape[-1]} tokens and target_laws {size}: cut or zero-fill the draft's rows"
        )
    drafted = tree.tokens[index(np.nonzero(tree.topology.parents >= 0)[0], tree.device)]
    if len(drafted) and not 0 <= int(drafted.min()) <= int(drafted.max()) < size:
        raise ValueError(f"the tree holds tokens outside the target's vocabulary of {size}")


def _uniforms(count: int, generator: torch.Generator | None, given: Sequence[float] | Tensor | None) -> Tensor:
    """The uniforms of one round `[count]` in float64, given or drawn on the generator's own device."""
    if given is None:
        device = "cpu" if generator is None else generator.device
        return torch.rand(count, generator=generator, dtype=torch.float64, device=device)
    uniforms = torch.as_tensor(given, dtype=torch.float64)
    if uniforms.shape != (count,) or not bool(((uniforms >= 0) & (uniforms < 1)).all()):
        raise ValueError(
            f"uniforms must be [{count}] (one per node and one for the token) in [0, 1), got {list(uniforms.shape)}"
        )
    return uniforms
