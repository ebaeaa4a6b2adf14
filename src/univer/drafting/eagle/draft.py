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
from univer.models.packing import pack
from univer.runtime.features import decoder_layers


class EagleDraft(Draft):
    """Draws trees from a head that reads the target's hidden states, one pass of one layer per level.

    Args:
        head: the head; its weights are neither changed nor copied.
        target: the target model, whose token embeddings (and, for heads of EAGLE and EAGLE-2, output layer) are shared.
        name: how the draft is called in reports.
        suggested_tree: the tree to draft where a request names none, as text; None to have no opinion.

    Attributes:
        features: the target's hidden states that the head reads, see `FeatureTap`.
        table: token embeddings `[V, H]` of the target.
        output: for variant 1 the rows `[D, H]` of the target's output layer for the draft vocabulary, else None.
        columns: which target tokens its laws are over.

    Raises:
        ValueError: the head was made for a target of another width, depth or vocabulary.
    """

    def __init__(self, head: EagleHead, target: Any, name: str = "eagle", suggested_tree: str | None = None) -> None:
        check_target(head, target)
        self.head = head
        self.name = name
        self.suggested_tree = suggested_tree
        self.features = head.config.features
        self.table: Tensor = target.get_input_embeddings().weight
        ids = head.token_ids
        self.columns = EVERY_TOKEN if ids is None else DraftVocabulary(ids, head.config.vocab_size)
        self.output: Tensor | None = None
        if head.config.variant == 1:
            rows: Tensor = target.get_output_embeddings().weight
            self.output = (rows if ids is None else rows[ids.to(rows.device)]).detach()
            self.output = self.output.to(head.fc.weight)

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
    table = target.get_input_embeddings().weight
    _, _, layers = decoder_layers(target)
    head = load_head(directory, len(layers), table.detach(), table.dtype).to(table.device)
    tree = read_settings(Path(directory)).get("suggested_tree")
    if isinstance(tree, dict):
        # What a tree of some size costs beside a single token depends on the precision.
        tree = tree.get(str(table.dtype).removeprefix("torch."))
    return EagleDraft(pack(head.requires_grad_(False)), target, f"eagle={Path(directory).name}", tree)


def check_target(head: EagleHead, target: Any) -> None:
    """Refuse a target that the head was not made for.

    Raises:
        ValueError: with what the head expects and what the target has.
    """
    config = head.config
    name = type(target).__name__
    _, _, layers = decoder_layers(target)
    table = target.get_input_embeddings().weight
    made_for = f"the EAGLE head was made for a target with {{}}, the {name} has {{}}: use a head of this target"
    width = int(target.config.hidden_size)
    if width != config.target_hidden_size:
        raise ValueError(
            made_for.format(f"hidden states of width {config.target_hidden_size}", f"hidden states of width {width}")
        )
    if not config.own_embeddings and table.shape[1] != config.hidden_size:
        raise ValueError(
            made_for.format(
                f"token embeddings of width {config.hidden_size}", f"token embeddings of width {table.shape[1]}"
            )
        )
    if table.shape[0] != config.vocab_size:
        raise ValueError(made_for.format(f"a vocabulary of {config.vocab_size}", f"one of {table.shape[0]}"))
    if max(config.features) > len(layers):
        raise ValueError(made_for.format(f"at least {max(config.features)} layers", f"{len(layers)} layers"))
    if config.variant == 1 and getattr(target.get_output_embeddings(), "bias", None) is not None:
        raise ValueError(f"the output layer of the {name} has a bias, which heads of EAGLE and EAGLE-2 do not read")
