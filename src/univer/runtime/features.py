"""The target's hidden states, taken while it reads: what drafts that build on them are given."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

# Where the architectures of transformers keep their layers.
LAYER_LISTS = ("layers", "h", "blocks")


def uncompiled(model: Any) -> Any:
    """The model inside the result of `torch.compile(model)`, or the model itself."""
    return getattr(model, "_orig_mod", model)


def bare_model(model: Any) -> Any:
    """The model of transformers inside a compiled one or one with adapters, or the model itself."""
    model = uncompiled(model)
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _is_compiled(module: nn.Module) -> bool:
    compiled_forward = hasattr(vars(module).get("forward"), "_torchdynamo_orig_callable")
    return compiled_forward or module._compiled_call_impl is not None or "_orig_mod" in module._modules


def decoder_layers(model: Any) -> tuple[Any, str, nn.ModuleList]:
    """The layers of a causal language model of transformers.

    Args:
        model: the model.

    Returns:
        The module that runs the layers, the name of its list of them, and the list.

    Raises:
        ValueError: they were not found.
    """
    bare = bare_model(model)
    base = getattr(bare, getattr(bare, "base_model_prefix", None) or "model", None)
    for owner in (base, getattr(base, "decoder", None)):
        for name in LAYER_LISTS:
            layers = getattr(owner, name, None)
            if isinstance(layers, nn.ModuleList):
                return owner, name, layers
    raise ValueError(
        f"the layers of a {type(model).__name__} were not found: use an independent draft model or look-up"
    )


class FeatureTap:
    """Takes hidden states out of a model's passes, without leaving anything behind in the model.

    The model's own `output_hidden_states` keeps the states of all layers, and its hooks for good. Passes of other
    threads over the same model are left alone.

    Args:
        model: a causal language model of transformers.
        layers: which states, in transformers' convention: `i` is the input of layer `i`, -1 (or the number of layers)
            the state after the final norm.

    Raises:
        ValueError: the model has no such layer, its layers were not found, or modules of it are compiled.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(vocab_size=5, num_hidden_layers=2, **sizes))
        >>> tap = FeatureTap(model, (1, -1))
        >>> with tap.open():
        ...     _ = model(torch.tensor([[1, 2, 3]]))
        >>> tap.take().shape
        torch.Size([1, 3, 16])
    """

    def __init__(self, model: Any, layers: Sequence[int]) -> None:
        self._base, _, modules = decoder_layers(model)
        count = len(modules)
        if any(_is_compiled(module) for module in model.modules()):
            raise ValueError(
                f"the {type(model).__name__} has compiled modules, which may leave out the hooks that read hidden "
                "states: pass the model without compiling it in place, or the result of torch.compile(model), of which "
                "the uncompiled model is run"
            )
        outside = [layer for layer in layers if not -1 <= layer <= count]
        if outside:
            raise ValueError(
                f"a {type(model).__name__} of {count} layers has no hidden state {outside[0]}: they go from 0, the "
                f"input of the first layer, to {count}, the state after the final norm"
            )
        self._layers = [-1 if layer == count else layer for layer in layers]
        self._modules = {layer: modules[layer] for layer in self._layers if layer >= 0}
        self._states: dict[int, Tensor] = {}
        self._thread: int | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Listen to the passes that this thread makes inside; the model is as before afterwards, whatever happens."""
        hooks = []
        self._thread = threading.get_ident()
        try:
            for layer, module in self._modules.items():
                hooks.append(module.register_forward_pre_hook(self._listener(layer), with_kwargs=True))
            if -1 in self._layers:
                hooks.append(self._base.register_forward_hook(self._last))
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def take(self) -> Tensor:
        """The states of the last pass, `[b, n, k * H]`, those of the layers side by side, in the model's dtype."""
        states = [self._states[layer] for layer in self._layers]
        self._states = {}
        return torch.cat([state.to(states[0].device) for state in states], -1) if len(states) > 1 else states[0]

    def _listener(self, layer: int) -> Callable[..., None]:
        # Called without the named arguments where another thread has just removed its hook.
        def listen(module: nn.Module, positional: tuple[Any, ...], named: Mapping[str, Any] = {}) -> None:
            if threading.get_ident() == self._thread:
                self._states[layer] = positional[0] if positional else named["hidden_states"]

        return listen

    def _last(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if threading.get_ident() == self._thread:
            self._states[-1] = output[0]
