"""Draft a rule file from a policy in prose: what a model is told, how its answer is read, and what is written.

A rule is taken from the answer only if it can be parsed. Each one comes with a shortest trace that it allows and one
that it refuses, for a person to confirm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from corepath.errors import InputError, Problem, nearest
from corepath.files.document import Document, parse_mapping
from corepath.files.rules import read_rules
from corepath.files.tool_list import ListedTool
from corepath.notation.action import Action
from corepath.rules.rule import Rule, Said, SumAtMost
from corepath.rules.trace_text import write_trace
from corepath.rules.witness import Answer
from corepath.values import to_notation, visible

_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_NO_RULES: Final = "the answer is no rule file: it has no mapping with 'rules', a list"
_LONGEST: Final = 300

NOTATION: Final = """\
You turn a policy for an agent that calls tools into rules that a program checks on the agent's calls and messages.

Answer with one YAML file and nothing else:

rules:
  - rule: 'refund(order=$o, ...) requires check_order(order=$o, ...)'
    because: 'Check the order before you refund it.'
    severity: high

`rule` is one sentence of the notation below, in single quotes. `because` is the sentence of the policy that the rule
comes from, word for word. `severity` is low, medium or high, and may be left out.

The sentences, where A, B and C are patterns of calls or messages:
  A requires B                   before every A there is a B
  A requires its own B           every A uses up one B of its own
  A requires B since C           only a B after the last C counts; also with `its own`
  after A eventually B           after every A there is a B
  never A                        there is no A
  never A after B                after a B there is no A
  never A with B                 A and B are not in one turn of the agent
  at most 2 A                    also `at most 1 call per turn`
  at least 1 A
  sum(refund.amount) at most 500
Each may end with a window, as in `within 1h`, `within 30 min`, `within 3 calls`. Then `between A and B` may follow: the
rule holds only after an A and before the next B.

Patterns:
  refund(...)                    a call of refund with any arguments
  refund(order=7, ...)           with this argument; always end with `...`
  refund(order=$o, ...)          $o is a variable: the same name means the same value in the whole rule
  delete_*(...)                  any tool whose name begins so
  call                           any call
  check(...) -> {ok: true}       a call with this result
  failed pay(...)                a call that failed
  $c                             any call, the same one wherever it occurs: never $c after failed $c
  pay(to=one_of("a", "b"), ...)  also between(1, 5), none_of("a", "b")
  pay(note=~"(?i)gift", ...)     a regular expression that is found in the text
  user(text=~"(?i)\\byes\\b")      a message of the user; also agent(...) and system(...); `text` is their only argument

