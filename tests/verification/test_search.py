"""The search finds right ways that are rejected, and wrong ways that are accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import pytest

from corepath import (
    Pick,
    Procedure,
    Rule,
    Task,
    ToolError,
    World,
    any_order,
    before,
    choice,
    needed,
    never,
    result_of,
    seq,
)
from corepath import world as installed
from corepath.scoring.score import score
from corepath.verification.search import Search
from corepath.verification.subject import execute
from corepath.verification.verify import verify
from corepath.world.exploring import replay

RULES = """
Look before you set b. Set c last. Read the number before you enter it. Sign once.
"""


@dataclass
class Desk:
    a: bool = False
    b: bool = False
    c: bool = False
    entered: int = 0
    text: str = ""
    signed: int = 0
    _number: int = 4711
    places: dict[str, str] = field(default_factory=lambda: {"one": "left", "two": "right", "free": ""})


def make_world() -> tuple[World[Desk], Any]:
    world = World("desk", Desk, RULES)

    class Tools:
        pass

    tools: Any = Tools()

    @world.read
    def look(desk: Desk) -> str:
        """Look at the desk."""
        return "fine"

    @world.read
    def read_number(desk: Desk) -> int:
        """The number to enter."""
        return desk._number

    def setter(name: str) -> Callable[[Desk], str]:
        def function(desk: Desk) -> str:
            """Set it."""
            setattr(desk, name, True)
            return "done"

        function.__name__ = f"set_{name}"
        return function

    for name in "abc":
        setattr(tools, f"set_{name}", world.write(setter(name)))

    @world.write
    def enter(desk: Desk, number: int) -> str:
        """Enter the number."""
        desk.entered = number
        return "done"

    @world.write
    def write(desk: Desk, text: str) -> str:
        """Add a line."""
        desk.text += text.rstrip("\n") + "\n"
        return "done"

    @world.write
    def move(desk: Desk, place: str, to: str) -> str:
        """Move what is in one place to an empty place."""
        if not desk.places.get(place) or desk.places.get(to, "full"):
            raise ToolError("that cannot be moved")
        desk.places[to], desk.places[place] = desk.places[place], ""
        return "done"

    @world.write
    def sign(desk: Desk) -> str:
        """Sign."""
        desk.signed += 1
        return "done"

    tools.look, tools.read_number, tools.enter, tools.write = look, read_number, enter, write
    tools.move, tools.sign = move, sign
    return world, tools


def failures(build: Callable[[Any], Task], nodes: int = 3_000) -> list[str]:
    world, tools = make_world()

    @world.task
    def it(pick: Pick) -> Task:
        return build(tools)

    return list(verify(world, "it", nodes=nodes).failures)


def task(procedure: Procedure, goal: Callable[[Desk], object], *policies: Rule, prompt: str = "Do it.") -> Task:
    return Task(prompt=prompt, procedure=procedure, goal=goal, policies=policies)


def all_set(desk: Desk) -> bool:
    return desk.a and desk.b


def test_a_read_that_may_come_earlier_is_found() -> None:
    """Independent writes, and a read before one of them: the read and that write may come first."""

    def build(procedure: Callable[[Any], Procedure]) -> Callable[[Any], Task]:
        return lambda t: task(procedure(t), all_set, before(t.look(), t.set_b(), because="Look before you set b"))

    narrow = failures(build(lambda t: seq(t.set_a(), t.look(), t.set_b())))
    assert any("look() → set_b() → set_a()" in one or "look() → set_a() → set_b()" in one for one in narrow)
    assert failures(build(lambda t: any_order(t.set_a(), seq(t.look(), t.set_b())))) == []


def test_every_order_that_is_right_is_accepted_or_named() -> None:
    """Three writes and one rule: for every procedure that is a set of orders, the verdict is that of brute force."""
    world, t = make_world()
    rule = never(t.set_a(), when=lambda desk: desk.c, because="Set c last")
    other = never(t.set_b(), when=lambda desk: desk.c, because="Set c last")
    orders = list(permutations([t.set_a(), t.set_b(), t.set_c()]))
    right = [order for order in orders if order[-1].tool == "set_c"]
    for size in (1, 2):
        chosen = right[:size]
        made = world.complete(task(choice(*(seq(*order) for order in chosen)),
                                   lambda desk: desk.a and desk.b and desk.c, rule, other), "desk/it")  # fmt: skip
        found = Search(execute(made, world), 2_000).run()
        assert bool(found.failures) == (size < len(right)), chosen


def test_a_value_that_must_be_read_is_not_known_before() -> None:
    def build(t: Any) -> Task:
        number = t.read_number()
        return task(seq(number, t.enter(result_of(number))), lambda desk: desk.entered == 4711)

    assert failures(build) == []


def test_a_task_that_asks_for_more_than_its_rules_is_named() -> None:
    found = failures(lambda t: task(seq(t.look(), t.set_a()), lambda desk: desk.a))
    assert any("set_a()" in one for one in found), found
    asked = failures(lambda t: task(seq(t.look(), t.set_a()), lambda desk: desk.a,
                                    before(t.look(), t.set_a(), because="Look before you set b")))  # fmt: skip
    assert asked == []


def test_a_wrong_way_that_is_accepted_is_named() -> None:
    found = failures(lambda t: task(choice(t.set_a(), seq(t.set_b(), t.set_a())), lambda desk: desk.a,
                                    needed(t.set_b(), because="Look before you set b")))  # fmt: skip
    assert any("lacks" in one or "accepted" in one for one in found), found


def test_two_calls_in_one_are_found() -> None:
    world, t = make_world()
    lines = seq(t.write("first line"), t.write("second line"))
    prompt = "Write 'first line' and 'second line'."
    made = task(lines, lambda desk: desk.text == "first line\nsecond line\n", prompt=prompt)
    found = Search(execute(world.complete(made, "desk/it"), world), 2_000).run().failures
    assert any(r'write(text="first line\nsecond line")' in one for one in found), found


def test_a_mirrored_way_is_found() -> None:
    """Two things change places by way of a free place: either may go first."""

    def way(t: Any, one: str, other: str) -> Procedure:
        return seq(t.move(one, "free"), t.move(other, one), t.move("free", other))

    def goal(desk: Desk) -> bool:
        return desk.places == {"one": "right", "two": "left", "free": ""}

    prompt = "Swap 'one' and 'two' by way of 'free'."
    both = failures(lambda t: task(choice(way(t, "one", "two"), way(t, "two", "one")), goal, prompt=prompt))
    assert both == []
    assert failures(lambda t: task(way(t, "one", "two"), goal, prompt=prompt)) != []


def test_too_many_orders_are_sampled_by_moving_one_call() -> None:
    world, t = make_world()
    writes = [t.write(f"line {number}") for number in range(9)]
    made = world.complete(task(seq(*writes), lambda desk: len(desk.text.splitlines()) == 9,
                               prompt=" ".join(f"'line {number}'" for number in range(9))), "desk/it")  # fmt: skip
    found = Search(execute(made, world), 300).run()
    assert found.depth is None
    assert found.moves == 9 * 8 - 8 + 1, "each of nine calls to eight other places, neighbours once"
    assert found.failures


def test_exhausted_is_said_only_if_no_call_was_left_out() -> None:
    world, t = make_world()
    made = world.complete(task(t.set_a(), lambda desk: desk.a), "desk/it")
    found = Search(execute(made, world), 5_000).run()
    assert not found.exhausted, "there are more numbers and texts than the search tries"


@pytest.mark.parametrize("name", ["legal/three_statements", "events/for_outsiders", "farm/dry_plants"])
def test_moving_one_call_gives_an_accepted_way_or_one_with_a_reason(name: str) -> None:
    """The same by brute force: every single move of a golden path, executed, scored and held against the policies."""
    from corepath.play.golden_run import golden_runs
    from tests.rules.test_monitor import breaks, owes

    place, _, short = name.partition("/")
    made = installed(place).make(short, 2)
    tried = right = 0
    for run in golden_runs(made, installed(place), 3):
        for index in range(len(run.calls)):
            rest = [*run.calls[:index], *run.calls[index + 1 :]]
            for place_ in range(len(run.calls)):
                moved = replay(made, [*rest[:place_], run.calls[index], *rest[place_:]])
                tried += 1
                if any(call.failed for call in moved.calls) or not made.goal(moved.end):  # type: ignore[misc]
                    continue
                if any(owes(policy, moved.calls) for policy in made.policies) or any(
                    breaks(policy, moved.calls[:number], call, moved.states[number], moved.states[number + 1])
                    for policy in made.policies
                    for number, call in enumerate(moved.calls)
                ):
                    continue
                right += 1
                found = score(made, moved.calls)
                assert found.accepted, [str(call) for call in moved.calls]
                assert not found.harms
    assert tried > 50
    assert right >= 3
