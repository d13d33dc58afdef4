"""Describe tools from all that is known about them: merge the sources, decide the kinds, and find rules."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from corepath.authoring.tools.functions import tools_of_value
from corepath.authoring.tools.observations import LONGEST_NAME, MOST_TOOLS, Observations
from corepath.authoring.tools.text import write_tool_file
from corepath.authoring.tools.verdict import Declared, Verdict, judge
from corepath.authoring.tools.words import split_name
from corepath.episode import Episode
from corepath.errors import NotationError, Problem, TaskError, count
from corepath.files.tool_file import Tools, parse_rule
from corepath.files.tool_list import ListedTool, read_schemas
from corepath.notation import parser
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED
from corepath.values import to_notation

MANY: Final = 1_000
"""If there are more tools, a warning asks whether their names contain data."""
_LONGEST_DEFAULT: Final = 500
_MOST_NAMED: Final = 10
_FREE_TEXT: Final = frozenset(
    {
        "answer", "body", "comment", "comments", "content", "description", "explanation", "feedback", "justification",
        "message", "note", "notes", "reason", "remark", "remarks", "reply", "summary", "text", "thought", "thoughts",
    }
)  # fmt: skip
"""The last words of parameters that may be free text."""


@dataclass(frozen=True)
class Described:
    """Tools with their kinds and the evidence.

    `evidence` has a verdict for each tool. `seen` has the tools with the arguments that runs show, where no source
    declares any. `rules` has the evidence for each rule, keyed by tool and argument. `warnings` are contradictions
    between sources, and what was left out.
    """

    tools: Tools
    evidence: Mapping[str, Verdict]
    seen: Mapping[str, Tool]
    rules: Mapping[tuple[str, str], str]
    warnings: tuple[str, ...] = ()

    @property
    def unsure(self) -> dict[str, str]:
        """The tools that a person has to decide about, each with the guess: `read?`, `write?` or `neutral?`."""
        return {name: f"{verdict.kind}?" for name, verdict in self.evidence.items() if not verdict.sure}

    @cached_property
    def text(self) -> str:
        """The tool file."""
        return write_tool_file(self.tools, self.evidence, self.seen, self.rules)


def describe_tools(*sources: Any) -> Described:
    """Describe the tools of all sources together.

    A source is an `Episode`, a `World`, a Python function, a JSON schema as OpenAI, Anthropic or MCP servers have it, a
    `ListedTool`, or an iterable of these, e.g. `import_trace("runs.jsonl")`. The problems that it yields become
    warnings. Raises `TaskError` if a source is anything else, or if there are no tools.
    """
    found = _Sources()
    for source in sources:
        found.add(source)
    if not found.names:
        raise TaskError.of("no tools: the sources have no calls and no schemas")
    return found.describe()


class _Sources:
    """Merges what the sources say."""

    def __init__(self) -> None:
        self.seen = Observations()
        self.listed: dict[str, Tool] = {}
        self.declared: dict[str, Declared] = {}
        self.descriptions: dict[str, str] = {}
        self.rules: dict[str, dict[str, str]] = {}
        self.contradictions: dict[str, str] = {}
        self.warnings: list[str] = []
        self.left_out = 0

    @property
    def names(self) -> list[str]:
        """The names of all tools, sorted."""
        return sorted({*self.listed, *self.seen.tools})[:MOST_TOOLS]

    def add(self, source: Any) -> None:
        """Add a source."""
        if isinstance(source, Episode):
            self.seen.add(source)
        elif isinstance(source, ListedTool):
            self._list(source)
        elif isinstance(source, Problem):
            self.warnings.append(str(source))
        elif isinstance(source, Mapping):
            for one in read_schemas(source):
                self._list(one)
        elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
            for one in source:
                self.add(one)
        else:
            for one in tools_of_value(source):
                self._list(one)

    def _list(self, given: ListedTool) -> None:
        name = given.tool.name
        if not name or len(name) > LONGEST_NAME or (name not in self.listed and len(self.listed) >= MOST_TOOLS):
            self.left_out += 1
            return
        tool = _readable(given.tool)
        first = self.listed.setdefault(name, tool)
        if first.parameters is None:
            self.listed[name] = tool
        elif tool.parameters is not None and first != tool:
            self.warnings.append(f"{name} is described as {first} and as {tool}; the first is kept")
        self.descriptions.setdefault(name, given.description)
        self.rules.setdefault(name, {}).update(given.rules)
        if given.kind is not None:
            self._declare(name, Declared(given.kind, given.declared_by, given.firm))

    def _declare(self, name: str, new: Declared) -> None:
        known = self.declared.setdefault(name, new)
        if known.kind == new.kind:
            return
        if known.firm == new.firm:
            self.contradictions[name] = f"{known.by} says {known.kind}, and {new.by} says {new.kind}"
        else:
            self.warnings.append(f"{name}: {known.by} says {known.kind}, and {new.by} says {new.kind}")
            self.declared[name] = known if known.firm else new

    def describe(self) -> Described:
        """Decide the kinds and find rules."""
        names = self.names
        evidence = judge(names, self.declared, self.descriptions, self.seen)
        for name in self.contradictions.keys() & evidence.keys():
            evidence[name] = replace(evidence[name], evidence=(self.contradictions[name],), sure=False)
        rules = dict(self._find_rules(names))
        arguments: dict[str, dict[str, str]] = {}
        for (name, path), (rule, _) in rules.items():
            arguments.setdefault(glob.escape(name), {})[path] = rule
        kinds = {name: verdict.kind if verdict.sure else "unsure" for name, verdict in evidence.items()}
        of_kind = {kind: [glob.escape(one) for one in names if kinds[one] == kind] for kind in set(kinds.values())}
        signatures = tuple(self.listed.get(name, Tool(name)) for name in names) if self.listed else None
        tools = Tools(
            of_kind.get("read", []),
            of_kind.get("neutral", []),
            arguments,
            signatures,
            unsure=tuple(of_kind.get("unsure", [])),
        )
        why = {key: reason for key, (_, reason) in rules.items()}
        return Described(tools, evidence, self._seen_tools(), why, tuple(self._all_warnings(names)))

    def _find_rules(self, names: list[str]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Yield each tool and argument with its rule and the evidence for it."""
        for name in names:
            given = self.rules.get(name, {})
            known = self.listed[name].parameters if name in self.listed else None
            usage = self.seen.tools.get(name)
            for path, rule in given.items():
                if _fits(path, rule, known):
                    yield (name, path), (rule, "as its source says")
                else:
                    self.warnings.append(f"{name}: no argument for the rule '{path}: {rule}'; it is left out")
            for path, values in usage.arguments.items() if usage is not None else ():
                is_free = _is_free_text_name(path) and values.is_free_text
                if is_free and path not in given and (known is None or path in known):
                    yield (
                        (name, path),
                        ("any", f"{values.different:,} different texts in {count(values.count, 'call')}"),
                    )

    def _seen_tools(self) -> dict[str, Tool]:
        """Return the tools that no source describes, with the arguments that were seen."""
        found = {}
        for name, usage in sorted(self.seen.tools.items()):
            if name not in self.listed or self.listed[name].parameters is None:
                seen = usage.parameters
                always = None if seen is None else {one: REQUIRED if needed else None for one, needed in seen.items()}
                found[name] = Tool(name, always)
        return found

    def _all_warnings(self, names: list[str]) -> Iterator[str]:
        yield from self.warnings
        for name, why in sorted(self.contradictions.items()):
            yield f"{name}: {why}; settle it under unsure"
        if self.listed and (undescribed := [name for name in names if name not in self.listed]):
            yield f"called in runs, but described nowhere: {_few(undescribed)}"
        for name in names:
            known = self.listed[name].parameters if name in self.listed else None
            usage = self.seen.tools.get(name)
            if (
                known is not None
                and usage is not None
                and (other := [one for one in usage.arguments if one not in known])
            ):
                yield f"{name} was called with arguments that its description does not have: {_few(other)}"
        everything = len({*self.listed, *self.seen.tools})
        if everything > MANY:
            yield f"{everything:,} different tools; if their names contain data, import the traces with --rename first"
        if left_out := self.left_out + self.seen.left_out + everything - len(names):
            yield (
                f"left out {count(left_out, 'call or description', 'calls or descriptions')} of tools: a name has at "
                f"most {LONGEST_NAME} characters, and a file at most {MOST_TOOLS:,} tools"
            )


def _fits(path: str, rule: str, known: Mapping[str, Any] | None) -> bool:
    """Whether a tool has the arguments that a rule is for. `known` is None if its parameters are not known."""
    paths = (path, parse_rule(rule).other or path)
    return known is None or all({one, one.partition(".")[0]} & known.keys() for one in paths)


def _is_free_text_name(path: str) -> bool:
    words = split_name(path)
    return bool(words) and words[-1] in _FREE_TEXT and len(path) <= LONGEST_NAME and "." not in path


def _readable(tool: Tool) -> Tool:
    """Return a tool whose signature can be read again. A default that cannot be written becomes null."""
    if tool.parameters is None:
        return Tool(tool.name)
    kept = {name: _readable_default(default) for name, default in tool.parameters.items()}
    return Tool(tool.name, kept)


def _readable_default(default: Any) -> Any:
    if default is REQUIRED or default is None:
        return default
    text = to_notation(default)
    if len(text) > _LONGEST_DEFAULT:
        return None
    try:
        parsed = parser.tool(f"t(x={text})").parameters
    except NotationError:
        return None
    return None if parsed is None else parsed["x"]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
