"""What a run did and how long each part took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from univer.engine.stopping import StopReason

PHASES = ("prefill", "draft", "target", "distributions", "verification", "cache")


@dataclass(frozen=True)
class RoundStats:
    """One target pass over a tree.

    Attributes:
        drafted: nodes in the tree, the root left out.
        tested: drafted nodes that hang below the kept path, so that the verdict bore on them directly: the children of
            the root and of every kept node.
        accepted: drafted tokens that were committed.
        emitted: tokens committed, the target's own included.
        stopped_by: why the text ends with this round, if it does.
        cut: whether a stop or the length limit shortened the round, so that `tau` leaves it out.
    """

    drafted: int
    tested: int
    accepted: int
    emitted: int
    stopped_by: StopReason | None
    cut: bool


@dataclass
class GenerationStats:
    """Figures of one run.

    Attributes:
        method: name of the verification method; `"plain"` without a draft.
        draft: name of the draft.
        tree: name of the tree shape.
        prompt_tokens: number of tokens of the prompt.
        new_tokens: number of committed tokens.
        target_passes: target passes, the prefill included.
        draft_passes: passes of the draft model.
        rounds: one entry per target pass after the prefill.
        seconds: wall-clock seconds by phase.
    """

    method: str
    draft: str
    tree: str
    prompt_tokens: int
    new_tokens: int = 0
    target_passes: int = 0
    draft_passes: int = 0
    rounds: list[RoundStats] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    @property
    def drafted(self) -> int:
        """Drafted tokens in all rounds."""
        return sum(entry.drafted for entry in self.rounds)

    @property
    def accepted(self) -> int:
        """Committed draft tokens in all rounds."""
        return sum(entry.accepted for entry in self.rounds)

    @property
    def tau(self) -> float | None:
        """Tokens that a target round commits: the mean of accepted + 1 over the rounds that nothing cut short.

        The prefill and rounds shortened by a stop or a length limit are left out; None if no round remains.
        """
        whole = [entry.accepted + 1 for entry in self.rounds if not entry.cut]
        return sum(whole) / len(whole) if whole else None

    @property
    def tokens_per_pass(self) -> float | None:
        """All committed tokens over all target passes, prefill included."""
        return self.new_tokens / self.target_passes if self.target_passes else None

    @property
    def total_seconds(self) -> float:
        """Wall-clock seconds of all phases."""
        return sum(self.seconds.values())

    @property
    def tokens_per_second(self) -> float | None:
        """Committed tokens over the time of all phases, prefill included."""
        return self.new_tokens / self.total_seconds if self.total_seconds > 0 else None

    @property
    def stopped_by(self) -> StopReason | None:
        """Why the text ended; None while it has not, and in figures of several texts."""
        return self._stopped_by

    def __post_init__(self) -> None:
        self._stopped_by: StopReason | None = None

    def finish(self, reason: StopReason) -> None:
        """Note why the text ended."""
        self._stopped_by = reason

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain numbers, text and lists, ready for JSON."""
        derived = ("drafted", "accepted", "tau", "tokens_per_pass", "total_seconds", "tokens_per_second", "stopped_by")
        return asdict(self) | {name: getattr(self, name) for name in derived}


def merged(figures: Sequence[GenerationStats]) -> GenerationStats:
    """Figures of several texts as one: counts and times are sums, tau is the mean over the rounds of all.

    Args:
        figures: of at least one text, all generated with the same method, draft and tree.
    """
    first = figures[0]
    return GenerationStats(
        method=first.method,
        draft=first.draft,
        tree=first.tree,
        prompt_tokens=sum(own.prompt_tokens for own in figures),
        new_tokens=sum(own.new_tokens for own in figures),
        target_passes=sum(own.target_passes for own in figures),
        draft_passes=sum(own.draft_passes for own in figures),
        rounds=[entry for own in figures for entry in own.rounds],
        seconds={phase: sum(own.seconds[phase] for own in figures) for phase in PHASES},
    )


class PhaseClock:
    """Charges the time since the last reading to a phase.

    Args:
        seconds: table of phases to add to.
        device: an accelerator is waited for before each reading, so that a phase pays for its own work.
    """

    def __init__(self, seconds: dict[str, float], device: torch.device) -> None:
        self._seconds = seconds
        self._device = device
        self._last = time.perf_counter()

    def start(self) -> None:
        """Forget the time that passed outside."""
        self._last = time.perf_counter()

    def charge(self, phase: str) -> None:
        """Charge the time since the last reading to `phase`."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        now = time.perf_counter()
        self._seconds[phase] += now - self._last
        self._last = now
