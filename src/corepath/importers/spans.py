"""Read traces made of spans, with one episode for each trace id. Formats differ in their `Convention`.

Calls and their order come from the chat spans' output. Results come from the tool spans, which are matched by call id,
or else from a later chat span's input. That input repeats the conversation, so only what is new in it is added: the
messages of the user and the system, and calls since the user's last message that have no span of their own.

Tool spans without a chat span are calls too, ordered by start time. If several instrumentations record one request to
a model, it counts once: a chat span inside another one, or at the same time and with the same content, repeats the
other span's messages, even if the ids of its calls are of another kind. A chat span around several others is an
agent's, and is read only if the others have no content. A tool span inside another span for the same tool is the same
call. Sub-agents are part of the episode. What they are asked counts as a message of the system. Traces without a span
that follows the convention are left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol, Self

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.format import Format
from corepath.importers.otlp import Resource, Span
from corepath.importers.span_content import Chat, ToolRun
from corepath.importers.span_envelopes import TRACE_IDS, trace_of
from corepath.importers.span_family import Family, find_outer_chats, put_parents_first
from corepath.importers.span_files import Found, Wanted, all_wanted, read_spans
from corepath.importers.span_transcript import SpanTranscript
from corepath.values import equal

SAMPLE: Final = 3_000
"""How many spans at the start of a file are checked to recognise the file's format."""


class Summary(Protocol):
    """What a trace says about the whole episode, e.g. its reward."""

    def add(self, span: Span, kind: str | None) -> None:
        """Add a span. Spans are added in order of their start times."""

    def fields(self) -> dict[str, Any]:
        """Return keyword arguments for `Transcript.to_episode`. A field `metadata` is merged into the trace's."""


@dataclass(frozen=True)
class Convention:
    """A convention for recording an agent's actions in spans."""

    name: str
    kind: Callable[[Span], str | None]
    """Return a span's kind, which is `chat`, `tool` or `agent`, or None for all other spans."""
    chat: Callable[[Span], Chat]
    tool_run: Callable[[Span], ToolRun]
    content: tuple[str, ...]
    """Prefixes of attributes that hold messages and values, and so are not part of a trace's metadata."""
    capture: str
    """Advice for error messages on how to turn on content recording."""
    version: Callable[[Span], int] | None = None
    """Return a number that is larger for a newer version of the same span. The newest version counts.

    It is None if a span has only one version, so that two different spans with the same id are an error.
    """
    summarise: Callable[[], Summary] | None = None
    """Make the summary of a trace, which is None if the episode has nothing but its calls, messages and metadata."""
    fixed_start: bool = False
    """Whether all versions of a span start at the same time. If they do not, they are different spans."""


class ReadSpans(Protocol):
    """A function that yields a file's spans and the resources that sent them, and a `Problem` for what is malformed."""

    def __call__(self, file: Path, /, wanted: Wanted = all_wanted) -> Iterator[Found | Resource | Problem]:
        """Read a file. Lines and rows that are not wanted are skipped."""


@dataclass(frozen=True, kw_only=True)
class SpanFormat(Format):
    """A format whose records are spans, or rows that become spans."""

    convention: Convention
    read_spans: ReadSpans
    trace_of: Callable[[Any], str | None]
    """Return the trace id in the value of a line or row, or None if only reading all of it tells.

    It is the id of every span that `read_spans` finds in this value, in any form that `normalize_id` reads.
    """


def span_format(
    name: str,
    errors: str,
    convention: Convention,
    read: ReadSpans = read_spans,
    trace_of: Callable[[Any], str | None] = trace_of,
) -> SpanFormat:
    """Define a format for spans that follow a convention.

    `errors` says when a call counts as failed. `read` reads the spans in a file, by default from OTLP JSON, and
    `trace_of` is as in `SpanFormat`.
    """
    return SpanFormat(
        name,
        errors,
        lambda sample: _mismatch(sample.file, convention, read),
        lambda file: _read([file], convention, read),
        lambda files: _read(files, convention, read),
        signs=tuple(name for name in TRACE_IDS if name.isidentifier()),
        convention=convention,
        read_spans=read,
        trace_of=trace_of,
    )


def _mismatch(file: Path, convention: Convention, read: ReadSpans) -> str | None:
    """Explain why a file does not follow a convention, or return None if any of its first spans does."""
    seen = 0
    for one in islice(read(file), SAMPLE):
        if isinstance(one, Found):
            seen += 1
            if convention.kind(one.span) is not None:
                return None
        elif isinstance(one, Problem) and not seen:
            return one.message
    return f"no span with {convention.name} among the first {seen:,}" if seen else "no spans in it"


