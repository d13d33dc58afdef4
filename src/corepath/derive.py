"""Tasks from expected calls.

Many benchmarks give one list of the calls that they expect. A task is made of it: the writes are its steps, in sequence
or in any order; the expected reads are steps too, or loops; neutral calls are no steps. Whatever was chosen stands in
the task file, which a person can then edit. Where no write is expected, the right path changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import permutations
from typing import Any, Final, Literal

import yaml

from corepath.action import Action, Call
from corepath.errors import TaskError
from corepath.formats import VERSION
from corepath.json_values import canonical, is_number
from corepath.matchers import Fields
from corepath.notation import action as read_action
from corepath.patterns import ANY, approx, as_matcher, unordered
from corepath.procedure import Procedure, any_order, choice, seq
from corepath.task import NO_AGENT_ACTIONS, Task
from corepath.tool_file import Rule, Tools

Writes = Literal["sequence", "any_order"]
GoldenReads = Literal["loops", "progress"]

MOST_PAIRS: Final = 6
"""Pairs that two paired lists may hold: every order of them is an action, and 6 have 720."""


@dataclass(frozen=True)
class ExpectedCall:
    """A call that a benchmark expects.

    `compared` are the arguments that count, where not all do; `unnamed` are values that stand without a name.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    compared: Sequence[str] | None = None
    unnamed: Sequence[Any] = ()


@dataclass(frozen=True)
class Expected:
    """What a benchmark expects of one task: calls, in the order in which they stand there."""

    id: str
    calls: Sequence[ExpectedCall]
    prompt: str = ""
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Derived:
    """A task, and what it was made from."""

    task: Task
    expected: Expected
    writes: Writes
    golden_reads: GoldenReads
    left_out: tuple[tuple[str, str], ...] = ()
    """Expected calls that are no steps: what each is, a read or neutral, and the call."""

    @cached_property
    def text(self) -> str:
        """The task file."""
        return _task_file(self)


def derive(
    expected: Expected, tools: Tools, *, writes: Writes = "sequence", golden_reads: GoldenReads = "loops"
) -> Derived:
    """A task from expected calls. Raises `TaskError` where that cannot be, and says why.

    `golden_reads` says what the expected reads are. As `progress` they are steps, and where writes may come in any
    order, each write still comes after the reads that stand between it and the write before.
    """
    steps = _Steps(tools)
    chains: list[list[Procedure]] = [[]]
    left_out: list[tuple[str, str]] = []
    try:
        for call in expected.calls:
            kind = tools.kind(call.tool)
            if kind == "neutral" or (kind == "read" and golden_reads == "loops"):
                left_out.append((kind, str(Call(call.tool, steps.arguments(call)))))
                continue
            chains[-1].append(steps.of(call))
            if kind == "write":
                chains.append([])
        join = seq if writes == "sequence" else any_order
        unasked = NO_AGENT_ACTIONS in expected.tags
        task = Task(
            expected.id,
            expected.prompt,
            join(*(seq(*chain) for chain in chains if chain)),
            actions=tuple(steps.actions),
            reads=tuple(_patterns(tools.reads, tools)),
            neutral=tuple(_patterns(tools.neutral, tools)),
            unlisted="ignore" if unasked else "harm",
            tools=None if tools.tools is None else tuple(tools.tools),
            tags=tuple(expected.tags),
        )
    except TaskError as error:
        raise TaskError.of(f"task '{expected.id[:120]}': {error}") from None
    return Derived(task, expected, writes, golden_reads, tuple(left_out))


def unused_rules(tools: Tools, expected: Iterable[Expected]) -> list[str]:
    """The rules, as `tool.argument`, of tools that are expected, but never with that argument: it may be misspelt."""
    named: dict[str, set[str]] = {}
    for call in (call for one in expected for call in one.calls):
        named.setdefault(call.tool, set()).update(_paths(call.arguments), tools.parameters(call.tool) or ())
    found: list[str] = []
    for glob, rules in tools.arguments.items():
        known = [paths for tool, paths in named.items() if fnmatchcase(tool, glob)]
        found += [f"{glob}.{path}" for path in rules if known and not any(path in paths for paths in known)]
    return found


