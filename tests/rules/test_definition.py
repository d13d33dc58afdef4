"""The watches agree with the definition of each rule on random rules and traces."""

from __future__ import annotations

from random import Random

import pytest

from corepath.rules.event import make_events
from corepath.rules.rule import Window
from corepath.rules.segments import make_watch
from tests.rules.definition import judge
from tests.rules.random_rules import random_rule, random_trace


def needs_times(rule: object) -> bool:
    window = getattr(rule, "within", None)
    return isinstance(window, Window) and window.seconds is not None


@pytest.mark.parametrize("seed", range(10))
def test_watches_agree_with_the_definition(seed: int, request: pytest.FixtureRequest) -> None:
    random = Random(seed)
    broken = owed = 0
    for _ in range(5_000 if request.config.getoption("--long") else 400):
        rule, trace = random_rule(random), random_trace(random)
        events = list(make_events(trace))
        if needs_times(rule) and any(event.mark.time is None for event in events):
            continue
        watch = make_watch(rule)
        found: set[int] = set()
        for event in events:
            watch = watch.fork()
            found |= {offence.event for offence in watch.see(event)}
        expected = judge(rule, events)
        assert (found, sorted(watch.owed())) == (expected[0], sorted(expected[1])), (rule, trace)
        broken += bool(found)
        owed += bool(watch.owed())
    assert broken > 50
    assert owed > 20


@pytest.mark.parametrize("seed", range(5))
def test_equal_keys_mean_that_the_watches_say_the_same(seed: int) -> None:
    random = Random(seed)
    compared = 0
    for _ in range(300):
        rule = random_rule(random)
        traces = [random_trace(random)[:4] for _ in range(6)]
        rest = random_trace(random)
        by_key: dict[object, set[object]] = {}
        for trace in traces:
            if getattr(rule, "within", None) is not None or getattr(rule, "beside", None) is not None:
                continue  # these depend on how far away the rest is
            events = list(make_events([*trace, *rest]))
            watch = make_watch(rule)
            for event in events[: len(trace)]:
                list(watch.see(event))
            key = watch.key()
            said = [
                [offence.event - len(trace) for offence in watch.see(event) if offence.event >= len(trace)]
                for event in events[len(trace) :]
            ]
            by_key.setdefault(key, set()).add((str(said), bool(watch.owed())))
            compared += 1
        assert all(len(said) == 1 for said in by_key.values()), rule
    assert compared > 500
