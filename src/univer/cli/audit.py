"""`univer audit`: is every method lossless, how far from the bound, and does the audit catch what is wrong."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from univer.audit import Report, Row

__all__ = ["audit"]

COLUMNS = (
    *("method", "order", "exact", "cases", "trees", "error f64", "error f32", "accepted", "bound", "gap", "attained"),
    *("grid", "edges", "p", "grown"),
)
AGAINST = """Audit somebody else's rule: package.module:function, with

    def function(tree, target_laws): return law  # the outcome law [N, V] of a univer.DraftTree, or

    def function(tree, target_laws, uniforms): return path, next_token  # a sampler"""


def audit(
    method: Annotated[list[str] | None, typer.Argument(help="Methods to audit. [default: all, and the twins]")] = None,
    cases: Annotated[
        int | None, typer.Option(min=1, help="Small models per method. [default: 48, or 8 with --quick]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of models, draws and uniforms.")] = 0,
    quick: Annotated[bool, typer.Option(help="Fewer cases and counts, for continuous integration.")] = False,
    dtype: Annotated[
        list[str] | None, typer.Option(help="float64 or float32; may be given twice. [default: both]")
    ] = None,
    against: Annotated[str | None, typer.Option(help=AGAINST)] = None,
    draft_law: Annotated[
        str | None,
        typer.Option(help="With --against: how trees are drawn. [default: its attribute draft_law, or greedy]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="New folder for accepted lengths and bounds of every case, which 'univer report' shows."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object instead of tables.")] = False,
) -> int:
    """Audit verification methods by exact enumeration of small models; exit status 1 if anything is wrong."""
    from univer.audit import audit as run_audit
    from univer.audit import audit_against, load_function
    from univer.cli.terminal import progress

    # What can be refused is refused before the work.
    if output is not None and against is not None:
        raise ValueError("--output does not go with --against: the bound is that of the project's own methods")
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ValueError(f"{output} exists already: choose a new folder")
    if method and len(set(method)) < len(method):
        raise ValueError("a method is named twice")

    # A log would get lines for every case: the bar is for those who watch.
    with progress(quiet=as_json or not sys.stderr.isatty()) as tell:
        if against is not None:
            if method:
                raise ValueError("give methods or --against, not both")
            if dtype:
                raise ValueError(
                    "--dtype does not go with --against: laws are compared in both, samplers run in float64"
                )
            function = load_function(against)
            number = cases or (8 if quick else 48)
            report = audit_against(function, against, draft_law, number, seed, progress=tell)
        elif draft_law is not None:
            raise ValueError("--draft-law belongs to --against: a method has a draft law of its own")
        else:
            dtypes = dtype or ("float64", "float32")
            report = run_audit(method or None, cases=cases, seed=seed, quick=quick, dtypes=dtypes, progress=tell)
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

    typer.echo(
        "Methods: largest error of the law of two rounds, mean accepted length and bound (over each row's own cases)"
    )
    print_table(COLUMNS, [_cells(row) for row in report.rows])
    if report.policies:
        typer.echo("\nTree policies: every tree that they can draw, under every exact method and order that takes them")
        policies = [
            [
                *(row.policy, row.draft_law, row.rounds),
                *(str(row.trees), str(row.methods), str(row.checks), _scientific(row.error)),
            ]
            for row in report.policies
        ]
        print_table(("policy", "draft law", "budgets", "trees", "methods", "checks", "error f64"), policies)
    if report.relations:
        typer.echo("\nRelations")
        relations = [
            [item.name, str(item.cases), f"{item.worst:.1e}", "yes" if item.holds else "NO"]
            for item in report.relations
        ]
        print_table(("relation", "cases", "worst", "holds"), relations)
    if report.twins:
        typer.echo("\nBroken twins, each of which must be caught")
        twins = [
            [twin.name, twin.check, twin.shows, f"{twin.error:.4f}", "yes" if twin.caught else "NO"]
            for twin in report.twins
        ]
        print_table(("twin", "check", "error is", "error", "caught"), twins)
    if report.skipped:
        typer.echo("\nSkipped")
        print_table(
            ("what", "for", "why"), [[item.what, ", ".join(item.methods), item.reason] for item in report.skipped]
        )
    for fault in report.faults:
        typer.echo(f"FAULT  {fault}")
    lossy = [row.method for row in report.rows if not row.exact]
    note = f"; lossy by their own account: {', '.join(dict.fromkeys(lossy))}" if lossy else ""
    exact = len({row.method for row in report.rows if row.exact and not row.faults})
    verdict = "as it must be" if report.ok else f"{len(report.faults)} faults"
    typer.echo(f"\n{exact} exact methods{note}; {verdict} ({report.seconds:.0f} s, seed {report.seed})")


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
