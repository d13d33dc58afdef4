"""Rules over long traces: how the time grows with events, rules and bindings, and what rules add to scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.claims import Claim, seconds
from corepath import Call, Message, score, task
from corepath.play.built_in import built_in
from corepath.play.play import play
from corepath.rules.parser import parse_rule
from corepath.rules.verdict import judge

RULES = (
    "pay(order=$o, ...) requires check(order=$o, ...)",
    'pay(order=$o, ...) requires its own user(text=~"yes") since agent(...)',
    "after open(file=$f, ...) eventually close(file=$f, ...) within 1h",
    "at most 2 send(to=$x, ...) within 1h",
    "never drop(...) after close(file=$f, ...) within 100 calls",
    "sum(pay.amount) at most 5000 within 1 day",
    "at most 3 call per turn",
    "never write(file=$f, ...) between open(file=$f, ...) and close(file=$f, ...)",
    "never agent(...) with call",
    "at least 1 check(order=$o, ...)",
)


def trace(events: int) -> list[Call | Message]:
    """A trace in which every tenth event binds another value in each rule."""
    kinds: list[Callable[[int], Call | Message]] = [
        lambda at: Message("user", "yes, go ahead", time=float(at)),
        lambda at: _call("check", at, order=at),
        lambda at: _call("pay", at, order=at - 1, amount=1),
        lambda at: _call("open", at, file=at),
        lambda at: _call("send", at, to=at),
        lambda at: _call("write", at, file=at),
        lambda at: Message("assistant", "Done.", time=float(at)),
        lambda at: _call("close", at, file=at - 4 - 10 * (at % 20 == 17)),
        lambda at: _call("look", at, x=at),
        lambda at: _call("look", at, x=at),
    ]
    return [kinds[at % len(kinds)](at) for at in range(events)]


def _call(tool: str, at: int, **arguments: Any) -> Call:
    return Call(tool, arguments, "ok", turn=at, time=float(at))


def rules_over_long_traces() -> Iterator[Claim]:
    """Time grows in proportion to the events, whatever the number of bindings."""
    for text in RULES:
        small, large = (_microseconds([text], events) for events in (3_000, 30_000))
        measured = f"{small:.1f} and {large:.1f} µs an event"
        yield Claim(f"3,000 and 30,000 events: {text[:38]}", measured, large < 2 * small)
    for number in (10, 100):
        each = _microseconds(RULES * (number // len(RULES)), 10_000) / number
        yield Claim(f"{number} rules, 10,000 events, 10,000 bindings", f"{each:.1f} µs an event and rule", each < 10)
    yield from _beside_scoring()


def _microseconds(texts: Sequence[str], events: int) -> float:
    """The time an event."""
    rules, made = [parse_rule(text) for text in texts], trace(events)
    return 1e6 * seconds(lambda: judge(rules, made)) / events


def _beside_scoring() -> Iterator[Claim]:
    """Ten rules beside a task: the time of scoring with them over the time without."""
    played = task("farm/water_plant")
    episode = play(built_in("oracle"), played)
    rules = [parse_rule(text) for text in RULES if "at least" not in text]
    rules.append(parse_rule("at most 9 water(...)"))
    alone = seconds(lambda: [score(played, episode) for _ in range(200)])
    both = seconds(lambda: [score(played, episode, rules=rules) for _ in range(200)])
    yield Claim("ten rules beside a task, over scoring alone", f"{both / alone:.2f} times", both < 3 * alone)
