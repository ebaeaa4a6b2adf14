"""Models whose laws are known by heart, and drafts that propose what a test says."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from univer import DraftTree
from univer.drafting.base import Draft, DraftRequest, DraftSession
from univer.drafting.growth import Growth


class TableModel(nn.Module):
    """A causal language model whose next-token law is a row of a table, chosen by the last token alone.

    Args:
        laws: `[V, V]`, row `t` is the law after token `t`.
    """

    def __init__(self, laws: Tensor) -> None:
        super().__init__()
        self.logits = laws.double().log().float()
        self.config = SimpleNamespace(vocab_size=laws.shape[1])
        self.reads: list[tuple[list[int], list[int]]] = []

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, attention_mask: Any = None, past_key_values: Any = None
    ) -> Any:
        self.reads.append((input_ids[0].tolist(), position_ids[0].tolist()))
        return SimpleNamespace(logits=self.logits[input_ids])


class RecitingModel(nn.Module):
    """A causal language model that knows one text by heart: after position `p` comes the text's token `p + 1`."""

    def __init__(self, text: Sequence[int], vocabulary: int) -> None:
        super().__init__()
        self.following = torch.tensor([*text[1:], text[0]])
        self.config = SimpleNamespace(vocab_size=vocabulary)

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, attention_mask: Any = None, past_key_values: Any = None
    ) -> Any:
        following = self.following[position_ids]
        return SimpleNamespace(logits=nn.functional.one_hot(following, self.config.vocab_size).float())


class ScriptedDraft(Draft, DraftSession):
    """Proposes, round after round, the trees of a script: lists of (parent, token), all children fixed.

    When the script is at its end, or the tree does not fit the depth that is left, the tree is empty.
    """

    fixed_only = True
    name = "scripted"

    def __init__(self, script: Sequence[Sequence[tuple[int, int]]]) -> None:
        self.script = script
        self.asked: list[list[int]] = []
        self.paths: list[list[int]] = []

    def start(self, request: DraftRequest) -> "ScriptedDraft":
        return self

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        self.asked.append(list(committed))
        nodes = self.script[len(self.asked) - 1] if len(self.asked) <= len(self.script) else []
        parents = [-1, *(parent for parent, _ in nodes)]
        tree = DraftTree(
            [committed[-1], *(token for _, token in nodes)],
            parents,
            ["root"] + ["fixed"] * len(nodes),
            None,
            "fixed",
        )
        if max(tree.depths) <= growth.depth:
            return tree
        return DraftTree([committed[-1]], [-1], ["root"], None, "fixed")

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        self.paths.append(list(path))


def chain(tokens: Sequence[int]) -> list[tuple[int, int]]:
    """A script entry: one token below the other."""
    return [(node, token) for node, token in enumerate(tokens)]


def shortened(text: Sequence[int], committed: Sequence[int], count: int) -> list[int]:
    """The next `count` tokens of a known text after what is committed."""
    return list(text[len(committed) : len(committed) + count])


class OracleDraft(ScriptedDraft):
    """Proposes a chain of the right next tokens of a known text, as deep as it is allowed."""

    name = "oracle"

    def __init__(self, text: Sequence[int], right: Sequence[int] | None = None) -> None:
        super().__init__([])
        self.text = text
        self.right = right

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        self.asked.append(list(committed))
        tokens = shortened(self.text, committed, growth.depth)
        if self.right is not None:
            correct = self.right[(len(self.asked) - 1) % len(self.right)]
            tokens = [token if index < correct else (token + 1) % 50 for index, token in enumerate(tokens)]
        count = len(tokens)
        return DraftTree([committed[-1], *tokens], list(range(-1, count)), ["root"] + ["fixed"] * count, None, "fixed")
