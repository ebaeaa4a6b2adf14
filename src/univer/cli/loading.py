"""From the words of a command to loaded models: target, draft, generation configuration, tuned settings, prompts."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import GenerationConfig

from univer.cli.options import ModelOptions, PairOptions
from univer.drafting.base import Draft
from univer.drafting.eagle.checkpoint import is_head
from univer.drafting.eagle.shipped import shipped_head
from univer.drafting.independent import IndependentDraft
from univer.engine.drafts import as_draft, split_sources, with_sources
from univer.engine.settings import check_settings
from univer.models import SAMPLING, ModelNotFoundError, load, recommended_sampling
from univer.models.prompts import Prompt, encode
from univer.runtime.checks import check_tokenizers, context_limit

if TYPE_CHECKING:
    from torch import Tensor

    from univer.tuning import Profile

__all__ = [
    "Pair",
    "changed_settings",
    "generation_config",
    "load_draft",
    "load_pair",
    "load_target",
    "note",
    "note_differences",
    "pair_with",
    "with_prompts",
    "with_recommended",
    "with_tuned",
]

# Drafts that the engine knows by name; everything else is a model.
_ENGINE_NAMES = ("eagle=", "first=", "skip=")


@dataclass(frozen=True)
class Pair:
    """A target with its draft.

    Attributes:
        target: The target model.
        tokenizer: The target's tokenizer.
        draft: The draft.
        named: The draft as it was named, or the default's name.
        prompts: Prompts to measure on, with their token ids `[1, L]` on the target's device.
        generation_config: In place of the target's own when measuring, or None.
    """

    target: Any
    tokenizer: Any
    draft: Draft
    named: str
    prompts: "list[tuple[Prompt, Tensor]]" = field(default_factory=list)
    generation_config: Any = None

    @property
    def models(self) -> list[Any]:
        """The target and every model that the draft runs."""
        return [self.target, *self.draft.models]


def note(message: str) -> None:
    """Write one line on stderr that is no error."""
    print(f"univer: note: {message}", file=sys.stderr)


def load_target(options: ModelOptions) -> tuple[Any, Any]:
    """The target and its tokenizer.

    Raises:
        ModelError: It cannot be loaded.
    """
    return load(options.target, options.dtype, options.device, options.trust_remote_code)


def load_draft(options: PairOptions, target: Any) -> tuple[Any, Any, str]:
    """What `univer.generate` takes as its draft.

    Args:
        options: As given; without a draft, the EAGLE head for this target if one comes with the package, else look-up,
            which works with every tokenizer.
        target: The target.

    Returns:
        A name that the engine resolves, or a draft; its tokenizer if it runs a model of its own, else None; and the
        name of the draft as `--draft` takes it.

    Raises:
        ModelError: The model cannot be loaded.
    """
    name = options.draft or ("eagle" if shipped_head(target, options.target) else "lookup")
    model_name, sources = split_sources(name)
    if model_name in ("", "eagle") or model_name.startswith(_ENGINE_NAMES) or is_head(model_name):
        return name, None, name
    try:
        model, tokenizer = load(model_name, options.dtype, options.device, options.trust_remote_code)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(
            f"{error}; other drafts are lookup, automaton, eagle, eagle=DIRECTORY, first=8, skip=16-18"
        ) from error
    return with_sources(IndependentDraft(model, name=Path(model_name).name), sources), tokenizer, name


def load_pair(options: PairOptions) -> Pair:
    """Load a target with its draft.

    Raises:
        ModelError: A model cannot be loaded.
        ValueError: The draft has another tokenizer, or cannot draft for this target.
    """
    return pair_with(options, *load_target(options))


def pair_with(options: PairOptions, target: Any, tokenizer: Any) -> Pair:
    """Load a draft for a target that is loaded already, see `load_pair`."""
    found, draft_tokenizer, named = load_draft(options, target)
    if draft_tokenizer is not None:
        check_tokenizers(tokenizer, draft_tokenizer)
    draft = as_draft(found, target)
    assert draft is not None, "a name stands for a draft"
    return Pair(target, tokenizer, draft, named)


def generation_config(target: Any, *, ignore: bool, greedy: bool, applied: bool = True) -> Any:
    """The generation configuration that a request runs with.

    Args:
        target: A causal language model.
        ignore: Leave out every setting except the ids of special tokens.
        greedy: Whether the temperature is 0.
        applied: Whether the command applies settings other than temperature and filters, such as penalties.

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
        raise ValueError(f"{str(error).rpartition(';')[0]}; --ignore-config leaves it out") from error
    return None


