"""Write short traces of calls and messages as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from corepath.notation.action import Action
from corepath.notation.call import UNANSWERED, Call
from corepath.rules.rule import Rule, Window
from corepath.rules.samples import Item
from corepath.rules.wording import describe_item
from corepath.values import to_notation


def write_trace(trace: Sequence[Item], rules: Sequence[Rule]) -> str:
    """Write a trace on one line, e.g. `verify() → refund(order="A")`.

    Results are written only if a rule among `rules` looks at them, and times only if time passes.
    """
    if not trace:
        return "no events"
    patterns = [pattern for rule in rules for pattern in rule.patterns if pattern.result is not None]
    return " → ".join(_write_parts(trace, [_write_event(item, patterns) for item in trace]))


def _write_parts(trace: Sequence[Item], texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts of events. Equal events at one time are put together."""
    last: Item | None = None
    places = groupby(range(len(trace)), key=lambda place: (texts[place], trace[place].time, trace[place].turn))
    for _, group in places:
        alike = list(group)
        item = trace[alike[0]]
        turn = " in one turn" if item.turn is not None else ""
        times = f" ×{len(alike)}{turn}" if len(alike) > 1 else ""
        shares = last is not None and item.turn is not None and item.turn == last.turn
        together = "in the same turn " if shares else ""
        yield f"{_write_gap(last, item)}{together}{texts[alike[0]]}{times}"
        last = item


def _write_gap(last: Item | None, item: Item) -> str:
    if last is None or last.time is None or item.time is None or item.time == last.time:
        return ""
    gap = item.time - last.time
    return f"{str(Window(seconds=round(gap, 3))).removeprefix('within ')} later "


def _write_event(item: Item, patterns: Sequence[Action]) -> str:
    """Write an event, with its result if one of the patterns looks at it."""
    if not isinstance(item, Call):
        return describe_item(item)
    if item.failed:
        return f"{item} (failed)"
    shown = item.result is not UNANSWERED and any(pattern.fits_tool(item.tool) for pattern in patterns)
    return f"{item} -> {to_notation(item.result)}" if shown else str(item)


def trace_to_dicts(trace: Sequence[Item]) -> list[dict[str, Any]]:
    """Return a trace as JSON."""
    return [_to_dict(item) for item in trace]


def _to_dict(item: Item) -> dict[str, Any]:
    made: dict[str, Any] = {"time": item.time, "turn": item.turn}
    if isinstance(item, Call):
        made |= {"tool": item.tool, "arguments": item.arguments, "result": item.result, "error": item.error}
    else:
        made |= {"role": item.role, "content": item.content}
    return {key: value for key, value in made.items() if value is not None and value is not UNANSWERED}
