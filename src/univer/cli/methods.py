"""`univer methods`: the verification methods."""

from univer.cli.options import AsJson

__all__ = ["methods"]

COLUMNS = ("name", "description", "sampling", "coupling", "exact", "paper")
RECOMMENDED = "univer"
LEGEND = """
sampling: how the children of a node are drawn by default: chain (one child), iid (independent draws), swor (without
replacement), fixed (the most likely tokens), greedy (fixed children and one sampled child), mixed (fixed children and
several sampled ones). Any other tree whose children fit the method works too.
coupling: stepwise (verified level by level) or lifted (verified as a whole with prefix scales: keeps more tokens).
exact: whether the output follows the target distribution."""


def methods(*, as_json: AsJson = False) -> None:
    """List the verification methods: the built-in ones and those of installed packages."""
    from univer.cli.terminal import print_json, print_lines, print_table
    from univer.methods import Method, listed

    # A stable sort: the recommended method first, the others in the order of the registry.
    found = sorted(listed(), key=lambda method: method.name != RECOMMENDED)
    rows: list[dict[str, str | bool]] = [
        {
            "name": method.name,
            "title": method.title,
            "description": method.description,
            "draft_law": method.draft_law,
            "rule": type(method.rule).__name__ if isinstance(method, Method) else method.rule,
            "coupling": method.coupling.name if isinstance(method, Method) else method.coupling,
            "exact": not isinstance(method, Method) or method.exact,
            "paper": method.paper,
        }
        for method in found
    ]
    if as_json:
        print_json(rows)
        return
    shown = ("name", "description", "draft_law", "coupling", "exact", "paper")
    print_table(COLUMNS, [[_cell(row[key]) for key in shown] for row in rows])
    print_lines(LEGEND)


def _cell(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"
