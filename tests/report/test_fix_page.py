"""What to fix on the page, in a real browser: every number leads to its episodes, and every example to its own."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from corepath import Call, Episode, load_results
from corepath.files.episodes import episode_json
from corepath.files.rules import load_rules
from corepath.report.fix_tables import MOST_FOLDED, MOST_TOOLS
from corepath.report.page import page
from corepath.report.results import Results
from tests.browser import Screen, Window, window
from tests.report.test_fixes import HOSTILE, RULES
from tests.report.test_report import played


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    agents = ("oracle", "do_nothing", "left_out", "wrong_argument", "undone", "harmful_late")
    return load_results(played(tmp_path_factory.mktemp("fix") / "run", agents))


def listed(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"


def test_a_cause_leads_to_all_its_episodes_and_the_link_can_be_shared(shown: Window, results: Results) -> None:
    opened = shown.open()
    for place, cluster in enumerate(results.fixes.clusters[:3]):
        opened.locator(".fixes").first.locator("tbody th a").nth(place).press("Enter")
        expect(opened.locator("#list .count")).to_have_text(listed(len(cluster)))
        expect(opened.locator("select[name=cause]")).to_have_value(str(cluster))
        agents = set(opened.locator("#list tbody th").all_text_contents())
        assert agents == set(cluster.agents)
    address = opened.evaluate("location.hash")
    again = shown.open(address)
    expect(again.locator("#list .count")).to_have_text(listed(len(cluster)))
    again.locator("button[type=reset]").click()
    expect(again.locator("#list .count")).to_have_text(listed(len(results)))


def test_an_example_leads_to_its_episode(shown: Window, results: Results) -> None:
    for place, cluster in enumerate(results.fixes.clusters[:4]):
        example = cluster.example
        opened = shown.open("#fix")
        opened.locator(".fixes .example").nth(place).click()
        expect(opened.locator("#view h1")).to_have_text(f"{example.name.agent} on {example.name.task}")
        expect(opened.locator("#view")).to_contain_text(example.headline)


def test_each_cause_shows_its_size_its_tasks_and_its_fix(shown: Window, results: Results) -> None:
    rows = shown.open().locator(".fixes").first.locator("tbody tr")
    widths = rows.locator("rect").evaluate_all("all => all.map(one => Number(one.getAttribute('width')))")
    clusters = results.fixes.clusters[: len(widths)]
    assert widths == [pytest.approx(100 * len(one) / len(clusters[0]), abs=0.1) for one in clusters]
    for row, one in zip(rows.all(), clusters, strict=True):
        expect(row).to_contain_text(f"{len(one.tasks)} task")
        expect(row).to_contain_text(one.example.fix[0])
    folded = shown.page.locator(".fixes").nth(1)
    assert folded.locator("tbody tr").count() == min(MOST_FOLDED, len(results.fixes) - len(widths))


def test_a_kind_of_cause_leads_to_its_episodes(shown: Window, results: Results) -> None:
    kind, number = next(iter(results.fixes.causes.items()))
    opened = shown.open()
    opened.locator("#fix > p a").first.click()
    expect(opened.locator("#list .count")).to_have_text(listed(number))
    expect(opened.locator("select[name=fault]")).to_be_visible()
    expect(opened.locator("select[name=fault]")).to_have_value(kind)


def test_every_number_of_the_matrix_leads_to_episodes_with_such_calls(shown: Window, results: Results) -> None:
    fixes = results.fixes
    tool, kind, _ = max(fixes.harms, key=lambda key: (key[2], fixes.harms[key]))
    expected = {
        one.task_name + one.agent
        for one in results
        if one.agent not in fixes.floor and one.episode.mistake != "impossible"
        for harm in one.scores["harms"]
        if harm["kind"] == kind and harm["effected"] and one.episode.calls[harm["index"]].tool == tool
    }
    opened = shown.open()
    expect(opened.locator("select[name=tool]")).to_be_hidden()
    cells = opened.locator(".harmful-tools a[aria-label]")
    shown_tools = fixes.tools[: MOST_TOOLS + MOST_FOLDED]
    assert cells.count() == sum(number > 0 and key[0] in shown_tools for key, number in fixes.harms.items())
    opened.get_by_role("link", name=f"took effect: {tool}, {kind.replace('_', ' ')}").first.click()
    expect(opened.locator("#list .count")).to_have_text(listed(len(expected)))
    expect(opened.locator("select[name=tool]")).to_be_visible()
    opened.select_option("select[name=effect]", "no")
    refused = fixes.harms[tool, kind, False]
    assert (opened.locator("#list .count").inner_text() == "0 episodes") == (refused == 0)


def test_a_cause_that_is_not_there_is_told(shown: Window, results: Results) -> None:
    opened = shown.open("#/?cause=bad+luck")
    expect(opened.locator("#list .gone")).to_have_text("This page has no cause 'bad luck'.")
    expect(opened.locator("#list .count")).to_have_text(listed(len(results)))


def test_axe_finds_nothing_and_nothing_scrolls_sideways(browser: Browser, file: Path, screen: Screen) -> None:
    with window(browser, file, **screen.options) as one:
        opened = one.open("#fix")
        opened.locator("#fix details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        found = Axe().run(opened, context="#fix").response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= screen.width


def test_hostile_names_stay_text_and_their_links_work(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    calls = (Call(f"delete_{HOSTILE}", {}, 1), Call("refund", {}, 1))
    lines = [episode_json(Episode("", (call,), agent=HOSTILE + str(number))) for number, call in enumerate(calls)]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    made = tmp_path / "page.html"
    rules = load_rules(tmp_path / "rules.yaml").rules
    made.write_text(page(load_results(tmp_path / "e.jsonl", rules=rules)), encoding="utf-8")
    with window(browser, made) as one:
        opened = one.open()
        expect(opened.locator("#fix")).to_contain_text("against a rule")
        opened.locator(".harmful-tools a[aria-label]").first.click()
        expect(opened.locator("#list .count")).to_have_text("1 episode")
        one.open(f"#/?cause={quote('against a rule: never delete_*(...)')}")
        expect(opened.locator("#list .count")).to_have_text("1 episode")
