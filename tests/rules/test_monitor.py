"""The monitor agrees with the definition of each policy, which looks at all calls again and again."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from corepath import ANY, after, before, needed, never, none_of, tool, var
from corepath.notation.call import Call
from corepath.rules import event
from corepath.rules.monitor import Monitor, find_breaches
from corepath.rules.rule import AtLeast, Eventually, Never, Requires, Rule

x, y = var("x"), var("y")
a, b, c = tool("a"), tool("b"), tool("c")


def bind(pattern: Any, call: Call, variables: Any = None) -> Any:
    return None if call.failed else event.bind(pattern, call, variables)


def breaks(policy: Rule, done: Sequence[Call], call: Call, state: Any, after: Any) -> bool:
    """The definition: what a call breaks, found by going through all earlier calls."""
    match policy:
        case Requires(first, then):
            bound = bind(then, call)
            return bound is not None and not any(bind(first, earlier, bound) is not None for earlier in done)
        case Never(pattern, when=when, leaves=leaves):
            if call.failed or (pattern is not None and bind(pattern, call) is None):
                return False
            entered = leaves is None or (leaves(after) and (pattern is not None or not leaves(state)))
            return bool((when is None or when(state)) and entered)
    return False


def owes(policy: Rule, done: Sequence[Call]) -> bool:
    """The definition: whether a policy still requires a call."""
    match policy:
        case AtLeast(_, call):
            return not any(bind(call, made) is not None for made in done)
        case Eventually(first, then):
            for index, made in enumerate(done):
                bound = bind(first, made)
                if bound is not None and not any(bind(then, later, bound) is not None for later in done[index + 1 :]):
                    return True
    return False


def random_policies(random: Random) -> list[Rule]:
    def action() -> Any:
        one = random.choice([a, b, c])
        values = {
            name: random.choice([1, 2, x, y, ANY, none_of(1)]) for name in random.sample("pq", random.randint(0, 2))
        }
        return one.where(**values) if random.random() < 0.5 else one(**values)

    def policy() -> Rule:
        match random.randrange(5):
            case 0:
                return before(action(), action(), because="so it is")
            case 1:
                return after(action(), action(), because="so it is")
            case 2:
                return needed(action(), because="so it is")
            case 3:
                return never(action(), when=lambda state: state > 3, because="so it is")
        return never(random.choice([None, action()]), leaves=lambda state: state % 3 == 2, because="so it is")

    return [policy() for _ in range(random.randint(1, 5))]


def random_calls(random: Random) -> list[Call]:
    def call() -> Call:
        arguments = {name: random.choice([1, 2, 3]) for name in random.sample("pq", random.randint(0, 2))}
        return Call(random.choice("abc"), arguments, "done", "refused" if random.random() < 0.2 else None)

    return [call() for _ in range(random.randint(0, 8))]


@pytest.mark.parametrize("seed", range(10))
def test_breaches_and_obligations_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    for _ in range(150):
        policies, calls = random_policies(random), random_calls(random)
        states = [random.randrange(6) for _ in range(len(calls) + 1)]
        monitor = Monitor(policies)
        memory = monitor.begin()
        for index, call in enumerate(calls):
            broken, memory = monitor.observe(memory, call, states[index], states[index + 1])
            expected = [one for one in policies if breaks(one, calls[:index], call, states[index], states[index + 1])]
            assert broken == expected, (policies, calls, index)
            assert monitor.owed(memory) == [one for one in policies if owes(one, calls[: index + 1])], (policies, calls)


def test_equal_memories_mean_that_the_policies_will_say_the_same() -> None:
    random = Random(1)
    for _ in range(300):
        policies = random_policies(random)
        monitor = Monitor(policies)
        runs = [random_calls(random) for _ in range(6)]
        by_memory: dict[Any, list[list[Call]]] = {}
        for run in runs:
            memory = monitor.begin()
            for call in run:
                _, memory = monitor.observe(memory, call, 0, 0)
            by_memory.setdefault(memory, []).append(run)
        rest = random_calls(random)
        for same in by_memory.values():
            ends = {tuple(owes(one, [*run, *rest]) for one in policies) for run in same}
            told = {tuple(breaks(one, run, call, 5, 5) for one in policies for call in rest) for run in same}
            assert len(ends) == 1
            assert len(told) == 1


def test_a_bad_state_is_entered_once() -> None:
    policy = never(leaves=lambda state: state == "bad", because="keep it good")
    calls = [Call("a", {}), Call("b", {}), Call("c", {})]
    assert list(find_breaches(Monitor([policy]), calls, ["good", "bad", "bad", "good"])) == [0]
