"""Traces of spans as episodes: what the conventions for spans of language models share.

A trace id is an episode. The calls and their order are those of the chat spans' own output; their results are those of
the tool spans, joined by call id, and where there are none those that a later chat span has in its input. The history
that every chat span repeats in its input adds no call, but for calls since the last words of the user whose own span is
missing. Tool spans that no chat span speaks of are calls by the time of their start. A chat span inside another one
tells of the same words, and a tool span inside another one of the same tool of the same call. Traces in which no
span is of the convention are left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.joining import Family, Joining
from corepath.importers.otlp import Resource, Span, span_of, spans_of
from corepath.importers.span_files import Found, read_spans
from corepath.importers.span_messages import Chat, Ran
from corepath.values import equal

LOOKED_AT: Final = 3_000
"""Spans at the beginning of a file among which one must be of a convention for the file to be recognised."""


@dataclass(frozen=True)
class Convention:
    """How spans say what an agent did."""

    name: str
    kind: Callable[[Span], str | None]
    """"chat", "tool" or "agent"; None where a span is of no interest."""
    chat: Callable[[Span], Chat]
    ran: Callable[[Span], Ran]
    own: tuple[str, ...]
    """Beginnings of the attributes that hold messages and values, and so say nothing about what a trace is."""
    capture: str
    """What makes spans tell the arguments of calls, where they do not."""


def why_not(values: Iterable[Any], convention: Convention) -> str | None:
    """Why these are not spans of a convention; None where one is."""
    seen = 0
    for one in islice(values, LOOKED_AT):
        if isinstance(one, Found):
            seen += 1
            if convention.kind(one.span) is not None:
                return None
        elif isinstance(one, Problem) and not seen:
            return one.message
    return f"no span with {convention.name} among the first {seen:,}" if seen else "no spans in it"


def found_in(value: Any) -> Iterator[Found | Resource]:
    """The spans of a value in memory; raises `RecordError` at the first that is wrong."""
    for one in spans_of(value):
        yield one if isinstance(one, Resource) else Found(span_of(one[1]), 1, one[0])


def stream_of(file: Path, convention: Convention) -> Iterator[Episode | Problem]:
    """The episodes of a file, in the order in which their traces begin there. Spans wait in a temporary database."""
    with Traces(convention) as traces:
        for one in read_spans(file):
            if isinstance(one, Problem):
                yield one
            else:
                traces.add(one)
        some = False
        for trace, line in traces.all():
            some = True
            try:
                yield traces.episode(trace)
            except RecordError as error:
                yield Problem(str(file), line, 1, f"trace {trace:.40}: {error}")
        if not some:
            yield Problem(str(file), 1, 1, f"no trace has a span with {convention.name}")


def episodes_of(value: Any, convention: Convention) -> Iterator[Episode]:
    """The episodes of a value in memory."""
    with Traces(convention) as traces:
        for one in found_in(value):
            traces.add(one)
        some = False
        for trace, _ in traces.all():
            some = True
            try:
                yield traces.episode(trace)
            except RecordError as error:
                raise RecordError(f"trace {trace:.40}: {error}") from None
        if not some:
            raise RecordError(f"no trace has a span with {convention.name}")


_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
PRAGMA temp_store = FILE;
CREATE TABLE spans (
    number INTEGER PRIMARY KEY, trace BLOB, start INTEGER, id BLOB, parent BLOB, kind TEXT, line INTEGER, origin TEXT,
    said BLOB
);
CREATE TABLE origins (origin TEXT PRIMARY KEY, attributes BLOB);
"""


