"""How the children of a node are drawn: fixed ones first, then sampled ones, at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.laws import draw


@dataclass(frozen=True)
class NodeSlots:
    """What one node gets, decided at one moment.

    Attributes:
        fixed: tokens of its fixed children, ranked.
        sampled: how many children are sampled: without replacement from `S_v`, or independently under the law `iid`.
    """

    fixed: tuple[int, ...]
    sampled: int


def draw_sampled(
    decisions: Sequence[NodeSlots], rows: Tensor, law: str, uniforms: Tensor, columns: Columns = EVERY_TOKEN
) -> list[list[int]]:
    """Draw the sampled children of some nodes, one slot of all nodes at a time.

    They come from `S_v`, which is `Q_v` without the fixed children, one after the other without what was drawn before;
    or all from `Q_v` under `iid`. A slot for which no mass is left is not created.

    Args:
        decisions: slots of `n` nodes.
        rows: their draft laws `Q_v`, `[n, D]`.
        law: draft law; only `iid` differs, by drawing with replacement.
        uniforms: float64 in [0, 1), one for each sampled slot, node by node.
        columns: which tokens the columns of the rows stand for; by default all in order.

    Returns:
        Tokens drawn at each node.

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
    tables = []
    for slot in range(most):
        going_on = [place for place, node in enumerate(nodes) if decisions[node].sampled > slot]
        if len(going_on) < len(nodes):
            nodes, left = [nodes[place] for place in going_on], left[going_on]
        ids, created = draw(left, uniforms[[first[node] + slot for node in nodes]])
        tables.append((nodes, torch.where(created, ids, -1)))
        if law != "iid" and slot + 1 < most:
            left.scatter_(1, ids.unsqueeze(1), 0.0)
    # One look at the device for all slots.
    flat = iter(torch.cat([ids for _, ids in tables]).tolist() if tables else [])
    for nodes, _ in tables:
        for node in nodes:
            column = next(flat)
            if column >= 0:
                drawn[node].append(columns.token(column))
    return drawn
