"""Export a task's automaton as text, as a Mermaid flow chart or as a Graphviz graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from corepath.automaton.alphabet import Unlisted
from corepath.automaton.automaton import Automaton
from corepath.errors import count
from corepath.task import Task
from corepath.values import visible

_UNLISTED: Final[Mapping[Unlisted, str]] = {
    "harm": "harmful",
    "ignore": "ignored",
    "ignore_other_tools": "harmful if a step uses their tool, and ignored otherwise",
}


def as_text(task: Task) -> str:
    """Return the task as text, with its actions, rules, states and transitions."""
    unlisted = _UNLISTED[task.automaton.alphabet.unlisted]
    return "\n".join(
        [
            task.id + (f": {task.prompt}" if task.prompt else ""),
            *([] if task.procedure is None else [f"procedure  {task.procedure}"]),
            "",
            "actions",
            *_action_lines(task.automaton),
            *_rule_lines(task.automaton),
            f"unlisted calls are {unlisted}",
            "",
            "states",
            *_state_lines(task.automaton),
            "",
            describe_size(task.automaton),
        ]
    )


def _action_lines(automaton: Automaton) -> Iterator[str]:
    alphabet = automaton.alphabet
    width = max((len(name) for name in alphabet.names), default=0)
    for name, action in zip(alphabet.names, alphabet.actions, strict=True):
        yield f"  {name}" if name == action.notation else f"  {name:<{width}}  {action.notation}"


def _rule_lines(automaton: Automaton) -> Iterator[str]:
    alphabet = automaton.alphabet
    rules = {
        "reads": [pattern.notation for pattern in alphabet.reads],
        "neutral": [pattern.notation for pattern in alphabet.neutral],
        "forbid": [_forbidden(one.call.notation, one.severity, one.why) for one in alphabet.forbid],
    }
    for title, patterns in rules.items():
        if patterns:
            yield title
            yield from (f"  {pattern}" for pattern in patterns)


def _state_lines(automaton: Automaton) -> Iterator[str]:
    for state, name in enumerate(automaton.states):
        roles = ["start"] * (state == automaton.start) + ["accepting"] * (state in automaton.accepting)
        yield f"  {name}" + (f" ({', '.join(roles)})" if roles else "")
        for symbol, target in automaton.delta[state].items():
            arrow = "↺" if target == state else f"→ {automaton.states[target]}"
            yield f"    {automaton.alphabet.names[symbol]} {arrow}"


def as_mermaid(automaton: Automaton) -> str:
    """Return the automaton as a Mermaid flow chart."""
    lines = ["flowchart LR"]
    for state, name in enumerate(automaton.states):
        shape = '((("{}")))' if state in automaton.accepting else '(("{}"))'
        lines.append(f"  s{state}{shape.format(_escape_mermaid(name))}")
    lines += ["  begin[ ] --> s" + str(automaton.start), "  style begin fill:none,stroke:none"]
    for state, symbol, target in _edges(automaton):
        lines.append(f'  s{state} -- "{_escape_mermaid(automaton.alphabet.names[symbol])}" --> s{target}')
    return "\n".join(lines)


def as_dot(automaton: Automaton) -> str:
    """Return the automaton as a Graphviz graph."""
    lines = ["digraph task {", "  rankdir=LR;", '  begin [shape=none, label=""];']
    for state, name in enumerate(automaton.states):
        shape = "doublecircle" if state in automaton.accepting else "circle"
        lines.append(f"  s{state} [shape={shape}, label={_quote(name)}];")
    lines.append(f"  begin -> s{automaton.start};")
    for state, symbol, target in _edges(automaton):
        lines.append(f"  s{state} -> s{target} [label={_quote(automaton.alphabet.names[symbol])}];")
    return "\n".join([*lines, "}"])


def describe_size(automaton: Automaton) -> str:
    """Describe an automaton's size, e.g. `4 states, 3 actions, 1 golden path of 3 steps`."""
    lengths = automaton.lengths
    steps = count(lengths[0], "step") if len(lengths) == 1 else f"{span(lengths)} steps"
    paths = (
        f"1 golden path of {steps}"
        if automaton.count == 1
        else f"{count_text(automaton.count)} golden paths of {steps}"
    )
    states, actions = len(automaton.states), len(automaton.alphabet.actions)
    return f"{count(states, 'state')}, {count(actions, 'action')}, {paths}"


def count_text(count: int) -> str:
    """Format a count with thousands separators, or in scientific notation if it is a billion or more."""
    if count < 10**9:
        return f"{count:,}"
    digits = int((count.bit_length() - 1) * math.log10(2)) + 1
    digits += count >= 10**digits
    return f"{count // 10 ** (digits - 2) / 10:.1f}e{digits - 1}"


def span(lengths: list[int]) -> str:
    """Format sorted path lengths, e.g. as `3`, or as `2–4` if there are no gaps.

    If there are gaps, the lengths are listed. A long list is shortened to its first few lengths and the last one.
    """
    if len(lengths) == 1:
        return str(lengths[0])
    if lengths[-1] - lengths[0] + 1 == len(lengths):
        return f"{lengths[0]}–{lengths[-1]}"
    shown = ", ".join(map(str, lengths[:6]))
    return shown if len(lengths) <= 6 else f"{shown}, … {lengths[-1]}"


def _forbidden(call: str, severity: str, why: str | None) -> str:
    return f"{call}  ({severity}{f': {why}' if why else ''})"


def _edges(automaton: Automaton) -> list[tuple[int, int, int]]:
    return [(state, symbol, target) for state, edges in enumerate(automaton.delta) for symbol, target in edges.items()]


def _escape_mermaid(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in " _-.,()=/" else f"#{ord(character)};" for character in text
    )


def _quote(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
