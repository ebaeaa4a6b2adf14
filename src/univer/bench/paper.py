"""Figures of arXiv 2605.04543, for comparison with ours."""

from __future__ import annotations

from typing import Any

PAPER = "Weng, Hu, Yairi, UniVer, arXiv 2605.04543"
# Relative gains in acceptance length over RRSw, all task groups together: by tree, temperature and method.
GAINS = {
    ("2x5", 1.0): {"traversal": 0.023, "greedy": 0.049, "univer": 0.075},
}
# UniVer's gains over RRSw across the paper's models, tasks and trees, as its abstract sums them up.
UNIVER_GAINS = (0.042, 0.085)


def paper_gain(tree: str | None, temperature: float, method: str, group: str = "all") -> float | None:
    """The paper's gain in acceptance length over RRSw, where it is known.

    Args:
        tree: tree by name.
        temperature: of the target.
        method: method by name.
        group: task group; figures are known for all groups together.

    Example:
        >>> paper_gain("2x5", 1.0, "univer"), paper_gain("3x3", 1.0, "univer")
        (0.075, None)
    """
    if tree is None or group != "all":
        return None
    return GAINS.get((tree, float(temperature)), {}).get(method)


def beside_paper(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of a summary for which the paper has a figure, with the difference.

    Args:
        summary: of `summarise`.

    Returns:
        Per row `method`, `tree`, `temperature`, `gain` (ours, with its interval), `paper` and `difference`, all
        relative gains over RRSw.

    Example:
        >>> row = {"group": "all", "tree": "2x5", "temperature": 1.0, "method": "univer", "gain": {"value": 0.1}}
        >>> beside_paper({"rows": [row]})[0]["difference"]
        0.025...
    """
    found = []
    for row in summary["rows"]:
        paper = paper_gain(row["tree"], row["temperature"], row["method"], row["group"])
        if paper is not None and row["gain"] is not None:
            figures = {name: row[name] for name in ("method", "tree", "temperature", "gain")}
            found.append(figures | {"paper": paper, "difference": row["gain"]["value"] - paper})
    return found
