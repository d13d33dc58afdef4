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
    applies,
    concerns,
    find_broken,
    find_kept,
    join,
    search,
)

Trace = tuple[Item, ...]


@dataclass(frozen=True)
class Contradiction:
    """Rules of which no trace applies all without breaking one, although each alone can be kept.

    `witness` keeps the rule `kept`, which applies, and breaks the rule `broken`. All rules are indexes.
    """

    rules: tuple[int, ...]
    witness: Trace = ()
    kept: int | None = None
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

    `kept` and `broken` have an answer for each rule. `undecided` are rules for which a search was not complete: whether
    they contradict each other, or, if the flag is True, whether the first is implied by the others.
    """

    kept: tuple[Answer, ...]
    broken: tuple[Answer, ...]
    contradictions: tuple[Contradiction, ...] = ()
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
        found.find_implications(group)
    return Relations(kept, broken, tuple(found.contradictions), tuple(found.implications), tuple(found.undecided), most)


@dataclass
class _Relating:
    rules: tuple[Rule, ...]
    kept: tuple[Answer, ...]
    broken: tuple[Answer, ...]
    most: int
    contradictions: list[Contradiction] = field(default_factory=list)
    implications: list[Implication] = field(default_factory=list)
    undecided: list[tuple[tuple[int, ...], bool]] = field(default_factory=list)
    _known: list[Trace] = field(default_factory=list)
    """Traces in which two rules apply and are kept."""

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
        """Find pairs of rules in a group that contradict each other. If there are none, look at all of them at once."""
        before = len(self.contradictions)
        for pair in combinations(group, 2):
            self._note_contradiction(pair, self._ask_all(pair))
        if len(group) > 2 and len(self.contradictions) == before:
            answer = self._ask_all(group)
            smallest = self._shrink_contradiction(group) if answer.is_impossible else group
            self._note_contradiction(smallest, answer)

    def _ask_all(self, group: Sequence[int]) -> Answer:
        """Search for a trace in which all rules of a group apply and are kept."""
        question = self._question(group, applies=group)
        trace = self._compose(group)
        if trace is not None and question.is_answered_by(trace):
            return Answer(trace)
        answer = search(question, self.most)
        if answer.trace is not None:
            self._known.append(answer.trace)
        return answer

    def _compose(self, group: Sequence[int]) -> Trace | None:
        """Put known traces behind each other until all rules of a group apply. Return None if that does not work."""
        rules = [self.rules[number] for number in group]
        parts = [*(self.kept[number].trace or () for number in group), *self._known]
        made: Trace = ()
        missing = len(rules) + 1
        while missing:
            longer = [join(made, part) for part in parts]
            found = [(len(left), trace) for trace in longer if (left := _missing(rules, trace)) is not None]
            fewest, trace = min(found, key=lambda one: one[0], default=(missing, made))
            if fewest >= missing:
                return None
            made, missing = trace, fewest
        return made

    def _note_contradiction(self, group: Sequence[int], answer: Answer) -> None:
        if answer.is_impossible:
            self.contradictions.append(self._explain(tuple(group)))
        elif answer.trace is None:
            self.undecided.append((tuple(group), False))

    def _explain(self, group: tuple[int, ...]) -> Contradiction:
        """Find a trace in which one rule of a contradiction is kept, and another broken."""
        for kept, broken in [pair for one in combinations(group, 2) for pair in (one, one[::-1])]:
            found = search(
                Question((self.rules[kept], self.rules[broken]), frozenset({0}), 1), self.most, shortest=True
            )
            if found.trace is not None:
                return Contradiction(group, found.trace, kept, broken)
        return Contradiction(group)

    def _shrink_contradiction(self, group: Sequence[int]) -> Sequence[int]:
        """Leave out rules as long as the others still contradict each other."""
        for number in group:
            fewer = [one for one in group if one != number]
            if len(fewer) > 1 and self._ask_all(fewer).is_impossible:
                return self._shrink_contradiction(fewer)
        return group

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
        """Search for a trace that breaks a rule and keeps the others.

        Only those others are looked at that the traces found so far break, so that most searches are small.
        """
        by: list[int] = []
        while True:
            answer = self._ask_alone(number, by)
            if answer.trace is None:
                break
            if self._question([number, *others], breaks=number).is_answered_by(self._settle(answer.trace, others)):
                return
            broken = [one for one in others if one not in by and not self._keeps(one, answer.trace)]
            if not broken:
                return
            by.append(broken[0])
        if answer.is_impossible:
            smallest = self._shrink_implication(number, by)
            if not any({*found.rules} <= {*smallest} for found in self.contradictions):
                self.implications.append(Implication(number, tuple(smallest), self.broken[number].trace or ()))
        else:
            self.undecided.append(((number, *by), True))

    def _ask_alone(self, number: int, others: Sequence[int]) -> Answer:
        """Search for a trace that breaks a rule and keeps the others."""
        return search(self._question([number, *others], breaks=number), self.most, shortest=True)

    def _settle(self, trace: Trace, others: Sequence[int]) -> Trace:
        """Put traces behind a trace that settle what other rules still require."""
        for other in others:
            if not self._keeps(other, trace):
                trace = join(trace, self.kept[other].trace or ())
        return trace

    def _keeps(self, number: int, trace: Trace) -> bool:
        return judge([self.rules[number]], trace)[0].is_kept

    def _shrink_implication(self, number: int, by: Sequence[int]) -> Sequence[int]:
        """Leave out rules as long as the others still imply the rule."""
        for one in by:
            fewer = [other for other in by if other != one]
            if fewer and self._ask_alone(number, fewer).is_impossible:
                return self._shrink_implication(number, fewer)
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


def _missing(rules: Sequence[Rule], trace: Trace) -> set[int] | None:
    """Return the rules that do not apply in a trace, or None if the trace breaks a rule."""
    verdicts = judge(rules, trace)
    if not all(verdict.is_kept for verdict in verdicts):
        return None
    return {number for number, verdict in enumerate(verdicts) if not applies(verdict, trace)}
