"""Questions: the few choices whose answers move the most paths, for a person or a simulator to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from random import Random
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.forks import ForkKey, ForkKind, Forks
from corepath.authoring.learning.log import Log, Run
from corepath.authoring.learning.occurrences import numbering_of
from corepath.authoring.learning.orders import learn_orders
from corepath.authoring.learning.recombination import recombine
from corepath.authoring.learning.wrong_orders import learn_without

MOST_QUESTIONS: Final = 5
_MOST_FORKS: Final = 12
_DRAWS: Final = 300
_MOST_EXAMPLES: Final = 20


@dataclass(frozen=True)
class OrderQuestion:
    """Whether some orders that no run shows are right as well.

    `examples` are such orders, and `seen` is a run that was seen. `default` is what the runs suggest. `paths` counts
    the orders that are right if the answer is no, and if it is yes.
    """

    kind: ForkKind
    examples: tuple[Run, ...]
    seen: Run
    default: bool
    paths: tuple[int, int]

    @property
    def moved(self) -> int:
        """How many orders the answer decides about."""
        return abs(self.paths[1] - self.paths[0])

    @property
    def is_one_choice(self) -> bool:
        """Whether one answer holds for all examples. Otherwise they differ from the runs in different ways."""
        return self.kind not in (ForkKind.GUESSES, ForkKind.NEIGHBOURS)

    @property
    def swapped(self) -> tuple[int, int] | None:
        """Two events whose order in the first example is not that of the seen run, or None if all are."""
        example, seen = self.examples[0], self.seen
        for one, other in combinations(example, 2):
            if one in seen and other in seen and seen.index(one) > seen.index(other):
                return one, other
        return None


Answer = Callable[[OrderQuestion], Sequence[bool | None]]
"""Says for each example of a question whether it is right. None means that this cannot be told: the default holds."""


@dataclass(frozen=True)
class Asked:
    """A question, and which of its examples are right."""

    question: OrderQuestion
    right: tuple[Run, ...]

    @property
    def agreed(self) -> bool:
        """Whether all examples are right."""
        return len(self.right) == len(self.question.examples)


def learn_by_asking(
    runs: Sequence[Run], steps: Sequence[int], answer: Answer | None, most: int = MOST_QUESTIONS,
    guessed: Iterable[Run] = (),
) -> tuple[Arrangement, list[Asked]]:  # fmt: skip
    """Learn the orders of runs, and ask about the choices that move the most paths. Without `answer`, ask nothing.

    `steps` says which step each event is an occurrence of. Orders in `guessed` are taken to be right, although no run
    shows them, unless an answer says that they are wrong.
    """
    if answer is None:
        return learn_orders(Log.of(runs, guessed)), []
    inquiry = _Inquiry(list(runs), steps, guessed)
    while (left := most - len(inquiry.asked)) > 0 and (found := inquiry.next_question(left)) is not None:
        inquiry.settle(*found, answer(found[1]))
    return inquiry.learn(), inquiry.asked


class _Inquiry:
    """What is known so far: runs and examples that are right, examples that are wrong, and what forks were settled."""

    def __init__(self, runs: list[Run], steps: Sequence[int], guessed: Iterable[Run] = ()) -> None:
        self.runs, self.steps, self.guessed = runs, steps, dict.fromkeys(guessed)
        self.numbering = numbering_of(runs, steps)
        self.agreed: dict[Run, None] = {}
        """All examples that are right."""
        self.right: dict[Run, None] = {}
        """Those of them that are learned from, because what is learned would not have them otherwise."""
        self.wrong: dict[Run, None] = {}
        self.settled: dict[ForkKey, bool] = {}
        self.asked: list[Asked] = []
        self.checked: Arrangement | None = None
        """What was learned when it was last asked about."""
        self.swaps: Counter[tuple[int, int]] = Counter()
        """How often each pair of neighbours was swapped in an example."""

    @property
    def log(self) -> Log:
        """The runs, the examples that are right, and orders that are taken to be right."""
        guessed = (order for order in self.guessed if order not in self.wrong)
        return Log.of(self.runs, (*self.right, *guessed))

    def learn(self, *, but: ForkKey | None = None, forks: Forks | None = None) -> Arrangement:
        """Learn from what is known. With `but`, decide otherwise at one fork."""
        forks = Forks(self.settled, asks=True) if forks is None else forks
        if but is not None:
            forks = Forks({**self.settled, but: not forks.found[but].is_wide}, asks=True)
            return learn_orders(self.log, forks)
        found = learn_without(self.log, self.wrong, forks)
        lost = [run for run in self.agreed if run not in found and run not in self.right]
        if not lost:
            return found
        self.right |= dict.fromkeys(lost)
        forks.found.clear()
        return self.learn(forks=forks)

    def next_question(self, left: int) -> tuple[ForkKey | None, OrderQuestion] | None:
        """Return the most important question, and the fork that it decides, or None if there is nothing to ask.

        What was learned is asked about first, and again until it is right. Then come neighbours that might be swapped,
        as long as some may be, and then the forks. `left` is the number of questions that may be asked. The last one
        is about what was learned, if that has changed.
        """
        forks = Forks(self.settled, asks=True)
        now = self.learn(forks=forks)
        last = self.asked[-1] if self.asked else None
        kind = None if last is None else last.question.kind
        is_wrong = last is None or (kind is ForkKind.GUESSES and not last.agreed)
        if is_wrong or (left == 1 and now != self.checked):
            self.checked = now
            if (question := self._ask_for_guesses(now)) is not None:
                return None, question
        kinds = {one.question.kind for one in self.asked}
        is_listed = now.count <= len(self.log.runs)
        is_loose = last is not None and kind is ForkKind.NEIGHBOURS and bool(last.right) and not is_listed
        if (is_loose or ForkKind.NEIGHBOURS not in kinds) and (question := self._ask_for_neighbours(now)) is not None:
            return None, question
        at_forks = [*self._ask_at_forks(now, forks)]
        if at_forks:
            return max(at_forks, key=lambda one: one[1].moved)
        found = self._ask_for_neighbours(now)
        return None if found is None else (None, found)

    def settle(self, key: ForkKey | None, question: OrderQuestion, answers: Sequence[bool | None]) -> None:
        """Take an answer into account."""
        answered = [*zip(question.examples, answers, strict=True)]
        right = tuple(run for run, is_right in answered if is_right or (is_right is None and question.default))
        self.asked.append(Asked(question, right))
        if key is not None:
            self.settled[key] = self.asked[-1].agreed
        self.wrong |= {run: None for run, is_right in answered if is_right is False}
        agreed = {run: None for run, is_right in answered if is_right}
        self.agreed |= agreed
        if not self.asked[-1].agreed or question.kind is ForkKind.NEIGHBOURS:
            self.right |= agreed

    def _draw(self, found: Arrangement, but: Arrangement | None = None) -> tuple[Run, ...]:
        """Return some orders of which it is not known whether they are right. With `but`, leave out its orders."""
        random, known = Random(len(self.asked)), {*self.runs, *self.agreed, *self.wrong}  # noqa: S311  # the same examples every time
        drawn = (self._number_in_order(found.draw(random)) for _ in range(_DRAWS))
        fresh = (run for run in self._find_fresh(drawn, known) if but is None or run not in but)
        return tuple(islice(fresh, _MOST_EXAMPLES))

    def _find_fresh(self, runs: Iterable[Run], known: Iterable[Run]) -> Iterator[Run]:
        """Yield the runs whose steps are not those of a known run, each once."""
        paths = {self._path(run) for run in known}
        for run in runs:
            if (path := self._path(run)) not in paths:
                paths.add(path)
                yield run

    def _path(self, run: Run) -> tuple[int, ...]:
        """Return the steps of a run."""
        return tuple(self.steps[event] for event in run)

    def _number_in_order(self, run: Run) -> Run:
        """Return the same steps, with their occurrences numbered as in the runs."""
        named = self.numbering.number([self.steps[event] for event in run])
        if set(named) == set(run):
            return named
        events: dict[int, list[int]] = {}
        for event in sorted(run, reverse=True):
            events.setdefault(self.steps[event], []).append(event)
        return tuple(events[self.steps[event]].pop() for event in run)

    def _ask_for_guesses(self, now: Arrangement) -> OrderQuestion | None:
        """Ask about orders that were learned, although no run shows them."""
        examples = self._draw(now)
        if not examples:
            return None
        paths = len(set(self.runs)), now.count
        return OrderQuestion(ForkKind.GUESSES, examples, _nearest(self.runs, examples[0]), default=True, paths=paths)

    def _ask_at_forks(self, now: Arrangement, forks: Forks) -> Iterator[tuple[ForkKey, OrderQuestion]]:
        """Ask about each fork that is not settled."""
        for key, fork in islice(forks.found.items(), _MOST_FORKS):
            if key in self.settled:
                continue
            other = self.learn(but=key, forks=forks)
            narrow, wide = (other, now) if fork.is_wide else (now, other)
            if any(order in other for order in self.wrong):
                continue
            if examples := self._draw(wide, narrow):
                near, paths = _nearest(self.runs, examples[0]), (narrow.count, wide.count)
                yield key, OrderQuestion(fork.kind, examples, near, fork.is_wide, paths)

    def _ask_for_neighbours(self, now: Arrangement) -> OrderQuestion | None:
        """Ask about the steps of a run in another order of neighbours, and about runs with two neighbours swapped."""
        known = {*self.wrong, *(example for one in self.asked for example in one.question.examples)}
        recombined = dict.fromkeys(
            map(self._number_in_order, recombine([*self.runs, *self.right], self.steps, len(self.asked)))
        )
        others = [run for run in recombined if run not in known and run not in now]
        swapped = self._swap_neighbours(now, known)
        few = _MOST_EXAMPLES // 2
        fresh = [*self._find_fresh((*others[:few], *swapped, *others[few:]), {*self.runs, *known})]
        if not fresh:
            return None
        paths = now.count, now.count + len(fresh)
        near = _nearest(self.runs, fresh[0])
        return OrderQuestion(ForkKind.NEIGHBOURS, tuple(fresh[:_MOST_EXAMPLES]), near, default=False, paths=paths)

    def _swap_neighbours(self, now: Arrangement, known: set[Run]) -> list[Run]:
        """Return orders with two neighbours swapped, once for each pair of events, the most promising first."""
        random = Random(len(self.asked))  # noqa: S311  # the same examples every time
        drawn = (self._number_in_order(now.draw(random)) for _ in range(_DRAWS))
        both = {pair for run in self.runs for pair in combinations(run, 2)}
        swapped: dict[tuple[int, int], Run] = {}
        for run in dict.fromkeys((*self.runs, *self.right, *drawn)):
            for place, pair in enumerate(pairwise(run)):
                if pair not in swapped and self.steps[pair[0]] != self.steps[pair[1]]:
                    other = self._number_in_order((*run[:place], pair[1], pair[0], *run[place + 2 :]))
                    if other not in known and other not in now:
                        swapped[pair] = other
        hopeful = sorted(swapped, key=lambda pair: (self.swaps[pair], pair[::-1] not in both))
        self.swaps.update(hopeful[:_MOST_EXAMPLES])
        return list(dict.fromkeys(swapped[pair] for pair in hopeful))


def _nearest(runs: Iterable[Run], example: Run) -> Run:
    """Return the run that differs from an example in the fewest places."""

    def distance(run: Run) -> tuple[int, Run]:
        differing = sum(mine != theirs for mine, theirs in zip(run, example, strict=False))
        return differing + abs(len(run) - len(example)), run

    return min(runs, key=distance)
