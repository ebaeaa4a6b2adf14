"""A draft that proposes trees with an EAGLE head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from univer.drafting.base import Draft, DraftRequest
from univer.drafting.columns import EVERY_TOKEN, DraftVocabulary
from univer.drafting.eagle.checkpoint import load_head, read_settings
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.session import EagleSession
from univer.drafting.eagle.shipped import shipped_head
from univer.drafting.eagle.target import OutputScaling, check_target, output_scaling, output_weight, token_embeddings
from univer.models.packing import pack
from univer.runtime.features import decoder_layers


class EagleDraft(Draft):
    """Drafts trees with a head that reads the target's hidden states, one pass of one layer per level.

    Args:
        head: the head; its weights are neither changed nor copied.
        target: the target model, whose token embeddings (and, for heads of EAGLE and EAGLE-2, output layer) are shared.
        name: name of the draft in reports.
        suggested_tree: the tree to draft where a request names none, as text, or None.

    Attributes:
        features: the target's hidden states that the head reads, see `FeatureTap`.
        table: token embeddings `[V, H]` of the target.
        output: the rows `[D, H]` of the target's output layer for the draft vocabulary; None for a head that has an
            output layer of its own.
        columns: which target tokens its distributions are over.

    Raises:
        ValueError: the head was made for a target of another width, depth or vocabulary, or the target's weights that
            it shares cannot be read.
    """

    def __init__(self, head: EagleHead, target: Any, name: str = "eagle", suggested_tree: str | None = None) -> None:
        check_target(head.config, target)
        self.head = head
        self.name = name
        self.suggested_tree = suggested_tree
        self.features = head.config.features
        self.table = token_embeddings(target)
        ids = head.token_ids
        self.columns = EVERY_TOKEN if ids is None else DraftVocabulary(ids, head.config.vocab_size)
        self.output: Tensor | None = None
        self._scaling = OutputScaling()
        if head.config.shares_output:
            rows = output_weight(target).detach()
            self.output = (rows if ids is None else rows[ids.to(rows.device)]).to(head.fc.weight)
            self._scaling = output_scaling(target)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of the draft tokens, scaled and capped as the target's where its output layer is shared.

        Args:
            hidden: `[..., H]`, output of `EagleHead.block`.

        Returns:
            `[..., D]`.
        """
        return self._scaling(self.head.logits(hidden, self.output))

    def start(self, request: DraftRequest) -> EagleSession:
        """Begin a request with an empty cache.

        Raises:
            ValueError: the target's hidden states or its vocabulary are not those that the head reads.
        """
        return EagleSession(self, request)


def eagle_draft(target: Any, directory: str | Path | None = None) -> EagleDraft:
    """The draft of a head on disk, in the target's dtype and on its device.

    Args:
        target: the target model.
        directory: see `load_head`; None for the head that comes with the package for this target.

    Raises:
        ValueError: there is no such head, or it was made for another target.
    """
    if directory is None:
        directory = shipped_head(target)
        if directory is None:
            raise ValueError(
                f"no EAGLE head for this {type(target).__name__} comes with the package: name one by its directory, "
                "'eagle=DIRECTORY', or train one with 'univer train-eagle'"
            )
    table = token_embeddings(target)
    try:
        output = output_weight(target).detach()
    except ValueError:  # a head that needs it says so
        output = None
    _, _, layers = decoder_layers(target)
    head = load_head(directory, len(layers), table.detach(), table.dtype, output).to(table.device)
    tree = read_settings(Path(directory)).get("suggested_tree")
    if isinstance(tree, dict):
        # The cost of a tree relative to that of a single token depends on the precision.
        tree = tree.get(str(table.dtype).removeprefix("torch."))
    return EagleDraft(pack(head.requires_grad_(False)), target, f"eagle={Path(directory).name}", tree)
