"""Deriving a task from the calls that a benchmark expects.

Many benchmarks list the calls they expect for each task. In the derived task the writes are steps, in any order or in
sequence. Expected reads are either steps or self-loops, and neutral calls are self-loops. If no write is expected, a
correct path changes nothing. These choices are explained in comments at the top of the task file, which people are
meant to edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, get_args

from corepath.authoring.list_orders import field_path, permute_pairs
from corepath.automaton.condensation import trace_calls
from corepath.automaton.step import Kind
from corepath.episode import NO_AGENT_ACTIONS
from corepath.errors import TaskError, count, nearest
from corepath.files.task_writer import as_yaml
from corepath.files.tool_file import ArgumentRule, Tools
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Fields
from corepath.notation.parser import action as parse_action
from corepath.notation.patterns import ANY, approx, as_matcher, unordered
from corepath.notation.procedure import Procedure, any_order, choice, seq
from corepath.task import SOURCE_PREFIX, Task
from corepath.values import canonical, is_number

Writes = Literal["any_order", "sequence"]
GoldenReads = Literal["loops", "progress"]
_WRITES: Final = get_args(Writes)
_GOLDEN_READS: Final = get_args(GoldenReads)


@dataclass(frozen=True)
class ExpectedCall:
    """A call that a benchmark expects.

    `compared` lists the arguments to compare, or is None if all are compared. `unnamed` holds positional arguments.
    `turn` is the number of the user's message that asks for the call. It is 0 throughout if that is not known.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    compared: Sequence[str] | None = None
    unnamed: Sequence[Any] = ()
    turn: int = 0


