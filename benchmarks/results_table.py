"""Write the table of README.md from run folders, so that no figure there lacks the run behind it.

    python benchmarks/results_table.py benchmarks/results/main-table-*

Every folder is one of `univer reproduce main-table`. With `--check` nothing is written; the exit status tells whether
the table is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"

Run = tuple[dict[str, Any], dict[str, Any]]


def table(runs: list[Run]) -> str:
    """A Markdown table, one line per method and tree and a pair of columns per run, and how it was made.

    Args:
        runs: of each run its manifest and its summary. Cells of a row that a run lacks stay empty.
    """
    targets = [manifest["settings"]["target"] for manifest, _ in runs]
    rows = [
        {(row["tree"], row["method"]): row for row in summary["rows"] if row["group"] == "all"} for _, summary in runs
    ]
    papers = {(row["tree"], row["method"]): row["paper"] for _, summary in runs for row in summary["paper"]}
    lines = ["| method | tree |" + "".join(f" tau, {target} | over RRSw |" for target in targets) + " paper |"]
    lines.append("|---|---|" + "---|---|" * len(runs) + "---|")
    for cell in dict.fromkeys(cell for own in rows for cell in own):
        tree, method = cell
        cells = [method, f"`{tree}`"]
        for own in rows:
            row = own.get(cell)
            cells += [f"{row['tau']['value']:.2f}", share(row["gain"])] if row else ["", ""]
        cells.append(f"{papers[cell]:+.1%}" if cell in papers else "")
        lines.append("| " + " | ".join(cells) + " |")
    first = runs[0][0]["settings"]
    experiment = first["experiment"]
    questions = "Spec-Bench" if first["questions"] == "question.jsonl" else first["questions"]
    lines += [
        "",
        f"Tokens per target pass, temperature {experiment['temperatures'][0]:g}, on prompts of {questions} "
        f"({experiment['count']} of each task group, drawn by seed {first['seed']}) x {experiment['places']} contexts, "
        "from the exact outcome distribution on drafted trees; 95 % intervals by the paired bootstrap over prompts. "
        "The grown tree is compared with RRSw on the 2x5 tree. "
        + " ".join(made(*run) for run in runs)
        + " Records and manifests are in `benchmarks/results/`, made by `univer reproduce main-table` and "
        "`benchmarks/results_table.py`. The paper's column (arXiv 2605.04543) was measured with other models.",
    ]
    return "\n".join(lines)


def read(path: Path) -> Run:
    """Manifest and summary of a run.

    Raises:
        ValueError: it is not of `univer reproduce main-table`, or has no summary yet.
    """
    try:
        manifest, summary = (
            json.loads((path / name).read_text(encoding="utf-8")) for name in ("manifest.json", "summary.json")
        )
        name = manifest["settings"]["experiment"]["name"]
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is no run of `univer reproduce main-table` with a summary ({type(error).__name__}: {error}); "
            "repeat the command of one that was killed"
        ) from error
    if name != "main-table":
        raise ValueError(f"{path} is a run of the experiment {name!r}, not of 'main-table'")
    return manifest, summary


def check_alike(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Reject runs that one table cannot describe.

    Raises:
        ValueError: they were measured with other prompts, contexts or seeds.
    """
    for name in ("experiment", "questions", "seed", "new_tokens"):
        if first[name] != other[name]:
            raise ValueError(f"the runs differ in {name}: {first[name]} and {other[name]}")


def share(gain: dict[str, Any] | None) -> str:
    """A gain with its interval, which few prompts do not have."""
    if gain is None:
        return ""
    ends = f" ({gain['low']:+.1%} to {gain['high']:+.1%})" if gain["low"] is not None else ""
    return f"{gain['value']:+.1%}{ends}"


def made(manifest: dict[str, Any], summary: dict[str, Any]) -> str:
    """One sentence on what a run was made with, and whether it has seen all of its prompts."""
    settings, machine = manifest["settings"], manifest["machine"]
    machines = [machine, *(again["machine"] for again in manifest.get("continued", ()))]
    seen, of = min(row["prompts"] for row in summary["rows"] if row["group"] == "all"), len(settings["prompts"])
    prompts = f"{of} prompts" if seen == of else f"{seen} of {of} prompts so far"
    places = dict.fromkeys(own["accelerator"] or f"{own['processor']}, {own['cores']} cores" for own in machines)
    versions = machine["versions"]
    return (
        f"{settings['target']}: {prompts}, draft {settings['draft']}, {settings['dtype']}, torch {versions['torch']}, "
        f"transformers {versions['transformers']}, {' and '.join(places)}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="only tell whether the table is up to date")
    args = parser.parse_args()
    try:
        runs = [read(path) for path in args.runs]
        for manifest, _ in runs[1:]:
            check_alike(runs[0][0]["settings"], manifest["settings"])
    except ValueError as error:
        parser.error(str(error))
    made_table = table(runs)
    text = README.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    new = f"{head}{BEGIN}\n{made_table}\n{END}{rest.partition(END)[2]}"
    if args.check:
        return int(new != text)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
