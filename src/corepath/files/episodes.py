"""Episode files: JSON lines, one episode per line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from io import BufferedReader
from pathlib import Path
from sys import intern
from typing import IO, Any, Final

from pydantic import BaseModel, ValidationError

from corepath.episode import Episode, free_record, typed_fields
from corepath.errors import InputError, Problem
from corepath.files import VERSION
from corepath.files.document import describe_json_error
from corepath.files.schema import CallRecord, EpisodeRecord
from corepath.files.validation import episode_problems, version_problem
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.values import parse_json, why_not_json
from corepath.world.recall import Recall


@dataclass(frozen=True)
class EpisodeLine:
    """One line in an episode file: the episode, or the problem with the line.

    `line` is the line's number, and `offset` says how many bytes of the file come before it. `number` counts the
    episodes from 1, as `corepath explain --episode` does. It is 0 if there is a problem.
    """

    line: int
    episode: Episode | None
    problem: Problem | None = None
    number: int = 0
    offset: int = field(default=0, compare=False)


def read_episodes(path: str | Path, stream: IO[bytes] | None = None) -> Iterator[EpisodeLine]:
    """Yield the parsed lines of an episode file. If `stream` is not None, read from `stream` instead of `path`."""
    try:
        with Path(path).open("rb") if stream is None else nullcontext(stream) as lines:
            start = lines.peek(4) if isinstance(lines, BufferedReader) else b""
            if packed := next((what for begin, what in _PACKED.items() if start.startswith(begin)), None):
                yield EpisodeLine(1, None, Problem(str(path), 1, 1, packed))
                return
            yield from _parse_lines(str(path), lines)
    except OSError as error:
        yield EpisodeLine(1, None, Problem(str(path), 1, 1, f"cannot be read: {error.strerror}"))


_UNPACK: Final = ", not JSON lines; unpack it, or score it into a file with corepath score --out"
_PACKED: Final = {
    b"\x1f\x8b": "compressed with gzip" + _UNPACK,
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard" + _UNPACK,
    b"PAR1": "a Parquet file, not JSON lines; score --out reads episodes in Parquet, and table, compare, report, fix, "
    "explain and export --as read scores",
}
"""What is wrong with a file that begins so."""


def load_episodes(path: str | Path) -> list[Episode]:
    """Load all episodes in a file. Raises `InputError` with the problems in all invalid lines."""
    lines = list(read_episodes(path))
    if problems := [line.problem for line in lines if line.problem]:
        raise InputError(problems)
    return [line.episode for line in lines if line.episode]


def episode_json(episode: Episode, recall: Recall | None = None) -> str:
    """Return the episode as one line of compact JSON, in ASCII.

    `recall` remembers the text of calls and scores that come again.
    """
    record = _all_but_calls(episode)
    if recall is not None:
        scores = record.pop("scores") if next(reversed(record)) == "scores" else None
        return f"{_encode(record)[:-1]},{recall(_end_json, recall, scores, *episode.calls)}"
    record["calls"] = list(map(_call_record, episode.calls))
    return _encode(record)


def _end_json(recall: Recall, scores: Mapping[str, Any] | None, *calls: Call) -> str:
    """Return the end of an episode's line: its scores, which are last of all but the calls, and its calls."""
    texts = ",".join(recall(_call_json, call) for call in calls)
    return f'"calls":[{texts}]}}' if scores is None else f'"scores":{_encode(scores)},"calls":[{texts}]}}'


def episode_bytes(episode: Episode) -> bytes:
    """Return the episode as one line of compact JSON, in UTF-8."""
    record = _all_but_calls(episode)
    record["calls"] = list(map(_call_record, episode.calls))
    return _encode_quickly(record) or _encode_plainly(record).encode()


@cache
def _quick_encoder() -> tuple[Callable[[Any], bytes], tuple[type[Exception], ...]]:
    """Return msgspec's encoder and the errors that it raises for some values that `json` can write."""
    from msgspec import MsgspecError  # noqa: PLC0415  # not needed to read episodes
    from msgspec.json import Encoder  # noqa: PLC0415

    return Encoder().encode, (MsgspecError, TypeError, ValueError, OverflowError, RecursionError)


def _all_but_calls(episode: Episode) -> dict[str, Any]:
    """Return the record of an episode without its calls, which come last."""
    own = episode.__dict__
    record: dict[str, Any] = {"version": VERSION, "task": episode.task}
    if episode.agent is not None:
        record["agent"] = episode.agent
    record["epoch"] = episode.epoch
    if episode.params:
        record["params"] = dict(episode.params)
    if episode.answer is not None:
        record["answer"] = episode.answer
    if episode.other_calls:
        record["other_calls"] = list(map(_call_record, episode.other_calls))
    if episode.messages:
        record["messages"] = list(map(_message_record, episode.messages))
    for name in ("seed", "fingerprint", "scoring"):
        value = own[name]
        if value is not None:
            record[name] = value
    record |= free_record(episode)
    return record


def _call_json(call: Call) -> str:
    return _encode(_call_record(call))


def _encode(record: Mapping[str, Any]) -> str:
    """Return a record as compact JSON in ASCII. Raises `ValueError` or `TypeError` if it is not JSON."""
    line = _encode_quickly(record)
    return _encode_plainly(record) if line is None or not line.isascii() else line.decode("ascii")


