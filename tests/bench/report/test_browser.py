"""The page in a real browser, without a network."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from univer.bench.report import Report

# As root a browser cannot have its own sandbox; the rest keeps it from asking for updates.
FLAGS = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs a browser (apt-get install chromium)")
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)
    with driver.sync_playwright() as play:
        started = play.chromium.launch(executable_path=found, args=flags)
        yield started
        started.close()


def opened(browser: Any, page: Path, width: int, height: int, scheme: str) -> tuple[Any, list[str]]:
    """A page in a window of its own, without a network, and what went wrong in it."""
    window = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
    view, wrong = window.new_page(), []
    view.on("console", lambda message: wrong.append(message.text))
    view.on("pageerror", lambda error: wrong.append(str(error)))
    view.on("requestfailed", lambda request: wrong.append(request.url))
    view.on("request", lambda request: request.url == page.as_uri() or wrong.append(request.url[:80]))
    view.goto(page.as_uri())
    return view, wrong


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_errors_and_fits(browser: Any, report: Report, width: int, height: int, scheme: str) -> None:
    view, wrong = opened(browser, report.page, width, height, scheme)
    box = view.locator("h1").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height / 2
    assert view.locator("h1").inner_text() == report.sentence
    table = view.locator("table").first.bounding_box()
    assert table["y"] + 150 < height, "the table begins on the first screen"
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    light = view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 254)"
    assert light == (scheme == "light")
    assert wrong == []
    view.context.close()


def test_tables_are_sorted_on_demand(browser: Any, report: Report) -> None:
    view, wrong = opened(browser, report.page, 1280, 720, "light")
    table = view.locator("table").first
    body = table.locator("tbody").nth(1)
    names = "rows => rows.map(row => row.textContent.trim())"
    before = body.locator("th[scope=row]").evaluate_all(names)
    table.get_by_role("button", name="τ", exact=True).click()
    values = [float(text) for text in body.locator("td:nth-child(3)").evaluate_all(names)]
    assert values == sorted(values, reverse=True)
    assert table.locator("th[aria-sort=descending]").inner_text().startswith("τ")
    table.get_by_role("button", name="method").click()
    after = body.locator("th[scope=row]").evaluate_all(names)
    assert sorted(after) == sorted(before)
    assert body.locator("tr").first.inner_text().startswith("tree")
    assert wrong == []
    view.context.close()


def test_it_is_printed_in_dark_ink(browser: Any, report: Report) -> None:
    view, wrong = opened(browser, report.page, 1280, 720, "dark")
    view.emulate_media(media="print", color_scheme="dark")
    assert view.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert view.pdf(format="A4").startswith(b"%PDF")
    assert wrong == []
    view.context.close()
