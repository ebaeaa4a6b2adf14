"""The experiments of arXiv 2605.04543, each as the cells that have to be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

from univer.bench.rows import Row, rows_for

FAMILY = ("rrsw", "traversal", "greedy", "univer", "univer:gain")
GROWN = "grow:nodes=62,depth=5"


@dataclass(frozen=True)
class Experiment:
    """What one command measures.

    Attributes:
        name: what `univer reproduce` calls it.
        question: what it answers, in a sentence.
        trees: trees by name, each with the methods compared on it, as `rows_for` takes them.
        temperatures: temperatures of target and draft.
        count: prompts of every task group.
        places: contexts of every prompt.
        drafted: drafted trees of every context and sampling scheme.
        live: whether texts are generated and timed; otherwise tau comes from exact outcome distributions on shared
            contexts.
        reference_tree: the tree whose RRSw row is the reference for trees on which RRSw is not measured.
    """

    name: str
    question: str
    trees: dict[str, tuple[str, ...]]
    temperatures: tuple[float, ...] = (1.0,)
    count: int = 3
    places: int = 8
    drafted: int = 1
    live: bool = False
    reference_tree: str | None = None

    @property
    def rows(self) -> list[Row]:
        """Everything that is measured at every temperature."""
        return [row for tree, names in self.trees.items() for row in rows_for([tree], names)]

    def sized(self, count: int | None = None, places: int | None = None, drafted: int | None = None) -> Experiment:
        """The same experiment on more or fewer prompts, contexts and trees; None leaves a number as it is."""
        return replace(
            self,
            count=self.count if count is None else count,
            places=self.places if places is None else places,
            drafted=self.drafted if drafted is None else drafted,
        )


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "main-table",
            "How many tokens does a target pass yield under each rule, by task group?",
            {"2x5": ("membership", *FAMILY, "spectr-lifted"), GROWN: ("univer",)},
            count=12,
            reference_tree="2x5",
        ),
        Experiment(
            "temperature-topology",
            "Does the gain over RRSw grow with the temperature, and on which trees?",
            {"2x5": FAMILY, "3x3": FAMILY, "eagle": FAMILY},
            temperatures=(0.3, 0.6, 1.0),
            drafted=4,
        ),
        Experiment(
            "depth",
            "Does the gain over RRSw grow with the depth of a binary tree, from 6 to 62 drafted nodes?",
            {f"2x{depth}": FAMILY for depth in (2, 3, 4, 5)},
            drafted=4,
        ),
        Experiment(
            "overhead",
            "What does verification cost beside the target's pass over the tree?",
            {"2x5": FAMILY},
            count=1,
            live=True,
        ),
    )
}


def experiment(name: str) -> Experiment:
    """An experiment by name.

    Raises:
        ValueError: there is none of that name.

    Example:
        >>> experiment("depth").temperatures
        (1.0,)
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
