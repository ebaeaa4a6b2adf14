"""One request: its text as it comes, whole characters in the colour of where each token came from; its figures; and the
comparison with plain decoding."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text
from torch import Tensor

from univer.cli.loading import Pair
from univer.cli.prompt import encode_messages
from univer.cli.terminal import number, progress
from univer.engine import GenerationStats, generate_rounds, plain

__all__ = ["Outcome", "PlainComparison", "TextStream", "answer", "compare_with_plain", "converse", "print_figures"]

Rows = Sequence[tuple[str, str]]

# Colours of accepted draft tokens and of the target's own.
DRAFT_STYLE, TARGET_STYLE = "green", "magenta"
# Enough of the prompt to decode the first new token in its context (with its space, say).
_CONTEXT = 4
_INCOMPLETE = "\ufffd"

# Enough for every kernel to have been called once.
WARM_UP_TOKENS = 4
# Of the comparison with plain decoding: runs of each kind, and the most tokens of one.
RUNS = 5
TIMED_TOKENS = 32

# Phases of a round whose names in the figures differ from those in records.
ENDINGS = {
    "eos": "end of text",
    "stop_string": "stop string",
    "criterion": "stopping criterion",
    "time": "time limit",
    "length": "length limit",
}


class TextStream:
    """Decodes tokens as they come, and writes the text to a console.

    A character that is split over several tokens appears once it is complete.

    Args:
        tokenizer: A transformers tokenizer.
        prompt: Token ids before the text.
        console: Where to write, in colours on terminals only; None to write nothing.

    Attributes:
        text: The text so far, special tokens left out.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int], console: Console | None = None) -> None:
        self.text = ""
        self._tokenizer = tokenizer
        self._console = console
        self._ids = list(prompt[-_CONTEXT:])
        self._start = 0
        self._shown = len(self._ids)

    def write(self, tokens: Sequence[int], from_draft: Sequence[bool]) -> None:
        """Add new tokens; accepted draft tokens are shown in one style and the target's own in another."""
        for token, drafted in zip(tokens, from_draft, strict=True):
            self._ids.append(token)
            self._add(self._new_text(final=False), DRAFT_STYLE if drafted else TARGET_STYLE)

    def finish(self) -> None:
        """Add what was held back, complete or not, and end the line."""
        self._add(self._new_text(final=True), TARGET_STYLE)
        if self._console:
            self._console.out("")

    def _new_text(self, final: bool) -> str:
        before = self._decode(self._ids[self._start : self._shown])
        now = self._decode(self._ids[self._start :])
        if now.endswith(_INCOMPLETE) and not final:
            return ""
        self._start, self._shown = self._shown, len(self._ids)
        return now[len(before) :]

    def _decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def _add(self, piece: str, style: str) -> None:
        self.text += piece
        if self._console is None:
            return
        if not self._console.is_terminal:
            # Not through the console, which replaces tabs and other control characters.
            self._console.file.write(piece)
            self._console.file.flush()
        elif piece:
            # A model must not be able to control the terminal.
            self._console.out(piece.replace("\x1b", "\u241b"), end="", style=style, highlight=False)


