import pytest
import torch

from random_trees import random_tree
from univer import DraftTree, end_distribution
from univer.bench.traces.packing import pack, unpack


@pytest.mark.parametrize("law", ["iid", "swor", "fixed", "greedy", "mixed"])
def test_rows_lack_at_most_the_tail_and_keep_the_largest(law: str) -> None:
    tree, laws = random_tree(law, "3x2", 200, 1, torch.float32)
    packed = pack(tree, laws, 1e-2)
    inner = packed.counts > 0
    assert inner.tolist() == [bool(children) for children in tree.children]
    assert packed.target_rest[inner].max() <= 1e-2 + 1e-6
    assert packed.target_rest[inner].min() > 0
    first = packed.kept[: packed.counts[0]].tolist()
    dropped = [token for token in range(200) if token not in first]
    assert laws[0, dropped].max() <= laws[0, first].max()
    assert float(laws[0, dropped].double().sum()) == pytest.approx(float(packed.target_rest[0]))


def test_without_a_tail_nothing_is_lost() -> None:
    tree, laws = random_tree("mixed", "3x2", 50, 2, torch.float32)
    packed = pack(tree, laws, 0.0)
    assert packed.whole
    small, rows = unpack(packed)
    assert torch.allclose(
        end_distribution(small, rows, "univer-mixed"), end_distribution(tree, laws, "univer-mixed").double(), atol=1e-6
    )


def test_dropped_children_and_repeated_tokens_survive() -> None:
    row = torch.tensor([0.4, 0.3, 0.2, 0.1 - 2e-6, 1e-6, 1e-6])
    laws = torch.stack([row.flip(0)] * 3)
    tree = DraftTree([0, 1, 3], [-1, 0, 0], ["root", "fixed", "sampled"], {0: row}, "greedy", {0: [4]})
    small, merged = unpack(pack(tree, laws, 1e-5))
    assert small.excluded.keys() == {0}
    assert torch.allclose(
        end_distribution(small, merged, "univer"), end_distribution(tree, laws, "univer").double(), atol=1e-4
    )
    twice = DraftTree([0, 2, 2], [-1, 0, 0], ["root", "sampled", "sampled"], {0: row}, "iid")
    again, merged = unpack(pack(twice, laws, 1e-5))
    assert again.tokens[1] == again.tokens[2]
    assert torch.allclose(
        end_distribution(again, merged, "rrs"), end_distribution(twice, laws, "rrs").double(), atol=1e-4
    )
