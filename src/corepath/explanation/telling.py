"""Choose the arguments that tell a call, or a step, from others of the same tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher, Scope

MOST_SHOWN: Final = 2
"""How many arguments are shown of a step that is too long to be shown whole."""


def telling_arguments(call: Call, calls: Iterable[Call], steps: Iterable[Action]) -> frozenset[str]:
    """Return the arguments in which a call differs from another call or step of its tool."""
    if call.malformed:
        return frozenset()
    given = call.arguments
    differing = {name for other in _arguments(calls, call.tool) for name in given if _differs(given, other, name)}
    patterns = (part for action in steps if action.tool == call.tool for part in action.arguments.fields)
    return frozenset(differing.union(name for name, part in patterns if not _takes(part, name, given, Scope())))


def telling_fields(action: Action, calls: Iterable[Call], steps: Iterable[Action], scope: Scope) -> frozenset[str]:
    """Return the few arguments of a step that best tell it from calls that were made, and from other steps."""
    fields = action.arguments.fields
    made = list(_arguments(calls, action.tool))
    new = [name for name, part in fields if made and not any(_takes(part, name, given, scope) for given in made)]
    others = [dict(one.arguments.fields) for one in steps if one.tool == action.tool and one is not action]
    apart = [name for name, part in fields if any(other.get(name) != part for other in others)]
    first = [name for name, _ in fields[:1]]
    names = list(dict.fromkeys([*(first if new else []), *new, *apart])) or first
    return frozenset(names[:MOST_SHOWN])


def _arguments(calls: Iterable[Call], tool: str) -> Iterator[Mapping[str, Any]]:
    return (call.arguments for call in calls if call.tool == tool and not call.malformed)


def _differs(given: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return name not in other or bool(other[name] != given[name])


def _takes(part: Matcher, name: str, given: Mapping[str, Any], scope: Scope) -> bool:
    """Whether a matcher takes an argument. It takes none that is not given."""
    return name in given and part.matches(given[name], scope)