@dataclass
class Outcome:
    """The answer to a prompt, also if it was interrupted.

    Attributes:
        prompt: What the user said.
        input_ids: The whole prompt `[1, L]`, earlier turns and the chat template included.
        stats: Figures of the run.
        text: What was generated, special tokens left out.
        tokens: Its token ids.
        from_draft: For each token whether it is an accepted draft token.
        interrupted: Whether the user ended it.
    """

    prompt: str
    input_ids: Tensor
    stats: GenerationStats
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    from_draft: list[bool] = field(default_factory=list)
    interrupted: bool = False

    @property
    def ending(self) -> str:
        """Why the text ended, for a person."""
        return "interrupted" if self.interrupted else ENDINGS.get(self.stats.stopped_by or "", "length limit")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, text and lists."""
        return {
            "prompt": self.prompt,
            "text": self.text,
            "tokens": self.tokens,
            "from_draft": self.from_draft,
            "interrupted": self.interrupted,
            "stats": self.stats.to_dict(),
        }


@dataclass(frozen=True)
class PlainComparison:
    """Speed beside that of plain decoding, from runs of both in alternation.

    Attributes:
        tokens: Length of the text that every run generates.
        drafted: Tokens per second of each run with the draft.
        plain: Tokens per second of the plain run beside each of them.
    """

    tokens: int
    drafted: tuple[float, ...]
    plain: tuple[float, ...]

    def interval(self) -> tuple[float, float, float]:
        """Geometric mean of the speed-up over the runs, with its 95 % interval (Student's t on logarithms)."""
        from scipy.stats import ttest_1samp

        logarithms = np.log(self.drafted) - np.log(self.plain)
        found = ttest_1samp(logarithms, 0.0).confidence_interval(0.95)
        low, mean, high = np.exp([found.low, logarithms.mean(), found.high])
        return float(mean), float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers."""
        mean, low, high = self.interval()
        return {
            "tokens": self.tokens,
            "tokens_per_second": {"drafted": list(self.drafted), "plain": list(self.plain)},
            "speed_up": {"mean": mean, "low": low, "high": high},
        }

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of each figure, for a person."""
        mean, low, high = self.interval()
        certainty = (
            f"95% interval {low:.2f} to {high:.2f} over {len(self.plain)} alternating runs of {self.tokens} tokens"
        )
        if low <= 1 <= high:
            verdict = f"{mean:.2f} times plain decoding, which is within noise: no difference shown ({certainty})"
        else:
            verdict = f"{mean:.2f} times plain decoding ({certainty})"
        rows = [("plain decoding", f"{np.mean(self.plain):.1f} tokens/s in the same engine"), ("speed-up", verdict)]
        if mean < 1:
            rows.append(
                (
                    "what to do",
                    "'univer tune' finds the tree that pays on this machine, if one does; a smaller tree "
                    "(--tree chain-2) or another draft may pay too",
                )
            )
        return rows


def converse(
    pair: Pair,
    conversations: Sequence[Sequence[str]],
    system: str | None,
    options: dict[str, Any],
    *,
    chat: bool,
    console: Console | None,
) -> list[Outcome]:
    """Answer every message of every conversation, until the user interrupts it.

    The first answer is preceded by an untimed start, so that it does not pay for what happens once in a process.

    Args:
        pair: The models.
        conversations: What the user says, one or several turns each.
        system: System message of every conversation, or None.
        options: Options of `univer.generate`.
        chat: Whether messages go through the chat template.
        console: Where to write the answers as they come, or None.

    Returns:
        The answers; only the last may be interrupted.
    """
    outcomes: list[Outcome] = []
    several = len(conversations) > 1 or len(conversations[0]) > 1
    for turns in conversations:
        messages = [{"role": "system", "content": system}] if system else []
        for said in turns:
            messages.append({"role": "user", "content": said})
            ids = encode_messages(pair.tokenizer, messages, chat).to(pair.target.device)
            if not outcomes:
                short = {"max_new_tokens": min(options["max_new_tokens"], WARM_UP_TOKENS)}
                generate_rounds(pair.target, pair.draft, ids, tokenizer=pair.tokenizer, **options | short).run()
            if several and console:
                console.print(Text(f"> {said}", style="bold"), soft_wrap=True)
            outcomes.append(answer(pair, said, ids, options, console))
            if outcomes[-1].interrupted:
                return outcomes
            messages.append({"role": "assistant", "content": outcomes[-1].text})
    return outcomes


def answer(pair: Pair, prompt: str, input_ids: Tensor, options: dict[str, Any], console: Console | None) -> Outcome:
    """Generate one text. Ctrl-C ends it; what there is until then is returned.

    Args:
        pair: The models.
        prompt: What the user said.
        input_ids: The whole prompt `[1, L]`.
        options: Options of `univer.generate`.
        console: Where to write the text as it comes, or None.

    Raises:
        ValueError: Something in the request is not supported.
    """
    generation = generate_rounds(pair.target, pair.draft, input_ids, tokenizer=pair.tokenizer, **options)
    stream = TextStream(pair.tokenizer, input_ids[0].tolist(), console)
    outcome = Outcome(prompt, input_ids, generation.stats)
    try:
        for step in generation:
            outcome.tokens += step.tokens
            outcome.from_draft += step.from_draft
            stream.write(step.tokens, step.from_draft)
    except KeyboardInterrupt:
        outcome.interrupted = True
    stream.finish()
    outcome.text = stream.text
    return outcome


def compare_with_plain(pair: Pair, input_ids: Tensor, tokens: int, options: dict[str, Any]) -> PlainComparison:
    """Time runs with the draft and plain decoding in alternation, so that a busy machine slows both alike.

    Args:
        pair: The models.
        input_ids: The whole prompt `[1, L]`.
        tokens: Length of the text that was generated; the timed runs are no longer.
        options: Options of `univer.generate`; nothing but the length ends a timed run.
    """
    what = "comparing with plain decoding"
    length = min(tokens, TIMED_TOKENS)
    timed = options | {"max_new_tokens": length, "eos_token_id": None, "stop_strings": None}
    timed["tokenizer"] = pair.tokenizer
    speeds: dict[bool, list[float]] = {True: [], False: []}
    plain(pair.target, input_ids, **timed | {"max_new_tokens": 1})
    # A log has no use for these lines.
    with progress(quiet=not sys.stderr.isatty()) as report:
        for turn in range(RUNS):
            report(what, turn, RUNS)
            # Each kind goes first in every other run.
            for drafting in (turn % 2 == 0, turn % 2 == 1):
                draft = pair.draft if drafting else None
                speed = generate_rounds(pair.target, draft, input_ids, **timed).run().stats.tokens_per_second
                assert speed is not None, "a run takes time"
                speeds[drafting].append(speed)
        report(what, RUNS, RUNS)
    return PlainComparison(length, tuple(speeds[True]), tuple(speeds[False]))


def print_figures(console: Console, settings: Rows, stats: GenerationStats, ended: str, more: Rows) -> None:
    """Print what a run did and how long it took.

    Args:
        console: Where to.
        settings: The request: name and value of each setting.
        stats: Figures of the run.
        ended: Why the text ended; empty for several texts.
        more: Further figures below these.
    """
    if console.is_terminal:
        legend = Text.assemble(("accepted draft tokens", DRAFT_STYLE), ", ", ("the target's own", TARGET_STYLE))
        console.print(legend, soft_wrap=True)
    seconds = ", ".join(f"{phase} {spent:.2f}" for phase, spent in stats.seconds.items())
    counted = f"({stats.new_tokens} tokens, {stats.target_passes} passes)"
    rows = [
        *settings,
        ("tau", f"{number(stats.tau)} tokens a round"),
        ("tokens per pass", f"{number(stats.tokens_per_pass)} {counted}"),
        ("accepted", f"{stats.accepted} of {stats.drafted} drafted tokens in {len(stats.rounds)} rounds"),
        ("speed", f"{number(stats.tokens_per_second, '.1f')} tokens/s"),
        ("time", f"{stats.total_seconds:.2f} s: {seconds}"),
        *([("ended by", ended)] if ended else []),
        *more,
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(Text.assemble((name.ljust(width), "bold"), "  ", value), soft_wrap=True)
