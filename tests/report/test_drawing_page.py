"""Drawings on the page: lanes first, the walk over them, all runs of a task, the automaton behind a toggle."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from corepath import Episode, Task, action, any_order, call, choice, play, score, seq, task, tool
from corepath.drawing.lanes import find_lanes
from corepath.drawing.placing import Places
from corepath.files.lookup import all_sources
from corepath.play.built_in import built_in
from corepath.report.page import page
from corepath.report.results import Results
from corepath.report.traffic import MOST_POINTS, Traffic
from tests.browser import Screen, Window, window
from tests.report.test_page import episode_link, of, task_link, written

AGENTS = ("oracle", "left_out", "swapped", "wrong_argument", "undone", "do_nothing")
NAMES = ("transactions/merge_accounts", "transactions/flat_deposit", "farm/three_loads", "events/swap_two")


@pytest.fixture(scope="module")
def results() -> Results:
    known = {name: task(name) for name in NAMES}
    episodes = [play(built_in(agent), one, name=agent) for one in known.values() for agent in AGENTS]
    return of(*episodes, known=known)


@pytest.fixture(scope="module")
def file(results: Results, tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("page") / "page.html", results)


@pytest.fixture
def shown(browser, file):
    with window(browser, file, viewport={"width": 1280, "height": 900}) as one:
        yield one


# Counting runs


def traffic_of(*paths: str, procedure) -> tuple[Traffic, Task]:
    made = Task("t", procedure=procedure)
    block = find_lanes(made)
    assert block is not None
    traffic = Traffic(made, Places(block))
    for path in paths:
        calls = tuple(call(f"{letter}()") for letter in path)
        traffic.add(score(made, Episode("t", calls, "one")).trace)
    return traffic, made


A, B, C, D = (action(f"{letter}()") for letter in "abcd")


def test_runs_are_counted_where_they_went() -> None:
    traffic, _ = traffic_of("abd", "bad", "axcd", "a", "", "x", procedure=seq(any_order(A, choice(B, C)), D))
    record = traffic.to_dict('data-by="1 2" data-by="0" data-by="end"')
    assert (record["runs"], record["accepted"]) == (6, 3)
    assert record["done"] == [4, 2, 1, 3]
    assert record["harm"] == [1, 1, 0, 0, 0]
    assert record["stop"] == [2, 1, 0, 0, 0]
    assert record["lines"] == {"1 2": 3}


def test_points_say_where_runs_part_and_fail() -> None:
    traffic, made = traffic_of("abc", "abc", "axbc", "ac", "a", procedure=seq(A, B, C))
    (point,) = traffic.to_dict("")["points"]
    names = made.automaton.alphabet.names
    assert [names[symbol] for symbol in point["due"]] == ["b"]
    assert (point["runs"], point["failed"]) == (5, 3)
    ways = [
        (kind, names[what] if kind == "step" else what, number, runs) for kind, what, number, runs, _ in point["ways"]
    ]
    assert ways == [
        ("step", "b", 3, [0, 1, 2]), ("stop", "", 2, [3, 4]), ("harm", "c", 1, [3]), ("harm", "x", 1, [2])]  # fmt: skip


def test_calls_that_only_look_alike_are_counted_by_their_tool() -> None:
    made = Task("t", procedure=seq(A, B))
    block = find_lanes(made)
    assert block is not None
    traffic = Traffic(made, Places(block))
    for end in "xyz":
        calls = (call("a()"), call(f"write(text={json.dumps('long ' * 40 + end)})"))
        traffic.add(score(made, Episode("t", calls, "one")).trace)
    (point,) = traffic.to_dict("")["points"]
    assert sorted(way[:3] for way in point["ways"]) == [["harm", "write(…)", 3], ["stop", "", 3]]


def test_points_are_few_however_many_runs_there_are() -> None:
    parts = [action(f"{letter}()") for letter in "abcdefg"]
    paths = [f"{''.join(random.Random(number).sample('abcdefg', 7))}x" for number in range(60)]
    traffic, _ = traffic_of(*paths, procedure=any_order(*parts))
    points = traffic.to_dict("")["points"]
    assert len(points) <= MOST_POINTS
    assert [point["failed"] for point in points] == sorted((point["failed"] for point in points), reverse=True)


# The task's view


def test_a_task_shows_lanes_with_the_numbers_of_all_runs(shown: Window, results: Results) -> None:
    opened = shown.open(task_link(NAMES[0]))
    own = [one for one in results.results if one.task_name == NAMES[0]]
    assert opened.locator(".lanes .step").count() == 16
    expect(opened.locator(".lanes .end .marks")).to_have_text(
        re.compile(rf"✓{sum(bool(one.scores['accepted']) for one in own)}$")
    )
    first = opened.locator('.lanes .step[data-place="0"] .marks')
    done = sum(any(one.label == 'get_account(account="A100")' for one in run.episode.calls) for run in own)
    expect(first).to_contain_text(f"✓{done}")
    expect(opened.locator(".legend")).to_contain_text("runs that did the step")
    widths = opened.locator(".lanes .line").evaluate_all("lines => lines.map(one => getComputedStyle(one).strokeWidth)")
    assert len(set(widths)) > 1
    assert opened.locator(".drawing .scroll").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_points_lead_to_the_episodes(shown: Window) -> None:
    opened = shown.open(task_link(NAMES[0]))
    expect(opened.locator(".points > li").first).to_contain_text("went wrong")
    link = opened.locator(".points a").first
    name = link.inner_text()
    link.click()
    expect(opened.locator("h1:visible")).to_contain_text(name)


def test_the_automaton_is_behind_a_toggle_with_fit_and_zoom(shown: Window) -> None:
    opened = shown.open(task_link(NAMES[0]))
    expect(opened.locator(".automaton")).to_have_count(0)
    opened.get_by_role("button", name="Automaton", exact=True).click()
    picture = opened.locator("svg.automaton")
    expect(picture).to_have_count(1)
    expect(opened.locator(".lanes")).to_have_count(0)

    def width() -> int:
        return int(picture.get_attribute("width") or 0)

    before = width()
    opened.get_by_role("button", name="Larger drawing").click()
    assert width() > before
    opened.get_by_role("button", name="Fit drawing").click()
    region = opened.locator(".drawing .scroll")
    assert region.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight")
    fitted = width()
    region.focus()
    opened.keyboard.press("+")
    assert width() > fitted
    opened.keyboard.press("-")
    opened.keyboard.press("-")
    assert width() < fitted
    opened.keyboard.press("0")
    assert width() == fitted
    opened.get_by_role("button", name="Lanes", exact=True).press("Enter")
    expect(opened.locator(".lanes .end .marks")).to_contain_text("✓")


def test_the_wheel_scrolls_the_page_and_zooms_nothing(shown: Window) -> None:
    opened = shown.open(task_link(NAMES[0]))
    size = opened.locator(".lanes").get_attribute("width")
    opened.locator(".lanes").hover()
    opened.mouse.wheel(0, 300)
    for _ in range(100):
        if opened.evaluate("scrollY"):
            break
        opened.wait_for_timeout(50)
    assert opened.evaluate("scrollY") > 0
    assert opened.locator(".lanes").get_attribute("width") == size


def test_the_views_with_drawings_are_accessible(browser, file: Path, screen: Screen) -> None:
    with window(browser, file, **screen.options) as one:
        for link in (task_link(NAMES[0]), task_link(NAMES[3]), episode_link(NAMES[0], "swapped", "?call=5")):
            opened = one.open(link)
            found = Axe().run(opened)
            assert found.violations_count == 0, found.generate_report()
            assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_can_be_read_on_their_steps(browser, file: Path, scheme) -> None:
    with window(browser, file, color_scheme=scheme) as one:
        opened = one.open(task_link(NAMES[0]))
        colours = opened.evaluate(
            """() => [...document.querySelectorAll('.lanes text, .lanes tspan')].map(text => {
                const box = text.closest('g')?.querySelector('rect');
                const paper = box ? getComputedStyle(box).fill : getComputedStyle(document.body).backgroundColor;
                return [getComputedStyle(text).fill, paper];
            })"""
        )
        assert colours
        for ink, paper in {tuple(pair) for pair in colours}:
            assert contrast(ink, paper) >= 4.5, (ink, paper)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, `rgb(…)`, as WCAG defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# The walk


def test_the_walk_moves_from_box_to_box(shown: Window, results: Results) -> None:
    run = next(one for one in results.results if (one.task_name, one.agent) == (NAMES[2], "oracle"))
    opened = shown.open(episode_link(NAMES[2], "oracle"))
    now = opened.locator(".lanes .now")
    expect(now).to_have_class(re.compile("start"))
    seen = []
    for number in range(len(run.episode.calls)):
        opened.keyboard.press("ArrowRight")
        expect(opened.locator(".live")).to_contain_text(f"Call {number + 1} of")
        seen.append(now.get_attribute("data-place"))
    assert len(set(seen)) == len(list(find_lanes(task(NAMES[2])).steps))  # type: ignore[union-attr]
    assert opened.locator(".lanes .step .marks:has-text('✓')").count() == len(set(seen))
    expect(opened.locator(".lanes .end.seen")).to_have_count(1)


def test_harmful_calls_have_a_cross_where_they_were_made(shown: Window, results: Results) -> None:
    run = next(one for one in results.results if (one.task_name, one.agent) == (NAMES[2], "swapped"))
    harms = [harm["index"] for harm in run.scores["harms"]]
    assert harms
    opened = shown.open(episode_link(NAMES[2], "swapped", f"?call={harms[0]}"))
    before = opened.locator(".lanes .now").get_attribute("data-place")
    expect(opened.locator(".lanes .bad")).to_have_count(0)
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".lanes .now.hurt .bad")).to_have_text(re.compile("✕"))
    assert opened.locator(".lanes .now").get_attribute("data-place") == before
    expect(opened.locator(".lanes .tried")).to_have_count(1)


WALK = """async () => {
    const wrong = [], walked = [];
    for (const row of all.rows) {
        const task = await taskOf(row);
        const episode = ofRow(task, row);
        const picture = drawing(task);
        document.body.append(picture.element);
        const now = () => picture.element.querySelector('.lanes .now');
        let last = null;
        episode.calls.forEach((call, number) => {
            picture.mark(episode.calls.slice(0, number + 1));
            const here = now();
            const moved = here !== last;
            const right = advances(call) ? moved && Number(here.dataset.action) === call.action : !last || !moved;
            if (!right) wrong.push([row.task, row.agent, number]);
            last = here;
        });
        const crosses = [...picture.element.querySelectorAll('.lanes .bad')]
            .map(one => Number(one.textContent.replace(/\\D/g, '') || 1));
        const harms = episode.calls.filter(({ kind }) => kind === 'harm').length;
        if (crosses.reduce((sum, one) => sum + one, 0) !== harms) wrong.push([row.task, row.agent, 'crosses']);
        picture.element.remove();
        walked.push(episode.calls.filter(advances).length);
    }
    return { wrong, episodes: walked.length, steps: walked.reduce((sum, one) => sum + one, 0) };
}"""


def test_the_walk_moves_at_every_step_of_every_task(browser, tmp_path: Path, times: int) -> None:
    """Each task is played by one agent, by turns, and with --long by all of them."""
    known = {source.id: source.make(0) for source in all_sources([])}
    agents = ("oracle", "swapped", "wrong_argument")
    pairs = [
        (agent, one)
        for number, one in enumerate(known.values())
        for agent in (agents if times > 1 else agents[number % len(agents) :][:1])
    ]
    episodes = [play(built_in(agent), one, name=agent) for agent, one in pairs]
    made = of(*episodes, known=known)
    with window(browser, written(tmp_path / "page.html", made)) as one:
        found = one.open().evaluate(WALK)
    assert found["wrong"] == []
    assert found["episodes"] == len(pairs) >= len(known)
    assert found["steps"] > 2 * len(pairs)


def test_a_long_repetition_counts_its_steps(browser, tmp_path: Path) -> None:
    from corepath import repeat

    known = {"shop/buy": Task("shop/buy", procedure=repeat(tool("buy")(), 1, 30))}
    made = of(Episode("shop/buy", tuple(call("buy()") for _ in range(3)), "one"), known=known)
    with window(browser, written(tmp_path / "page.html", made)) as one:
        opened = one.open("#/episode/shop%2Fbuy/one/0")
        signs = []
        for _ in range(3):
            opened.keyboard.press("ArrowRight")
            signs.append(opened.locator(".lanes .step .good").text_content())
        assert signs == ["✓", "✓2", "✓3"]


def test_hostile_labels_stay_text_in_lanes(browser, tmp_path: Path) -> None:
    evil = "</text><script>alert(1)</script><img src=x onerror=alert(1)>"
    known = {"shop/buy": Task("shop/buy", procedure=seq(tool("buy")(what=evil), tool("pay")()))}
    calls = (call(f"buy(what={json.dumps(evil)})"), call(f"steal(what={json.dumps(evil)})"))
    made = of(Episode("shop/buy", calls, "one"), known=known)
    with window(browser, written(tmp_path / "page.html", made)) as one:
        opened = one.open(task_link("shop/buy"))
        expect(opened.locator(".lanes .step")).to_have_count(2)
        assert opened.locator(".lanes script, .lanes img, .points script, .points img").count() == 0
        expect(opened.locator(".points")).to_contain_text("<script>")


def test_the_page_of_a_task_given_as_an_automaton_has_lanes_if_it_decomposes(browser, tmp_path: Path) -> None:
    text = "version: 1\nid: bank/two\nprompt: x\nactions: {a: 'a()', b: 'b()', c: 'c()'}\nstart: s\naccept: [e]\n"
    text += "transitions: {s: {a: p, b: q}, p: {b: r}, q: {a: r}, r: {c: e}}\n"
    (tmp_path / "two.yaml").write_text(text)
    from corepath import load_tasks

    known = dict(load_tasks(tmp_path / "two.yaml"))
    made = of(Episode("bank/two", (call("b()"), call("a()"), call("c()")), "one"), known=known)
    assert Counter(one.scores["accepted"] for one in made.results) == {True: 1}
    assert "lanes" in page(made)
    with window(browser, written(tmp_path / "page.html", made)) as one:
        opened = one.open("#/episode/bank%2Ftwo/one/0")
        places = []
        for _ in range(3):
            opened.keyboard.press("ArrowRight")
            places.append(opened.locator(".lanes .now").get_attribute("data-place"))
        assert places == ["1", "0", "2"]
