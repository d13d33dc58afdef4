"""Calls and their answers as they are met in a stored conversation, joined by call id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from corepath.episode import Episode, typed_fields
from corepath.errors import RecordError
from corepath.notation.call import Call
from corepath.values import arguments_of, parse_json


@dataclass
class Conversation:
    """What an importer collects from one record, in the order in which it stands there.

    A result belongs to the call with its id that has no answer yet: some models use an id again in a later turn. An id
    that is used again before it was answered, and a result that no call waits for, are errors of the record.
    """

    calls: list[Call] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    answer: Any = None
    turn: int = 0
    _waiting: dict[str, int] = field(default_factory=dict, repr=False)
    _open: dict[int, None] = field(default_factory=dict, repr=False)
    _said_before: int = field(default=-1, repr=False)

    def next_turn(self) -> None:
        """The agent speaks again."""
        self.turn += 1

    def call(self, tool: Any, arguments: Any, id: Any = None, **extra: Any) -> None:  # noqa: A002
        """A call of the agent's; arguments that are no JSON object are kept as they were sent."""
        id = _id(id)  # noqa: A001
        if id is not None:
            if id in self._waiting:
                raise RecordError(f"the call id {_cut(id)} is used twice, and the first call was not answered before")
            self._waiting[id] = len(self.calls)
        self._open[len(self.calls)] = None
        name = tool if isinstance(tool, str) else "" if tool is None else str(tool)
        self.calls.append(Call(name, arguments_of(arguments), id=id, turn=self.turn or None, extra=extra))

    def result(self, id: Any, value: Any, *, error: bool = False, tool: str | None = None, **extra: Any) -> None:  # noqa: A002
        """What the environment answered to a call: a result, or the text of an error.

        A result without an id belongs to the first call that waits, of its tool where that is given.
        """
        id = _id(id)  # noqa: A001
        if id is None:
            place = next((n for n in self._open if tool in (None, self.calls[n].tool)), None)
        else:
            place = self._waiting.get(id)
        if place is None:
            whose = f"the call id {_cut(id)}" if id is not None or tool is None else f"the tool {_cut(tool)}"
            raise RecordError(f"a result for {whose}, and no call waits for it")
        self.answer_at(place, value, error=error, **extra)

    def answer_at(self, place: int, value: Any, *, error: bool = False, **extra: Any) -> None:
        """What the environment answered to the call at a place; it waits no longer, though it may stay unanswered."""
        call = self.calls[place]
        self._open.pop(place, None)
        if self._waiting.get(call.id or "") == place:
            del self._waiting[call.id or ""]
        answered = {"error": value if value not in (None, "", False) else "error"} if error else {"result": value}
        self.calls[place] = replace(call, **answered, extra={**call.extra, **extra})

    def said(self, text: Any) -> None:
        """What the agent said; the last of it is its answer."""
        if text not in (None, "", []):
            self.messages.append({"role": "assistant", "content": text, "before_call": len(self.calls)})
            self.answer = text
            self._said_before = len(self.calls)

    def waiting(self) -> tuple[int, ...]:
        """The places of the calls that have no answer yet."""
        return tuple(self._open)

    def waits_for(self, id: Any) -> bool:  # noqa: A002
        """Whether a call with this id has no answer yet."""
        return _id(id) in self._waiting

    def episode(self, agent: Any = None, **extra: Any) -> Episode:
        """The episode, which has no task yet; words that were followed by a call are no answer."""
        name = agent if agent is None or isinstance(agent, str) else str(agent)
        fields = typed_fields({name: value for name, value in extra.items() if value is not None})
        return Episode(
            "", tuple(self.calls), name, answer=self.answer if self._said_before == len(self.calls) else None,
            messages=tuple(self.messages), **fields,
        )  # fmt: skip


def result_value(content: Any) -> Any:
    """A result as a value: text that is JSON is read, other text stays."""
    if not isinstance(content, str):
        return content
    try:
        return parse_json(content)
    except ValueError:
        return content


def text_of(content: Any) -> Any:
    """The words of a message: a text, or the texts of its parts, one under the other; None where there are none."""
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else _part(part) for part in content]
        return "\n".join(text for text in texts if text) or None
    return content or None


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return ""
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""


def objects(values: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; a list that is not there is empty, anything else is an error of the record."""
    if values is None:
        return
    if not isinstance(values, list):
        raise RecordError(f"{what} stand in a list, not in {_kind(values)}")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, Mapping):
            raise RecordError(f"{what} are objects; number {number} is {_kind(value)}")
        yield value


def metadata_of(record: Any, *conversation: str) -> dict[str, Any] | None:
    """What a record says besides its conversation, so that it can be found again: its `metadata` win over the rest."""
    if not isinstance(record, Mapping):
        return None
    found = {name: value for name, value in record.items() if name not in conversation and value not in (None, [], {})}
    inner = found.pop("metadata", {})
    return (found | dict(inner) if isinstance(inner, Mapping) else found | {"metadata": inner}) or None


def _id(given: Any) -> str | None:
    if given is None or isinstance(given, str):
        return given or None
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return str(given)
    raise RecordError(f"a call id is a text, not {_kind(given)}")


def _kind(value: Any) -> str:
    """What a value of JSON is, as a person says it."""
    names = {str: "a text", bool: "a truth value", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def _cut(id_: Any) -> str:
    text = repr(id_)
    return text if len(text) <= 60 else text[:59] + "…"
