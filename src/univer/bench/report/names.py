"""Names of methods and trees for readers, and the order in which methods are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from univer.bench.summary import PLAIN
from univer.methods import methods

# Characters of a name in a plot, and how many of them repeat what it shares with another name before they differ.
LONGEST, SHARED = 33, 8


def base(label: str) -> str:
    """The method of a row without its sibling order.

    Example:
        >>> base("univer (gain)")
        'univer'
    """
    return label.partition(" (")[0]


def title(label: str) -> str:
    """The name of a row for readers.

    Example:
        >>> title("spectr-lifted (gain)"), title("mine")
        ('SpecTr, lifted (gain)', 'mine')
    """
    name = base(label)
    if name == PLAIN:
        return "plain decoding"
    method = methods().get(name)
    return label if method is None else method.title + label[len(name) :] + ("" if method.exact else " (lossy)")


def rank(label: str) -> tuple[int, int, str]:
    """Sort key of rows: plain decoding, then methods in the order of `univer methods`, then unknown ones.

    Example:
        >>> sorted(["zeta", "univer (gain)", "rrsw", "univer", "plain"], key=rank)
        ['plain', 'rrsw', 'univer', 'univer (gain)', 'zeta']
    """
    name = base(label)
    known = [PLAIN, *methods()]
    return (known.index(name) if name in known else len(known), len(label) - len(name), label)


def shortened(name: str) -> str:
    """A long name without its middle.

    Example:
        >>> shortened("a" * 20 + "b" * 20)
        'aaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbb'
    """
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Short forms of names for plots, no two the same.

    A long name loses its middle. Where two short forms would be the same, they begin shortly before the names differ;
    where that is not enough either, the names stay whole.

    Args:
        names: all names in a report.

    Returns:
        The short form of each name, longest names first.

    Example:
        >>> start, end = "[-1, 0, 0, 0, 0", "3, 3, 4, 4, 5]"
        >>> [*short_names([f"{start}, 1, 1, {end}", f"{start}, 1, 2, {end}", "2x5"]).values()]
        ['…, 0, 1, 1, 3, 3, 4, 4, 5]', '…, 0, 1, 2, 3, 3, 4, 4, 5]', '2x5']
    """
    found = {name: shortened(name) for name in sorted(set(names), key=lambda name: (-len(name), name))}
    for whole in (False, True):
        for form in [form for form, count in Counter(found.values()).items() if count > 1]:
            alike = [name for name, short in found.items() if short == form]
            columns = enumerate(zip(*alike, strict=False))
            differ = next((place for place, column in columns if len(set(column)) > 1), min(map(len, alike)))
            rest = slice(max(0, differ - SHARED), None)
            # A name that is short by itself stays: it is the others that only look like it.
            found |= {name: name if whole else shortened(f"…{name[rest]}") for name in alike if len(name) > LONGEST}
    return found
