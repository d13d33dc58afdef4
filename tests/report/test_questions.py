"""The four questions that people bring to the page, answered in at most two clicks, by mouse and by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from corepath import load_results
from corepath.episode import exclusion
from corepath.play.built_in import BUILT_IN
from corepath.report.results import Results
from tests.browser import Window, window
from tests.report.test_report import played

MOST_TABS = 600


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All built-in agents."""
    targets = ("farm", "legal/settle_case", "crud/stamped_round")
    return load_results(played(tmp_path_factory.mktemp("questions") / "run", tuple(BUILT_IN), targets))


@pytest.fixture
def shown(browser: Browser, file: Path) -> Iterator[Window]:
    with window(browser, file, viewport={"width": 1280, "height": 900}) as one:
        yield one


@dataclass
class Reader:
    """A reader who follows links by mouse, or by Tab and Enter alone. `clicks` counts the links that were followed."""

    page: Page
    by_keyboard: bool
    clicks: int = 0

    def follow(self, link: Locator) -> None:
        """Follow a link."""
        self.clicks += 1
        if not self.by_keyboard:
            link.click()
            return
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if link.evaluate("one => one === document.activeElement"):
                self.page.keyboard.press("Enter")
                return
        pytest.fail(f"the Tab key does not reach {link} in {MOST_TABS} steps")


@pytest.fixture(params=[False, True], ids=["mouse", "keyboard"])
def reader(request: pytest.FixtureRequest, shown: Window) -> Reader:
    return Reader(shown.open(), request.param)


def test_why_did_this_one_fail_and_what_fixes_it(reader: Reader, results: Results) -> None:
    example = results.fixes.clusters[0].example
    reader.follow(reader.page.locator(".fixes .example").first)
    expect(reader.page.locator("#view .headline")).to_contain_text(example.headline)
    expect(reader.page.locator("#view .strip .fix")).to_contain_text(example.fix[0])
    assert reader.clicks <= 2


def test_what_to_fix_first(reader: Reader, results: Results) -> None:
    first = results.fixes.clusters[0]
    row = reader.page.locator(".fixes tbody tr").first
    expect(row).to_contain_text(first.key.kind)
    expect(row.locator("td.number")).to_contain_text(f"{len(first):,}")
    assert all(len(first) >= len(other) for other in results.fixes.clusters)
    assert reader.clicks == 0


def test_is_b_better_than_a_and_how_sure(reader: Reader) -> None:
    row = reader.page.locator(".dots tbody tr", has_text="left_out")
    reader.follow(row.get_by_role("link", name="compare"))
    said = reader.page.locator("#pair")
    expect(said).to_contain_text("sure: B is worse")
    for words in ("oracle", "left_out", "95 % interval", "B won", "A won"):
        expect(said).to_contain_text(words)
    assert reader.clicks <= 2


def test_which_harms_took_effect(reader: Reader, results: Results) -> None:
    harmful = sum(
        any(harm["effected"] for harm in one.scores["harms"]) for one in results.results
        if exclusion(one.episode) is None
    )  # fmt: skip
    reader.follow(reader.page.locator(".result a", has_text="episodes"))
    count = reader.page.locator("#list .count")
    expect(count).to_contain_text(f"{harmful:,} episodes")
    reader.follow(reader.page.locator("#list tbody th a").first)
    expect(reader.page.locator("#view .call.harm", has_text="took effect").first).to_be_visible()
    assert reader.clicks <= 2
