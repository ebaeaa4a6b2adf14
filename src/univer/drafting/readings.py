"""What draft models are asked to read while trees grow: for one text, or for several in one pass."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Reading(Protocol):
    """What one text needs of the next pass of a draft model.

    Attributes:
        shared: readings can go into one pass where this is the same object.
    """

    @property
    def shared(self) -> object: ...

    def together(self, others: Sequence[Any]) -> list[Any]:
        """Make one pass.

        Args:
            others: readings of other texts with the same `shared`.

        Returns:
            What was read for this text and for each of the others, in order.
        """
        ...


# Work that asks for a reading whenever it can go no further, is sent what was read, and comes to a result.
Proposal = Generator[Reading, Any, T]


class UnderWay(Generic[T]):
    """A proposal, advanced from reading to reading.

    Args:
        proposal: not begun yet.

    Attributes:
        reading: what it waits for; None before it has begun, and when it has ended.
        result: what it came to; None until then.
    """

    def __init__(self, proposal: Proposal[T]) -> None:
        self._proposal = proposal
        self.reading: Reading | None = None
        self.result: T | None = None

    def advance(self, read: Any = None) -> None:
        """Go on to the next reading, or to the end.

        Args:
            read: what the last reading gave; None at the beginning.
        """
        self.reading = None
        try:
            reading = self._proposal.send(read)
        except StopIteration as end:
            self.result = end.value
            return
        if reading is None:
            raise TypeError("a proposal yields readings, not None")
        self.reading = reading


def read_alone(proposal: Proposal[T]) -> T:
    """The result of a proposal whose readings are made each by itself."""
    work = UnderWay(proposal)
    work.advance()
    while work.reading is not None:
        work.advance(work.reading.together([])[0])
    result: T = work.result  # type: ignore[assignment]
    return result
