"""The table of a run: means over prompts with paired intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from univer.bench.folder import Record
from univer.bench.intervals import gain_interval, mean_interval, ratio_interval
from univer.models.prompts import EVERY_KIND

REFERENCE, PLAIN, ALL = "rrsw", "plain", EVERY_KIND
# A row is the mean over records that share these.
CELL = ("draft", "tree", "method", "temperature")

Cell = tuple[Any, ...]


def summarise(
    records: Sequence[Record], reference: str = REFERENCE, reference_tree: str | None = None
) -> dict[str, Any]:
    """The table of a run.

    There is a row for every draft, tree, method and temperature, over all prompts and over those of each task group.
    Figures are means over prompts. Gains and speed-ups are compared on the prompts that both sides have, which are
    resampled together.

    Args:
        records: records of a `RunFolder`.
        reference: the method whose tau the gains are relative to, on the same draft, tree and temperature.
        reference_tree: the tree whose reference is taken for trees on which the reference was not measured.

    Returns:
        `reference` and `rows`. A row has `group`, `source`, `draft`, `tree`, `method`, `temperature`, `prompts`,
        `nodes`, `tau`, `gain` with `reference_tree`, the tree of its reference, `survival` (probability that at least
        1, 2, ... drafted tokens are kept), `conditional` (the same given one token less) and, from live runs, `rate`
        (tokens per second without the prefill), `speedup` (over plain decoding) and `phases` (seconds of a round by
        phase; of the prefill, seconds of a turn). What was not measured is None. Where records have an `error` or a
        `bound`, a row has the mean `error` and the `gap`, the mean distance of tau to the bound. A figure with an
        interval has the fields of `Interval`.

    Example:
        >>> record = {"source": "replay", "group": "qa", "draft": "d", "tree": "2x1", "temperature": 1.0, "nodes": 2}
        >>> record |= {"prompt": "1", "method": "univer", "taus": [1.5, 1.7], "survival": [0.6]}
        >>> [row] = [row for row in summarise([record])["rows"] if row["group"] == "all"]
        >>> row["tau"]["value"], row["survival"][0]["value"]
        (1.6, 0.6)
    """
    cells = by_cell(records)
    groups = dict.fromkeys(record["group"] for record in records)
    rows = []
    for group in (ALL, *groups):
        of_group = {
            cell: {name: record for name, record in by_prompt.items() if group in (ALL, record["group"])}
            for cell, by_prompt in cells.items()
        }
        for cell, by_prompt in of_group.items():
            if by_prompt:
                rows.append(_row(group, cell, by_prompt, of_group, (reference, reference_tree)))
    return {"reference": reference, "rows": rows}


def by_cell(records: Sequence[Record]) -> dict[Cell, dict[str, Record]]:
    """The records by cell, see `CELL`, and by prompt in a fixed order."""
    cells: dict[Cell, dict[str, Record]] = {}
    for record in records:
        cells.setdefault(tuple(record[name] for name in CELL), {})[record["prompt"]] = record
    # Resampling goes by place: the order in which prompts were measured must not matter.
    return {cell: dict(sorted(own.items())) for cell, own in cells.items()}


def tau_of(record: Record) -> float | None:
    """Tokens per target pass on one prompt: the mean over its trees, or what its rounds gave."""
    if "taus" in record:
        taus = record["taus"]
        return float(sum(taus) / len(taus)) if taus else None
    tau = record.get("tau")
    return None if tau is None else float(tau)


def decode_seconds(record: Record) -> float:
    """Seconds of a live record without the prefill."""
    return float(sum(seconds for phase, seconds in record["seconds"].items() if phase != "prefill"))


def _row(
    group: str,
    cell: Cell,
    by_prompt: dict[str, Record],
    cells: dict[Cell, dict[str, Record]],
    reference: tuple[str, str | None],
) -> dict[str, Any]:
    draft, tree, method, temperature = cell
    compared = next(
        (place for place in (tree, reference[1]) if (draft, place, reference[0], temperature) in cells), None
    )
    itself = (method, tree) == (reference[0], compared)
    records = list(by_prompt.values())
    taus = {name: tau for name, record in by_prompt.items() if (tau := tau_of(record)) is not None}
    survival = _survival(records)
    row: dict[str, Any] = {
        "group": group,
        "source": records[0]["source"],
        **dict(zip(CELL, cell, strict=True)),
        "prompts": len(records),
        "nodes": _mean(record.get("nodes") for record in records),
        "tau": vars(mean_interval(list(taus.values()))) if taus and method != PLAIN else None,
        "gain": None if itself else _gain(taus, cells.get((draft, compared, reference[0], temperature), {})),
        "reference_tree": None if itself else compared,
        "survival": [vars(mean_interval(values)) for values in survival],
        "conditional": _conditional(survival),
        "rate": None,
        "speedup": None,
        "phases": None,
    }
    if any("error" in record for record in records):
        row["error"] = _mean(record.get("error") for record in records)
    gaps = [record["bound"] - taus[name] for name, record in by_prompt.items() if name in taus and "bound" in record]
    if gaps:
        row["gap"] = vars(mean_interval(gaps))
    if all("seconds" in record for record in records):
        plain = cells.get((None, None, PLAIN, temperature), {})
        row["rate"] = _rate(records)
        row["speedup"] = _speedup(by_prompt, plain) if method != PLAIN else None
        row["phases"] = _phases(records)
    return row


def _gain(taus: dict[str, float], reference: dict[str, Record]) -> dict[str, Any] | None:
    theirs = {name: tau for name, record in reference.items() if (tau := tau_of(record)) is not None}
    shared = [name for name in taus if name in theirs]
    if not shared:
        return None
    return vars(gain_interval([taus[name] for name in shared], [theirs[name] for name in shared]))


def _survival(records: Sequence[Record]) -> list[list[float]]:
    """Per depth the survival on every prompt; a tree that ends earlier keeps nothing deeper."""
    curves = [record.get("survival") or [] for record in records]
    deepest = max(map(len, curves), default=0)
    return [[curve[depth] if depth < len(curve) else 0.0 for curve in curves] for depth in range(deepest)]


def _conditional(survival: Sequence[Sequence[float]]) -> list[float | None]:
    means = [1.0, *(sum(values) / len(values) for values in survival)]
    return [after / before if before > 0 else None for before, after in pairwise(means)]


def _decoded(record: Record) -> float:
    """Tokens of a live record that the rounds committed: all but the one that came with each turn's prefill."""
    return float(record["tokens"] - record.get("turns", 1))


def _rate(records: Sequence[Record]) -> float | None:
    seconds, tokens = sum(map(decode_seconds, records)), sum(map(_decoded, records))
    return tokens / seconds if seconds > 0 and tokens > 0 else None


def _speedup(by_prompt: dict[str, Record], plain: dict[str, Record]) -> dict[str, Any] | None:
    """Plain decoding's seconds per token over a method's, on the prompts that both have."""
    shared = [
        name for name in by_prompt if name in plain and _decoded(by_prompt[name]) > 0 and _decoded(plain[name]) > 0
    ]
    if not shared:
        return None
    of_method = [decode_seconds(by_prompt[name]) / _decoded(by_prompt[name]) for name in shared]
    of_plain = [decode_seconds(plain[name]) / _decoded(plain[name]) for name in shared]
    return vars(ratio_interval(of_plain, of_method))


def _phases(records: Sequence[Record]) -> dict[str, float]:
    rounds, turns = (sum(record.get(name, 1) for record in records) for name in ("rounds", "turns"))
    return {
        # Runs of earlier versions called the distributions laws.
        "distributions" if phase == "laws" else phase: sum(record["seconds"][phase] for record in records)
        / max(1, turns if phase == "prefill" else rounds)
        for phase in records[0]["seconds"]
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
