"""Tasks from expected calls.

Many benchmarks give one list of the calls that they expect. A task is made of it: the writes are its steps, in sequence
or in any order; the expected reads are steps too, or loops; neutral calls are no steps. Whatever was chosen stands in
the task file, which a person can then edit. Where no write is expected, the right path changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice, permutations, product
from typing import Any, Final, Literal, TypeVar, get_args

from corepath.automaton.condensation import trace_calls
from corepath.automaton.step import Kind
from corepath.episode import NO_AGENT_ACTIONS
from corepath.errors import TaskError, count, nearest
from corepath.files.task_writer import as_yaml
from corepath.files.tool_file import Rule, Tools, is_glob, read_rule
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Fields
from corepath.notation.parser import action as read_action
from corepath.notation.patterns import ANY, approx, as_matcher, unordered
from corepath.notation.procedure import Procedure, any_order, choice, seq
from corepath.task import Task
from corepath.values import canonical, is_number

Writes = Literal["sequence", "any_order"]
GoldenReads = Literal["loops", "progress"]
_WRITES: Final = get_args(Writes)
_GOLDEN_READS: Final = get_args(GoldenReads)
_T = TypeVar("_T")

MOST_PAIRS: Final = 6
"""Pairs that two paired lists may hold."""
MOST_ORDERS: Final = 720
"""Orders that the paired lists of a call may have: each is an action, and 6 pairs have so many."""


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
    dropped: tuple[tuple[str, str], ...] = ()
    """Expected calls that are no steps: what each is, a read or neutral, and the call."""

    @cached_property
    def text(self) -> str:
        """The task file."""
        return as_yaml(self.task, _choices(self))


def derive(
    expected: Expected, tools: Tools, *, writes: Writes = "sequence", golden_reads: GoldenReads = "loops"
) -> Derived:
    """A task from expected calls. Raises `TaskError` where that cannot be, and says why.

    The expected calls are replayed on the task: where it does not accept them, it is refused.
    `golden_reads` says what the expected reads are. As `progress` they are steps, and where writes may come in any
    order, each write still comes after the reads that stand between it and the write before.
    """
    for name, chosen, choices in (("writes", writes, _WRITES), ("golden_reads", golden_reads, _GOLDEN_READS)):
        if chosen not in choices:
            raise TaskError.of(f"no choice '{chosen}' of {name}{nearest(str(chosen), choices)}")
    steps = _Steps(tools)
    chains: list[list[Procedure]] = [[]]
    dropped: list[tuple[str, str]] = []
    meant: list[tuple[Call, tuple[Action, ...]]] = []
    try:
        for one in expected.calls:
            kind, call = tools.kind(one.tool), Call(one.tool, steps.arguments(one))
            if kind == "neutral" or (kind == "read" and golden_reads == "loops"):
                dropped.append((kind, str(call)))
                meant.append((call, ()))
                continue
            meant.append((call, steps.of(one)))
            chains[-1].append(choice(*meant[-1][1]))
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
        _replay(task, meant, tools)
    except TaskError as error:
        raise TaskError.of(f"task '{expected.id[:120]}': {error}") from None
    return Derived(task, expected, writes, golden_reads, tuple(dropped))


def likely_mistakes(tools: Tools, expected: Iterable[Expected]) -> list[str]:
    """What in the tool file does nothing for these calls, and so may be misspelt."""
    met: dict[str, dict[str, list[Any]]] = {}
    for call in (call for one in expected for call in one.calls):
        values = met.setdefault(call.tool, {name: [] for name in tools.parameters(call.tool) or ()})
        for path, value in _values(_named(call, tools)):
            values.setdefault(path, []).append(value)
    return [*_unmet_tools(tools, met), *_idle_rules(tools, met)]


def _unmet_tools(tools: Tools, met: Collection[str]) -> Iterator[str]:
    """Globs that fit no tool there is, or names of no expected call that are near to one which is left without."""
    writes = [tool for tool in met if tools.kind(tool) == "write"]
    unruled = [tool for tool in met if tool not in tools.arguments]
    for names, others in (((*tools.reads, *tools.neutral), writes), (tools.arguments, unruled)):
        for name in names:
            if tools.tools is not None:
                if not any(fnmatchcase(tool.name, name) for tool in tools.tools):
                    yield f"no tool fits '{name}'"
            elif name not in met and not is_glob(name):
                yield from [f"no call of '{name}' is expected; did you mean '{o}'?" for o in others if _near(name, o)]


def _idle_rules(tools: Tools, met: Mapping[str, Mapping[str, list[Any]]]) -> Iterator[str]:
    """Rules of tools that are expected, but never with that argument, or with no value that the rule is about."""
    for glob, rules in tools.arguments.items():
        known = [values for tool, values in met.items() if fnmatchcase(tool, glob)]
        for path, text in rules.items() if known else ():
            rule = read_rule(text)
            values = [value for one in known for value in one.get(path, ()) if value is not None]
            if not any(path in one for one in known):
                yield f"no call is expected with the argument of the rule '{glob}.{path}'"
            elif rule.other is not None and not any(rule.other in one for one in known):
                yield f"no call is expected with the argument '{rule.other}' of the rule '{glob}.{path}: {rule}'"
            elif rule.kind == "approx" and values and not any(map(is_number, values)):
                yield f"no number is expected for the rule '{glob}.{path}: {rule}'"
            elif rule.kind in ("unordered", "paired with") and values and not any(isinstance(v, list) for v in values):
                yield f"no list is expected for the rule '{glob}.{path}: {rule}'"


def _near(one: str, other: str) -> bool:
    """Whether one sign differs, or two are added, lost or swapped: tools of one family differ by more."""
    equal = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return len(one) + len(other) - 2 * equal <= 2 <= equal


def _replay(task: Task, meant: Sequence[tuple[Call, Sequence[Action]]], tools: Tools) -> None:
    """Refuse a task in which an expected call is not one of the actions that it was meant to be."""
    trace = trace_calls(task.automaton, [call for call, _ in meant])
    for step, (call, actions) in zip(trace.steps, meant, strict=True):
        taken = None if step.symbol is None else trace.automaton.alphabet.actions[step.symbol]
        if taken in actions if actions else step.kind is Kind.LOOP:
            continue
        first = next((other for other, others in meant if taken in others), None)
        if first is None:
            raise TaskError.of(f"it does not accept the expected call {call.label}: {step.harm or step.kind}")
        differing = {name for name, value in call.arguments.items() if first.arguments.get(name) != value}
        rules = [
            f"'{path}: {rule}'"
            for path, rule in tools.rules(call.tool).items()
            if {path, path.partition(".")[0]} & differing
        ]
        by = f"the rule {' and '.join(rules)}; make it narrower" if rules else "the arguments that are compared"
        raise TaskError.of(f"the action of the expected call {first.label} also takes {call.label}, by {by}")


class _Steps:
    """The actions of a task, each once and under a name of its own."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.actions: list[Action] = []

    def of(self, call: ExpectedCall) -> tuple[Action, ...]:
        """The action that a call is; where lists are paired, one for each order of the pairs."""
        rules = self.tools.rules(call.tool)
        arguments = self.arguments(call)
        if call.compared is not None:
            arguments = {name: value for name, value in arguments.items() if name in call.compared}
        variants = []
        for variant in _orders(arguments, rules):
            fields = tuple((name, as_matcher(_pattern(value, name, rules))) for name, value in variant.items())
            variants.append(self._known(Action(call.tool, Fields(fields, call.compared is not None))))
        return tuple(dict.fromkeys(variants))

    def arguments(self, call: ExpectedCall) -> dict[str, Any]:
        """The arguments by name."""
        if len(self.tools.parameters(call.tool) or ()) < len(call.unnamed):
            raise TaskError.of(
                f"an expected call of '{call.tool}' has arguments without names; "
                f"name its parameters in the tool file, under tools, as in {call.tool}(first, second)"
            )
        return _named(call, self.tools)

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


