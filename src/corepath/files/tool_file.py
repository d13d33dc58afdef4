"""Tool files say which of a benchmark's tools only read, which are neutral, and how arguments are compared.

A tool file is YAML:

    version: 1
    reads: [get_*, calculate]                 # tools, or globs, that change nothing
    neutral: [transfer_to_human_agents]       # never held against the agent
    arguments:                                # how arguments are compared, for a tool or a glob
      send_message: {text: any}               # free text: any value will do
      pay: {amount: approx 0.01}              # within 0.01; `approx` alone means within a millionth of the value
      book: {guests: unordered, guests.age: approx}          # a list in any order; a field of its items
      route: {legs: open, stops: unordered open}             # objects that may have further fields
      exchange: {items: paired with new_items}               # two lists that are permuted together
    tools: ['pay(to, amount, currency="EUR")']               # optional: all tools, with their defaults
    unsure: {sync: 'read?'}                   # still to be decided: counts as a write, with a warning

All other tools write. A tool that matches globs in both `reads` and `neutral` is neutral.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from corepath.errors import Fault, InputError, NotationError, Problem, TaskError, nearest
from corepath.files import VERSION
from corepath.files.document import Document, read_mapping
from corepath.files.kinds import describe_other_kind
from corepath.notation import parser
from corepath.notation.action import Tool

_RULE: Final = re.compile(r"(?P<kind>any|approx|unordered|open|paired with)(?: +(?P<detail>\S.*))?", re.DOTALL)
_MOST_NAMED: Final = 10
_RULES: Final = "any, approx, approx 0.01, unordered, open, unordered open, or paired with another argument"


@dataclass(frozen=True)
class ArgumentRule:
    """How to compare an argument. `tol` is the tolerance for `approx`, and `other` the argument for `paired with`.

    If `open` is True, the argument's objects, or the objects in its list, may have further fields.
    """

    kind: Literal["any", "approx", "unordered", "open", "paired with"]
    tol: float | None = None
    other: str | None = None
    open: bool = False

    def __str__(self) -> str:
        open_list = "open" if self.open and self.kind != "open" else None
        parts = (self.kind, None if self.tol is None else f"{self.tol:.15g}", self.other, open_list)
        return " ".join(part for part in parts if part is not None)


@dataclass(frozen=True)
class Tools:
    """The content of a tool file.

    `arguments` maps tools or globs to the rules for their arguments, as they are written in the file. `warnings` come
    from reading the file. `unsure` lists tools that count as writes until a person decides. Raises `TaskError` if names
    or rules are invalid or contradict each other.
    """

    reads: Sequence[str] = ()
    neutral: Sequence[str] = ()
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tools: Sequence[Tool] | None = None
    warnings: Sequence[str] = field(default=(), compare=False)
    unsure: Sequence[str] = ()

    def __post_init__(self) -> None:
        if faults := [*self._name_faults(), *self._rule_faults()]:
            raise TaskError(faults)

    def kind(self, tool: str) -> Literal["neutral", "read", "write"]:
        """Return the tool's kind: neutral, read or write. A tool that is unsure counts as a write."""
        if self.is_unsure(tool):
            return "write"
        if _is_listed(tool, self.neutral):
            return "neutral"
        return "read" if _is_listed(tool, self.reads) else "write"

    def is_unsure(self, tool: str) -> bool:
        """Whether a person still has to decide what kind of tool it is."""
        return _is_listed(tool, self.unsure)

    @property
    def names(self) -> list[str]:
        """The names and globs of tools that the file mentions outside `tools`."""
        return list(dict.fromkeys((*self.reads, *self.neutral, *self.unsure, *self.arguments)))

    def rules(self, tool: str) -> dict[str, ArgumentRule]:
        """Return the rules for the tool's arguments, keyed by argument path.

        Rules for the tool's own name override rules for globs.
        """
        found: dict[str, ArgumentRule] = {}
        for name in sorted(self.arguments, key=lambda name: name == tool):
            if fnmatchcase(tool, name):
                found |= {argument: parse_rule(text) for argument, text in self.arguments[name].items()}
        return found

    def parameters(self, tool: str) -> list[str] | None:
        """Return the names of the tool's parameters, or None if they are not known."""
        known = next((one for one in self.tools or () if one.name == tool), None)
        return None if known is None or known.parameters is None else list(known.parameters)

    def _name_faults(self) -> Iterable[Fault]:
        for place, name in enumerate(self.neutral):
            if name in self.reads:
                yield Fault(f"'{name}' is in both reads and neutral; keep one of them", ("neutral", place))
        for name in self.unsure:
            if key := next((key for key in ("reads", "neutral") if name in getattr(self, key)), None):
                yield Fault(f"'{name}' is in both {key} and unsure; keep one of them", ("unsure", name))
        if self.tools is None:
            return
        signatures: dict[str, Tool] = {}
        for place, tool in enumerate(self.tools):
            if signatures.setdefault(tool.name, tool) != tool:
                yield Fault(f"tool '{tool.name}' is listed twice, with different parameters", ("tools", place))
        for key, names in self._names():
            for place, name in enumerate(names):
                if not is_glob(name) and name not in signatures:
                    where = (key, place if key in ("reads", "neutral") else name)
                    yield Fault(f"no tool '{name}'{nearest(name, signatures)}", where)

    def _names(self) -> Iterable[tuple[str, Iterable[str]]]:
        yield from (("reads", self.reads), ("neutral", self.neutral))
        yield from (("unsure", self.unsure), ("arguments", self.arguments))

    def _rule_faults(self) -> Iterable[Fault]:
        for tool, rules in self.arguments.items():
            for path, text in rules.items():
                try:
                    rule = parse_rule(text)
                except TaskError as error:
                    why: str | None = str(error)
                else:
                    why = self._contradiction(tool, path, rule.other)
                if why is not None:
                    yield Fault(why, ("arguments", tool, path))

    def _contradiction(self, tool: str, path: str, other: str | None) -> str | None:
        """Return the reason why the rule for the argument `path` cannot apply, or None if it can.

        `other` is the argument that `path` is paired with, or None.
        """
        if other == path:
            return f"'{path}' is paired with itself; name the other list"
        if other is not None and other.rpartition(".")[0] != path.rpartition(".")[0]:
            return f"'{path}' cannot be paired with '{other}': paired lists are in the same object"
        known = self.parameters(tool)
        for name in (path, other or path):
            if known is not None and not {name, name.partition(".")[0]} & set(known):
                return f"tool '{tool}' has no argument '{name}'{nearest(name, known)}"
        return None


