"""Random rules and traces: few tools, values, speakers and times, so that everything happens often."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.notation.patterns import ANY, none_of, regex, var
from corepath.rules.rule import AtLeast, AtMost, Eventually, Never, Requires, Rule, Said, SumAtMost, Window

VALUES: tuple[Any, ...] = (1, 2, "x")


def random_pattern(random: Random, *, calls_only: bool = False) -> Action:
    if not calls_only and random.random() < 0.2:
        made = Tool(random.choice(["user", "agent"])).where(**random.choice([{}, {"text": regex("yes.*")}]))
        return Said(made.tool, made.arguments)
    choices = [*VALUES, var("a"), var("a"), var("b"), ANY, none_of(1)]
    values = {name: random.choice(choices) for name in random.sample("pq", random.randint(0, 2))}
    made = Tool(random.choice(["f", "g", "h", "f*"])).where(**values)
    return made.returns({"ok": True}) if random.random() < 0.15 else made


def random_window(random: Random, *, turn: bool = False) -> Window | None:
    match random.randrange(4 if turn else 3):
        case 0:
            return Window(seconds=random.choice([0, 1, 2.5, 5]))
        case 1:
            return Window(calls=random.randint(1, 4))
        case 3:
            return Window(turn=True)
    return None


def random_rule(random: Random) -> Rule:
    pattern = lambda: random_pattern(random)  # noqa: E731
    made: Rule
    match random.randrange(7):
        case 0 | 1:
            since = pattern() if random.random() < 0.4 else None
            made = Requires(pattern(), pattern(), random.random() < 0.4, since, random_window(random))
        case 2:
            made = Eventually(pattern(), pattern(), random.random() < 0.3, random_window(random))
        case 3:
            form = random.choice(["plain", "after", "with"])
            made = Never(
                pattern(), pattern() if form == "after" else None, pattern() if form == "with" else None,
                random_window(random) if form == "after" else None,
            )  # fmt: skip
        case 4:
            made = AtMost(random.randint(0, 3), pattern(), random_window(random, turn=True))
        case 5:
            made = AtLeast(random.randint(1, 3), pattern(), random.random() < 0.8)
        case _:
            call = random_pattern(random, calls_only=True)
            made = SumAtMost(random.choice([0, 2, 3.5]), call, "n", random_window(random, turn=True))
    if random.random() < 0.25:
        made = replace(made, between=(pattern(), pattern()))
    return replace(made, attempted=random.random() < 0.7)


def random_trace(random: Random) -> list[Call | Message]:
    time, turn = 0.0, 0
    made: list[Call | Message] = []
    timed, order = random.random() < 0.85, random.random()
    for _ in range(random.randint(0, 14)):
        time += random.choice([0, 0.5, 1, 3]) if random.random() > 0.05 else -1
        turn += random.random() < 0.5
        at = time if timed and random.random() > 0.1 else None
        if random.random() < 0.3 * order:
            text = random.choice(["yes please", "no"])
            made.append(Message(random.choice(["user", "assistant"]), text, 0, at, turn=random.choice([None, turn])))
            continue
        names = random.sample("pqn", random.randint(0, 3))
        arguments = {name: random.choice([1, 2, 0.5] if name == "n" else VALUES) for name in names}
        result = random.choice([{"ok": True}, {"ok": False}, "done"])
        error = "refused" if random.random() < 0.2 else None
        made.append(Call(random.choice("fgh"), arguments, result, error, turn=turn, time=at))
    return made
