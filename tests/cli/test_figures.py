"""The figures say what the run did."""

import io

from rich.console import Console

from univer.cli.figures import print_figures, speed_ratio
from univer.engine import GenerationStats, RoundStats


def _stats(seconds: float, tokens: int) -> GenerationStats:
    stats = GenerationStats("univer", "lookup", "2x2", prompt_tokens=3, new_tokens=tokens, target_passes=4)
    stats.rounds = [RoundStats(6, 4, accepted, accepted + 1, None, False) for accepted in (3, 0, 2)]
    stats.seconds["target"] = seconds
    return stats


def _printed(stats: GenerationStats, baseline: GenerationStats | None, *, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=40, _environ={})
    print_figures(console, "method univer", stats, baseline, interrupted=False)
    return console.file.getvalue()


def test_figures_are_those_of_the_run() -> None:
    stats = _stats(2.0, 9)
    stats.finish("eos")
    lines = dict(line.split("  ", 1) for line in _printed(stats, _stats(3.0, 9)).splitlines())
    values = {name: value.strip() for name, value in lines.items()}
    assert values["setting"] == "method univer"
    assert values["tau"] == "2.67 tokens a round"
    assert values["tokens per pass"] == "2.25 (9 tokens, 4 passes)"
    assert values["accepted"] == "5 of 18 drafted tokens in 3 rounds"
    assert values["speed"] == "4.5 tokens/s"
    assert values["time"].startswith("2.00 s: prefill 0.00, draft 0.00, target 2.00")
    assert values["ended by"] == "end of text"
    assert values["plain decoding"] == "3.0 tokens/s in the same engine"
    assert values["ratio to plain"] == "1.50"


def test_a_ratio_below_one_is_printed_as_well() -> None:
    assert speed_ratio(_stats(4.0, 9), _stats(1.0, 9)) == 0.25
    assert "0.25" in _printed(_stats(4.0, 9), _stats(1.0, 9))


def test_what_is_not_known_is_not_invented() -> None:
    stats = GenerationStats("univer", "lookup", "2x2", prompt_tokens=3)
    printed = _printed(stats, None)
    assert "tau              - tokens a round" in printed
    assert "ratio" not in printed
    assert speed_ratio(stats, stats) is None


def test_colours_and_their_legend_are_for_terminals() -> None:
    stats = _stats(2.0, 9)
    assert "\x1b[" not in _printed(stats, None)
    assert "accepted draft tokens" not in _printed(stats, None)
    assert "\x1b[32maccepted draft tokens" in _printed(stats, None, terminal=True)
