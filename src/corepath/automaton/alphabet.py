"""A task's alphabet: it classifies each call as a step, forbidden, a read, neutral or unlisted.

The procedure's steps are checked in order, and a call matches the first step that fits both its arguments and its
result. A call that matches no step is checked against the forbid rules, and then against the read and neutral patterns.
If none of them fits, the call is unlisted. An action's number is called its symbol.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

from corepath.automaton.reading import Forbidden, Reading, Role
from corepath.errors import Fault, TaskError, nearest
from corepath.memory import remember
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, ResultOf, Scope, depends_on_calls, walk

Unlisted = Literal["harm", "ignore", "ignore_other_tools"]
Refused = Literal["harm", "try", "ignore_other_tools"]


_MALFORMED: Final = Reading(Role.MALFORMED)
_UNKNOWN_TOOL: Final = Reading(Role.UNKNOWN_TOOL)
_NOTHING: Final = Scope()
"""The scope of patterns that depend on no earlier call."""
MOST_TOOLS: Final = 10_000
"""The most names of tools, real or not, whose patterns are kept."""
_Patterns = tuple[tuple[tuple[int, Fields], ...], tuple[Fields, ...], tuple[Forbidden, ...]]
"""Steps with their numbers, loops, and forbid rules."""


@dataclass(frozen=True)
class Listing:
    """A task's rules for calls that are not steps.

    Calls that match `reads` or `neutral` are self-loops. Calls that match `forbid` are always harmful. `unlisted` says
    how to treat all other calls. `tools` maps names to all existing tools, or is None if the tools are unknown.
    `refused` says how to treat a failed call that is not expected: as harm, or as a try if a step with the same tool is
    due, and perhaps as a self-loop if no step has that tool.
    """

    reads: tuple[Action, ...] = ()
    neutral: tuple[Action, ...] = ()
    forbid: tuple[Forbidden, ...] = ()
    unlisted: Unlisted = "harm"
    tools: Mapping[str, Tool] | None = None
    refused: Refused = "harm"


@dataclass(frozen=True)
class Alphabet:
    """The numbered actions of a task's automaton, and the rules for all other calls.

    `steps` holds the numbers of the actions that the procedure uses. An action can be declared without being a step.
    """

    actions: tuple[Action, ...]
    steps: frozenset[int]
    listing: Listing = field(default_factory=Listing)

    @property
    def reads(self) -> tuple[Action, ...]:
        """Patterns for read-only calls."""
        return self.listing.reads

    @property
    def neutral(self) -> tuple[Action, ...]:
        """Patterns for calls that are allowed in every state and change nothing that matters."""
        return self.listing.neutral

    @property
    def forbid(self) -> tuple[Forbidden, ...]:
        """Rules that forbid calls in every state."""
        return self.listing.forbid

    @property
    def unlisted(self) -> Unlisted:
        """How to treat a call that the task does not mention."""
        return self.listing.unlisted

    def ignores(self, tool: str) -> bool:
        """Whether unlisted calls of a tool are self-loops."""
        unlisted = self.listing.unlisted
        return unlisted == "ignore" or (unlisted == "ignore_other_tools" and not self.has_step_with(tool))

    def has_step_with(self, tool: str) -> bool:
        """Whether a step has this tool."""
        return tool in self._by_tool

    @property
    def tools(self) -> Mapping[str, Tool] | None:
        """All existing tools, keyed by name, or None if the tools are unknown."""
        return self.listing.tools

    @cached_property
    def binds(self) -> bool:
        """Whether any step's pattern depends on the arguments or results of earlier steps."""
        actions = [self.patterns[number] for number in self.steps]
        patterns = [pattern for action in actions for pattern in (action.arguments, action.result) if pattern]
        return any(map(depends_on_calls, patterns))

    @cached_property
    def _refers_to_results(self) -> bool:
        """Whether any step's arguments refer to the result of another step."""
        return any(isinstance(one, ResultOf) for number in self.steps for one in walk(self.patterns[number].arguments))

    @cached_property
    def referred(self) -> frozenset[Action]:
        """The actions to whose results a pattern refers."""
        listed = (*self.reads, *self.neutral, *(one.call for one in self.forbid))
        patterns = [part for one in (*self.patterns, *listed) for part in (one.arguments, one.result) if part]
        return frozenset(one.action for part in patterns for one in walk(part) if isinstance(one, ResultOf))

    @cached_property
    def depends_on_results(self) -> bool:
        """Whether classifying a call can require more than its arguments.

        This is the case if a pattern depends on the call's result or on earlier calls.
        """
        listed = (*self.reads, *self.neutral, *(one.call for one in self.forbid))
        actions = (*self.patterns, *listed)
        return self.binds or any(action.result is not None or depends_on_calls(action.arguments) for action in actions)

    def __post_init__(self) -> None:
        if faults := [*self._glob_faults(), *self._tool_faults(), *self._result_faults()] or list(
            self._shadow_faults()
        ):
            raise TaskError(faults)

    def read(self, call: Call, variables: Mapping[str, Any], results: Mapping[Any, Any], *, failed: bool) -> Reading:
        """Classify a call.

        `variables` and `results` hold variable values and results from earlier steps. If `failed` is True, the call
        fits no action that has a result pattern.
        """
        if call.malformed:
            return _MALFORMED
        tools = self.listing.tools
        if tools is not None and call.tool not in tools:
            return _UNKNOWN_TOOL
        arguments = call.arguments if tools is None else tools[call.tool].fill_defaults(call.arguments)
        if not self.depends_on_results:
            return self._read_alone(call.tool, arguments)
        call = call if arguments is call.arguments else replace(call, arguments=arguments)
        symbol, fits, bound = self._match(call, variables, results, failed=failed)
        loops = any(_fits(one, call, variables, results) for one in self._loops_of(call.tool))
        if symbol in self.steps:
            return Reading(Role.STEP, symbol, fits, loops, variables=bound)
        forbidden = next((one for one in self._forbid if _fits(one.call, call, variables, results)), None)
        role = Role.FORBIDDEN if forbidden else Role.LOOP if loops else Role.UNLISTED
        early = self._find_early(call, variables, results, role, fits)
        return Reading(role, symbol, fits, loops, forbidden, variables, early)

    def _read_alone(self, tool: str, arguments: Mapping[str, Any]) -> Reading:
        """Classify a call by its arguments, which is enough if no pattern depends on results or on earlier calls."""
        steps, loops, forbid = self._patterns_of(tool)
        symbol = next((number for number, pattern in steps if pattern.matches(arguments, _NOTHING)), None)
        is_loop = any(pattern.matches(arguments, _NOTHING) for pattern in loops)
        forbidden = None
        if symbol in self.steps:
            role = Role.STEP
        else:
            forbidden = next((one for one in forbid if one.call.arguments.matches(arguments, _NOTHING)), None)
            role = Role.FORBIDDEN if forbidden else Role.LOOP if is_loop else Role.UNLISTED
        key = (symbol, is_loop, id(forbidden))
        if key not in self._readings:
            fits = () if symbol is None else (symbol,)
            self._readings[key] = Reading(role, symbol, fits, is_loop, forbidden)
        return self._readings[key]

    def _patterns_of(self, tool: str) -> _Patterns:
        """Return the steps, loops and forbid rules that may fit a call to `tool`. They are cached for `MOST_TOOLS`."""
        found = self._by_name.get(tool)
        if found is None:
            loops = (one.arguments for one in self._loops_of(tool) if one.fits_tool(tool))
            forbid = (one for one in self._forbid if one.call.fits_tool(tool))
            steps = ((number, self.patterns[number].arguments) for number in self._by_tool.get(tool, ()))
            found = remember(self._by_name, tool, (tuple(steps), tuple(loops), tuple(forbid)), MOST_TOOLS)
        return found

    @cached_property
    def _readings(self) -> dict[tuple[int | None, bool, int], Reading]:
        """The readings of calls so far, since there are few different ones."""
        return {}

    @cached_property
    def _by_name(self) -> dict[str, _Patterns]:
        """The patterns that may fit a call, by the name of its tool."""
        return {}

    def _find_early(
        self, call: Call, variables: Mapping[str, Any], results: Mapping[Any, Any], role: Role, fits: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the numbers of the steps that fit a call except for references to results that are not known yet.

        Only an unlisted call that fits no step can be such a call.
        """
        if fits or role is not Role.UNLISTED or not self._refers_to_results:
            return ()
        return tuple(
            number
            for number in self._by_tool.get(call.tool, ())
            if number in self.steps
            and self.patterns[number].arguments.matches(call.arguments, Scope(dict(variables), results, lenient=True))
        )

    def _match(
        self, call: Call, variables: Mapping[str, Any], results: Mapping[Any, Any], *, failed: bool
    ) -> tuple[int | None, tuple[int, ...], Mapping[str, Any]]:
        """Find the first action that fits a call's arguments and result.

        Returns the action's symbol (None if no action fits), the symbols of all actions checked so far that fit the
        arguments, and the variables' values after the call.
        """
        fits: list[int] = []
        for number in self._by_tool.get(call.tool, ()):
            if fits and number not in self.steps:
                break
            action, scope = self.patterns[number], Scope(dict(variables) if variables else {}, results)
            if action.arguments.matches(call.arguments, scope):
                fits.append(number)
                if action.result is None or (not failed and action.fits_result(call.result, scope)):
                    return number, tuple(fits), scope.variables
        return None, tuple(fits), variables

    def is_read(self, number: int) -> bool:
        """Whether all calls that fit the action are read or neutral calls.

        Such an action is a self-loop in every state in which it is not progress.
        """
        return any(pattern.covers(self.patterns[number]) for pattern in (*self._reads, *self._neutral))

    @cached_property
    def other_loops(self) -> tuple[Action, ...]:
        """The read and neutral patterns that are not completely covered by a step or a forbid rule."""
        covering = [self.patterns[number] for number in self.steps] + [one.call for one in self._forbid]
        patterns = (*self._reads, *self._neutral)
        return tuple(pattern for pattern in patterns if not any(one.covers(pattern) for one in covering))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each action: its own name, its tool's name if no other action uses the tool, or its notation."""
        tools = Counter(action.tool for action in self.actions)
        named = {action.name for action in self.actions}
        return tuple(
            action.name or (action.tool if tools[action.tool] == 1 and action.tool not in named else action.notation)
            for action in self.actions
        )

    @cached_property
    def patterns(self) -> tuple[Action, ...]:
        """The actions, with their tools' default arguments filled in."""
        if self.tools is None:
            return self.actions
        return tuple(self.tools[action.tool].complete(action) for action in self.actions)

    @cached_property
    def _reads(self) -> tuple[Action, ...]:
        return tuple(expanded for pattern in self.reads for expanded in self._expand(pattern))

    @cached_property
    def overlaps(self) -> tuple[Fault, ...]:
        """Warnings about patterns that contradict each other. Each warning says which pattern wins.

        A step wins over a forbid rule, and a forbid rule wins over reads and neutral patterns. A warning is issued if a
        forbid rule covers a step, read or neutral pattern completely, or if a pattern is in both reads and neutral. A
        read may also be a step: it is progress if the procedure expects it, and a self-loop otherwise.
        """
        return tuple(self._overlaps())

    def _overlaps(self) -> Iterator[Fault]:
        steps = sorted(self.steps)
        for place, one in enumerate(self.forbid):
            for number in steps:
                # If a step expects a result, calls with other results can still be forbidden.
                wins = self.actions[number].result is None or one.call.result is not None
                if wins and self._covers(one.call, self.actions[number]):
                    message = f"'{one.call.notation}' also fits the step '{self.names[number]}'; the step wins, "
                    yield Fault(message + "so that such a call is never forbidden", ("forbid", place))
        for key, patterns in (("reads", self.reads), ("neutral", self.neutral)):
            for place, pattern in enumerate(patterns):
                if message := self._conflict(pattern, in_neutral=key == "neutral"):
                    yield Fault(f"'{pattern.notation}' {message}", (key, place))

    def _conflict(self, pattern: Action, *, in_neutral: bool) -> str:
        """Describe the conflict between a read or neutral pattern and another rule.

        `in_neutral` is True if the pattern is in `neutral`, and False if it is in `reads`. Returns an empty string if
        there is no conflict.
        """
        if any(_same(pattern, self.actions[number]) for number in self.steps):
            return ""
        forbidden = next((one.call for one in self.forbid if self._covers(one.call, pattern)), None)
        if forbidden is not None:
            by = "" if _same(forbidden, pattern) else f" by '{forbidden.notation}'"
            return f"is forbidden too{by}; forbid wins, so that the call is harmful"
        if in_neutral and any(_same(pattern, one) for one in self.reads):
            return "is in reads too; both make the call a self-loop, so one is enough"
        return ""

    def _covers(self, wide: Action, narrow: Action) -> bool:
        """Whether `wide` fits every call that `narrow` fits, once default arguments are filled in."""
        others = list(self._expand(narrow))
        return bool(others) and all(any(one.covers(other) for one in self._expand(wide)) for other in others)

    def _loops_of(self, tool: str) -> tuple[Action, ...]:
        """Return the read and neutral patterns that may fit a call to `tool`."""
        if self.tools is None:
            return (*self._reads, *self._neutral)
        return self._loops_by_tool.get(tool, ())

    @cached_property
    def _loops_by_tool(self) -> dict[str, tuple[Action, ...]]:
        by_tool: dict[str, list[Action]] = defaultdict(list)
        for pattern in (*self._reads, *self._neutral):
            by_tool[pattern.tool].append(pattern)
        return {tool: tuple(patterns) for tool, patterns in by_tool.items()}

    @cached_property
    def _neutral(self) -> tuple[Action, ...]:
        return tuple(expanded for pattern in self.neutral for expanded in self._expand(pattern))

    @cached_property
    def _forbid(self) -> tuple[Forbidden, ...]:
        return tuple(replace(one, call=expanded) for one in self.forbid for expanded in self._expand(one.call))

    def _expand(self, pattern: Action) -> Iterable[Action]:
        """Return one pattern for each tool that `pattern` fits, with the tool's default arguments filled in."""
        if self.tools is None:
            return [pattern]
        found: list[Action] = []
        for tool in filter(pattern.fits_tool, self.tools):
            try:
                found.append(self.tools[tool].complete(replace(pattern, tool=tool)))
            except TaskError:
                if tool == pattern.tool:
                    raise
                # A glob can match tools that lack one of its arguments. No call of such a tool fits the pattern.
        return found

    @cached_property
    def _by_tool(self) -> dict[str, tuple[int, ...]]:
        by_tool: dict[str, list[int]] = defaultdict(list)
        # Declared actions that are not steps are checked after all steps.
        for number in sorted(range(len(self.actions)), key=lambda number: (number not in self.steps, number)):
            by_tool[self.actions[number].tool].append(number)
        return {tool: tuple(numbers) for tool, numbers in by_tool.items()}

    def _glob_faults(self) -> Iterable[Fault]:
        for number, action in enumerate(self.actions):
            if action.is_glob:
                message = f"a step is about one tool; the glob '{action.tool}' belongs in reads, neutral or forbid"
                yield Fault(message, ("actions", action.name or number))

    def _tool_faults(self) -> Iterable[Fault]:
        if self.tools is None:
            return
        for number, action in enumerate(self.actions):
            if message := _tool_problem(action, self.tools):
                yield Fault(message, ("actions", action.name or number))
        listed = [("reads", self.reads), ("neutral", self.neutral), ("forbid", [rule.call for rule in self.forbid])]
        for key, patterns in listed:
            for number, pattern in enumerate(patterns):
                if message := self._pattern_problem(pattern, self.tools):
                    yield Fault(message, (key, number))

    def _pattern_problem(self, pattern: Action, tools: Mapping[str, Tool]) -> str:
        """Explain why a read, neutral or forbid pattern fits no tool.

        Returns an empty string if the pattern fits a tool.
        """
        try:
            fits_some = bool(self._expand(pattern))
        except TaskError as error:
            return str(error)
        return "" if fits_some else f"no tool fits '{pattern.notation}'{nearest(pattern.tool, tools)}"

    def _result_faults(self) -> Iterable[Fault]:
        for number, action in enumerate(self.actions):
            patterns = [action.arguments] if action.result is None else [action.arguments, action.result]
            for one in (one for pattern in patterns for one in walk(pattern)):
                if isinstance(one, ResultOf) and one.action not in self.actions:
                    message = f"'{one}' speaks of an action that is no step of the procedure"
                    yield Fault(message, ("actions", action.name or number))

    def _shadow_faults(self) -> Iterable[Fault]:
        """Yield a fault for each action that can never match because an earlier action always matches first."""
        for numbers in self._by_tool.values():
            literal: dict[Action, int] = {}
            wide: list[int] = []
            for number in numbers:
                pattern = self.patterns[number]
                first = literal.get(pattern)
                if first is None:
                    first = next((one for one in wide if self.patterns[one].covers(pattern)), None)
                if first is not None:
                    yield Fault(
                        f"action '{self.names[number]}' is shadowed: every call it takes, "
                        f"'{self.names[first]}' ({self.actions[first].notation}) takes before it",
                        ("actions", self.actions[number].name or number),
                    )
                elif pattern.is_literal:
                    literal[pattern] = number
                else:
                    wide.append(number)


def _tool_problem(action: Action, tools: Mapping[str, Tool]) -> str:
    """Explain why an action is invalid: its tool does not exist or does not accept the arguments.

    Returns an empty string if there is no problem.
    """
    if action.tool not in tools:
        return f"no tool '{action.tool}'{nearest(action.tool, tools)}"
    try:
        tools[action.tool].complete(action)
    except TaskError as error:
        return str(error)
    return ""


def _same(one: Action, other: Action) -> bool:
    return (one.tool, one.arguments, one.result) == (other.tool, other.arguments, other.result)


def _fits(pattern: Action, call: Call, variables: Mapping[str, Any], results: Mapping[Any, Any]) -> bool:
    if not pattern.fits_tool(call.tool):
        return False
    scope = Scope(dict(variables), results)
    return pattern.arguments.matches(call.arguments, scope) and pattern.fits_result(call.result, scope)
