"""Read scores row by row: from a Parquet file, or from the lines that `corepath score --json` prints."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from corepath.errors import Problem, RecordError
from corepath.files.document import describe_json_error
from corepath.importers.content import describe_type
from corepath.importers.parquet import import_pyarrow, is_parquet
from corepath.values import parse_json, visible

USUAL: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_rate", "harm_count", "efficiency", "pc_hlr", "accepted", "rules_broken",
)  # fmt: skip
"""The scores that are exported unless the user chooses others."""
NAMES: Final = (
    *USUAL, "pc_ktc_lower", "pc_ktc_upper", "directness", "missing_steps", "state_match", "response_match",
    "answer_match", "length", "obligations_open", "reward", "cost", "tokens", "seconds",
)  # fmt: skip
"""All scores that can be exported."""
LONGEST_ID: Final = 200
"""The longest id of a trace, in characters."""
LONGEST_TEXT: Final = 1000
"""The longest text that is exported, in characters. Longer texts are cut."""
_LONGEST_LINE: Final = 8 * 2**20
_ROWS: Final = 1024
_BUFFER: Final = 2**18
_MOST_HARMS: Final = 50
_EPISODE: Final = ("task", "seed", "agent", "epoch", "profile", "file", "line")
_FACTS: Final = ("trace", "span", "response", "excluded", "no_agent_actions", "harms", "missing_steps", "rules")
_BOUNDS: Final = ("pc_ktc_lower", "pc_ktc_upper")


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one episode that are defined.

    A score that is true or false is a bool. `trace`, `session`, `span` and `response` are ids at the source of the
    episode, or None if they are unknown. `episode` says which episode it is: task, agent, file, line, and so on.
    `reasons` explains scores by their names. `time` is when the scores were computed, in nanoseconds since 1970.
    `excluded` is the reason why the episode is left out of means, or None.
    """

    scores: Mapping[str, float]
    episode: Mapping[str, str | int]
    reasons: Mapping[str, str]
    time: int
    trace: str | None = None
    session: str | None = None
    span: str | None = None
    response: str | None = None
    excluded: str | None = None

    @cached_property
    def _identity(self) -> str:
        """What stays the same when the episode is scored again, as text."""
        linked = self.trace or self.session or self.span
        names = _EPISODE[:4] if linked else (*_EPISODE[:4], "file", "line")
        return json.dumps([self.trace, self.session, self.span, [self.episode.get(name) for name in names]])

    def score_id(self, name: str) -> str:
        """Return an id for a score, which stays the same when the episode is scored again."""
        return digest(self._identity, name)


def digest(*texts: str) -> str:
    """Return a hash of texts: 32 hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def find_score_files(path: Path) -> list[Path]:
    """Return the Parquet files in a folder, in order of their names. Any other path is returned as it is."""
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]


def read_score_rows(
    path: Path, names: Sequence[str] = USUAL, *, sessions: bool = False
) -> Iterator[ScoreRow | Problem]:
    """Yield the chosen scores of each episode in a file, and a `Problem` for each row or line that is malformed.

    The path `-` is standard input. Only a small part of the file is in memory at any time. If `sessions` is True, the
    ids in the file are those of sessions rather than of traces. Raises `MissingExtraError` if pyarrow is not installed
    and the file is Parquet.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        made = time.time_ns() if str(path) == "-" else path.stat().st_mtime_ns
        records = _parquet_rows(path, names) if is_parquet(path) else _json_lines(path, name)
        for line, record in records:
            try:
                if isinstance(record, RecordError):
                    raise record
                if (why := record.get("problem")) is not None:
                    yield _bad_row(record, name, line, str(why))
                    continue
                yield _read_row(record, names, made, sessions=sessions)
            except RecordError as error:
                yield Problem(name, line, 1, str(error))
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror or error}")


_Records = Iterator[tuple[int, Any]]
"""The number of each row or line, and its record, or a `RecordError` if there is none."""


def _parquet_rows(path: Path, names: Sequence[str]) -> _Records:
    arrow, parquet = import_pyarrow(path)
    line = 0
    try:
        with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as table:
            there = table.schema_arrow.names
            if not any(name in there for name in NAMES):
                yield 1, RecordError(_not_scores(there))
                return
            wanted = [name for name in there if name in {*names, *_EPISODE, *_FACTS, *_BOUNDS, "problem"}]
            for batch in table.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False):
                for record in batch.to_pylist():
                    line += 1
                    yield line, record
    except (arrow.ArrowException, ValueError) as error:
        yield line + 1, RecordError(f"not a readable Parquet file from this row on: {str(error)[:200]}")


