"""The model card of a trained head."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from univer.drafting.eagle.config import EagleConfig
from univer.models.machine import machine

PAPERS = {
    1: "EAGLE (Li et al., arXiv 2401.15077; the head of EAGLE-2, arXiv 2406.16858, is the same)",
    3: "EAGLE-3 (Li et al., arXiv 2503.01840)",
}


def model_card(
    config: EagleConfig, target: str, command: str, data: str, result: Mapping[str, Any], settings: Mapping[str, Any]
) -> str:
    """The card, in Markdown.

    Args:
        config: the head's sizes.
        target: name of the target.
        command: command line that repeats the training.
        data: origin of the texts.
        result: see `TrainingResult`.
        settings: all settings of the run.
    """
    where = machine()
    draft = f"{config.draft_vocab_size} of {config.vocab_size} tokens" if config.reduced else "all tokens"
    layers = ", ".join(map(str, config.features))
    rows = zip(result["acceptance"], result["agreement"], strict=True)
    table = "\n".join(f"| {step} | {a:.3f} | {b:.3f} |" for step, (a, b) in enumerate(rows, start=1))
    listed = "\n".join(f"- {name.replace('_', ' ')}: {_shown(value)}" for name, value in settings.items())
    versions = ", ".join(f"{name} {value}" for name, value in where["versions"].items())
    accelerator = f", {where['accelerator']}" if where["accelerator"] else ""
    return f"""# EAGLE head for {target}

A draft for speculative decoding: a head of variant {config.variant}, {PAPERS[config.variant]}, with
{result["parameters"] / 1e6:.1f} million parameters, stored in bfloat16. It reads the target's hidden states {layers}
and proposes {draft}, which make up {result["coverage"]:.1%} of the training texts.

## Data

{data}
{result["train_texts"]} training texts of {result["train_tokens"]} tokens, and {result["valid_texts"]} other texts for
validation.

## Acceptance

Measured with the saved weights on the validation texts: the probability that a token drafted in this step is accepted
at temperature 1, sum of min(P, Q), if those before it were, and how often target and head have the same most probable
token of the draft vocabulary.

| drafting step | acceptance | agreement |
|---|---|---|
{table}

## Training

{result["steps"]} steps with {result["optimizer"]}; the loss is the Kullback-Leibler divergence from the target's
distribution on the draft vocabulary. The saved weights are those after step {result["best_step"]}, the best of all
validations by the expected number of accepted tokens of a chain.

{listed}

Machine: {where["processor"]}, {where["cores"]} cores, {where["threads"]} threads{accelerator}, {where["system"]},
Python {where["python"]}, {versions}.

To repeat the training:

```bash
{command}
```
"""


def command_line(options: Mapping[str, Any]) -> str:
    """The command `univer train-eagle` with these options.

    Args:
        options: values by their names in Python; a list repeats its option, a tuple joins its values by commas, None
            and an empty list are left out.

    Example:
        >>> command_line({"target": "smollm2-135m", "text": ["a b.txt"], "layers": (2, 15), "init": None})
        "univer train-eagle --target smollm2-135m --text 'a b.txt' --layers 2,15"
    """
    words = ["univer", "train-eagle"]
    for name, value in options.items():
        values: Sequence[Any] = value if isinstance(value, list) else [] if value is None else [value]
        for one in values:
            shown = ",".join(map(str, one)) if isinstance(one, tuple) else str(one)
            words += [f"--{name.replace('_', '-')}", shown]
    return shlex.join(words)


def _shown(value: Any) -> str:
    if value is None:
        return "default"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
