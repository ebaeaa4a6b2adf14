"""What stands in a page, and what is written beside it."""

import json
import re
import struct
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from bench.report.made_up import live_records, replay_records, write_run
from univer.bench.folder import MANIFEST
from univer.bench.report import Report, Run, Selection, load_runs, looks, write_report
from univer.bench.report.chapters import CHAPTERS
from univer.bench.report.view import View, views

EVIL = "</b><script>alert(1)</script>"
WORSE = '</title><script>alert(1)</script> & $x_1$ "quoted" \'single\' {{ 7 * 7 }} url(#a) id="b" #d1410c ' * 3


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(report.page)


def chapters(run: Run) -> dict[str, int]:
    """Numbers of panels of a report of one run."""
    (view,) = views([run], Selection())
    plots = {name: [plot for plot in draw([view]) if plot.canvas] for name, draw in CHAPTERS.items()}
    return {name: len(drawn) for name, drawn in plots.items() if drawn}


def test_everything_is_there(page: Page, report: Report) -> None:
    headings = [attributes.get("id") for attributes in page.all("h2")]
    assert headings == ["results", "groups", *CHAPTERS, "others", "made"]
    text = " ".join(" ".join(page.text).split())
    for said in (
        "made-up-target with made-up-draft",
        "6 prompts of 6 task groups",
        "Paired bootstrap over prompts",
        "seed",
    ):
        assert said in text
    assert page.all("html")[0]["lang"] == "en"
    assert report.sentence.replace("\u202f", " ") in text


def test_no_heading_level_is_left_out(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_plot_has_words_and_every_table_headings(page: Page) -> None:
    drawings = [attributes for attributes in page.all("svg") if attributes.get("class") != "key"]
    assert len(drawings) == len(page.all("figure")) > 10
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert "UniVer (gain)" in (drawing["aria-label"] or "")
    assert len(page.all("caption")) == len(page.all("table")) == len(page.all("thead")) > 4
    assert all(attributes["scope"] in ("col", "row", "rowgroup") for attributes in page.all("th"))


def test_nothing_is_loaded_and_no_id_is_used_twice(page: Page) -> None:
    for _, attributes in page.elements:
        for name, value in attributes.items():
            if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                assert (value or "").startswith(("#", "data:")), (name, value)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {value for _, attributes in page.elements for name, value in attributes.items() if name == "xlink:href"}
    assert targets
    assert {str(target)[1:] for target in targets} <= set(ids)


def test_drawings_take_their_colours_from_the_page(report: Report) -> None:
    content = report.page.read_text(encoding="utf-8")
    drawings = "".join(re.findall(r'<svg [^>]*role="img".*?</svg>', content, flags=re.DOTALL))
    assert f"var({looks.variable(looks.look('univer').colour)})" in drawings
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawings)) <= {"#000000"}


def test_images_lie_beside_the_page(report: Report) -> None:
    assert len(report.images) == len(set(report.images)) > 10
    for image in report.images:
        content = image.read_bytes()
        width, height = struct.unpack(">II", content[16:24])
        assert image.parent == report.page.parent
        assert image.name.startswith("report-")
        assert content.startswith(b"\x89PNG")
        assert width > height > 200


def test_there_are_only_plots_with_data(tmp_path: Path, live_folder: Path) -> None:
    assert chapters(load_runs([live_folder])[0]) == {"acceptance": 1, "survival": 2, "speed": 1, "phases": 1}
    few = replay_records(per_group=1, methods=("univer",), trees=("2x5", "3x3"), temperatures=(1.0,))
    write_run(tmp_path / "replay", "replay", few)
    assert chapters(load_runs([tmp_path / "replay"])[0]) == {"survival": 4}
    plain = live_records(per_group=1, methods=())
    write_run(tmp_path / "plain", "spec-bench", plain)
    assert chapters(load_runs([tmp_path / "plain"])[0]) == {}
    made = write_report(load_runs([tmp_path / "plain"]), tmp_path / "plain.html")
    assert made.images == []
    assert made.sentence.startswith("Plain decoding generates ")


def test_names_in_records_are_text(tmp_path: Path) -> None:
    (record, *_) = replay_records(per_group=1)
    records = [
        record | {"method": "plain $x_1$ & co", "prompt": EVIL, "group": EVIL},
        record | {"method": EVIL, "tree": EVIL, "draft": EVIL, "group": WORSE},
        record | {"method": WORSE, "tree": WORSE, "draft": EVIL},
        record | {"method": "漢字 \U0001f600", "tree": WORSE, "draft": EVIL},
        record | {"method": "_hidden", "tree": "single", "draft": EVIL},
    ]
    records = [record | {"prompt": f"{record['prompt']} {number}"} for record in records for number in range(6)]
    write_run(tmp_path / "run", "replay", records, **{WORSE: WORSE, "target": WORSE})
    made = write_report(load_runs([tmp_path / "run"]), tmp_path / "evil.html", Selection(method=EVIL))
    page = Page(made.page)
    assert len(page.all("script")) == len(page.all("title")) == len(page.all("b")) + 1 == 1
    texts = {text.strip() for text in page.text}
    assert {EVIL, "plain $x_1$ & co", "漢字 \U0001f600"} <= texts
    assert page.text.count("_hidden") > 4, "in plots as well as in the tables"
    assert made.sentence.startswith(f"{EVIL} on the tree {EVIL} gets ")
    assert any(WORSE[:100] in text for text in texts)
    assert any(EVIL in (drawing.get("aria-label") or "") for drawing in page.all("svg"))


