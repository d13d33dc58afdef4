"""Complete an episode with what only earlier exchanges of the same conversation tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from corepath.episode import Episode
from corepath.importers.transcript import seconds_between
from corepath.notation.call import Call
from corepath.notation.message import Message

_Event = TypeVar("_Event", Call, Message)


def complete(episode: Episode, earlier: Sequence[Episode]) -> Episode:
    """Add the times, tokens and models of earlier exchanges, whose conversations `episode` repeats."""
    for one in earlier:
        calls = [_with_time(call, one.calls, place) for place, call in enumerate(episode.calls)]
        messages = [_with_time(message, one.messages, place) for place, message in enumerate(episode.messages)]
        extra = {**episode.extra, **_sum_up(one, episode)}
        if (seconds := seconds_between(calls, messages)) is not None:
            extra["seconds"] = seconds
        episode = replace(episode, calls=tuple(calls), messages=tuple(messages), extra=extra)
    return episode


def _with_time(event: _Event, earlier: Sequence[_Event], place: int) -> _Event:
    """Return an event with the time that the earlier exchange gives for the event at the same place, if it has none."""
    same = earlier[place] if place < len(earlier) else None
    if event.time is not None or same is None or same.time is None or _content(same) != _content(event):
        return event
    return replace(event, time=same.time)


def _content(event: Call | Message) -> tuple[Any, ...]:
    return (event.tool, event.id) if isinstance(event, Call) else (event.role, event.content)


def _sum_up(first: Episode, second: Episode) -> dict[str, Any]:
    """Return the tokens and models of both episodes. A request that has no response used nothing."""
    if not first.extra.get("usage"):
        return {}
    used = [first, second] if second.extra.get("usage") else [first]
    found: dict[str, Any] = {"usage": _add_up([one.extra["usage"] for one in used])}
    models = list(dict.fromkeys(model for one in used for model in one.extra.get("models") or [one.agent] if model))
    return found if models in ([], [second.agent]) else {**found, "models": models}


def _add_up(usages: list[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for usage in usages for name in usage)
    return {name: round(sum(usage.get(name, 0) for usage in usages), 12) for name in names}
