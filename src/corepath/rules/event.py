"""Events: calls and messages in the order in which they happened, as rules see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Scope
from corepath.notation.message import Message
from corepath.rules.rule import SPEAKERS, CallPattern, Said, Window
from corepath.values import equal


@dataclass(frozen=True, slots=True)
class Mark:
    """When an event happened.

    `calls` is the number of calls up to the event, including it. `time` is in seconds, or None if it is not known.
    """

    index: int
    calls: int
    time: float | None


@dataclass(frozen=True, slots=True)
class Event:
    """A call or a message with its place among the events of an episode.

    `turn` is the same for neighbouring events in one turn of the agent, and else different. `state` and `after` are the
    states of the world before and after a call, if there is a world.
    """

    item: Call | Message
    mark: Mark
    turn: int
    state: Any = None
    after: Any = None

    @property
    def failed(self) -> bool:
        """Whether the event is a call that returned an error."""
        return isinstance(self.item, Call) and self.item.failed

    @property
    def name(self) -> str:
        """The tool of a call, or the role of a message."""
        return self.item.tool if isinstance(self.item, Call) else self.item.role


def make_events(items: Sequence[Call | Message], states: Sequence[Any] = ()) -> Iterator[Event]:
    """Yield calls and messages as events.

    If times are known for some items, an item without a time, or with a time before that of an earlier item, has the
    time of the item before it. `states` holds the state of the world before the first call and after each call, if
    there is a world.
    """
    calls = turn = 0
    last: object = None
    time = next((item.time for item in items if item.time is not None), None)
    for index, item in enumerate(items):
        if item.turn is None or item.turn != last:
            turn += 1
        last = item.turn
        calls += isinstance(item, Call)
        time = item.time if time is None or (item.time is not None and item.time > time) else time
        known = (states[calls - 1], states[calls]) if states and isinstance(item, Call) else (None, None)
        yield Event(item, Mark(index, calls, time), turn, *known)


def bind(pattern: Action, item: Call | Message, variables: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Match a call or a message with a pattern, whether the call failed or not.

    Return the variables, including new ones, or None if the item does not match.
    """
    scope = Scope(dict(variables or {}))
    fits = _fits_message(pattern, item, scope) if isinstance(item, Message) else _fits_call(pattern, item, scope)
    return scope.variables if fits else None


def _fits_message(pattern: Action, message: Message, scope: Scope) -> bool:
    if not isinstance(pattern, Said) or SPEAKERS.get(pattern.tool) != message.role:
        return False
    return pattern.arguments.matches({"text": message.content}, scope)


def _fits_call(pattern: Action, call: Call, scope: Scope) -> bool:
    if isinstance(pattern, Said) or not pattern.fits_tool(call.tool):
        return False
    if isinstance(pattern, CallPattern) and not _fits_whole(pattern, call, scope):
        return False
    return pattern.arguments.matches(call.arguments, scope) and pattern.fits_result(call.result, scope)


def _fits_whole(pattern: CallPattern, call: Call, scope: Scope) -> bool:
    """Whether a call is as a whole what a pattern asks for. Sets the variable for the whole call."""
    if pattern.failed and not call.failed:
        return False
    if pattern.whole is None:
        return True
    whole = [call.tool, call.arguments]
    return equal(scope.variables.setdefault(pattern.whole, whole), whole)


def distance(window: Window, first: Mark, last: Mark) -> float | None:
    """Return how far apart two events are, in the unit of a window, or None if their times are not known."""
    if window.calls is not None:
        return last.calls - first.calls
    return None if first.time is None or last.time is None else last.time - first.time
