"""Collect the facts that explanations use: the episode, its score and its replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, Position, Step
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.explanation.sentences import MOST_LISTED, join, times_text
from corepath.explanation.telling import telling_arguments, telling_fields
from corepath.explanation.value_text import (
    NamingScope,
    call_text,
    message_text,
    step_text,
    tool_name,
    whole_step_text,
)
from corepath.notation.action import Action
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.matchers import Scope
from corepath.scoring.evidence import Harm
from corepath.scoring.hand_over import is_hand_over
from corepath.scoring.score import Score
from corepath.task import Task
from corepath.world.exploring import Replay

LONGEST_STEP: Final = 80
"""Maximum length of a step that is written with all its arguments in a sentence."""
_DEEPEST_NAME: Final = 4
"""How many results that are made of each other are named to tell two actions apart."""
SHORT_STEP: Final = 50
"""Maximum length of a step that is written with all its arguments in a list of steps."""


@dataclass(frozen=True)
class Facts:
    """An episode with its score, and with its replay if the task has a world.

    If only the calls are known, the episode's answer is UNANSWERED. A step is expected in a state if the step would be
    progress there.
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

    @property
    def outcome_is_wrong(self) -> bool:
        """Whether the final state or the responses are known to be wrong."""
        return self.score.state_match is False or self.score.response_match is False

    @property
    def positions(self) -> tuple[Position, ...]:
        """The position before each call, followed by the position at the end."""
        return self.score.trace.positions

    def scope(self, index: int) -> Scope:
        """Return the variables and results that are known before call `index`."""
        position = self.positions[index]
        return NamingScope(dict(position.variables), position.results, names=self._action_names)

    @cached_property
    def _action_names(self) -> dict[Action, str]:
        """Names of the actions whose tool other actions use as well, with the arguments that tell them apart."""
        actions = list(dict.fromkeys(self.automaton.alphabet.actions))
        tools = Counter(action.tool for action in actions)
        telling = {one: telling_fields(one, (), actions, Scope()) for one in actions if tools[one.tool] > 1}
        names = {one: step_text(one, Scope(), fields) for one, fields in telling.items()}
        for _ in range(_DEEPEST_NAME):  # actions may differ only in the results that they use
            alike = Counter(names.values())
            scope = NamingScope(names=names)
            names |= {one: step_text(one, scope, telling[one]) for one, name in names.items() if alike[name] > 1}
        return names

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

    def took_effect(self, harm: Harm) -> bool:
        """Whether a harmful call was executed, and changed the state as far as that is known."""
        return harm.effected and self.changed_state[harm.index] is not False

    def is_refused(self, index: int) -> bool:
        """Whether the tool refused a call."""
        return self.steps[index].call.failed

    @cached_property
    def refused(self) -> tuple[int, ...]:
        """The indexes of all calls that the tool refused."""
        return tuple(step.index for step in self.steps if step.call.failed)

    @cached_property
    def only_looked(self) -> bool:
        """Whether the agent called only tools that read, and a step that writes is missing. Needs a world."""
        world = self.task.simulator
        if world is None or not self.steps:
            return False
        writes = {name for name, tool in world.tools.items() if tool.writes}
        actions = self.automaton.alphabet.actions
        tools = [None if step.call.malformed else step.call.tool for step in self.steps]
        only_read = all(tool in world.tools and tool not in writes for tool in tools)
        return only_read and any(actions[symbol].tool in writes for symbol in self.steps_left)

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

    def short_text(self, symbol: int, index: int) -> str:
        """Write a step as a call. If that is long, only write the arguments that tell it from other steps."""
        actions = self.automaton.alphabet.actions
        action = actions[symbol]
        whole = self.step_text(symbol, index)
        if len(whole) <= LONGEST_STEP and (action.arguments.open or not whole.endswith("…)")):
            return whole
        scope = self.scope(index)
        return step_text(action, scope, telling_fields(action, self._calls, actions, scope))

    def whole_text(self, symbol: int, index: int) -> str:
        """Write a step as a call with all its arguments."""
        return whole_step_text(self.automaton.alphabet.actions[symbol], self.scope(index))

    def call_text(self, index: int) -> str:
        """Write a call with its number, e.g. `call 3, pick(thing="box")`.

        If the call is long, the arguments that tell it from other calls and steps of its tool come first.
        """
        call = self.steps[index].call
        telling = telling_arguments(call, self._calls, self.automaton.alphabet.actions)
        return f"call {index + 1}, {call_text(call, telling)}"

    def name_call(self, index: int) -> str:
        """Return a call's number and tool, e.g. `call 3, pick`."""
        return f"call {index + 1}, {tool_name(self.steps[index].call.tool)}"

    @property
    def _calls(self) -> Iterator[Call]:
        return (step.call for step in self.steps)

    def expected_text(self, index: int, most: int = MOST_LISTED) -> str:
        """List the steps that were expected when call `index` was made, or return an empty string if none were."""
        expected = self.automaton.due(self.positions[index].state)
        return join([self.short_text(symbol, index) for symbol in expected], "or", most)

    def missing_text(
        self, symbols: Iterable[int], index: int, most: int = MOST_LISTED, *, briefly: bool = False
    ) -> str:
        """List steps that were not done before call `index`, with counts, e.g. `a(), b() twice and c() once more`.

        With `briefly`, only the arguments are written that tell a step from the others.
        """
        called, name = self.steps_called(index), self._brief_text if briefly else self.short_text
        texts = [
            f"{name(symbol, index)} {times_text(count)} more" if symbol in called
            else f"{name(symbol, index)} {times_text(count)}" if count > 1
            else name(symbol, index)
            for symbol, count in Counter(symbols).items()
        ]  # fmt: skip
        return join(texts, most=most)

    def _brief_text(self, symbol: int, index: int) -> str:
        """Write a long step by the one argument that tells it from all others of its tool, if there is one."""
        actions, scope = self.automaton.alphabet.actions, self.scope(index)
        action, short = actions[symbol], self.short_text(symbol, index)
        others = [dict(one.arguments.fields) for one in actions if one.tool == action.tool and one is not action]
        telling = [name for name, part in action.arguments.fields if all(one.get(name) != part for one in others)]
        brief = [step_text(action, scope, frozenset([name])) for name in telling]
        return short if len(short) <= SHORT_STEP else min(brief, key=len, default=short)

    def needed_text(self, symbols: Sequence[int], index: int, *, has_choice: bool) -> str:
        """List steps that must come before call `index`. With `has_choice`, other steps would do as well."""
        listed = self.missing_text(symbols, index)
        such = "a step such as" if len(symbols) == 1 else "steps such as"
        return f"{such} {listed}" if has_choice and symbols else listed

    # Steps that were done, called early, or are left

    @cached_property
    def done_at(self) -> dict[int, list[int]]:
        """The indexes of the calls that did each step, keyed by the step's number. Some of them may break a rule."""
        found: dict[int, list[int]] = {}
        for step in self.steps:
            if step.advances and step.symbol is not None:
                found.setdefault(step.symbol, []).append(step.index)
        return found

    @cached_property
    def expects_nothing(self) -> bool:
        """Whether the task has no steps, so that nothing was to be done."""
        return not any(after != state for state, edges in enumerate(self.automaton.delta) for after in edges.values())

    @cached_property
    def hand_over(self) -> int | None:
        """The index of the call that handed over to a human, with no step done after it, or None if there is none."""
        for step in reversed(self.steps):
            if step.kind is Kind.PROGRESS:
                return None
            if step.kind is Kind.LOOP and is_hand_over(step):
                return step.index
        return None

    def did_step_from(self, index: int) -> bool:
        """Whether a step was done at call `index` or later."""
        return any(step.kind is Kind.PROGRESS for step in self.steps[index:])

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
