"""Writing task files: JSON with the automaton itself, or YAML with the procedure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from corepath.files import VERSION
from corepath.notation.action import Action
from corepath.task import Task

if TYPE_CHECKING:
    import yaml

_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_OTHER_BREAKS: Final = re.compile("[\r\x85\u2028\u2029\ufeff]")


def as_json(*tasks: Task) -> str:
    """Return a JSON task file with each task's automaton."""
    files = [_record(task, {name: action.notation for name, action in _named_actions(task).items()}, _transitions(task))
             for task in tasks]  # fmt: skip
    return json.dumps(files[0] if len(files) == 1 else files, indent=1)


def as_yaml(task: Task, comments: Iterable[str] = (), notes: Mapping[str, str] | None = None) -> str:
    """Return a YAML task file with the task's procedure, for people to edit.

    `comments` are written at the top, and `notes` behind the actions that they are keyed by.
    """
    actions = {str(action.name): action.notation for action in task.actions}
    record = _record(task, actions, {"procedure": str(task.procedure) or "()"}, always=("reads", "neutral"))
    text = _dump(_quote_calls(record))
    return _comment(comments) + (_add_notes(text, actions, notes) if notes else text)


def _add_notes(text: str, actions: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """Write a comment behind each action that has a note."""
    begin = text.index("\nactions:") + 1
    head, lines = text[:begin], text[begin:].split("\n")
    for place, name in enumerate(actions, start=1):
        if name in notes and place < len(lines) and lines[place].endswith("'"):
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

    return yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=10**9)


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
    if _OTHER_BREAKS.search(text):
        style = '"'  # double quotes escape these line breaks
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


def _comment(lines: Iterable[str]) -> str:
    return "".join(f"# {_UNPRINTABLE.sub(_escape, line)}\n" for line in lines)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("ascii", "backslashreplace").decode() if ord(found[0]) > 127 else f"\\x{ord(found[0]):02x}"