def _read(files: Sequence[Path], convention: Convention, read: ReadSpans) -> Iterator[Episode | Problem]:
    """Yield the files' episodes in the order in which their traces begin, and a `Problem` for each bad span or trace.

    The spans are first stored in a temporary database, so the spans of a trace may be in several files. A span that is
    in several files is counted once.
    """
    with Traces(convention) as traces:
        for number, file in enumerate(files):
            for one in read(file):
                if isinstance(one, Problem):
                    yield one
                else:
                    traces.add(one, number)
        empty = True
        for found in traces.read(files):
            empty = False
            yield found if isinstance(found, Problem) else found.episode
        if empty:
            yield Problem(str(files[0]), 1, 1, f"no trace has a span with {convention.name}")


@dataclass(frozen=True)
class Traced:
    """An episode, the id of its trace, and the file and the line or row at which the trace begins."""

    episode: Episode
    trace: str
    file: Path
    line: int


_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16000;
PRAGMA temp_store = FILE;
CREATE TABLE spans (
    number INTEGER PRIMARY KEY, trace BLOB, start INTEGER, finish INTEGER, id BLOB, parent BLOB, kind TEXT,
    file INTEGER, line INTEGER, resource TEXT, version INTEGER, content BLOB
);
CREATE TABLE resources (resource TEXT PRIMARY KEY, attributes BLOB);
"""


@dataclass
class Traces:
    """Spans grouped by trace in a temporary SQLite database, which is deleted when it is closed."""

    convention: Convention
    _database: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(""), repr=False)

    def __enter__(self) -> Self:
        self._database.executescript(_TABLES)
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, one: Found | Resource, file: int = 0) -> None:
        """Store a span, or the resource that sent a group of spans. `file` is the number of its file."""
        group = f"{file}/{one.group}"
        if isinstance(one, Resource):
            row = (group, _pack(one.attributes))
            self._database.execute("INSERT OR REPLACE INTO resources VALUES (?, ?)", row)
            return
        span = one.span
        columns = (
            _blob(span.trace), span.start, span.end, _blob(span.id), _blob(span.parent), self.convention.kind(span),
            file, one.line, group, self.convention.version(span) if self.convention.version else 0, _pack(vars(span)),
        )  # fmt: skip
        self._database.execute("INSERT INTO spans VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", columns)

    def read(self, files: Sequence[Path], others: Sequence[Traces] = ()) -> Iterator[Traced | Problem]:
        """Yield the episode of each trace in `list_traces`, or a `Problem` if its spans do not record enough content.

        `files` are the files whose numbers `add` was given. Traces that one of the `others` has are left out.
        """
        for trace, number, line in self.list_traces():
            if any(one.has(trace) for one in others):
                continue
            try:
                yield Traced(self.episode(trace), trace, files[number], line)
            except RecordError as error:
                yield Problem(str(files[number]), line, 1, f"trace {trace:.40}: {error}")

    def has(self, trace: str) -> bool:
        """Return True if a trace has a span that follows the convention."""
        query = "SELECT 1 FROM spans WHERE trace = ? AND kind IS NOT NULL LIMIT 1"
        return self._database.execute(query, (_blob(trace),)).fetchone() is not None

    def list_traces(self) -> Iterator[tuple[str, int, int]]:
        """Yield the id of each trace with at least one span that follows the convention, and where the trace begins.

        A trace begins at a line in a file. Files are numbered from 0.
        """
        columns = "trace, start, finish DESC, number, kind, file, line"
        self._database.execute(f"CREATE INDEX IF NOT EXISTS by_trace ON spans ({columns})")
        rows = self._database.execute(
            "SELECT trace, file, line, MIN(number) AS first FROM spans GROUP BY trace HAVING COUNT(kind) ORDER BY first"
        )
        for trace, file, line, _ in rows:
            yield _text(trace), file, line

    def episode(self, trace: str) -> Episode:
        """Build a trace's episode. Raises `RecordError` if the spans do not record enough content."""
        family = self._family(trace)
        transcript, fields = self._join(trace, family, "chat")
        if not transcript.has_output and (transcript.call_without_arguments is not None or not transcript.calls):
            of_agents, _ = self._join(trace, family, "agent")
            transcript = of_agents if of_agents.has_output else transcript
        if not transcript.calls and not transcript.has_messages:
            raise RecordError(f"no text or call of the agent was recorded: {self.convention.capture}")
        if (call := transcript.call_without_arguments) is not None:
            which = f"{call.tool!r:.60}" + (f" (id {call.id!r:.60})" if call.id is not None else "")
            raise RecordError(f"the arguments of a call of {which} were not recorded: {self.convention.capture}")
        return transcript.to_episode(**fields)

    def _join(self, trace: str, family: Family, chat_kind: str) -> tuple[SpanTranscript, dict[str, Any]]:
        """Return a trace's transcript and the episode's other fields.

        Spans of the kind `chat_kind` are read as chat spans. An agent span that repeats another one is read once.
        """
        transcript, metadata = SpanTranscript(family, chat_kind), _Metadata(self.convention.content)
        summary = self.convention.summarise() if self.convention.summarise else None
        agents: list[Chat] = []
        for span in self._spans(trace, family):
            kind = family[span.id][1] if span.id is not None else self.convention.kind(span)
            metadata.add(span, kind, is_root=span.parent not in family)
            if summary is not None:
                summary.add(span, kind)
            try:
                if kind == chat_kind:
                    chat = self.convention.chat(span)
                    if chat not in agents:
                        transcript.add_chat(span, chat)
                    agents += [chat] if kind == "agent" else []
                elif kind == "tool":
                    transcript.add_run(span, self.convention.tool_run(span))
            except RecordError as error:
                raise RecordError(f"span {span.id or span.name!s:.40}: {error}") from None
        rows = self._database.execute(
            "SELECT DISTINCT attributes FROM spans JOIN resources USING (resource) WHERE trace = ?", (_blob(trace),)
        )
        fields = summary.fields() if summary is not None else {}
        about = metadata.merge(trace, [json.loads(attributes) for (attributes,) in rows])
        return transcript, {**fields, "metadata": {**about, **fields.get("metadata", {})}}

    def _family(self, trace: str) -> Family:
        """Map the id of each span in a trace to the span's parent id and kind.

        A chat span around several others that are not around each other is an agent's.
        """
        rows = self._database.execute(
            "SELECT id, parent, kind FROM spans WHERE trace = ? ORDER BY version, number", (_blob(trace),)
        )
        family = {
            _text(id_): (_text(parent) if parent is not None else None, kind)
            for id_, parent, kind in rows
            if id_ is not None
        }
        return family | {id_: (family[id_][0], "agent") for id_ in find_outer_chats(family)}

    def _spans(self, trace: str, family: Family) -> Iterator[Span]:
        """Yield a trace's spans in order of their start times. A span that was sent twice is yielded once.

        Raises `RecordError` if two different spans have the same id, unless they are versions of one span.
        """
        seen: dict[str, int] = {}
        for number in put_parents_first(self._numbers(trace), family):
            (content,) = self._database.execute("SELECT content FROM spans WHERE number = ?", (number,)).fetchone()
            read = json.loads(content)
            span = Span(**{**read, "events": tuple((name, attributes) for name, attributes in read["events"])})
            if span.id is None:
                yield span
            elif span.id not in seen:
                seen[span.id] = hash(content)
                yield span
            elif seen[span.id] != hash(content):
                raise RecordError(f"two spans have the id {span.id:.40}")

    def _numbers(self, trace: str) -> list[tuple[int, str | None, int]]:
        """Return the number, id and start of a trace's spans in order of their starts, without older versions.

        Spans that start and end together are in the order in which each was first added.
        """
        rows = self._database.execute(
            "SELECT number, id, start, finish, version FROM spans WHERE trace = ? ORDER BY number", (_blob(trace),)
        ).fetchall()
        first: dict[bytes, int] = {}
        newest: dict[tuple[bytes, int], tuple[int, int]] = {}
        for number, id_, start, _, version in rows:
            if id_ is not None:
                first.setdefault(id_, number)
                key = id_, start if self.convention.fixed_start else 0
                newest[key] = max(newest.get(key, (version, number)), (version, number))
        kept = {number for _, number in newest.values()}
        rows.sort(key=lambda row: (row[2], -row[3], first.get(row[1], row[0])))
        return [
            (number, None if id_ is None else _text(id_), start)
            for number, id_, start, _, _ in rows
            if self.convention.version is None or id_ is None or number in kept
        ]


