from typing import Any

import pytest
import torch

from univer import DraftTree, Forest

ROW = torch.tensor([0.4, 0.3, 0.2, 0.1, 0.0])


def make(**changes: Any) -> DraftTree:
    given: dict[str, Any] = {
        "tokens": [9, 0, 2],
        "parents": [-1, 0, 0],
        "slots": ["root", "fixed", "sampled"],
        "draft_laws": {0: ROW},
        "law": "greedy",
    }
    return DraftTree(**(given | changes))


def test_views() -> None:
    tree = make()
    assert (tree.parents, tree.slots, tree.depths) == ([-1, 0, 0], ["root", "fixed", "sampled"], [0, 1, 1])
    assert tree.children == [[1, 2], [], []]
    assert len(tree) == 3


def test_the_sampling_law_leaves_out_fixed_and_dropped_tokens() -> None:
    tree = make(excluded={0: [1]})
    expected = torch.tensor([[0, 0, 2 / 3, 1 / 3, 0]])
    torch.testing.assert_close(tree.sampling_distribution(tree.topology.levels[0][0]), expected)
    torch.testing.assert_close(ROW, torch.tensor([0.4, 0.3, 0.2, 0.1, 0.0]))


def test_dropped_tokens_may_be_listed_for_every_node() -> None:
    assert make(excluded=[[1], [], []]).excluded == make(excluded={0: [1]}).excluded == {0: (1,)}


def test_a_tensor_of_rows_equals_a_mapping() -> None:
    rows = torch.stack([ROW, ROW * 0, ROW * 0])
    tree = make(draft_laws=rows)
    torch.testing.assert_close(
        tree.sampling_distribution(tree.topology.levels[0][0]), make().sampling_distribution(tree.topology.levels[0][0])
    )


def test_a_fixed_token_may_have_no_probability() -> None:
    assert make(tokens=[9, 4, 2]).tokens.tolist() == [9, 4, 2]


REFUSED = [
    ({"law": "beam"}, "unknown sampling scheme law='beam'; known are iid"),
    ({"slots": ["root", "fixed", "pinned"]}, "unknown slot 'pinned'"),
    ({"tokens": [9, 0]}, "one entry per node"),
    ({"tokens": [], "parents": [], "slots": []}, "at least the root"),
    ({"parents": [-1, 2, 0]}, "list parents first"),
    ({"parents": [-1, -1, 0]}, "only root"),
    ({"slots": ["fixed", "fixed", "sampled"]}, 'must be "root"'),
    ({"slots": ["root", "sampled", "fixed"]}, "fixed child stands after a sampled one"),
    ({"law": "swor"}, "'swor' has no fixed children, node 1"),
    ({"law": "iid"}, "'iid' has no fixed children"),
    ({"law": "fixed"}, "has 1 sampled children: the sampling scheme 'fixed' allows 0"),
    ({"slots": ["root", "sampled", "sampled"]}, "has 2 sampled children: the sampling scheme 'greedy' allows 1"),
    ({"slots": ["root", "sampled", "sampled"], "law": "chain"}, "'chain' allows 1"),
    ({"tokens": [9, 2, 2]}, "two children have the same token"),
    ({"tokens": [9, 2, 2], "slots": ["root", "sampled", "sampled"], "law": "swor"}, "two children have the same token"),
    ({"excluded": {0: [2]}}, "an excluded token is a child"),
    ({"excluded": {7: [2]}}, "excluded names node 7"),
    ({"excluded": {0: [-1]}}, "excluded holds -1, which is no token"),
    ({"excluded": {0: [5]}}, "excluded token lies outside the vocabulary of 5"),
    ({"draft_laws": {}}, "must give the row"),
    ({"draft_laws": {1: ROW}}, "node 0 has a sampled child"),
    ({"draft_laws": torch.stack([ROW, ROW])}, r"draft_laws must be \[3, V\]"),
    ({"draft_laws": {0: ROW.bfloat16()}}, "float32 or float64"),
    ({"draft_laws": {0: ROW * 1.01}}, "non-negative and sum to 1"),
    ({"draft_laws": {0: ROW - torch.tensor([0.0, 0.0, 0.0, 0.2, -0.2])}}, "non-negative and sum to 1"),
    ({"draft_laws": {0: ROW * float("nan")}}, "non-negative and sum to 1"),
    ({"tokens": [9, 0, 4]}, "probability 0 under its draft distribution"),
    ({"tokens": [9, 0, 5]}, "outside the vocabulary of 5"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_repeated_tokens_are_free_under_iid_only() -> None:
    tree = make(tokens=[9, 2, 2], slots=["root", "sampled", "sampled"], law="iid")
    assert tree.tokens.tolist() == [9, 2, 2]


def test_a_union_needs_one_law_and_keeps_rows() -> None:
    union = Forest.union([make(), make(tokens=[9, 1, 3])])
    assert len(union) == 6
    group = union.topology.levels[0][0]
    torch.testing.assert_close(
        union.sampling_distribution(group)[0], make().sampling_distribution(make().topology.levels[0][0])[0]
    )
    with pytest.raises(ValueError, match="must have one sampling scheme"):
        Forest.union([make(), make(law="mixed")])
