"""One request with its text, its figures, and plain decoding beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from univer.cli.figures import print_figures, speed_ratio
from univer.cli.stream import TextStream, TokenText
from univer.cli.terminal import standard_output
from univer.engine import GenerationStats, generate_rounds, plain

__all__ = ["Outcome", "run"]

# Enough for every kernel of both ways to have been called once.
_WARM_UP_TOKENS = 4


@dataclass
class Outcome:
    """What came of a request, also of one that was interrupted.

    Attributes:
        text: What was generated, special tokens left out.
        tokens: Its token ids.
        from_draft: For each token whether it is an accepted draft token.
        seed: Seed of the run.
        setting: The request in a few words.
        stats: Figures of the run.
        baseline: Figures of plain decoding, if it was measured.
        interrupted: Whether the user ended it.
    """

    text: str
    tokens: list[int]
    from_draft: list[bool]
    seed: int
    setting: str
    stats: GenerationStats
    baseline: GenerationStats | None = None
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, text and lists."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "from_draft": self.from_draft,
            "seed": self.seed,
            "setting": self.setting,
            "interrupted": self.interrupted,
            "stats": self.stats.to_dict(),
            "baseline": self.baseline.to_dict() if self.baseline else None,
            "ratio_to_plain": speed_ratio(self.stats, self.baseline) if self.baseline else None,
        }

    def print_figures(self) -> None:
        """Print the figures for a person."""
        print_figures(standard_output(), self.setting, self.stats, self.baseline, self.interrupted)


def run(
    target: Any,
    draft: Any,
    tokenizer: Any,
    input_ids: Tensor,
    *,
    show_text: bool,
    baseline: bool,
    seed: int,
    **options: Any,
) -> Outcome:
    """Generate, and then time plain decoding of as many tokens.

    Ctrl-C ends the run; what there is until then is returned.

    Args:
        target: A causal language model.
        draft: What `univer.generate` takes.
        tokenizer: The target's tokenizer.
        input_ids: The prompt `[1, L]`.
        show_text: Write the text to stdout as it comes.
        baseline: Whether to time plain decoding. Both ways then make an untimed start, so that neither pays for what
            happens only once in a process.
        seed: Seed of the run.
        options: Further options of `univer.generate`.

    Returns:
        The text and its figures.

    Raises:
        ValueError: The engine refuses the request.
    """
    prompt = input_ids[0].tolist()
    generation = generate_rounds(target, draft, input_ids, seed=seed, tokenizer=tokenizer, **options)
    outcome = Outcome("", [], [], seed, _setting(generation.stats, target, seed, options), generation.stats)
    whole, stream = (
        TokenText(tokenizer, prompt),
        TextStream(standard_output(), tokenizer, prompt) if show_text else None,
    )
    limit = options["max_new_tokens"]
    plain_options = {"temperature": options["temperature"], "top_k": options["top_k"], "top_p": options["top_p"]}
    plain_options |= {"min_p": options["min_p"], "seed": seed, "eos_token_id": None}
    plain_options |= {"generation_config": options.get("generation_config"), "tokenizer": tokenizer}
    try:
        if baseline and limit:
            short = {**options, "max_new_tokens": min(limit, _WARM_UP_TOKENS)}
            generate_rounds(target, draft, input_ids, seed=seed, tokenizer=tokenizer, **short).run()
            plain(target, input_ids, max_new_tokens=1, **plain_options)
        for step in generation:
            outcome.tokens += step.tokens
            outcome.from_draft += step.from_draft
            outcome.text += "".join(map(whole.push, step.tokens))
            if stream:
                stream.write(step.tokens, step.from_draft)
    except KeyboardInterrupt:
        outcome.interrupted = True
    outcome.text += whole.finish()
    if stream:
        stream.finish()
    if baseline and outcome.tokens and not outcome.interrupted:
        try:
            outcome.baseline = plain(target, input_ids, max_new_tokens=len(outcome.tokens), **plain_options).stats
        except KeyboardInterrupt:
            outcome.interrupted = True
    return outcome


def _setting(stats: GenerationStats, target: Any, seed: int, options: dict[str, Any]) -> str:
    parts: Sequence[str] = (
        f"method {stats.method}",
        f"draft {stats.draft}",
        f"tree {stats.tree}",
        *(
            f"{name} {options[name]}"
            for name in ("order", "temperature", "top_k", "top_p", "min_p")
            if options[name] is not None
        ),
        f"seed {seed}",
        str(target.dtype).removeprefix("torch."),
        str(target.device),
    )
    return ", ".join(parts)
