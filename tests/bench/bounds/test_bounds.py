"""The true error never exceeds the bound: merged rows against whole ones, for every method and order."""

import pytest
import torch
from torch import Tensor

from random_trees import METHODS, random_tree
from univer import DraftTree, Method, end_distribution, methods, verify
from univer.bench.bounds import enclosure_of, tau_range
from univer.bench.traces.packing import pack, unpack
from univer.couplings import Lifted
from univer.rules import OptimalTransport

BOUNDED = [name for name in METHODS if not name.startswith("optimal")]
SHAPES = ("2x3", "3x2")
VOCABULARY = 100


def tau(tree: DraftTree, laws: Tensor, method: str, order: str) -> float:
    law = end_distribution(tree, laws, method, order)
    return 1 + float(law @ torch.from_numpy(tree.topology.depths).to(law))


def whole_and_merged(law: str, shape: str, seed: int, tail: float) -> tuple[DraftTree, Tensor, DraftTree, Tensor]:
    """A random tree in float64, and the same with its rare tokens merged."""
    tree, laws = random_tree(law, shape, VOCABULARY, seed, torch.float32)
    merged = unpack(pack(tree, laws, tail))
    assert isinstance(tree.draft_laws, dict)
    rows = {node: row.double() for node, row in tree.draft_laws.items()}
    whole = DraftTree(tree.tokens, tree.parents, tree.slots, rows, tree.law, tree.excluded, planned=tree.planned)
    return whole, laws.double(), *merged


def orders(method: str) -> tuple[str, ...]:
    chosen = methods()[method]
    if not chosen.coupling.uses_order:
        return ("drawn",)
    return ("drawn", "sampled-first", "descending", "gain")


@pytest.mark.parametrize("tail", [1e-5, 1e-2])
@pytest.mark.parametrize("method", BOUNDED)
def test_the_true_error_is_within_the_bound(method: str, tail: float) -> None:
    law = methods()[method].draft_law
    for seed in range(4):
        shape = "chain-4" if law == "chain" else SHAPES[seed % 2]
        tree, laws, small, merged = whole_and_merged(law, shape, seed, tail)
        for order in orders(method):
            low, high = tau_range(small, merged, methods()[method], order)
            assert low <= tau(small, merged, method, order) <= high, (seed, order)
            assert low <= tau(tree, laws, method, order) <= high, (seed, order)


@pytest.mark.parametrize("method", BOUNDED)
def test_the_bound_shrinks_with_the_tail(method: str) -> None:
    """In the order drawn it is of the size of the tail times the nodes, so that it says something."""
    law = methods()[method].draft_law
    widths = []
    for seed in range(4):
        _, _, small, merged = whole_and_merged(law, "chain-4" if law == "chain" else "2x3", seed, 1e-5)
        low, high = tau_range(small, merged, methods()[method], "drawn")
        widths.append(high - low)
    assert sum(widths) / len(widths) < 2e-3


def test_the_error_of_one_tree_may_be_far_above_the_tail_and_the_bound_says_so() -> None:
    """The residual is divided by its sum, which is small where the laws agree: here the bucket is half of it."""
    tail = 1e-4
    target = torch.tensor([1 - 2.9e-4, 1e-4, 1e-4, 0.9e-4, 0])
    draft = torch.tensor([1 - 2.9e-4, 0, 2e-4, 0, 0.9e-4])
    laws = torch.stack([target] * 3)
    tree = DraftTree([0, 1, 2], [-1, 0, 0], ["root", "fixed", "sampled"], {0: draft.double()}, "greedy")
    small, merged = unpack(pack(tree, laws, tail))
    exact, found = tau(tree, laws.double(), "univer", "drawn"), tau(small, merged, "univer", "drawn")
    low, high = tau_range(small, merged, methods()["univer"], "drawn")
    assert abs(exact - found) > 1000 * tail
    assert low <= exact <= high


def test_methods_without_a_bound_are_refused() -> None:
    with pytest.raises(ValueError, match="no error bound is known for the method 'optimal'"):
        enclosure_of(methods()["optimal"])
    with pytest.raises(ValueError, match=r"it needs exact rows, which a trace has under --top-k"):
        enclosure_of(Method("mine", OptimalTransport(), Lifted(), "of my own"))


def test_a_merged_tree_is_one_that_rules_take() -> None:
    _, _, small, merged = whole_and_merged("greedy", "2x3", 0, 1e-3)
    assert merged.shape[1] < VOCABULARY
    assert merged.sum(1).sub(1).abs().max() < 1e-6
    verdict = verify(small, merged, "univer", torch.Generator().manual_seed(0))
    assert all(token > 0 for token in verdict.tokens)
