"""Join the traces of a session, e.g. of a conversation with a trace for each of its turns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from corepath.importers.otlp import Span, normalize_id
from corepath.importers.span_files import Found

_NAMES: Final = (
    "session.id", "session_id", "langfuse.session.id", "gen_ai.conversation.id", "thread_id", "conversation_id",
)  # fmt: skip
"""The attributes that name a session, in order of precedence."""


def session_of(attributes: Mapping[str, Any]) -> str | None:
    """Return the id of the session that a span's attributes name, or None if they name none."""
    found = (attributes.get(name) for name in _NAMES)
    return next((one for one in found if isinstance(one, str) and one), None)


@dataclass
class Sessions:
    """The session of each trace, in a temporary database that is deleted when it is closed.

    It is enough that one span of a trace names its session. If several sessions are named, it is the first of them in
    alphabetical order, whatever the order of the spans.
    """

    _database: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(""), repr=False)

    def __enter__(self) -> Self:
        self._database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;"
            "CREATE TABLE sessions (trace BLOB PRIMARY KEY, session BLOB) WITHOUT ROWID;"
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, span: Span) -> None:
        """Remember the session that a span names."""
        if (session := session_of(span.attributes)) is not None:
            self._database.execute(
                "INSERT INTO sessions VALUES (?, ?) "
                "ON CONFLICT (trace) DO UPDATE SET session = MIN(session, excluded.session)",
                (_key(span.trace), session.encode("utf-8", "surrogatepass")),
            )

    def add_all(self, found: Iterable[object]) -> None:
        """Remember the sessions that spans name, among other things that were found in a file."""
        for one in found:
            if isinstance(one, Found):
                self.add(one.span)

    def find(self, trace: str) -> str:
        """Return the id of a trace's session, or the trace's own id if it belongs to none."""
        row = self._database.execute("SELECT session FROM sessions WHERE trace = ?", (_key(trace),)).fetchone()
        return trace if row is None else row[0].decode("utf-8", "surrogatepass")

    def join(self, found: Found) -> Found:
        """Return a span as one of its session. Its ids begin with its trace, since other traces may have them."""
        span = found.span
        id_, parent = (None if one is None else f"{span.trace}/{one}" for one in (span.id, span.parent))
        return replace(found, span=replace(span, trace=self.find(span.trace), id=id_, parent=parent))


def _key(trace: str) -> bytes:
    return (normalize_id(trace) or "").encode("utf-8", "surrogatepass")