@dataclass
class _Metadata:
    """A trace's metadata.

    The metadata comes from the root span, the resources, the agent spans, and the attributes that all chat and tool
    spans share.
    """

    content: tuple[str, ...]
    name: str | None = None
    roots: dict[str, Any] = field(default_factory=dict)
    agents: dict[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] | None = None

    def add(self, span: Span, kind: str | None, *, is_root: bool) -> None:
        """Add a span's attributes, except those that hold messages, arguments or results."""
        new = {name: one for name, one in span.attributes.items() if not name.startswith(self.content)}
        if is_root:
            self.name = self.name or span.name
            self.roots = {**new, **self.roots}
        if kind == "agent":
            self.agents = {**new, **self.agents}
        elif kind is not None:
            before = new if self.shared is None else self.shared
            self.shared = {name: one for name, one in before.items() if name in new and equal(new[name], one)}

    def merge(self, trace: str, resources: list[dict[str, Any]]) -> dict[str, Any]:
        """Merge the trace id, the root span's name and all attributes into one dict.

        The root span's values take precedence, then those of resources, agent spans and other spans.
        """
        found: dict[str, Any] = {"trace_id": trace, "name": self.name}
        for attributes in (self.roots, *resources, self.agents, self.shared or {}):
            found = {**attributes, **found}
        return found


def _pack(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _blob(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _text(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")
