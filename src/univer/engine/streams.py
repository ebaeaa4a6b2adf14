"""Random numbers of a request: one stream for each purpose, none of them the caller's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch


class Streams(NamedTuple):
    """The random numbers of one row. No number is drawn twice, and none is drawn for two purposes.

    A draft of the caller's may well draw from a generator of its own that has the seed of the request. Verification is
    exact only if its numbers are independent of the draft's, so a seed is never used as it is.

    Attributes:
        draft: draws the sampled children of trees; on the CPU.
        verification: draws the uniforms of the tests and of the next token; on the CPU.
    """

    draft: torch.Generator
    verification: torch.Generator

    @classmethod
    def of(cls, generator: torch.Generator) -> Streams:
        """Streams that are seeded by one number of a generator, through numpy's `SeedSequence`.

        Args:
            generator: on the CPU; it moves on by that number.
        """
        entropy = int(torch.randint((1 << 63) - 1, (), generator=generator))
        children = np.random.SeedSequence(entropy).spawn(len(cls._fields))
        return cls(*(_generator(int(child.generate_state(1, np.uint64)[0])) for child in children))

    @classmethod
    def of_seed(cls, seed: int, row: int = 0) -> Streams:
        """Streams of a row of a request; those of row 0 are `Streams.of` a generator with the seed.

        Args:
            seed: at least 0 and below 2**64.
            row: number of the row.
        """
        if row:
            seed = int(np.random.SeedSequence([seed, row]).generate_state(1, np.uint64)[0] >> 1)
        return cls.of(_generator(seed))


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