@dataclass
class Traces:
    """Spans by trace, in a database that SQLite keeps in a temporary file of its own and removes when it is closed."""

    convention: Convention
    _kept: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(""), repr=False)

    def __enter__(self) -> Self:
        self._kept.executescript(_TABLES)
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def add(self, one: Found | Resource) -> None:
        """Keep a span, or the attributes of what sent the spans of a group."""
        if isinstance(one, Resource):
            kept = (one.group, _packed(one.attributes))
            self._kept.execute("INSERT OR REPLACE INTO origins VALUES (?, ?)", kept)
            return
        span = one.span
        row = (
            _blob(span.trace), span.start, _blob(span.id), _blob(span.parent), self.convention.kind(span), one.line,
            one.group, _packed(vars(span)),
        )  # fmt: skip
        self._kept.execute("INSERT INTO spans VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def all(self) -> Iterator[tuple[str, int]]:
        """The traces with a span of the convention, and the line in which each begins."""
        self._kept.execute("CREATE INDEX IF NOT EXISTS by_trace ON spans (trace, start, number, kind, line)")
        rows = self._kept.execute(
            "SELECT trace, line, MIN(number) AS first FROM spans GROUP BY trace HAVING COUNT(kind) ORDER BY first"
        )
        for trace, line, _ in rows:
            yield trace.decode("utf-8", "surrogatepass"), line

    def episode(self, trace: str) -> Episode:
        """The episode of a trace."""
        family = self._family(trace)
        made, told = self._joined(trace, family, "chat")
        if not made.heard and (made.untold is not None or not made.calls):
            of_agents, _ = self._joined(trace, family, "agent")
            made = of_agents if of_agents.heard else made
        if not made.calls and not made.recorded:
            raise RecordError(f"nothing that the agent said or called was recorded: {self.convention.capture}")
        if (call := made.untold) is not None:
            which = f"{call.tool!r:.60}" + (f" (id {call.id!r:.60})" if call.id is not None else "")
            raise RecordError(f"of a call of {which}, arguments were not recorded: {self.convention.capture}")
        return made.episode(**told)

    def _joined(self, trace: str, family: Family, words: str) -> tuple[Joining, dict[str, Any]]:
        """The conversation of a trace with its words from the spans of one kind, and what identifies the trace."""
        made, identity = Joining(family), _Identity(self.convention.own)
        for span in self._spans(trace):
            kind = self.convention.kind(span)
            identity.add(span, kind, is_root=span.parent not in family)
            try:
                if kind == words:
                    made.chat(span, self.convention.chat(span))
                elif kind == "tool":
                    made.ran(span, self.convention.ran(span))
            except RecordError as error:
                raise RecordError(f"span {span.id or span.name!s:.40}: {error}") from None
        rows = self._kept.execute(
            "SELECT DISTINCT attributes FROM spans JOIN origins USING (origin) WHERE trace = ?", (_blob(trace),)
        )
        return made, identity.told(trace, [json.loads(attributes) for (attributes,) in rows])

    def _family(self, trace: str) -> Family:
        """The parent and the kind of each span that has an id."""
        rows = self._kept.execute("SELECT id, parent, kind FROM spans WHERE trace = ?", (_blob(trace),))
        return {
            _name(id_): (_name(parent) if parent is not None else None, kind)
            for id_, parent, kind in rows
            if id_ is not None
        }

    def _spans(self, trace: str) -> Iterator[Span]:
        """The spans of a trace by their start, each once though it may have been sent twice."""
        rows = self._kept.execute("SELECT number FROM spans WHERE trace = ? ORDER BY start, number", (_blob(trace),))
        seen: dict[str, int] = {}
        for (number,) in rows:
            (said,) = self._kept.execute("SELECT said FROM spans WHERE number = ?", (number,)).fetchone()
            read = json.loads(said)
            span = Span(**{**read, "events": tuple((name, attributes) for name, attributes in read["events"])})
            if span.id is None:
                yield span
            elif span.id not in seen:
                seen[span.id] = hash(said)
                yield span
            elif seen[span.id] != hash(said):
                raise RecordError(f"two spans have the id {span.id:.40}")


@dataclass
class _Identity:
    """What identifies a trace: its root, what sent it, its agents, and what all spans of the convention share."""

    own: tuple[str, ...]
    name: str | None = None
    roots: dict[str, Any] = field(default_factory=dict)
    agents: dict[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] | None = None

    def add(self, span: Span, kind: str | None, *, is_root: bool) -> None:
        told = {name: one for name, one in span.attributes.items() if not name.startswith(self.own)}
        if is_root:
            self.name = self.name or span.name
            self.roots = {**told, **self.roots}
        if kind == "agent":
            self.agents = {**told, **self.agents}
        elif kind is not None:
            before = told if self.shared is None else self.shared
            self.shared = {name: one for name, one in before.items() if name in told and equal(told[name], one)}

    def told(self, trace: str, origins: list[dict[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {"trace_id": trace, "name": self.name}
        for attributes in (self.roots, *origins, self.agents, self.shared or {}):
            found = {**attributes, **found}
        return found


def _packed(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _blob(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _name(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")
