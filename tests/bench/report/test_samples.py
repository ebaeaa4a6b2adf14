"""How sure a report is of its figures: intervals, sample sizes, and what is left out without them."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

import univer.bench.report
from bench.report.made_up import live_records, replay_records, write_run
from univer.bench.report import load_runs, write_report
from univer.bench.report.chapters import survival
from univer.bench.report.focus import Selection
from univer.bench.report.runs import Row, Run
from univer.bench.report.tables import Table, method_table, position_tables
from univer.bench.report.view import View, views


def run_of(folder: Path, records: list[dict[str, Any]]) -> Run:
    write_run(folder / "run", "replay", records)
    return load_runs([folder / "run"])[0]


def view_of(folder: Path, records: list[dict[str, Any]]) -> View:
    return views([run_of(folder, records)], Selection())[0]


def row_of(run: Run, method: str) -> Row:
    return next(row for row in run.overall if row["method"] == method)


def cells_of(table: Table, method: str) -> list[str]:
    """What the cells of a method say, with their small print."""
    [cells] = [cells for _, lines in table.blocks for name, _, cells in lines if name == method]
    return [f"{cell.text} {cell.small}".strip() for cell in cells]


def prompts(records: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(record["prompt"] for record in records))


def test_found_27_an_unfinished_run_has_no_gain_and_its_sample_sizes(tmp_path: Path) -> None:
    records = replay_records(1, ("rrsw", "univer"), ("3x3",), (1.0,))
    first = prompts(records)[:4]
    records = [record for record in records if record["prompt"] in first]
    records = [record for record in records if (record["prompt"], record["method"]) != (first[3], "rrsw")]
    view = view_of(tmp_path, records)
    assert row_of(view.run, "univer")["gain"] is None
    table = method_table(view, 1.0)
    assert list(table.columns) == ["method", "nodes", "τ", "95 % interval"]
    assert [cells_of(table, method)[-1] for method in ("RRSw", "UniVer")] == ["(3)", "(4)"]
    made = write_report([view.run], tmp_path / "report.html")
    assert made.sentence.endswith(" tokens out of a target pass (4 prompts; an interval needs at least 6).")
    page = made.page.read_text(encoding="utf-8")
    assert "than RRSw" not in page
    assert "the run is not finished" in page
    assert "4 prompts of 4 task groups" in made.about
    assert made.images == []


def test_found_27_a_gain_has_the_number_of_prompts_that_both_methods_have(tmp_path: Path) -> None:
    records = replay_records(2, ("rrsw", "univer"), ("3x3",), (1.0,))
    missing = prompts(records)[8:]
    records = [record for record in records if record["method"] == "univer" or record["prompt"] not in missing]
    view = view_of(tmp_path, records)
    assert row_of(view.run, "univer")["gain"]["prompts"] == 8
    cells = cells_of(method_table(view, 1.0), "UniVer")
    assert cells[2].endswith("(12)")
    assert cells[4].endswith("(8)")
    sentence = write_report([view.run], tmp_path / "report.html").sentence
    assert sentence.endswith(", 8 prompts).")


def test_found_27_acceptance_by_position_has_its_sample_size(tmp_path: Path) -> None:
    records = live_records(2, ("rrsw", "univer"), ("2x5",))
    few = prompts(records)[:2]
    for record in records:
        if record["method"] == "univer":
            kept = [0.75, 0.5, 0.25]
            record["survival"] = [*kept, 0.125, 0.125] if record["prompt"] in few else [*kept, 0.0, 0.0]
    view = view_of(tmp_path, records)
    last = row_of(view.run, "univer")["conditional"][4]
    assert last == {"value": 1.0, "low": None, "high": None, "prompts": 2}
    at_all, given_the_one_before = position_tables(view)
    assert cells_of(given_the_one_before, "UniVer")[4] == "1.00 (2)"
    assert cells_of(given_the_one_before, "UniVer")[3].endswith("(12)")
    assert cells_of(at_all, "UniVer")[4].endswith("(12)")
    plot = survival([view])[1]
    assert plot.canvas is not None
    curves = {line.get_label(): line.get_xdata() for line in plot.canvas.axes[0].get_lines()}
    assert [*curves["UniVer"]] == [1, 2, 3, 4], "the point of two prompts is left out"
    assert [*curves["RRSw"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("records", "left_out"),
    [
        (replay_records(1, ("rrsw", "univer"), ("3x3",), (1.0,)), "3x3, temperature 1, 6 prompts."),
        (
            replay_records(1, ("rrsw", "univer"), ("2x5", "3x3"), (1.0,)),
            "acceptance length, temperature 1, 6 prompts; gain over RRSw, temperature 1, 6 prompts.",
        ),
        (
            replay_records(1, ("rrsw", "univer"), ("3x3",), (0.6, 1.0)),
            "acceptance length, 3x3, 6 prompts; gain over RRSw, 3x3, 6 prompts.",
        ),
    ],
    ids=["acceptance", "depth", "temperature"],
)
def test_found_27_plots_with_few_points_are_left_out_with_a_line(
    records: list[dict[str, Any]], left_out: str, tmp_path: Path
) -> None:
    made = write_report([run_of(tmp_path, records)], tmp_path / "report.html")
    text = " ".join(made.page.read_text(encoding="utf-8").split())
    assert f"Left out, with fewer than 3 points that are over at least 6 prompts: {left_out}" in text
    assert {image.name.split("-")[1] for image in made.images} == {"survival"}


def test_found_27_every_plot_states_its_sample_size(tmp_path: Path) -> None:
    view = view_of(tmp_path, live_records(1))
    made = write_report([view.run], tmp_path / "report.html")
    captions = made.page.read_text(encoding="utf-8").split("<figcaption>")[1:]
    assert len(captions) == len(made.images)
    assert all(" 6 prompts" in caption.partition("<")[0] for caption in captions)


def test_found_27_tokens_per_second_have_an_interval(tmp_path: Path) -> None:
    row = row_of(run_of(tmp_path, live_records(1)), "univer")
    assert row["rate"]["low"] < row["rate"]["value"] < row["rate"]["high"]
    assert row["rate"]["prompts"] == 6


def test_found_25_a_report_imports_only_what_its_extra_installs() -> None:
    imported = set()
    for file in Path(univer.bench.report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module))
            elif isinstance(node, ast.Import):
                imported.update(name.name for name in node.names)
    packages = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    # Jinja cannot be installed without markupsafe.
    assert packages == {"univer", "matplotlib", "jinja2", "markupsafe"}
