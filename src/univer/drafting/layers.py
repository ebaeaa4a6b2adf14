"""Self-drafting: the target's first layers, or all of its layers but a few, without a copy of the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from torch import nn

from univer.drafting.independent import IndependentDraft
from univer.runtime.features import decoder_layers


def early_exit(target: Any, count: int) -> IndependentDraft:
    """A draft of the target's first layers, followed by its final norm and output layer.

    Args:
        target: a causal language model of transformers; neither it nor its configuration is modified.
        count: number of layers to use, at least 1 and fewer than the target has.

    Returns:
        A draft with a cache of its own that shares the target's weights.

    Raises:
        ValueError: the count is out of range, or the model's layers were not found or cannot be shared.
    """
    total = len(decoder_layers(target)[2])
    if not 1 <= count < total:
        raise ValueError(f"an early exit of this model uses 1 to {total - 1} of its {total} layers, not {count}")
    return IndependentDraft(_with_layers(target, range(count)), name=f"first={count}")


def skip_layers(target: Any, skipped: Iterable[int]) -> IndependentDraft:
    """A draft of all of the target's layers but some (Zhang et al., "Draft & Verify", arXiv 2309.08168).

    Args:
        target: a causal language model of transformers; neither it nor its configuration is modified.
        skipped: numbers of the layers to leave out, counted from 0.

    Returns:
        A draft with a cache of its own that shares the target's weights.

    Raises:
        ValueError: a layer does not exist, all or none are skipped, or the model's layers cannot be shared.
    """
    total = len(decoder_layers(target)[2])
    numbers = sorted(set(skipped))
    if not numbers or numbers[0] < 0 or numbers[-1] >= total or len(numbers) == total:
        asked = f"{len(numbers)} of them from {numbers[0]} to {numbers[-1]}" if numbers else "none"
        raise ValueError(f"skip some, not all, of the layers 0 to {total - 1} of this model, not {asked}")
    name = "skip=" + ",".join(map(str, numbers))
    return IndependentDraft(_with_layers(target, [n for n in range(total) if n not in numbers]), name=name)


def _with_layers(target: Any, numbers: Iterable[int]) -> Any:
    """A shallow copy of the model that runs only some of its layers; every parameter is shared."""
    owner, name, layers = decoder_layers(target)
    path = next(path for path, module in target.named_modules() if module is owner).split(".")
    chain = [target]
    for step in path:
        chain.append(getattr(chain[-1], step))
    for module in chain:
        # A forward bound to the original instance would run all of the original's layers.
        if "forward" in vars(module) or hasattr(module, "_hf_hook"):
            raise ValueError(
                "the target's forward was wrapped (by accelerate's device map or by compilation), so its layers cannot "
                "be shared: load it on one device, or use an independent draft model or look-up"
            )
    kept = list(numbers)
    config = copy.deepcopy(target.config)
    layer_types = getattr(config, "layer_types", None)
    if layer_types is not None:
        config.layer_types = [layer_types[number] for number in kept]
    config.num_hidden_layers = len(kept)
    views = [_shallow_copy(module) for module in chain]
    for view in views:
        view.config = config
    for outer, step, inner in zip(views, path, views[1:], strict=False):
        outer._modules[step] = inner
    views[-1]._modules[name] = nn.ModuleList(layers[number] for number in kept)
    return views[0]


def _shallow_copy(module: nn.Module) -> Any:
    """A copy of a module with the same parameters, buffers and children in tables of its own."""
    twin = copy.copy(module)
    for table in ("_modules", "_parameters", "_buffers"):
        setattr(twin, table, dict(getattr(module, table)))
    return twin
