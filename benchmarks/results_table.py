"""Write the table of README.md from result files, so that no figure there lacks the run behind it.

    python benchmarks/results_table.py benchmarks/results/compare-*.json

Every file is the output of `univer compare --output`. With `--check` nothing is written; the exit status tells whether
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
SHOWN = ("membership", "block", "spectr", "rrsw", "traversal", "greedy", "univer", "univer (gain)")


def table(runs: list[dict[str, Any]]) -> str:
    """A Markdown table, one line per method and one pair of columns per run, and a line that says how it was made."""
    trees = [run["rows"][0]["tree"] for run in runs]
    rows = [{row["name"]: row for row in run["rows"]} for run in runs]
    lines = ["| method |" + "".join(f" tau, {tree} | over RRSw | paper |" for tree in trees)]
    lines.append("|---|" + "---|---|---|" * len(runs))
    for name in SHOWN:
        cells = [name]
        for own in rows:
            row = own[name]
            gain, paper = row["gain_over_rrsw"], row["paper_gain"]
            cells.append(f"{row['tau']['value']:.2f}")
            cells.append(f"{gain['value']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%})" if gain else "")
            cells.append(f"{paper:+.1%}" if paper is not None else "")
        lines.append("| " + " | ".join(cells) + " |")
    settings = runs[0]["settings"]
    versions = settings["machine"]["versions"]
    prompts = len({record["prompt"] for record in runs[0]["records"]})
    lines += [
        "",
        f"Tokens per target pass of {settings['target']} with {settings['draft']} as draft, temperature "
        f"{settings['temperature']:g}, {settings['dtype']}, {prompts} prompts of six kinds x {settings['places']} "
        f"contexts x {settings['drafted']} trees, from the exact outcome law; 95 % intervals by the paired bootstrap "
        "over prompts. Chain methods draft a chain as deep as the tree. "
        f"Seed {settings['seed']}, torch {versions['torch']}, transformers {versions['transformers']}, "
        f"{settings['machine']['processor']}, {settings['machine']['cores']} cores. Raw figures are in "
        "`benchmarks/results/`; made by `univer compare` and `benchmarks/results_table.py`. The paper's column (arXiv "
        "2605.04543) was measured with other models.",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="only tell whether the table is up to date")
    args = parser.parse_args()
    made = table([json.loads(path.read_text(encoding="utf-8")) for path in args.runs])
    text = README.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    new = f"{head}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}"
    if args.check:
        return int(new != text)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
