"""How methods and trees are called in a report, and in which order they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from univer.bench.summary import PLAIN
from univer.methods import methods

TITLES = {
    "token": "Token",
    "block": "Block",
    "rrs": "RRS",
    "rrs-lifted": "RRS, lifted",
    "rrsw": "RRSw",
    "traversal": "Traversal",
    "spectr": "SpecTr",
    "spectr-lifted": "SpecTr, lifted",
    "greedy": "Greedy",
    "univer": "UniVer",
    "membership": "Membership",
    "mixed": "Mixed",
    "univer-mixed": "UniVer, mixed",
    "optimal": "Optimal",
    "optimal-lifted": "Optimal, lifted",
    PLAIN: "plain decoding",
}
# Signs of a name in a plot, and how many of them show what a name shares with another before they part.
LONGEST, SHARED = 33, 8


def base(label: str) -> str:
    """The method of a row without its sibling order.

    Example:
        >>> base("univer (gain)")
        'univer'
    """
    return label.partition(" (")[0]


def title(label: str) -> str:
    """A row's name for a reader.

    Example:
        >>> title("spectr-lifted (gain)"), title("mine")
        ('SpecTr, lifted (gain)', 'mine')
    """
    name = base(label)
    known = methods().get(name)
    lossy = " (lossy)" if known is not None and not known.exact else ""
    return (known.title if known is not None else TITLES.get(name, name)) + label[len(name) :] + lossy


def rank(label: str) -> tuple[int, int, str]:
    """What rows are sorted by: plain decoding, then methods as `univer methods` lists them, then unknown ones.

    Example:
        >>> sorted(["zeta", "univer (gain)", "rrsw", "univer", "plain"], key=rank)
        ['plain', 'rrsw', 'univer', 'univer (gain)', 'zeta']
    """
    name = base(label)
    known = [PLAIN, *methods()]
    return (known.index(name) if name in known else len(known), len(label) - len(name), label)


def tree_title(tree: str | None) -> str:
    """A tree's name.

    Example:
        >>> tree_title("2x5"), tree_title(None)
        ('2x5', 'no tree')
    """
    return "no tree" if tree is None else tree


def shortened(name: str) -> str:
    """A name without its middle where it is long.

    Example:
        >>> shortened("a" * 20 + "b" * 20)
        'aaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbb'
    """
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


def told_apart(names: Iterable[str]) -> dict[str, str]:
    """What to call names where there is little room: without their middles, and no two the same.

    Names that are alike but for their middles are shown from where they part, and where that is not enough as they are.

    Args:
        names: all names of a report.

    Returns:
        By name what it is called, longest names first.

    Example:
        >>> start, end = "[-1, 0, 0, 0, 0", "3, 3, 4, 4, 5]"
        >>> [*told_apart([f"{start}, 1, 1, {end}", f"{start}, 1, 2, {end}", "2x5"]).values()]
        ['…, 0, 1, 1, 3, 3, 4, 4, 5]', '…, 0, 1, 2, 3, 3, 4, 4, 5]', '2x5']
    """
    found = {name: shortened(name) for name in sorted(set(names), key=lambda name: (-len(name), name))}
    for whole in (False, True):
        for form in [form for form, count in Counter(found.values()).items() if count > 1]:
            alike = [name for name, own in found.items() if own == form]
            signs = enumerate(zip(*alike, strict=False))
            parting = next((place for place, own in signs if len(set(own)) > 1), min(map(len, alike)))
            rest = slice(max(0, parting - SHARED), None)
            # A name that is short already stays: it is the others that only look like it.
            found |= {name: name if whole else shortened(f"…{name[rest]}") for name in alike if len(name) > LONGEST}
    return found
