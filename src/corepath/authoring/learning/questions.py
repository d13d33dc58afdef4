"""Questions: the few choices whose answers move the most paths, for a person or a simulator to decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.forks import ForkKey, ForkKind, Forks
from corepath.authoring.learning.log import Run
from corepath.authoring.learning.orders import learn_orders

MOST_QUESTIONS: Final = 5
_MOST_FORKS: Final = 12
_DRAWS: Final = 300
_MOST_EXAMPLES: Final = 20


@dataclass(frozen=True)
class OrderQuestion:
    """Whether some orders that no run shows are right as well.

    `examples` are such orders, and `seen` is a run that was seen. `default` is what the runs suggest. `paths` counts the
    orders that are right if the answer is no, and if it is yes.
    """

    kind: ForkKind
    examples: tuple[Run, ...]
    seen: Run
    default: bool
    paths: tuple[int, int]

    @property
    def swapped(self) -> tuple[int, int] | None:
        """Two events whose order in the first example is not that of the seen run, or None if all are."""
        example, seen = self.examples[0], self.seen
        for one, other in combinations(example, 2):
            if one in seen and other in seen and seen.index(one) > seen.index(other):
                return one, other
        return None


Answer = Callable[[OrderQuestion], bool]
"""Answers a question: whether the examples are right."""


@dataclass(frozen=True)
class Asked:
    """A question and its answer."""

    question: OrderQuestion
    answer: bool


def learn_by_asking(runs: Sequence[Run], answer: Answer | None, most: int = MOST_QUESTIONS) -> tuple[Arrangement, list[Asked]]:
    """Learn the orders of runs, and ask about the choices that move the most paths. Without `answer`, ask nothing."""
    settled: dict[ForkKey, bool] = {}
    asked: list[Asked] = []
    found = learn_orders(runs)
    while answer is not None and len(asked) < most:
        forks = Forks(settled, asks=True)
        found = learn_orders(runs, forks)
        ranked = sorted(_open_questions(runs, found, forks), key=lambda one: -abs(one[1].paths[1] - one[1].paths[0]))
        if not ranked:
            break
        key, question = ranked[0]
        settled[key] = answer(question)
        asked.append(Asked(question, settled[key]))
        found = learn_orders(runs, Forks(settled, asks=True))
    return found, asked


def _open_questions(runs: Sequence[Run], now: Arrangement, forks: Forks) -> list[tuple[ForkKey, OrderQuestion]]:
    """Return a question for each fork that is not settled."""
    questions = []
    for key, fork in list(forks.found.items())[:_MOST_FORKS]:
        if key in forks.settled:
            continue
        other = learn_orders(runs, Forks({**forks.settled, key: not fork.is_wide}, asks=True))
        narrow, wide = (other, now) if fork.is_wide else (now, other)
        random = Random(str(sorted(key[1])))
        drawn = dict.fromkeys(wide.draw(random) for _ in range(_DRAWS))
        seen = set(runs)
        examples = [run for run in drawn if run not in narrow and run not in seen][:_MOST_EXAMPLES]
        if examples:
            near = min(seen, key=lambda run: _distance(run, examples[0]))
            questions.append((
                key, OrderQuestion(fork.kind, tuple(examples), near, fork.is_wide, (narrow.count, wide.count)),
            ))  # fmt: skip
    return questions


def _distance(one: Run, other: Run) -> tuple[int, Run]:
    """How far two runs are apart: how many places differ."""
    differing = sum(mine != theirs for mine, theirs in zip(one, other, strict=False))
    return differing + abs(len(one) - len(other)), one
