"""Load scored episodes from a file of scores, as `corepath score --out` writes it.

Rows are read batch by batch. Calls and messages stay in the files that the episodes came from, and are read from there
when an explanation needs them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from sys import intern
from tempfile import TemporaryFile
from typing import IO, Any, Final
from weakref import finalize

from corepath.batch.shards import DamagedFileError, Shard, read_lines
from corepath.episode import FAILED_OUTSIDE, IMPOSSIBLE, Episode
from corepath.errors import CorepathError, Problem, RecordError
from corepath.files.lookup import Tasks
from corepath.files.rules import load_rules
from corepath.importers.parquet import import_pyarrow
from corepath.play.play import rescore
from corepath.report.results import Result, Results
from corepath.report.stored import EpisodeFile, compact, content_hash
from corepath.rules.rule import Rule
from corepath.runs.entries import Entry
from corepath.runs.tasks import FoundTask
from corepath.scoring.options import Scoring
from corepath.scoring.rules import score_rules

BATCH: Final = 2_000
"""How many rows are read at once."""
ROWS: Final = 50
"""How many rows of Parquet are made into lines at once when an episode is read again."""
_SCORES: Final = (
    "pc", "pc_ktc", "pc_ktc_lower", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "efficiency",
    "directness", "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "answer_match", "length",
    "profile", "rules_broken", "obligations_open",
)  # fmt: skip
_OF_RULES: Final = ("rules_broken", "obligations_open")
_USAGE: Final = {"cost": "total_cost", "tokens": "total_tokens"}


def is_scores(path: Path) -> bool:
    """Whether a file is named like a file of scores."""
    return path.suffix == ".parquet"


def load_scores(path: Path, tasks: Tasks, wanted: Scoring | None, rules: tuple[Rule, ...]) -> Results:
    """Load the results in a file of scores.

    Without `tasks`, they are looked up where they were found for scoring. Raises `CorepathError` if the file holds no
    scores, or if they should be computed again: for that, score the episodes.
    """
    if wanted is not None or rules:
        raise CorepathError(f"{path} holds scores, which stay as they are; score the episodes again: corepath score")
    reader: _Reader | None = None
    for reader, rows in _read_rows(path, tasks):
        reader.add(rows)
    return Results(places=(str(path),)) if reader is None else reader.results()


def read_scored(path: Path, tasks: Tasks) -> Iterator[Entry | Problem]:
    """Yield the episodes of a file of scores, read again from their own files."""
    for reader, rows in _read_rows(path, tasks):
        for row in rows:
            reader.add([row])
            yield from reader.problems
            place = row["file"] or str(path), row["line"] or 1
            yield from (_entry_of(result, reader.tasks, *place) for result in reader.found)
            reader.problems.clear()
            reader.found.clear()


def _entry_of(result: Result, tasks: Tasks, file: str, line: int) -> Entry:
    if result.stored is None:
        return Entry(result.record, file, line, tasks.of, lost=result.find(result.record.task)[1])
    try:
        episode, scoring = result.unscored
    except CorepathError as error:
        return Entry(result.record, file, line, tasks.of, lost=str(error))
    line = result.stored.line if isinstance(result.stored, StoredRow) else 1
    recorded = replace(episode, scoring=scoring.recorded)
    return Entry(recorded, str(result.stored.file.path), line, tasks.of, scoring, rules=result.rules)


def _read_rows(path: Path, tasks: Tasks) -> Iterator[tuple[_Reader, list[dict[str, Any]]]]:
    """Yield a reader and some rows for it, batch by batch."""
    pa, pq = import_pyarrow(path)
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            if missing := [name for name in ("task", "pc", "harms") if name not in file.schema_arrow.names]:
                raise CorepathError(f"{path} holds no scores, as it has no column '{missing[0]}'; score it first with: "
                                    f"corepath score {path} --out scores.parquet")  # fmt: skip
            about = file.metadata.metadata or {}
            reader = _Reader(path, _choose_tasks(tasks, about), _find_rules(about))
            for batch in file.iter_batches(BATCH, use_threads=False):
                yield reader, _without_records(batch).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise CorepathError(f"{path}: cannot be read: {error}") from None


def _without_records(batch: Any) -> Any:
    """Return a batch in which only a truth value says whether a row has the record of its episode."""
    place = batch.schema.get_field_index("episode")
    return batch if place < 0 else batch.set_column(place, "episode", batch.column(place).is_valid())


def _choose_tasks(tasks: Tasks, metadata: Mapping[bytes, bytes]) -> Tasks:
    """Return the tasks that the user named, or else those that the episodes were scored on, if they are still there."""
    if tasks.sources:
        return tasks
    named = json.loads(metadata.get(b"corepath.tasks", b"[]"))
    try:
        return Tasks(named)
    except CorepathError:
        return tasks


def _find_rules(about: Mapping[bytes, bytes]) -> tuple[Rule, ...]:
    """Return the rules by which the episodes were scored, if their files are still there."""
    try:
        named = json.loads(about.get(b"corepath.rules", b"[]"))
        return tuple(rule for name in named for rule in load_rules(name).rules)
    except (CorepathError, OSError):
        return ()


@dataclass
class _Reader:
    """Makes results of the rows of a file of scores."""

    path: Path
    tasks: Tasks
    rules: tuple[Rule, ...] = ()
    found: list[Result] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    scorings: set[Scoring] = field(default_factory=set)
    is_judged_otherwise: bool = False
    """Whether a row was scored by other rules."""
    rows: int = 0
    count: int = 0
    _files: dict[tuple[str, bool, Scoring], EpisodeFile] = field(default_factory=dict)
    _finders: dict[tuple[str, int], Callable[[str], FoundTask]] = field(default_factory=dict)

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add rows."""
        for row in rows:
            self.rows += 1
            if row.get("problem") is not None:
                self.problems.append(Problem(row["file"] or str(self.path), row["line"] or 1, 1, row["problem"]))
                continue
            self.scorings.add(_scoring_of(row["profile"], row.get("options")))
            self.count += 1
            record = _record_of(row)
            stored = self._find_stored(row, record)
            is_judged_otherwise = [one["rule"] for one in record.scores.get("rules", ())] != self._rule_texts
            self.is_judged_otherwise |= is_judged_otherwise
            if stored is None:
                self.found.append(Result(record, _not_at_hand(row["file"])))
            elif is_judged_otherwise:
                self.found.append(Result(record, _judged_otherwise))
            else:
                self.found.append(Result(record, self._finder(row), self.rules, stored))

    @cached_property
    def _rule_texts(self) -> list[str]:
        return [_storable(str(rule)) for rule in self.rules]

    def _find_stored(self, row: Mapping[str, Any], record: Episode) -> StoredRow | None:
        """Return where the episode of a row is stored, or None if it is not at hand."""
        if row.get("episode"):
            return StoredRow(self._file(str(self.path), row, by_line=True), self.rows, self.count, self.rows, record)
        name, by_line = row["file"], row["offset"] is None
        if name is None or row["line"] is None or not _exists(name):
            return None
        place = row["line"] if by_line else row["offset"]
        return StoredRow(self._file(name, row, by_line=by_line), place, self.count, row["line"], record)

    def results(self) -> Results:
        """Return all results. Raises `CorepathError` if the episodes were scored in different ways."""
        if len(self.scorings) > 1:
            named = ", ".join(sorted({one.profile for one in self.scorings}))
            raise CorepathError(f"{self.path}: its episodes were scored in different ways ({named}), and are not put "
                                "into one table; score them alike with --profile")  # fmt: skip
        used = self.scorings.pop() if self.scorings else Scoring()
        judged = () if self.is_judged_otherwise else self.rules
        other = f"{self.path}: its rule files are gone, or were changed since: there is no table of rules"
        notes = (other,) if self.is_judged_otherwise else ()
        return Results(tuple(self.found), used, tuple(self.problems), (str(self.path),), notes, judged)

    def _file(self, name: str, row: Mapping[str, Any], *, by_line: bool) -> EpisodeFile:
        key = name, by_line, _scoring_of(row["profile"], row.get("options"))
        if key not in self._files:
            scoring = key[2]
            kind = RowFile if by_line else EpisodeFile
            complete = partial(self._complete, scoring)
            self._files[key] = kind(Path(name), str(self.path), lambda _: scoring, complete)
        return self._files[key]

    def _complete(self, scoring: Scoring, episode: Episode) -> Episode:
        if episode.task or not self.rules:
            return rescore(self.tasks.of(episode), episode, scoring, rules=self.rules)
        return replace(episode, scores=score_rules(self.rules, episode, scoring).to_dict())

    def _finder(self, row: Mapping[str, Any]) -> Callable[[str], FoundTask]:
        """Return a function that finds the task of a row, the same one for all rows of a task."""
        key = (row["task"] or "", row["seed"] or 0)
        if key not in self._finders:
            self._finders[key] = _FindTask(self.tasks, *key)
        return self._finders[key]


