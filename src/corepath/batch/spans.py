"""Read traces from any number of files with one row for each span, in bounded memory.

The files are those of OpenTelemetry, OpenInference, Langfuse or LangSmith: JSON lines, also compressed with gzip or
Zstandard, and Parquet. Their rows are grouped by trace in a temporary database on disk, whichever files they are in,
and the importers make an episode of each trace. Memory depends on the largest trace, not on the number of rows.

A span that is in several files counts once. Of several rows for one span, the one that has ended counts. Among these
it is the one that was updated last in Langfuse and LangSmith, and the one with the most attributes and events
elsewhere. Among equal rows, it is the last one. Two spans of OpenTelemetry with the same id but different starts are
not one span, and their trace is a `Problem`.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from corepath.batch.sessions import Sessions
from corepath.errors import InputError, Problem, TaskError
from corepath.importers.compressed import open_bytes
from corepath.importers.otlp import Resource, Span, normalize_id
from corepath.importers.parquet import is_parquet
from corepath.importers.reading import Sample
from corepath.importers.registry import load_format
from corepath.importers.span_files import Found, read_spans
from corepath.importers.spans import SAMPLE, Convention, ReadSpans, SpanFormat, Traced, Traces

FORMATS: Final = ("openinference", "otel", "langfuse", "langsmith")
"""The names of the formats whose rows are spans. A trace of several is read in the first one."""
_SAMPLE: Final = 200
"""How many rows at the start of a file may be no spans until the file counts as one of something else."""
_NO_SPANS: Final = "no spans of OpenTelemetry, OpenInference, Langfuse or LangSmith in this file"
_ENDED: Final = 2**62


@dataclass(frozen=True)
class TraceShard:
    """One of several parts of the traces. Which part a trace is in depends only on its id."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise ValueError(f"no shard {self.number} of {self.of}; shards are numbered from 0")

    def has(self, trace: str) -> bool:
        """Return True if a trace is in this shard. Its id may be in any form that `normalize_id` reads."""
        same = (normalize_id(trace) or "").encode("utf-8", "surrogatepass")
        return self.of == 1 or zlib.crc32(same) % self.of == self.number


def find_span_format(file: Path) -> SpanFormat | None:
    """Return the format of a file whose rows are spans, or None if they are not. Only the file's start is read.

    Raises `InputError` if a package is not installed that the file needs.
    """
    openinference, otel, *platforms = (one for one in map(load_format, FORMATS) if isinstance(one, SpanFormat))
    sample = Sample(file)
    for platform in platforms:  # first, since they are recognised by fewer rows
        if platform.recognise(sample) is None:
            return platform
    found, bad = None, 0
    for one in islice(read_spans(file), SAMPLE):
        bad += isinstance(one, Problem)
        if bad > _SAMPLE:
            break
        if isinstance(one, Found):
            if openinference.convention.kind(one.span) is not None:
                return openinference
            found = found or (otel if otel.convention.kind(one.span) is not None else None)
    return found


def read_traces(
    paths: Sequence[Path],
    shard: int = 0,
    shards: int = 1,
    by: Literal["trace", "session"] = "trace",
    source: str | None = None,
) -> Iterator[Traced | Problem]:
    """Yield the episode of each trace in files of spans, and a `Problem` for each row, trace or file that is malformed.

    With `shards` above 1, only the traces of one shard are read. All shards together yield what a single one does, and
    every problem once. Traces are in the order in which they begin, format by format. If `by` is `session`, the traces
    of a session are one episode, and the files are read twice, since not every span names its session. `source` names
    the format of all files, one of `FORMATS`. Without it, the content of each file decides.
    """
    own = TraceShard(shard, shards)
    sources, unknown = _find_sources(paths) if source is None else ([_make_source(paths, source)], [])
    yield from unknown if own.number == 0 else ()
    for one in sources:
        yield from _read_source(one, own, by_session=by == "session")


@dataclass
class _Source:
    """Files that are read by the same function, and the formats of their spans, in order of precedence."""

    read: ReadSpans
    files: list[Path] = field(default_factory=list)
    formats: dict[str, SpanFormat] = field(default_factory=dict)


def _make_source(paths: Sequence[Path], name: str) -> _Source:
    """Return the files as files of one format. Raises `TaskError` if its rows are not spans."""
    found = load_format(name) if name in FORMATS else None
    if not isinstance(found, SpanFormat):
        raise TaskError.of(f"rows of spans come from {', '.join(FORMATS)}, not from '{name[:60]}'")
    return _Source(found.read_spans, list(dict.fromkeys(paths)), {name: found})


