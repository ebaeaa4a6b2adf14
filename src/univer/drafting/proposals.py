"""Proposals that stop where they need a pass of a draft model, so that one pass serves several sequences."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

T = TypeVar("T")


class PassInput(Protocol):
    """What one sequence contributes to the next pass of a draft model.

    Attributes:
        batch_key: inputs for which this is the same object can share a pass.
    """

    @property
    def batch_key(self) -> object: ...

    def run_with(self, others: Sequence[Any]) -> list[Any]:
        """Make one pass.

        Args:
            others: inputs of other sequences with the same `batch_key`.

        Returns:
            The output for this sequence and for each of the others, in order.
        """
        ...


# A generator that yields the input of a pass whenever it needs one, is sent the output, and returns its result.
Proposal = Generator[PassInput, Any, T]


class RunningProposal(Generic[T]):
    """A proposal that is advanced from pass to pass.

    Args:
        proposal: a proposal that has not been started.

    Attributes:
        waiting: the input of the pass that it waits for; None before it has started and after it has ended.
        result: what it returned; None until then.
    """

    def __init__(self, proposal: Proposal[T]) -> None:
        self._proposal = proposal
        self.waiting: PassInput | None = None
        self.result: T | None = None

    def advance(self, output: Any = None) -> None:
        """Continue to the next pass, or to the end.

        Args:
            output: the output of the last pass; None at the start.

        Raises:
            TypeError: the proposal yielded None.
        """
        self.waiting = None
        try:
            waiting = self._proposal.send(output)
        except StopIteration as end:
            self.result = end.value
            return
        if waiting is None:
            raise TypeError("a proposal yields inputs of passes, not None")
        self.waiting = waiting


def as_proposal(proposed: T | Proposal[T]) -> Proposal[T]:
    """A proposal as it is; a result as a proposal that needs no pass."""
    if isinstance(proposed, Generator):
        return (yield from proposed)
    return proposed


@overload
def complete(proposed: Proposal[T]) -> T: ...
@overload
def complete(proposed: T) -> T: ...
def complete(proposed: Any) -> Any:
    """The result of a proposal, each of whose passes is made for this sequence alone.

    Args:
        proposed: a proposal that has not been started, or its result.
    """
    running: RunningProposal[Any] = RunningProposal(as_proposal(proposed))
    running.advance()
    while running.waiting is not None:
        running.advance(running.waiting.run_with([])[0])
    return running.result
