"""The overview in a browser: A and B, files to save, sort and search in the link, narrow screens, print."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from corepath import Episode, Task, call, play, seq, task, tool
from corepath.play.built_in import built_in
from corepath.report.comparison import compare, sure
from corepath.report.results import Results
from corepath.report.tables import agents_table
from tests.browser import Screen, Window, window
from tests.report.test_page import column, of, written

AGENTS = ("oracle", "do_nothing", "left_out", "wrong_argument", "undone", "early_stop")
TASKS = (
    "farm/threshold", "legal/settle_case", "crud/hand_over", "transactions/card_check", "files/append_if_absent",
    "web/look_and_return", "navigation/closed_bridge",
)  # fmt: skip


@pytest.fixture(scope="module")
def results():
    known = {name: task(name) for name in TASKS}
    episodes = [play(built_in(agent), one, name=agent) for one in known.values() for agent in AGENTS]
    used = {"usage": {"total_cost": 0.25, "input_tokens": 900, "output_tokens": 100}, "seconds": 2.5}
    return of(*(replace(one, extra={**one.extra, **used}) for one in episodes), known=known, places=("runs/one",))


@pytest.fixture(scope="module")
def file(results, tmp_path_factory):
    return written(tmp_path_factory.mktemp("overview") / "page.html", results)


@pytest.fixture
def shown(browser, file):
    with window(browser, file) as one:
        yield one


def saved(shown: Page, button: str) -> str:
    """The text of the file that a button saves."""
    with shown.expect_download() as download:
        shown.locator(button).click()
    return Path(download.value.path()).read_text(encoding="utf-8")


# The result


def test_the_result_is_one_sentence_whose_numbers_are_links(shown: Window, results: Results):
    opened = shown.open()
    text = opened.locator(".result").inner_text()
    assert text.startswith("oracle solved 7 of 7 episodes; ")
    assert text.count(".") == 1
    harmed = sum(
        any(harm["effected"] and harm.get("again") is None for harm in one.scores["harms"]) for one in results.results
    )
    assert f"harm took effect in {harmed} of " in text
    opened.locator(".result a", has_text=f"{harmed} of").click()
    expect(opened.locator("#list .count")).to_have_text(f"{harmed} episodes")


def test_agents_are_rows_best_first_and_the_floor_is_a_band(shown: Window, results: Results):
    opened = shown.open()
    means = [one for one in results.by_agent.values() if one.name != "do_nothing"]
    best = sorted(
        means, key=lambda one: (-(one.mean("solved") or 0), one.mean("harm_effected") or 0, -(one.mean("pc") or 0))
    )
    assert column(opened, "#agents .dots", "agent") == [one.name for one in best]
    assert opened.locator("#agents .dots .band").count() == 3 * len(best)
    expect(opened.locator("#agents .note").first).to_contain_text("do_nothing")
    values = opened.locator("#agents .dots tbody td.pc").evaluate_all("cells => cells.map(one => one.dataset.value)")
    assert list(map(float, values)) == pytest.approx([one.mean("pc") for one in best], abs=1e-6)
    row = opened.locator(".dots tbody tr:has-text('left_out') td.pc")
    line, interval = row.locator(".reach"), results.by_agent["left_out"].interval("pc") or ()
    ends = [float((line.get_attribute(name) or "").rstrip("%")) for name in ("x1", "x2")]
    assert ends == pytest.approx([100 * end for end in interval], abs=0.01)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_numbers_beside_the_dots_have_room(browser: Browser, file: Path, width: int):
    with window(browser, file, viewport={"width": width, "height": 900}) as one:
        numbers = one.open().locator("#agents .dots tbody td.dot span")
        assert "100–100" in " ".join(numbers.all_inner_texts())
        assert not numbers.evaluate_all("all => all.some(one => one.scrollWidth > one.clientWidth)")


def test_cost_tokens_and_seconds_are_shown_where_they_are_known(shown: Window):
    opened = shown.open()
    for key, text in {"cost": "0.2500", "tokens": "1,000", "seconds": "2.5"}.items():
        assert set(column(opened, "#agents .dots", key)) == {text}
        assert set(column(opened, "#agents [data-name=scores] table", key)) == {text}


# A and B


def test_every_pair_is_what_compare_computes(shown: Window, results: Results):
    opened = shown.open()
    scores = ("solved", "harm_effected", "pc")
    for a, b in combinations(results.by_agent, 2):
        found = compare(results.by_agent[a], results.by_agent[b], scores)
        certain = {one.score for one in sure(found)}
        rows = opened.evaluate("([a, b]) => entriesOf(...[a, b].map(name => pairs.data.agents.indexOf(name)))", [a, b])
        for one, row in zip(found, rows, strict=True):
            assert row[:6] == pytest.approx(
                [one.a, one.b, one.difference, *(one.interval or ()), one.detectable], abs=1e-6
            )
            assert row[6] is (one.score in certain)
            gains = [(-1 if one.score == "harm_effected" else 1) * gap for gap in one.by_task.values()]
            counts = [
                sum(gain > 0 for gain in gains),
                sum(gain < 0 for gain in gains),
                sum(gain == 0 for gain in gains),
            ]
            assert row[7:] == counts
            listed = opened.evaluate(
                "([a, b, key]) => Object.values(tasksOf([a, b], key)).map(list => list.length)", [a, b, one.score]
            )
            assert listed == counts


def test_a_and_b_are_chosen_and_stand_in_the_link(shown: Window):
    opened = shown.open()
    opened.select_option("select[name=a]", "left_out")
    opened.select_option("select[name=b]", "oracle")
    expect(opened.locator(".verdict")).to_contain_text("oracle solves 100.0 percentage points more")
    expect(opened.locator(".verdict .badge")).to_have_text("sure: B is better")
    assert opened.evaluate("location.hash") == "#/?a=left_out&b=oracle"
    again = shown.open("#/?a=left_out&b=oracle")
    expect(again.locator(".verdict")).to_contain_text("oracle solves 100.0 percentage points more")
    again.click("text=Swap A and B")
    expect(again.locator(".verdict .badge")).to_have_text("sure: B is worse")
    assert again.evaluate("location.hash") == "#/?a=oracle&b=left_out"
    expect(again.locator(".tasks")).to_contain_text("A won 7 tasks")
    again.locator(".tasks li a").first.click()
    expect(again.locator("h1:visible")).to_contain_text("oracle and left_out on")
    again.go_back()
    expect(again.locator(".verdict .badge")).to_have_text("sure: B is worse")


def test_what_cannot_be_told_is_not_called_sure(browser: Browser, tmp_path: Path):
    known = {f"shop/{n}": Task(f"shop/{n}", procedure=seq(tool("buy")())) for n in range(3)}
    good, bad = (call("buy()"),), ()
    episodes = [Episode(name, good, "one") for name in known] + [Episode(name, bad, "other") for name in known]
    with window(browser, written(tmp_path / "page.html", of(*episodes, known=known))) as one:
        opened = one.open("#/?a=one&b=other")
        expect(opened.locator(".verdict .badge")).to_have_text("cannot tell")
        expect(opened.locator(".verdict")).to_contain_text("may be chance")


def test_agents_without_a_common_task_are_not_compared(browser: Browser, tmp_path: Path):
    known = {name: Task(name, procedure=seq(tool("buy")())) for name in ("shop/a", "shop/b")}
    episodes = [Episode("shop/a", (call("buy()"),), "one"), Episode("shop/b", (call("buy()"),), "other")]
    with window(browser, written(tmp_path / "page.html", of(*episodes, known=known))) as one:
        opened = one.open()
        expect(opened.locator("#pair")).to_contain_text("no task in common")
        expect(opened.locator("#pair select")).to_have_count(3)


def test_the_four_questions_take_at_most_two_clicks(shown: Window):
    opened = shown.open()
    opened.locator(".dots a", has_text="compare").first.click()  # is B better than A, and how sure?
    expect(opened.locator(".verdict .badge")).to_have_text(re.compile("sure|cannot tell"))
    expect(opened.locator(".verdict")).to_be_in_viewport()
    opened = shown.open()
    opened.locator(".result a", has_text="episodes").click()  # which harms took effect?
    assert "harmful" in " ".join(column(opened, "#list table", "outcome"))
    expect(opened.locator("#list tbody tr").first).to_be_in_viewport()
    opened.locator("#list tbody th a").first.click()  # and why did this one fail?
    expect(opened.locator("h1:visible")).to_contain_text(" on ")
    opened = shown.open()
    opened.locator(".contents a", has_text="What to fix").click()  # what to fix first?
    expect(opened.locator("#fix .fixes tbody tr").first).to_be_in_viewport()


# All scores


def test_all_scores_are_folded_and_say_what_they_mean(shown: Window, results: Results):
    opened = shown.open()
    table = opened.locator("[data-name=scores] table")
    expect(table).to_be_hidden()
    opened.click("text=All scores >> nth=0")
    expect(table).to_be_visible()
    heads = table.locator("thead th")
    assert all(heads.evaluate_all("heads => heads.map(one => one.dataset.tip)"))
    heads.nth(3).locator("button").focus()
    expect(opened.locator("#tip")).to_contain_text("is best")
    assert heads.nth(3).locator("button").get_attribute("aria-describedby") == "tip"
    opened.keyboard.press("Escape")
    expect(opened.locator("#tip")).to_be_hidden()
    meanings = opened.locator("#agents .meanings dt")
    assert meanings.count() == heads.count()


def test_the_efficiency_of_runs_that_finished_nothing_is_not_praised(shown: Window, results: Results):
    opened = shown.open()
    shown_as = dict(
        zip(*(column(opened, "[data-name=scores] table", key) for key in ("agent", "efficiency")), strict=True)
    )
    assert (results.by_agent["wrong_argument"].mean("efficiency") or 0) > 0.9
    assert (shown_as["wrong_argument"], shown_as["oracle"]) == ("–", "1.000")
    opened.click("text=All scores >> nth=0")
    rows = json.loads(saved(opened, "[data-name=scores] + .save button:has-text('JSON')"))
    row = next(row for row in rows if row["agent"] == "wrong_argument")
    assert row["efficiency"] == pytest.approx(results.by_agent["wrong_argument"].mean("efficiency"), abs=1e-6)
    listed = dict(zip(*(column(opened, "#list table", key) for key in ("outcome", "efficiency")), strict=True))
    assert listed["harmful, not accepted"] == "–"


# Files


def test_every_table_and_figure_can_be_saved(shown: Window, results: Results):
    opened = shown.open()
    opened.evaluate("document.querySelectorAll('#overview details').forEach(one => { one.open = true; })")
    named = opened.locator("#overview [data-name]").evaluate_all("all => all.map(one => one.dataset.name)")
    assert len(named) == len(set(named))
    tables = opened.locator("#overview .scroll:has(> table):not(details .scroll:not([data-name])):not(#list .scroll)")
    bars = opened.locator("#overview section:not(#episodes) .save")
    assert bars.count() == tables.count() + opened.locator("#overview figure").count()
    for bar in bars.all():
        opened.wait_for_timeout(1_000)  # chromium refuses more than ten files at once
        for button in bar.locator("button").all():
            with opened.expect_download() as download:
                button.click()
            text = Path(download.value.path()).read_text(encoding="utf-8")
            name, ending = download.value.suggested_filename.split(".")
            check_file(name, ending, text)
    rows = list(csv.DictReader(io.StringIO(saved(opened, "[data-name=scores] + .save button:has-text('CSV')"))))
    keys = [column.key for column in agents_table(results).columns]
    assert [row["agent"] for row in rows] == list(results.by_agent)
    assert set(keys) <= set(rows[0])
    assert float(rows[2]["pc"]) == pytest.approx(results.by_agent["left_out"].mean("pc"), abs=1e-6)


def check_file(name: str, ending: str, text: str) -> None:
    if ending == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) > 1, name
        assert {len(row) for row in rows} == {len(rows[0])}, name
    elif ending == "json":
        assert json.loads(text), name
    else:
        assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg", name


def test_the_filtered_list_is_saved_as_it_is_filtered_and_sorted(shown: Window):
    opened = shown.open("#/?agent=left_out&sort=-pc")
    rows = json.loads(saved(opened, "#list .save button:has-text('JSON')"))
    assert [row["task"] for row in rows] == column(opened, "#list table", "task")
    assert {row["agent"] for row in rows} == {"left_out"}
    scores = [row["pc"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    lines = list(csv.DictReader(io.StringIO(saved(opened, "#list .save button:has-text('CSV')"))))
    assert [float(line["pc"]) for line in lines] == scores
    assert {"headline", "harm_effected", "cost", "efficiency"} <= set(lines[0])


def test_a_list_without_episodes_is_saved_too(shown: Window):
    opened = shown.open("#/?text=nowhere-to-be-found")
    expect(opened.locator("#list .count")).to_have_text("0 episodes")
    assert json.loads(saved(opened, "#list .save button:has-text('JSON')")) == []
    assert saved(opened, "#list .save button:has-text('CSV')").strip() == ""


def test_formulas_are_not_saved_as_formulas(browser: Browser, tmp_path: Path):
    known = {"shop/buy": Task("shop/buy", procedure=seq(tool("buy")()))}
    hostile = '=HYPERLINK(1),"x"\n'
    episodes = [Episode("shop/buy", (), hostile), Episode("shop/buy", (), "one")]
    with window(browser, written(tmp_path / "page.html", of(*episodes, known=known))) as one:
        opened = one.open()
        text = saved(opened, "#list .save button:has-text('CSV')")
        assert [row["agent"] for row in csv.DictReader(io.StringIO(text))] == ['\'=HYPERLINK(1),"x"\\n', "one"]


# Links


def test_the_sort_of_tables_and_of_the_list_stands_in_the_link(shown: Window):
    opened = shown.open()
    opened.locator('.dots th[data-key="pc"] button').click()
    opened.locator('#list th[data-key="length"] button').click()
    assert opened.evaluate("location.hash") == "#/?sort=-length&sort-agents=-pc"
    order = column(opened, ".dots", "agent"), column(opened, "#list table", "length")
    again = shown.open("#/?sort=-length&sort-agents=-pc")
    assert (column(again, ".dots", "agent"), column(again, "#list table", "length")) == order
    assert [int(text) for text in order[1]] == sorted(map(int, order[1]), reverse=True)
    assert again.locator('#list th[data-key="length"]').get_attribute("aria-sort") == "descending"
    again.select_option("select[name=agent]", "left_out")
    assert again.evaluate("location.hash") == "#/?agent=left_out&sort=-length&sort-agents=-pc"
    lengths = [int(text) for text in column(again, "#list table", "length")]
    assert lengths == sorted(lengths, reverse=True)
    folded = shown.open("#/?sort-scores=pc")
    expect(folded.locator("[data-name=scores] table")).to_be_visible()


def test_an_old_link_to_the_heat_map_still_leads_to_it(shown: Window):
    expect(shown.open("#heat").locator("#worlds .heat")).to_be_in_viewport()


# Search


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    known = {
        name: Task(name, prompt, seq(tool("buy")()))
        for name, prompt in (("shop/buy", "Buy it. " * 200), (f"shop/{'long' * 40}", "Buy."))
    }
    calls = (call("look()"), call('buy(item={"sku": "QX-99"})'), call('look(shelf="Gamma-7")'))
    episodes = [Episode("shop/buy", calls, "one"), Episode("shop/buy", (), "other"), *(
        Episode(name, (call("buy()"),), "third") for name in known
    )]  # fmt: skip
    return written(tmp_path_factory.mktemp("shop") / "page.html", of(*episodes, known=known))


def test_search_looks_into_calls_and_arguments(browser: Browser, shop: Path):
    with window(browser, shop) as one:
        opened = one.open()
        opened.fill("input[name=text]", "qx-99")
        expect(opened.locator("#list .count")).to_have_text("1 episode")
        assert column(opened, "#list table", "agent") == ["one"]
        opened.fill("input[name=text]", "gamma-7")
        expect(opened.locator("#list .count")).to_have_text("1 episode")
        expect(opened.locator(".found")).to_contain_text("call 3")
        opened.fill("input[name=text]", "gamma one")
        expect(opened.locator(".found a")).to_have_text("call 3")
        opened.fill("input[name=text]", "gamma other")
        expect(opened.locator("#list .count")).to_have_text("0 episodes")
        again = one.open("#/?text=GAMMA-7")
        expect(again.locator("#list .count")).to_have_text("1 episode")
        again.locator(".found a").click()
        expect(again.locator("h1:visible")).to_contain_text("one on shop/buy")
        assert again.evaluate("location.hash").endswith("?call=3")


def test_long_prompts_and_names_fold(browser: Browser, shop: Path):
    with window(browser, shop) as one:
        opened = one.open("#/task/shop%2Fbuy")
        prompt = opened.locator("details.prompt")
        assert len(prompt.locator("summary").inner_text()) < 400
        expect(prompt.locator("p")).to_be_hidden()
        prompt.locator("summary").click()
        assert prompt.locator("p").inner_text().count("Buy it.") == 200
        long = one.open().locator("#list td.task bdi[title]")
        assert len(long.inner_text()) < 60
        assert long.get_attribute("title") == f"shop/{'long' * 40}"


# Everyone can read it


def test_axe_finds_nothing_in_the_unfolded_overview(browser: Browser, file: Path, screen: Screen):
    with window(browser, file, **screen.options) as one:
        opened = one.open("#/?a=oracle&b=undone&text=a")
        opened.evaluate("document.querySelectorAll('#overview details').forEach(one => { one.open = true; })")
        bad = [
            (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["failureSummary"][:300])
            for rule in Axe().run(opened).response["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
        assert bad == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= screen.width


def test_at_360_pixels_the_first_columns_are_the_ones_that_matter(browser: Browser, file: Path):
    with window(browser, file, viewport={"width": 360, "height": 700}) as one:
        opened = one.open()
        heads = opened.locator("#list thead th").evaluate_all(
            "all => all.map(one => [one.dataset.key, one.getBoundingClientRect().left])"
        )
        assert [key for key, left in heads if left < 300] == ["agent", "outcome", "headline"]
        row = opened.locator(".dots tbody tr").first
        for key in ("solved", "harm_effected", "pc"):
            box = row.locator(f"td.{key} circle").bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= 360 - box["width"]
        scores = opened.locator("[data-name=scores] thead th").evaluate_all("all => all.map(one => one.dataset.key)")
        assert scores[:4] == ["agent", "solved", "harm_effected", "pc"]


def test_print_opens_what_is_folded_and_cuts_nothing(shown: Window):
    opened = shown.open()
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": 1032, "height": 700})  # A4 across, without its margins
    folded = opened.locator("#overview details:not([open])").count()
    assert folded
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.locator("#overview details:not([open])").count() == 0
    expect(opened.locator("[data-name=scores] table")).to_be_visible()
    for hidden in (".bar", ".contents", "#filters", ".save >> nth=0"):
        expect(opened.locator(hidden)).to_be_hidden()
    cut = opened.locator("#overview .scroll").evaluate_all(
        "all => all.filter(one => getComputedStyle(one).overflowX !== 'visible').length"
    )
    assert cut == 0
    ends = opened.locator("#overview table").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(ends) <= 1032
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.locator("#overview details:not([open])").count() == folded
    assert len(opened.pdf()) > 10_000


def test_a_page_of_one_agent_has_no_comparison(browser: Browser, tmp_path: Path, results: Results):
    alone: Any = results.only(["left_out"])
    with window(browser, written(tmp_path / "page.html", alone)) as one:
        opened = one.open()
        expect(opened.locator(".result")).to_contain_text("left_out solved none of 7 episodes")
        expect(opened.locator("#compare")).to_have_count(0)