def _find_sources(paths: Sequence[Path]) -> tuple[list[_Source], list[Problem]]:
    """Group files by how they are read, and return a `Problem` for each file without spans.

    A file may have the rest of another one's traces, and no span that shows its format.
    """
    sources: dict[ReadSpans, _Source] = {}
    chosen: dict[Path, ReadSpans] = {}
    problems: list[Problem] = []
    waiting: list[Path] = []
    for path in dict.fromkeys(paths):
        try:
            found = find_span_format(path)
        except InputError as error:
            problems += error.problems
            continue
        if found is None:
            waiting.append(path)
            continue
        source = sources.setdefault(found.read_spans, _Source(found.read_spans))
        source.formats[found.name] = found
        chosen[path] = found.read_spans
    for path in waiting:
        first, problem = _find_reader(path, list(sources))
        problems += [] if problem is None else [problem]
        if first is not None:
            chosen[path] = first
    for path in dict.fromkeys(paths):
        if path in chosen:
            sources[chosen[path]].files.append(path)
    for source in sources.values():
        source.formats = {name: source.formats[name] for name in FORMATS if name in source.formats}
    return list(sources.values()), problems


def _find_reader(path: Path, readers: Sequence[ReadSpans]) -> tuple[ReadSpans | None, Problem | None]:
    """Return the first function that finds a span at the start of a file, or a `Problem` that says why none does.

    A Parquet file without rows has no spans, and no problem either.
    """
    for read in readers or (read_spans,):
        found = list(islice(read(path), _SAMPLE))
        if any(isinstance(one, Found) for one in found):
            return (read, None) if readers else (None, Problem(str(path), 1, 1, _NO_SPANS))
        if not found and is_parquet(path):
            return None, None
    try:
        with open_bytes(path) as file:
            why = _NO_SPANS if file.read(1) else "the file is empty"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    return None, Problem(str(path), 1, 1, why)


def _read_source(source: _Source, own: TraceShard, *, by_session: bool) -> Iterator[Traced | Problem]:
    """Yield the episodes and problems of files that are read by the same function."""
    formats = list(source.formats.values())
    with ExitStack() as stack:
        try:
            sessions = stack.enter_context(Sessions()) if by_session else None
            if sessions is not None:
                sessions.add_all(one for file in source.files for one in source.read(file))
            stores = [stack.enter_context(Traces(_with_versions(one.convention))) for one in formats]
            yield from _store(source, _Rows(own, formats[0], sessions), stores)
            for place, store in enumerate(stores):  # a trace with spans of several formats is read in the first one
                yield from store.read(source.files, stores[:place])
        except sqlite3.Error as error:
            message = f"the spans cannot be stored in the temporary folder: {error}"
            yield Problem(str(source.files[0]), 1, 1, message)


def _store(source: _Source, rows: _Rows, stores: Sequence[Traces]) -> Iterator[Problem]:
    """Store the spans of a shard, and yield the problems that it reports."""
    for number, file in enumerate(source.files):
        for found in source.read(file, rows):
            if isinstance(found, Problem):
                if rows.reports(found):
                    yield found
            elif (kept := rows.keep(found)) is not None:
                for store in stores:
                    store.add(kept, number)


@dataclass
class _Rows:
    """Which rows are wanted for a shard, and which problems it reports.

    A row whose trace id can be told without reading all of it is read only for the shard of its trace. Other rows are
    read for all shards, and only the first one reports their problems.
    """

    own: TraceShard
    format: SpanFormat
    sessions: Sessions | None = None
    _known: tuple[str, int] | None = None
    """The place of the last row that only this shard reads."""

    def __call__(self, file: str, line: int, value: Any, /) -> bool:
        if self.own.of == 1:
            return True
        trace = self.format.trace_of(value)
        self._known = None if trace is None else (file, line)
        return trace is None or self.has(trace)

    def has(self, trace: str) -> bool:
        """Return True if a trace, or its session, is in the shard."""
        return self.own.has(trace if self.sessions is None else self.sessions.find(trace))

    def keep(self, found: Found | Resource) -> Found | Resource | None:
        """Return what is stored of a span or a resource, or None if the span is not in the shard."""
        if isinstance(found, Resource):
            return found
        if not self.has(found.span.trace):
            return None
        return found if self.sessions is None else self.sessions.join(found)

    def reports(self, problem: Problem) -> bool:
        """Return True if this shard reports a problem that all or some of the shards meet."""
        return self.own.number == 0 or (problem.file, problem.line) == self._known


def _with_versions(convention: Convention) -> Convention:
    """Return a convention in which a span may have several versions, as overlapping exports have them."""
    if convention.version is not None:
        return convention
    return replace(convention, version=_fullness, fixed_start=True)


def _fullness(span: Span) -> int:
    """Rank the rows of one span: those that have ended, and then by the number of attributes and events."""
    return (_ENDED if span.end > 0 else 0) + len(span.attributes) + len(span.events)
