"""Drafting with a second, smaller causal language model of the same tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from univer.drafting.base import Draft, DraftSession
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Growth
from univer.drafting.growth.loop import grow_tree
from univer.drafting.proposals import Proposal
from univer.drafting.request import DraftRequest, fit_vocabulary
from univer.runtime.attention import attention_pattern
from univer.runtime.batch import TreeBatch
from univer.runtime.checks import check_model, context_limit, readable_tokens
from univer.runtime.paths import PathInput, PathReader
from univer.runtime.probe import check_tree_attention
from univer.runtime.runner import NodeInput, TreeRunner
from univer.tree import DraftTree

# Stands for a token for which the draft has no embedding. Any choice is lossless.
UNKNOWN = 0


class IndependentDraft(Draft):
    """Draws trees from another language model, one pass per level.

    Args:
        model: a causal language model that shares the target's token ids. Its vocabulary may be padded to another size:
            ids that the target lacks are never proposed, ids that it lacks itself have probability 0.
        name: what the draft is called in reports.

    Raises:
        ValueError: the model cannot draft, e.g. because its cache cannot be rolled back.
    """

    def __init__(self, model: Any, name: str | None = None) -> None:
        check_model(model, "draft")
        self.model = model
        self.models = (model,)
        self.name = name or str(getattr(model, "name_or_path", "") or type(model).__name__)

    def start(self, request: DraftRequest) -> IndependentSession:
        """Start a request with an empty cache.

        Raises:
            ValueError: the back end of its attention takes no mask, and the trees branch.
        """
        pattern = attention_pattern(self.model.config)
        if pattern.honours_masks:
            check_tree_attention(self.model, "draft")
            # One cache for all sequences of an engine, so that one pass serves a level of all their trees.
            if self not in request.shared:
                request.shared[self] = TreeBatch(self.model)
            return IndependentSession(self, request, TreeRunner(self.model, batch=request.shared[self]))
        if request.branching:
            raise ValueError(
                f"the attention back end {pattern.backend!r} of the draft {self.name} only knows causal "
                "masks, so it cannot draft a branching tree: load it with attn_implementation='sdpa' or 'eager'"
            )
        return IndependentSession(self, request, TreeRunner(self.model))


class IndependentSession(DraftSession):
    """One request of an `IndependentDraft`: the draft's own cache and the place of every node in it.

    Proposals below one prefix may be advanced in turn where the request has `repeated`: then no state of theirs is kept
    here.
    """

    def __init__(self, draft: IndependentDraft, request: DraftRequest, runner: TreeRunner) -> None:
        self.max_length = context_limit(draft.model)
        self.request = request
        self.runner = runner
        self.step = f"draft {draft.name}"
        self.known = readable_tokens(draft.model)
        self._place: dict[int, int] = {}
        # Kept so that several trees can be drafted below one prefix.
        self._root_logits: Tensor | None = None
        self._paths = PathReader(runner) if request.repeated and runner.pattern.honours_masks else None
        self.concurrent = self._paths is not None

    @property
    def passes(self) -> int:  # type: ignore[override]
        """Number of passes of the model."""
        return self.runner.passes

    def propose(self, committed: Sequence[int], growth: Growth) -> Proposal[DraftTree]:
        """Draft a tree; see `DraftSession.propose`."""
        if self.max_length is not None and len(committed) + growth.depth > self.max_length + 1:
            raise ValueError(
                f"{self.step} reads at most {self.max_length} tokens, the tree asks for {growth.depth} levels below "
                f"{len(committed)}"
            )
        if unread := committed[self.runner.length :]:
            if self._paths:
                self._paths.forget()
            self._root_logits = yield from self._read_text(self._readable(unread))
        place = {0: -1}

        def read_level(tree: TreeBuilder, nodes: Sequence[int]) -> Proposal[Tensor]:
            logits = self._root_logits
            if nodes[0] != 0:
                logits = yield from self._read_level(tree, nodes, place)
            assert logits is not None, "there is at least one committed token"
            fitted = fit_vocabulary(logits, self.request.vocabulary)
            return self.request.rows(fitted, self.step, committed, tree, nodes)

        request = self.request
        tree, origins = yield from grow_tree(committed[-1], growth, read_level, request.generator, request.device)
        self._place = {node: place[origin] for node, origin in enumerate(origins) if origin in place}
        return tree

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        """Keep the cache entries of the accepted nodes. A leaf has none; the next round computes them.

        Where several trees are drafted below one prefix, all nodes stay in the cache until the text continues, and the
        accepted tokens are computed again.
        """
        if not self._paths:
            self.runner.keep([self._place[node] for node in path if node in self._place])

    def close(self) -> None:
        """Release the row of the shared cache."""
        self.runner.leave()

    def _read_text(self, tokens: Sequence[int]) -> Proposal[Tensor]:
        """Logits `[1, V]` after further committed tokens.

        The tokens of a round share a pass with other sequences, as nodes that are kept; a prompt has its own pass.
        """
        if self._paths or not self.runner.length or len(self.runner.batch.texts) == 1:
            return self.runner.extend(tokens)[None]
        logits: Tensor = yield NodeInput(self.runner, tokens, range(-1, len(tokens) - 1))
        self.runner.keep(range(len(tokens)))
        return logits[-1:]

    def _read_level(self, tree: TreeBuilder, nodes: Sequence[int], place: dict[int, int]) -> Proposal[Tensor]:
        """Logits `[n, V]` after the nodes of a level, whose numbers in the cache are added to `place`."""
        logits: Tensor
        if self._paths:
            logits = yield PathInput(self._paths, [tuple(self._readable(tree.path(node))) for node in nodes])
            return logits
        parents = [place[tree.parents[node]] for node in nodes]
        place.update({node: number for number, node in enumerate(nodes, start=self.runner.nodes)})
        tokens = self._readable([tree.tokens[node] for node in nodes])
        logits = yield NodeInput(self.runner, tokens, parents)
        return logits

    def _readable(self, tokens: Sequence[int]) -> list[int]:
        return [token if token < self.known else UNKNOWN for token in tokens]
