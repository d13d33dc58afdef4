"""Rule files: YAML with a list of rules.

    rules:
      - refund(order=$o, ...) requires verify_identity(...)
      - never delete_*(...)                      # severity: high, because: people delete accounts
      - rule: at most 1 send(to=$x, ...) within 1h
        because: customers are told once
        attempted: false                         # a call that failed does not break the rule

    groups:
      write: [refund, send, "delete_*"]          # in a rule, write(...) is a call to any of them

`severity` (low, medium or high) and `because` may stand in a comment after a rule. `tools` lists all tools there are,
as in a task file. A rule about any other tool is then an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import yaml

from corepath.automaton.reading import Severity
from corepath.errors import Fault, InputError, NotationError, Problem, TaskError, nearest
from corepath.files.document import Document, read_mapping
from corepath.files.kinds import describe_other_kind
from corepath.notation import parser
from corepath.rules.parser import parse_rule
from corepath.rules.rule import AtLeast, AtMost, Eventually, Never, Requires, Rule, Said, SumAtMost, variables_of

_FIELDS: Final = ("rule", "severity", "because", "attempted")
_TOP: Final = ("version", "rules", "tools", "groups")
_NOTE: Final = re.compile(r"(severity|because)\s*:\s*(.*?)\s*(?=$|,\s*(?:severity|because)\s*:)")
_WANTED: Final = "a rule file is one mapping with 'rules', a list, as in rules: ['never delete_*(...)']"


@dataclass(frozen=True)
class RuleSet:
    """The rules in a file, with the line of each, warnings for its author, and the tools if they are listed."""

    rules: tuple[Rule, ...]
    lines: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    file: str = ""
    tools: frozenset[str] = frozenset()


def is_rule_file(path: str | Path) -> bool:
    """Return True if a file holds rules and no task. A file that cannot be read is none."""
    if Path(path).suffix not in (".yaml", ".yml") or not Path(path).is_file():
        return False
    try:
        data = read_mapping(path, _WANTED).data
    except InputError:
        return False
    return "rules" in data and "id" not in data


def load_rules(path: str | Path) -> RuleSet:
    """Load a rule file. Raises `InputError` with every problem in the file."""
    return read_rules(read_mapping(path, _WANTED))


def read_rules(document: Document) -> RuleSet:
    """Read the rules in a YAML document. Raises `InputError` with every problem in it."""
    if "rules" not in document.data and (other := describe_other_kind(document.data, "rule file")):
        raise InputError([document.problem(other)])
    problems = [
        document.problem(f"no field '{key}'{nearest(key, _TOP)}", (key,), at_key=True)
        for key in document.data
        if key not in _TOP
    ]
    entries = document.data.get("rules")
    if not isinstance(entries, list) or not entries:
        raise InputError([*problems, document.problem(_WANTED, ("rules",) if "rules" in document.data else ())])
    tools = _read_tools(document, problems)
    groups = _read_groups(document, problems)
    rules: list[Rule] = []
    lines: list[int] = []
    warnings: list[str] = list(map(str, document.warnings))
    for place in range(len(entries)):
        rule = _read_rule(document, place, groups, problems)
        if rule is None:
            continue
        line = document.problem("", ("rules", place)).line
        rules.append(rule)
        lines.append(line)
        problems += [document.problem(one, ("rules", place)) for one in _unknown_tools(rule, tools)]
        warnings += [str(document.problem(one, ("rules", place))) for one in find_doubts(rule)]
    if problems:
        raise InputError(problems)
    return RuleSet(tuple(rules), tuple(lines), tuple(warnings), document.file, tools or frozenset())


def _read_tools(document: Document, problems: list[Problem]) -> frozenset[str] | None:
    listed = document.data.get("tools")
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        problems.append(document.problem("'tools' is a list of tools, as in [refund, 'send(to, text)']", ("tools",)))
        return None
    names: set[str] = set()
    for place, text in enumerate(listed):
        try:
            names.add(parser.tool(text).name)
        except NotationError as error:
            problems.append(document.problem(error.message, ("tools", place), error.position))
    return frozenset(names)


def _read_groups(document: Document, problems: list[Problem]) -> dict[str, list[str]]:
    """Return the tools or globs that each name in `groups` stands for."""
    given = document.data.get("groups") or {}
    if not isinstance(given, dict):
        problems.append(
            document.problem("'groups' maps names to lists of tools, as in write: [pay, send_*]", ("groups",))
        )
        return {}
    found: dict[str, list[str]] = {}
    for name, tools in given.items():
        if isinstance(tools, list) and tools and all(isinstance(one, str) for one in tools):
            found[name] = tools
        else:
            problems.append(document.problem(f"'{name}' is a list of tools, as in [pay, send_*]", ("groups", name)))
    return found


def _read_rule(document: Document, place: int, groups: dict[str, list[str]], problems: list[Problem]) -> Rule | None:
    """Read one rule. Problems are added to `problems`."""
    where: tuple[str | int, ...] = ("rules", place)
    entry = document.data["rules"][place]
    options: dict[str, Any] = {}
    text: Any = entry
    if isinstance(entry, dict) and "rule" in entry:
        options = {key: value for key, value in entry.items() if key != "rule"}
        text, where = entry["rule"], (*where, "rule")
        unknown = [key for key in options if key not in _FIELDS]
        problems += [document.problem(f"no field '{key}'{nearest(key, _FIELDS)}", (*where[:2], key)) for key in unknown]
    else:
        text, note = _source_of(document, where)
        options = dict(_NOTE.findall(note))
    if not isinstance(text, str):
        problems.append(document.problem("a rule is text, as in 'never delete_*(...)'", where))
        return None
    try:
        return _with_options(parse_rule(text, groups), options)
    except NotationError as error:
        problems.append(document.problem(error.message, where, error.position))
    except TaskError as error:
        problems.append(document.problem(str(error), where))
    return None


def _source_of(document: Document, where: tuple[str | int, ...]) -> tuple[Any, str]:
    """Return a rule's text and the comment after it.

    YAML takes `{ok: true}` in a rule for a mapping, so that the text is taken from the file itself.
    """
    _, node = document.find(where)
    if node is None or document.node is None:
        return document.data["rules"][where[1]], ""
    start, end = node.start_mark.index, node.end_mark.index
    rest = document.source[end:].split("\n", 1)[0] if not isinstance(node, yaml.MappingNode) else ""
    if isinstance(node, yaml.ScalarNode):
        return node.value, rest.partition("#")[2].strip()
    text, _, note = document.source[start:end].strip().partition(" #")
    return " ".join(text.split()), note.strip()


def _with_options(rule: Rule, options: dict[str, Any]) -> Rule:
    severity = options.get("severity", rule.severity)
    if severity not in get_args(Severity):
        raise TaskError([Fault(f"no severity '{severity}'{nearest(str(severity), get_args(Severity))}")])
    attempted = options.get("attempted", "true")
    if attempted not in ("true", "false", True, False):
        raise TaskError.of(f"'attempted' is true or false, not '{attempted}'")
    because = options.get("because", "")
    return replace(rule, severity=severity, because=str(because), attempted=attempted in ("true", True))


def _unknown_tools(rule: Rule, tools: frozenset[str] | None) -> Iterator[str]:
    for pattern in rule.patterns if tools is not None else ():
        if not isinstance(pattern, Said) and pattern.tool != "*" and not any(map(pattern.fits_tool, tools or ())):
            yield f"no tool '{pattern.tool}'{nearest(pattern.tool, tools or ())}"


def find_doubts(rule: Rule) -> Iterator[str]:
    """Yield likely mistakes in a rule: variables that connect nothing."""
    groups: Sequence[frozenset[str]] = [variables_of(pattern) for pattern in rule.patterns]
    alone = (AtMost, AtLeast, SumAtMost)
    if isinstance(rule, alone) or (isinstance(rule, Never) and rule.between is None and len(groups) == 1):
        return
    for name in sorted(frozenset().union(*groups)):
        if sum(name in group for group in groups) == 1 and isinstance(rule, (Requires, Eventually, Never)):
            yield f"${name} is on one side only, so it connects nothing; leave it out, or use it on both sides"
