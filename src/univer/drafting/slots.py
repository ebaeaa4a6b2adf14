"""How the children of a node are drawn: fixed ones first, then sampled ones, at one moment."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.laws import sample, top_tokens


def draw_children(
    rows: Tensor,
    fixed: int,
    sampled: int,
    law: str,
    uniforms: Tensor,
    scores: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw the children of nodes that share their numbers of slots.

    Fixed children are the tokens of highest score. Sampled children come from `S_v` (`Q_v` without the fixed ones), one
    after the other without what was drawn before, or all from `Q_v` under `iid`. A slot for which nothing is left (no
    score, or no mass) is not created.

    Args:
        rows: draft laws `Q_v`, `[n, V]`.
        fixed: number of fixed children planned, 0 under `iid` and `swor`.
        sampled: number of sampled children planned.
        law: draft law; only `iid` differs, by drawing with replacement.
        uniforms: `[n, sampled]`, float64, in [0, 1): one for each sampled child.
        scores: `[n, V]`, non-negative, ranks the fixed children; the rows themselves by default.

    Returns:
        Tokens `[n, fixed + sampled]` and a mask of the same shape that tells which slots were created.

    Example:
        >>> rows = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
        >>> draw_children(rows, 1, 2, "mixed", torch.tensor([[0.5, 0.0]]))[0]
        tensor([[0, 1, 2]])
    """
    ranking = rows if scores is None else scores
    fixed = min(fixed, rows.shape[1])
    tokens, best = top_tokens(ranking, fixed)
    created = [best > 0]
    # A token whose fixed slot was not created has no mass either, so removing it changes nothing.
    left = rows.clone().scatter_(1, tokens, 0.0) if fixed or sampled > 1 else rows
    drawn = [tokens]
    for slot in range(sampled):
        alive = left.sum(-1) > 0
        # A row without mass still needs a token in its place; it is masked out.
        token = sample(torch.where(alive[:, None], left, torch.ones_like(left[:1])), uniforms[:, slot]).unsqueeze(1)
        drawn.append(token)
        created.append(alive.unsqueeze(1))
        if law != "iid" and slot + 1 < sampled:
            left.scatter_(1, token, 0.0)
    return torch.cat(drawn, 1), torch.cat(created, 1)
