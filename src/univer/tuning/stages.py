"""Progress over all stages of tuning."""

from __future__ import annotations

from collections.abc import Callable, Mapping

# Called with the name of a stage, and the work done and the work of all stages, in rounds.
Progress = Callable[[str, int, int], None]


class Stages:
    """Progress over the stages of a run.

    Args:
        rounds: expected work of every stage in rounds, in order.
        report: called with the name of the stage, the work done and the work of all stages.

    Example:
        >>> progress = Stages({"costs": 10, "check": 30}, print).start("check")
        >>> progress(1, 2)
        check 25 40
    """

    def __init__(self, rounds: Mapping[str, float], report: Progress) -> None:
        self._rounds = rounds
        self._report = report
        self.total = sum(rounds.values())

    def start(self, name: str) -> Callable[[int, int], None]:
        """Start a stage.

        Returns:
            A function to call with the number of parts of the stage that are done, and the number of all its parts.
        """
        names = list(self._rounds)
        before = sum(self._rounds[earlier] for earlier in names[: names.index(name)])

        def progress(done: int, total: int) -> None:
            self._report(name, round(before + self._rounds[name] * done / total), round(self.total))

        return progress
