"""How methods and trees are called in a report, and in which order they stand."""

from __future__ import annotations

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
LONGEST = 33


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
    return shortened(TITLES.get(name, name) + label[len(name) :]) + lossy


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
    """A tree's name, without the middle of one that is long.

    Example:
        >>> tree_title("2x5"), tree_title("[-1, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4]")
        ('2x5', '[-1, 0, 0, 0, 0,…, 1, 2, 2, 3, 4]')
    """
    if tree is None:
        return "no tree"
    return shortened(tree)


def shortened(name: str) -> str:
    """A name without its middle where it is long.

    Example:
        >>> shortened("a" * 20 + "b" * 20)
        'aaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbb'
    """
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"
