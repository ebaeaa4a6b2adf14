"""Sizes and settings of an EAGLE head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Index of the hidden state after the target's final norm, the feature of the first two EAGLE papers.
LAST = -1
# Rescalings of the rotary frequencies that are supported, with the keys that each of them needs.
ROPE_TYPES: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
SIZES = (
    "hidden_size",
    "target_hidden_size",
    "heads",
    "kv_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "draft_vocab_size",
)


@dataclass(frozen=True)
class EagleConfig:
    """Sizes and settings of an EAGLE head.

    Args:
        variant: 1 for the heads of EAGLE and EAGLE-2 (arXiv 2401.15077, 2406.16858), 3 for those of EAGLE-3
            (arXiv 2503.01840).
        hidden_size: width H of the head and of the token embeddings.
        target_hidden_size: width of the target's hidden states; equal to `hidden_size` for variant 1.
        heads: number of query heads.
        kv_heads: number of key and value heads, a divisor of `heads`.
        head_dim: width of one head, even.
        intermediate_size: width of the feed-forward part.
        vocab_size: number of token ids V of the target that the head was made for.
        draft_vocab_size: number of tokens that the head can propose, at most V.
        features: hidden states of the target that the head reads, in transformers' convention: `i` is the input of
            layer `i`, -1 the state after the final norm. Variant 1 reads `(-1,)`.
        rms_norm_eps: added to the mean square in every norm.
        rope_theta: base of the rotary frequencies.
        rope_scaling: rescaling of the frequencies as in transformers: None, or a table whose `rope_type` is `default`,
            `linear` or `llama3`.
        attention_bias: whether the query, key and value projections have a bias, as in Qwen2.
        output_bias: whether the projection after the attention has one.
        fc_bias: whether the layer that joins the inputs has one.
        norm_before_residual: variant 3 only: the residual starts from the normalised hidden state.
        norm_before_fc: variant 3 only: the joined features are normalised first.
        norm_output: variant 3 only: the final norm is part of the hidden state that is fed back.
        own_embeddings: whether the head has token embeddings of its own; else it reads the target's.
        target_output: variant 3 only: the head has no output layer, and its scores are computed by the target's.
        max_positions: largest number of positions that the head was trained for, or None.

    Raises:
        ValueError: the sizes do not fit each other, or a setting is missing or not supported.

    Example:
        >>> EagleConfig(1, 64, 64, 4, 2, 16, 96, 300, 300, (-1,)).reduced
        False
    """

    variant: int
    hidden_size: int
    target_hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    draft_vocab_size: int
    features: tuple[int, ...]
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: Mapping[str, Any] | None = None
    attention_bias: bool = False
    output_bias: bool = False
    fc_bias: bool = False
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    norm_output: bool = False
    own_embeddings: bool = False
    target_output: bool = False
    max_positions: int | None = None

    def __post_init__(self) -> None:
        for name in SIZES:
            if getattr(self, name) < 1:
                raise ValueError(f"an EAGLE head needs {name} of at least 1, not {getattr(self, name)}")
        if self.variant not in (1, 3):
            raise ValueError(f"an EAGLE head is of variant 1 (EAGLE, EAGLE-2) or 3 (EAGLE-3), not {self.variant!r}")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} key heads evenly")
        if self.head_dim % 2:
            raise ValueError(f"rotary positions need an even head_dim, not {self.head_dim}")
        if self.draft_vocab_size > self.vocab_size:
            raise ValueError(
                f"the draft vocabulary ({self.draft_vocab_size}) is larger than the target's ({self.vocab_size})"
            )
        if not self.features:
            raise ValueError("an EAGLE head reads the hidden states of at least one target layer")
        if self.variant == 1 and (self.features != (LAST,) or self.target_hidden_size != self.hidden_size):
            raise ValueError(
                "a head of EAGLE or EAGLE-2 reads the target's last hidden state alone, features=(-1,), and has the "
                f"target's width, not features={self.features} and widths {self.hidden_size} and "
                f"{self.target_hidden_size}"
            )
        if self.rope_type not in ROPE_TYPES:
            raise ValueError(
                f"rotary positions of type {self.rope_type!r} are not supported in an EAGLE head; "
                f"supported are {', '.join(ROPE_TYPES)}"
            )
        table = self.rope_scaling or {}
        for key in ROPE_TYPES[self.rope_type]:
            value = table.get(key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(
                    f"rope_scaling of type {self.rope_type!r} needs {key!r}, a number above 0, not {value!r}"
                )
        if self.rope_type == "llama3" and table["low_freq_factor"] == table["high_freq_factor"]:
            raise ValueError("rope_scaling of type 'llama3' needs a low_freq_factor other than its high_freq_factor")

    @property
    def reduced(self) -> bool:
        """Whether the head proposes only some of the target's tokens."""
        return self.draft_vocab_size < self.vocab_size

    @property
    def shares_output(self) -> bool:
        """Whether the scores are computed by the target's output layer."""
        return self.variant == 1 or self.target_output

    @property
    def rope_type(self) -> str:
        """Name of the rescaling of the rotary frequencies."""
        return rope_type(self.rope_scaling)


