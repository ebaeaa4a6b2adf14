"""The input of one pass of a head, for one sequence or for several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from univer.drafting.eagle.head import Attend

if TYPE_CHECKING:
    from univer.drafting.eagle.draft import EagleDraft


def own_precision(device: torch.device) -> torch.autocast:
    """A context in which a head computes in the precision of its weights, also within the caller's autocast."""
    return torch.autocast(device.type, enabled=False)


@dataclass(frozen=True)
class HeadInput:
    """Rows that one sequence contributes to the next pass of a head, see `univer.drafting.proposals.PassInput`.

    Attributes:
        draft: the head and what it shares with the target.
        tokens: `n` token ids.
        hidden: `[n, H]`, what `EagleHead.block` takes beside their embeddings.
        positions: `[n]`.
        attend: attention over the sequence's own cache.
        scored: how many of the rows, the last ones, outputs and logits are wanted of.
    """

    draft: EagleDraft
    tokens: Sequence[int]
    hidden: Tensor
    positions: Tensor
    attend: Attend
    scored: int

    @property
    def batch_key(self) -> object:
        """The draft: all sequences with the same head can share a pass."""
        return self.draft

    def run_with(self, others: Sequence[HeadInput]) -> list[tuple[Tensor, Tensor]]:
        """Outputs `[scored, H]` and logits `[scored, D]` of each sequence.

        The rows of all sequences are concatenated; only the attention is separate for each.
        """
        inputs, head = [self, *others], self.draft.head
        counts, scored = [len(own.tokens) for own in inputs], [own.scored for own in inputs]
        ids = torch.tensor([token for own in inputs for token in own.tokens], device=self.draft.table.device)
        hidden = torch.cat([own.hidden for own in inputs])
        embeddings = head.embed(ids, self.draft.table).to(hidden)

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            parts = zip(*(torch.split(states, counts, -2) for states in (queries, keys, values)), strict=True)
            return torch.cat([own.attend(*part) for own, part in zip(inputs, parts, strict=True)], -2)

        positions = torch.cat([own.positions for own in inputs])
        with own_precision(hidden.device):
            outputs = torch.split(head.block(embeddings[None], hidden[None], attend, positions[None])[0], counts)
            wanted = torch.cat([rows[-count:] for rows, count in zip(outputs, scored, strict=True)])
            logits = self.draft.logits(wanted)
        return list(zip(torch.split(wanted, scored), torch.split(logits, scored), strict=True))