@dataclass(frozen=True)
class Expected:
    """The calls that a benchmark expects for one task, in the benchmark's order."""

    id: str
    calls: Sequence[ExpectedCall]
    prompt: str = ""
    tags: Sequence[str] = ()

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the expected calls. Two tasks with the same id are the same task if their hashes are equal."""
        calls = [[one.tool, one.arguments, one.compared, list(one.unnamed)] for one in self.calls]
        return SOURCE_PREFIX + hashlib.sha256(canonical(calls).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Derived:
    """A task derived from expected calls, together with these calls and the options that were used."""

    task: Task
    expected: Expected
    writes: Writes
    golden_reads: GoldenReads
    dropped: tuple[tuple[str, str], ...] = ()
    """The expected calls that are not steps, each as its kind (`read` or `neutral`) and the call."""

    @cached_property
    def text(self) -> str:
        """The task as a YAML task file."""
        return as_yaml(self.task, _describe_choices(self))


def derive(
    expected: Expected, tools: Tools, *, writes: Writes = "any_order", golden_reads: GoldenReads = "loops"
) -> Derived:
    """Derive a task from expected calls. Raises `TaskError` if the task would not accept those calls.

    The writes of a turn may come in any order, or only as listed with `writes="sequence"`. With
    `golden_reads="progress"` the expected reads are steps, and each write must come after the reads listed directly
    before it.
    """
    for name, chosen, choices in (("writes", writes, _WRITES), ("golden_reads", golden_reads, _GOLDEN_READS)):
        if chosen not in choices:
            raise TaskError.of(f"no choice '{chosen}' of {name}{nearest(str(chosen), choices)}")
    try:
        steps = _Steps(tools, reads_are_steps=golden_reads == "progress")
        for call in expected.calls:
            steps.add(call)
        task = Task(
            expected.id,
            expected.prompt,
            steps.procedure(writes),
            actions=tuple(steps.actions),
            reads=tuple(tool_patterns(tools.reads, tools)),
            neutral=tuple(tool_patterns(tools.neutral, tools)),
            unlisted="ignore" if NO_AGENT_ACTIONS in expected.tags else "harm",
            tools=None if tools.tools is None else tuple(tools.tools),
            tags=tuple(expected.tags),
            source=expected.fingerprint,
        )
        _check_replay(task, steps.meant, tools)
    except TaskError as error:
        raise TaskError.of(f"task '{expected.id[:120]}': {error}") from None
    return Derived(task, expected, writes, golden_reads, tuple(steps.dropped))


def named_arguments(call: ExpectedCall, tools: Tools) -> dict[str, Any]:
    """Return a call's arguments, keyed by name. Positional arguments get the tool's parameter names."""
    return {**dict(zip(tools.parameters(call.tool) or (), call.unnamed, strict=False)), **call.arguments}


_Meant = Sequence[tuple[Call, Sequence[Action]]]
"""Each expected call with the actions that should match the call. A call that should be a self-loop has no actions."""


class _Steps:
    """Collects a task's steps. Equal steps share one action."""

    def __init__(self, tools: Tools, *, reads_are_steps: bool) -> None:
        self.tools, self.reads_are_steps = tools, reads_are_steps
        self.actions: list[Action] = []
        self.dropped: list[tuple[str, str]] = []
        self.meant: list[tuple[Call, tuple[Action, ...]]] = []
        self._turns: dict[int, list[list[Procedure]]] = {}

    def add(self, expected: ExpectedCall) -> None:
        """Add a call as a step, or to `dropped` if the call is neutral or a read that should not be a step."""
        kind = self.tools.kind(expected.tool)
        arguments = self._arguments(expected)
        call = Call(expected.tool, arguments)
        if kind == "neutral" or (kind == "read" and not self.reads_are_steps):
            self.dropped.append((kind, str(call)))
            self.meant.append((call, ()))
            return
        actions = self._actions_of(expected, arguments)
        self.meant.append((call, actions))
        chains = self._turns.setdefault(expected.turn, [[]])
        chains[-1].append(choice(*actions))
        if kind == "write":
            chains.append([])

    def procedure(self, writes: Writes) -> Procedure:
        """Join all steps into a procedure, turn by turn. Each write comes after the reads listed directly before it."""
        join = seq if writes == "sequence" else any_order
        return seq(*(join(*(seq(*chain) for chain in chains if chain)) for chains in self._turns.values()))

    def _arguments(self, call: ExpectedCall) -> dict[str, Any]:
        if len(self.tools.parameters(call.tool) or ()) < len(call.unnamed):
            raise TaskError.of(
                f"an expected call of '{call.tool}' has arguments without names; "
                f"name its parameters in the tool file, under tools, as in {call.tool}(first, second)"
            )
        return named_arguments(call, self.tools)

    def _actions_of(self, call: ExpectedCall, arguments: dict[str, Any]) -> tuple[Action, ...]:
        """Return the actions that match a call, one for each order of the call's paired lists."""
        rules = self.tools.rules(call.tool)
        if call.compared is not None:
            arguments = {name: value for name, value in arguments.items() if name in call.compared}
        actions = []
        for variant in permute_pairs(arguments, rules):
            fields = tuple((name, as_matcher(pattern_of(value, name, rules))) for name, value in variant.items())
            actions.append(self._share(Action(call.tool, Fields(fields, call.compared is not None))))
        return tuple(dict.fromkeys(actions))

    def _share(self, action: Action) -> Action:
        """Return the known action that equals `action`, or add `action` under a new name."""
        for known in self.actions:
            if known == action or (known.covers(action) and action.covers(known)):
                return known
        taken = {known.name for known in self.actions}
        tool = action.tool or "call"
        names = (tool, *(f"{tool}_{number}" for number in range(2, len(taken) + 3)))
        self.actions.append(action.named(next(name for name in names if name not in taken)))
        return self.actions[-1]


