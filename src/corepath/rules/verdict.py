"""Judge a whole trace by rules: which rules applied, which were kept, and which events broke them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.event import make_events
from corepath.rules.monitor import concerns, sees_all
from corepath.rules.rule import SPEAKERS, Rule, Said
from corepath.rules.segments import SegmentWatch, make_watch
from corepath.rules.watch import Offence, Watch


class State(StrEnum):
    """What can be said of a rule after a trace, or after its first events."""

    NOT_APPLIED = "not applied"
    """Nothing happened that the rule is about."""
    KEPT = "kept"
    """The rule applied and was not broken. Before the end of a trace this means: kept so far."""
    OWED = "owed"
    """The rule still requires an event. At the end of a trace it is then broken."""
    BROKEN = "broken"
    """At least one event broke the rule."""
    UNCLEAR = "unclear"
    """The rule has a window in time, and the trace has no times."""


@dataclass(frozen=True)
class Verdict:
    """What a rule says about a trace.

    `applied` counts the events that the rule says something about. `offences` are the events that broke it, and `owed`
    are the events after which something is still required, or -1 if it is required anyway. `unread` counts values that
    could not be added up, because they are no numbers.
    """

    rule: Rule
    applied: int
    offences: tuple[Offence, ...] = ()
    owed: tuple[int, ...] = ()
    unclear: bool = False
    unread: int = 0

    @property
    def state(self) -> State:
        """The verdict in one word."""
        if self.offences:
            return State.BROKEN
        if self.unclear:
            return State.UNCLEAR
        if self.owed:
            return State.OWED
        return State.KEPT if self.applied else State.NOT_APPLIED

    @property
    def is_kept(self) -> bool:
        """Whether the rule was neither broken nor left open, or did not apply."""
        return self.state in (State.KEPT, State.NOT_APPLIED)


def judge(rules: Iterable[Rule], items: Sequence[Call | Message], states: Sequence[Any] = ()) -> tuple[Verdict, ...]:
    """Judge calls and messages, in the order in which they happened, by rules.

    `states` holds the state of the world before the first call and after each call, if there is a world. Time grows in
    proportion to the number of events.
    """
    listed = tuple(rules)
    watches = [make_watch(rule) for rule in listed]
    offences: list[list[Offence]] = [[] for _ in listed]
    concerned: dict[tuple[type, str], list[int]] = {}
    for event in make_events(items, states):
        kind = (type(event.item), event.name)
        if kind not in concerned:
            concerned[kind] = [number for number, rule in enumerate(listed) if _concerns(rule, *kind)]
        for number in concerned[kind]:
            offences[number] += watches[number].see(event)
    return tuple(_verdict(*found) for found in zip(listed, watches, offences, strict=True))


def _verdict(rule: Rule, watch: Watch, offences: list[Offence]) -> Verdict:
    if isinstance(watch, SegmentWatch):
        watch.finish()
    return Verdict(rule, watch.applied, tuple(offences), tuple(watch.owed()), watch.unclear, watch.unread)


def _concerns(rule: Rule, kind: type, name: str) -> bool:
    """Whether an event of a kind can matter to a rule."""
    if issubclass(kind, Call):
        return concerns(rule, name)
    return sees_all(rule) or any(isinstance(one, Said) and SPEAKERS.get(one.tool) == name for one in rule.patterns)