def test_one_prompt_has_no_intervals(tmp_path: Path) -> None:
    records = live_records(per_group=1, methods=("rrsw", "univer"), trees=("3x3",))
    records = [record for record in records if record["prompt"] == "qa-3"]
    write_run(tmp_path / "run", "spec-bench", records)
    made = write_report(load_runs([tmp_path / "run"]), tmp_path / "one.html")
    assert made.sentence.startswith("UniVer on the tree 3x3 gets ")
    assert made.sentence.endswith(" out of a target pass (1 prompt; an interval needs at least 6).")
    assert made.images == []


def test_methods_stand_in_one_order_and_the_chosen_one_ordered(replay_folder: Path) -> None:
    view: View
    (view,) = views(load_runs([replay_folder]), Selection(method="traversal"))
    labels = [row["method"] for row in view.of("made-up-draft", "2x5", 1.0)]
    assert labels == ["rrsw", "traversal", "spectr-lifted", "greedy", "univer", "univer (gain)", "membership"]
    assert [label for label in labels if view.look(label).main] == ["traversal"]


def test_an_earlier_report_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "replay", replay_records(1, ("univer",), ("3x3",), (1.0,)))
    runs = load_runs([tmp_path / "run"])
    first = write_report(runs, tmp_path / "sub" / "page.html").page.read_text(encoding="utf-8")
    assert write_report(runs, tmp_path / "sub" / "page.html").page.read_text(encoding="utf-8") == first
    (tmp_path / "own.html").write_text("<p>mine</p>")
    with pytest.raises(ValueError, match="exists already and is not a report"):
        write_report(runs, tmp_path / "own.html")
    assert (tmp_path / "own.html").read_text() == "<p>mine</p>"
    with pytest.raises(ValueError, match="is a folder"):
        write_report(runs, tmp_path)
    with pytest.raises(ValueError, match="at least one run"):
        write_report([], tmp_path / "none.html")


def test_plots_that_a_report_has_no_more_are_taken_away(tmp_path: Path) -> None:
    for name, records in (("live", live_records()), ("few", replay_records())):
        write_run(tmp_path / name, "replay", records)
    page = tmp_path / "page.html"
    first = write_report(load_runs([tmp_path / "live"]), page).images
    other = write_report(load_runs([tmp_path / "live"]), tmp_path / "page-speed.html").images
    mine = tmp_path / "page-mine.png"
    mine.write_bytes(first[0].read_bytes())
    second = write_report(load_runs([tmp_path / "few"]), page).images
    assert set(first) - set(second)
    kept = {*second, *other, mine}
    assert set(tmp_path.glob("*.png")) == kept


def test_an_image_that_is_not_of_a_report_is_left_as_it_is(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "replay", replay_records(1, ("univer",), ("3x3",), (1.0,)))
    runs = load_runs([tmp_path / "run"])
    made = write_report(runs, tmp_path / "first" / "page.html")
    last = made.images[-1].name
    drawing = Figure(figsize=(1, 1))
    for mine in ("own", "broken", "folder"):
        (tmp_path / mine).mkdir()
        place = tmp_path / mine / last
        if mine == "own":
            drawing.savefig(place)
        elif mine == "broken":
            place.write_bytes(made.images[-1].read_bytes()[:20])
        else:
            place.mkdir()
        with pytest.raises(ValueError, match=f"{last} exists already and is not a plot of a report"):
            write_report(runs, tmp_path / mine / "page.html")
        assert list((tmp_path / mine).iterdir()) == [place], mine
    assert write_report(runs, tmp_path / "first" / "page.html").images == made.images


def test_the_page_says_where_a_run_went_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_run(folder, "replay", replay_records(per_group=1, temperatures=(1.0,)))
    manifest = json.loads((folder / MANIFEST).read_text())
    went_on = {"machine": {"processor": "Other Processor"}, "commit": "c0ffee", "started": None, "records": 17}
    (folder / MANIFEST).write_text(json.dumps(manifest | {"continued": [went_on]}))
    page = Page(write_report(load_runs([folder]), tmp_path / "report.html").page)
    assert "after 17 records with c0ffee, Other Processor" in " ".join(page.text)
