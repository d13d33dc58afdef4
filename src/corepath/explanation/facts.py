"""What is known of an episode before it is explained: its score, its replay, and how it lies beside the golden path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, Position, Step, advance
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.explanation.pairing import laid_out
from corepath.explanation.values import call_text, message_text, step_text
from corepath.explanation.words import MOST_LISTED, listed, times
from corepath.notation.call import UNANSWERED
from corepath.notation.matchers import Scope
from corepath.scoring.alignment import Pair
from corepath.scoring.evidence import Reference
from corepath.scoring.score import Score
from corepath.task import Task
from corepath.world.exploring import Replay


@dataclass(frozen=True)
class Facts:
    """An episode with its score, and with its replay where the task has a world.

    The episode's answer is UNANSWERED where only its calls are known.
    """

    task: Task
    score: Score
    replay: Replay | None
    episode: Episode

    @property
    def automaton(self) -> Automaton:
        """The task's."""
        return self.task.automaton

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every call, labelled."""
        return self.score.trace.steps

    @cached_property
    def outside(self) -> str:
        """What made the episode fail that was not the agent; empty where nothing did."""
        if self.episode.outcome != FAILED_OUTSIDE:
            return ""
        failure = self.episode.failure
        said = [failure.get(name) for name in ("kind", "message")]
        told = ": ".join(message_text(one) for one in said if one)
        if failure.get("kind") == "raised in the agent":
            return f"the agent's own code raised {message_text(failure.get('message'))}" + (
                f" at {message_text(failure['at'])}" if failure.get("at") else ""
            )
        return f"failed outside the agent ({told})" if told else "failed outside the agent"

    @property
    def answers_wrong(self) -> bool:
        """Whether there is a final answer, or the lack of one, that does not fit."""
        return self.score.answer_match is False and self.episode.answer is not UNANSWERED and not self.outside

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """Where the run stood before each call."""
        positions = [self.score.trace.begin]
        for step in self.steps:
            positions.append(advance(positions[-1], step))
        return tuple(positions)

    def scope(self, index: int) -> Scope:
        """What was bound before a call."""
        position = self.positions[index]
        return Scope(dict(position.variables), position.results)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The number of each action by its name."""
        return {name: number for number, name in enumerate(self.automaton.alphabet.names)}

    def step_text(self, symbol: int, index: int) -> str:
        """A step in words, with what was bound before a call."""
        return step_text(self.automaton.alphabet.actions[symbol], self.scope(index))

    def name_text(self, name: str, index: int) -> str:
        """A step of a reference, in words; what is no action is written as it is."""
        return self.step_text(self.symbols[name], index) if name in self.symbols else name

    def call_text(self, index: int) -> str:
        """`call 3, pick(thing="box")`."""
        return f"call {index + 1}, {call_text(self.steps[index].call)}"

    def due_text(self, index: int, most: int = MOST_LISTED) -> str:
        """What was due before a call; empty where nothing was."""
        due = self.automaton.due(self.positions[index].state)
        return listed([self.step_text(symbol, index) for symbol in due], "or", most)

    @cached_property
    def changed(self) -> tuple[bool | None, ...]:
        """For each call whether it changed the public state; None where that is not known."""
        world, run = self.task.simulator, self.replay
        if world is None or run is None:
            return (None,) * len(self.steps)
        return tuple(
            not call.failed and world.tools[call.tool].writes and not world.same_public(before, after)
            for call, before, after in zip(run.calls, run.states, run.states[1:], strict=False)
        )

    # How the path lies beside the nearest golden one

    def laid_out(self, reference: Reference) -> list[Pair]:
        """The condensed path beside a reference."""
        actions = self.automaton.alphabet.actions
        mine = [
            (name, step.call.tool) for name, step in zip(self.score.condensed, self.score.trace.condensed, strict=True)
        ]
        theirs = [(name, actions[self.symbols[name]].tool if name in self.symbols else None) for name in reference.path]
        return laid_out(reference.alignment, mine, theirs)

    @cached_property
    def beside(self) -> Beside:
        """What of the nearest golden path has no counterpart, and what stands in its place."""
        path = self.score.reference.path
        names = [self.label(step.index) for step in self.score.trace.condensed]
        spare = Counter(self.label(step.index) for step in self.early)
        done: set[int] = set()
        across: dict[int, int] = {}
        for mine, theirs in self.laid_out(self.score.reference):
            if mine is not None and theirs is not None and names[mine] == path[theirs]:
                done.add(theirs)
            elif mine is not None:
                spare[names[mine]] += 1
                if theirs is not None:
                    across[theirs] = self.score.trace.condensed[mine].index
        lacking: list[int] = []
        for place, name in enumerate(path):
            if place not in done and spare[name]:
                spare[name] -= 1
                done.add(place)
            elif place not in done:
                lacking.append(place)
        first = {self.label(step.index): step.index for step in reversed(self.steps)}
        instead = {
            place: across[place] for place in lacking
            if place in across and self.label(across[place]) not in path
            and all(first.get(path[one], -1) < across[place] for one in done if one < place)
        }  # fmt: skip
        last = max({*done, *instead}, default=-1)
        return Beside(
            skipped=tuple(place for place in lacking if place <= last),
            untried=tuple(place for place in lacking if place > last),
            instead=instead,
        )

    @cached_property
    def hindsight(self) -> dict[int, int]:
        """The calls that were no step when they were made, and are one by what all calls returned."""
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
        """The step that a call is, also of one that is known only by hindsight."""
        return self.hindsight.get(step.index, step.symbol)

    def label(self, index: int) -> str:
        """The name of the step that a call is, also of one that is known only by hindsight."""
        if index in self.hindsight:
            return self.automaton.alphabet.names[self.hindsight[index]]
        return self.score.trace.label(self.steps[index])

    def made(self, before: int) -> set[int]:
        """The steps that were called before a call and did not fail, whether they counted or not."""
        calls = {step.symbol for step in self.steps[:before] if step.symbol is not None and not step.call.failed}
        return calls.union(symbol for index, symbol in self.hindsight.items() if index < before)

    def alike(self, symbol: int) -> frozenset[int]:
        """The steps with the same call as a step, itself among them: they differ in the result that they want."""
        actions, steps = self.automaton.alphabet.actions, self.automaton.alphabet.steps
        tool, arguments = actions[symbol].tool, actions[symbol].arguments
        return frozenset(one for one in steps if actions[one].tool == tool and actions[one].arguments == arguments)

    def in_one_turn(self, earlier: int, later: int) -> bool:
        """Whether a call went out before an earlier one was answered."""
        turn = self.steps[earlier].call.turn
        return turn is not None and turn == self.steps[later].call.turn

    def lacking_text(self, symbols: Iterable[int], index: int, most: int = MOST_LISTED) -> str:
        """Steps that were not done before a call, with how often: `a(), b() twice and c() once more`."""
        made = self.made(index)
        texts = [
            f"{self.step_text(symbol, index)} {times(count)} more" if symbol in made
            else f"{self.step_text(symbol, index)} {times(count)}" if count > 1
            else self.step_text(symbol, index)
            for symbol, count in Counter(symbols).items()
        ]  # fmt: skip
        return listed(texts, most=most)

    @cached_property
    def early(self) -> tuple[Step, ...]:
        """The self-loops that are a step which was still to come: done, and not counted."""
        return tuple(
            step for step in self.steps
            if step.kind is Kind.LOOP and not step.call.failed
            and (symbol := self.symbol(step)) is not None and symbol in self.automaton.alphabet.steps
            and self.automaton.ahead[step.before] >> symbol & 1
        )  # fmt: skip

    @cached_property
    def done_at(self) -> dict[int, list[int]]:
        """For each step that was done, at which calls."""
        found: dict[int, list[int]] = {}
        for step in self.steps:
            if step.kind is Kind.PROGRESS and step.symbol is not None:
                found.setdefault(step.symbol, []).append(step.index)
        return found

    @cached_property
    def progress(self) -> int:
        """How many steps were done."""
        return sum(map(len, self.done_at.values()))

    @cached_property
    def way_on(self) -> tuple[int, ...]:
        """The fewest steps from where the run ended to acceptance."""
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


@dataclass(frozen=True)
class Beside:
    """Places of the nearest golden path: those passed over, those never come to, and the calls instead of them."""

    skipped: tuple[int, ...]
    untried: tuple[int, ...]
    instead: Mapping[int, int]
