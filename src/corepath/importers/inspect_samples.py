"""Read parts of Inspect samples: attached texts, messages that models were given, times and usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from corepath.importers.content import first_of, message_text
from corepath.importers.transcript import Transcript
from corepath.values import canonical

_ATTACHMENT: Final = "attachment://"


class Inputs:
    """The messages by the user and the system in one sample. Each of them is added to a transcript once.

    A message that a later event repeats is recognised by its id, or in older logs by its content.
    """

    def __init__(self, sample: Mapping[str, Any]) -> None:
        data = sample.get("events_data")
        pool = data.get("messages") if isinstance(data, dict) else None
        self._pool: list[Any] = pool if isinstance(pool, list) else []
        self._ids: set[str] = set()
        self._added: Counter[str] = Counter()

    def add_input(self, transcript: Transcript, event: Mapping[str, Any]) -> None:
        """Add the messages that a model event's input has and no earlier event had."""
        given = event.get("input")
        self.add(transcript, given if isinstance(given, list) and given else self._resolve(event.get("input_refs")))

    def add(self, transcript: Transcript, messages: Iterable[Any]) -> None:
        """Add the messages by the user and the system that were not added before."""
        found: Counter[str] = Counter()
        for message in messages:
            if not isinstance(message, dict) or message.get("role") not in ("user", "system"):
                continue
            content = canonical([message["role"], message.get("content")])
            found[content] += 1
            id_ = message.get("id")
            is_old = id_ in self._ids if isinstance(id_, str) and id_ else found[content] <= self._added[content]
            if not is_old:
                add_message(transcript, message)
                self._added[content] += 1
                self._ids.add(str(id_))

    def _resolve(self, references: Any) -> Iterator[Any]:
        """Yield the messages to which an event refers. Each reference is the start and end of a part of the pool."""
        for one in references if isinstance(references, list) else ():
            if isinstance(one, list) and len(one) == 2 and all(type(place) is int and place >= 0 for place in one):
                yield from self._pool[one[0] : one[1]]


def add_message(transcript: Transcript, message: Mapping[str, Any]) -> None:
    """Add a message by the user or the system."""
    transcript.add_message(str(message["role"]), message_text(message.get("content")))


def ended(event: Mapping[str, Any]) -> Any:
    """Return when a model or a tool answered, or when it was called if no other time is known."""
    return first_of(event, "completed", "timestamp")


def add_usage(transcript: Transcript, events: Iterable[Mapping[str, Any]]) -> None:
    """Add what the models used."""
    for event in events:
        output = event.get("output") if event["event"] == "model" else None
        usage = output.get("usage") if isinstance(output, dict) else None
        cost = usage.get("total_cost") if isinstance(usage, dict) else None
        transcript.add_usage(usage, model=event.get("model"), cost=cost)


def insert_attachments(sample: Mapping[str, Any]) -> Any:
    """Replace a sample's references to attachments with the attached text. Inspect stores long text as attachments."""
    given = sample.get("attachments")
    texts: Mapping[str, Any] = given if isinstance(given, dict) else {}

    def insert(value: Any) -> Any:
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            return texts.get(value.removeprefix(_ATTACHMENT), value)
        if isinstance(value, list):
            return [insert(one) for one in value]
        if isinstance(value, dict):
            return {name: one if name == "attachments" else insert(one) for name, one in value.items()}
        return value

    return insert(sample) if texts else sample
