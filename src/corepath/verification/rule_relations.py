"""How rules relate: which can be kept and broken, which contradict each other, and which are implied by others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from corepath.rules.rule import Rule
from corepath.rules.samples import Item, make_samples
from corepath.rules.verdict import judge
from corepath.rules.witness import (
    MOST_TRACES,
    Answer,
    Question,
    concerns,
    find_broken,
    find_kept,
    join,
    search,
)

Trace = tuple[Item, ...]


@dataclass(frozen=True)
class Contradiction:
    """Rules of which one can never apply while all are kept, although it can be kept alone.

    `rules` are indexes, and `kept` is the rule that can never apply. `witness` keeps that rule, and breaks the rule
    `broken`.
    """

    rules: tuple[int, ...]
    kept: int
    witness: Trace = ()
    broken: int | None = None


@dataclass(frozen=True)
class Implication:
    """A rule that no trace breaks without breaking one of the rules `by`. `witness` breaks it, and one of them too."""

    rule: int
    by: tuple[int, ...]
    witness: Trace = ()


@dataclass(frozen=True)
class Relations:
    """What searches have shown about rules. Rules are named by their indexes.

    `kept` and `broken` have an answer for each rule. `exclusive` are pairs that do not contradict each other, but never
    apply in one trace. `undecided` are rules for which a search was not complete: whether they contradict each other,
    or, if the flag is True, whether the first is implied by the others.
    """

    kept: tuple[Answer, ...]
    broken: tuple[Answer, ...]
    contradictions: tuple[Contradiction, ...] = ()
    exclusive: tuple[tuple[int, int], ...] = ()
    implications: tuple[Implication, ...] = ()
    undecided: tuple[tuple[tuple[int, ...], bool], ...] = ()
    most: int = MOST_TRACES


def relate(rules: Sequence[Rule], most: int = MOST_TRACES) -> Relations:
    """Find out how rules relate. Each question is answered by a search that tries at most `most` traces."""
    kept = tuple(find_kept(rule, most) for rule in rules)
    broken = tuple(find_broken(rule, most) for rule in rules)
    found = _Relating(tuple(rules), kept, broken, most)
    for group in found.groups():
        found.find_contradictions(group)
        found.find_exclusive(group)
        found.find_implications(group)
    return Relations(
        kept, broken, tuple(found.contradictions), tuple(found.exclusive), tuple(found.implications),
        tuple(found.undecided), most,
    )  # fmt: skip


@dataclass
class _Relating:
    rules: tuple[Rule, ...]
    kept: tuple[Answer, ...]
    broken: tuple[Answer, ...]
    most: int
    contradictions: list[Contradiction] = field(default_factory=list)
    exclusive: list[tuple[int, int]] = field(default_factory=list)
    implications: list[Implication] = field(default_factory=list)
    undecided: list[tuple[tuple[int, ...], bool]] = field(default_factory=list)

    def groups(self) -> Iterator[list[int]]:
        """Yield groups of rules that concern the same events. Rules that cannot be kept are left out.

        Rules in different groups do not contradict or imply each other: traces for one can be put behind the other's.
        """
        waiting = [number for number, answer in enumerate(self.kept) if answer.trace is not None]
        items = make_samples(self.rules).items
        near = {number: {item for item in range(len(items)) if concerns(self.rules[number], items[item])}
                for number in waiting}  # fmt: skip
        while waiting:
            group = [waiting.pop(0)]
            for one in group:
                joined = [other for other in waiting if near[one] & near[other]]
                group += joined
                waiting = [other for other in waiting if other not in joined]
            yield sorted(group)

    def find_contradictions(self, group: Sequence[int]) -> None:
        """Find rules in a group that can never apply while others are kept."""
        for number in group:
            others = [one for one in group if one != number]
            by, answer = self._challenge(number, others, breaks=False)
            if answer.is_impossible:
                rules = tuple(sorted([number, *self._shrink(number, by, breaks=False)]))
                if rules not in [one.rules for one in self.contradictions]:
                    self.contradictions.append(self._explain(rules, number))
            elif answer.trace is None:
                self.undecided.append(((number, *by), False))

    def _explain(self, rules: tuple[int, ...], kept: int) -> Contradiction:
        """Find a trace in which one rule of a contradiction applies and is kept, and another is broken."""
        for broken in rules:
            question = Question((self.rules[kept], self.rules[broken]), frozenset({0}), 1)
            found = search(question, self.most, shortest=True) if broken != kept else Answer(None)
            if found.trace is not None:
                return Contradiction(rules, kept, found.trace, broken)
        return Contradiction(rules, kept)

    def find_exclusive(self, group: Sequence[int]) -> None:
        """Find pairs of rules in a group that never apply in one trace, and do not contradict each other."""
        for one, other in combinations(group, 2):
            if any({one, other} <= {*found.rules} for found in self.contradictions):
                continue
            question = self._question([one, other], applies=[one, other])
            first, second = (self.kept[number].trace or () for number in (one, other))
            known = any(question.is_answered_by(trace) for trace in (join(first, second), join(second, first)))
            if not known and search(question, self.most).is_impossible:
                self.exclusive.append((one, other))

    def find_implications(self, group: Sequence[int]) -> None:
        """Find rules in a group that are implied by others, if possible by a single one.

        A rule that contradicts another one is not called implied by it, and rules that contradict each other are not
        said to imply others.
        """
        for number in group:
            clashes = {one for found in self.contradictions if number in found.rules for one in found.rules}
            others = [one for one in group if one != number and one not in clashes]
            if others and self.broken[number].trace is not None:
                self._find_implication(number, others)

    def _find_implication(self, number: int, others: Sequence[int]) -> None:
        by, answer = self._challenge(number, others, breaks=True)
        if answer.is_impossible:
            smallest = self._shrink(number, by, breaks=True)
            if not any({*found.rules} <= {*smallest} for found in self.contradictions):
                self.implications.append(Implication(number, tuple(smallest), self.broken[number].trace or ()))
        elif answer.trace is None:
            self.undecided.append(((number, *by), True))

    def _challenge(self, number: int, others: Sequence[int], *, breaks: bool) -> tuple[list[int], Answer]:
        """Search for a trace in which a rule applies, or is broken, and the others are kept.

        Return the others that were looked at, and the answer for them. Only those are looked at that the traces found
        before break, so that most searches are small.
        """
        by: list[int] = []
        whole = self._ask(number, others, breaks=breaks)
        while True:
            answer = search(self._ask(number, by, breaks=breaks), self.most, shortest=True)
            if answer.trace is None or whole.is_answered_by(self._settle(answer.trace, others)):
                return by, answer
            broken = [one for one in others if one not in by and not self._keeps(one, answer.trace)]
            if not broken:
                return by, answer
            by.append(broken[0])

    def _ask(self, number: int, others: Sequence[int], *, breaks: bool) -> Question:
        """Ask for a trace in which a rule applies and is kept, or is broken, and the others are kept."""
        return self._question([number, *others], () if breaks else [number], number if breaks else None)

    def _settle(self, trace: Trace, others: Sequence[int]) -> Trace:
        """Put traces behind a trace that settle what other rules still require."""
        for other in others:
            if not self._keeps(other, trace):
                trace = join(trace, self.kept[other].trace or ())
        return trace

    def _keeps(self, number: int, trace: Trace) -> bool:
        return judge([self.rules[number]], trace)[0].is_kept

    def _shrink(self, number: int, by: Sequence[int], *, breaks: bool) -> Sequence[int]:
        """Leave out rules as long as the others still rule out the trace."""
        for one in by:
            fewer = [other for other in by if other != one]
            if fewer and search(self._ask(number, fewer, breaks=breaks), self.most).is_impossible:
                return self._shrink(number, fewer, breaks=breaks)
        return by

    def _question(
        self, group: Sequence[int], applies: Collection[int] = (), breaks: int | None = None
    ) -> Question:  # fmt: skip
        """Ask a question about some of the rules."""
        places = {number: place for place, number in enumerate(group)}
        return Question(
            tuple(self.rules[number] for number in group),
            frozenset(places[number] for number in applies),
            None if breaks is None else places[breaks],
        )
