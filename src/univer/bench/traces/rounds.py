"""One round of every drafted tree, to look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import torch

from univer.bench.rows import Row
from univer.engine.contexts import Context
from univer.laws import top_tokens
from univer.verdict import verify

TOP = 5


def one_round(
    context: Context, rows: Sequence[Row], text_of: Callable[[int], str], seed: int, number: int
) -> dict[str, Any]:
    """The verdict of every row on one tree with the same uniforms, and the likeliest tokens of every node.

    Args:
        context: the tree, with the target's distributions at its leaves too.
        rows: all rows.
        text_of: text of a token id.
        seed: of the uniforms.
        number: of the tree within its prompt.

    Returns:
        `place`, `tree`, `law`, `uniforms` (`[N + 1]`, as `univer.verify` takes them), `nodes` (each with `token`,
        `text`, `parent`, `slot` and `top`: token, text and probability of the likeliest next tokens under `P_v`) and
        `verdicts`: per row the `scales` `a_v`, the kept `path` of node ids and the `next` token with its `text`.
    """
    tree, target = context.tree, context.target
    generator = torch.Generator().manual_seed(crc32(f"{seed} {context.place} {number} round".encode()))
    uniforms = torch.rand(len(tree) + 1, generator=generator, dtype=torch.float64)
    ids, chances = top_tokens(target, min(TOP, target.shape[1]))
    nodes = [
        {
            "token": token,
            "text": text_of(token),
            "parent": parent,
            "slot": slot,
            "top": [[best, text_of(best), chance] for best, chance in zip(*likeliest, strict=True) if chance > 0],
        }
        for token, parent, slot, *likeliest in zip(
            tree.tokens.tolist(), tree.parents, tree.slots, ids.tolist(), chances.tolist(), strict=True
        )
    ]
    verdicts = {}
    for row in rows:
        if row.growth == context.growth:
            rule, coupling = row.method.rule, row.method.coupling
            verdict = verify(tree, target, row.method, order=row.order, uniforms=uniforms)
            verdicts[row.name] = {
                "scales": coupling.allocate(tree, target, rule, row.order).scale.tolist(),
                "path": verdict.path,
                "next": verdict.next_token,
                "text": text_of(verdict.next_token),
            }
    return {
        "place": context.place,
        "tree": context.growth[0].name,
        "law": tree.law,
        "uniforms": uniforms.tolist(),
        "nodes": nodes,
        "verdicts": verdicts,
    }


def encode_rounds(rounds: Sequence[dict[str, Any]]) -> bytes:
    """The content of the file beside a shard."""
    return (json.dumps(list(rounds), ensure_ascii=False) + "\n").encode()
