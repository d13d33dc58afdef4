"""The page of a report with rules: their counts, and the broken rules of each episode, with and without a task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from corepath import load_results
from corepath.files.rules import load_rules
from corepath.report.output import tables_of
from corepath.report.page import page
from corepath.report.results import Results
from tests.browser import Window, window
from tests.cli.test_rules_beside_tasks import GOOD, HASTY, NO_TASK, OPEN, RULES, TASKS

LONG = f"  - at most 1 refund(reason={json.dumps('a long reason ' * 20)}, ...)\n"
VIEWS = {
    "overview": "",
    "a rule": "#/?rule=never+delete_*(...)",
    "no task": "#/task/%3F",
    "episode": "#/episode/shop%2Frefund/b/0",
    "episode without a task": "#/episode/%3F/b/0?call=2",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("rules")
    (folder / "tasks.yaml").write_text(TASKS)
    (folder / "rules.yaml").write_text(RULES + LONG)
    (folder / "e.jsonl").write_text("\n".join(map(json.dumps, (GOOD, HASTY, OPEN, NO_TASK))))
    rules = load_rules(folder / "rules.yaml").rules
    return load_results(folder / "e.jsonl", tasks=[folder / "tasks.yaml"], rules=rules)


def test_the_overview_lists_the_rules_with_the_counts_of_the_table(shown: Window, results: Results) -> None:
    rows = shown.open().locator("#rules tbody tr")
    numbers = [row.locator("td").all_text_contents() for row in rows.all()]
    assert numbers == [list(map(str, (applied, *states))) for _, applied, states in results.by_rule.rows]
    assert numbers[0] == ["3", "1", "2", "0", "0"]
    expect(shown.page.locator("#rules .note, #rules p").first).to_contain_text("1 rule applied to no episode")
    expect(shown.page.locator(".facts").first).to_contain_text("1 of 4 episodes judged by rules alone")
    assert tables_of(results)["rules"].rows[0][1:] == (3, 1, 2, 0, 0)


def test_a_rule_leads_to_the_episodes_that_broke_it(shown: Window) -> None:
    opened = shown.open()
    link = opened.locator("#rules tbody th a").first
    link.focus()
    link.press("Enter")
    expect(opened.locator("#list .count")).to_have_text("2 episodes")
    expect(opened.locator("select[name=rule]")).to_have_value("refund(...) requires verify(...)")
    opened.select_option("select[name=rule]", "never delete_*(...)")
    expect(opened.locator("#list .count")).to_have_text("1 episode")
    expect(opened.locator("#list .badge")).to_have_text("rules broken")
    opened.locator("button[type=reset]").click()
    expect(opened.locator("#list .count")).to_have_text("4 episodes")


def test_an_episode_without_a_task_shows_its_broken_rules_and_leads_to_their_calls(shown: Window) -> None:
    opened = shown.open("#/episode/%3F/b/0")
    expect(opened.locator(".gone")).to_contain_text("Judged by rules alone")
    expect(opened.locator("dl.scores")).to_contain_text("PC–")
    expect(opened.locator("dl.scores")).to_contain_text("Broken rules2")
    findings = opened.locator(".findings dd")
    expect(findings).to_have_count(2)
    expect(findings.nth(1)).to_contain_text("delete_user(id=3): delete_*(...) must not be done")
    findings.nth(1).locator("button").press("Enter")
    expect(opened.locator(".live")).to_contain_text("Call 2 of 2: delete_user(id=3) — harmful, forbidden")


def test_an_episode_on_a_task_shows_its_broken_rules_too(shown: Window) -> None:
    opened = shown.open("#/episode/shop%2Frefund/b/0")
    expect(opened.locator(".headline .badge")).to_have_text("accepted, harmful")
    expect(opened.locator("figure.drawing")).to_be_visible()
    expect(opened.locator(".findings dt.rule + dd")).to_contain_text("Broken: refund(...) requires verify(...).")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, file: Path, scheme: str) -> None:
    with window(browser, file, color_scheme=scheme) as one:
        for name, link in VIEWS.items():
            found = Axe().run(one.open(link)).response["violations"]
            assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == [], name


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_itself_never_scrolls_sideways(browser: Browser, file: Path, width: int) -> None:
    with window(browser, file, viewport={"width": width, "height": 700}) as one:
        for name, link in VIEWS.items():
            assert one.open(link).evaluate("document.documentElement.scrollWidth") <= width, name


def test_a_page_without_rules_does_not_mention_them(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "e.jsonl").write_text(json.dumps(GOOD))
    made = tmp_path / "page.html"
    made.write_text(page(load_results(tmp_path / "e.jsonl", tasks=[tmp_path / "tasks.yaml"])), encoding="utf-8")
    with window(browser, made) as one:
        opened = one.open()
        assert opened.locator("#rules").count() == 0
        expect(opened.locator("select[name=rule]")).to_be_hidden()
        assert opened.locator('#list th[data-key="rules_broken"]').count() == 0
