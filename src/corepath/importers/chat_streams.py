"""Join the chunks of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.streams import CUT_OFF, Joined

_HELPERS: Final = ("content.", "refusal.", "tool_calls.", "logprobs.")
"""How the types of events begin that OpenAI's SDK adds to the chunks."""
_NOT_KEPT: Final = ("choices", "object", "obfuscation")


class ChatStreams:
    """Streams of chat completions. All chunks of a stream have its id, and each choice and call has its index.

    Some providers give each chunk an id of its own. If no two chunks have the same id, a stream ends where a chunk says
    so, or the next one names a role.
    """

    def __init__(self, *, by_id: bool = True) -> None:
        self._all: list[_Chat] = []
        self._current: dict[str, _Chat] = {}
        self._in_order = ChatStreams(by_id=False) if by_id else None
        """The same chunks as if they had no ids, as long as no two of them have the same id."""
        self._by_id = by_id

    def add(self, piece: Mapping[str, Any], place: Any = None) -> bool:
        """Add a chunk, or the error that ended a stream."""
        if not _is_chunk(piece):
            return self._add_other(piece)
        id_ = str(piece.get("id") or "") if self._by_id else ""
        self._in_order = None if id_ in self._current else self._in_order
        if self._in_order is not None:
            self._in_order.add(piece, place)
        stream = self._current.get(id_)
        begins = not self._by_id and _has_role(piece)
        if stream is None or begins or (stream.is_finished and _says_something(piece)):
            stream = self._current[id_] = _Chat(place)
            self._all.append(stream)
        stream.add(piece)
        return True

    def _add_other(self, piece: Mapping[str, Any]) -> bool:
        """Add an error that ended the last stream, or skip what adds nothing to a stream."""
        if self._all and str(piece.get("type")).startswith(_HELPERS):
            return True
        if self._all and "error" in piece and piece.keys() <= {"error", "type"} and not self._all[-1].is_finished:
            self._all[-1].fields["error"] = piece["error"]
            return True
        return "prompt_filter_results" in piece and piece.get("choices") == []  # how a stream of Azure begins

    def joined(self) -> Iterator[Joined]:
        """Yield the response of each stream."""
        if self._in_order is not None:
            yield from self._in_order.joined()
            return
        for stream in self._all:
            yield Joined(stream.to_response(), stream.place)


def _is_chunk(piece: Mapping[str, Any]) -> bool:
    if "messages" in piece or "request" in piece:
        return False
    return str(piece.get("object")).endswith(".chunk") or any("delta" in choice for choice in _choices(piece))


def _choices(piece: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = piece.get("choices")
    return [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []


def _has_role(piece: Mapping[str, Any]) -> bool:
    deltas = [one.get("delta") for one in _choices(piece)]
    return any(isinstance(delta, dict) and bool(delta.get("role")) for delta in deltas)


def _says_something(piece: Mapping[str, Any]) -> bool:
    """Return True if a chunk adds to the first choice. Some providers send empty chunks after the end of a stream."""
    deltas = [one.get("delta") for one in _choices(piece) if one.get("index", 0) == 0]
    return any(value for delta in deltas if isinstance(delta, dict) for name, value in delta.items() if name != "role")


class _Chat:
    def __init__(self, place: Any) -> None:
        self.place = place
        self.fields: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {0: _Choice()}
        self._has_usage = False

    @property
    def is_finished(self) -> bool:
        """Whether a chunk says why the stream ended, or a chunk with only the usage came, which is the last one."""
        return self._has_usage or self._choices[0].fields.get("finish_reason") is not None

    def add(self, piece: Mapping[str, Any]) -> None:
        found = {name: one for name, one in piece.items() if name not in _NOT_KEPT and one not in (None, "")}
        self.fields |= found if "created" not in self.fields else {**found, "created": self.fields["created"]}
        self._has_usage = self._has_usage or (piece.get("choices") == [] and bool(piece.get("usage")))
        for choice in _choices(piece):
            index = choice.get("index", 0)
            self._choices.setdefault(index if type(index) is int else 0, _Choice()).add(choice)

    def to_response(self) -> dict[str, Any]:
        choices = [{"index": index, **self._choices[index].to_json()} for index in sorted(self._choices)]
        of_groq = self.fields.get("x_groq")
        usage = of_groq.get("usage") if isinstance(of_groq, dict) else None
        more = ({} if usage is None else {"usage": usage}) | ({} if self.is_finished else {CUT_OFF: True})
        return {"object": "chat.completion", **more, **self.fields, "choices": choices}


class _Choice:
    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._function = _ChatCall()
        self._calls: list[_ChatCall] = []

    def add(self, choice: Mapping[str, Any]) -> None:
        self.fields |= {name: one for name, one in choice.items() if name not in ("delta", "index") and one is not None}
        if isinstance(choice.get("delta"), dict):
            self._add_delta(choice["delta"])

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name == "tool_calls" and isinstance(value, list):
                self._add_calls(value)
            elif name == "function_call" and isinstance(value, dict):
                self._function.add({"function": value})
            elif name != "role" and isinstance(value, str):
                self._texts.setdefault(name, []).append(value)
            elif value is not None:
                self._message[name] = value

    def _add_calls(self, deltas: list[Any]) -> None:
        for delta in deltas:
            if isinstance(delta, dict):
                self._find_call(delta).add(delta)

    def _find_call(self, delta: Mapping[str, Any]) -> _ChatCall:
        """Return the call to which a part belongs: by its index, or by its id if indexes are missing or repeated."""
        index, id_ = delta.get("index"), delta.get("id") or None
        known = [one for one in self._calls if index is None or one.index == index]
        if id_ is not None:
            known = [one for one in known if one.id in (None, id_)]
        if not known:
            self._calls.append(_ChatCall(index))
            return self._calls[-1]
        return known[-1]

    def to_json(self) -> dict[str, Any]:
        message = {"content": None, **self._message, **{name: "".join(some) for name, some in self._texts.items()}}
        if self._calls:
            message["tool_calls"] = [call.to_json() for call in self._calls]
        if function := self._function.to_json().get("function"):
            message["function_call"] = function
        return {"message": message, "finish_reason": None, **self.fields}


class _ChatCall:
    def __init__(self, index: Any = None) -> None:
        self.index = index
        self.id: Any = None
        self._fields: dict[str, Any] = {}
        self._inner: dict[str, dict[str, list[str]]] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        repeated = self.id is not None and self.id == delta.get("id")
        self.id = delta.get("id") or self.id
        for name, value in delta.items():
            if isinstance(value, dict):
                self._add_texts(name, value, repeated=repeated)
            elif name not in ("index", "id") and value is not None:
                self._fields[name] = value

    def _add_texts(self, name: str, given: Mapping[str, Any], *, repeated: bool) -> None:
        """Add parts of the call's name and arguments. Some providers repeat the name with the id in every part."""
        texts = self._inner.setdefault(name, {})
        for key, value in given.items():
            is_same = key == "name" and repeated and "".join(texts.get(key, ())) == value
            if isinstance(value, str) and not is_same:
                texts.setdefault(key, []).append(value)

    def to_json(self) -> dict[str, Any]:
        inner = {name: {key: "".join(some) for key, some in texts.items()} for name, texts in self._inner.items()}
        return {"id": self.id, **self._fields, **inner}