Use only the tools that are listed, with their own argument names. Write a rule only if the policy demands it. Leave out
what cannot be said in this notation."""


@dataclass(frozen=True)
class BadRule:
    """A rule in an answer that cannot be used."""

    text: str
    errors: tuple[str, ...]


@dataclass
class Draft:
    """The rules that were drafted so far."""

    policy: str
    tools: Sequence[ListedTool]
    rules: list[Rule] = field(default_factory=list)
    bad: list[BadRule] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    groups: dict[str, Any] = field(default_factory=dict)

    def ask(self) -> str:
        """Return the first message for the model: the tools and the policy."""
        tools = "\n".join(f"- {_describe(one)}" for one in self.tools)
        return f"The tools:\n{tools}\n\nThe policy:\n{self.policy.strip()}"

    def ask_again(self) -> str:
        """Return the message that sends the bad rules back with their errors."""
        listed = "\n".join(f"{one.text}\n  error: {'; '.join(one.errors)}" for one in self.bad)
        return (
            f"These rules cannot be read:\n\n{listed}\n\n"
            "Send them again, corrected, as a YAML file with `rules`, in this order, and no other rules."
        )

    def add(self, answer: str) -> None:
        """Add the rules in a model's answer. If there are bad rules, the answer is taken to correct them."""
        before, self.bad = self.bad, []
        answer = answer.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate could not be written
        try:
            entries = list(self._split(parse_mapping("answer", find_yaml(answer), _NO_RULES)))
        except InputError as error:
            self.bad = before or [BadRule(_shorten(answer), tuple(map(_explain, error.problems)))]
            return
        if len(entries) < len(before):  # it is not known which of them were left out
            self.bad += before
        for entry in entries:
            self._add_rule(entry)

    def _split(self, document: Document) -> Iterator[str]:
        """Yield each rule of an answer as its YAML."""
        if not isinstance(document.data.get("rules"), list) or not document.data["rules"]:
            raise InputError([document.problem(_NO_RULES)])
        groups = document.data.get("groups")
        self.groups |= groups if isinstance(groups, dict) else {}
        for place in range(len(document.data["rules"])):
            _, node = document.find(("rules", place))
            assert node is not None
            start, end = node.start_mark, node.end_mark
            first, *rest = document.source[start.index : end.index].rstrip().split("\n")
            note = document.source[end.index :].split("\n", 1)[0] if isinstance(node, yaml.ScalarNode) else ""
            note = f" {note.strip()}" if note.strip().startswith("#") else ""
            yield "\n".join([first, *(line[min(start.column, _indent(line)) :] for line in rest)]) + note

    def _add_rule(self, entry: str) -> None:
        indented = entry.replace("\n", "\n    ")
        try:
            found = read_rules(parse_mapping("rule", f"{self._head()}rules:\n  - {indented}\n", _NO_RULES))
        except InputError as error:
            self.bad.append(BadRule(_shorten(entry), tuple(one.message for one in error.problems)))
            return
        rule = found.rules[0]
        if unknown := tuple(self._unknown_arguments(rule)):
            self.bad.append(BadRule(_shorten(entry), unknown))
            return
        if rule in self.rules:
            return
        self.rules.append(rule)
        name = f"rule {len(self.rules)}"
        self.warnings += [f"{name}: {one.partition(': ')[2] or one}" for one in found.warnings]
        if not _is_quoted(rule.because, self.policy):
            self.warnings.append(f"{name}: its reason is no sentence of the policy: {to_notation(rule.because)}")

    def _unknown_arguments(self, rule: Rule) -> Iterator[str]:
        """Yield a message for each argument that no tool of its pattern has."""
        more = [rule.field] if isinstance(rule, SumAtMost) else []
        for pattern in rule.patterns:
            known = self._known_arguments(pattern)
            for name in (*(name for name, _ in pattern.arguments.fields), *more):
                if known is not None and name not in known:
                    yield f"tool '{pattern.tool}' has no argument '{name}'{nearest(name, known)}"

    def _known_arguments(self, pattern: Action) -> list[str] | None:
        """Return the arguments of all tools that a pattern is about, or None if they are not known."""
        if isinstance(pattern, Said):
            return None
        tools = [one.tool for one in self.tools if pattern.fits_tool(one.tool.name)]
        if not tools or any(tool.parameters is None for tool in tools):
            return None
        return [name for tool in tools for name in tool.parameters or ()]

    def _head(self) -> str:
        """Write the part of a rule file that is before the rules."""
        tools = [str(one.tool) for one in self.tools]
        return _dump({"tools": tools, **({"groups": self.groups} if self.groups else {})})

    def write(self, examples: Sequence[Examples], source: str) -> str:
        """Write the rule file. `source` says where the rules come from."""
        advice = "Confirm each rule: what it allows should be allowed, and what it refuses should be refused."
        parts = [f"# {_comment(source)}\n# {advice}\n", self._head(), "rules:\n"]
        for rule, one in zip(self.rules, examples, strict=True):
            parts += [f"  # allowed: {_comment(one.allowed)}\n", f"  # refused: {_comment(one.refused)}\n"]
            parts.append("".join(f"  {line}\n" for line in _dump([_entry(rule)]).splitlines()))
        parts += [f"# Left out: {_comment(one.text)}\n#   {_comment('; '.join(one.errors))}\n" for one in self.bad]
        return "".join(parts)


@dataclass(frozen=True)
class Examples:
    """A shortest trace that a rule allows, and one that it refuses, as text."""

    allowed: str
    refused: str


def make_examples(rules: Sequence[Rule], kept: Sequence[Answer], broken: Sequence[Answer]) -> list[Examples]:
    """Write the traces that keep and break each rule."""
    found = zip(rules, kept, broken, strict=True)
    return [Examples(_example(one, rule), _example(other, rule)) for rule, one, other in found]


def _example(answer: Answer, rule: Rule) -> str:
    if answer.trace is None:
        return "no trace" if answer.complete else "no trace found"
    return write_trace(answer.trace, [rule]) if answer.trace else "any trace without it"


def find_yaml(answer: str) -> str:
    """Return the YAML in an answer: the first fenced block with rules, or the answer itself."""
    blocks = [found[2] for found in _FENCE.finditer(answer)]
    return next((one for one in blocks if "rules:" in one), blocks[0] if blocks else answer)


def _describe(one: ListedTool) -> str:
    text = " ".join(one.description.split())
    return f"{one.tool}: {_shorten(text)}" if text else str(one.tool)


def _entry(rule: Rule) -> Mapping[str, Any]:
    entry: dict[str, Any] = {"rule": str(rule)}
    if rule.because:
        entry["because"] = rule.because
    if rule.severity != "medium":
        entry["severity"] = rule.severity
    return entry if rule.attempted else {**entry, "attempted": False}


def _is_quoted(reason: str, policy: str) -> bool:
    """Whether a reason is in a policy, word for word. Marks of Markdown, quotes and the last full stop do not count."""
    wanted, text = _words(reason), _words(policy)
    return bool(wanted) and wanted.strip(" .") in text


def _words(text: str) -> str:
    return " ".join(re.sub(r"[*_`#>\"'“”‘’]|^\s*(?:[-+•]|\d+[.)])\s", " ", text, flags=re.MULTILINE).lower().split())


def _dump(data: Any) -> str:
    return yaml.safe_dump(data, allow_unicode=True, width=10**6, sort_keys=False)


def _explain(problem: Problem) -> str:
    return f"line {problem.line}: {problem.message}"


def _comment(text: str) -> str:
    return visible(" ".join(text.split()))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
