"""The record of an episode for the page: its calls with their effects, its messages, and what explains them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step
from corepath.episode import free_record
from corepath.explanation import Explanation
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.report.results import Result
from corepath.report.state_changes import MOST_CHANGES, Change, changed_values
from corepath.scoring.score import Score
from corepath.task import Task
from corepath.world.exploring import Replay, replay, simulator_of

ONE_LINE: Final = 76
"""The longest JSON value that is written on one line, in characters."""


def episode_record(result: Result, scored: Score | None, explanation: Explanation | None) -> dict[str, Any]:
    """Build an episode's record.

    If the task is not available, the record says why, its harms come from the recorded scores, and its findings are
    about rules alone.
    """
    episode = result.episode
    record: dict[str, Any] = {
        "calls": [_call(call) for call in episode.calls],
        "answer": _text(episode.answer) if episode.answer is not None else None,
        "params": _text(episode.params) if episode.params else None,
        "messages": list(map(_message, episode.messages)),
        "others": [_call(call) for call in episode.other_calls],
        "ended": episode.outcome,
        "more": _text({name: value for name, value in free_record(episode).items() if name != "scores"}),
    }
    if scored is None or result.task is None:
        _add_recorded_harms(record["calls"], result)
        alone = {} if explanation is None else {"alone": True, "findings": explanation.to_dict()["findings"]}
        return {**record, "why": result.why, **alone}
    if explanation is None:
        return record
    replayed = None if result.task.simulator is None else replay(result.task, episode.calls)
    _add_effects(record["calls"], result.task, scored.trace.steps, replayed)
    return {**record, **_add_explanation(record["calls"], scored, explanation)}


def _add_recorded_harms(calls: list[dict[str, Any]], result: Result) -> None:
    """Add the harms in an episode's recorded scores to its calls, and which calls were refused."""
    for record, call in zip(calls, result.episode.calls, strict=True):
        if call.failed:
            record["effect"] = Effect.REFUSED.value
    for number, kind in harm_kinds(result.scores).items():
        if 0 <= number < len(calls):
            calls[number] |= {"kind": Kind.HARM.value, "harm": kind}
            calls[number].setdefault("effect", Effect.TOOK.value)


def _add_explanation(calls: list[dict[str, Any]], scored: Score, explanation: Explanation) -> dict[str, Any]:
    """Add each call's step in the automaton and its note to `calls`, and return the episode's findings and its fix."""
    explained = explanation.to_dict()
    for call, step, note in zip(calls, scored.trace.steps, explained["steps"], strict=True):
        call |= {"kind": step.kind.value, "harm": step.harm, "before": step.before, "action": step.symbol,
                 **({} if step.after == step.before else {"after": step.after}), "text": note["text"]}  # fmt: skip
        if differences := note["differences"]:
            call["differences"] = [[one["path"], one["given"], one["expected"]] for one in differences]
    return {"findings": explained["findings"], "fix": explained["fix"]}


# What each call did


class Effect(StrEnum):
    """What a call did outside the automaton, in words for the reader."""

    TOOK = "took effect"
    REFUSED = "refused"
    LOOKED = "only looked"
    NOTHING = "changed nothing"
    RAN = "ran"
    """The call ran, and nothing more is known."""
    UNKNOWN = "no answer"


def _add_effects(calls: list[dict[str, Any]], task: Task, steps: Sequence[Step], replayed: Replay | None) -> None:
    """Add to each call what it did, and what it changed in the world's state if the task has a world."""
    for record, step in zip(calls, steps, strict=True):
        changes = [] if replayed is None else _changes(task, replayed, step.index)
        record["effect"] = _effect(task, step, changed=bool(changes)).value
        if changes:
            record["changes"] = changes[:MOST_CHANGES]
        if len(changes) > MOST_CHANGES:
            record["unlisted_changes"] = True


def _changes(task: Task, replayed: Replay, index: int) -> list[Change]:
    """List what a call changed in the public state of the task's world: at most one more than the page lists."""
    world, call = simulator_of(task), replayed.calls[index]
    before, after = replayed.states[index], replayed.states[index + 1]
    if call.failed or before is after or world.same_public(before, after):
        return []
    return changed_values(world.public(before), world.public(after), MOST_CHANGES + 1)


def _effect(task: Task, step: Step, *, changed: bool) -> Effect:
    """Say what a call did. If the task has no world, a call that ran took effect unless the task lists it as a loop."""
    call, world = step.call, task.simulator
    if call.failed or step.harm in (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL):
        return Effect.REFUSED
    if changed:
        return Effect.TOOK
    if call.result is UNANSWERED:
        return Effect.UNKNOWN
    if world is not None:
        return Effect.NOTHING if call.tool in world.tools and world.tools[call.tool].writes else Effect.LOOKED
    if any(pattern.fits_tool(call.tool) for pattern in task.automaton.alphabet.reads):
        return Effect.LOOKED
    return Effect.RAN if step.kind is Kind.LOOP else Effect.TOOK


# Calls, messages and values as text


def _message(message: Message) -> dict[str, Any]:
    """Convert a message to a record with its role, its text, and the index of the call that it precedes.

    The role and the index are None or absent if they are not known.
    """
    if not message.role:
        return {"body": _text(message.content)}
    plain = isinstance(message.content, str) and not message.extra
    body = message.content if plain else {"content": message.content, **message.extra}
    return {"who": message.role, "before": message.before_call, "body": _text(body)}


def _call(call: Call) -> dict[str, Any]:
    """Convert a call to a record with its request and its result or error."""
    record: dict[str, Any] = {"asked": {"label": call.label, "tool": call.tool, "arguments": _text(call.arguments)}}
    if call.error is not None:
        record["error"] = _text(call.error)
    if call.result is not UNANSWERED:
        record["result"] = _text(call.result)
    if call.turn is not None:
        record["turn"] = call.turn
    if call.extra:
        record["more"] = _text(call.extra)
    return record


def _text(value: Any) -> list[str]:
    """Return a value's kind ("text" or "JSON") and its full text.

    JSON values are kept as text because JavaScript would round large numbers.
    """
    if isinstance(value, str):
        return ["text", value]
    short = _json(value, None)
    return ["JSON", short if len(short) <= ONE_LINE else _json(value, 2)]


def _json(value: Any, indent: int | None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Convert a value that `json` cannot serialize to a dict or a string."""
    return dict(value) if isinstance(value, Mapping) else repr(value)


def harm_kinds(scores: Mapping[str, Any]) -> dict[int, str]:
    """Return the kind of each harm, keyed by the call's index.

    The scores may come from a file, so invalid entries are skipped.
    """
    harms = scores.get("harms")
    return {
        harm["index"]: harm["kind"]
        for harm in (harms if isinstance(harms, (list, tuple)) else ())
        if isinstance(harm, Mapping) and isinstance(harm.get("index"), int) and harm.get("kind") in list(HarmKind)
    }
