"""What the engine refuses, by name and before the first token, because it would be silently wrong."""

from __future__ import annotations

from typing import Any

from torch import nn

from univer.runtime.attention import attention_pattern
from univer.runtime.batch import cache_argument

TRAINED = "max_position_embeddings"


def check_model(model: Any, role: str) -> None:
    """Refuse a model whose state cannot follow a tree.

    Args:
        model: a language model.
        role: what the model is in the request, `"target"` or `"draft"`, for the message.

    Raises:
        ValueError: the model is an encoder-decoder or multimodal one, keeps a recurrent state, has layers other than
            full or sliding-window attention, reads prompts of an adapter before the text, takes no cache, or has
            weights that do not work in torch's inference mode.
    """
    name = f"the {role} {type(model).__name__}"
    config = getattr(model, "config", None)
    if config is None:
        raise ValueError(f"{name} has no configuration: pass a causal language model of transformers")
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(f"{name} is an encoder-decoder model; only decoder-only language models are supported")
    if hasattr(config, "get_text_config") and config.get_text_config() is not config:
        raise ValueError(f"{name} is a multimodal model; pass its language model alone")
    if getattr(model, "_is_stateful", False):
        raise ValueError(
            f"{name} keeps a recurrent state, which cannot be rolled back to the accepted tokens; "
            "use a model with attention only"
        )
    if hasattr(model, "get_output_embeddings") and model.get_output_embeddings() is None:
        raise ValueError(f"{name} has no language-model head: load it with AutoModelForCausalLM")
    if cache_argument(model) is None:
        raise ValueError(f"{name} takes no key/value cache (an argument `cache` or `past_key_values` of its forward)")
    try:
        attention_pattern(config)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    for adapter in getattr(model, "peft_config", {}).values():
        if getattr(adapter, "is_prompt_learning", False):
            raise ValueError(
                f"{name} has an adapter that puts {adapter.num_virtual_tokens} virtual tokens before the text, which "
                "shifts all positions; use one that changes weights, such as LoRA"
            )

    # Modules of optimum-quanto say what their weights are.
    modules = model.modules() if isinstance(model, nn.Module) else ()
    bits = [getattr(getattr(module, "weight_qtype", None), "bits", 8) for module in modules]
    if min(bits, default=8) < 8:
        raise ValueError(
            f"{name} has weights of {min(bits)} bits by optimum-quanto, which do not work in torch's inference mode: "
            "take 8 bits, or torchao for fewer"
        )


def check_shared_seed(model: Any, *, seeded: bool) -> None:
    """Refuse to sample without a seed from a target that is spread over processes.

    All processes take every decision, so they must draw the same numbers; else they would wait for each other for good.

    Args:
        model: the target.
        seeded: whether the request has a seed or a generator.

    Raises:
        ValueError: there is none, and the target is tensor-parallel.
    """
    if not seeded and (getattr(model, "tp_size", None) or 1) > 1:
        raise ValueError(
            f"the target {type(model).__name__} is spread over {model.tp_size} processes, which have to draw the same "
            "numbers: pass seed, the same in all of them"
        )


def context_limit(model: Any) -> int | None:
    """The largest number of tokens that a model was made for, or None if its configuration sets none.

    Rotary positions that are rescaled beyond some length ("dynamic", "longrope") would no longer fit the keys in the
    cache, so for such models that length is the limit. For "dynamic" it is the context itself.
    """
    return min((tokens for tokens, _ in _context_limits(model.config)), default=None)


def position_limit(model: Any) -> tuple[int, str] | None:
    """The number of positions that a model can read, with the setting that it comes from; None if there is no end.

    It is the size of a table of positions, or the length at which rotary positions are rescaled. Other rotary positions
    go on beyond the length that the model was made for, as in transformers.
    """
    kinds = [table.get("rope_type", table.get("type")) for table in _rope_tables(model.config)]
    endless = any(kinds) and "dynamic" not in kinds
    limits = _context_limits(model.config)
    return min((limit for limit in limits if not (endless and limit[1] == TRAINED)), default=None)


def _context_limits(config: Any) -> list[tuple[int, str]]:
    """Largest numbers of tokens, each with the setting that it comes from."""
    limits = [(getattr(config, TRAINED, None), TRAINED)]
    limits += [
        (
            table.get("original_max_position_embeddings"),
            "original_max_position_embeddings, beyond which its longrope positions are rescaled",
        )
        for table in _rope_tables(config)
        if table.get("rope_type", table.get("type")) == "longrope"
    ]
    return [(int(tokens), setting) for tokens, setting in limits if tokens]


def _rope_tables(config: Any) -> list[dict[str, Any]]:
    """Parameters of the rotary positions, of all kinds of layers."""
    # Not by getattr: `rope_scaling` is a deprecated property on newer configurations.
    parameters = vars(config).get("rope_parameters") or vars(config).get("rope_scaling") or {}
    return [parameters, *(value for value in parameters.values() if isinstance(value, dict))]


def readable_tokens(model: Any) -> int:
    """Number of token ids that a model can read: the size of its input embedding."""
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    return int(getattr(embeddings, "num_embeddings", None) or model.config.vocab_size)


def check_tokenizers(target: Any, draft: Any) -> None:
    """Refuse a draft whose token ids mean something else.

    Args:
        target: tokenizer of the target.
        draft: tokenizer of the draft.

    Raises:
        ValueError: an id stands for different tokens in the two.
    """
    of_target = {index: token for token, index in target.get_vocab().items()}
    of_draft = {index: token for token, index in draft.get_vocab().items()}
    differing = [index for index in sorted(of_target.keys() & of_draft.keys()) if of_target[index] != of_draft[index]]
    if differing or not of_target.keys() & of_draft.keys():
        first = (
            f"; id {differing[0]} is {of_target[differing[0]]!r} in one and {of_draft[differing[0]]!r} in the other"
            if (differing)
            else ""
        )
        raise ValueError(
            f"the tokenizers of target and draft differ in {len(differing)} ids{first}: "
            "the draft must be trained with the target's tokenizer"
        )
