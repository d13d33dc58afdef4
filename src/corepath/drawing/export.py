"""A task's automaton for people and for other tools: text, Mermaid, Graphviz, JSON."""

from __future__ import annotations

import math

from corepath.automaton.automaton import Automaton
from corepath.errors import count
from corepath.task import Task
from corepath.values import visible


def as_text(task: Task) -> str:
    """The automaton in lines a person reads from top to bottom."""
    automaton = task.automaton
    alphabet = automaton.alphabet
    lines = [task.id + (f": {task.prompt}" if task.prompt else "")]
    if task.procedure is not None:
        lines.append(f"procedure  {task.procedure}")
    lines += ["", "actions"]
    width = max((len(name) for name in alphabet.names), default=0)
    for name, action in zip(alphabet.names, alphabet.actions, strict=True):
        lines.append(f"  {name}" if name == action.notation else f"  {name:<{width}}  {action.notation}")
    rules = [
        ("reads", [pattern.notation for pattern in alphabet.reads]),
        ("neutral", [pattern.notation for pattern in alphabet.neutral]),
        ("forbid", [_forbidden(one.call.notation, one.severity, one.why) for one in alphabet.forbid]),
    ]
    for title, patterns in rules:
        if patterns:
            lines += [title, *(f"  {pattern}" for pattern in patterns)]
    lines += [f"unlisted calls are {'harmful' if alphabet.unlisted == 'harm' else 'ignored'}", "", "states"]
    for state, name in enumerate(automaton.states):
        marks = [
            mark
            for mark, is_so in (("start", state == automaton.start), ("accepting", state in automaton.accepting))
            if is_so
        ]
        lines.append(f"  {name}" + (f" ({', '.join(marks)})" if marks else ""))
        for symbol, target in automaton.delta[state].items():
            arrow = "↺" if target == state else f"→ {automaton.states[target]}"
            lines.append(f"    {alphabet.names[symbol]} {arrow}")
    lines += ["", counted(automaton)]
    return "\n".join(lines)


def as_mermaid(automaton: Automaton) -> str:
    """A Mermaid flow chart."""
    lines = ["flowchart LR"]
    for state, name in enumerate(automaton.states):
        shape = '((("{}")))' if state in automaton.accepting else '(("{}"))'
        lines.append(f"  s{state}{shape.format(_mermaid(name))}")
    lines += ["  begin[ ] --> s" + str(automaton.start), "  style begin fill:none,stroke:none"]
    for state, symbol, target in _edges(automaton):
        lines.append(f'  s{state} -- "{_mermaid(automaton.alphabet.names[symbol])}" --> s{target}')
    return "\n".join(lines)


def as_dot(automaton: Automaton) -> str:
    """A Graphviz graph."""
    lines = ["digraph task {", "  rankdir=LR;", '  begin [shape=none, label=""];']
    for state, name in enumerate(automaton.states):
        shape = "doublecircle" if state in automaton.accepting else "circle"
        lines.append(f"  s{state} [shape={shape}, label={_quoted(name)}];")
    lines.append(f"  begin -> s{automaton.start};")
    for state, symbol, target in _edges(automaton):
        lines.append(f"  s{state} -> s{target} [label={_quoted(automaton.alphabet.names[symbol])}];")
    return "\n".join([*lines, "}"])


def counted(automaton: Automaton) -> str:
    """How many golden paths there are and how long, in words."""
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
    """A count as it is, or in short where it is long."""
    if count < 10**9:
        return f"{count:,}"
    digits = int((count.bit_length() - 1) * math.log10(2)) + 1
    digits += count >= 10**digits
    return f"{count // 10 ** (digits - 2) / 10:.1f}e{digits - 1}"


def span(lengths: list[int]) -> str:
    """Lengths in short: 3, 2–4 where none is missing between, else the first few."""
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


def _mermaid(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in " _-.,()=/" else f"#{ord(character)};" for character in text
    )


def _quoted(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