def load_tools(path: str | Path) -> Tools:
    """Load a tool file. Raises `InputError` with every problem in the file."""
    document = read_mapping(path, "a tool file is one mapping, as in reads: [get_*]")
    if other := describe_other_kind(document.data, "tool file"):
        raise InputError([document.problem(other)])
    try:
        file = _ToolFile.model_validate(document.data)
        warnings = [*document.warnings, *_unsure_warnings(file.unsure, document)]
        return Tools(
            file.reads,
            file.neutral,
            file.arguments,
            _signatures(file.tools),
            tuple(map(str, warnings)),
            tuple(file.unsure),
        )
    except ValidationError as error:
        raise InputError([_field_problem(document, one) for one in error.errors()]) from None
    except TaskError as error:
        raise InputError([document.problem(one.message, one.where) for one in error.problems]) from None


def _list_names(given: Any) -> Any:
    """Return the names of tools that are listed, or are the keys of a mapping. An empty field has none."""
    return list(given or ()) if given is None or isinstance(given, dict) else given


class _ToolFile(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    version: Literal["1"] = "1"
    reads: list[str] = []
    neutral: list[str] = []
    arguments: dict[str, dict[str, str]] = {}
    tools: list[str] | None = None
    unsure: Annotated[list[str], BeforeValidator(_list_names)] = []


def _unsure_warnings(unsure: Sequence[str], document: Document) -> Iterable[Problem]:
    """Yield a warning that says how to settle the tools that are unsure, if there are any."""
    if not unsure:
        return
    few = ", ".join(unsure[:_MOST_NAMED])
    more = f" and {len(unsure) - _MOST_NAMED:,} more" if len(unsure) > _MOST_NAMED else ""
    counts, it = ("it counts as a write", "it") if len(unsure) == 1 else ("they count as writes", "each")
    message = f"unsure about {few}{more}: {counts}; move {it} to reads or neutral, or delete the line if it writes"
    yield document.problem(message, ("unsure",), at_key=True)


def _is_listed(tool: str, names: Sequence[str]) -> bool:
    return tool in names or any(fnmatchcase(tool, name) for name in names if is_glob(name))


def _field_problem(document: Document, error: Any) -> Problem:
    where = tuple(part for part in error["loc"] if part != "[key]")
    match error["type"]:
        case "extra_forbidden":
            name = str(where[-1])
            return document.problem(f"no field '{name}'{nearest(name, _ToolFile.model_fields)}", where, at_key=True)
        case "literal_error":
            return document.problem(f"this corepath reads version {VERSION} of tool files", where)
    wanted = {"string_type": "text", "list_type": "a list", "dict_type": "a mapping"}.get(
        error["type"], "something else"
    )
    return document.problem(f"expected {wanted} here", where)


def _signatures(texts: list[str] | None) -> tuple[Tool, ...] | None:
    if texts is None:
        return None
    found: list[Tool] = []
    faults: list[Fault] = []
    for place, text in enumerate(texts):
        try:
            found.append(parser.tool(text))
        except NotationError as error:
            faults.append(Fault(error.message, ("tools", place)))
    if faults:
        raise TaskError(faults)
    return tuple(found)


def is_glob(name: str) -> bool:
    """Whether `name` is a pattern that can match several tools."""
    return any(character in name for character in "*?[")


def parse_rule(text: str) -> ArgumentRule:
    """Parse a rule, e.g. `approx 0.01`. Raises `TaskError` if there is no such rule."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise TaskError.of(f"no rule '{text[:60]}' for an argument; there is {_RULES}")
    kind, detail = found["kind"], found["detail"]
    match kind:
        case "approx":
            return ArgumentRule("approx", None if detail is None else _tolerance(detail))
        case "paired with" if detail is not None:
            return ArgumentRule("paired with", other=detail.strip())
        case "any" | "unordered" | "open" if detail is None:
            return ArgumentRule(kind, open=kind == "open")
        case "unordered" if detail is not None and detail.strip() == "open":
            return ArgumentRule("unordered", open=True)
    raise TaskError.of(f"no rule '{text[:60]}' for an argument; there is {_RULES}")


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not isfinite(number) or number < 0:
        raise TaskError.of(f"the tolerance of approx is a number of 0 or more, not '{text[:40]}'")
    return number
