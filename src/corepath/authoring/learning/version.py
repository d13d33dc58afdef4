"""Versions of a task: its procedure and actions, changed step by step, and how much they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import cached_property
from math import prod
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.errors import TaskError
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Anything, Approx, Fields, Items, Literal, Matcher, OneOf, Unordered
from corepath.notation.parts import replace_leaves
from corepath.notation.patterns import ANY, as_matcher
from corepath.notation.procedure import Procedure
from corepath.task import Task
from corepath.world.self_loops import find_self_loops

PROSE: Final = 6
"""A text with so many words is free text."""
_WIDE: Final = 2
"""How many values a pattern counts for that allows more than some listed ones."""


@dataclass(frozen=True, eq=False)
class Version:
    """A procedure and the actions that the task declares.

    `image` maps actions of the task at the beginning to what they became, unless they are unchanged. `reasons` says in
    words what was changed and why. `copies` counts the parts that stand there twice, once with a step moved.
    """

    task: Task
    procedure: Procedure
    actions: tuple[Action, ...]
    image: Mapping[Action, Action] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    copies: int = 0

    @property
    def key(self) -> object:
        """What tells versions apart."""
        return self.procedure, self.actions

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton, without the self-loops of a world. Raises `TaskError` if the version is no valid task."""
        return Automaton.from_procedure(self.procedure, self.actions, self.task.automaton.alphabet.listing)

    def finish(self) -> Task:
        """Return the version as a task. In a world, the writes that change nothing become self-loops."""
        made = replace(self.task, procedure=self.procedure, actions=self.actions, automaton=self.automaton)
        if made.simulator is None:
            return made
        return replace(made, automaton=made.automaton.with_loops(find_self_loops(made)))

    @cached_property
    def weight(self) -> int:
        """The number of golden paths, where an action with several values of an argument counts several times."""
        golden = self.automaton.golden
        weights = [weigh(action) for action in self.automaton.alphabet.actions]
        counts = [0] * len(golden.edges)
        for node in range(len(golden.edges) - 1, golden.start - 1, -1):
            onward = sum(weights[symbol] * counts[after] for symbol, after in golden.edges[node])
            counts[node] = (node in golden.accepting) + onward
        return counts[golden.start]

    @cached_property
    def text(self) -> str:
        """The procedure and the actions as in a task file."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def lines(self) -> list[str]:
        """The lines of the procedure and of the actions, as in a task file."""
        actions = [f"  {action}: {action.notation}" for action in self.actions]
        return [*(["actions:"] if actions else []), *actions, f"procedure: {self.procedure}"]

    def change(self, procedure: Procedure, reason: str, *actions: Action) -> Version:
        """Return a version with another procedure. `actions` are declared if they have a name and are new."""
        fresh = tuple(one for one in dict.fromkeys(actions) if one.name and one not in self.actions)
        return replace(self, procedure=procedure, actions=(*self.actions, *fresh), reasons=(*self.reasons, reason))

    def swap(self, old: Action, new: Action, reason: str) -> Version:
        """Return a version with another pattern for an action, wherever it stands."""

        def put(action: Procedure) -> Procedure:
            return new if action == old else action

        image = {one: (new if two == old else two) for one, two in self.image.items()}
        if old not in image.values() and new not in image.values():
            image[old] = new
        return replace(
            self,
            procedure=replace_leaves(self.procedure, put),
            actions=tuple(new if one == old else one for one in self.actions),
            image=image,
            reasons=(*self.reasons, reason),
        )

    def name_action(self, call: Call) -> Action:
        """Return an action for exactly this call, but with any text where the call has a long one.

        The action has a name of its own if the task's other actions do.
        """
        free = {name: ANY if is_prose(value) else value for name, value in call.arguments.items()}
        action = Action(call.tool, Fields(tuple((name, as_matcher(value)) for name, value in free.items())))
        if not self.actions:
            return action
        taken = {one.name for one in self.actions}
        names = (call.tool, *(f"{call.tool}_{number}" for number in range(2, len(taken) + 3)))
        return action.named(next(name for name in names if name and name not in taken))


def begin_version(task: Task) -> Version:
    """Return the version that a task is in. Raises `TaskError` if the task has no procedure."""
    procedure = task.automaton.procedure
    if procedure is None:
        raise TaskError.of(
            f"task '{task.id}' gives its automaton outright, with start, accept and transitions; "
            "only a task with a procedure can be changed like this"
        )
    return Version(task, procedure, tuple(task.actions))


def compare_versions(old: Version, new: Version) -> str:
    """Return what differs between two versions, as lines that begin with `-` or `+`."""
    lines = unified_diff(old.lines, new.lines, lineterm="", n=0)
    return "\n".join(f"{line[0]} {line[1:]}" for line in list(lines)[2:] if not line.startswith("@@"))


def weigh(pattern: Action | Matcher) -> int:
    """Count the values that a pattern allows, where any value or a range counts as two."""
    match pattern:
        case Action(arguments=arguments):
            return weigh(arguments) * (_WIDE if arguments.open else 1)
        case Fields(fields):
            return prod(weigh(one) for _, one in fields)
        case Items(items) | Unordered(items):
            return prod(map(weigh, items))
        case OneOf(options):
            return sum(map(weigh, options))
        case Approx(tol=tol):
            return 1 if tol is None else _WIDE
        case Literal():
            return 1
        case Anything():
            return _WIDE
    return 1 if not pattern.inner() else _WIDE


def is_prose(value: object) -> bool:
    """Whether a value is a long text, which agents word as they like."""
    return isinstance(value, str) and len(value.split()) >= PROSE
