"""`univer audit`: is every method lossless, how far is it from the bound, and does the audit catch what is wrong."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from univer.audit import Report, Row

__all__ = ["audit"]

COLUMNS = (
    *("method", "order", "exact", "cases", "trees", "error f64", "error f32", "accepted", "bound", "gap", "at bound"),
    *("grid error", "edge faults", "p-value", "grown error"),
)
LEGEND = """
error f64, error f32: largest error of the probability of any output of two rounds, in each precision.
accepted, bound, gap: mean expected accepted length, the most that any lossless rule could reach, and the difference.
at bound: cases without a gap, of those with a bound.
grid error: largest error of the verdicts over a grid of random numbers that covers all of [0, 1).
edge faults: verdicts that differ at the edge of a grid cell; finds <= in place of <.
p-value: smallest p-value of counted verdicts over larger vocabularies; grown error: as error f64, over trees that grow.
"""


def audit(
    method: Annotated[
        list[str] | None, typer.Argument(help="Methods to audit. [default: all, and the broken twins]")
    ] = None,
    cases: Annotated[
        int | None, typer.Option(min=1, help="Small models per method. [default: 48, or 8 with --quick]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for models, draws and uniforms.")] = 0,
    quick: Annotated[bool, typer.Option(help="Fewer cases and counts, for continuous integration.")] = False,
    dtype: Annotated[
        list[str] | None, typer.Option(help="float64 or float32; may be given twice. [default: both]")
    ] = None,
    function: Annotated[
        str | None, typer.Option(help="Audit a rule from outside the package, named as package.module:function.")
    ] = None,
    draft_law: Annotated[
        str | None,
        typer.Option(
            help="With --function: how the children of its trees are drawn, such as iid or swor. "
            "[default: the function's attribute draft_law, or greedy]"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="New folder for accepted lengths and bounds of every case, which 'univer report' shows."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object instead of tables.")] = False,
) -> int:
    """Audit verification methods by exact enumeration of small models; exit status 1 if anything is wrong.

    --function takes def function(tree, target_laws), which returns outcome rows [N, V];

    or a sampler, def function(tree, target_laws, uniforms), which returns the kept path and the next token.
    """
    from univer.audit import audit as run_audit
    from univer.audit import audit_function, load_function
    from univer.cli.terminal import progress

    # Bad input is found before the work.
    if output is not None and function is not None:
        raise ValueError("--output does not go with --function: the bound belongs to the methods of the package")
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"{output} exists already: choose a new folder")
    if method and len(set(method)) < len(method):
        raise ValueError("a method is named twice")
    if function is not None and method:
        raise ValueError("give methods or --function, not both")
    if function is not None and dtype:
        raise ValueError("--dtype does not go with --function: distributions are compared in both precisions")
    if function is None and draft_law is not None:
        raise ValueError("--draft-law belongs to --function: a method has a sampling scheme of its own")

    # A log would get lines for every case: the bar is for those who watch.
    with progress(quiet=as_json or not sys.stderr.isatty()) as show:
        if function is not None:
            number = cases or (8 if quick else 48)
            report = audit_function(load_function(function), function, draft_law, number, seed, progress=show)
        else:
            dtypes = dtype or ("float64", "float32")
            report = run_audit(method or None, cases=cases, seed=seed, quick=quick, dtypes=dtypes, progress=show)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    else:
        _print(report)
    if output is not None:
        settings = {"methods": method, "cases": cases, "seed": seed, "quick": quick, "dtypes": dtype}
        _keep(report, output, settings)
    return 0 if report.ok else 1


def _keep(report: "Report", output: Path, settings: dict[str, Any]) -> None:
    """Write accepted lengths and bounds as records of a run; a case stands for a prompt."""
    from univer.bench.folder import RunFolder
    from univer.bench.summary import summarise

    folder = RunFolder.open(output, "audit", settings)
    for length in report.lengths:
        record = {
            "source": "audit",
            "prompt": length.case,
            "group": f"{length.draft_law} trees",
            "draft": "enumerated",
            "tree": "small trees",
            "method": length.method,
            "temperature": 1.0,
            "nodes": length.nodes,
            "taus": [1 + length.accepted],
            "bound": 1 + length.bound,
        }
        folder.append(record)
    folder.finish(summarise(folder.records))


def _print(report: "Report") -> None:
    from univer.cli.terminal import print_table

    print_table(COLUMNS, [_cells(row) for row in report.rows])
    typer.echo(LEGEND)
    policies = [
        [
            *(row.policy, row.draft_law, row.rounds),
            *(str(row.trees), str(row.methods), str(row.checks), _scientific(row.error)),
        ]
        for row in report.policies
    ]
    relations = [
        [item.name, str(item.cases), f"{item.worst:.1e}", "yes" if item.holds else "NO"] for item in report.relations
    ]
    twins = [
        [twin.name, twin.check, twin.shows, f"{twin.error:.4f}", "yes" if twin.caught else "NO"]
        for twin in report.twins
    ]
    skipped = [[item.what, ", ".join(item.methods), item.reason] for item in report.skipped]
    for title, columns, rows in (
        (
            "Tree policies: every tree that they can draw, under every exact method and order that takes it",
            ("policy", "sampling", "node budgets", "trees", "methods", "checks", "error f64"),
            policies,
        ),
        ("Relations between methods", ("relation", "cases", "worst", "holds"), relations),
        (
            "Broken twins: wrong variants that the audit must catch",
            ("twin", "check", "the error is", "error", "caught"),
            twins,
        ),
        ("Skipped", ("what", "for", "why"), skipped),
    ):
        if rows:
            typer.echo(title)
            print_table(columns, rows)
            typer.echo()
    for fault in report.faults:
        typer.echo(f"FAULT  {fault}")
    typer.echo(f"{_verdict(report)} ({report.seconds:.0f} s, seed {report.seed})")


def _verdict(report: "Report") -> str:
    """The result in one sentence.

    Args:
        report: The report.
    """
    if not report.ok:
        return f"failed: {len(report.faults)} faults"
    exact = len({row.method for row in report.rows if row.exact})
    lossy = {row.method: None for row in report.rows if not row.exact}
    number = {0: "no method is", 1: "the method is", 2: "both methods are"}.get(exact, f"all {exact} methods are")
    note = f"; declared lossy: {', '.join(lossy)}" if lossy else ""
    return f"passed: {number} exact{note}"


def _cells(row: "Row") -> list[str]:
    return [
        *(
            row.method,
            row.order,
            "lossy" if not row.exact else "NO" if row.faults else "yes",
            str(row.cases),
            str(row.trees),
        ),
        *(_scientific(row.error64), _scientific(row.error32)),
        *(_plain(row.accepted), _plain(row.bound), _plain(row.gap), f"{row.attained}/{row.bounded}"),
        *(_scientific(row.grid), "-" if row.edges is None else str(row.edges), _plain(row.p_value)),
        _scientific(row.growth),
    ]


def _plain(value: float | None) -> str:
    # Adding zero turns a rounded -0.0 into 0.0.
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"


def _scientific(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"
