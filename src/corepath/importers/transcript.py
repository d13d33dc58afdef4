"""`Transcript`: collects the calls, answers and texts of one record and turns them into an episode."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from corepath.episode import Episode, typed_fields
from corepath.errors import RecordError
from corepath.importers.content import describe_type
from corepath.notation.call import Call
from corepath.values import arguments_of


@dataclass
class Transcript:
    """The calls and texts of one conversation, added in the order in which they happened.

    A result goes to the unanswered call with its id, since some models reuse an id in a later turn. Reusing an id
    before it is answered, or answering a call that is not there, is an error of the record.
    """

    calls: list[Call] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    answer: Any = None
    turn: int = 0
    _waiting: dict[str, int] = field(default_factory=dict, repr=False)
    """The unanswered calls that have an id: the index of each."""
    _open: dict[int, None] = field(default_factory=dict, repr=False)
    """The indexes of all unanswered calls, in order."""
    _calls_before_text: int = field(default=-1, repr=False)

    def start_turn(self) -> None:
        """Begin a turn of the agent; its calls share a turn number."""
        self.turn += 1

    def add_call(self, tool: Any, arguments: Any, id: Any = None, **extra: Any) -> None:  # noqa: A002
        """Add a call of the agent. Arguments that are not a JSON object are kept as they were sent."""
        id = _id(id)  # noqa: A001
        if id is not None:
            if id in self._waiting:
                raise RecordError(f"the call id {_cut(id)} is used twice before the first call was answered")
            self._waiting[id] = len(self.calls)
        self._open[len(self.calls)] = None
        name = tool if isinstance(tool, str) else "" if tool is None else str(tool)
        self.calls.append(Call(name, arguments_of(arguments), id=id, turn=self.turn or None, extra=extra))

    def add_result(self, id: Any, value: Any, *, error: bool = False, tool: str | None = None, **extra: Any) -> None:  # noqa: A002
        """Answer the call with this id with a result, or with an error message.

        Without an id, the answer goes to the first unanswered call, or the first of `tool` if that is given.
        """
        id = _id(id)  # noqa: A001
        if id is None:
            place = next((n for n in self._open if tool in (None, self.calls[n].tool)), None)
        else:
            place = self._waiting.get(id)
        if place is None:
            whose = f"the call id {_cut(id)}" if id is not None or tool is None else f"the tool {_cut(tool)}"
            raise RecordError(f"a result for {whose}, but no call waits for it")
        self.answer_call(place, value, error=error, **extra)

    def answer_call(self, place: int, value: Any, *, error: bool = False, **extra: Any) -> None:
        """Answer the call at an index and close it. The value UNANSWERED closes a call that never got an answer."""
        call = self.calls[place]
        self._open.pop(place, None)
        if self._waiting.get(call.id or "") == place:
            del self._waiting[call.id or ""]
        answered = {"error": value if value not in (None, "", False) else "error"} if error else {"result": value}
        self.calls[place] = replace(call, **answered, extra={**call.extra, **extra})

    def add_text(self, text: Any) -> None:
        """Add what the agent said; its last text is the answer if no call follows."""
        if text not in (None, "", []):
            self.messages.append({"role": "assistant", "content": text, "before_call": len(self.calls)})
            self.answer = text
            self._calls_before_text = len(self.calls)

    def open_calls(self) -> tuple[int, ...]:
        """The indexes of the unanswered calls."""
        return tuple(self._open)

    def waits_for(self, id: Any) -> bool:  # noqa: A002
        """Whether there is an unanswered call with this id."""
        return _id(id) in self._waiting

    def to_episode(self, agent: Any = None, **extra: Any) -> Episode:
        """Build the episode. Its task is empty: routing sets it."""
        name = agent if agent is None or isinstance(agent, str) else str(agent)
        fields = typed_fields({name: value for name, value in extra.items() if value is not None})
        return Episode(
            "", tuple(self.calls), name, answer=self.answer if self._calls_before_text == len(self.calls) else None,
            messages=tuple(self.messages), **fields,
        )  # fmt: skip


def _id(given: Any) -> str | None:
    """A call id as text; None if it is missing or empty."""
    if given is None or isinstance(given, str):
        return given or None
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return str(given)
    raise RecordError(f"a call id must be a string, not {describe_type(given)}")


def _cut(id_: Any) -> str:
    text = repr(id_)
    return text if len(text) <= 60 else text[:59] + "…"