def _encode_quickly(record: Mapping[str, Any]) -> bytes | None:
    """Return a record as compact JSON in UTF-8, or None if only `json` writes it rightly or says what is wrong.

    msgspec is several times as fast as `json`, but writes NaN as null.
    """
    encode, refusals = _quick_encoder()
    try:
        line = encode(record)
    except refusals:
        return None
    return None if _NULL(line) and why_not_json(record) is not None else line


def _encode_plainly(record: Mapping[str, Any]) -> str:
    try:
        return _ENCODER.encode(record)
    except RecursionError:
        return json.dumps(record, allow_nan=False)  # says if a value contains itself


_NULL: Final = re.compile(b"null").search
"""Finds `null` in bytes, about twice as fast as `in` does."""
_ENCODER: Final = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":"))


def _parse_lines(file: str, lines: IO[bytes]) -> Iterator[EpisodeLine]:
    is_empty, end, found = True, 0, 0
    for number, raw in enumerate(lines, start=1):
        start, end = end, end + len(raw)
        if raw.strip() in (b"", b"\xef\xbb\xbf"):
            continue
        is_empty = False
        try:
            episode = parse_episode(raw)
            found += 1
            yield EpisodeLine(number, episode, number=found, offset=start)
        except LineError as error:
            yield EpisodeLine(number, None, Problem(file, number, error.column, error.message))
    if is_empty:
        yield EpisodeLine(1, None, Problem(file, 1, 1, "no episodes in this file; each line is one JSON object"))


class LineError(Exception):
    """Raised when a line is not a valid episode. `column` says where the problem is in the line."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.message, self.column = message, column


def parse_episode(raw: bytes) -> Episode:
    """Parse a line of an episode file. Raises `LineError` if it is not a valid episode."""
    try:
        text = raw.decode("utf-8-sig").rstrip()
    except UnicodeDecodeError as error:
        raise LineError(f"not UTF-8: the byte 0x{raw[error.start]:02x}", error.start + 1) from None
    try:
        data = parse_json(text)
    except json.JSONDecodeError as error:
        cut = " (the line is cut short)" if error.pos >= len(text) or "Unterminated" in error.msg else ""
        message = f"not JSON: {describe_json_error(error)}{cut}; each line is one whole episode"
        raise LineError(message, error.colno) from None
    except ValueError as error:
        raise LineError(describe_json_error(error)) from None
    if not isinstance(data, dict):
        raise LineError('an episode is a JSON object with "task" and "calls"')
    if wrong := version_problem(data):
        raise LineError(wrong)
    try:
        record = EpisodeRecord.model_validate(data, strict=True)
    except ValidationError as error:
        raise LineError(episode_problems(data, error.errors()[:5])) from None
    return Episode(
        task=intern(record.task),  # many episodes have the same
        calls=tuple(map(_call, record.calls, data["calls"])),
        agent=None if record.agent is None else intern(record.agent),
        epoch=record.epoch,
        params=record.params,
        answer=record.answer,
        other_calls=tuple(map(_call, record.other_calls, data.get("other_calls", ()))),
        messages=tuple(map(read_message, record.messages)),
        seed=record.seed,
        fingerprint=record.fingerprint,
        scoring=record.scoring,
        **typed_fields(_unknown_fields(EpisodeRecord, data)),
    )


def _unknown_fields(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields in `data` that `model` does not have."""
    return {name: value for name, value in data.items() if name not in model.model_fields}


def read_message(value: Any) -> Message:
    """Read a message's record. A value in another form becomes the content of a message without a role."""
    role = value.get("role") if isinstance(value, Mapping) else None
    if not isinstance(role, str) or not role or "content" not in value:
        return Message("", value)
    before, turn, time = value.get("before_call"), value.get("turn"), value.get("time")
    known: dict[str, Any] = {"before_call": before if _is_index(before) else None}
    known |= {"turn": turn if _is_index(turn) else None, "time": time if _is_time(time) else None}
    read = {"role", "content", *(name for name, one in known.items() if one is not None)}
    extra = {name: one for name, one in value.items() if name not in read}
    return Message(role, value["content"], **known, extra=extra)


def _message_record(message: Message) -> Any:
    if not message.role:
        return message.content
    record = {"role": message.role, "content": message.content}
    if message.before_call is not None:
        record["before_call"] = message.before_call
    if message.turn is not None:
        record["turn"] = message.turn
    if message.time is not None:
        record["time"] = message.time
    return {**record, **message.extra} if message.extra else record


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _call(record: CallRecord, data: Mapping[str, Any]) -> Call:
    extra = _unknown_fields(CallRecord, data)
    if record.time is not None and not _is_time(record.time):
        extra["time"] = record.time
    return Call(
        tool=record.tool,
        arguments=record.arguments,
        result=record.result if "result" in record.model_fields_set else UNANSWERED,
        error=record.error,
        id=record.id,
        turn=record.turn,
        time=record.time if _is_time(record.time) else None,
        extra=extra,
    )


def _call_record(call: Call) -> dict[str, Any]:
    record: dict[str, Any] = {"tool": call.tool, "arguments": call.arguments}
    if call.result is not UNANSWERED:
        record["result"] = call.result
    if call.error is not None:
        record["error"] = call.error
    if call.id is not None:
        record["id"] = call.id
    if call.turn is not None:
        record["turn"] = call.turn
    if call.time is not None:
        record["time"] = call.time
    return {**record, **call.extra} if call.extra else record
