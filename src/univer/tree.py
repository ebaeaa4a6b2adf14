"""Drafted trees: the tokens, how each was drawn, and the distributions they were drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from univer.laws import DTYPES, positive
from univer.topology import FIXED, ROOT, SAMPLED, SLOT_NAMES, Group, Ints, Topology

DRAFT_LAWS = ("iid", "swor", "fixed", "greedy", "mixed", "chain")

Rows = Tensor | Mapping[int, Tensor]


class Forest:
    """One or several drafted trees as flat arrays; what the couplings work on.

    Node ids are global over the trees. Nothing is checked here: `DraftTree` checks one tree, and code that builds a
    forest by hand is responsible for the same invariants.

    Args:
        topology: parents and slots.
        tokens: `[M]` int64, on the device where the work is to be done.
        draft_laws: row `Q_v` of every node with a sampled child, as a tensor `[M, V]` or a mapping node -> `[V]`.
        law: name of the sampling scheme, one of `DRAFT_LAWS`.
        excluded: tokens that were fixed children of a node at draw time and have been dropped since.
        planned: whether the slots of a child are those planned before any token below its siblings was drawn.
    """

    def __init__(
        self,
        topology: Topology,
        tokens: Tensor,
        draft_laws: Rows,
        law: str,
        excluded: Mapping[int, Sequence[int]] | None = None,
        planned: bool = True,
    ) -> None:
        self.topology = topology
        self.tokens = tokens
        self.draft_laws = draft_laws
        self.law = law
        self.excluded = {node: tuple(dropped) for node, dropped in (excluded or {}).items() if len(dropped)}
        self.planned = planned

    def __len__(self) -> int:
        return len(self.topology)

    @property
    def device(self) -> torch.device:
        """Where the tokens lie and the work is done."""
        return self.tokens.device

    def sampling_distribution(self, group: Group) -> Tensor:
        """`S_v`: `Q_v` without fixed children and dropped tokens, renormalised.

        Args:
            group: nodes with sampled children.

        Returns:
            A new tensor `[n, V]` in the dtype of the draft distributions; a row is all zero where nothing is left.
        """
        fixed = self.tokens[index(group.children[:, : group.fixed], self.device)]
        weights = rows_of(self.draft_laws, group.nodes, self.device).scatter(1, fixed, 0.0)
        if self.excluded:
            dropped = [
                (r, token) for r, node in enumerate(group.nodes.tolist()) for token in self.excluded.get(node, ())
            ]
            rows, tokens = torch.tensor(dropped, dtype=torch.long, device=self.device).reshape(-1, 2).unbind(1)
            weights[rows, tokens] = 0.0
        return weights.div_(positive(weights.sum(-1, keepdim=True)))

    @staticmethod
    def union(trees: Sequence[Forest]) -> Forest:
        """Put trees of one sampling scheme into one forest; rows are shared, not copied.

        Args:
            trees: at least one.

        Returns:
            The forest, its nodes in the order of the trees.

        Raises:
            ValueError: the trees were drawn by different sampling schemes.
        """
        laws = {tree.law for tree in trees}
        if len(laws) != 1:
            raise ValueError(f"trees of one forest must have one sampling scheme, got {sorted(laws)}")
        rows: dict[int, Tensor] = {}
        excluded: dict[int, Sequence[int]] = {}
        offset = 0
        for tree in trees:
            for node in set(tree.topology.parents[tree.topology.slots == SAMPLED].tolist()):
                rows[offset + node] = tree.draft_laws[node]
            excluded.update({offset + node: dropped for node, dropped in tree.excluded.items()})
            offset += len(tree)
        topology = Topology.union([tree.topology for tree in trees])
        tokens = torch.cat([tree.tokens for tree in trees])
        return Forest(topology, tokens, rows, laws.pop(), excluded, all(tree.planned for tree in trees))


class DraftTree(Forest):
    """One drafted tree, checked against its sampling scheme.

    Node 0 is the root, the last committed token. Siblings stand in the order in which they were drawn, fixed ones
    first. `S_v` is `Q_v` without the tokens of the node's fixed children and of `excluded[v]`, renormalised; a sampled
    child must have had positive probability when it was drawn. Whether the tree kept the growth rule (the slots of a
    node decided at one moment, before anything below it was drawn) cannot be seen in the finished tree;
    `univer.drafting.builder.TreeBuilder` enforces it while the tree grows.

    Args:
        tokens: token ids `[N]`, int64; `tokens[0]` is the last committed token.
        parents: parent ids `[N]`, int64, `parents[0] == -1`, every parent before its children.
        slots: `[N]` of `"root"` (node 0), `"fixed"` and `"sampled"`.
        draft_laws: the row `Q_v` (`[V]`, float32 or float64, sums to 1 within 1e-4) of every node that has a sampled
            child, as a mapping node -> row or a tensor `[N, V]`.
        law: name of the sampling scheme, one of `DRAFT_LAWS`.
        excluded: per node (a mapping, or one entry for every node), tokens that were its fixed children at draw time
            and have been dropped since.
        planned: False for a tree whose expansions of one level were not decided together before any token of the next
            level was drawn; the sibling order `gain` is not supported for such a tree.

    Raises:
        ValueError: the arrays do not form such a tree; the message names the node.

    Example:
        >>> row = torch.tensor([0.3, 0.2, 0.5])
        >>> tree = DraftTree([7, 2, 0], [-1, 0, 0], ["root", "fixed", "sampled"], {0: row}, "greedy")
        >>> tree.children
        [[1, 2], [], []]
        >>> tree.sampling_distribution(tree.topology.levels[0][0])
        tensor([[0.6000, 0.4000, 0.0000]])
    """

    def __init__(
        self,
        tokens: Sequence[int] | Tensor,
        parents: Sequence[int] | Tensor,
        slots: Sequence[str],
        draft_laws: Rows | None,
        law: str,
        excluded: Mapping[int, Sequence[int]] | Sequence[Sequence[int]] | None = None,
        *,
        planned: bool = True,
    ) -> None:
        if law not in DRAFT_LAWS:
            raise ValueError(f"unknown sampling scheme law={law!r}; known are {', '.join(DRAFT_LAWS)}")
        if unknown := set(slots) - set(SLOT_NAMES):
            raise ValueError(f"unknown slot {min(unknown)!r}; known are {', '.join(SLOT_NAMES)}")
        if not len(tokens) == len(parents) == len(slots) > 0:
            raise ValueError(
                f"tokens, parents and slots need one entry per node and at least the root, "
                f"got {len(tokens)}, {len(parents)} and {len(slots)}"
            )
        rows: Rows = {} if draft_laws is None else draft_laws
        some_row = rows if isinstance(rows, Tensor) else next(iter(rows.values()), None)
        if isinstance(tokens, Tensor):
            ids = tokens.to(dtype=torch.long, device=tokens.device if some_row is None else some_row.device)
        else:
            ids = torch.tensor(list(tokens), dtype=torch.long, device=None if some_row is None else some_row.device)
        topology = Topology(np.asarray(parents), np.array([SLOT_NAMES.index(slot) for slot in slots]))
        dropped = dict(enumerate(excluded)) if isinstance(excluded, Sequence) else excluded
        super().__init__(topology, ids, rows, law, dropped, planned)
        self._check_structure()
        self._check_draws()

    @property
    def parents(self) -> list[int]:
        """Parent of every node, -1 for the root."""
        return [int(parent) for parent in self.topology.parents.tolist()]

    @property
    def slots(self) -> list[str]:
        """`"root"`, `"fixed"` or `"sampled"` for every node."""
        return [SLOT_NAMES[slot] for slot in self.topology.slots.tolist()]

    @property
    def depths(self) -> list[int]:
        """Depth of every node, 0 for the root."""
        return [int(depth) for depth in self.topology.depths.tolist()]

    @property
    def children(self) -> list[list[int]]:
        """Children of every node in the order drawn."""
        return [[child for child in row if child >= 0] for row in self.topology.children.tolist()]

    def _check_structure(self) -> None:
        parents, slots = self.topology.parents, self.topology.slots
        if parents[0] != -1 or (parents[1:] < 0).any():
            raise ValueError("node 0 must be the only root: parents[0] == -1 and every other parent >= 0")
        if slots[0] != ROOT or (slots[1:] == ROOT).any():
            raise ValueError('slots[0] must be "root" and every other slot "fixed" or "sampled"')
        sampled_counts = np.bincount(parents[slots == SAMPLED], minlength=len(self))
        siblings = np.argsort(parents, kind="stable")
        late = (np.diff(parents[siblings]) == 0) & (np.diff(slots[siblings]) < 0)
        if late.any():
            parent = parents[siblings][np.argmax(late)]
            raise ValueError(f"node {parent}: a fixed child stands after a sampled one; fixed children are drawn first")
        if self.law in ("iid", "swor", "chain") and (slots == FIXED).any():
            raise ValueError(
                f"the sampling scheme {self.law!r} has no fixed children, node {int(np.argmax(slots == FIXED))} is one"
            )
        most = {"fixed": 0, "greedy": 1, "chain": 1}.get(self.law)
        if most is not None and (sampled_counts > most).any():
            node = int(np.argmax(sampled_counts > most))
            raise ValueError(
                f"node {node} has {sampled_counts[node]} sampled children: the sampling scheme {self.law!r} allows "
                f"{most}"
            )
        for node, dropped in self.excluded.items():
            if not 0 <= node < len(self):
                raise ValueError(f"excluded names node {node}, the tree has {len(self)}")
            if min(dropped) < 0:
                raise ValueError(f"node {node}: excluded holds {min(dropped)}, which is no token; leave fillers out")

    def _check_draws(self) -> None:
        """Tokens of siblings against each other, against what was dropped and against their distributions."""
        parents, tokens = self.topology.parents, self.tokens.cpu().numpy()
        drawn = list(zip(parents.tolist(), tokens.tolist(), strict=True))
        if self.law != "iid" and len(set(drawn)) < len(drawn):
            parent = next(pair for number, pair in enumerate(drawn) if pair in drawn[:number])[0]
            raise ValueError(f"node {parent}: two children have the same token, which only the scheme 'iid' draws")
        for node, dropped in self.excluded.items():
            if any((node, token) in drawn for token in dropped):
                raise ValueError(f"node {node}: an excluded token is a child")
        sampled = np.nonzero(self.topology.slots == SAMPLED)[0]
        if len(sampled):
            self._check_rows(sampled, tokens[sampled])

    def _check_rows(self, sampled: Ints, tokens: Ints) -> None:
        nodes, places = np.unique(self.topology.parents[sampled], return_inverse=True)
        missing = [
            node for node in nodes.tolist() if not isinstance(self.draft_laws, Tensor) and node not in self.draft_laws
        ]
        if missing:
            raise ValueError(f"node {missing[0]} has a sampled child: draft_laws must give the row it was drawn from")
        if isinstance(self.draft_laws, Tensor) and (self.draft_laws.dim() != 2 or len(self.draft_laws) != len(self)):
            raise ValueError(f"draft_laws must be [{len(self)}, V], got {list(self.draft_laws.shape)}")
        rows = rows_of(self.draft_laws, nodes, self.device)
        if rows.dtype not in DTYPES:
            raise ValueError(f"draft_laws must be float32 or float64, got {rows.dtype}: convert before drawing")
        vocabulary = rows.shape[1]
        for node in nodes.tolist():
            if max(self.excluded.get(node, (0,))) >= vocabulary:
                raise ValueError(f"node {node}: an excluded token lies outside the vocabulary of {vocabulary}")
        if tokens.min() < 0 or tokens.max() >= vocabulary:
            raise ValueError(f"a sampled token lies outside the vocabulary of {vocabulary} of draft_laws")
        sound = ((rows.sum(-1) - 1).abs() <= 1e-4) & (rows.amin(-1) >= 0)
        possible = rows[index(places, self.device), index(tokens, self.device)] > 0
        # One transfer from the device for all rows.
        if not bool(sound.all() & possible.all()):
            if not bool(sound.all()):
                node = nodes[int(sound.int().argmin())]
                raise ValueError(f"the draft distribution of node {node} must be non-negative and sum to 1 within 1e-4")
            node = nodes[places[int(possible.int().argmin())]]
            raise ValueError(f"node {node}: a sampled child has probability 0 under its draft distribution")


def places_of(wanted: Ints, nodes: Ints) -> Ints:
    """Where each of `wanted` stands in `nodes`, which has no repetitions."""
    order = np.argsort(nodes, kind="stable")
    return order[np.searchsorted(nodes, wanted, sorter=order)]


def index(ids: Ints, device: torch.device) -> Tensor:
    """Node ids as an index tensor on `device`."""
    return torch.from_numpy(np.ascontiguousarray(ids)).to(device)


def rows_of(rows: Rows, nodes: Ints, device: torch.device) -> Tensor:
    """Rows of some nodes; a view where the nodes are consecutive rows of a tensor.

    Args:
        rows: `[M, V]` or a mapping node -> `[V]`.
        nodes: node ids `[n]`, at least one.
        device: where the rows are.

    Returns:
        `[n, V]`.
    """
    if not isinstance(rows, Tensor):
        return torch.stack([rows[node] for node in nodes.tolist()])
    first = int(nodes[0])
    if len(nodes) == int(nodes[-1]) - first + 1 and (np.diff(nodes) == 1).all():
        return rows[first : first + len(nodes)]
    return rows.index_select(0, index(nodes, device))
