import pytest
import torch

from random_trees import METHODS, tree_for
from univer import DraftTree, Forest, methods, outcome_law, verify, verify_forest
from univer.couplings.order import ORDERS
from walk import walk


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", METHODS)
def test_the_outcome_law_sums_to_one(method: str, dtype: torch.dtype) -> None:
    for seed in range(5):
        tree, target = tree_for(method, seed, dtype)
        law = outcome_law(tree, target, method)
        assert law.dtype == dtype
        assert (law >= 0).all()
        assert law.sum().item() == pytest.approx(1, abs=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", ORDERS)
def test_one_tree_many_trees_and_plain_steps_give_the_same_verdict(method: str, order: str, dtype: torch.dtype) -> None:
    if method == "membership" and order == "gain":
        order = "drawn"
    trees, targets = zip(*(tree_for(method, seed, dtype) for seed in range(20)), strict=True)
    forest, target = Forest.union(trees), torch.cat(targets)
    coins = torch.rand(len(forest), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    last = torch.rand(len(trees), dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    ends, tokens = verify_forest(forest, target, method, coins, last, order)
    start = 0
    for number, tree in enumerate(trees):
        own = torch.cat([coins[start : start + len(tree)], last[number : number + 1]])
        verdict = verify(tree, targets[number], method, order=order, uniforms=own)
        end = verdict.path[-1] if verdict.path else 0
        assert end == ends[number] - start == walk(tree, targets[number], methods()[method], order, own.tolist())
        assert verdict.next_token == tokens[number]
        assert verdict.tokens == tree.tokens[verdict.path].tolist()
        start += len(tree)


@pytest.mark.parametrize("method", METHODS)
def test_a_forest_has_the_laws_of_its_trees(method: str) -> None:
    trees, targets = zip(*(tree_for(method, seed) for seed in range(4)), strict=True)
    whole = outcome_law(Forest.union(trees), torch.cat(targets), method)
    parts = [outcome_law(tree, target, method) for tree, target in zip(trees, targets, strict=True)]
    torch.testing.assert_close(whole, torch.cat(parts), rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_fault_07_inputs_are_not_modified(method: str) -> None:
    tree, target = tree_for(method, 3)
    before = target.clone(), {node: row.clone() for node, row in tree.draft_laws.items()}, tree.tokens.clone()
    first = verify(tree, target, method, torch.Generator().manual_seed(5))
    outcome_law(tree, target, method)
    assert verify(tree, target, method, torch.Generator().manual_seed(5)) == first
    assert torch.equal(target, before[0])
    assert torch.equal(tree.tokens, before[2])
    assert all(torch.equal(row, before[1][node]) for node, row in tree.draft_laws.items())


def test_fault_10_numbering_of_nodes_does_not_matter() -> None:
    """Depth-first and breadth-first numbering of one tree give one law; every node is judged by its parent's row."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(6, 8, generator=generator, dtype=torch.float64) + 0.05
    rows /= rows.sum(-1, keepdim=True)
    target = torch.rand(6, 8, generator=generator, dtype=torch.float64)
    target /= target.sum(-1, keepdim=True)
    tokens, parents = torch.tensor([0, 1, 2, 3, 4, 5]), [-1, 0, 0, 1, 1, 2]
    slots = ["root", "fixed", "sampled", "fixed", "sampled", "sampled"]
    tree = DraftTree(tokens, parents, slots, rows, "greedy")
    depth_first = [0, 1, 3, 4, 2, 5]
    place = {node: position for position, node in enumerate(depth_first)}
    other = DraftTree(
        tokens[depth_first],
        [-1 if node == 0 else place[parents[node]] for node in depth_first],
        [slots[node] for node in depth_first],
        rows[depth_first],
        "greedy",
    )
    for order in ORDERS:
        law = outcome_law(tree, target, "univer", order)
        torch.testing.assert_close(outcome_law(other, target[depth_first], "univer", order), law[depth_first])


def test_fault_01_residual_is_normalised_not_softmaxed() -> None:
    p, q = torch.tensor([[0.5, 0.3, 0.2]] * 2, dtype=torch.float64), torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    output = torch.zeros(3, dtype=torch.float64)
    for token in range(3):
        law = outcome_law(DraftTree([0, token], [-1, 0], ["root", "sampled"], {0: q}, "chain"), p, "token")
        assert law[0, 1:].sum() == 0  # after a rejection only token 0 is possible
        output += q[token] * law[0]
        output[token] += q[token] * law[1].sum()
    torch.testing.assert_close(output, p[0])


def test_fault_02_a_deterministic_draft_is_accepted_with_the_target_probability() -> None:
    p = torch.tensor([[0.6, 0.4]] * 2)
    tree = DraftTree([0, 0], [-1, 0], ["root", "fixed"], {}, "fixed")
    for method in ("membership", "univer", "greedy", "mixed"):
        law = outcome_law(tree, p, method)
        torch.testing.assert_close(torch.stack([law[1].sum(), law[0, 1]]), p[0])


@pytest.mark.parametrize(
    "method", ["token", "block", "rrs", "rrsw", "traversal", "spectr", "greedy", "univer", "mixed"]
)
def test_fault_05_test_and_residual_are_of_one_scheme(method: str) -> None:
    """A mix of two gives (.3875, .4125, .2) or (.81, .09, .1)."""
    p, q = (torch.tensor(law, dtype=torch.float64) for law in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    law = methods()[method].draft_law
    total = torch.zeros(3, dtype=torch.float64)
    for token, chance in enumerate(q.tolist()):
        tree = DraftTree([0, token], [-1, 0], ["root", "sampled"], {0: q}, law)
        outcome = outcome_law(tree, p.repeat(2, 1), method)
        total += chance * outcome[0]
        total[token] += chance * outcome[1].sum()
    torch.testing.assert_close(total, p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("children", [[2], [1, 2], [2, 0]])
def test_fault_05_a_pruned_tree_is_judged_by_the_token_the_target_draws(children: list[int]) -> None:
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    slots = ["root"] + ["fixed"] * len(children)
    tree = DraftTree([0, *children], [-1] + [0] * len(children), slots, None, "fixed")
    outcome = outcome_law(tree, p.repeat(len(tree), 1), "membership")
    total = outcome[0].clone()
    for node, token in enumerate(children, start=1):
        assert outcome[node].sum().item() == pytest.approx(p[token].item(), abs=1e-15)
        total[token] += outcome[node].sum()
    torch.testing.assert_close(total, p, rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["token", "univer", "rrsw", "spectr", "mixed", "membership"])
def test_fault_08_equal_laws_leave_no_residual(method: str) -> None:
    """P = Q up to rounding: no NaN, and a forced rejection falls back to a token of the target."""
    generator = torch.Generator().manual_seed(0)
    q = torch.softmax(torch.randn(1000, generator=generator), 0)
    for nudge in (0.0, 1e-7, -1e-7):
        p = (q * (1 + nudge * torch.randn(1000, generator=generator).sign())).expand(2, 1000).contiguous()
        law = "iid" if method == "spectr" else "chain"
        tree = DraftTree([0, int(q.argmax())], [-1, 0], ["root", "sampled"], {0: q}, law)
        outcome = outcome_law(tree, p, method)
        assert not outcome.isnan().any()
        assert outcome.sum().item() == pytest.approx(1, abs=1e-5)
        verdict = verify(tree, p, method, uniforms=[0.0, 1 - 2**-53, 0.5])
        assert p[0, verdict.next_token] > 0


def test_float32_at_a_large_vocabulary_stays_a_law() -> None:
    tree, target = tree_for("univer", 0, torch.float32)
    generator = torch.Generator().manual_seed(0)
    rows = {n: torch.softmax(6 * torch.randn(32_000, generator=generator), 0) for n in tree.draft_laws}
    big = DraftTree(tree.tokens, tree.parents, tree.slots, rows, "greedy")
    noise = torch.softmax(6 * torch.randn(len(tree), 32_000, generator=generator), -1)
    for closeness in (0.0, 0.9, 0.999999, 1.0):
        target = noise.clone()
        for node, row in rows.items():
            target[node] = closeness * row + (1 - closeness) * noise[node]
        for order in ORDERS:
            law = outcome_law(big, target, "univer", order)
            assert (law >= 0).all()
            assert law.sum().item() == pytest.approx(1, abs=1e-5)


def test_seeds_are_reproducible_whatever_the_global_state() -> None:
    tree, target = tree_for("univer", 1)
    verdicts = []
    for state in (0, 1):
        torch.manual_seed(state)
        verdicts.append([verify(tree, target, "univer", torch.Generator().manual_seed(seed)) for seed in range(20)])
    assert verdicts[0] == verdicts[1]
    assert len({(tuple(verdict.path), verdict.next_token) for verdict in verdicts[0]}) > 1


def test_bad_input_is_refused() -> None:
    tree, target = tree_for("univer", 0)
    with pytest.raises(ValueError, match=r"target_laws must be \[15, V\]"):
        verify(tree, target[:-1], "univer")
    with pytest.raises(ValueError, match="float32 or float64"):
        verify(tree, target.bfloat16(), "univer")
    with pytest.raises(ValueError, match=r"uniforms must be \[16\]"):
        verify(tree, target, "univer", uniforms=[0.5] * 15)
    with pytest.raises(ValueError, match="uniforms must be"):
        verify(tree, target, "univer", uniforms=[1.0] * 16)


def test_fault_24_laws_of_different_vocabularies_are_refused() -> None:
    tree, target = tree_for("univer", 0)
    with pytest.raises(ValueError, match="draft_laws have 12 tokens and target_laws 14"):
        outcome_law(tree, torch.nn.functional.pad(target, (0, 2)), "univer")
    fixed = DraftTree([0, 7], [-1, 0], ["root", "fixed"], {}, "fixed")
    with pytest.raises(ValueError, match="outside the target's vocabulary of 5"):
        outcome_law(fixed, torch.full((2, 5), 0.2), "membership")


@pytest.mark.parametrize("node", [0, 2, 14])
@pytest.mark.parametrize("fault", ["nan", "negative", "empty", "double"])
def test_rows_that_are_no_laws_are_refused_wherever_they_stand(node: int, fault: str) -> None:
    tree, target = tree_for("univer", 0)
    if fault == "nan":
        target[node, 5] = float("nan")
    elif fault == "negative":
        target[node, 5] -= 1
        target[node, 6] += 1
    else:
        target[node] *= 0 if fault == "empty" else 2
    for call in (outcome_law, verify):
        with pytest.raises(ValueError, match=f"target_laws: row {node} is not a distribution"):
            call(tree, target, "univer")


def test_a_lone_root_draws_from_the_target() -> None:
    p = torch.tensor([[0.0, 0.25, 0.75]])
    tree = DraftTree([5], [-1], ["root"], {}, "greedy")
    torch.testing.assert_close(outcome_law(tree, p, "univer"), p)
    assert verify(tree, p, "univer", uniforms=[0.9, 0.3]).next_token == 2