def _named(call: ExpectedCall, tools: Tools) -> dict[str, Any]:
    return {**dict(zip(tools.parameters(call.tool) or (), call.unnamed, strict=False)), **call.arguments}


def _orders(value: Any, rules: Mapping[str, Rule], path: str | None = None) -> list[Any]:
    """The value with its paired lists in every order."""
    if not any(rule.kind == "paired with" for rule in rules.values()):
        return [value]
    if isinstance(value, list):
        return [list(row) for row in _at_most(product(*(_orders(item, rules, path) for item in value)))]
    if not isinstance(value, Mapping):
        return [value]
    rows = product(*(_orders(item, rules, _below(path, name)) for name, item in value.items()))
    found = [dict(zip(value, row, strict=True)) for row in _at_most(rows)]
    for names in _paired(value, rules, path):
        found = _at_most(order for one in found for order in _permuted(one, names))
    return found


def _paired(value: Mapping[str, Any], rules: Mapping[str, Rule], path: str | None) -> list[list[str]]:
    """The names of the lists that are permuted together: those that are linked by rules."""
    lists = {_below(path, name): name for name, item in value.items() if isinstance(item, list)}
    groups: list[list[str]] = []
    for here, one in lists.items():
        rule = rules.get(here)
        if rule is None or rule.kind != "paired with" or rule.other not in lists:
            continue
        other = lists[rule.other]
        length, others = len(value[one]), len(value[other])
        if length != others:
            raise TaskError.of(f"'{here}' and '{rule.other}' are paired, but have {length} and {count(others, 'item')}")
        if length > MOST_PAIRS:
            raise TaskError.of(f"'{here}' and '{rule.other}' have {length} pairs; at most {MOST_PAIRS} can be permuted")
        linked = [group for group in groups if one in group or other in group]
        groups = [group for group in groups if group not in linked]
        groups.append(list(dict.fromkeys((one, other, *(name for group in linked for name in group)))))
    return groups


