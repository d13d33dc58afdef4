"""The page in a real browser: its views, its navigation, and that hostile text stays text."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from corepath import Call, Episode, Message, Problem, Task, call, play, seq, task, tool
from corepath.episode import FAILED_OUTSIDE
from corepath.play.built_in import built_in
from corepath.play.play import rescore
from corepath.report.page import page
from corepath.report.page_data import encode
from corepath.report.results import Result, Results
from corepath.scoring.options import PAPER
from tests.browser import Window, window

AGENTS = ("oracle", "do_nothing", "random", "left_out", "wrong_argument", "undone")
STORY = "legal/settle_case"
LARGE = "writing/two_drafts"
TASKS = ("farm/threshold", STORY, LARGE)


def of(*episodes: Episode, known: dict[str, Task] | None = None, why: str = "it was deleted", **more: Any) -> Results:
    """Results of episodes, scored if their task is known."""
    tasks = known or {}

    def find(id_: str) -> tuple[Task | None, str | None]:
        return (tasks[id_], None) if id_ in tasks else (None, why)

    made = (rescore(tasks[one.task], one, PAPER) if one.task in tasks else one for one in episodes)
    return Results(tuple(Result(one, find) for one in made), PAPER, **more)


@pytest.fixture(scope="module")
def results():
    known = {name: task(name) for name in TASKS}
    episodes = [play(built_in(agent), one, name=agent) for one in known.values() for agent in AGENTS]
    return of(*episodes, known=known, places=("runs/one",))


@pytest.fixture(scope="module")
def file(results, tmp_path_factory):
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(page(results), encoding="utf-8")
    return made


@pytest.fixture
def shown(browser, file):
    with window(browser, file) as one:
        yield one


def written(path: Path, made: Results) -> Path:
    path.write_text(page(made), encoding="utf-8")
    return path


def column(shown: Page, table: str, key: str) -> list[str]:
    found: list[str] = shown.locator(table).evaluate(
        """(table, key) => {
            const place = [...table.tHead.rows[0].cells].findIndex(head => head.dataset.key === key);
            return [...table.tBodies[0].rows].map(row => row.cells[place].textContent);
        }""",
        key,
    )
    return found


def episode_link(task_: str, agent: str, more: str = "") -> str:
    return f"#/episode/{task_.replace('/', '%2F')}/{agent}/0{more}"


def task_link(task_: str) -> str:
    return f"#/task/{task_.replace('/', '%2F')}"


# The overview


def test_the_overview_says_what_it_is_of_and_lists_every_episode(shown: Window):
    opened = shown.open()
    expect(opened.locator("h1:visible")).to_have_text("What the agents did")
    expect(opened.locator(".facts").first).to_contain_text(
        f"{len(AGENTS) * len(TASKS)} episodes of {len(AGENTS)} agents on 3 tasks in 3 worlds"
    )
    expect(opened.locator(".facts").first).to_contain_text("runs/one")
    assert column(opened, "[data-name=scores] table", "agent") == list(AGENTS)
    expect(opened.locator("#list .count")).to_have_text("18 episodes")
    assert len(column(opened, "#list table", "task")) == 18


def test_a_click_on_a_header_sorts_and_a_second_one_turns_it_round(shown: Window):
    opened = shown.open()
    opened.click("text=All scores >> nth=0")
    head = opened.locator('[data-name=scores] th[data-key="pc"]')
    assert head.get_attribute("aria-sort") is None
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = [float(text) for text in column(opened, "[data-name=scores] table", "pc")]
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) > 3
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in column(opened, "[data-name=scores] table", "pc")] == sorted(falling)


def test_the_list_of_episodes_sorts_with_what_is_undefined_last(shown: Window):
    opened = shown.open()
    for _ in range(2):
        opened.locator('#list th[data-key="efficiency"] button').click()
        values = column(opened, "#list table", "efficiency")
        known = [value for value in values if value != "–"]
        assert 0 < len(known) < len(values)
        assert values[len(known) :] == ["–"] * (len(values) - len(known))
    assert [float(value) for value in known] == sorted(float(value) for value in known)


def test_filters_narrow_the_list_and_stand_in_the_address(shown: Window):
    opened = shown.open()
    opened.select_option("select[name=agent]", "left_out")
    expect(opened.locator("#list .count")).to_have_text("3 episodes")
    assert set(column(opened, "#list table", "agent")) == {"left_out"}
    opened.fill("input[name=text]", "settle")
    expect(opened.locator("#list .count")).to_have_text("1 episode")
    assert opened.evaluate("location.hash") == "#/?text=settle&agent=left_out"
    again = shown.open("#/?text=settle&agent=left_out")
    assert column(again, "#list table", "task") == [STORY]
    again.click("button[type=reset]")
    expect(again.locator("#list .count")).to_have_text("18 episodes")


def test_what_looks_right_and_is_wrong_can_be_asked_for(shown: Window, results: Results):
    wrong = [
        one for one in results.results
        if one.scores["state_match"] and (one.scores["harm_count"] or not one.scores["accepted"])
    ]  # fmt: skip
    assert wrong
    opened = shown.open()
    opened.select_option("select[name=outcome]", label="looks right, is wrong")
    assert column(opened, "#list table", "agent") == [one.agent for one in wrong]


def test_a_filter_for_what_is_not_there_says_so(shown: Window):
    opened = shown.open("#/?agent=nobody")
    expect(opened.locator("#list .gone")).to_have_text("This page has no agent 'nobody'.")
    expect(opened.locator("#list .count")).to_have_text("18 episodes")


def test_a_point_of_a_figure_leads_to_its_episodes(shown: Window):
    opened = shown.open()
    point = opened.locator('#figures a:has([data-agent="undone"][data-world="legal"])')
    assert "undone in legal" in (point.get_attribute("aria-label") or "")
    point.focus()
    point.press("Enter")
    expect(opened.locator("#list .count")).to_have_text("1 episode")
    assert column(opened, "#list table", "task") == [STORY]


def test_the_arrows_go_from_point_to_point_of_a_figure(shown: Window):
    opened = shown.open()
    points = opened.locator("#figures svg").first.locator("a")
    points.first.focus()
    points.first.press("ArrowRight")
    assert opened.evaluate("document.activeElement.getAttribute('aria-label')") == points.nth(1).get_attribute(
        "aria-label"
    )
    assert points.first.get_attribute("tabindex") == "-1"


def test_a_long_list_is_shown_in_parts(browser: Browser, tmp_path: Path):
    known = {"shop/buy": Task("shop/buy", procedure=seq(tool("buy")()))}
    many = [Episode("shop/buy", (call("buy()"),), "one", epoch) for epoch in range(450)]
    with window(browser, written(tmp_path / "page.html", of(*many, known=known))) as one:
        opened = one.open()
        rows = opened.locator("#list tbody tr")
        expect(rows).to_have_count(200)
        expect(opened.locator("#list .count")).to_have_text("450 episodes, the first 200 shown")
        opened.click("text=Show 200 more")
        expect(rows).to_have_count(400)
        opened.click("text=Show 50 more")
        expect(rows).to_have_count(450)
        expect(opened.locator("#list button:has-text('more')")).to_be_hidden()


# Tasks and episodes


def test_a_task_shows_its_prompt_its_drawing_and_its_episodes(shown: Window, results: Results):
    opened = shown.open(task_link(STORY))
    expect(opened.locator("h1:visible")).to_have_text(STORY)
    expect(opened.locator(".prompt")).to_have_text(task(STORY).prompt)
    assert opened.locator(".lanes .step").count() == 7
    opened.click("text=Automaton")
    assert opened.locator(".automaton .state").count() == len(task(STORY).automaton.states)
    harmful = sum(one.scores["harm_count"] for one in results.results if one.task_name == STORY)
    counts = opened.locator(".automaton .harm").all_inner_texts()
    assert harmful
    assert counts
    assert opened.locator("#view tbody tr").count() == len(AGENTS)


def test_a_large_automaton_without_lanes_is_folded_first_and_can_be_shown_whole(browser: Browser, tmp_path: Path):
    known = {"shop/long": Task("shop/long", procedure=seq(*(tool(f"step_{number}")() for number in range(300))))}
    made = of(Episode("shop/long", tuple(call(f"step_{number}()") for number in range(4)), "one"), known=known)
    with window(browser, written(tmp_path / "page.html", made)) as one:
        opened = one.open(task_link("shop/long"))
        assert opened.locator(".lanes").count() == 0
        assert opened.locator(".automaton .state").count() < 301
        expect(opened.locator(".drawing .note")).to_contain_text("are folded into")
        opened.click("text=Every state")
        assert opened.locator(".automaton .state").count() == 301
        expect(opened.locator(".drawing .note")).not_to_contain_text("are folded into")
        one.open("#/episode/shop%2Flong/one/0")
        for _ in range(4):
            opened.keyboard.press("ArrowRight")
            expect(opened.locator(".automaton .state.now")).to_have_count(1)


def test_a_path_is_walked_by_keyboard(shown: Window, results: Results):
    one = next(one for one in results.results if (one.task_name, one.agent) == (STORY, "wrong_argument"))
    calls = one.episode.calls
    harmful = [harm["index"] for harm in one.scores["harms"]]
    opened = shown.open(episode_link(STORY, "wrong_argument"))
    live, now = opened.locator(".live"), opened.locator(".automaton .state.now")
    opened.click("text=Automaton")
    assert live.get_attribute("aria-live") == "polite"
    expect(now).to_have_attribute("data-states", str(task(STORY).automaton.start))
    states = [now.get_attribute("data-states")]
    for number, made in enumerate(calls):
        opened.keyboard.press("ArrowRight")
        kind = "harmful" if number in harmful else "progress|loop"
        expect(live).to_have_text(re.compile(rf"Call {number + 1} of {len(calls)}: {re.escape(made.label)} — ({kind})"))
        expect(opened.locator(".call[aria-current=step]")).to_contain_text(made.label)
        states.append(now.get_attribute("data-states"))
        assert opened.locator(".automaton .harm.now").count() == (number in harmful)
    assert len(set(states)) > 2
    assert harmful
    opened.keyboard.press("ArrowRight")
    expect(live).to_contain_text(f"Call {len(calls)} of")
    opened.keyboard.press("Home")
    expect(live).to_have_text(f"Before the first of {len(calls)} calls.")
    assert now.get_attribute("data-states") == states[0]
    opened.keyboard.press("End")
    opened.keyboard.press("ArrowLeft")
    expect(live).to_contain_text(f"Call {len(calls) - 1} of")
    assert now.get_attribute("data-states") == states[-2]


def test_an_episode_has_its_scores_its_reasons_and_its_fix(shown: Window, results: Results):
    one = next(one for one in results.results if (one.task_name, one.agent) == (STORY, "left_out"))
    opened = shown.open(episode_link(STORY, "left_out"))
    expect(opened.locator("dl.scores div:has(dt:text-is('PC')) dd")).to_have_text(f"{one.scores['pc']:.3f}")
    expect(opened.locator("dl.scores div:has(dt:text-is('Accepted')) dd")).to_have_text("no")
    assert opened.locator(".findings dd").count() > 0
    fix = [edit.text for edit in one.explanation.fix]
    assert opened.locator(".aligned td.word").all_inner_texts() == fix
    assert opened.locator(".strip .fix li").all_inner_texts() == fix[:3]
    expect(opened.locator(".aligned tr.add td").first).to_have_text("nothing")


def test_the_fix_says_what_was_done_and_what_should_be(browser: Browser, tmp_path: Path):
    known = {"shop/buy": Task("shop/buy", procedure=seq(*(tool(name)() for name in ("look", "pay", "buy"))))}
    made = {"one": ("look()", "steal()", "pay()", "buy()", "run()"), "other": ("look()", "buy()"), "good": ("look()",)}
    episodes = [Episode("shop/buy", tuple(map(call, calls)), agent) for agent, calls in made.items()]
    bad = tuple(Call(name, error="no") for name in ("steal", "run"))
    episodes.append(Episode("shop/buy", (*map(call, ("look()", "pay()", "buy()")), *bad), "refused"))
    due = {
        "refused": ["4 steal\n5 run|nothing|Leave out calls 4 and 5, which the tool refused."],
        "one": ["2 steal|nothing|Leave out call 2, steal.", "5 run|nothing|Leave out call 5, run."],
        "other": ["nothing|pay()|Call pay() before call 2."],
    }
    with window(browser, written(tmp_path / "page.html", of(*episodes, known=known))) as one:
        for agent, lines in due.items():
            rows = one.open(f"#/episode/shop%2Fbuy/{agent}/0").locator(".aligned tbody tr")
            assert ["|".join(row.locator("td").all_inner_texts()) for row in rows.all()] == lines
        one.page.locator(".aligned").get_by_text("Call pay()").wait_for()
        opened = one.open("#/episode/shop%2Fbuy/one/0")
        opened.locator(".aligned button").last.click()
        expect(opened.locator(".live")).to_contain_text("Call 5 of 5")
        opened = one.open("#/episode/shop%2Fbuy/refused/0")
        opened.locator(".aligned button").last.click()
        expect(opened.locator(".detail .instruction")).to_have_text(
            "Fix: Leave out calls 4 and 5, which the tool refused."
        )


def test_a_click_on_a_call_shows_its_arguments_and_its_result_in_full(shown: Window, results: Results):
    one = next(one for one in results.results if (one.task_name, one.agent) == (STORY, "oracle"))
    made = one.episode.calls[1]
    opened = shown.open(episode_link(STORY, "oracle"))
    opened.locator(".call").nth(1).click()
    texts = opened.locator(".detail pre").all_inner_texts()
    assert json.loads(texts[0]) == made.arguments
    assert (texts[1] if isinstance(made.result, str) else json.loads(texts[1])) == made.result
    assert opened.evaluate("location.hash").endswith("?call=2")


# Links


def test_a_deep_link_opens_fresh_and_the_back_button_leads_back(shown: Window):
    opened = shown.open(episode_link(STORY, "undone", "?call=2"))
    expect(opened.locator("h1:visible")).to_have_text(f"undone on {STORY}")
    expect(opened.locator(".live")).to_contain_text("Call 2 of")
    opened.locator("#trail a").click()
    expect(opened.locator("h1:visible")).to_have_text(STORY)
    opened.locator(".bar a").first.click()
    expect(opened.locator("h1:visible")).to_have_text("What the agents did")
    opened.go_back()
    expect(opened.locator("h1:visible")).to_have_text(STORY)
    opened.go_back()
    expect(opened.locator(".live")).to_contain_text("Call 2 of")
    opened.go_forward()
    expect(opened.locator("h1:visible")).to_have_text(STORY)


def test_the_way_back_to_the_list_keeps_its_order_and_its_place(shown: Window):
    opened = shown.open()
    opened.locator('#list th[data-key="pc"] button').click()
    order = column(opened, "#list table", "pc")
    opened.locator("#list tbody th a").nth(9).click()
    expect(opened.locator("#view h1")).to_be_visible()
    opened.go_back()
    expect(opened.locator("#overview")).to_be_visible()
    assert column(opened, "#list table", "pc") == order
    assert opened.evaluate("window.scrollY") > 500


def test_next_follows_the_list_that_was_shown_last(shown: Window):
    opened = shown.open("#/?agent=undone")
    opened.locator("#list tbody th a").first.click()
    opened.locator(".neighbours a", has_text=STORY).click()
    expect(opened.locator("h1:visible")).to_have_text(f"undone on {STORY}")


def test_a_link_to_a_section_shows_the_whole_overview_and_keeps_the_filters(shown: Window):
    opened = shown.open("#episodes")
    expect(opened.locator("#list .count")).to_have_text("18 episodes")
    opened.select_option("select[name=agent]", "undone")
    opened.click(".contents >> text=Worlds")
    expect(opened.locator("#list .count")).to_have_text("3 episodes")


def test_of_two_links_in_a_hurry_the_later_one_is_shown(shown: Window):
    opened = shown.open()
    opened.evaluate(
        """([slow, quick]) => {
            for (const row of all.rows) if (taskLink(row.task) === slow) row.block = "late";
            const known = blockData;
            blockData = async id => {
                if (id === "tasks-late") await new Promise(done => setTimeout(done, 200));
                window.loaded_late = id === "tasks-late";
                return known("tasks-0");
            };
            location.hash = slow;
            setTimeout(() => { location.hash = quick; }, 50);
        }""",
        [task_link(STORY), task_link(LARGE)],
    )
    while not opened.evaluate("window.loaded_late"):
        opened.wait_for_timeout(50)
    opened.wait_for_timeout(50)
    expect(opened.locator("h1:visible")).to_have_text(LARGE)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("#/task/farm%2Fgone", "no task 'farm/gone'"),
        (episode_link(STORY, "nobody"), f"no episode '0' of agent 'nobody' on task '{STORY}'"),
        ("#/diff/farm%2Fthreshold/oracle/0/oracle/7", "no episode '7' of agent 'oracle'"),
        ("#/nowhere", "nothing at '#/nowhere'"),
        ("#nowhere", "nothing at '#nowhere'"),
        ("#/task/%E0%A4%A", "no task '%E0%A4%A'"),
    ],
)
def test_a_link_to_what_is_not_there_says_what_is_not_there(shown: Window, link: str, said: str):
    expect(shown.open(link).locator("#view")).to_contain_text(said)


def test_two_episodes_are_picked_and_compared(shown: Window, results: Results):
    opened = shown.open(task_link(STORY))
    opened.click("[aria-label='Pick oracle']")
    opened.click("[aria-label='Pick random']")
    opened.click("[aria-label='Pick left_out']")
    assert opened.locator("#view table [aria-pressed=true]").count() == 2
    opened.click("text=Compare random and left_out")
    expect(opened.locator("h1:visible")).to_have_text(f"random and left_out on {STORY}")
    assert opened.evaluate("location.hash") == "#/diff/legal%2Fsettle_case/random/0/left_out/0"


def test_a_diff_aligns_the_calls_and_marks_the_first_difference(shown: Window, results: Results):
    pair = {one.agent: one.episode.calls for one in results.results if one.task_name == STORY}
    opened = shown.open("#/diff/legal%2Fsettle_case/oracle/0/undone/0")
    sides = [opened.locator(f".aligned tbody td:nth-child({side}) > code").all_inner_texts() for side in (1, 2)]
    assert sides == [[made.label for made in pair[agent]] for agent in ("oracle", "undone")]
    first = next(
        (n for n, (a, b) in enumerate(zip(pair["oracle"], pair["undone"], strict=False)) if a != b), len(pair["oracle"])
    )
    marked = opened.locator(".aligned tr.first")
    expect(marked).to_contain_text("first difference")
    assert marked.evaluate("row => row.rowIndex") == first + 1
    expect(opened.locator("table.scores tr:has(th:text-is('PC')) td").first).to_have_text("1.000")


def test_episodes_that_share_everything_are_told_apart(browser: Browser, tmp_path: Path):
    known = {"shop/buy": Task("shop/buy", procedure=seq(tool("buy")()))}
    twice = [Episode("shop/buy", (call("buy()"),), "one"), Episode("shop/buy", (call("sell()"),), "one")]
    with window(browser, written(tmp_path / "page.html", of(*twice, known=known))) as one:
        expect(one.open("#/episode/shop%2Fbuy/one/0").locator(".call")).to_contain_text("buy")
        expect(one.open("#/episode/shop%2Fbuy/one/0.2").locator(".call")).to_contain_text("sell")


def test_tasks_of_one_name_that_are_not_the_same_are_told_apart():
    one, other = (
        of(Episode("shop/buy", (), "one"), known={"shop/buy": Task("shop/buy", procedure=seq(tool(name)()))})
        for name in ("buy", "sell")
    )
    made = page(replace(one, results=(*one.results, *other.results, *one.results)))
    assert [(found["name"], len(found["episodes"])) for found in task_records(made)] == [
        ("shop/buy", 2),
        ("shop/buy (2)", 1),
    ]


def decode(text: str) -> Any:
    return json.loads(decompress(b64decode(text)))


def task_records(made: str) -> list[dict[str, Any]]:
    blocks = [decode(one) for one in re.findall(r'id="tasks-\d+">([^<]*)</script>', made)]
    return [dict(zip(block, task, strict=True)) for block in blocks for task in zip(*block.values(), strict=True)]


ODD_VALUES: list[Any] = [
    "",
    {},
    [[], [[]], {}],
    "\0 1\0-2",
    "</script><b onclick='1'>&amp;",
    "\ud800 lone \udfff",
    "\ufeff٣→",
    {"__proto__": {"a": 1}, "constructor": "x", "a.b": 1, "a": {"b": "2"}},
    [None, True, -1, 0.1, 2**53 - 1, "x"],
]


def test_a_browser_decodes_what_was_encoded(browser: Browser, tmp_path: Path):
    with window(browser, written(tmp_path / "page.html", Results())) as one:
        texts = one.open().evaluate(
            "texts => Promise.all(texts.map(async text => JSON.stringify(await decode(text))))",
            [*map(encode, ODD_VALUES)],
        )
    assert list(map(json.loads, texts)) == ODD_VALUES
    assert [decode(encode(value)) for value in ODD_VALUES] == ODD_VALUES


# Everyone can read it

VIEWS = {
    "overview": "",
    "task": task_link(STORY),
    "large task": task_link(LARGE),
    "episode": episode_link(STORY, "wrong_argument", "?call=3"),
    "diff": "#/diff/legal%2Fsettle_case/oracle/0/undone/0",
    "missing": "#/nowhere",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, file: Path, scheme: str):
    with window(browser, file, color_scheme=scheme) as one:
        for name, link in VIEWS.items():
            found = Axe().run(one.open(link)).response["violations"]
            bad = [
                (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["failureSummary"][:300])
                for rule in found
                if rule["impact"] in ("serious", "critical")
            ]
            assert bad == [], name


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_itself_never_scrolls_sideways(browser: Browser, file: Path, width: int):
    with window(browser, file, viewport={"width": width, "height": 700}) as one:
        for name, link in VIEWS.items():
            assert one.open(link).evaluate("document.documentElement.scrollWidth") <= width, name


def test_headings_are_in_order_and_there_is_one_first_heading(shown: Window):
    for name, link in VIEWS.items():
        levels = shown.open(link).eval_on_selector_all(
            "h1, h2, h3, h4", "all => all.filter(one => one.checkVisibility()).map(one => Number(one.tagName[1]))"
        )
        assert levels.count(1) == 1, name
        assert levels[0] == 1, name
        assert all(after - before <= 1 for before, after in pairwise(levels)), name


def test_the_skip_link_leads_to_the_content_of_any_view(shown: Window):
    opened = shown.open(episode_link(STORY, "oracle"))
    opened.evaluate("document.activeElement.blur()")
    opened.locator(".skip").focus()
    opened.keyboard.press("Enter")
    assert opened.evaluate("document.activeElement.id") == "main"
    expect(opened.locator("h1:visible")).to_have_text(f"oracle on {STORY}")


def test_the_overview_reads_without_a_script(browser: Browser, file: Path):
    with window(browser, file, java_script_enabled=False) as one:
        one.page.goto(file.as_uri())
        expect(one.page.locator("#agents .dots")).to_contain_text("left_out")
        expect(one.page.locator(".result")).to_contain_text("oracle solved 3 of 3 episodes")
        expect(one.page.locator("#figures svg").first).to_be_visible()
        expect(one.page.get_by_text("are shown by a script")).to_be_visible()


# Hostile text

BAD = [
    "<script>window.__pwned = 1</script>",
    "</script><img src=x onerror='window.__pwned=1'>",
    "<!-- --!> <![CDATA[ ]]> <svg onload=alert(1)>",
    "\u202egnp.exe \u2066\u200b\u061c",
    "a\x00b\x1b[31m\x85",
    "lone \ud800 half \udfff",
    "{{script}} ${window.__pwned=1} %s &lt; &amp;amp; \"'`",
    "javascript:alert(1)",
]
LONG = "<b>x</b>" * 130_000


def hostile() -> Results:
    calls = [
        Call(text, {text: text, "list": [text]}, result=text if place % 2 else {text: [text, 10**400]}, id=text)
        for place, text in enumerate(BAD)
    ]
    calls += [Call("buy", {}, error="\n".join(BAD)), Call("buy", BAD[1], result=BAD[0])]
    known = {name: Task(name, BAD[1], seq(tool("buy")())) for name in ("shop/buy", *BAD)}
    said = tuple(Message(one, one, 0, extra={one: one}) for one in BAD)
    more: dict[str, Any] = {
        "answer": "\n".join(BAD), "messages": said, "params": {BAD[0]: BAD[1]}, "other_calls": (calls[0],),
        "extra": {BAD[0]: BAD[1]},
    }  # fmt: skip
    episodes = [Episode(name, tuple(calls), agent, **more) for name in known for agent in BAD]
    episodes.append(Episode("shop/buy", (Call("buy", {"a": LONG}, result=LONG),), "long"))
    episodes.append(Episode("shop/gone", tuple(calls), BAD[1], scores=play_nothing()))
    problems = tuple(Problem(text, 1, 1, text) for text in BAD)
    return of(*episodes, known=known, why=BAD[1], problems=problems, places=tuple(BAD))


def play_nothing() -> dict[str, Any]:
    empty = rescore(Task("a/b", procedure=seq(tool("c")())), Episode("a/b", ()), PAPER)
    return dict(empty.scores)


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("hostile") / "page.html", hostile())


def test_hostile_text_stays_text_everywhere(browser: Browser, hostile_file: Path):
    with window(browser, hostile_file) as one:
        opened = one.open()
        links = opened.evaluate("all.rows.map(row => [taskLink(row.task), episodeLink(row)]).flat()")
        for link in [*dict.fromkeys(links)][::5]:
            one.go(link)
            assert "Not here" not in opened.locator("#view h1").inner_text()
            opened.keyboard.press("End")
            for summary in opened.locator("#view summary").all():
                summary.click()
        assert opened.evaluate("window.__pwned") is None
        assert opened.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
        assert opened.evaluate("document.querySelectorAll('script:not([type])').length") == 1


@pytest.mark.parametrize("text", BAD)
def test_a_hostile_text_is_there_in_full(browser: Browser, hostile_file: Path, text: str):
    with window(browser, hostile_file) as one:
        opened = one.open()
        one.go(
            opened.evaluate(
                "text => episodeLink(all.rows.find(row => row.agent === text && row.task === 'shop/buy'))", text
            )
        )
        opened.locator(".call").nth(BAD.index(text)).click()
        arguments = opened.locator(".detail pre").first.text_content() or ""
        assert arguments.count(seen(json.dumps(text, ensure_ascii=False))) == 3
        expect(opened.locator("h1:visible bdi").first).to_have_text(seen(text))


def seen(text: str) -> str:
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]",
        lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(),
        text,
    )


def test_a_megabyte_is_folded_and_still_there_in_full(browser: Browser, hostile_file: Path):
    with window(browser, hostile_file) as one:
        opened = one.open()
        one.go("#/episode/shop%2Fbuy/long/0?call=1")
        result = opened.locator(".detail .block", has_text="Result")
        expect(result).to_contain_text("1,040,000 characters")
        assert opened.evaluate("document.querySelector('#view').textContent.length") < 50_000
        result.get_by_role("button", name="Show all").click()
        assert result.locator("pre").text_content() == LONG


def test_what_agents_wrote_stands_in_the_file_only_packed_or_escaped():
    made = page(hostile())
    made.encode("utf-8")
    plain = re.sub(r'<script type="application/octet-stream" id="[\w-]+">[A-Za-z0-9+/=]*</script>', "", made)
    assert plain.count("<script") == plain.count("</script>") == 1
    assert "<img" not in plain
    assert "onload=alert(1)>" not in plain.replace("&lt;svg onload=alert(1)&gt;", "")
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]", made
    )
    for text in ("window.__pwned = 1", "onerror=", "__pwned=1}"):
        assert text in plain
    assert "&lt;script&gt;window.__pwned = 1&lt;/script&gt;" in plain
    assert "default-src 'none'" in plain
    assert "unsafe" not in plain
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", plain)


def test_the_records_are_what_was_recorded():
    made = page(hostile())
    first = task_records(made)[0]
    texts = [
        value
        for key, kind in (("arguments", "asked"), ("result", "calls"))
        for one in first[kind]
        for value in one.get(key, [])
    ]
    assert LONG in texts
    assert str(10**400) in "".join(texts)


# Odd runs


def test_an_empty_run_says_so(browser: Browser, tmp_path: Path):
    with window(browser, written(tmp_path / "page.html", Results(places=("runs/empty",)))) as one:
        opened = one.open()
        expect(opened.locator(".facts").first).to_contain_text("There are no episodes here.")
        expect(opened.locator("#list")).to_have_text("There are no episodes to list.")
        assert opened.locator("table").count() == 0


def test_a_run_with_only_failures_says_so(browser: Browser, tmp_path: Path, results: Results):
    failed = [
        replace(one.episode, calls=(), outcome=FAILED_OUTSIDE, failure={"kind": "timeout"})
        for one in results.results[:4]
    ]
    known = {name: task(name) for name in TASKS[:1]}
    with window(browser, written(tmp_path / "page.html", of(*failed, known=known))) as one:
        opened = one.open()
        expect(opened.locator(".facts").first).to_contain_text("All of them failed outside the agents")
        opened.locator("#list tbody th a").first.click()
        expect(opened.locator(".headline")).to_contain_text("failed outside")
        opened.click("text=All else that was recorded")
        expect(opened.locator("#view")).to_contain_text('"timeout"')


def test_one_episode_of_one_agent_is_a_page(browser: Browser, tmp_path: Path, results: Results):
    one_result = replace(results, results=results.results[:1])
    with window(browser, written(tmp_path / "page.html", one_result)) as one:
        opened = one.open()
        expect(opened.locator(".facts").first).to_contain_text("1 episode of 1 agent on 1 task in 1 world,")
        opened.locator("#list tbody th a").click()
        assert opened.locator(".neighbours a").count() == 0
        assert opened.locator(".neighbours form").count() == 0


def test_of_a_task_that_is_gone_what_was_recorded_is_shown(browser: Browser, tmp_path: Path, results: Results):
    recorded = [one.episode for one in results.results if one.task_name == STORY]
    with window(browser, written(tmp_path / "page.html", of(*recorded, why="the task is no longer here"))) as one:
        opened = one.open(episode_link(STORY, "wrong_argument", "?call=1"))
        expect(opened.locator(".gone")).to_contain_text("the task is no longer here")
        expect(opened.locator(".live")).to_contain_text("Call 1 of")
        harmful = next(one for one in recorded if one.agent == "wrong_argument").scores["harm_count"]
        assert opened.locator(".call.harm").count() == harmful > 0
        expect(opened.locator("dl.scores")).to_contain_text("PC-KTC")
        expect(one.open(task_link(STORY)).locator(".gone")).to_contain_text("the task is no longer here")


def test_the_same_results_give_the_same_bytes(results: Results, file: Path):
    assert page(results) == file.read_text(encoding="utf-8")
