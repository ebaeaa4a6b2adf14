"""The generation configuration of a target: refused where it would have to be ignored, or gone without on request."""

import json
from typing import Any

from transformers import GenerationConfig

from univer.engine.settings import check_settings

__all__ = ["changed_settings", "generation_config"]


def generation_config(target: Any, *, ignore: bool, greedy: bool, applied: bool = True) -> Any:
    """The configuration that a request runs with.

    Args:
        target: A causal language model.
        ignore: Go without every setting but the ids of special tokens.
        greedy: Whether the temperature is 0.
        applied: Whether the command applies settings beside temperature and filters, such as penalties.

    Returns:
        A configuration, or None for the target's own.

    Raises:
        ValueError: The target's own has a setting that is not supported; the message names it.
    """
    own = getattr(target, "generation_config", None)
    if ignore:
        ids = {name: getattr(own, name, None) for name in ("eos_token_id", "bos_token_id", "pad_token_id")}
        return GenerationConfig(**ids)
    try:
        check_settings(own, {}, greedy=greedy, applied=applied)
    except ValueError as error:
        raise ValueError(f"{str(error).rpartition(';')[0]}; use --ignore-config to go without it") from error
    return None


def changed_settings(config: Any) -> dict[str, Any]:
    """The settings of a configuration that are not transformers' defaults, as JSON has them.

    Args:
        config: A generation configuration, or None.
    """
    if config is None:
        return {}
    found: dict[str, Any] = json.loads(json.dumps(config.to_diff_dict(), default=str))
    return {name: value for name, value in found.items() if name != "transformers_version" and not name.startswith("_")}
