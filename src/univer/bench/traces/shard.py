"""One prompt's part of a trace: its drafted trees with their rows, as one compressed file of NumPy arrays."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import torch
from numpy.typing import NDArray

from univer.engine.contexts import Context, GrowthScheme, spread
from univer.topology import SAMPLED, SLOT_NAMES
from univer.tree import DRAFT_LAWS, DraftTree, rows_of

# Level 1: zeros, of which filtered rows consist, shrink at any level, and other rows at none.
LEVEL = 1
# The arrays of a tree, see docs/traces.md.
NAMES = ("about", "tokens", "parents", "slots", "target", "draft", "dropped")


def write_shard(path: Path, contexts: Iterable[Context], growths: Sequence[GrowthScheme]) -> None:
    """Write a shard; the same contexts give the same bytes.

    Args:
        path: the file.
        contexts: of one prompt; each is written before the next is asked for.
        growths: those of the trace.
    """
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for number, context in enumerate(contexts):
            for name, array in _arrays(context, growths).items():
                content = BytesIO()
                np.save(content, array, allow_pickle=False)
                file = ZipInfo(f"{number}/{name}.npy")
                archive.writestr(file, content.getbuffer(), ZIP_DEFLATED, compresslevel=LEVEL)


def read_shard(path: Path, growths: Sequence[GrowthScheme]) -> Iterator[Context]:
    """The contexts of a shard, each read when it is asked for.

    Args:
        path: the file.
        growths: those of the trace.

    Raises:
        ValueError: the file is damaged, or its arrays do not fit each other.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            for number in range(len({name.partition("/")[0] for name in archive.files})):
                yield _context({name: archive[f"{number}/{name}"] for name in NAMES}, growths)
    except (BadZipFile, zlib.error, EOFError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def _arrays(context: Context, growths: Sequence[GrowthScheme]) -> dict[str, NDArray[np.generic]]:
    tree, topology = context.tree, context.tree.topology
    inner, sampled = np.nonzero(topology.child_counts)[0], np.unique(topology.parents[topology.slots == SAMPLED])
    dropped = [(node, token) for node, tokens in tree.excluded.items() for token in tokens]
    target = context.target[torch.from_numpy(inner).to(context.target.device)]
    draft = rows_of(tree.draft_laws, sampled, target.device) if len(sampled) else target[:0]
    return {
        "about": np.array([context.place, growths.index(context.growth), DRAFT_LAWS.index(tree.law), tree.planned]),
        "tokens": tree.tokens.cpu().numpy(),
        "parents": topology.parents,
        "slots": topology.slots,
        "target": target.cpu().numpy(),
        "draft": draft.cpu().numpy(),
        "dropped": np.array(dropped, dtype=np.int64).reshape(-1, 2),
    }


def _context(arrays: dict[str, NDArray[np.generic]], growths: Sequence[GrowthScheme]) -> Context:
    place, growth, law, planned = arrays["about"].tolist()
    parents, slots = arrays["parents"], arrays["slots"]
    inner, sampled = np.unique(parents[1:]), np.unique(parents[slots == SAMPLED])
    target = torch.from_numpy(arrays["target"])
    rows = dict(zip(sampled.tolist(), torch.from_numpy(arrays["draft"]), strict=True))
    excluded: dict[int, list[int]] = {}
    for node, token in arrays["dropped"].tolist():
        excluded.setdefault(node, []).append(token)
    tree = DraftTree(
        torch.from_numpy(arrays["tokens"]),
        parents.tolist(),
        [SLOT_NAMES[slot] for slot in slots.tolist()],
        rows,
        DRAFT_LAWS[law],
        excluded,
        planned=bool(planned),
    )
    return Context(place, tree, spread(target, inner.tolist(), len(tree)), growths[growth])
