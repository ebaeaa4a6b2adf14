"""How the children of a node are drawn: all at one moment, fixed ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.laws import draw


@dataclass(frozen=True)
class NodeSlots:
    """The slots of one node.

    Attributes:
        fixed: tokens of its fixed children, best first.
        sampled: number of sampled children, drawn from `S_v` without replacement, or independently under `iid`.
    """

    fixed: tuple[int, ...]
    sampled: int


def draw_sampled(
    decisions: Sequence[NodeSlots], rows: Tensor, law: str, uniforms: Tensor, columns: Columns = EVERY_TOKEN
) -> list[list[int]]:
    """Draw the sampled children of some nodes, all nodes together.

    The children are drawn without replacement from `S_v`, which is `Q_v` without the fixed children, renormalised.
    Under `iid` they are drawn independently from `Q_v`. A slot for which no probability is left is not created.

    Args:
        decisions: slots of `n` nodes.
        rows: their draft distributions `Q_v`, `[n, D]`.
        law: sampling scheme; all but `iid` draw without replacement.
        uniforms: `[number of sampled slots]`, float64 in [0, 1), node by node.
        columns: which token each column of the rows stands for; by default column `x` is token `x`.

    Returns:
        For each node the tokens drawn, in order.

    Example:
        >>> rows = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
        >>> draw_sampled([NodeSlots((0,), 2)], rows, "mixed", torch.tensor([0.5, 0.0]))
        [[1, 2]]
    """
    drawn: list[list[int]] = [[] for _ in decisions]
    first = [0]
    for decision in decisions:
        first.append(first[-1] + decision.sampled)
    nodes = [node for node, decision in enumerate(decisions) if decision.sampled]
    most = max((decision.sampled for decision in decisions), default=0)
    left = rows if len(nodes) == len(decisions) else rows[nodes]
    fixed = ((place, columns.column(token)) for place, node in enumerate(nodes) for token in decisions[node].fixed)
    taken = [(place, column) for place, column in fixed if column is not None]
    if taken or (most > 1 and left is rows):
        left = left.clone() if left is rows else left
        places, ids = torch.tensor(taken, dtype=torch.long, device=rows.device).reshape(-1, 2).unbind(1)
        left[places, ids] = 0.0
    draws = []
    for slot in range(most):
        unfinished = [place for place, node in enumerate(nodes) if decisions[node].sampled > slot]
        if len(unfinished) < len(nodes):
            nodes, left = [nodes[place] for place in unfinished], left[unfinished]
        ids, created = draw(left, uniforms[[first[node] + slot for node in nodes]])
        draws.append((nodes, torch.where(created, ids, -1)))
        if law != "iid" and slot + 1 < most:
            left.scatter_(1, ids.unsqueeze(1), 0.0)
    # One transfer from the device for all slots.
    flat = iter(torch.cat([ids for _, ids in draws]).tolist() if draws else [])
    for nodes, _ in draws:
        for node in nodes:
            column = next(flat)
            if column >= 0:
                drawn[node].append(columns.token(column))
    return drawn
