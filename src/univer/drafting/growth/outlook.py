"""What a level means for the levels below it: how much more a slot brings there, and how many nodes it takes.

The constants were fitted to trees that `grow` draws on recorded rows of one pair of language models; like the estimates
they only rank slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from univer.drafting.growth.estimate import Floats

# Acceptance below a slot, per slot of its own: so much per e-fold of its weight over the bar, from this fold on.
PER_FOLD, FIRST_FOLD = 1.0, 0.5
# Least weight that is worth a node in a tree of N nodes is about this over N.
BAR = 0.75
# Nodes below a level whose slots weigh 40 bars more than their number, and the power by which they grow, by entropy.
ENTROPIES = (0.0, 0.25, 1.0, 2.0)
NODES, POWERS = (13.0, 16.0, 20.0, 23.0), (0.53, 0.57, 0.68, 0.82)
REFERENCE, HALF = 40.0, 2.0
ALL_LEVELS = 0.75


def worth(weights: Floats, bar: float, levels: int) -> Floats:
    """Expected acceptance that slots bring with all that can be hung below them.

        w (1 + min(levels, PER_FOLD [log(w / bar) - FIRST_FOLD]+))

    A heavy slot brings more than several light ones of the same sum: what hangs below it still weighs enough.

    Args:
        weights: weights of the slots, any shape.
        bar: least weight that is worth a node.
        levels: levels that may follow below them.

    Example:
        >>> worth(np.array([0.01, 0.1, 1.0]), bar=0.01, levels=6).round(3)
        array([0.01 , 0.28 , 5.105])
    """
    folds = np.log(np.maximum(weights, 1e-12) / bar) - FIRST_FOLD
    return np.asarray(weights * (1 + np.minimum(levels, PER_FOLD * np.maximum(folds, 0.0))))


@dataclass(frozen=True)
class Outlook:
    """What follows below a level.

    Attributes:
        entropy: mean entropy of its draft laws in nats, by weight of its nodes.
        levels: levels that may follow below its children.
        foresight: factor for the expected nodes; 0 for none.
    """

    entropy: float
    levels: int
    foresight: float

    def later_nodes(self, surplus: float) -> float:
        """Expected number of nodes on the levels below.

        Args:
            surplus: `sum (w / bar - 1)` over the slots of the level.
        """
        if surplus <= 0:
            return 0.0
        nodes = float(np.interp(self.entropy, ENTROPIES, NODES))
        power = float(np.interp(self.entropy, ENTROPIES, POWERS))
        share = self.levels / (self.levels + HALF) / ALL_LEVELS
        return float(self.foresight * nodes * (surplus / REFERENCE) ** power * share)
