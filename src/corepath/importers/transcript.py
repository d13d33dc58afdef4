"""Collect the calls, results and text in one record and turn them into an episode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.episode import Episode, typed_fields
from corepath.errors import RecordError
from corepath.importers.content import describe_type, time_of
from corepath.importers.usage import read_usage
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.values import arguments_of


@dataclass
class Transcript:
    """The calls and messages in one conversation, added in the order in which they happened.

    Times may be in any form that `time_of` reads.

    A result goes to the call with the same id that still waits for a result, since some models reuse an id in a later
    turn. A record is malformed if it reuses an id before the first call has a result, or if a result belongs to no
    waiting call.
    """

    calls: list[Call] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    answer: Any = None
    turn: int = 0
    models: dict[str, None] = field(default_factory=dict)
    """The names of the models that took part, in order of their first turn."""
    usage: dict[str, float] = field(default_factory=dict)
    """The tokens, the cost and the number of requests, added up. The names are those in the records of live runs."""
    _waiting: dict[str | int, int] = field(default_factory=dict, repr=False)
    """The index of each call that waits for a result, in order. The key is the call's id, or its index without one."""
    _calls_before_text: int = field(default=-1, repr=False)

    def start_turn(self) -> None:
        """Begin a turn by the agent. All calls in one turn share a turn number."""
        self.turn += 1

    def add_call(self, tool: Any, arguments: Any, id: Any = None, *, time: Any = None, **extra: Any) -> None:  # noqa: A002
        """Add a call by the agent.

        Arguments that are not a JSON object are kept unchanged. Raises `RecordError` if a call with the same id still
        waits for a result.
        """
        place = len(self.calls)
        if type(id) is not str or not id:
            id = _id(id)  # noqa: A001
        if id in self._waiting:
            raise RecordError(f"the call id {_cut(id)} is used twice before the first call was answered")
        self._waiting[place if id is None else id] = place
        name = tool if type(tool) is str else "" if tool is None else str(tool)
        given, made = arguments_of(arguments), None if time is None else time_of(time)
        self.calls.append(Call(name, given, UNANSWERED, None, id, self.turn or None, made, extra))

    def add_result(
        self, id: Any, value: Any, *, error: bool = False, tool: str | None = None, time: Any = None, **extra: Any  # noqa: A002
    ) -> None:  # fmt: skip
        """Set the result of the call with this id, or its error message if `error` is true.

        Without an id, the result goes to the first call that waits for one. If `tool` is set, only calls to this tool
        are considered. Raises `RecordError` if no call waits for the result.
        """
        if type(id) is not str or not id:
            id = _id(id)  # noqa: A001
        if id is None:
            place = next((n for n in self._waiting.values() if tool in (None, self.calls[n].tool)), None)
        else:
            place = self._waiting.get(id)
        if place is None:
            whose = f"the call id {_cut(id)}" if id is not None or tool is None else f"the tool {_cut(tool)}"
            raise RecordError(f"a result for {whose}, but no call waits for it")
        self._answer(place, value, error, time, extra)

    def answer_call(self, place: int, value: Any, *, error: bool = False, time: Any = None, **extra: Any) -> None:
        """Set the result or error message of the call at index `place`.

        If `value` is `UNANSWERED`, the call is closed without a result. If the times of call and result are known, the
        call's `extra` has the `seconds` between them.
        """
        self._answer(place, value, error, time, extra)

    def _answer(self, place: int, value: Any, error: bool, time: Any, extra: dict[str, Any]) -> None:  # noqa: FBT001
        made = self.calls[place].__dict__  # the call is this transcript's alone until there is an episode
        key = made["id"]
        if key is None:
            key = place
        if self._waiting.get(key) == place:
            del self._waiting[key]
        begun = made["time"]
        if begun is not None and (ended := time_of(time)) is not None and ended >= begun:
            extra = {"seconds": round(ended - begun, 6), **extra}
        if extra:
            made["extra"] = {**made["extra"], **extra}
        if error:
            made["error"] = value if value not in (None, "", False) else "error"
        else:
            made["result"] = value

    def add_text(self, text: Any, *, time: Any = None, **extra: Any) -> None:
        """Add text from the agent. The last text is the agent's answer if no call follows."""
        if text is not None and text not in _NO_TEXT:
            self._say("assistant", text, time, extra)
            self.answer = text
            self._calls_before_text = len(self.calls)

    def add_message(self, role: str, text: Any, *, time: Any = None, **extra: Any) -> None:
        """Add a message by anyone. Empty messages are left out. `developer` is another word for `system`."""
        if text is not None and text not in _NO_TEXT:
            self._say("system" if role == "developer" else role, text, time, extra)

    def _say(self, role: str, text: Any, time: Any, extra: dict[str, Any]) -> None:
        turn = self.turn or None if role == "assistant" else None
        said = None if time is None else time_of(time)
        self.messages.append(Message(role, text, len(self.calls), said, extra, turn))

    def add_usage(self, usage: Any, *, model: Any = None, cost: Any = None) -> None:
        """Add what one request to a model used. `usage` may have the field names of any known provider."""
        if isinstance(model, str) and model:
            self.models.setdefault(model)
        if used := read_usage(usage, cost):
            for name, one in {"requests": 1, **used}.items():
                total = self.usage.get(name, 0) + one
                self.usage[name] = total if type(total) is int else round(total, 12)

    def open_calls(self) -> tuple[int, ...]:
        """Return the indexes of the calls that wait for a result."""
        return tuple(self._waiting.values())

    def waits_for(self, id: Any) -> bool:  # noqa: A002
        """Return True if a call with this id waits for a result."""
        return _id(id) in self._waiting

    def to_episode(self, agent: Any = None, **extra: Any) -> Episode:
        """Build the episode. Its task is empty, because `Routing` sets the task later."""
        models = list(self.models)
        name = agent if isinstance(agent, str) else str(agent) if agent is not None else models[0] if models else None
        known: dict[str, Any] = {"models": models if models not in ([], [name]) else None, "usage": self.usage or None}
        known |= {"seconds": seconds_between(self.calls, self.messages), **extra}
        fields = typed_fields({name: value for name, value in known.items() if value is not None})
        return Episode(
            "", tuple(self.calls), name, answer=self.answer if self._calls_before_text == len(self.calls) else None,
            messages=tuple(self.messages), **fields,
        )  # fmt: skip


def seconds_between(calls: Iterable[Call], messages: Iterable[Message]) -> float | None:
    """Return the time between the first and the last event, or None if no two times are known."""
    starts = [one.time for one in messages if one.time is not None]
    ends = starts.copy()
    for one in calls:
        if one.time is not None:
            starts.append(one.time)
            ends.append(one.time + one.extra.get("seconds", 0))
    if not starts:
        return None
    passed = round(max(ends) - min(starts), 6)
    return passed if len(starts) > 1 or passed else None


_NO_TEXT: Final[tuple[Any, ...]] = ("", [])


def _id(given: Any) -> str | None:
    """Return a call id as a string, or None if the id is missing or empty.

    Raises `RecordError` if the id is neither a string nor a number.
    """
    if isinstance(given, str) or given is None:
        return given or None
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return str(given)
    raise RecordError(f"a call id must be a string, not {describe_type(given)}")


def _cut(id_: Any) -> str:
    text = repr(id_)
    return text if len(text) <= 60 else text[:59] + "…"
