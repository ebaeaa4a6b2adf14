"""One request of an EAGLE head: its cache, and the trees it grows below the committed text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from univer.drafting.base import DraftRequest, DraftSession
from univer.drafting.builder import TreeBuilder
from univer.drafting.eagle.cache import HeadCache
from univer.drafting.eagle.head import Attend
from univer.drafting.eagle.head_input import HeadInput, own_precision
from univer.drafting.growth import Growth
from univer.drafting.growth.loop import grow_tree
from univer.drafting.proposals import Proposal
from univer.tree import DraftTree

if TYPE_CHECKING:
    from univer.drafting.eagle.draft import EagleDraft


class EagleSession(DraftSession):
    """A head at work on one text.

    Row `t` of the head joins the embedding of committed token `t + 1` with the target's hidden state of token `t`. The
    rows of the text are always computed from the target's own hidden states: the nodes of a tree, which were computed
    from the head's own outputs, are dropped after the round, and the tokens that were kept are read again. The
    proposals are therefore those of a head that reads the committed text for the first time.

    Args:
        draft: the head and what it shares with the target.
        request: what is known of the request; its `features` are the prompt's.

    Raises:
        ValueError: the target's hidden states or its vocabulary are not those that the head reads.
    """

    def __init__(self, draft: EagleDraft, request: DraftRequest) -> None:
        config = draft.head.config
        if request.features is None:
            raise ValueError(
                f"the draft {draft.name} reads the target's hidden states, which the request does not hold"
            )
        if request.vocabulary != config.vocab_size:
            raise ValueError(
                f"the draft {draft.name} was made for a vocabulary of {config.vocab_size}, the target scores "
                f"{request.vocabulary} tokens"
            )
        self.request = request
        self.passes = 0
        self._draft = draft
        self._head = draft.head
        weight = draft.head.fc.weight
        self._dtype, self._device = weight.dtype, weight.device
        self._cache = HeadCache(config, self._dtype, self._device)
        self._unread = [request.features]
        # Output of the last committed row, and below it those of the nodes read in this round.
        self._outputs = torch.empty(0, config.hidden_size, dtype=self._dtype, device=self._device)
        self._root_logits = torch.empty(0)
        self._place: dict[int, int] = {}
        self._step = f"draft {draft.name}"

    def propose(self, committed: Sequence[int], growth: Growth) -> Proposal[DraftTree]:
        """Draft a tree; see `DraftSession.propose`."""
        self._cache.forget_nodes()
        yield from self._read_text(committed)
        self._outputs = self._outputs[:1]
        self._place = {0: 0}
        request, read_level = self.request, partial(self._read_level, committed)
        drafted = yield from grow_tree(
            committed[-1],
            growth,
            read_level,
            request.generator,
            request.device,
            columns=self._draft.columns,
        )
        return drafted.tree

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        """Take the target's hidden states of what was kept; the next round reads them."""
        if features is not None:
            self._unread.append(features)

    def _read_text(self, committed: Sequence[int]) -> Proposal[None]:
        """Read the committed rows that are new."""
        if not self._unread:
            return
        features = torch.cat([rows.to(self._device, self._dtype) for rows in self._unread])
        start = self._cache.length
        end = start + len(features)
        if end + 1 != len(committed):
            raise ValueError(
                f"{self._step}: there are hidden states of {end} tokens below a text of {len(committed)}; all but the "
                "last committed token have one"
            )
        self._cache.forget_nodes()
        positions = torch.arange(start, end, device=self._device)
        with own_precision(self._device):
            hidden = self._head.fuse(features)
        self._outputs, self._root_logits = yield from self._pass(
            committed[start + 1 :], hidden, positions, self._cache.attend_text, last_only=True
        )
        self._unread = []

    def _read_level(self, committed: Sequence[int], tree: TreeBuilder, nodes: Sequence[int]) -> Proposal[Tensor]:
        """Draft distributions `Q_v` `[n, D]` of the nodes of a level, which are read unless they are the root.

        The settings of the request are applied to the draft vocabulary alone; other tokens have probability 0. Children
        are drawn from the resulting rows, which verification uses as well.
        """
        logits = self._root_logits
        if nodes[0] != 0:
            logits = yield from self._read_nodes(tree, nodes)
        return self.request.rows(logits, self._step, committed, tree, nodes)

    def _read_nodes(self, tree: TreeBuilder, nodes: Sequence[int]) -> Proposal[Tensor]:
        """Logits `[n, D]` at the nodes of a level."""
        parents = [self._place[tree.parents[node]] for node in nodes]
        depths = torch.tensor([tree.depths[node] for node in nodes], device=self._device)
        outputs, logits = yield from self._pass(
            [tree.tokens[node] for node in nodes],
            self._outputs[parents],
            self._cache.length - 1 + depths,
            partial(self._cache.attend_nodes, [parent - 1 for parent in parents]),
        )
        self._place |= {node: place for place, node in enumerate(nodes, start=len(self._outputs))}
        self._outputs = torch.cat((self._outputs, outputs))
        return logits

    def _pass(
        self, tokens: Sequence[int], hidden: Tensor, positions: Tensor, attend: Attend, *, last_only: bool = False
    ) -> Proposal[tuple[Tensor, Tensor]]:
        """Outputs `[n, H]` and logits `[n, D]` of one pass of the head over `n` rows, or those of the last row."""
        self.passes += 1
        scored = 1 if last_only else len(tokens)
        read: tuple[Tensor, Tensor] = yield HeadInput(self._draft, tokens, hidden, positions, attend, scored)
        return read