def pattern_of(value: Any, path: str, rules: Mapping[str, ArgumentRule]) -> Any:
    """Convert a value to a pattern, using the rule for its `path`. Fields of objects have paths like `guests.age`."""
    rule = rules.get(path)
    kind = None if rule is None else rule.kind
    if kind == "any":
        return ANY
    if isinstance(value, Mapping):
        return _match_object(value, path, rules)
    if isinstance(value, list):
        return (
            _match_unordered(value, path, rules)
            if kind == "unordered"
            else [pattern_of(item, path, rules) for item in value]
        )
    if rule is not None and kind == "approx" and is_number(value):
        return approx(value, rule.tol)
    return value


def _match_object(value: Mapping[str, Any], path: str, rules: Mapping[str, ArgumentRule]) -> dict[Any, Any]:
    """Match each field. The object may have further fields if the rule for its path says so."""
    fields = {name: pattern_of(item, field_path(path, name), rules) for name, item in value.items()}
    return {**fields, ...: ...} if path in rules and rules[path].open else fields


def _match_unordered(items: list[Any], path: str, rules: Mapping[str, ArgumentRule]) -> Any:
    """Match the items in any order. Lists in them keep their order, and objects are open if the rule says so."""
    inner = {name: rule for name, rule in rules.items() if name != path}
    if rules[path].open:
        inner[path] = ArgumentRule("open", open=True)
    return unordered([pattern_of(item, path, inner) for item in items])


def tool_patterns(globs: Iterable[str], tools: Tools) -> Iterator[Action]:
    """Yield an action for each glob, e.g. `get_*(...)` for `get_*`.

    If the tool file lists the tools, globs that match none of them are skipped.
    """
    for glob in globs:
        name = Action(glob, Fields((), open=True)).notation.removesuffix("(...)")
        pattern = parse_action(f"{name}(...)")
        if tools.tools is None or any(pattern.fits_tool(tool.name) for tool in tools.tools):
            yield pattern


def _check_replay(task: Task, meant: _Meant, tools: Tools) -> None:
    """Check that the task accepts the expected calls.

    Raises `TaskError` if a call does not match the action made for it.
    """
    trace = trace_calls(task.automaton, [call for call, _ in meant])
    for step, (call, actions) in zip(trace.steps, meant, strict=True):
        taken = None if step.symbol is None else trace.automaton.alphabet.actions[step.symbol]
        if taken in actions if actions else step.kind is Kind.LOOP:
            continue
        first = next((other for other, others in meant if taken in others), None)
        if first is None:
            raise TaskError.of(f"it does not accept the expected call {call.label}: {step.harm or step.kind}")
        cause = _cause_of_overlap(first, call, tools)
        raise TaskError.of(f"the action of the expected call {first.label} also takes {call.label}, by {cause}")


def _cause_of_overlap(first: Call, second: Call, tools: Tools) -> str:
    """Explain why the action for `first` also matches `second`, by naming the rules for the arguments that differ."""
    differing = {name for name, value in second.arguments.items() if first.arguments.get(name) != value}
    rules = [
        f"'{path}: {rule}'"
        for path, rule in tools.rules(second.tool).items()
        if {path, path.partition(".")[0]} & differing
    ]
    return f"the rule {' and '.join(rules)}; make it narrower" if rules else "the arguments that are compared"


def _describe_choices(derived: Derived) -> Iterator[str]:
    """Yield the comments for the top of the task file."""
    calls = count(len(derived.expected.calls), "expected call")
    turns = len({call.turn for call in derived.expected.calls}) > 1
    order = "in sequence" if derived.writes == "sequence" else f"in any order{' within a turn' if turns else ''}"
    reads = "loops" if derived.golden_reads == "loops" else "steps"
    yield f"Derived from {calls}: writes {order}, expected reads are {reads}."
    if NO_AGENT_ACTIONS in derived.expected.tags:
        yield "All that is expected is done by others than the agent: no call of the agent's is right or wrong here."
    elif not derived.task.actions:
        yield "No write is expected: the right path changes nothing."
    for kind, call in derived.dropped:
        yield f"Expected, and no step ({kind}): {call}"
