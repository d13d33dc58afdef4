"""Find what a call changed in the public state of the task's world, and say it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.explanation.facts import Facts
from corepath.explanation.sentences import cut, join
from corepath.explanation.value_text import value_text
from corepath.values import equal


class _Absent:
    """The value of a field that does not exist."""

    def __repr__(self) -> str:
        return "<absent>"


_ABSENT: Final = _Absent()

Change = Mapping[str, tuple[Any, Any]]
"""The dotted paths of the fields that a call changed, with the values before and after."""


def find_change(facts: Facts, index: int) -> Change:
    """Return what call `index` changed, or an empty mapping if it changed nothing or the task has no world."""
    world, run = facts.task.simulator, facts.replay
    if world is None or run is None:
        return {}
    return dict(sorted(_changes(world.public(run.states[index]), world.public(run.states[index + 1]), "")))


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the dotted path of each field that differs between two states, with the values before and after."""
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            inner = f"{path}.{name}" if path else str(name)
            yield from _changes(before.get(name, _ABSENT), after.get(name, _ABSENT), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, new, f"{path}.{place}")
    elif not equal(before, after):
        yield path, (before, after)


def describe_change(change: Change) -> str:
    """Describe the changed fields, e.g. `changed at from "base" to "C"`."""
    return join([_field_text(cut(path, 40), old, new) for path, (old, new) in change.items()], most=2)


def _field_text(path: str, old: Any, new: Any) -> str:
    if old is _ABSENT:
        return f"added {path}"
    if new is _ABSENT:
        return f"removed {path}"
    return f"changed {path} from {value_text(old, 30)} to {value_text(new, 30)}"
