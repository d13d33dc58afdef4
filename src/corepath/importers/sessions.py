"""Read files in which each record is one event, and all events with the same key are one session.

The events are first stored in a temporary database on disk, so a file may be larger than memory, and the events of
several sessions may be mixed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.format import Format, Mismatch, recognise_records
from corepath.importers.reading import Place, read_records

Key = Callable[[Any], str | None]
"""A function that returns the key of a record's session, or None if the record belongs to the session before it.

It raises `RecordError` if the record is malformed.
"""
ReadSession = Callable[[list[Any]], Iterator[Episode]]
"""A function that yields the episodes in a session's records. It raises `RecordError` if the session is malformed."""
Split = Callable[[Any], Iterable[Any]]
"""A function that yields the records in a JSON value of the file."""

_TABLE: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
PRAGMA temp_store = FILE;
CREATE TABLE records (number INTEGER PRIMARY KEY, session BLOB, line INTEGER, content BLOB);
"""


def session_format(
    name: str, errors: str, mismatch: Mismatch, key: Key, read_session: ReadSession, split: Split | None = None
) -> Format:
    """Define a format whose records are the events of sessions.

    `errors` says when a call counts as failed. `mismatch` judges a JSON value in the file. A file is in this format if
    at least one of its first values is. `split` yields the records in a value, if a value may hold several.
    """

    def read(file: Path) -> Iterator[Episode | Problem]:
        return _read(file, key, read_session, split or (lambda value: (value,)))

    return Format(name, errors, lambda sample: recognise_records(sample, mismatch), read)


def _read(file: Path, key: Key, read_session: ReadSession, split: Split) -> Iterator[Episode | Problem]:
    with Sessions() as sessions:
        session = ""
        for place, value in read_records(file, lambda _: False):
            if isinstance(value, Problem):
                yield value
                continue
            try:
                for record in split(value):
                    own = key(record)
                    session = session if own is None else own
                    sessions.add(session, place, record)
            except RecordError as error:
                yield place.problem(str(error))
        empty = True
        for session, line in sessions.list_sessions():
            empty = False
            try:
                yield from read_session(sessions.records(session))
            except RecordError as error:
                yield Problem(str(file), line, 1, f"session {session:.60}: {error}" if session else str(error))
        if empty:
            yield Problem(str(file), 1, 1, "no records in this file")


@dataclass
class Sessions:
    """Records grouped by session in a temporary SQLite database, which is deleted when it is closed."""

    _database: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(""), repr=False)

    def __enter__(self) -> Self:
        self._database.executescript(_TABLE)
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, session: str, place: Place, value: Any) -> None:
        """Store a record."""
        row = (session.encode("utf-8", "surrogatepass"), place.line, json.dumps(value).encode())
        self._database.execute("INSERT INTO records VALUES (NULL, ?, ?, ?)", row)

    def list_sessions(self) -> Iterator[tuple[str, int]]:
        """Yield the key and first line of each session, in order of their first records."""
        self._database.execute("CREATE INDEX IF NOT EXISTS by_session ON records (session, number, line)")
        rows = self._database.execute(
            "SELECT session, line, MIN(number) AS first FROM records GROUP BY session ORDER BY first"
        )
        for session, line, _ in rows:
            yield session.decode("utf-8", "surrogatepass"), line

    def records(self, session: str) -> list[Any]:
        """Return a session's records in the order in which they were added."""
        return [value for _, value in self.lines(session)]

    def lines(self, session: str) -> Iterator[tuple[int, Any]]:
        """Yield a session's records in the order in which they were added, each with its line in the file."""
        key = session.encode("utf-8", "surrogatepass")
        for line, content in self._database.execute(
            "SELECT line, content FROM records WHERE session = ? ORDER BY number", (key,)
        ):
            yield line, json.loads(content)
