"""Drawings as lanes: what they allow, their geometry, the places of paths, and hostile text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from corepath import Automaton, Task, action, any_order, choice, installed_worlds, one_by_one, optional, repeat, seq
from corepath import world as find_world
from corepath.drawing.blocks import Block, Form
from corepath.drawing.draw import Drawing
from corepath.drawing.lanes import draw_lanes, find_lanes
from corepath.drawing.placing import Places, allows_the_same, begin
from corepath.drawing.shapes import Box
from corepath.notation.procedure import Procedure
from corepath.rules.parser import parse_rule
from tests.conftest import Run
from tests.drawing.geometry import CELL, SLACK, SVG, find_overlaps, grid, parse_svg, points, walk
from tests.drawing.test_drawing import HOSTILE
from tests.machines import as_task, random_machine

WORLDS = sorted(installed_worlds())
A, B, C, D, E, F = (action(f"{name}()") for name in "abcdef")


@cache
def tasks(name: str) -> dict[str, Task]:
    return find_world(name).tasks()


@cache
def every_task() -> dict[str, Task]:
    return {name: task for world in WORLDS for name, task in tasks(world).items()}


def of(procedure) -> Task:
    return Task("t", procedure=procedure)


def lanes_of(task: Task) -> Block:
    block = find_lanes(task)
    assert block is not None
    return block


def drawn(task: Task, **options) -> Drawing:
    made = draw_lanes(task, **options)
    assert made is not None
    return made


def text_of(block: Block, names: tuple[str, ...]) -> str:
    """A block as text: `>>` then, `&` in any order, `%` one by one, `~` a partial order, `!` in one go."""
    if block.form is Form.STEP:
        return names[block.symbol]
    inner = [text_of(part, names) for part in block.parts]
    signs = {Form.SEQ: " >> ", Form.ANY_ORDER: " & ", Form.ONE_BY_ONE: " % ", Form.CHOICE: " | "}
    if block.form in signs:
        return f"({signs[block.form].join(inner)})"
    if block.form is Form.PARTIAL_ORDER:
        return " ".join(f"{inner[tail]}<{inner[head]}" for tail, head in sorted(block.links))
    return f"!{inner[0]}" if block.form is Form.UNBROKEN else f"{inner[0]}{{{block.least},{block.most}}}"


def given_outright(task: Task) -> Task:
    """The same task with its automaton instead of its procedure."""
    automaton = task.automaton
    made = Automaton(automaton.alphabet, automaton.states, automaton.delta, automaton.start, automaton.accepting)
    return Task(task.id, automaton=made)


def found_in(procedure) -> str | None:
    """The block that is found in the automaton of a procedure, as text."""
    task = given_outright(of(procedure))
    block = find_lanes(task)
    return None if block is None else text_of(block, task.automaton.alphabet.names)


# What lanes allow


@pytest.mark.parametrize("name", WORLDS)
def test_the_lanes_of_every_task_allow_exactly_what_its_automaton_does(name: str) -> None:
    for task in tasks(name).values():
        assert allows_the_same(lanes_of(task), task.automaton), task.id


@pytest.mark.parametrize("name", WORLDS)
def test_lanes_are_recovered_from_automata_given_outright(name: str) -> None:
    for task in tasks(name).values():
        block = find_lanes(given_outright(task))
        assert block is None or allows_the_same(block, task.automaton), task.id


def test_lanes_are_recovered_from_nearly_all_automata() -> None:
    missing = [name for name, task in every_task().items() if find_lanes(given_outright(task)) is None]
    assert len(missing) <= 3, missing


def test_random_automata_have_lanes_that_allow_the_same_or_none(times: int) -> None:
    rng = random.Random(11)
    found = 0
    for _ in range(300 * times):
        automaton = as_task(random_machine(rng, states=7, symbols=4, cyclic=False), cyclic=False).automaton
        block = find_lanes(Task("t", automaton=automaton))
        found += block is not None
        assert block is None or allows_the_same(block, automaton)
    assert found > 200


def test_an_automaton_with_circles_has_no_lanes() -> None:
    automaton = Automaton.from_transitions(
        {name: action(f"{name}()") for name in ("go", "undo", "end")},
        "a", ["c"], {"a": {"go": "b"}, "b": {"undo": "a", "end": "c"}, "c": {}}, golden="simple_paths",
    )  # fmt: skip
    assert draw_lanes(Task("t", automaton=automaton)) is None


@pytest.mark.parametrize(
    ("procedure", "text"),
    [
        (seq(A, B, C), "(a >> b >> c)"),
        (seq(A, any_order(B, seq(C, D)), E), "(a >> (b & (c >> d)) >> e)"),
        (seq(A, choice(B, seq(C, D)), E), "(a >> (b | (c >> d)) >> e)"),
        (one_by_one(seq(A, B), seq(C, D)), "((a >> b) % (c >> d))"),
        (seq(A, optional(B)), "(a >> b{0,1})"),
    ],
)
def test_blocks_are_found_in_an_automaton(procedure, text: str) -> None:
    assert found_in(procedure) == text


def test_an_order_that_is_no_nest_of_forks_is_a_partial_order() -> None:
    task = tasks("transactions")["transactions/flat_deposit"]
    block = lanes_of(task)
    assert block.form is Form.PARTIAL_ORDER
    assert sorted(block.links) == [(0, 3), (1, 2), (1, 3), (3, 4)]


def test_orders_that_are_listed_are_drawn_as_what_they_are() -> None:
    files = tasks("files")
    names = tuple("abcdefghijklm")
    assert text_of(lanes_of(files["files/check_backup"]), names) == "((a >> (c & e)) & (b >> (d & f)))"
    assert text_of(lanes_of(files["files/rename_everywhere"]), names) == (
        "(a >> ((b >> !(e >> f >> g)) & (c >> !(h >> i >> j)) & (d >> !(k >> l >> m))))"
    )


def test_what_is_done_one_by_one_is_not_drawn_as_a_choice() -> None:
    for parts in (2, 3, 4):
        pieces = [seq(action(f"take(n={number})"), action("put()")) for number in range(parts)]
        block = lanes_of(of(seq(A, one_by_one(*pieces), B)))
        assert block.parts[1].form is Form.ONE_BY_ONE
        assert len(block.parts[1].parts) == parts


def test_a_short_repetition_is_unrolled_and_a_long_one_is_not() -> None:
    short, long = lanes_of(of(repeat(A, 2, 4))), lanes_of(of(repeat(A, 2, 40)))
    assert len(list(short.steps)) == 4
    assert len(list(long.steps)) == 1
    for task in (of(repeat(A, 2, 4)), of(repeat(A, 2, 40)), of(repeat(optional(A), 1, 3)), of(repeat(seq(A, B), 0, 3))):
        assert allows_the_same(lanes_of(task), task.automaton)


def test_deep_and_long_procedures_are_left_to_the_automaton() -> None:
    deep: Procedure = A
    for _ in range(150):
        deep = optional(seq(B, deep))
    assert draw_lanes(of(seq(*(action(f"step_{number}()") for number in range(300))))) is None
    assert draw_lanes(of(deep)) is None


# Places


def test_every_step_of_every_golden_path_has_a_place_of_its_own() -> None:
    for task in every_task().values():
        block = lanes_of(task)
        places, symbol_at = Places(block), {step.place: step.symbol for step in block.steps}
        names = {name: number for number, name in enumerate(task.automaton.alphabet.names)}
        for path, _ in zip(task.automaton.golden_paths(), range(40), strict=False):
            symbols = [names[name] for name in path]
            found = places.of(symbols)
            assert [symbol_at[place] for place in found] == symbols, task.id
            assert len(set(found)) == len(found), task.id


def test_random_paths_have_places_that_the_block_allows(times: int) -> None:
    rng = random.Random(5)
    for task in every_task().values():
        automaton, block = task.automaton, lanes_of(task)
        for _ in range(3 * times):
            state, symbols = automaton.start, []
            while due := automaton.due(state):
                symbols.append(rng.choice(due))
                state = automaton.delta[state][symbols[-1]]
                if rng.random() < 0.05:
                    break
            rest = block
            for place in Places(block).of(symbols):
                rest = next(left for step, left in begin(rest) if step.place == place)
            assert len(Places(block).of(symbols)) == len(symbols)


def test_the_end_of_a_path_decides_which_branch_it_took() -> None:
    task = of(seq(A, choice(seq(B, C), seq(B, D)), E))
    block = lanes_of(task)
    by_place = {step.place: task.automaton.alphabet.names[step.symbol] for step in block.steps}
    for path in ("abc", "abd", "abde"):
        symbols = [task.automaton.alphabet.names.index(letter) for letter in path]
        assert [by_place[place] for place in Places(block).of(symbols)] == list(path)


def test_a_path_that_is_not_allowed_has_places_as_far_as_it_goes() -> None:
    block = lanes_of(of(seq(A, B, C)))
    assert Places(block).of([0, 2]) == (0,)
    assert Places(block).of([2]) == ()


# Geometry


def find_faults(drawing: Drawing) -> Iterator[str]:
    """Everything that is wrong with the geometry of a drawing as lanes."""
    root = parse_svg(drawing.svg)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    if (width, height) != (drawing.width, drawing.height):
        yield "the view box has another size than the drawing"
    near = grid(drawing.boxes)
    for box in drawing.boxes:
        if not (left <= box.left < box.right <= left + width and top <= box.top < box.bottom <= top + height):
            yield f"{box} is outside"
    for crowd in near.values():
        yield from find_overlaps(crowd)
    for element, across, down in walk(root):
        if element.get("class") == "line":
            yield from crossings(list(points(element.attrib["d"], across, down)), near, (left, top, width, height))
        if element.tag == f"{SVG}text":
            yield from loose_texts(element, across, down, near)
    yield from crossed_frames(root, drawing.boxes)


def crossings(path, near: dict[tuple[int, int], list[Box]], view: tuple[float, ...]) -> Iterator[str]:
    """Points of a line that are outside the drawing, or inside a step, a bar or a label."""
    left, top, width, height = view
    for x, y in path:
        if not (left <= x <= left + width and top <= y <= top + height):
            yield f"a line is outside at {x:.0f}, {y:.0f}"
        for box in near.get((int(x // CELL), int(y // CELL)), ()):
            if box.left + SLACK < x < box.right - SLACK and box.top + SLACK < y < box.bottom - SLACK:
                yield f"a line crosses {box} at {x:.0f}, {y:.0f}"


def loose_texts(text: ET.Element, x: float, y: float, near: dict[tuple[int, int], list[Box]]) -> Iterator[str]:
    """A message for each line of a text that is not inside a box, at the width that the font has."""
    lines = [text.text or "", *(span.text or "" for span in text.iter(f"{SVG}tspan"))]
    lines[0] = lines[0] or (text[0].tail or "" if len(text) else "")
    at, down = x + float(text.attrib["x"]), y + float(text.attrib["y"])
    start = text.get("class") in ("left", "rule")
    for number, line in enumerate(lines):
        wide = len(line) * 11 * 0.602
        begin_, end = (at, at + wide) if start else (at - wide / 2, at + wide / 2)
        low = down + 14 * number
        cell = near.get((int(at // CELL), int(low // CELL)), ())
        inside = [box for box in cell if box.left <= begin_ + 1 and end - 1 <= box.right and box.top < low < box.bottom]
        if not inside:
            yield f"the text {line!r} is in no box"


def crossed_frames(root: ET.Element, boxes: tuple[Box, ...]) -> Iterator[str]:
    """A message for each frame that has a box half inside and half outside."""
    for frame in root.iter(f"{SVG}rect"):
        if frame.get("class") != "frame":
            continue
        left, top, width, height = (float(frame.attrib[name]) for name in ("x", "y", "width", "height"))
        for box in boxes:
            apart = box.right <= left or box.left >= left + width or box.bottom <= top or box.top >= top + height
            within = left <= box.left and box.right <= left + width and top <= box.top and box.bottom <= top + height
            if not (apart or within):
                yield f"a frame crosses {box}"


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("name", WORLDS)
def test_nothing_overlaps_in_the_lanes_of_any_task(name: str, counted: bool) -> None:
    for task in tasks(name).values():
        for room in (1160, 700):
            drawing = drawn(task, counted=counted, room=room)
            assert list(find_faults(drawing)) == [], (task.id, room)
            shown = [int(box.what.split()[1]) for box in drawing.boxes if box.what.startswith("step ")]
            assert sorted(shown) == [step.place for step in lanes_of(task).steps]


def test_lanes_of_random_procedures_do_not_overlap(times: int) -> None:
    rng = random.Random(3)
    for _ in range(60 * times):
        task = of(random_procedure(rng, 4))
        drawing = drawn(task, counted=rng.random() < 0.5, room=rng.choice((400, 800, 1160)))
        assert list(find_faults(drawing)) == []
        assert allows_the_same(lanes_of(task), task.automaton)


def random_procedure(rng: random.Random, depth: int):
    if depth == 0 or rng.random() < 0.2:
        return action(f"{rng.choice('abcdefgh') * rng.randint(1, 24)}(x={rng.randint(1, 3)})")
    parts = [random_procedure(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    kind = rng.choice((seq, seq, seq, any_order, choice, one_by_one, optional, repeat))
    if kind is optional:
        return optional(parts[0])
    return repeat(parts[0], 1, 2) if kind is repeat else kind(*parts)


def test_nearly_all_tasks_fit_a_page_and_most_a_few_lines() -> None:
    sizes = {
        name: (made.width, made.height) for name, task in every_task().items() if (made := drawn(task, counted=True))
    }
    assert len(sizes) >= 165
    assert sum(width <= 1280 for width, _ in sizes.values()) >= 0.95 * len(sizes)
    assert sum(height <= 330 for _, height in sizes.values()) >= 0.75 * len(sizes)
    width, height = sizes["transactions/merge_accounts"]
    assert len(every_task()["transactions/merge_accounts"].automaton.states) == 142
    assert width <= 1280
    assert height <= 330


def test_text_is_large_enough_to_read() -> None:
    for task in every_task().values():
        sizes = [int(size) for size in re.findall(r"font-size:(\d+)px", drawn(task).svg)]
        assert sizes
        assert min(sizes) >= 11


# Shapes


def classes(drawing: Drawing) -> list[str]:
    return [element.get("class", "") for element in parse_svg(drawing.svg).iter(f"{SVG}g")]


def test_forks_turns_choices_and_optional_steps_look_different() -> None:
    fork = drawn(of(any_order(seq(A, B), seq(C, D))))
    turns = drawn(of(one_by_one(seq(A, B), seq(C, D))))
    assert classes(fork).count("bar") == classes(turns).count("bar") == 2
    rects = [len(list(bar)) for bar in parse_svg(turns.svg).iter(f"{SVG}g") if bar.get("class") == "bar"]
    assert rects == [3, 3]
    assert "one at a time" in turns.svg
    assert "one at a time" not in fork.svg
    assert classes(drawn(of(choice(A, B)))).count("choice") == 1
    assert classes(drawn(of(seq(A, optional(B))))).count("step optional") == 1
    assert ">optional<" in drawn(of(seq(A, optional(B)))).svg
    assert ">2 to 4 times<" in drawn(of(repeat(A, 2, 4))).svg
    assert ">2 to 40 times<" in drawn(of(repeat(A, 2, 40))).svg


def test_a_step_shows_its_action_and_has_the_rest_as_a_tooltip() -> None:
    pay = action('transfer_between_accounts(source="A very long account name", target="B", amount=approx(50))')
    (group,) = (one for one in parse_svg(drawn(of(pay.named("pay"))).svg).iter(f"{SVG}g") if one.get("class") == "step")
    texts = ["".join(text.itertext()) for text in group.iter(f"{SVG}text")]
    assert texts[0] == "pay"
    assert texts[1].startswith("transfer_between_")
    assert texts[1].endswith("50")
    assert group.findtext(f"{SVG}title") == f"pay: {pay.notation}"


def test_long_values_begin_with_what_tells_steps_apart() -> None:
    same = "a very long value that is the same in all of them"
    parts = [action(f'pay(reason="{same}", note="{same}", to="{name}")') for name in ("Ann", "Bob")]
    root = parse_svg(drawn(of(any_order(*parts))).svg)
    values = [text.text or "" for text in root.iter(f"{SVG}text") if text.get("class") == "value"]
    assert [value[:4] for value in values] == ["Ann,", "Bob,"]


def test_steps_that_rules_name_have_badges() -> None:
    task = Task("t", procedure=seq(action("scan(plant='A')"), action("water(plant='A')"), action("log()")),
                policies=[parse_rule("water(plant=$p) requires scan(plant=$p)")])  # fmt: skip
    rules = [parse_rule("at most 1 log()")]
    root = parse_svg(drawn(task, rules=rules).svg)
    badges = {}
    for step in root.iter(f"{SVG}g"):
        if step.get("class") == "step":
            badges[step.attrib["data-action"]] = [
                "".join(text.itertext()) for text in step.iter(f"{SVG}text") if text.get("class") == "rule"
            ]
    assert {number: len(found) for number, found in badges.items()} == {"0": 1, "1": 1, "2": 1}
    assert badges["2"] == ["1 rule: at most 1 log()§1"]
    assert badges["0"] == badges["1"]


def test_a_long_sequence_goes_on_in_the_next_row() -> None:
    steps = [action(f"step_{number}()") for number in range(30)]
    drawing = drawn(of(seq(*steps)))
    at = [box for place in range(30) for box in drawing.boxes if box.what == f"step {place}"]
    assert len({box.top for box in at}) > 1
    for one, other in pairwise(at):
        assert one.right < other.left or one.bottom < other.top
    assert drawing.width <= 1280


def test_lines_know_which_steps_they_lead_to() -> None:
    root = parse_svg(drawn(of(seq(A, any_order(B, C), D))).svg)
    by = [line.attrib["data-by"] for line in root.iter(f"{SVG}path") if line.get("class") == "line"]
    assert sorted(by) == sorted(["0", "1 2", "1", "1", "2", "2", "3", "end"])


def test_hostile_names_stay_text() -> None:
    parts = [action(f"tool(x={number})").named(f"{name}{number}") for number, name in enumerate(HOSTILE)]
    task = Task(HOSTILE[0] + HOSTILE[5], procedure=seq(any_order(*parts[:4]), choice(*parts[4:7]), *parts[7:]))
    drawing = drawn(task, counted=True)
    root = ET.fromstring(drawing.svg.encode())
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "title", "desc", "style", "g", "path", "rect", "text", "tspan"}
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]", drawing.svg)
    assert "url(" not in drawing.svg
    assert list(find_overlaps(list(drawing.boxes))) == []


# The command


def test_show_draws_lanes_unless_the_automaton_is_asked_for(corepath: Run) -> None:
    task = tasks("transactions")["transactions/merge_accounts"]
    lanes = corepath("show", "transactions/merge_accounts", "--as", "svg")
    assert (lanes.returncode, lanes.stderr) == (0, "")
    assert lanes.stdout == drawn(task).svg
    automaton = corepath("show", "transactions/merge_accounts", "--as", "svg", "--view", "automaton")
    assert automaton.returncode == 0
    assert 'class="automaton"' in automaton.stdout


def test_show_says_why_it_draws_the_automaton(corepath: Run, tmp_path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(
        "version: 1\nid: t\nprompt: x\nactions: {go: 'go()', undo: 'undo()', end: 'end()'}\n"
        "start: a\naccept: [c]\ngolden: simple_paths\n"
        "transitions: {a: {go: b}, b: {undo: a, end: c}}\n"
    )
    done = corepath("show", file, "--as", "svg")
    assert done.returncode == 0
    assert 'class="automaton"' in done.stdout
    assert "no drawing as lanes" in done.stderr
    done = corepath("show", file, "--as", "svg", "--view", "lanes")
    assert done.returncode == 2