@lru_cache(maxsize=4096)
def _exists(name: str) -> bool:
    return Path(name).is_file()


@lru_cache(maxsize=4096)
def _not_at_hand(file: str | None) -> Callable[[str], FoundTask]:
    """Return a function that says why an episode cannot be explained."""
    why = "its scores name no file" if file is None else f"its file {file} is not there"
    return lambda _: (None, f"the episode is not at hand: {why}")


def _judged_otherwise(_: str) -> FoundTask:
    """Say that an episode cannot be explained by rules that it was not scored by."""
    return None, "its rule files are gone, or were changed after it was scored"


@dataclass
class _FindTask:
    """Finds a task when it is first needed."""

    tasks: Tasks
    name: str
    seed: int

    def __call__(self, _: str) -> FoundTask:
        return self._found

    @cached_property
    def _found(self) -> FoundTask:
        try:
            return self.tasks.of(Episode(self.name, (), seed=self.seed)), None
        except CorepathError as error:
            return None, str(error)


@dataclass(slots=True)
class StoredRow:
    """Where the episode of a row is stored: at an offset or, in a packed file, at a line of its own file.

    `number` counts the episodes of the file of scores from 1. `record` is what the row says about the episode.
    """

    file: EpisodeFile
    offset: int
    number: int
    line: int
    record: Episode
    _content: int | None = None
    _lost: str | None = ""

    @property
    def content(self) -> int:
        """A hash of what the agent did and was told, as far as it is at hand. The episode is read for it once."""
        if self._content is None:
            self._content = content_hash(self.record if self.lost else self.read_unscored()[0])
        return self._content

    @property
    def lost(self) -> str | None:
        """Why the episode is no longer the one that was scored, or None if it is. It is read and scored for it once."""
        if self._lost == "":
            self._lost = self._find_loss()
        return self._lost

    def _find_loss(self) -> str | None:
        try:
            episode = self.file.read_unscored(self.offset)
        except CorepathError as error:
            return str(error)
        known = self.record.scores
        if _storable(episode.task) != self.record.task or len(episode.calls) != known.get("length", len(episode.calls)):
            return f"its file {self.file.path} was changed, so that this is another episode than was scored"
        try:
            scores = self.file.read(self.offset).scores
        except CorepathError:
            return None  # whoever needs the task says what is wrong with it
        changed = next((name for name in _SCORES if name in known and scores.get(name) != known[name]), None)
        return changed and (
            f"scored again, it has another {changed}; its task or its file {self.file.path} was changed, so score the "
            "episodes again"
        )

    def read(self) -> Episode:
        """Read the whole episode, and score it. Raises `CorepathError` if it is no longer the one that was scored."""
        self._require()
        return self.file.read(self.offset)

    def read_unscored(self) -> tuple[Episode, Scoring]:
        """Read the whole episode as it is recorded, and return it with the options by which it is scored."""
        self._require()
        episode = self.file.read_unscored(self.offset)
        return episode, self.file.scoring(episode)

    def _require(self) -> None:
        if self.lost is not None:
            raise CorepathError(self.lost)


