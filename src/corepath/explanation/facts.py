"""Collect the facts that explanations use: the score, the replay and a comparison with the nearest golden path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, Position, Step, advance
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.explanation.pairing import pair_by_tool
from corepath.explanation.sentences import MOST_LISTED, join, times_text
from corepath.explanation.value_text import call_text, message_text, step_text
from corepath.notation.call import UNANSWERED
from corepath.notation.matchers import Scope
from corepath.scoring.alignment import Pair
from corepath.scoring.evidence import Reference
from corepath.scoring.score import Score
from corepath.task import Task
from corepath.world.exploring import Replay


@dataclass(frozen=True)
class Comparison:
    """How the episode differs from the nearest golden path. A place is an index in the golden path."""

    skipped: tuple[int, ...]
    """Places whose step was not done, although a later place was reached."""
    untried: tuple[int, ...]
    """Places after the last place that was reached."""
    instead: Mapping[int, int]
    """Places whose step was not done, each with the index of the call made instead."""


@dataclass(frozen=True)
class Facts:
    """An episode with its score, and with its replay if the task has a world.

    If only the calls are known, the episode's answer is UNANSWERED. A step is due, or expected, in a state if the step
    would be progress there.
    """

    task: Task
    score: Score
    replay: Replay | None
    episode: Episode

    @property
    def automaton(self) -> Automaton:
        """The task's automaton."""
        return self.task.automaton

    @property
    def steps(self) -> tuple[Step, ...]:
        """All calls, each labelled as progress, self-loop or harm."""
        return self.score.trace.steps

    @cached_property
    def outside_failure(self) -> str:
        """A description of the failure outside the agent, or an empty string if there was none."""
        if self.episode.outcome != FAILED_OUTSIDE:
            return ""
        failure = self.episode.failure
        if failure.get("kind") == "raised in the agent":
            return f"the agent's own code raised {message_text(failure.get('message'))}" + (
                f" at {message_text(failure['at'])}" if failure.get("at") else ""
            )
        parts = [failure.get(name) for name in ("kind", "message")]
        reason = ": ".join(message_text(part) for part in parts if part)
        return f"failed outside the agent ({reason})" if reason else "failed outside the agent"

    @property
    def has_wrong_answer(self) -> bool:
        """Whether the final answer is wrong or missing."""
        return self.score.answer_match is False and self.episode.answer is not UNANSWERED and not self.outside_failure

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The position before each call, followed by the position at the end."""
        positions = [self.score.trace.begin]
        for step in self.steps:
            positions.append(advance(positions[-1], step))
        return tuple(positions)

    def scope(self, index: int) -> Scope:
        """Return the variables and results that are known before call `index`."""
        position = self.positions[index]
        return Scope(dict(position.variables), position.results)

    @cached_property
    def changed_state(self) -> tuple[bool | None, ...]:
        """Whether each call changed the public state, or None for every call if the task has no world."""
        world, run = self.task.simulator, self.replay
        if world is None or run is None:
            return (None,) * len(self.steps)
        return tuple(
            not call.failed and world.tools[call.tool].writes and not world.same_public(before, after)
            for call, before, after in zip(run.calls, run.states, run.states[1:], strict=False)
        )

    def in_one_turn(self, earlier: int, later: int) -> bool:
        """Whether both calls were sent in the same turn, before the agent saw the answer to the earlier call."""
        turn = self.steps[earlier].call.turn
        return turn is not None and turn == self.steps[later].call.turn

    # Steps in words

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The number of each action, keyed by the action's name."""
        return {name: number for number, name in enumerate(self.automaton.alphabet.names)}

    def step_text(self, symbol: int, index: int) -> str:
        """Write a step as a call, with the values that are known before call `index`."""
        return step_text(self.automaton.alphabet.actions[symbol], self.scope(index))

    def name_text(self, name: str, index: int) -> str:
        """Write the step called `name` as a call, or return `name` itself if it is not an action."""
        return self.step_text(self.symbols[name], index) if name in self.symbols else name

    def call_text(self, index: int) -> str:
        """Write a call with its number, e.g. `call 3, pick(thing="box")`."""
        return f"call {index + 1}, {call_text(self.steps[index].call)}"

    def due_text(self, index: int, most: int = MOST_LISTED) -> str:
        """List the steps that were expected when call `index` was made, or return an empty string if none were."""
        due = self.automaton.due(self.positions[index].state)
        return join([self.step_text(symbol, index) for symbol in due], "or", most)

    def missing_text(self, symbols: Iterable[int], index: int, most: int = MOST_LISTED) -> str:
        """List steps that were not done before call `index`, with counts, e.g. `a(), b() twice and c() once more`."""
        called = self.steps_called(index)
        texts = [
            f"{self.step_text(symbol, index)} {times_text(count)} more" if symbol in called
            else f"{self.step_text(symbol, index)} {times_text(count)}" if count > 1
            else self.step_text(symbol, index)
            for symbol, count in Counter(symbols).items()
        ]  # fmt: skip
        return join(texts, most=most)

    # Steps that were done, called early, or are left

    @cached_property
    def done_at(self) -> dict[int, list[int]]:
        """The indexes of the calls that did each step, keyed by the step's number."""
        found: dict[int, list[int]] = {}
        for step in self.steps:
            if step.kind is Kind.PROGRESS and step.symbol is not None:
                found.setdefault(step.symbol, []).append(step.index)
        return found

    @cached_property
    def steps_done(self) -> int:
        """The number of steps that were done."""
        return sum(map(len, self.done_at.values()))

    @cached_property
    def steps_left(self) -> tuple[int, ...]:
        """The numbers of the steps on a shortest path from the final state to an accepting state."""
        automaton, state = self.automaton, self.score.trace.end.state
        way: list[int] = []
        while automaton.missing[state] > 0:
            nearer = automaton.missing[state] - 1
            symbol, state = next(
                (symbol, after) for symbol, after in automaton.delta[state].items()
                if after != state and automaton.missing[after] == nearer
            )  # fmt: skip
            way.append(symbol)
        return tuple(way)

    @cached_property
    def hindsight(self) -> dict[int, int]:
        """Calls that match a step only in hindsight, once the results of all calls are known.

        The keys are call indexes, and the values are step numbers.
        """
        end, alphabet = self.score.trace.end, self.automaton.alphabet
        results = {
            alphabet.actions[step.symbol]: step.call.result for step in self.steps
            if step.symbol is not None and not step.call.failed and step.call.result is not UNANSWERED
        }  # fmt: skip
        results.update(end.results)
        found = {
            step.index: alphabet.read(step.call, end.variables, results, failed=False).symbol
            for step in self.steps
            if step.symbol is None and not step.reading.fits and not step.call.failed and not step.call.malformed
        }
        return {index: symbol for index, symbol in found.items() if symbol in alphabet.steps}

    def symbol(self, step: Step) -> int | None:
        """Return the number of the action that a call matches, at the time or in hindsight.

        Return None if the call matches no action.
        """
        return self.hindsight.get(step.index, step.symbol)

    def label(self, index: int) -> str:
        """Return the name of the action that call `index` matches, at the time or in hindsight.

        If the call matches no action, return `?` followed by the call.
        """
        if index in self.hindsight:
            return self.automaton.alphabet.names[self.hindsight[index]]
        return self.score.trace.label(self.steps[index])

    def steps_called(self, before: int) -> set[int]:
        """Return the steps that were called successfully before call `before`, even if they came too early to count."""
        calls = {step.symbol for step in self.steps[:before] if step.symbol is not None and not step.call.failed}
        return calls.union(symbol for index, symbol in self.hindsight.items() if index < before)

    def steps_like(self, symbol: int) -> frozenset[int]:
        """Return the steps with the same tool and arguments as step `symbol`, including `symbol`.

        These steps differ only in the result that they expect.
        """
        actions, steps = self.automaton.alphabet.actions, self.automaton.alphabet.steps
        tool, arguments = actions[symbol].tool, actions[symbol].arguments
        return frozenset(one for one in steps if actions[one].tool == tool and actions[one].arguments == arguments)

    @cached_property
    def early_calls(self) -> tuple[Step, ...]:
        """Legal calls that matched a step but came too early to count."""
        return tuple(
            step for step in self.steps
            if step.kind is Kind.LOOP and not step.call.failed
            and (symbol := self.symbol(step)) is not None and symbol in self.automaton.alphabet.steps
            and self.automaton.ahead[step.before] >> symbol & 1
        )  # fmt: skip

    # Comparison with the nearest golden path

    def pair_up(self, reference: Reference) -> list[Pair]:
        """Pair the calls in the condensed path with the steps in `reference`, e.g. the nearest golden path."""
        actions = self.automaton.alphabet.actions
        mine = [
            (name, step.call.tool) for name, step in zip(self.score.condensed, self.score.trace.condensed, strict=True)
        ]
        theirs = [(name, actions[self.symbols[name]].tool if name in self.symbols else None) for name in reference.path]
        return pair_by_tool(reference.alignment, mine, theirs)

    @cached_property
    def comparison(self) -> Comparison:
        """How the episode differs from the nearest golden path."""
        path = self.score.reference.path
        matched, opposite, spare = self._match()
        done = matched | _places_done_elsewhere(path, matched, spare)
        lacking = [place for place in range(len(path)) if place not in done]
        instead = {
            place: opposite[place] for place in lacking
            if place in opposite and self._was_made_instead(opposite[place], [path[one] for one in done if one < place])
        }  # fmt: skip
        last = max({*done, *instead}, default=-1)
        return Comparison(
            skipped=tuple(place for place in lacking if place <= last),
            untried=tuple(place for place in lacking if place > last),
            instead=instead,
        )

    def _match(self) -> tuple[set[int], dict[int, int], Counter[str]]:
        """Match the condensed path with the nearest golden path.

        Return the places that match a call, the call index for each place that is paired with a different call, and how
        often each label occurs among the unmatched and early calls.
        """
        path, condensed = self.score.reference.path, self.score.trace.condensed
        names = [self.label(step.index) for step in condensed]
        matched: set[int] = set()
        opposite: dict[int, int] = {}
        spare = Counter(self.label(step.index) for step in self.early_calls)
        for mine, theirs in self.pair_up(self.score.reference):
            if mine is None:
                continue
            if theirs is not None and names[mine] == path[theirs]:
                matched.add(theirs)
                continue
            spare[names[mine]] += 1
            if theirs is not None:
                opposite[theirs] = condensed[mine].index
        return matched, opposite, spare

    def _was_made_instead(self, index: int, earlier: Iterable[str]) -> bool:
        """Whether call `index` is not a step on the nearest golden path and came after all steps in `earlier`."""
        if self.label(index) in self.score.reference.path:
            return False
        return all(self._first_calls.get(name, -1) < index for name in earlier)

    @cached_property
    def _first_calls(self) -> dict[str, int]:
        """The index of the first call with each label."""
        return {self.label(step.index): step.index for step in reversed(self.steps)}


def _places_done_elsewhere(path: Sequence[str], matched: set[int], spare: Counter[str]) -> set[int]:
    """Return the places in `path` that are not in `matched` but whose step was called at another time.

    `spare` counts the calls that match no place. Each of them is used for one place only.
    """
    left, found = spare.copy(), set[int]()
    for place, name in enumerate(path):
        if place not in matched and left[name]:
            left[name] -= 1
            found.add(place)
    return found
