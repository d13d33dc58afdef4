"""Benchmarks of the report page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser
from tests.browser import chromium

from benchmarks.claims import Claim
from benchmarks.report import _played as played
from corepath.report.page import page
from corepath.report.results import Results

_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SEARCH = """async () => {
    const begin = performance.now();
    filters.elements.text.value = "amount";
    filtersChanged();
    await readCalls();
    const first = performance.now();
    filters.elements.text.value = "amount 5";
    filtersChanged();
    return [first - begin, performance.now() - first];
}"""


def paints() -> Iterator[Claim]:
    """Time to the first paint of the page of a thousand episodes, and to search in their calls."""
    with TemporaryDirectory() as name, chromium() as browser:
        results = played(Path(name) / "run")
        file = Path(name) / "page.html"
        file.write_text(page(Results(tuple(islice(results.results, 1000)), results.scoring)), encoding="utf-8")
        found = [_open(browser, file) for _ in range(5)]
        paint, ready, first, again = (median(times) for times in zip(*found, strict=True))
        measured = f"painted after {paint:.0f} ms, ready after {ready:.0f} ms"
        yield Claim("the page of a thousand episodes is painted in under a second", measured, paint < 1000)
        yield Claim("the first search in the calls takes under a second", f"{first:.0f} ms", first < 1000)
        yield Claim("each further search takes under 200 ms", f"{again:.0f} ms", again < 200)


def _open(browser: Browser, file: Path) -> tuple[float, float, float, float]:
    """Open the page and search in it. Return when it was painted and ready, and how long two searches took, in ms."""
    shown = browser.new_page(viewport={"width": 1280, "height": 800})
    shown.goto(file.as_uri())
    shown.wait_for_selector("html[data-ready]")
    ready = shown.evaluate("performance.now()")
    shown.wait_for_timeout(200)
    paint = shown.evaluate(_PAINTED)
    first, again = shown.evaluate(_SEARCH)
    shown.close()
    return paint, ready, first, again
