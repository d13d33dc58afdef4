"""Writing task files: JSON with the automaton itself, or YAML with the procedure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from corepath.files import VERSION
from corepath.notation.action import Action
from corepath.task import Task

if TYPE_CHECKING:
    import yaml

_WIDTH: Final = 110
"""Longer procedures take several lines."""
_DEEPEST: Final = 1
_OPERATOR: Final = re.compile(r" (>>|&|\|) ")
_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_OTHER_BREAKS: Final = re.compile("[\r\x85\u2028\u2029\ufeff]")
_HIDDEN: Final = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f]")
"""Characters that YAML allows as they are, but that are not seen or turn the text around."""


def as_json(*tasks: Task) -> str:
    """Return a JSON task file with each task's automaton."""
    files = [_record(task, {name: action.notation for name, action in _named_actions(task).items()}, _transitions(task))
             for task in tasks]  # fmt: skip
    return json.dumps(files[0] if len(files) == 1 else files, indent=1)


def as_yaml(
    task: Task, comments: Iterable[str] = (), notes: Mapping[str, str] | None = None, *, to_read: bool = False
) -> str:
    """Return a YAML task file with the task's procedure, for people to edit.

    `comments` are written at the top, and `notes` behind the actions that they are keyed by. If `to_read`, empty lists
    and empty actions are left out, and a long procedure takes several lines.
    """
    actions = {str(action.name): action.notation for action in task.actions}
    procedure = str(task.procedure) or "()"
    always = () if to_read else ("reads", "neutral")
    record = _record(task, actions, {"procedure": procedure}, always)
    if to_read and not actions:
        del record["actions"]
    text = _dump(_quote_calls(record))
    if to_read and len(procedure) > _WIDTH:
        line = _dump(_quote_calls({"procedure": procedure}))
        text = text.replace(f"\n{line}", "\n" + "\n".join(_break_lines(line.rstrip("\n"))) + "\n", 1)
    return _comment(comments) + (_add_notes(text, actions, notes) if notes else text)


def _break_lines(text: str, depth: int = 0) -> Iterator[str]:
    """Break a quoted procedure before the outermost operators, and long lines one level further in.

    YAML joins the lines again.
    """
    if len(text) <= _WIDTH:
        yield text
        return
    if depth > _DEEPEST:
        yield from _fill_lines(text)
        return
    begin = 0
    for place, level in _operators(text):
        if level == depth and place > begin:
            yield from _indent(text[begin:place], depth, is_first=not begin)
            begin = place + 1
    yield from _indent(text[begin:], depth, is_first=not begin)


def _fill_lines(text: str) -> Iterator[str]:
    """Break a long line before any operator, so that each line has as many steps as there is room for."""
    begin = last = 0
    for place in (*(place for place, _ in _operators(text)), len(text)):
        if last > begin and place - begin > _WIDTH:
            yield f"  {text[begin:last]}" if begin else text[begin:last]
            begin = last + 1
        last = place
    yield f"  {text[begin:]}" if begin else text


def _operators(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of the space before each operator, and how many brackets are open there."""
    level, is_quoted = 0, False
    for place, letter in enumerate(text):
        if letter == '"' and text[place - 1] != "\\":
            is_quoted = not is_quoted
        elif not is_quoted:
            level += (letter in "([{") - (letter in ")]}")
            if _OPERATOR.match(text, place):
                yield place, level


def _indent(text: str, depth: int, *, is_first: bool) -> Iterator[str]:
    lines = _break_lines(text, depth + 1)
    for number, line in enumerate(lines):
        yield line if is_first and not number else f"  {line}"


def _add_notes(text: str, actions: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """Write a comment behind each action that has a note."""
    begin = text.index("\nactions:") + 1
    head, lines = text[:begin], text[begin:].split("\n")
    for place, name in enumerate(actions, start=1):
        if name in notes and place < len(lines) and lines[place].endswith(("'", '"')):
            lines[place] += "  " + _comment([notes[name]]).rstrip("\n")
    return head + "\n".join(lines)


def _named_actions(task: Task) -> dict[str, Action]:
    alphabet = task.automaton.alphabet
    return dict(zip(alphabet.names, alphabet.actions, strict=True))


def _transitions(task: Task) -> dict[str, Any]:
    automaton = task.automaton
    names, states = automaton.alphabet.names, automaton.states
    return {
        "start": states[automaton.start],
        "accept": [states[state] for state in sorted(automaton.accepting)],
        "transitions": {
            states[state]: {names[symbol]: states[target] for symbol, target in edges.items()}
            for state, edges in enumerate(automaton.delta)
        },
        "golden": automaton.rule,
    }


def _record(
    task: Task, actions: Mapping[str, str], steps: Mapping[str, Any], always: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of a task file in order. Empty fields are left out unless `always` names them.

    `steps` holds the fields for the procedure or the automaton.
    """
    alphabet = task.automaton.alphabet
    record: dict[str, Any] = {
        "version": VERSION,
        "id": task.id,
        "prompt": task.prompt,
        "world": task.world,
        "tags": list(task.tags),
        "tools": None if alphabet.tools is None else [str(tool) for tool in alphabet.tools.values()],
        "actions": actions,
        **steps,
        "reads": [pattern.notation for pattern in alphabet.reads],
        "neutral": [pattern.notation for pattern in alphabet.neutral],
        "forbid": [{"call": one.call.notation, "severity": one.severity, "why": one.why} for one in alphabet.forbid],
        "unlisted": alphabet.unlisted,
        "refused": None if alphabet.listing.refused == "harm" else alphabet.listing.refused,
        "answer": None if task.answer_matcher is None else str(task.answer_matcher),
        "source": task.source,
    }
    kept = {"tools", *always}
    return {
        name: value for name, value in record.items() if value is not None and (name in kept or value not in ([], ""))
    }


# YAML


class _Quoted(str):
    """A string that YAML must quote, e.g. a call."""

    __slots__ = ()


_CALLS: Final = ("tools", "actions", "procedure", "reads", "neutral", "forbid", "answer")


def _quote_calls(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _quote(value) if name in _CALLS else value for name, value in record.items()}


def _quote(value: Any) -> Any:
    if isinstance(value, list):
        return [_quote(item) for item in value]
    if isinstance(value, dict):
        return {name: _quote(item) for name, item in value.items()}
    return _Quoted(value) if isinstance(value, str) else value


def _dump(data: dict[str, Any]) -> str:
    import yaml  # noqa: PLC0415  # importing the package stays light

    text = yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=10**9)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _dumper() -> type[yaml.SafeDumper]:
    import yaml  # noqa: PLC0415  # importing the package stays light

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    Dumper.add_representer(str, _represent)
    Dumper.add_representer(_Quoted, _represent)
    return Dumper


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if isinstance(text, _Quoted) else "|" if "\n" in text else None
    if _OTHER_BREAKS.search(text) or _HIDDEN.search(text):
        style = '"'  # in double quotes these characters can be escaped
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


def _comment(lines: Iterable[str]) -> str:
    return "".join(f"# {_UNPRINTABLE.sub(_escape, line)}\n" for line in lines)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("ascii", "backslashreplace").decode() if ord(found[0]) > 127 else f"\\x{ord(found[0]):02x}"
