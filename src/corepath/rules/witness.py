"""Witnesses: traces that keep or break rules, found by searching.

The watches of several rules are one automaton, made on the fly: a state is what the watches remember, and the letters
are the sample events. Events that were found before are not followed again, so a search can be complete whatever the
length of traces. What it shows then holds for traces of sample events, and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from typing import Final

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.event import Event, Mark, bind
from corepath.rules.monitor import sees_all
from corepath.rules.rule import AtLeast, AtMost, Never, Rule, is_plain
from corepath.rules.samples import Item, Samples, make_samples
from corepath.rules.segments import make_watch
from corepath.rules.verdict import State, Verdict, judge
from corepath.rules.watch import Watch

MOST_TRACES: Final = 20_000
"""How many traces a search tries unless the caller says otherwise."""
_MOST_PENDING: Final = 3
"""How many equal events may wait to be used up one by one, unless the rules count further."""


@dataclass(frozen=True)
class Question:
    """Asks for a trace in which all of `rules` are kept, and those with the indexes in `applies` apply.

    If `breaks` is not None, the rule with this index must be broken instead of kept. A rule that still requires
    something at the end of the trace is broken.
    """

    rules: tuple[Rule, ...]
    applies: frozenset[int] = frozenset()
    breaks: int | None = None

    def is_answered_by(self, trace: Sequence[Item]) -> bool:
        """Whether a trace is what is asked for."""
        for number, verdict in enumerate(judge(self.rules, trace)):
            if (verdict.state in (State.BROKEN, State.OWED)) is not (number == self.breaks):
                return False
            if number in self.applies and not applies(verdict, trace):
                return False
        return True


@dataclass(frozen=True)
class Answer:
    """The trace that a search found, or None, and the number of traces that were tried.

    If `complete` is True and there is no trace, then no trace of sample events is an answer, whatever its length.
    """

    trace: tuple[Item, ...] | None
    tried: int = 0
    complete: bool = False

    @property
    def is_impossible(self) -> bool:
        """Whether the search has shown that there is no such trace of sample events."""
        return self.trace is None and self.complete


def find_kept(rule: Rule, most: int = MOST_TRACES) -> Answer:
    """Find a shortest trace in which a rule applies and is kept."""
    return search(Question((rule,), frozenset({0})), most, shortest=True)


def find_broken(rule: Rule, most: int = MOST_TRACES) -> Answer:
    """Find a shortest trace that breaks a rule."""
    return search(Question((rule,), breaks=0), most, shortest=True)


def forbids_outright(rule: Rule) -> bool:
    """Whether a rule forbids events whatever happened before, so that it applies only when it is broken."""
    if isinstance(rule, Never):
        return rule.after is None and rule.beside is None
    return isinstance(rule, AtMost) and rule.most == 0


def applies(verdict: Verdict, trace: Sequence[Item]) -> bool:
    """Whether a rule applies in a trace. A rule that forbids events outright applies wherever it could be broken."""
    rule = verdict.rule
    opened = rule.between is None or any(_opens(rule, item) for item in trace)
    return verdict.applied > 0 or (forbids_outright(rule) and opened)


def _opens(rule: Rule, item: Item) -> bool:
    failed = isinstance(item, Call) and item.failed
    return rule.between is not None and not failed and bind(rule.between[0], item) is not None


def concerns(rule: Rule, item: Item) -> bool:
    """Whether an event matches a pattern of a rule. Every call concerns a rule about all calls."""
    if isinstance(rule, Never) and rule.call is None and isinstance(item, Call):
        return True
    return any(bind(pattern, item) is not None for pattern in rule.patterns)


def join(first: Sequence[Item], second: Sequence[Item]) -> tuple[Item, ...]:
    """Put one trace behind another, with later times and other turns."""
    time = max((item.time for item in first if item.time is not None), default=0.0)
    turn = max((item.turn for item in first if item.turn is not None), default=0)
    moved = [
        replace(
            item,
            time=None if item.time is None else item.time + time,
            turn=None if item.turn is None else item.turn + turn + 1,
        )
        for item in second
    ]
    return (*first, *moved)


def search(question: Question, most: int = MOST_TRACES, *, shortest: bool = False) -> Answer:
    """Search for a trace. If `shortest` is False, the first trace that is found need not be the shortest."""
    return _Search(question, make_samples(question.rules), most, shortest).run()


@dataclass(frozen=True, eq=False)
class _Node:
    """A trace: its last event, the trace before it, and what the watches remember.

    The watch of the rule that must be broken is None as soon as it is.
    """

    watches: tuple[Watch | None, ...]
    applied: tuple[bool, ...]
    event: Event | None = None
    before: _Node | None = None
    length: int = 0


@dataclass
class _Search:
    question: Question
    samples: Samples
    most: int
    shortest: bool

    def __post_init__(self) -> None:
        rules = self.question.rules
        counts = [number for rule in rules for number in _counts(rule)]
        self._pending = max(_MOST_PENDING, *counts) + 1 if counts else _MOST_PENDING
        self._concerned = [
            [number for number, rule in enumerate(rules) if sees_all(rule) or concerns(rule, item)]
            for item in self.samples.items
        ]
        self._opened = [[_opens(rule, item) for rule in rules] for item in self.samples.items]
        self._order = count()
        self._tried = 0

    def run(self) -> Answer:
        rules = self.question.rules
        applied = tuple(forbids_outright(rule) and rule.between is None for rule in rules)
        start = _Node(tuple(make_watch(rule) for rule in rules), applied)
        waiting = [(self._rank(start), next(self._order), start)]
        seen: set[Hashable] = set()
        if self._is_goal(start):
            return Answer(())
        while waiting:
            _, _, node = heappop(waiting)
            for after in self._expand(node):
                self._tried += 1
                if self._tried > self.most:
                    return self._repeat()
                if (key := self._key(after)) in seen:
                    continue
                seen.add(key)
                if self._is_goal(after):
                    return Answer(self._trace(after), self._tried)
                heappush(waiting, (self._rank(after), next(self._order), after))
        return Answer(None, self._tried, all(map(self._is_tried, (one for rule in rules for one in rule.patterns))))

    def _is_tried(self, pattern: Action) -> bool:
        """Whether the sample events show all that matters about a pattern: at least one of them matches it."""
        return is_plain(pattern) and any(bind(pattern, item) is not None for item in self.samples.items)

    def _repeat(self) -> Answer:
        """Try to repeat one event as often as rules count. This finds long traces that a search does not reach."""
        counts = sorted({number for rule in self.question.rules for number in _counts(rule)})
        for number in counts:
            for item in self.samples.items:
                time, turn = 0.0 if self.samples.timed else None, 1 if self.samples.turns else None
                trace = (replace(item, time=time, turn=turn),) * number
                if self.question.is_answered_by(trace):
                    return Answer(trace, self._tried)
        return Answer(None, self.most)

    def _rank(self, node: _Node) -> tuple[int, ...]:
        """Order nodes by length, or first by what is missing to the goal."""
        if self.shortest:
            return (node.length,)
        missing = sum(not node.applied[number] for number in self.question.applies)
        return missing + sum(self._is_wrong(node, number) for number in range(len(node.watches))), node.length

    def _is_wrong(self, node: _Node, number: int) -> bool:
        """Whether a rule is not yet as the question wants it at the end of the trace."""
        watch = node.watches[number]
        return (watch is None or bool(watch.owed())) is not (number == self.question.breaks)

    def _is_goal(self, node: _Node) -> bool:
        applied = all(node.applied[number] for number in self.question.applies)
        return applied and not any(self._is_wrong(node, number) for number in range(len(node.watches)))

    def _key(self, node: _Node) -> Hashable:
        assert node.event is not None
        keys = tuple(None if watch is None else (watch.key(node.event),) for watch in node.watches)
        return keys, node.applied, self.samples.turns and _is_from_outside(node.event.item)

    def _expand(self, node: _Node) -> Iterator[_Node]:
        """Yield the traces with one event more, unless they break a rule that must be kept."""
        for place, item in enumerate(self.samples.items):
            for event in self._events(node.event, item):
                after = self._advance(node, event, place)
                if after is not None:
                    yield after
                else:
                    self._tried += 1

    def _events(self, last: Event | None, item: Item) -> Iterator[Event]:
        is_call = isinstance(item, Call)
        if last is None:
            yield Event(item, Mark(0, int(is_call), 0.0 if self.samples.timed else None), 1)
            return
        can_share = self.samples.turns and not _is_from_outside(item) and not _is_from_outside(last.item)
        for step in self.samples.steps:
            time = None if last.mark.time is None else last.mark.time + step
            mark = Mark(last.mark.index + 1, last.mark.calls + is_call, time)
            yield Event(item, mark, last.turn + 1)
            if can_share:
                yield Event(item, mark, last.turn)

    def _advance(self, node: _Node, event: Event, place: int) -> _Node | None:
        watches, applied = list(node.watches), list(node.applied)
        for number in self._concerned[place]:
            watch = watches[number]
            if watch is None:
                continue
            watch = watches[number] = watch.fork()
            if list(watch.see(event)):
                if number != self.question.breaks:
                    return None
                watches[number] = None
            if watch.pending() > self._pending:
                return None
            opened = self._opened[place][number] and forbids_outright(self.question.rules[number])
            applied[number] = applied[number] or opened or watch.count_applied() > 0
        return _Node(tuple(watches), tuple(applied), event, node, node.length + 1)

    def _trace(self, node: _Node) -> tuple[Item, ...]:
        found: list[Item] = []
        at: _Node | None = node
        while at is not None and at.event is not None:
            event = at.event
            turn = event.turn if self.samples.turns and not _is_from_outside(event.item) else None
            found.append(replace(event.item, time=event.mark.time, turn=turn))
            at = at.before
        return tuple(reversed(found))


def _is_from_outside(item: Item) -> bool:
    """Whether an event is not the agent's, so that it belongs to no turn."""
    return isinstance(item, Message) and item.role != "assistant"


def _counts(rule: Rule) -> Collection[int]:
    """Return the numbers of events at which a rule changes its mind."""
    if isinstance(rule, AtMost):
        return (rule.most, rule.most + 1)
    return (rule.least,) if isinstance(rule, AtLeast) else ()
