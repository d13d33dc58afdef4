"""Drawings of automata: their geometry, their labels, and hostile text."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from corepath import Automaton, Task, action, any_order, choice, installed_worlds, optional, seq, world
from corepath.drawing.collapse import Group, collapse
from corepath.drawing.draw import Drawing, draw
from corepath.drawing.layout import Edge, Size, lay_out
from corepath.drawing.shapes import Box
from corepath.drawing.text import cells, fit_text
from tests.conftest import Run
from tests.drawing.geometry import SVG, check, elements, find_faults, points, state_boxes, states_of_boxes
from tests.machines import as_task, random_machine

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "a & b \"c\" 'd' ]]>",
    "right\u202eto left\u2066 and \u200f",
    "nul\x00 bell\x07 escape\x1b[31m line\nline\ttab",
    "lone \ud800 surrogate \udfff, \ufffe and \uffff",
    "e" + "\u0301" * 5_000,
    "界" * 300,
    "x" * 10_000,
    "  two  blanks  ",
    "",
]


@cache
def tasks(name: str) -> dict[str, Task]:
    return world(name).tasks()


def made_up_harms(automaton: Automaton) -> dict[int, list[tuple[str, int]]]:
    """Harmful calls at every other state, one to five of them."""
    calls = [("delete_account(account_id='A123', force=true)", 12_345), ("b()", 3), ("c(a=2)", 1), ("d()", 1), ("e", 1)]
    return {state: calls[: 1 + state % 5] for state in range(0, len(automaton.states), 2)}


@pytest.mark.parametrize("collapsed", [False, True], ids=["full", "collapsed"])
@pytest.mark.parametrize("name", sorted(installed_worlds()))
def test_nothing_overlaps_in_the_drawing_of_any_task(name: str, collapsed: bool) -> None:
    for task in tasks(name).values():
        check(task.automaton, draw(task.automaton, collapsed=collapsed, name=task.id))


@pytest.mark.parametrize("collapsed", [False, True], ids=["full", "collapsed"])
@pytest.mark.parametrize("name", sorted(installed_worlds()))
def test_there_is_room_for_harmful_calls_in_the_drawing_of_any_task(name: str, collapsed: bool) -> None:
    for task in tasks(name).values():
        harms = made_up_harms(task.automaton)
        drawing = draw(task.automaton, harms, collapsed=collapsed)
        check(task.automaton, drawing)
        boxes = states_of_boxes(drawing)
        assert set(harms) <= {
            state for one in elements(drawing, "harm") for state in boxes[int(one.attrib["data-from"])]
        }


@pytest.mark.parametrize("cyclic", [False, True], ids=["acyclic", "cyclic"])
def test_random_automata_draw_without_overlap(cyclic: bool, times: int) -> None:
    rng = random.Random(5)
    for _ in range(60 * times):
        automaton = as_task(random_machine(rng, states=9, symbols=5, cyclic=cyclic), cyclic=cyclic).automaton
        for collapsed in (False, True):
            check(automaton, draw(automaton, made_up_harms(automaton), collapsed=collapsed))


@pytest.mark.parametrize("count", [7, 8])
def test_hundreds_of_states_draw(count: int) -> None:
    automaton = Automaton.from_procedure(any_order(*(action(f"part_{number}()") for number in range(count))))
    drawing = draw(automaton)
    check(automaton, drawing)
    assert len(list(elements(drawing, "state"))) == 2**count
    assert len(list(elements(drawing, "edge"))) == count * 2 ** (count - 1)
    assert drawing.hidden == ""


def test_progress_that_goes_back_is_drawn_going_back() -> None:
    automaton = Automaton.from_transitions(
        {name: action(f"{name}()") for name in ("go", "undo", "end")},
        "a", ["c"], {"a": {"go": "b"}, "b": {"undo": "a", "end": "c"}, "c": {}}, golden="simple_paths",
    )  # fmt: skip
    drawing = draw(automaton)
    check(automaton, drawing)
    ends = {}
    for edge in elements(drawing, "edge"):
        line = next(edge.iter(f"{SVG}path"))
        first, *_, last = points(line.attrib["d"])
        ends[edge.attrib["data-from"], edge.attrib["data-to"]] = last[0] - first[0]
    assert ends["0", "1"] > 0
    assert ends["1", "2"] > 0
    assert ends["1", "0"] < 0


def test_edges_that_need_not_cross_do_not() -> None:
    size = Size(5, 5, 5, 5)
    ends = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 6), (5, 6)]
    layout = lay_out([size] * 7, [Edge(tail, head, size) for tail, head in ends])
    ys = [y for _, y in layout.places]
    assert (ys[2] < min(ys[1], ys[3]) and ys[5] < ys[4]) or (ys[2] > max(ys[1], ys[3]) and ys[5] > ys[4])


def test_a_chain_between_two_forks_is_straight() -> None:
    automaton = tasks("navigation")["navigation/through_the_gate"].automaton
    at = state_boxes(draw(automaton))
    chain = [5, 6, 7, 8, 9]
    assert all(automaton.due(state) and len(automaton.due(state)) == 1 for state in chain[:-1])
    assert len({at[state].top for state in chain}) == 1


def test_a_chain_is_straight() -> None:
    automaton = Automaton.from_procedure(seq(*(action(f"step_{number}()") for number in range(9))))
    drawing = draw(automaton, {3: [("oops()", 1)]})
    assert len({box.top for box in state_boxes(drawing).values()}) == 1
    assert all(re.findall("[A-Za-z]", path) == ["M", "h", "l"] for path in lines(drawing))


def lines(drawing: Drawing) -> list[str]:
    return [next(edge.iter(f"{SVG}path")).attrib["d"] for edge in elements(drawing, "edge")]


# Labels and attributes


def test_parallel_actions_are_one_edge_with_a_label_each() -> None:
    automaton = Automaton.from_procedure(seq(choice(action("a()"), action("b()"), action("c()")), action("d()")))
    edges = {
        (edge.attrib["data-from"], edge.attrib["data-to"]): "".join(edge.itertext())
        for edge in elements(draw(automaton), "edge")
    }
    assert edges == {("0", "1"): "abc", ("1", "2"): "d"}


def test_accepting_states_have_two_rings_and_the_start_an_arrow() -> None:
    first, second = elements(draw(Automaton.from_procedure(action("a()"))), "state")
    assert (len(list(first.iter(f"{SVG}circle"))), len(list(second.iter(f"{SVG}circle")))) == (1, 2)
    assert (len(list(first.iter(f"{SVG}path"))), len(list(second.iter(f"{SVG}path")))) == (1, 0)


def test_harmful_calls_past_the_third_are_counted_and_listed() -> None:
    automaton = Automaton.from_procedure(action("a()"))
    drawing = draw(automaton, {0: [("rare()", 1), ("often(x='<b>')", 9), ("b()", 4), ("c()", 3), ("d()", 2)]})
    harms = list(elements(drawing, "harm"))
    assert [harm.get("data-harm") for harm in harms] == ["often(x='<b>')", "b()", "c()", None]
    assert "".join(harms[0].itertext()) == "often(x='<b>') ×9"
    assert "".join(harms[3].itertext()) == "d() ×2, rare() ×1+2 others"
    assert drawing.hidden == "Counted but not named: 2 harmful calls at 1 state."


def test_self_loops_past_the_third_are_counted_and_listed() -> None:
    automaton = Automaton.from_transitions(
        {name: action(f"{name}()") for name in "abcdefg"},
        "q", ["r"], {"q": {**dict.fromkeys("abcdef", "q"), "g": "r"}, "r": {}},
    )  # fmt: skip
    drawing = draw(automaton)
    check(automaton, drawing)
    (loop,) = elements(drawing, "loop")
    more = loop.findall(f"{SVG}text")[0]
    assert more.attrib["data-actions"] == "3 4 5"
    assert "".join(more.itertext()) == "d, e, f+3 more"
    assert drawing.hidden == "Counted but not named: 3 self-loops at 1 state."


def test_self_loops_of_nearly_all_states_are_said_once() -> None:
    automaton = tasks("arm")["arm/weigh_in_place"].automaton
    names = automaton.alphabet.names
    drawing = draw(automaton)
    (legend,) = elements(drawing, "anywhere")
    said = {label.get("data-action"): "".join(label.itertext()) for label in legend.iter(f"{SVG}text")}
    assert said.pop(None) == "↺ anywhere:"
    everywhere = {number for number in range(len(names)) if all(number in edges for edges in automaton.delta)}
    assert {int(number or 0) for number, words in said.items() if "not in" not in words} == everywhere
    assert said[str(names.index("unlock_safety"))].endswith("unlock_safety (not in q13)")
    drawn = {label.get("data-action") for loop in elements(drawing, "loop") for label in loop.iter(f"{SVG}text")}
    assert drawn.isdisjoint(said)


def test_a_collapsed_drawing_says_what_is_in_its_boxes() -> None:
    automaton = Automaton.from_procedure(
        seq(
            action("open_it()"),
            any_order(*(action(f"part_{number}()") for number in range(6))),
            action("check()"),
            choice(seq(action("a()"), action("b()")), seq(action("c()"), action("d()"), action("e()"))),
            *(action(f"step_{number}()") for number in range(15)),
        )
    )
    groups = collapse(automaton)
    assert [(group.caption, len(group.states)) for group in groups if group.caption] == [
        (("any of 720 orders", "6 steps", "62 states"), 62),
        (("2 ways", "2–3 steps", "3 states"), 3),
        (("… 13 more steps",), 12),
    ]
    drawing = draw(automaton, {3: [("oops()", 2)], 4: [("oops()", 3)]}, collapsed=True)
    check(automaton, drawing)
    assert drawing.hidden == "77 of 85 states are folded into 3 boxes, with the steps and self-loops among them."
    (harm,) = elements(drawing, "harm")
    assert "".join(harm.itertext()) == "oops() ×5"
    assert {3, 4} <= set(states_of_boxes(drawing)[int(harm.attrib["data-from"])])
    labels = [label.text for edge in elements(drawing, "edge") for label in edge.iter(f"{SVG}text")]
    assert labels == ["open_it", "check", "step_0", "step_14"]


def test_ways_that_end_in_several_states_are_counted_as_such() -> None:
    ending = any_order(action("normal_speed()"), optional(action("close_it()")))
    automaton = Automaton.from_procedure(seq(action("open_it()"), action("pick()"), action("place()"), ending))
    last = collapse(automaton)[-1]
    assert automaton.accepting <= set(last.states)
    assert last.caption == ("3 ways to end", "1–2 steps", "3 states")


def test_what_is_not_folded_is_what_every_path_goes_through(times: int) -> None:
    rng = random.Random(7)
    for _ in range(200 * times):
        cyclic = rng.random() < 0.5
        automaton = as_task(random_machine(rng, states=9, symbols=5, cyclic=cyclic), cyclic=cyclic).automaton
        groups = collapse(automaton)
        assert sorted(state for group in groups for state in group.states) == list(range(len(automaton.states)))
        on_all = set.intersection(*(set(states) for _, states in automaton._simple_paths(automaton.start)))
        boxed = {state for group in groups if group.caption for state in group.states}
        assert on_all.isdisjoint(boxed)
        alone = {group.states[0] for group in groups if not group.caption} - on_all
        cuts = [group.states[0] for group in groups if group.states[0] in on_all]
        order = [group.states[0] for group in groups]
        for one, other in pairwise([*map(order.index, cuts), len(order)]):
            assert other - one <= 2
        assert len(alone) <= len(cuts)
        if not cyclic:
            check_counts(automaton, [group for group in groups if group.caption])


def test_a_box_with_circles_says_that_there_are_ways_back() -> None:
    automaton = Automaton.from_transitions(
        {name: action(f"{name}()") for name in ("a", "b", "undo")},
        "start", ["end"],
        {"start": {"a": "p", "b": "q"}, "p": {"a": "q", "b": "end"}, "q": {"undo": "p", "a": "end"}, "end": {}},
        golden="simple_paths",
    )  # fmt: skip
    first, box, last = collapse(automaton)
    assert (first.states, last.states) == ((0,), (3,))
    assert box.caption == ("with ways back", "2 states")
    check(automaton, draw(automaton, collapsed=True))


def check_counts(automaton: Automaton, boxes: list[Group]) -> None:
    """Assert that each box counts the ways of the golden paths through it."""
    for box in boxes:
        through = set()
        for symbols, states in automaton._simple_paths(automaton.start):
            inner = [place for place, state in enumerate(states) if state in box.states]
            if inner:
                through.add(symbols[inner[0] - 1 : inner[-1] + 1])
        same = len({tuple(sorted(way)) for way in through}) == 1 and len(through) > 1
        said = f"any of {len(through)} orders" if same else f"{len(through)} way{'s' * (len(through) > 1)}"
        assert box.caption[0].removesuffix(" to end") == said


# Hostile text


@pytest.mark.parametrize("collapsed", [False, True], ids=["full", "collapsed"])
def test_hostile_names_are_shown_and_nothing_else(collapsed: bool) -> None:
    states = [f"{name}{number}" for number, name in enumerate(HOSTILE)]
    names = HOSTILE[:-1]
    actions = {name: action(f"tool(x={number})") for number, name in enumerate(names)}
    onwards = {one: {name: other} for (one, other), name in zip(pairwise(states), names, strict=True)}
    onwards[states[0]] = {names[0]: states[1], **dict.fromkeys(names[1:], states[0])}
    onwards[states[2]] |= {names[5]: states[7], names[6]: states[7]}
    automaton = Automaton.from_transitions(actions, states[0], [states[-1]], {**onwards, states[-1]: {}})
    harms = {0: [(name, 1) for name in HOSTILE], 3: [(name * 100, 7) for name in HOSTILE[:3]]}
    drawing = draw(automaton, harms, collapsed=collapsed, name=HOSTILE[0] + HOSTILE[5])
    assert list(find_faults(drawing)) == []
    root = ET.fromstring(drawing.svg.encode())
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "title", "desc", "style", "g", "path", "circle", "rect", "text", "tspan"}
    marks = {name for element in root.iter() for name in element.attrib if not name.startswith("data-")}
    assert marks <= {
        "class",
        "role",
        "width",
        "height",
        "viewBox",
        "aria-label",
        "transform",
        "x",
        "y",
        "dy",
        "r",
        "rx",
        "d",
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]", drawing.svg)
    assert "url(" not in drawing.svg
    assert "\\u202e" in drawing.svg
    assert "\\ud800" in drawing.svg
    titles = ["".join(element.itertext()) for element in root.iter(f"{SVG}title")]
    assert any("(10,00" in title for title in titles)
    assert max(map(len, titles)) < 2_000


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    made = fit_text("transfer(source='A', target='B', amount=result_of(balance(account='A'), 'amount'))", 12, 26, 2)
    assert made.lines == ("transfer(source='A',", "target='B', amo…'amount'))")
    assert made.full.startswith("transfer(source='A', target='B', amount=result_of(")
    assert all(cells(line) <= 26 for line in made.lines)


@pytest.mark.parametrize(("shown", "width"), [("abc", 3), ("界界", 4), ("e\u0301", 1), ("", 0), ("…é×", 3)])
def test_widths_are_those_of_a_terminal(shown: str, width: int) -> None:
    assert cells(shown) == width


# The layout alone


def test_a_layout_keeps_things_apart_and_edges_off_them(times: int) -> None:
    rng = random.Random(3)
    for _ in range(40 * times):
        count = rng.randint(1, 14)
        nodes = [Size(*(rng.uniform(4, 60) for _ in range(4))) for _ in range(count)]
        wanted = {(rng.randrange(count), rng.randrange(count)) for _ in range(2 * count)}
        edges = [Edge(a, b, Size(*(rng.uniform(1, 40) for _ in range(4)))) for a, b in sorted(wanted) if a != b]
        layout = lay_out(nodes, edges)
        assert lay_out(nodes, edges) == layout
        things = [(place, size) for place, size in zip(layout.places, nodes, strict=True)]
        things += [(route.label, edge.label) for route, edge in zip(layout.routes, edges, strict=True)]
        boxes = [
            Box(x - size.left, y - size.above, x + size.right, y + size.below, str(number))
            for number, ((x, y), size) in enumerate(things)
        ]
        for place, one in enumerate(boxes):
            for other in boxes[place + 1 :]:
                assert (
                    one.right <= other.left
                    or other.right <= one.left
                    or one.bottom < other.top
                    or other.bottom < one.top
                )
        for number, (route, edge) in enumerate(zip(layout.routes, edges, strict=True)):
            own = {edge.tail, edge.head, count + number}
            for lane in route.lanes:
                for box in boxes:
                    left, right = sorted((lane.begin, lane.end))
                    if int(box.what) not in own and left < box.right and box.left < right:
                        assert not box.top < lane.y < box.bottom


# The command


def test_show_draws_the_same_bytes_every_time(corepath: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = corepath("show", "transactions/mutual_debts", "--as", "svg", "--view", "automaton")
        assert (done.returncode, done.stderr) == (0, "")
        seen.add(done.stdout)
    task = tasks("transactions")["transactions/mutual_debts"]
    assert seen == {draw(task.automaton, name=task.id).svg}


def test_show_collapses_a_large_automaton_and_says_so(corepath: Run) -> None:
    done = corepath("show", "navigation/patrol", "--as", "svg", "--view", "automaton")
    assert done.returncode == 0
    assert "74 of 77 states are folded into 1 box" in done.stderr
    task = tasks("navigation")["navigation/patrol"]
    assert done.stdout == draw(task.automaton, collapsed=True, name=task.id).svg


def test_show_draws_one_task_at_a_time(corepath: Run, tmp_path) -> None:
    file = tmp_path / "tasks.yaml"
    one = "version: 1\nid: {}\nprompt: x\nactions: {{a: 'a()'}}\nprocedure: a\n"
    file.write_text("---\n".join(one.format(name) for name in ("first", "second")))
    done = corepath("show", file, "--as", "svg")
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 tasks" in done.stderr
    done = corepath("show", "second", "--tasks", file, "--as", "svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert 'aria-label="second"' in done.stdout