def _json_lines(path: Path, name: str) -> _Records:
    opened = nullcontext(sys.stdin.buffer) if name == "<stdin>" else path.open("rb")
    with opened as file:
        for line, raw in enumerate(_bounded_lines(file), start=1):
            if raw is None:
                yield line, RecordError(f"a line of more than {_LONGEST_LINE:,} bytes")
            elif raw.strip():
                yield line, _parse_line(raw)


def _bounded_lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of a file, and None for each line that is too long."""
    while line := file.readline(_LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < _LONGEST_LINE:
            yield line
            continue
        while (line := file.readline(_LONGEST_LINE)) and not line.endswith(b"\n"):
            pass
        yield None


def _parse_line(raw: bytes) -> Any:
    try:
        record = parse_json(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return RecordError(f"not UTF-8: the byte 0x{raw[error.start]:02x}")
    except ValueError as error:
        return RecordError(f"not JSON: {describe_json_error(error)}")
    if not isinstance(record, dict):
        return RecordError(f"expected an object, not {describe_type(record)}")
    return record if any(name in record for name in NAMES) else RecordError(_not_scores(record))


def _not_scores(there: Sequence[str] | Mapping[str, Any]) -> str:
    found = ", ".join(map(str, there))[:120] or "no field"
    return f"these are not scores, as corepath score --out or --json writes them; there is {found}"


def _read_row(record: Mapping[str, Any], names: Sequence[str], made: int, *, sessions: bool) -> ScoreRow:
    """Turn a record into a row. Raises `RecordError` if a score is not a number."""
    found = {name: value for name in names if (value := _number(record, name)) is not None}
    episode = {name: about for name in _EPISODE if (about := _scalar(record.get(name))) is not None}
    id_ = _id(record.get("trace"))
    return ScoreRow(
        found,
        episode,
        {name: reason for name in found if (reason := _reason(record, name))},
        made,
        None if sessions else id_,
        id_ if sessions else None,
        _id(record.get("span")),
        _id(record.get("response")),
        "unasked" if record.get("no_agent_actions") is True else _id(record.get("excluded")),
    )


def _bad_row(record: Mapping[str, Any], name: str, line: int, why: str) -> Problem:
    """Return what was wrong with an episode that has no scores, at its own place if that is known."""
    file, number = record.get("file"), record.get("line")
    known = isinstance(file, str) and isinstance(number, int)
    return Problem(str(file), int(number or 1), 1, why) if known else Problem(name, line, 1, why)


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """Return a score, or None if it is undefined."""
    value = record.get(name)
    if value is None or isinstance(value, bool):
        return value
    try:
        return value if math.isfinite(value) else None
    except (TypeError, OverflowError):
        raise RecordError(f"{name} is {describe_type(value)}, not a number that a score can be") from None


def _id(value: Any) -> str | None:
    """Return an id, or None if a value is none: empty, too long, or with characters that no id has."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID or visible(value) != value:
        return None
    return value.strip() or None


def _scalar(value: Any) -> str | int | None:
    if isinstance(value, str):
        return _cut(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _cut(text: str) -> str:
    """Return text that is safe to show, without the end if it is long."""
    return visible(text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…")


def _reason(record: Mapping[str, Any], name: str) -> str | None:
    """Explain a score by what else is in its record, or return None if there is nothing to say."""
    explain = _REASONS.get(name)
    return None if explain is None else _cut("; ".join(explain(record))) or None


def _name_harms(record: Mapping[str, Any]) -> Iterator[str]:
    return map(_describe_harm, islice(_objects(record.get("harms")), _MOST_HARMS))


def _name_broken_rules(record: Mapping[str, Any]) -> Iterator[str]:
    return (str(one.get("rule")) for one in _objects(record.get("rules")) if one.get("state") == "broken")


def _count_missing_steps(record: Mapping[str, Any]) -> Iterator[str]:
    if record["accepted"] is False and record.get("missing_steps"):
        yield f"missing steps: {record['missing_steps']}"


def _name_bounds(record: Mapping[str, Any]) -> Iterator[str]:
    lower, upper = record.get("pc_ktc_lower"), record.get("pc_ktc_upper")
    if None not in (lower, upper) and lower != upper:
        yield f"between {lower} and {upper}"


_REASONS: Final = {
    **dict.fromkeys(("harm_count", "harm_rate", "prefix_criticality"), _name_harms),
    "rules_broken": _name_broken_rules,
    "accepted": _count_missing_steps,
    "pc_ktc": _name_bounds,
}


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, Mapping))


def _describe_harm(harm: Mapping[str, Any]) -> str:
    index, kind = harm.get("index"), str(harm.get("kind")).replace("_", " ")
    call = f"call {index + 1}" if isinstance(index, int) else "a call"
    return f"{call}: {kind}, {'took effect' if harm.get('effected') else 'refused'}"
