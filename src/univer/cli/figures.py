"""The figures of a run, for a person."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from univer.cli.stream import DRAFT_STYLE, TARGET_STYLE
from univer.engine import GenerationStats

__all__ = ["print_figures", "speed_ratio"]

ENDINGS = {
    "eos": "end of text",
    "stop_string": "stop string",
    "criterion": "stopping criterion",
    "time": "time limit",
    "length": "length limit",
}


def speed_ratio(stats: GenerationStats, baseline: GenerationStats) -> float | None:
    """Tokens per second over those of plain decoding; None where one of them is not known."""
    fast, plain = stats.tokens_per_second, baseline.tokens_per_second
    return fast / plain if fast is not None and plain else None


def print_figures(
    console: Console, setting: str, stats: GenerationStats, baseline: GenerationStats | None, interrupted: bool
) -> None:
    """Print what a run did and how long it took.

    Args:
        console: Where to.
        setting: The request in a few words.
        stats: Figures of the run.
        baseline: Figures of plain decoding, if it was measured.
        interrupted: Whether the run was ended by the user.
    """
    rows = [("setting", setting), *_rows(stats, interrupted)]
    if baseline is not None:
        ratio = speed_ratio(stats, baseline)
        rows.append(("plain decoding", f"{_number(baseline.tokens_per_second, 1)} tokens/s in the same engine"))
        rows.append(("ratio to plain", _number(ratio)))
    if console.is_terminal:
        legend = Text.assemble(("accepted draft tokens", DRAFT_STYLE), ", ", ("the target's own", TARGET_STYLE))
        console.print(legend, soft_wrap=True)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(Text.assemble((name.ljust(width), "bold"), "  ", value), soft_wrap=True)


def _rows(stats: GenerationStats, interrupted: bool) -> Sequence[tuple[str, str]]:
    ended = "interrupted" if interrupted else ENDINGS.get(stats.stopped_by or "")
    seconds = ", ".join(f"{phase} {spent:.2f}" for phase, spent in stats.seconds.items())
    return (
        ("tau", f"{_number(stats.tau)} tokens a round"),
        (
            "tokens per pass",
            f"{_number(stats.tokens_per_pass)} ({stats.new_tokens} tokens, {stats.target_passes} passes)",
        ),
        ("accepted", f"{stats.accepted} of {stats.drafted} drafted tokens in {len(stats.rounds)} rounds"),
        ("speed", f"{_number(stats.tokens_per_second, 1)} tokens/s"),
        ("time", f"{stats.total_seconds:.2f} s: {seconds}"),
        ("ended by", ended or "length limit"),
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