def middle_layers(layers: int) -> tuple[int, int, int]:
    """The low, middle and high layer whose inputs public EAGLE-3 heads read by default.

    Args:
        layers: number N of layers of the target.

    Returns:
        2, N // 2 and N - 3, in ascending order and within the target.

    Example:
        >>> middle_layers(30), middle_layers(3)
        ((2, 15, 27), (0, 1, 2))
    """
    low, middle, high = sorted(min(max(layer, 0), layers - 1) for layer in (2, layers // 2, layers - 3))
    return low, middle, high


def config_for_target(
    target: Any, variant: int = 3, draft_vocab_size: int | None = None, **changes: Any
) -> EagleConfig:
    """Sizes of a new head whose layer has the shape of the target's layers.

    Settings that the target's configuration lacks are those of Llama. Positions are rotary, with the target's rescaling
    if `EagleConfig` supports it.

    Args:
        target: a causal language model of transformers.
        variant: 1 or 3, see `EagleConfig`.
        draft_vocab_size: number of tokens that the head can propose; by default all of the target's.
        changes: further fields of `EagleConfig` to set, e.g. `intermediate_size`.

    Returns:
        The configuration.

    Raises:
        ValueError: sizes that do not fit each other.
    """
    shape = target.config.get_text_config()
    width, heads = shape.hidden_size, shape.num_attention_heads
    theta, scaling = rope_settings(vars(shape))
    vocab_size = int(target.get_input_embeddings().weight.shape[0])

    def first(default: Any, *names: str) -> Any:
        return next((value for name in names if (value := getattr(shape, name, None))), default)

    fields: dict[str, Any] = {
        "variant": variant,
        "hidden_size": width,
        "target_hidden_size": width,
        "heads": heads,
        "kv_heads": first(heads, "num_key_value_heads"),
        "head_dim": first(width // heads, "head_dim"),
        "intermediate_size": first(4 * width, "intermediate_size", "n_inner", "ffn_dim"),
        "vocab_size": vocab_size,
        "draft_vocab_size": draft_vocab_size or vocab_size,
        "features": (LAST,) if variant == 1 else middle_layers(shape.num_hidden_layers),
        "rms_norm_eps": first(1e-6, "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"),
        "rope_theta": theta,
        "rope_scaling": scaling if rope_type(scaling) in ROPE_TYPES else None,
        "attention_bias": shape.model_type == "qwen2" or bool(getattr(shape, "attention_bias", False)),
        "max_positions": getattr(shape, "max_position_embeddings", None),
    }
    return EagleConfig(**(fields | changes))


def rope_type(scaling: Mapping[str, Any] | None) -> str:
    """Name of a rescaling of the rotary frequencies, `default` for none."""
    return str((scaling or {}).get("rope_type", (scaling or {}).get("type", "default")))


def rope_tables(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables of rotary positions in a configuration; of one for each type of layer, that of full attention.

    Args:
        settings: entries of a transformers configuration, perhaps `rope_parameters` or `rope_scaling`.

    Raises:
        ValueError: there are tables for other types of layers only.
    """
    tables = []
    for name in ("rope_parameters", "rope_scaling"):
        table = dict(settings.get(name) or {})
        if table and all(value is None or isinstance(value, Mapping) for value in table.values()):
            if not table.get("full_attention"):
                raise ValueError(f"{name} has no entry 'full_attention', only {', '.join(map(repr, table))}")
            table = dict(table["full_attention"])
        tables.append(table)
    return tables


def rope_settings(settings: Mapping[str, Any]) -> tuple[float, dict[str, Any] | None]:
    """Base and rescaling of the rotary positions in a configuration, in its older or its newer spelling.

    Args:
        settings: entries of a transformers configuration: `rope_parameters`, or `rope_theta` and `rope_scaling`.

    Returns:
        The base, 10000 where none is named, and the table of the rescaling or None.

    Raises:
        ValueError: `rope_parameters` and `rope_scaling` rescale differently, or a table is for other layers only.

    Example:
        >>> rope_settings({"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})
        (500000.0, None)
    """
    theta = settings.get("rope_theta")
    rescaled: list[dict[str, Any]] = []
    for table in reversed(rope_tables(settings)):
        theta = table.pop("rope_theta", None) or theta
        table.pop("partial_rotary_factor", None)
        if rope_type(table) != "default":
            rescaled.append(table)
    if len(rescaled) == 2 and rescaled[0] != rescaled[1]:
        raise ValueError(f"rope_scaling {rescaled[0]} and rope_parameters {rescaled[1]} contradict each other")
    return float(theta or 10000.0), rescaled[0] if rescaled else None