class _Steps:
    """The actions of a task, each once and under a name of its own."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.actions: list[Action] = []

    def of(self, call: ExpectedCall) -> Procedure:
        """The step that a call is; where lists are paired, any order of the pairs will do."""
        rules = self.tools.rules(call.tool)
        arguments = self.arguments(call)
        if call.compared is not None:
            arguments = {name: value for name, value in arguments.items() if name in call.compared}
        variants = []
        for variant in _orders(arguments, rules):
            fields = tuple((name, as_matcher(_pattern(value, name, rules))) for name, value in variant.items())
            variants.append(self._known(Action(call.tool, Fields(fields, call.compared is not None))))
        return choice(*dict.fromkeys(variants))

    def arguments(self, call: ExpectedCall) -> dict[str, Any]:
        """The arguments by name."""
        if not call.unnamed:
            return dict(call.arguments)
        names = self.tools.parameters(call.tool)
        if names is None or len(names) < len(call.unnamed):
            raise TaskError.of(
                f"an expected call of '{call.tool}' has arguments without names; "
                f"name its parameters in the tool file, under tools, as in {call.tool}(first, second)"
            )
        return {**dict(zip(names, call.unnamed, strict=False)), **call.arguments}

    def _known(self, action: Action) -> Action:
        """The action, or the same one that is known already."""
        for known in self.actions:
            if known == action or (known.covers(action) and action.covers(known)):
                return known
        taken = {known.name for known in self.actions}
        tool = action.tool or "call"
        names = (tool, *(f"{tool}_{number}" for number in range(2, len(taken) + 3)))
        self.actions.append(action.named(next(name for name in names if name not in taken)))
        return self.actions[-1]


def _orders(arguments: Mapping[str, Any], rules: Mapping[str, Rule]) -> list[dict[str, Any]]:
    """The arguments with their paired lists in every order."""
    found = [dict(arguments)]
    for name, rule in rules.items():
        one, other = arguments.get(name), arguments.get(rule.other or "")
        if rule.kind != "paired with" or not isinstance(one, list) or not isinstance(other, list):
            continue
        if len(one) != len(other):
            raise TaskError.of(f"'{name}' and '{rule.other}' are paired, but have {len(one)} and {len(other)} items")
        if len(one) > MOST_PAIRS:
            raise TaskError.of(
                f"'{name}' and '{rule.other}' have {len(one)} pairs; at most {MOST_PAIRS} can be permuted"
            )
        pairs = {canonical(order): order for order in permutations(zip(one, other, strict=True))}
        found = [
            {**known, name: [pair[0] for pair in order], str(rule.other): [pair[1] for pair in order]}
            for known in found
            for order in pairs.values()
        ]
    return found


def _pattern(value: Any, path: str, rules: Mapping[str, Rule]) -> Any:
    """What a value must be like; the fields of objects in a list have the list's path and their own name."""
    rule = rules.get(path)
    if rule is not None and rule.kind == "any":
        return ANY
    if isinstance(value, Mapping):
        return {name: _pattern(item, f"{path}.{name}", rules) for name, item in value.items()}
    if isinstance(value, list):
        items = [_pattern(item, path, rules) for item in value]
        return unordered(items) if rule is not None and rule.kind == "unordered" else items
    if is_number(value) and rule is not None and rule.kind == "approx":
        return approx(value, rule.tol)
    return value


def _paths(value: Any, path: str = "") -> set[str]:
    if isinstance(value, Mapping):
        below = {name: f"{path}.{name}" if path else name for name in value}
        return {*below.values(), *(found for name, inner in below.items() for found in _paths(value[name], inner))}
    return {found for item in value for found in _paths(item, path)} if isinstance(value, list) else set()


def _patterns(globs: Iterable[str], tools: Tools) -> Iterable[Action]:
    """Any call of each; where all tools are known, those that there are."""
    for glob in globs:
        pattern = read_action(f"{_as_tool(glob)}(...)")
        if tools.tools is None or any(pattern.fits_tool(tool.name) for tool in tools.tools):
            yield pattern


def _as_tool(name: str) -> str:
    return Action(name, Fields((), open=True)).notation.removesuffix("(...)")


# The file


class _Quoted(str):
    """A text that is always quoted, as calls are."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if isinstance(text, _Quoted) else "|" if "\n" in text else None
    if _OTHER_BREAKS.search(text):
        style = '"'  # where they are escaped
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_OTHER_BREAKS: Final = re.compile("[\r\x85\u2028\u2029\ufeff]")
_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Quoted, _text)


def _task_file(derived: Derived) -> str:
    task = derived.task
    data: dict[str, Any] = {"version": VERSION, "id": task.id}
    if task.prompt:
        data["prompt"] = task.prompt
    if task.tags:
        data["tags"] = list(task.tags)
    if task.tools is not None:
        data["tools"] = [_Quoted(tool) for tool in task.tools]
    data["actions"] = {str(action.name): _Quoted(action.notation) for action in task.actions}
    data["procedure"] = _Quoted(str(task.procedure) or "()")
    data["reads"] = [_Quoted(action.notation) for action in task.reads]
    data["neutral"] = [_Quoted(action.notation) for action in task.neutral]
    data["unlisted"] = task.unlisted
    head = "".join(f"# {_UNPRINTABLE.sub(_escaped, line)}\n" for line in _choices(derived))
    return head + yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**9)


def _choices(derived: Derived) -> Iterable[str]:
    """What was chosen, in words."""
    number = len(derived.expected.calls)
    order = "in sequence" if derived.writes == "sequence" else "in any order"
    reads = "loops" if derived.golden_reads == "loops" else "steps"
    yield f"Derived from {number} expected call{'s' * (number != 1)}: writes {order}, expected reads are {reads}."
    if NO_AGENT_ACTIONS in derived.expected.tags:
        yield "All that is expected is done by others than the agent: no call of the agent's is right or wrong here."
    elif not derived.task.actions:
        yield "No write is expected: the right path changes nothing."
    for kind, call in derived.left_out:
        yield f"Expected, and no step ({kind}): {call}"


def _escaped(sign: re.Match[str]) -> str:
    return sign[0].encode("ascii", "backslashreplace").decode() if ord(sign[0]) > 127 else f"\\x{ord(sign[0]):02x}"
