"""Settings of a generation configuration that change the text: those that the engine applies, the others refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

# For each setting the values that change nothing. None and empty collections never do.
APPLIED: dict[str, tuple[Any, ...]] = {
    "sequence_bias": (),
    "repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,),
    "bad_words_ids": (),
    "prefix_allowed_tokens_fn": (),
    "min_length": (0,),
    "min_new_tokens": (),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "remove_invalid_values": (False,),
    "exponential_decay_length_penalty": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "frequency_penalty": (0.0,),
    "presence_penalty": (0.0,),
    "stop_strings": (),
    "max_time": (),
}
REFUSED: dict[str, tuple[Any, ...]] = {
    "encoder_repetition_penalty": (1.0,),
    "encoder_no_repeat_ngram_size": (0,),
    "guidance_scale": (1.0,),
    "watermarking_config": (),
    "token_healing": (False,),
    "num_beams": (1,),
    "num_beam_groups": (1,),
    "num_return_sequences": (1,),
    "diversity_penalty": (0.0,),
    "penalty_alpha": (0.0,),
    "dola_layers": (),
    "constraints": (),
    "force_words_ids": (),
    "cache_implementation": ("dynamic", "dynamic_full", "hybrid"),
}
# These act on sampling only.
REFUSED_WHEN_SAMPLING: dict[str, tuple[Any, ...]] = {
    "top_h": (1.0,),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
}
# Those that name tokens.
TOKENS = (
    "eos_token_id",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "suppress_tokens",
    "begin_suppress_tokens",
    "bad_words_ids",
    "sequence_bias",
)
# Those among them that name sequences of tokens; their form is left to transformers.
SEQUENCES = ("bad_words_ids", "sequence_bias")
# Arguments of transformers' `generate` that carry objects.
OBJECTS = (
    "negative_prompt_ids",
    "past_key_values",
    "cache",
    "inputs_embeds",
)


def check_settings(generation_config: Any, overrides: Mapping[str, Any], *, greedy: bool, applied: bool = True) -> None:
    """Refuse every setting that would otherwise be ignored.

    Args:
        generation_config: the target's, or None.
        overrides: settings that the caller passed by name; they replace those of the configuration.
        greedy: whether the temperature is 0, where the settings of sampling have no effect.
        applied: whether those that the engine applies will be; not so where laws are compared that know temperature and
            filters alone.

    Raises:
        TypeError: an override is no setting of generation.
        ValueError: a setting has an effect that is not supported.

    Example:
        >>> check_settings(None, {"num_beams": 1, "repetition_penalty": 1.2}, greedy=True)
        >>> check_settings(None, {"num_beams": 4}, greedy=True)
        Traceback (most recent call last):
            ...
        ValueError: num_beams=4 is not supported; pass num_beams=1 to go without it
    """
    refused = ({} if applied else APPLIED) | REFUSED | ({} if greedy else REFUSED_WHEN_SAMPLING)
    known = APPLIED | REFUSED | REFUSED_WHEN_SAMPLING
    unknown = sorted(overrides.keys() - known.keys() - set(OBJECTS) - {"do_sample"})
    if unknown:
        raise TypeError(f"generate() has no setting {unknown[0]!r}")
    if overrides.get("do_sample") is not None and overrides["do_sample"] == greedy:
        raise ValueError("do_sample is decided by the temperature: 0 is greedy decoding, anything above samples")
    for name in OBJECTS:
        # An empty cache counts: the caller expects it to be filled.
        if overrides.get(name) is not None:
            raise ValueError(f"{name} is not supported: the engine would have to ignore it")
    for name, harmless in refused.items():
        from_config = name not in overrides
        value = getattr(generation_config, name, None) if from_config else overrides[name]
        if _has_effect(value, harmless):
            source = " (set by the target's generation_config)" if from_config else ""
            way_out = f"{name}={harmless[0]!r}" if harmless else f"{name}=None"
            raise ValueError(f"{name}={value!r}{source} is not supported; pass {way_out} to go without it")


def applied_settings(generation_config: Any, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a request that the engine applies and that change something.

    Args:
        generation_config: the target's, or None.
        overrides: settings that the caller passed by name; they replace those of the configuration.

    Example:
        >>> from types import SimpleNamespace
        >>> config = SimpleNamespace(repetition_penalty=1.3, suppress_tokens=[4])
        >>> applied_settings(config, {"repetition_penalty": 1.0, "min_new_tokens": 5})
        {'min_new_tokens': 5, 'suppress_tokens': [4]}
    """
    values = {
        # A caller's None replaces the value of the configuration as well.
        name: overrides[name] if name in overrides else getattr(generation_config, name, None)
        for name in APPLIED
    }
    return {name: value for name, value in values.items() if _has_effect(value, APPLIED[name])}


def check_tokens(settings: Mapping[str, Any], vocabulary: int) -> None:
    """Refuse settings that name a token which the target does not have.

    Args:
        settings: values by name; those that name no tokens are passed over.
        vocabulary: number of token ids of the target.

    Raises:
        TypeError: an id is no whole number.
        ValueError: an id is outside the vocabulary, or a forced token is suppressed.

    Example:
        >>> check_tokens({"suppress_tokens": [3, 60]}, 50)
        Traceback (most recent call last):
            ...
        ValueError: suppress_tokens holds 60, which is outside the target's vocabulary: ids go from 0 to 49
    """
    for name in TOKENS:
        if settings.get(name) is None:
            continue
        value = settings[name]
        for token in _ids_in_sequences(value) if name in SEQUENCES else token_ids(name, value):
            if not 0 <= token < vocabulary:
                raise ValueError(
                    f"{name} holds {token}, which is outside the target's vocabulary: ids go from 0 to {vocabulary - 1}"
                )
    suppressed = set(token_ids("suppress_tokens", settings.get("suppress_tokens") or []))
    for name in ("forced_bos_token_id", "forced_eos_token_id"):
        forced = settings.get(name)
        if forced is not None and suppressed.issuperset(token_ids(name, forced)):
            raise ValueError(f"{name}={forced!r} forces what suppress_tokens forbids: take it out of one of them")


def token_ids(name: str, value: Any) -> list[int]:
    """The token ids of a setting: one, or several in a tensor or a list.

    Args:
        name: the setting, for the message.
        value: its value.

    Raises:
        TypeError: an id is no whole number.
    """
    plain = value.tolist() if hasattr(value, "tolist") else value
    ids = list(plain) if isinstance(plain, Iterable) and not isinstance(plain, str | bytes | Mapping) else [plain]
    if not all(isinstance(token, Integral) and not isinstance(token, bool) for token in ids):
        raise TypeError(f"{name} must be a token id or a list of them, whole numbers, not {value!r}")
    return [int(token) for token in ids]


def _ids_in_sequences(value: Any) -> Iterator[int]:
    """The token ids in lists of sequences, alone or with a bias each, or in the keys of a mapping."""
    for entry in value if isinstance(value, Mapping | list | tuple) else ():
        with_bias = isinstance(entry, list | tuple) and entry and isinstance(entry[0], list | tuple)
        sequence = entry[0] if with_bias else entry
        if isinstance(sequence, list | tuple):
            yield from (int(token) for token in sequence if isinstance(token, Integral))


def _has_effect(value: Any, harmless: tuple[Any, ...]) -> bool:
    if value is None or (hasattr(value, "__len__") and not isinstance(value, str) and len(value) == 0):
        return False
    return value not in harmless