def changed_settings(config: Any) -> dict[str, Any]:
    """The settings of a generation configuration that differ from transformers' defaults, as JSON has them.

    Args:
        config: A generation configuration, or None.
    """
    if config is None:
        return {}
    found: dict[str, Any] = json.loads(json.dumps(config.to_diff_dict(), default=str))
    return {name: value for name, value in found.items() if name != "transformers_version" and not name.startswith("_")}


def with_prompts(pair: Pair, prompts: Sequence[Prompt], room: int, *, ignore_config: bool) -> Pair:
    """Add prompts to measure acceptance on; those that are too long are left out, with a note on stderr.

    Args:
        pair: The models.
        prompts: The prompts.
        room: Positions that a prompt must leave free for the text and the tree that follow it.
        ignore_config: Whether to go without the target's generation configuration.

    Raises:
        ValueError: The draft has fixed tokens only, a setting of the target's is not supported, or no prompt fits.
    """
    config = generation_config(pair.target, ignore=ignore_config, greedy=False, applied=False)
    if pair.draft.fixed_only:
        raise ValueError("this draft proposes fixed tokens only, on which all methods are membership: name another")
    limit = min((limit for model in pair.models if (limit := context_limit(model)) is not None), default=None)
    encoded = [(prompt, encode(pair.tokenizer, prompt.text).to(pair.target.device)) for prompt in prompts]
    fitting = [(prompt, ids) for prompt, ids in encoded if limit is None or ids.shape[1] + room <= limit]
    if not fitting:
        raise ValueError(
            f"every prompt is too long: the models have {limit} positions, and {room} of them are needed for the text "
            "that follows: give shorter prompts or ask for shorter answers"
        )
    if left := {prompt.name for prompt, _ in encoded} - {prompt.name for prompt, _ in fitting}:
        note(f"left out, too long for the models: {', '.join(sorted(left))}")
    return replace(pair, prompts=fitting, generation_config=config)


def with_tuned(path: Path | None, given: Mapping[str, Any]) -> tuple["Profile | None", dict[str, Any]]:
    """Complete options by those of a profile.

    Args:
        path: The file of 'univer tune', or None.
        given: Options by name; None where not given.

    Returns:
        The profile, and the options.

    Raises:
        ValueError: It is no profile, has no tree, or a tree was given as well.
        OSError: It cannot be read.
    """
    if path is None:
        return None, dict(given)
    from univer.tuning.profile import load_profile

    profile = load_profile(path)
    if given.get("tree"):
        raise ValueError("the file of --tuned sets the tree: give --tree or --tuned, not both")
    # Raises if tuning ended before a tree was chosen.
    _ = profile.policy
    return profile, {name: value if value is not None else profile.settings.get(name) for name, value in given.items()}


def with_recommended(given: Mapping[str, Any], name: str, target: Any) -> tuple[dict[str, Any], bool]:
    """Complete a request by the sampling that the model recommends, if it has no sampling setting of its own.

    Args:
        given: Options of `univer.generate`; None where not given.
        name: Name under which the target was loaded.
        target: The target.

    Returns:
        The options, with a temperature, and whether the sampling is the model's recommendation.
    """
    named = any(given[setting] is not None for setting in SAMPLING)
    found = {} if named else recommended_sampling(name, target)
    options = {**given, **found}
    return options | {"temperature": 1.0 if options["temperature"] is None else options["temperature"]}, bool(found)


def note_differences(profile: "Profile", path: Path, target: Any, sampling: Mapping[str, Any]) -> None:
    """Say on stderr what differs from the conditions of the profile; the text is exact all the same.

    Args:
        profile: The profile.
        path: Its file.
        target: The target model.
        sampling: Settings of the request by name.
    """
    if differences := profile.differences(target, sampling):
        note(
            f"{path} was tuned under other conditions ({'; '.join(differences)}): the speed may differ from its "
            "forecast; the text is exact all the same"
        )