def _storable(text: str) -> str:
    """Return a text as scores have it: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


class RowFile(EpisodeFile):
    """A packed file or a Parquet file of episodes, whose episodes are read again by their line or row."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lines = self._read_lines()
        self._next = 1
        self._unpacked: tuple[IO[bytes], array[int]] | None = None
        """All lines, and how many bytes of them come before each."""
        self._group: Any = None
        """The row group that was read last, since rows are mostly read in their order."""
        self._first = 0
        self._records: tuple[int, list[bytes]] = 0, []
        """The first of the rows that were made into lines last, and these lines."""

    def _line(self, offset: int) -> bytes:
        """Return a line or row by its number. A packed file is unpacked when a line comes before the one read last."""
        if self.path.suffix == ".parquet":
            return self._row(offset - 1)
        if offset < self._next:
            return self._unpacked_line(offset - 1)
        for line in self._lines:
            self._next += 1
            if self._next > offset:
                return line
        return b""

    def _read_lines(self) -> Iterator[bytes]:
        size = self.path.stat().st_size
        return read_lines(Shard(0, str(self.path), 0, size, size))

    def _unpacked_line(self, place: int) -> bytes:
        if self._unpacked is None:
            self._unpacked = TemporaryFile(), array("q")  # noqa: SIM115  # it is read as long as the file is
            finalize(self, self._unpacked[0].close)
            with suppress(DamagedFileError):
                for line in self._read_lines():
                    self._unpacked[1].append(self._unpacked[0].tell())
                    self._unpacked[0].write(line)
        stream, starts = self._unpacked
        if place >= len(starts):
            return b""
        stream.seek(starts[place])
        return stream.readline()

    def _row(self, row: int) -> bytes:
        first, records = self._records
        if not first <= row < first + len(records):
            first, records = self._records = row, self._make_records(row)
        return records[row - first] if records else b""

    def _make_records(self, row: int) -> list[bytes]:
        """Return some rows as lines, or none if the file ends before."""
        from corepath.batch.arrow import ArrowEpisodes  # noqa: PLC0415

        if self._group is None or not self._first <= row < self._first + self._group.num_rows:
            self._read_group(row)
        if self._group is None:
            return []
        batch = self._group.slice(row - self._first, ROWS)
        if "episode" in batch.schema.names:
            return [str(text).encode() for text in batch.column("episode").to_pylist()]
        for wanted in (batch, batch.slice(0, 1)):  # another row may be bad
            with suppress(RecordError):
                return ArrowEpisodes(wanted).records(0, wanted.num_rows)
        return []

    def _read_group(self, row: int) -> None:
        """Read the row group with a row, or none if the file ends before."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._group, self._first = None, 0
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if row < self._first + size:
                    columns = ["episode"] if "episode" in file.schema_arrow.names else None
                    read = file.read_row_group(group, columns, use_threads=False)
                    self._group = read.combine_chunks().to_batches()[0]
                    return
                self._first += size


def _scoring_of(profile: str, options: str | None) -> Scoring:
    return Scoring.of(profile if options is None else json.loads(options))


def _record_of(row: Mapping[str, Any]) -> Episode:
    """Return what tables need of an episode."""
    with_rules = row.get("rules_broken") is not None
    scores = {name: row[name] for name in _SCORES if with_rules or name not in _OF_RULES}
    harms = tuple(compact({name: value for name, value in harm.items() if value is not None}) for harm in row["harms"])
    scores["harms"] = harms
    if row.get("rules"):
        scores["rules"] = tuple(compact(rule) for rule in row["rules"])
    usage = {name: row[column] for column, name in _USAGE.items() if row.get(column) is not None}
    extra: dict[str, Any] = {"usage": compact(usage)} if usage else {}
    if row.get("seconds") is not None:
        extra["seconds"] = row["seconds"]
    excluded = row.get("excluded")
    return Episode(
        task=intern(row["task"] or ""),
        calls=(),
        agent=None if row["agent"] is None else intern(row["agent"]),
        epoch=row["epoch"] or 0,
        seed=row["seed"],
        outcome=FAILED_OUTSIDE if excluded == "outside" else None,
        reward=row.get("reward"),
        mistake=IMPOSSIBLE if excluded == "unplanted" else None,
        unasked=excluded == "unasked",
        scores=compact(scores),
        extra=compact(extra) if extra else _NOTHING,
        params=_NOTHING,
        failure=_NOTHING,
    )


_NOTHING: Final[Mapping[str, Any]] = {}