def _permuted(value: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """The object with the items of these lists in every order, each once."""
    orders = permutations(zip(*(value[name] for name in names), strict=True))
    return [
        {**value, **{name: [row[place] for row in order] for place, name in enumerate(names)}}
        for order in {canonical(order): order for order in orders}.values()
    ]


def _at_most(orders: Iterable[_T]) -> list[_T]:
    found = list(islice(orders, MOST_ORDERS + 1))
    if len(found) > MOST_ORDERS:
        raise TaskError.of(f"paired lists have more than {MOST_ORDERS} orders in all; at most so many can be actions")
    return found


def _pattern(value: Any, path: str, rules: Mapping[str, Rule]) -> Any:
    """What a value must be like; the fields of objects in a list have the list's path and their own name."""
    rule = rules.get(path)
    if rule is not None and rule.kind == "any":
        return ANY
    if isinstance(value, Mapping):
        return {name: _pattern(item, _below(path, name), rules) for name, item in value.items()}
    if isinstance(value, list):
        if rule is not None and rule.kind == "unordered":
            others = {name: other for name, other in rules.items() if name != path}
            return unordered([_pattern(item, path, others) for item in value])
        return [_pattern(item, path, rules) for item in value]
    if is_number(value) and rule is not None and rule.kind == "approx":
        return approx(value, rule.tol)
    return value


def _values(value: Any, path: str | None = None) -> Iterator[tuple[str, Any]]:
    """All values in one, with their paths; the items of a list have the list's."""
    if isinstance(value, Mapping):
        parts = [(_below(path, name), item) for name, item in value.items()]
    else:
        parts = [(path or "", item) for item in value] if isinstance(value, list) else []
    for part in parts:
        yield part
        yield from _values(part[1], part[0])


def _below(path: str | None, name: str) -> str:
    return name if path is None else f"{path}.{name}"


def _patterns(globs: Iterable[str], tools: Tools) -> Iterable[Action]:
    """Any call of each; where all tools are known, those that there are."""
    for glob in globs:
        pattern = read_action(f"{_as_tool(glob)}(...)")
        if tools.tools is None or any(pattern.fits_tool(tool.name) for tool in tools.tools):
            yield pattern


def _as_tool(name: str) -> str:
    return Action(name, Fields((), open=True)).notation.removesuffix("(...)")


def _choices(derived: Derived) -> Iterable[str]:
    """What was chosen, in words."""
    calls = count(len(derived.expected.calls), "expected call")
    order = "in sequence" if derived.writes == "sequence" else "in any order"
    reads = "loops" if derived.golden_reads == "loops" else "steps"
    yield f"Derived from {calls}: writes {order}, expected reads are {reads}."
    if NO_AGENT_ACTIONS in derived.expected.tags:
        yield "All that is expected is done by others than the agent: no call of the agent's is right or wrong here."
    elif not derived.task.actions:
        yield "No write is expected: the right path changes nothing."
    for kind, call in derived.dropped:
        yield f"Expected, and no step ({kind}): {call}"
