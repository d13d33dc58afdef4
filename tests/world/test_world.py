"""Worlds: tools and their checks, tasks and their variants, self-loops, traits, discovery and exploring."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

import corepath
from corepath import Call, Kind, Pick, Task, TaskError, ToolError, World, WorldTool, begin, replay, score, seq, step
from corepath.authoring.templates import WORLD_STARTER
from corepath.world.examples import variant
from corepath.world.exploring import explore
from corepath.world.task_traits import traits


@dataclass
class Item:
    price: float = 1.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Till:
    money: int = 0
    items: dict[str, Item] = field(default_factory=lambda: {"tea": Item(2.5, ["hot"])})
    open: bool = False
    _audit: list[str] = field(default_factory=list)


def till() -> tuple[World[Till], dict[str, Any]]:
    world = World("till", Till, "Open the till before you put money in.")

    @world.read
    def total(till: Till) -> int:
        """The money in the till."""
        return till.money

    @world.write
    def put(till: Till, amount: int, note: str = "", kind: Literal["coin", "paper"] = "coin") -> str:
        """Put money in."""
        if amount > 100:
            raise ToolError("too much at once")
        till.money += amount
        till._audit.append(note)
        return "done"

    @world.write
    def set_open(till: Till, on: bool) -> str:
        """Open or close the till."""
        till.open = on
        return "done"

    @world.write
    def price(till: Till, name: str, cents: float, also: list[str] | None = None) -> str:
        """Give an item a price."""
        till.items[name] = Item(cents, also or [])
        return "done"

    @world.write
    def half(till: Till) -> str:
        """Change the state, then fail."""
        till.money = 99
        raise ToolError("not today")

    return world, {"total": total, "put": put, "set_open": set_open, "price": price, "half": half}


WRONG = {
    "a text for a whole number": ({"amount": "25"}, "argument 'amount' must be a whole number, not \"25\""),
    "true for a whole number": ({"amount": True}, "argument 'amount' must be a whole number, not true"),
    "a fraction for a whole number": ({"amount": 2.5}, "argument 'amount' must be a whole number, not 2.5"),
    "nothing for a whole number": ({"amount": None}, "argument 'amount' must be a whole number, not null"),
    "a missing argument": ({}, "'put' needs the argument 'amount', a whole number"),
    "an unknown argument": ({"amount": 1, "to": "x"}, "'put' has no argument 'to'"),
    "a mistyped argument": ({"amont": 1}, "'put' has no argument 'amont'; did you mean 'amount'?"),
    "another option": ({"amount": 1, "kind": "gold"}, 'must be one of "coin", "paper", not "gold"'),
    "no object": ("amount=1", "the arguments of 'put' must be a JSON object"),
    "what the tool refuses": ({"amount": 101}, "too much at once"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_an_error_for_the_agent_and_changes_nothing(arguments: Any, message: str) -> None:
    world, _ = till()
    start = Till()
    answered, after = world.answer(start, Call("put", arguments))
    assert answered.failed
    assert message in answered.error
    assert world.key(after) == world.key(Till())


def test_an_unknown_tool_is_an_error_for_the_agent() -> None:
    world, _ = till()
    answered, _ = world.answer(Till(), Call("putt", {}))
    assert answered.error == "no tool 'putt'; did you mean 'put'?"


def test_whole_numbers_and_floats_are_converted_and_defaults_filled_in() -> None:
    world, _ = till()
    answered, after = world.answer(Till(), Call("put", {"amount": 25.0}))
    assert after.money == 25
    assert answered.arguments == {"amount": 25, "note": "", "kind": "coin"}
    priced, after = world.answer(after, Call("price", {"name": "cake", "cents": 3, "also": ["sweet"]}))
    assert not priced.failed
    assert after.items["cake"] == Item(3.0, ["sweet"])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400])
def test_numbers_that_json_cannot_hold_are_refused(number: float) -> None:
    world, _ = till()
    answered, _ = world.answer(Till(), Call("price", {"name": "tea", "cents": number}))
    assert "must be a number" in answered.error


@pytest.mark.parametrize("value", [10**19, -(10**19), 10**5000], ids=["long", "negative", "endless"])
def test_very_large_whole_numbers_are_refused(value: int) -> None:
    world, _ = till()
    answered, _ = world.answer(Till(), Call("put", {"amount": value}))
    assert "argument 'amount' must be a whole number" in answered.error
    assert "crashed" not in answered.extra


def test_a_write_with_a_variable_is_a_self_loop_only_if_no_value_changes_anything() -> None:
    world = World("shelf", Till)

    @world.read
    def look(till: Till, amount: int) -> str:
        """Look at an amount."""
        return "seen"

    @world.write
    def fix(till: Till, amount: int) -> str:
        """Set the money to an amount."""
        till.money = amount
        return "done"

    @world.write
    def set_open(till: Till, on: bool) -> str:
        """Open or close the till."""
        till.open = on
        return "done"

    amount = corepath.var("amount")
    steps = seq(look(amount), set_open(True), fix(amount))
    task = world.complete(Task("shelf/t", procedure=steps, start=Till(money=1), goal=lambda _: True))
    steps_made = score(task, ["look(amount=5)", "fix(amount=5)"]).trace.steps
    assert steps_made[1].kind is Kind.HARM


def test_a_call_never_changes_the_previous_state_and_a_failed_call_changes_nothing() -> None:
    world, _ = till()
    start = Till()
    before = world.key(start)
    _, after = world.answer(start, Call("price", {"name": "tea", "cents": 9.0}))
    assert world.key(start) == before != world.key(after)
    failed, after = world.answer(start, Call("half", {}))
    assert failed.error == "not today"
    assert world.key(after) == before


def test_an_exception_in_a_tool_is_an_error_for_the_agent() -> None:
    world, _ = till()

    @world.write
    def divide(till: Till, by: int) -> float:
        """Divide the money."""
        return till.money / by

    answered, _ = world.answer(Till(), Call("divide", {"by": 0}))
    assert answered.error == "internal error: ZeroDivisionError: division by zero"
    assert answered.extra["crashed"]


def test_the_public_state_is_json_without_private_fields() -> None:
    world, _ = till()
    _, after = world.answer(Till(), Call("put", {"amount": 5, "note": "tip"}))
    assert world.public(after) == {
        "money": 5,
        "items": {"tea": {"price": 2.5, "tags": ["hot"]}},
        "open": False,
    }
    assert json.loads(json.dumps(world.public(after))) == world.public(after)
    assert "tip" in world.key(after)


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    world = World("w", Till)

    @world.write
    def put(till: Till, amount: Annotated[int, "in cents"], kind: Literal["coin", "paper"] = "coin") -> str:
        """Put money in.

        It stays there.
        """
        return "done"

    assert put.schema == {
        "name": "put",
        "description": "Put money in.\n\nIt stays there.",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "integer", "description": "in cents"},
                "kind": {"enum": ["coin", "paper"], "default": "coin"},
            },
            "required": ["amount"],
            "additionalProperties": False,
        },
    }


def test_calling_a_tool_in_a_task_definition_makes_an_action() -> None:
    _, tools = till()
    put: WorldTool[Any] = tools["put"]
    assert put(5).notation == "put(amount=5)"
    assert put(amount=5, note="x").notation == 'put(amount=5, note="x")'
    with pytest.raises(TaskError, match="tool 'put': got an unexpected keyword argument 'amont'"):
        put(amont=5)


BAD_TOOLS = {
    "no docstring": ("def f(till: Till) -> str:\n    return ''", "tool 'f' has no docstring"),
    "no state": ("def f() -> str:\n    'x'\n    return ''", "tool 'f' needs the state as its first parameter"),
    "no type": ("def f(till: Till, x) -> str:\n    'x'\n    return ''", "say of what type 'x' is"),
    "no type of JSON": ("def f(till: Till, x: set) -> str:\n    'x'\n    return ''", "which is no type of JSON"),
    "many at once": ("def f(till: Till, *x: int) -> str:\n    'x'\n    return ''", "must be a plain parameter"),
    "twice": ("def put(till: Till) -> str:\n    'x'\n    return ''", "world 'till' already has a tool 'put'"),
}


@pytest.mark.parametrize(("source", "message"), BAD_TOOLS.values(), ids=BAD_TOOLS)
def test_a_wrong_tool_definition_fails_at_once(source: str, message: str) -> None:
    world, _ = till()
    names: dict[str, Any] = {"Till": Till}
    exec(source, names)
    function = next(value for name, value in names.items() if callable(value) and name in ("f", "put"))
    with pytest.raises(TaskError, match=message):
        world.write(function)


def task_of(world: World[Till], tools: dict[str, Any], **changes: Any) -> Task:
    @world.task
    def fill(pick: Pick) -> Task:
        amount = pick(20, 30, 40)
        fields: dict[str, Any] = {
            "prompt": f"Open the till and put {amount} in.",
            "procedure": seq(tools["set_open"](True), tools["put"](amount)),
            "goal": lambda till: till.open and till.money == amount,
        }
        return Task(**(fields | changes))

    return world.make("fill")


def test_seed_0_is_canonical_and_other_seeds_are_reproducible_variants() -> None:
    world, tools = till()
    task_of(world, tools)
    amounts = {seed: world.make("fill", seed).prompt for seed in range(30)}
    assert amounts[0] == "Open the till and put 20 in."
    assert len(set(amounts.values())) == 3
    assert amounts == {seed: world.make("fill", seed).prompt for seed in range(30)}


def test_some_picks_different_values_and_with_seed_0_the_first() -> None:
    assert Pick("t", 0).some(2, "a", "b", "c") == ["a", "b"]
    picked = [tuple(Pick("t", seed).some(2, "a", "b", "c")) for seed in range(1, 40)]
    assert all(one != other for one, other in picked)
    assert len(set(picked)) == 6


def test_a_write_that_changes_nothing_is_a_self_loop_and_one_that_raises_is_not() -> None:
    world, tools = till()
    task = task_of(world, tools)
    position = begin(task.automaton)
    opened, position = step(position, Call("set_open", {"on": True}, "done"))
    again, position = step(position, Call("set_open", {"on": True}, "done"))
    assert (opened.kind, again.kind) == (Kind.PROGRESS, Kind.LOOP)
    _, position = step(position, Call("put", {"amount": 20}, "done"))
    twice, _ = step(position, Call("put", {"amount": 20}, "done"))
    assert twice.kind is Kind.HARM


def test_a_self_loop_preserves_every_world_state_of_its_automaton_state() -> None:
    world, tools = till()
    opens = tools["set_open"](True)
    task = task_of(world, tools, procedure=corepath.any_order(opens, tools["put"](20)), start=Till(open=False))
    by_name = {task.automaton.alphabet.names[number]: number for number in task.automaton.alphabet.steps}
    loops = {state: set(task.automaton.loops(state)) for state in range(len(task.automaton.states))}
    done = [state for state in loops if by_name["set_open"] in loops[state]]
    assert all(by_name["set_open"] not in task.automaton.due(state) for state in done)
    assert by_name["put"] not in set().union(*loops.values())
    assert task.automaton.accepting <= set(done)


def test_reads_are_loops_and_an_unknown_tool_is_a_harm() -> None:
    world, tools = till()
    task = task_of(world, tools)
    run = replay(task, ["total()", "set_open(on=true)", "total()", "put(amount=20)", "tip(amount=1)"])
    scored = score(task, run.calls)
    assert [one.kind.value for one in scored.trace.steps] == ["loop", "progress", "loop", "progress", "harm"]
    assert [harm.kind.value for harm in scored.harms] == ["unknown_tool"]


def test_traits_are_found_by_executing() -> None:
    world, tools = till()
    task = task_of(world, tools, procedure=tools["total"](), goal=lambda till: till == Till())
    assert traits(task) == ("changes nothing",)


def test_an_error_in_a_task_names_the_task_and_the_seed() -> None:
    world, tools = till()
    with pytest.raises(TaskError, match=r"task 'till/fill', seed 0: 'put\(note=\"x\"\)' lacks the argument 'amount'"):
        task_of(world, tools, procedure=tools["put"](note="x"))
    with pytest.raises(TaskError, match="no task 'fil' in world 'till'; did you mean 'fill'"):
        world.make("fil")


def test_an_installed_world_is_found_by_name_and_a_task_by_its_id() -> None:
    assert corepath.task("farm/rover_example").world == "farm"
    assert corepath.task("farm/water_plant").id == "farm/water_plant"  # a tool has the same name
    with pytest.raises(TaskError, match="no world or file 'fram/x'; did you mean 'farm'"):
        corepath.task("fram/x")


def test_a_world_of_another_package_is_found_by_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "lampshop.py").write_text(WORLD_STARTER.replace("NAME", "lampshop"))
    info = tmp_path / "lampshop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lampshop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[corepath.worlds]\nlampshop = lampshop:world\n")
    code = "import corepath; print(corepath.task('lampshop/switch_it').prompt, 'farm' in corepath.installed_worlds())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert done.stdout == "Switch the lamp on. True\n"


def test_exploring_finds_every_pair_of_states_with_each_variant() -> None:
    world, tools = till()
    task = task_of(
        world,
        tools,
        prompt="Open the till and put 20 to 30 in.",
        procedure=corepath.any_order(tools["set_open"](True), tools["put"](corepath.between(20, 30))),
        goal=lambda till: till.open and 20 <= till.money <= 30,
    )
    amounts = set()
    for number in range(3):
        explored = explore(task, variant(task, number))
        assert explored.whole
        assert len(explored.nodes) == 4
        amounts |= {node.state.money for node in explored.nodes}
    assert amounts == {0, 20, 25, 30}
