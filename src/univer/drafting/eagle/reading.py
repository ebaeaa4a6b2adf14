"""What a head is to read for one text, or for several in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from univer.drafting.eagle.head import Attend

if TYPE_CHECKING:
    from univer.drafting.eagle.draft import EagleDraft


@dataclass(frozen=True)
class HeadReading:
    """Rows that one text needs of the next pass of a head, see `Reading`.

    Attributes:
        draft: the head and what it shares with the target.
        tokens: `n` token ids.
        hidden: `[n, H]`, what `EagleHead.block` takes beside their embeddings.
        positions: `[n]`.
        attend: attention over the text's own cache.
        scored: how many of the rows, the last ones, outputs and logits are wanted of.
    """

    draft: EagleDraft
    tokens: Sequence[int]
    hidden: Tensor
    positions: Tensor
    attend: Attend
    scored: int

    @property
    def shared(self) -> object:
        """The draft: all texts with the same head can be read in one pass."""
        return self.draft

    def together(self, others: Sequence[HeadReading]) -> list[tuple[Tensor, Tensor]]:
        """Outputs `[scored, H]` and logits `[scored, D]` of each text.

        The rows of all texts stand one after the other; only the attention is each text's own.
        """
        readings, head = [self, *others], self.draft.head
        counts, scored = [len(own.tokens) for own in readings], [own.scored for own in readings]
        ids = torch.tensor([token for own in readings for token in own.tokens], device=self.draft.table.device)
        hidden = torch.cat([own.hidden for own in readings])
        embeddings = head.embed(ids, self.draft.table).to(hidden)

        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            parts = zip(*(torch.split(states, counts, -2) for states in (queries, keys, values)), strict=True)
            return torch.cat([own.attend(*part) for own, part in zip(readings, parts, strict=True)], -2)

        positions = torch.cat([own.positions for own in readings])
        outputs = torch.split(head.block(embeddings[None], hidden[None], attend, positions[None])[0], counts)
        wanted = torch.cat([rows[-count:] for rows, count in zip(outputs, scored, strict=True)])
        logits = head.logits(wanted, self.draft.output)
        return list(zip(torch.split(wanted, scored), torch.split(logits, scored), strict=True))
