"""Writes the page of results from the files in `benchmarks/results` while the site is built, so that none is copied.

Result files are JSON as the commands and benchmarks wrote them; a folder there is that of a run, with its manifest and
its summary.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

HEAD = """# Results

Made from the files in `benchmarks/results` when the site was built. Intervals are 95 % paired bootstraps over prompts;
[reading the figures](metrics.md) says what the columns mean.
"""

Figures = dict[str, Any]


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the page."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "results.md", content=page(RESULTS)))
    return files


def on_serve(server: Any, **_: Any) -> None:
    """Make the page again when a result file changes."""
    server.watch(str(RESULTS))


def page(folder: Path) -> str:
    """The page in Markdown: a section for every result file and for every run with a summary.

    Args:
        folder: holds the result files and run folders.

    Raises:
        ValueError: a file of a kind that has no section here.
    """
    runs = sorted(path.parent for path in folder.glob("*/summary.json"))
    sections = [_run(path) for path in runs] + [_file(path) for path in sorted(folder.glob("*.json"))]
    return "\n".join([HEAD, *sections])


def _file(path: Path) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    kinds = {
        "arms": _arms,
        "rows": _comparison,
        "summary": _speed,
        "added_memory": _verification,
        "agreement": lambda content: _agreement(content, content),
    }
    for name, section in kinds.items():
        if name in content:
            return "\n".join([f"## {path.stem}\n", *section(content), ""])
    raise ValueError(f"{path} is no result file that the page of results knows: it has {', '.join(content)}")


def _comparison(content: Figures) -> list[str]:
    """Output of `univer compare`: methods on the same contexts."""
    lines = [f"{_compared(content)}\n"]
    for tree in dict.fromkeys(row["tree"] for row in content["rows"]):
        own = [row for row in content["rows"] if row["tree"] == tree]
        head, rows = ["method", "nodes", "tau", "over RRSw"], []
        for row in own:
            gain = _share(row["gain_over_rrsw"])
            rows.append([row["name"], _number(row["nodes"], 1), _interval(row["tau"]), gain])
        if any(row["paper_gain"] is not None for row in own):
            head.append("paper")
            rows = [[*cells, _percent(row["paper_gain"])] for cells, row in zip(rows, own, strict=True)]
        lines += [f"Tree `{tree}`:\n", *_table(head, rows), ""]
    return lines


def _arms(content: Figures) -> list[str]:
    """Output of `benchmarks/growing_trees.py`: methods with trees of their own."""
    rows = [
        (f"`{arm['arm']}`", _number(arm["nodes"], 1), _interval(arm["tau"]), _share(arm["gain"]) if place else "")
        for place, arm in enumerate(content["arms"])
    ]
    return [f"{_compared(content)}\n", *_table(("method and tree", "nodes", "tau", "over the first row"), rows)]


def _speed(content: Figures) -> list[str]:
    """Output of `benchmarks/generation_speed.py`: tokens per second beside plain decoding."""
    settings = content["settings"]
    others = list(content["summary"][0]["ratios"])
    rows = [
        (
            f"{row['temperature']:g}",
            row["kind"],
            str(row["prompts"]),
            _interval(row["tau"]),
            _number(row["nodes"], 1),
            *(_number(row["rates"][name], 1) for name in ("drafted", *others)),
            *(_interval(row["ratios"][name]) for name in others),
        )
        for row in content["summary"]
    ]
    head = ["temperature", "kind", "prompts", "tau", "nodes", "drafted, tokens/s"]
    head += [f"{name}, tokens/s" for name in others] + [f"drafted : {name}" for name in others]
    made = f"{settings['target']}, {settings['dtype']}, {settings['tokens']} tokens a prompt, seed {settings['seed']}; "
    return [f"{made}{_machine(content['machine'])}.\n", *_table(head, rows)]


def _agreement(manifest: Figures, summary: Figures) -> list[str]:
    """A run of `benchmarks/replay_against_live.py`: what rounds kept beside the exact law at the same places."""
    settings = manifest["settings"]
    rows = [
        (row["method"], str(row["rounds"]), f"{row['live']:.3f}", f"{row['replay']:.3f}", _share(row["difference"]))
        for row in summary["agreement"]
    ]
    # Older runs do not say of how many prompts their rows are.
    of = len(settings["prompts"])
    prompts = _prompts(min((row.get("prompts", of) for row in summary["agreement"]), default=0), of)
    made = (
        f"{settings['target']} with {settings['draft']} as draft, tree `{settings['tree']}`, temperature "
        f"{settings['temperature']:g}, {settings['dtype']}, {prompts} x {settings['texts']} "
        f"texts x {settings['tokens']} tokens, seed {settings['seed']}; {_machine(manifest['machine'])}.\n"
    )
    return [made, *_table(("method", "rounds", "live tau", "replay tau", "live over replay"), rows)]


def _verification(content: Figures) -> list[str]:
    """Output of `benchmarks/verification.py`: what a decision costs, beside the pass of a target if one was given."""
    seconds = {name: median(times) for name, times in content["seconds"].items()}
    head, rows = ["what", "milliseconds"], [[name, f"{1000 * time:.1f}"] for name, time in seconds.items()]
    settings = content["settings"]
    made = f"Medians of {settings['rounds']} rounds, tree {settings['tree']}, vocabulary {settings['vocabulary']}"
    if whole := seconds.get("target pass"):
        head.append("of the target pass")
        rows = [[*cells, f"{time / whole:.2%}"] for cells, time in zip(rows, seconds.values(), strict=True)]
        made += f", {settings['target']}"
    return [f"{made}; {_machine(content['machine'])}.\n", *_table(head, rows)]


def _run(path: Path) -> str:
    """A run folder: what it was run with, and its summary over all prompts and by task group."""
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    summary = json.loads((path / "summary.json").read_text(encoding="utf-8"))
    if "agreement" in summary:
        return "\n".join([f"## {path.name}\n", *_agreement(manifest, summary), ""])
    head = ["draft", "tree", "method", "temperature", "prompts", "nodes", "tau", f"over {summary['reference']}"]
    live = any(row["rate"] is not None for row in summary["rows"])
    head += ["tokens/s", "speed-up"] if live else []
    paper = {(row["tree"], row["temperature"], row["method"]): row["paper"] for row in summary.get("paper", ())}
    head += ["paper"] if paper else []
    machines = [manifest["machine"], *(again["machine"] for again in manifest.get("continued", ()))]
    made = [f"`univer {manifest['kind']}`", " and ".join(dict.fromkeys(map(_machine, machines)))]
    if isinstance(named := manifest["settings"].get("prompts"), list):
        made.insert(1, _prompts(min(row["prompts"] for row in summary["rows"] if row["group"] == "all"), len(named)))
    lines = [f"## {path.name}\n", f"{', '.join(made)}.\n"]
    for group in dict.fromkeys(row["group"] for row in summary["rows"]):
        rows = []
        for row in (row for row in summary["rows"] if row["group"] == group):
            cells = [row["draft"] or "", row["tree"] or "", row["method"], f"{row['temperature']:g}"]
            cells += [str(row["prompts"]), _number(row["nodes"], 1), _interval(row["tau"]), _share(row["gain"])]
            cells += [_number(row["rate"], 1), _interval(row["speedup"])] if live else []
            known = paper.get((row["tree"], row["temperature"], row["method"])) if group == "all" else None
            rows.append(cells + ([_percent(known)] if paper else []))
        lines += [f"{'All prompts' if group == 'all' else f'Group `{group}`'}:\n", *_table(head, rows), ""]
    return "\n".join(lines)


def _compared(content: Figures) -> str:
    """What a comparison was made with, in one sentence."""
    settings = content["settings"]
    prompts = len({record["prompt"] for record in content["records"]})
    return (
        f"{settings['target']} with {settings['draft']} as draft, temperature {settings['temperature']:g}, "
        f"{settings['dtype']}, {prompts} prompts x {settings['places']} contexts x {settings['drafted']} trees, "
        f"exact outcome law, seed {settings['seed']}; {_machine(settings['machine'])}."
    )


def _prompts(seen: int, of: int) -> str:
    """How many prompts figures are over; a run that was interrupted has not seen all of its own."""
    return f"{of} prompts" if seen == of else f"{seen} of {of} prompts so far"


def _machine(machine: Figures) -> str:
    versions = machine["versions"]
    place = machine["accelerator"] or f"{machine['processor']}, {machine['cores']} cores"
    return f"{place}, torch {versions['torch']}, transformers {versions['transformers']}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows)]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.1%}"


def _interval(figure: Figures | None) -> str:
    if figure is None:
        return ""
    ends = f" ({figure['low']:.2f} to {figure['high']:.2f})" if figure["low"] is not None else ""
    return f"{figure['value']:.2f}{ends}"


def _share(figure: Figures | None) -> str:
    if figure is None:
        return ""
    ends = f" ({figure['low']:+.1%} to {figure['high']:+.1%})" if figure["low"] is not None else ""
    return f"{figure['value']:+.1%}{ends}"
