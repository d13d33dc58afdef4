"""Faulty variants of good runs of a task.

Beside those of any run, a step may be done again at the end, calls exchange a value, a call is added, or the run stops
early. Only steps of the task are changed, since reads and neutral calls are no mistakes by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.condensation import Trace
from corepath.automaton.reading import Role
from corepath.automaton.step import Kind, Step
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Literal
from corepath.play import edits
from corepath.rules.samples import OTHER_TOOL
from corepath.task import Task
from corepath.values import canonical
from corepath.verification.run_variants import (
    Values,
    Variant,
    argument_values,
    end_of_turn,
    make_variants,
    other_arguments,
)

MOST_VALUES: Final = 3
"""How many other values each argument gets."""


@dataclass(frozen=True)
class TracedRun:
    """A recorded run, with its trace on the task. `params` holds the initial values of variables."""

    name: str
    trace: Trace
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the run."""
        return tuple(step.call for step in self.trace.steps)

    @property
    def steps(self) -> dict[int, Step]:
        """The calls that are progress, by their place."""
        return {step.index: step for step in self.trace.steps if step.kind is Kind.PROGRESS}


class VariantMaker:
    """Makes the faulty variants of the runs of one task."""

    def __init__(self, task: Task, runs: Sequence[TracedRun], others: Sequence[Call]) -> None:
        self._alphabet = task.automaton.alphabet
        calls = (call for run in runs for call in run.calls)
        self._values = argument_values([*_literal_calls(self._alphabet), *calls, *others])
        self._stranger = _find_stranger(self._alphabet, others, self._values)

    def make(self, run: TracedRun) -> Iterator[Variant]:
        """Yield the faulty variants of a run."""
        calls = run.calls
        names = {place: self._alphabet.names[step.symbol or 0] for place, step in run.steps.items()}
        yield from make_variants(calls, names, self._values, MOST_VALUES)
        yield from _repeat_at_end(calls, names)
        yield from _exchange(calls, names)
        yield from self._add(calls, names)
        yield from _stop(calls, names)

    def _add(self, calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
        """Yield variants with a call that is no step of the run."""
        for place in names:
            others = other_arguments(calls[place], self._values, MOST_VALUES)
            other = next((one for _, one in others if not self._is_step(one)), None)
            if other is not None:
                at = end_of_turn(calls, place)
                made = edits.insert(calls, at, replace(other, turn=None))
                yield Variant("added", (other.tool,), made, f"{other.label} after {calls[place].label}", (at,))
        if self._stranger is not None:
            label = "a call of another tool" if self._stranger.tool == OTHER_TOOL else self._stranger.label
            yield Variant("added", (), (*calls, self._stranger), f"{label} at the end", (len(calls),))

    def _is_step(self, call: Call) -> bool:
        return self._alphabet.read(call, {}, {}, failed=False).role is Role.STEP


def _literal_calls(alphabet: Alphabet) -> Iterator[Call]:
    """Yield the values that steps ask for, as calls."""
    for action in (alphabet.actions[symbol] for symbol in sorted(alphabet.steps)):
        literals = {name: one.value for name, one in action.arguments.fields if isinstance(one, Literal)}
        yield Call(action.tool, literals)


def _find_stranger(alphabet: Alphabet, others: Sequence[Call], values: Values) -> Call | None:
    """Return a call of a tool that the task does not name, or None if there is none.

    Calls that occur in runs come first. If the tools are not known, there may be any other tool.
    """
    tools = (Tool(OTHER_TOOL),) if alphabet.tools is None else alphabet.tools.values()
    made = (_make_call(tool, values) for tool in tools)
    steps = {alphabet.actions[symbol].tool for symbol in alphabet.steps}
    for call in (*others, *made):
        is_named = call.tool in steps or alphabet.read(call, {}, {}, failed=False).role is not Role.UNLISTED
        if not is_named and not call.failed:
            return replace(call, turn=None)
    return None


def _make_call(tool: Tool, values: Values) -> Call:
    """Make a call of a tool, with values that other calls have for arguments of the same name."""
    known = {name: found[0] for (_, name), found in values.items() if found}
    needed = [name for name, default in (tool.parameters or {}).items() if default is REQUIRED]
    return Call(tool.name, {name: known.get(name, "x") for name in needed})


def _repeat_at_end(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants in which a step is done again at the end."""
    for place, name in names.items():
        if end_of_turn(calls, place) < len(calls):
            call = calls[place]
            made = (*calls, replace(call, turn=None))
            yield Variant("repeated", (name,), made, f"{call.label} again at the end", (len(calls),))


def _exchange(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants in which a call and the next call of its tool have each other's value of one argument.

    Calls that differ in this argument alone would be swapped, which is another fault.
    """
    latest: dict[str, int] = {}
    for other in names:
        one = latest.get(calls[other].tool, other)
        latest[calls[other].tool] = other
        first, second = calls[one], calls[other]
        differing = [] if names[one] == names[other] else [
            name for name, value in first.arguments.items()
            if name in second.arguments and canonical(value) != canonical(second.arguments[name])
        ]  # fmt: skip
        for name in differing if len(differing) > 1 else ():
            made = list(calls)
            made[one] = replace(first, arguments={**first.arguments, name: second.arguments[name]})
            made[other] = replace(second, arguments={**second.arguments, name: first.arguments[name]})
            text = f"{made[one].label} and {made[other].label}"
            yield Variant("exchanged", (names[one], names[other], name), tuple(made), text, (one, other))


def _stop(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants that stop when two or more steps are missing. If only one is, it is left out."""
    places = list(names)
    for done in range(len(places) - 1):
        end, missing = (places[done - 1] + 1 if done else 0), tuple(places[done:])
        made = tuple(calls[:end])
        about = (names[places[done - 1]],) if done else ()
        text = f"nothing after {calls[places[done - 1]].label}" if done else "no call"
        yield Variant("stopped early", about, made, text, without=missing)
