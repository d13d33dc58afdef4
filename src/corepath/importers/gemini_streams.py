"""Join the chunks of Gemini's responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.content import first_of
from corepath.importers.streams import CUT_OFF, Joined

AUTOMATIC: Final = ("automaticFunctionCallingHistory", "automatic_function_calling_history")
"""The history of the calls that the SDK made."""
USAGE: Final = ("usageMetadata", "usage_metadata")

_FINISH_REASON: Final = ("finishReason", "finish_reason")
_RESPONSE_ID: Final = ("responseId", "response_id")


class GeminiStreams:
    """Streams of responses. The chunks of a stream share an id, or else follow each other.

    The last chunk says why the stream ended. A response that is whole is not a stream.
    """

    def __init__(self) -> None:
        self._all: list[_Chunks] = []
        self._current: dict[str, _Chunks] = {}

    def add(self, piece: Mapping[str, Any], place: Any = None) -> bool:
        """Add a chunk."""
        if not _is_response(piece):
            return False
        id_ = str(first_of(piece, *_RESPONSE_ID) or "")
        stream, candidate = self._current.get(id_), candidate_of(piece)
        if candidate is None:
            stream = stream or (self._all[-1] if self._all and not id_ else None)
        elif stream is None or (stream.is_finished and not id_):
            if _is_finished(candidate):
                return False
            stream = self._current[id_] = _Chunks(place)
            self._all.append(stream)
        if stream is not None:
            stream.add(piece, candidate)
        return stream is not None

    def joined(self) -> Iterator[Joined]:
        """Yield the response of each stream."""
        for stream in self._all:
            yield Joined(stream.to_response(), stream.place)


class _Chunks:
    def __init__(self, place: Any) -> None:
        self.place = place
        self.is_finished = False
        self._chunks: list[Mapping[str, Any]] = []

    def add(self, piece: Mapping[str, Any], candidate: Mapping[str, Any] | None) -> None:
        self._chunks.append(piece)
        self.is_finished = self.is_finished or (candidate is not None and _is_finished(candidate))

    def to_response(self) -> dict[str, Any]:
        candidates = [one for one in map(candidate_of, self._chunks) if one is not None]
        parts = [part for candidate in candidates for part in _parts(candidate)]
        candidate = {**_merge(candidates), "content": {"role": "model", "parts": parts}}
        return {**_merge(self._chunks), "candidates": [candidate], **({} if self.is_finished else {CUT_OFF: True})}


def candidate_of(response: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first candidate in a response, or None if there is none."""
    candidates = response.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return first if isinstance(first, dict) else None


def _is_finished(candidate: Mapping[str, Any]) -> bool:
    return first_of(candidate, *_FINISH_REASON) is not None


def _is_response(value: Mapping[str, Any]) -> bool:
    """Return True if a record is a response without its request."""
    if first_of(value, "contents", "request", "response", *AUTOMATIC):
        return False
    return any(name in value for name in ("candidates", *USAGE))


def _parts(candidate: Mapping[str, Any]) -> list[Any]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else [] if parts is None else [parts]


def _merge(values: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge objects. A later value replaces an earlier value, unless the later value is null."""
    return {name: one for value in values for name, one in value.items() if one is not None}
