"""An episode on one screen, and two side by side, in a real browser."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from corepath import ANY, Call, Episode, Message, Task, call, play, seq, task, tool
from corepath.play.built_in import built_in
from corepath.report.page import page
from corepath.report.results import Results
from tests.browser import Screen, Window, window
from tests.report.test_page import episode_link, of, play_nothing

STORY = "legal/settle_case"
AGENTS = ("oracle", "wrong_argument", "undone")
TRIP = "trip/book"
FLIGHTS = [{"number": "HAT229", "date": "May 1"}, {"number": "HAT266", "date": "May 3"}]
WANTED = [{"number": "HAT229", "date": "May 1"}, {"number": "HAT175", "date": "May 3"}]
BIG = 10**30
ASKED = "I want to fly to Oslo.\n" * 30
BAD = "\u202e<img src=x onerror='window.__pwned=1'>\x1b[31m</script>"
HUGE = [{"seat": n, "note": "x" * 40} for n in range(4000)]


def trip() -> Task:
    book = tool("book")(flights=WANTED, user="mia", amount=67, key=BIG)
    return Task(TRIP, f"Book a trip. {ASKED}", seq(tool("find")(user="mia"), book), reads=[tool("list_all")()])


def booked(flights: Any = WANTED, **more: Any) -> Call:
    return Call("book", {"flights": flights, "user": "mia", "amount": 67, "key": BIG, **more}, result={"done": True})


FIND = Call("find", {"user": "mia"}, result={"rows": list(range(60))})
LISTED = Call("list_all", {}, result="none")
EPISODES = {
    "good": (FIND, booked()),
    "wrong": (LISTED, FIND, booked(FLIGHTS, amount=78), Call("pay", {"a": 1}, error="no money")),
    "huge": (FIND, booked(HUGE)),
    "bad": (Call(BAD, {BAD: BAD}, result=BAD), booked([{BAD: BAD}], user=BAD)),
    "none": (),
    "many": tuple(FIND if n % 50 else booked(FLIGHTS) for n in range(5000)),
}
MESSAGES = (
    Message("user", ASKED, 0),
    Message("assistant", "I look.", 1),
    Message("assistant", f"{BAD} is next.", 2),
    Message("user", "Thanks!", 99),
    Message("", "a note"),
)


def episodes() -> list[Episode]:
    return [Episode(TRIP, calls, agent, messages=MESSAGES) for agent, calls in EPISODES.items()]


@pytest.fixture(scope="module")
def results() -> Results:
    known = {STORY: task(STORY), TRIP: trip()}
    played = [play(built_in(agent), known[STORY], name=agent) for agent in AGENTS]
    return of(*played, *episodes(), Episode("shop/gone", EPISODES["wrong"], "gone", scores=play_nothing()), known=known)


@pytest.fixture(scope="module")
def file(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(page(results), encoding="utf-8")
    return made


@pytest.fixture
def shown(browser: Browser, file: Path):
    with window(browser, file, viewport={"width": 1280, "height": 720}) as one:
        yield one


def boxes(opened: Page, *selectors: str) -> list[dict[str, float]]:
    found = [opened.locator(selector).bounding_box() for selector in selectors]
    return [{key: box[key] for key in ("x", "y", "width", "height")} for box in found if box is not None]


PANES = (".pane.list", ".pane.picture", ".pane.detail")


# The layout


@pytest.mark.parametrize("size", [(1100, 700), (1280, 720), (1600, 900)])
@pytest.mark.parametrize("agent", ["wrong", "many"])
def test_an_episode_fits_one_screen_and_its_panes_scroll_inside(
    browser: Browser, file: Path, size: tuple[int, int], agent: str
):
    with window(browser, file, viewport={"width": size[0], "height": size[1]}) as one:
        opened = one.open(episode_link(TRIP, agent, "?call=1"))
        left, middle, right = boxes(opened, *PANES)
        assert left["x"] + left["width"] <= middle["x"]
        assert middle["x"] + middle["width"] <= right["x"]
        for box in (left, middle, right):
            assert box["height"] == left["height"] >= 200
            assert box["y"] + box["height"] <= size[1]
        expect(opened.locator(".strip .headline")).to_be_in_viewport()
        assert opened.evaluate("document.documentElement.scrollWidth") <= size[0]
        tall = opened.locator(".pane.list").evaluate("one => one.scrollHeight > one.clientHeight")
        assert tall or agent == "wrong"


@pytest.mark.parametrize("width", [360, 1000])
def test_on_small_screens_the_panes_stack_with_the_call_before_the_drawing(browser: Browser, file: Path, width: int):
    with window(browser, file, viewport={"width": width, "height": 740}) as one:
        opened = one.open(episode_link(TRIP, "wrong", "?call=3"))
        parts = boxes(opened, ".strip .headline", ".strip .fix", ".pane.list", ".pane.detail", ".pane.picture")
        assert len(parts) == 5
        assert [box["y"] for box in parts] == sorted(box["y"] for box in parts)
        for above, below in pairwise(parts):
            assert above["y"] + above["height"] <= below["y"]
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_the_header_has_the_outcome_the_headline_and_the_fix(shown: Window, results: Results):
    one = next(one for one in results.results if one.agent == "wrong")
    opened = shown.open(episode_link(TRIP, "wrong"))
    expect(opened.locator(".strip .badge")).to_have_text("harmful, not accepted")
    expect(opened.locator(".strip .headline")).to_contain_text(one.explanation.headline)
    fix = [edit.text for edit in one.explanation.fix]
    assert fix
    assert opened.locator(".strip .fix li").all_inner_texts() == fix[:3]
    assert shown.open(episode_link(TRIP, "good")).locator(".fix").count() == 0


# The panes


def test_every_call_has_its_verdict_and_its_effect(shown: Window):
    words = shown.open(episode_link(TRIP, "wrong")).locator(".call .word").all_inner_texts()
    assert words[0] == "loop · only looked"
    assert words[1] == "progress · took effect"
    assert words[2].startswith("harmful, wrong argument · took effect")
    assert words[3].endswith("· refused")


def test_in_a_world_the_effect_is_what_changed(shown: Window, results: Results):
    opened = shown.open(episode_link(STORY, "oracle"))
    effects = opened.locator(".call .effect").all_inner_texts()
    assert {"only looked", "took effect"} == set(effects)
    one = next(one for one in results.results if one.agent == "oracle")
    assert len(effects) == len(one.episode.calls)
    opened.locator(".call").nth(effects.index("took effect")).click()
    state = opened.locator(".detail .block", has=opened.get_by_role("heading", name="State"))
    assert state.locator("thead th").all_inner_texts() == ["Place", "Before", "After"]
    before, after = state.locator("tbody tr").first.locator("td").all_inner_texts()
    assert before != after
    assert state.locator("tbody .sign").first.inner_text().strip() in ("≠", "+", "−")
    opened.locator(".call").nth(effects.index("only looked")).click()
    expect(state).to_have_count(0)


def test_messages_stand_between_the_calls_and_are_folded_to_two_lines(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong"))
    order = opened.locator(".calls > li").evaluate_all(
        "all => all.map(one => one.querySelector('.speaker')?.textContent ?? one.querySelector('.nth').textContent)"
    )
    assert order == ["Task", "User", "1", "Agent", "2", "Agent", "3", "4", "User"]
    long = opened.locator(".message.user button")
    line = float(long.evaluate("one => parseFloat(getComputedStyle(one).lineHeight)"))
    assert long.evaluate("one => one.clientHeight") < 3 * line
    assert long.get_attribute("aria-expanded") == "false"
    long.press("Enter")
    expect(long).to_have_attribute("aria-expanded", "true")
    assert long.evaluate("one => one.clientHeight") > 20 * line
    assert (opened.locator(".message.user .said").first.text_content() or "").count("Oslo") == 30
    expect(opened.locator(".message.agent").first).to_have_text("AgentI look.")


def test_arguments_stand_as_given_and_expected_with_a_sign_at_what_differs(shown: Window, results: Results):
    opened = shown.open(episode_link(TRIP, "wrong", "?call=3"))
    table = opened.locator(".detail .compared").first
    assert table.locator("thead th").all_inner_texts() == ["Argument", "Given", "Expected"]
    rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tr.differs").all()]
    one = next(one for one in results.results if one.agent == "wrong")
    wrong = one.explanation.notes[2].differences
    assert {"flights[1].number", "amount"} <= {path.removeprefix("≠ ") for path, _, _ in rows}
    assert sorted(rows) == sorted([f"≠ {one.path}", one.given, one.expected] for one in wrong)
    same = [row.locator("th, td").all_inner_texts() for row in table.locator("tr.same").all()]
    assert ["user", '"mia"', "= the same"] in same
    assert ["key", str(BIG), "= the same"] in same
    colours = [
        table.locator(f"tr.{name} td code").first.evaluate("one => getComputedStyle(one).color")
        for name in ("differs", "same")
    ]
    assert colours[0] != colours[1]
    opened.get_by_text("Arguments as sent").click()
    assert json.loads(opened.locator(".detail details pre").inner_text())["flights"] == FLIGHTS


def test_a_long_result_shows_twenty_lines_until_all_is_asked_for(shown: Window):
    opened = shown.open(episode_link(TRIP, "good", "?call=1"))
    result = opened.locator(".detail .block", has_text="Result")
    assert (result.locator("pre").text_content() or "").count("\n") == 19
    button = result.get_by_role("button")
    expect(button).to_have_text("Show all")
    button.press("Enter")
    assert json.loads(result.locator("pre").text_content() or "") == FIND.result
    expect(button).to_have_text("Show less")
    expect(button).to_have_attribute("aria-expanded", "true")


def test_the_detail_says_what_the_explanation_says_about_the_call(shown: Window, results: Results):
    one = next(one for one in results.results if one.agent == "wrong")
    opened = shown.open(episode_link(TRIP, "wrong", "?call=4"))
    expect(opened.locator(".detail")).to_contain_text(one.explanation.notes[3].text)
    expect(opened.locator(".detail .instruction")).to_contain_text(
        next(edit.text for edit in one.explanation.fix if edit.call == 3)
    )
    expect(opened.locator(".detail")).to_contain_text("no money")


# Keys


def test_n_and_p_go_from_harm_to_harm(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong"))
    live = opened.locator(".live")
    for key, said in [("n", "Call 3 of 4"), ("n", "Call 4 of 4"), ("n", "no harmful call after"), ("p", "Call 3 of 4"),
                      ("p", "no harmful call before")]:  # fmt: skip
        opened.keyboard.press(key)
        expect(live).to_contain_text(said)
    assert opened.evaluate("location.hash").endswith("?call=3")
    opened.get_by_role("button", name="Next harm").click()
    expect(live).to_contain_text("Call 4 of 4")


def test_j_and_k_go_through_the_episodes_of_the_last_list(shown: Window):
    opened = shown.open("#/?text=trip&outcome=harmful")
    agents = opened.evaluate("all.listed.map(row => row.agent)")
    assert len(agents) > 2
    opened.evaluate("location.hash = episodeLink(all.listed[0])")
    for key, place in [("j", 1), ("j", 2), ("k", 1), ("k", 0)]:
        opened.wait_for_selector(".screen")
        opened.keyboard.press(key)
        opened.wait_for_function(
            "agent => all.rows.find(row => row.agent === agent) && location.hash.includes(part(agent))",
            arg=agents[place],
        )
        expect(opened.locator("h1:visible bdi").first).to_have_text(opened.evaluate("visible", agents[place]))
    opened.keyboard.press("k")
    expect(opened.locator(".live")).to_have_text("This is the first episode of the list.")


def test_the_slash_leads_to_the_search_from_anywhere(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong", "?call=2"))
    opened.keyboard.press("/")
    expect(opened.locator("#overview")).to_be_visible()
    expect(opened.locator("#filters input[type=search]")).to_be_focused()
    opened.keyboard.type("n/?")
    expect(opened.locator("#filters input[type=search]")).to_have_value("n/?")
    expect(opened.locator("dialog")).to_be_hidden()
    opened.go_back()
    opened.go_back()


def test_the_keys_are_listed_in_a_dialog_that_keeps_the_focus(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong", "?call=2"))
    opened.keyboard.press("?")
    dialog = opened.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    for _ in range(3):
        opened.keyboard.press("Tab")
        assert opened.evaluate("['body', 'body > dialog *'].some(one => document.activeElement.matches(one))")
    keys = dialog.locator("kbd").all_inner_texts()
    assert {"←", "→", "Home", "End", "n", "p", "j", "k", "/", "?"} <= set(keys)
    opened.keyboard.press("n")
    expect(opened.locator(".live")).to_contain_text("Call 2 of 4")
    opened.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    opened.keyboard.press("n")
    expect(opened.locator(".live")).to_contain_text("Call 3 of 4")


def test_every_key_of_the_view_is_on_a_button_with_a_hint(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong"))
    keys = opened.locator("[aria-keyshortcuts]").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-keyshortcuts'))"
    )
    assert {"Home", "ArrowLeft", "ArrowRight", "End", "n", "p", "j", "k", "?"} <= set(keys)
    assert opened.locator(".controls [aria-keyshortcuts]:not(:has(kbd))").count() == 0


def test_keys_do_nothing_in_a_field(shown: Window):
    opened = shown.open(episode_link(TRIP, "wrong", "?call=2"))
    select = opened.locator(".neighbours select")
    select.focus()
    for key in ("n", "p", "End", "ArrowLeft"):
        opened.keyboard.press(key)
    expect(opened.locator(".live")).to_contain_text("Call 2 of 4")


# Odd episodes


def test_five_thousand_calls_are_walked_and_only_those_in_sight_are_laid_out(shown: Window):
    opened = shown.open(episode_link(TRIP, "many", "?call=4990"))
    expect(opened.locator(".call")).to_have_count(5000)
    current = opened.locator(".call[aria-current]")
    expect(current).to_be_in_viewport()
    expect(current).to_contain_text("4990")
    opened.keyboard.press("Home")
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".live")).to_contain_text("Call 1 of 5000")
    expect(current).to_be_in_viewport()
    skipped = "all => all.filter(one => one.firstChild.checkVisibility({contentVisibilityAuto: true}) === false).length"
    assert opened.locator(".calls > li").evaluate_all(skipped) > 4000


def test_huge_arguments_are_folded_and_still_compared(shown: Window):
    opened = shown.open(episode_link(TRIP, "huge", "?call=2"))
    assert len(json.dumps(HUGE)) > 200_000
    expect(opened.locator(".detail .compared tr.differs").first).to_contain_text("flights")
    assert opened.evaluate("document.querySelector('#view').textContent.length") < 50_000
    opened.get_by_text("Arguments as sent").click()
    opened.locator(".detail details").get_by_role("button", name="Show all").click()
    sent = json.loads(opened.locator(".detail details pre").text_content() or "")
    assert sent["flights"] == HUGE


def test_hostile_text_stays_text_in_every_pane(shown: Window):
    opened = shown.open(episode_link(TRIP, "bad", "?call=1"))
    for key in ("ArrowRight", "n", "p", "Home"):
        opened.keyboard.press(key)
    for button in opened.locator(".message button, .detail button").all():
        button.click()
    shown.go(f"#/diff/{TRIP.replace('/', '%2F')}/bad/0/wrong/0")
    assert opened.evaluate("window.__pwned") is None
    assert opened.locator("img").count() == 0
    assert "\u202e" not in opened.locator("#view").inner_text()


def test_an_episode_without_calls_says_so_and_shows_what_was_said(shown: Window):
    opened = shown.open(episode_link(TRIP, "none"))
    expect(opened.locator(".live")).to_have_text("The agent made no call.")
    expect(opened.locator(".pane.list h2")).to_have_text("No call")
    expect(opened.locator(".message")).to_have_count(5)
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("n")
    expect(opened.locator(".pane.detail")).to_contain_text("The agent made no call.")


def test_without_a_task_there_are_two_panes(shown: Window):
    opened = shown.open("#/episode/shop%2Fgone/gone/0?call=4")
    left, right = boxes(opened, ".pane.list", ".pane.detail")
    assert left["x"] + left["width"] <= right["x"]
    assert opened.locator(".pane.picture").count() == 0
    expect(opened.locator(".strip .gone")).to_contain_text("it was deleted")
    expect(opened.locator(".call").nth(3)).to_contain_text("refused")


# Two runs side by side


def side_by_side(shown: Window, one: str, other: str) -> Page:
    return shown.open(f"#/diff/{TRIP.replace('/', '%2F')}/{one}/0/{other}/0")


def test_two_runs_align_by_action_and_show_the_arguments_that_differ(shown: Window):
    opened = side_by_side(shown, "good", "wrong")
    rows = [row.locator("td").all_inner_texts() for row in opened.locator(".aligned tbody tr").all()]
    assert [row[2].split("\n")[0] for row in rows] == [
        "first difference: only on the right", "same", "same tool, other arguments", "only on the right",
    ]  # fmt: skip
    paths = opened.locator(".aligned .paths li").all_inner_texts()
    assert paths == ['≠ flights[1].number: "HAT175" | "HAT266"', "≠ amount: 67 | 78"]
    expect(opened.locator(".parting")).to_have_text(
        "They part at the start: wrong called list_all (call 1), and good did not."
    )


def test_where_two_runs_part_is_said_in_words(browser: Browser, tmp_path: Path):
    any_task = {TRIP: Task(TRIP, procedure=seq(tool("find")(user=ANY), tool("book")(amount=ANY)))}
    runs = {
        "a": (call('find(user="x")'), call("book(amount=1)")),
        "b": (call('find(user="x")'), call("book(amount=2)")),
        "c": (Call("find", {"user": "x"}, result="other"), call("book(amount=1)")),
        "d": (call('find(user="x")'),),
    }
    made = of(*(Episode(TRIP, calls, agent) for agent, calls in runs.items()), known=any_task)
    (tmp_path / "page.html").write_text(page(made), encoding="utf-8")
    said = {
        "b": "They part at call 2: both called book, with amount 1 in a and 2 in b.",
        "c": 'They part at call 1: both called find(user="x"), and got other answers.',
        "d": "They part after call 1: a called book(amount=1) (call 2), and d did not.",
        "a": "They made the same calls and got the same answers.",
    }
    with window(browser, tmp_path / "page.html") as one:
        for agent, words in said.items():
            opened = side_by_side(one, "a", agent)
            expect(opened.locator(".parting")).to_have_text(words)
            assert opened.locator(".aligned tr.first").count() == (agent != "a")
        expect(side_by_side(one, "a", "b").locator(".aligned tr.first")).to_contain_text("same step, other arguments")


def test_long_runs_are_compared_in_parts(shown: Window):
    opened = side_by_side(shown, "many", "wrong")
    rows = opened.locator(".aligned tbody tr")
    expect(rows).to_have_count(200)
    opened.get_by_role("button", name="Show 200 more").click()
    expect(rows).to_have_count(400)


def test_leaves_of_json_keep_every_digit_and_every_key(shown: Window):
    value: dict[str, Any] = {"a": [1.50, {"b c": BIG, "d": []}], "e": {}, 'f"\\': "x,]}:\n", "g": None}
    text = json.dumps(value, indent=2)
    found = shown.open().evaluate("text => [...leavesOf(['JSON', text])]", text)
    assert found == [
        ["a[0]", "1.5"], ['a[1]["b c"]', str(BIG)], ["a[1].d", "[]"], ["e", "{}"], ['"f\\"\\\\"', '"x,]}:\\n"'],
        ["g", "null"],
    ]  # fmt: skip


# Everyone can read it


def test_axe_finds_nothing_serious(browser: Browser, file: Path, screen: Screen):
    links = [
        episode_link(TRIP, "wrong", "?call=3"),
        episode_link(STORY, "oracle", "?call=4"),
        episode_link(TRIP, "none"),
        f"#/diff/{TRIP.replace('/', '%2F')}/good/0/wrong/0",
    ]
    with window(browser, file, **screen.options) as one:
        for link in links:
            assert serious(one.open(link)) == [], link
        one.open(links[0]).keyboard.press("?")
        assert serious(one.page) == []


def serious(opened: Page) -> list[tuple[str, str]]:
    found = Axe().run(opened).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found if rule["impact"] in ("serious", "critical")]
