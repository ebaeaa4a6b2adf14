"""Long names: whole on the page, short in plots, and never two the same."""

import re
from html import unescape
from pathlib import Path

from bench.report.made_up import replay_records, write_run
from univer.bench.report import Run, Selection, load_runs, write_report
from univer.bench.report.names import LONGEST, short_names
from univer.bench.report.view import views

START, END = "[-1, 0, 0, 0, 0, 1, 1", "3, 3, 4, 4, 5, 5, 6]"
TREES = tuple(f"{START}, {middle}, {END}" for middle in ("1, 2", "2, 2", "2, 1"))


def long_runs(folder: Path) -> list[Run]:
    """Two runs whose folders and trees have long names that differ in the middle; their three trees differ in depth."""
    records = replay_records(per_group=1, methods=("rrsw", "univer"), temperatures=(1.0,))
    deepest = [record for record in records if record["tree"] == "2x5"]
    records = [record | {"tree": TREES[record["tree"] == "3x3"]} for record in records]
    records += [record | {"tree": TREES[2], "survival": record["survival"][:4]} for record in deepest]
    places = [folder / f"a-benchmark-of-everything-{machine}-with-the-same-settings" for machine in ("left", "right")]
    for place in places:
        write_run(place, "replay", records)
    return load_runs(places)


def test_short_forms_differ_wherever_names_do() -> None:
    long = "a" * 40
    names = [*TREES, "2x5", long, f"{long}b{long}", f"{long}c{long}", f"{long}{long}", f"{'a' * 16}…{'a' * 16}"]
    names += [f"{long}{middle}{long}" for middle in ("d" * 30, "d" * 29 + "e", "d" * 10 + "e" + "d" * 19)]
    short = short_names(names)
    assert sorted(short) == sorted(names)
    assert len(set(short.values())) == len(names)
    assert all(short[name] == name for name in names if len(name) <= LONGEST)
    assert max(len(short[tree]) for tree in TREES) <= LONGEST
    assert "1, 1, 2" in short[TREES[0]]
    assert "1, 2, 2" in short[TREES[1]]
    assert "1, 2, 1" in short[TREES[2]]


def test_a_name_that_would_have_no_form_of_its_own_stays_whole() -> None:
    names = ["x" * length for length in (40, 60, 61, 80)]
    short = short_names(names)
    assert len(set(short.values())) == len(names)
    assert all(own == name or len(own) <= LONGEST for name, own in short.items())


def test_titles_of_plots_are_abridged_by_names(tmp_path: Path) -> None:
    first, second = views(long_runs(tmp_path), Selection())
    titles = [view.abridged(view.title(tree)) for view in (first, second) for tree in view.trees]
    assert len(set(titles)) == len(titles) == 6
    assert all(len(title) < 3 * LONGEST for title in titles)
    assert first.abridged("rrsw on 2x5") == "rrsw on 2x5"


def test_headings_and_tables_have_whole_names_and_plots_short_ones(tmp_path: Path) -> None:
    runs = long_runs(tmp_path)
    content = write_report(runs, tmp_path / "report.html").page.read_text(encoding="utf-8")
    headings = re.findall(r'<th scope="rowgroup"[^>]*>(.*?)</th>', content)
    assert set(headings) == {f"tree {tree}" for tree in TREES}
    captions = [unescape(text) for text in re.findall(r"<(?:caption|figcaption)>(.*?)</", content)]
    assert len(set(captions)) == len(captions)
    assert all(any(run.name in caption for run in runs) for caption in captions)
    drawn = set(re.findall(r"<text[^>]*>(.*?)</text>", content))
    short = short_names([*TREES, *(run.name for run in runs)])
    assert {short[tree] for tree in TREES} <= drawn
    assert not drawn & set(TREES)
