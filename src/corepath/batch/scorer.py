"""Score batches of episodes: those whose calls can be coded by the kernel, all others as `score` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corepath.batch.arrow import ArrowEpisodes, read_column
from corepath.batch.coded import CodedEpisodes
from corepath.batch.coded_lines import CUT_OUT, KeptLines, cut_lines
from corepath.batch.coding import MOST_CALLS, CallTable, TaskCoder, options_text
from corepath.batch.lines import EpisodeLine, Lines, join_lines, parse_line, parse_lines
from corepath.batch.schema import SCORES
from corepath.episode import Episode, exclusion, reward_of, trace_of, typed_fields, usage_of
from corepath.errors import CorepathError, Problem, RecordError
from corepath.files.episodes import LineError, episode_json, parse_episode
from corepath.files.fingerprint import check_played
from corepath.files.lookup import Tasks
from corepath.rules.rule import Rule
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.rules import RuleScore, score_rules
from corepath.scoring.score import Score, is_coded, match_answer, score
from corepath.scoring.summary import USAGE


@dataclass(frozen=True)
class ScoredBatch:
    """The scores of a batch, the problems with its rows, and how many episodes took the ordinary way."""

    scores: pa.RecordBatch
    problems: tuple[Problem, ...] = ()
    ordinary: int = 0


@dataclass
class _OtherRows:
    """The rows that are not coded: episodes scored as `score` does, and problems."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    ordinary: int = 0


class BatchScorer:
    """Scores batches of episodes on tasks, by rules, or both.

    `scoring` holds the options for all episodes. If it is None, each is scored with the options in its record. Without
    `tasks`, episodes are scored by rules alone. What was learned about tasks and calls is kept from batch to batch.
    """

    def __init__(self, tasks: Tasks | None, scoring: Scoring | None = None, rules: Sequence[Rule] = ()) -> None:
        self.tasks, self.scoring, self.rules = tasks, scoring, tuple(rules)
        self._table = CallTable()
        self._coders: dict[tuple[Any, ...], TaskCoder | None] = {}
        self._listed: list[TaskCoder] = []

    def score_lines(self, lines: Lines, file: str) -> ScoredBatch:
        """Score lines of an episode file. Blank ones are left out."""
        self._forget()
        kept, others = KeptLines(lines), _OtherRows()
        coded = CodedEpisodes(self._table, self._listed, kept)
        for place in self._code_together(kept, coded):
            if not lines.is_blank(place) and not self._code_line(place, kept, coded):
                offset = None if lines.offset is None else lines.offset + int(lines.starts[place])
                where = {"file": file, "line": lines.first + place, "offset": offset}
                self._score_other(others, place, lines[place], where)
        coded.places, coded.known = kept.places, kept.columns(file)
        return _join(coded, others)

    def _code_together(self, kept: KeptLines, coded: CodedEpisodes) -> list[int]:
        """Code all lines that can be cut into calls, and return the places of the others."""
        cut = cut_lines(kept.lines)
        around = parse_lines(cut.around)
        coders = [None if line is None or line.calls != CUT_OUT else self._coder_of(line) for line in around]
        numbers = np.array([-1 if coder is None else coder.number for coder in coders], dtype=np.int64)
        coder_of = numbers[cut.around_of]
        found = cut.number_calls(coder_of, self._listed)
        usable = cut.find_usable(found.numbers)
        lengths = np.diff(cut.offsets)
        calls = np.repeat(usable, lengths)
        coded.calls.frombytes(found.numbers[calls].tobytes())
        coded.offsets.frombytes(np.cumsum(lengths[usable]).tobytes())
        coded.coder_of.frombytes(coder_of[usable].tobytes())
        kept.add_calls(found.texts, found.text_of[calls])
        self._keep(cut.rows[usable], around, cut.around_of[usable], kept, coded)
        left = np.ones(len(kept.lines), dtype=bool)
        left[cut.rows[usable]] = False
        places: list[int] = np.flatnonzero(left).tolist()
        return places

    def _code_line(self, place: int, kept: KeptLines, coded: CodedEpisodes) -> bool:
        """Code a line by itself. Returns False, and adds nothing, if it is in an unusual form or wrong."""
        line = parse_line(kept.lines[place])
        coder = None if line is None else self._coder_of(line)
        if line is None or coder is None or not isinstance(line.calls, list):
            return False
        texts = [*map(bytes, line.calls)]
        try:
            coded.calls.extend([*map(coder.number_text, texts)])
        except ValueError:
            return False
        coded.offsets.append(len(coded.calls))
        coded.coder_of.append(coder.number)
        kept.add_calls(texts, np.arange(len(texts)))
        self._keep(np.array([place]), [line], np.array([0]), kept, coded)
        return True

    def _keep(
        self,
        places: npt.NDArray[np.int64],
        around: Sequence[EpisodeLine | None],
        around_of: npt.NDArray[np.int64],
        kept: KeptLines,
        coded: CodedEpisodes,
    ) -> None:
        """Note what coded lines say beside their calls."""
        first = len(kept.places)
        kept.add(places, around, around_of)
        asks = any(coder.has_answer for coder in self._listed)
        is_asked = np.array([line is not None and (asks or line.has_facts) for line in around], dtype=bool)
        for number in map(int, np.flatnonzero(is_asked[around_of])):
            line, coder = around[around_of[number]], self._listed[coded.coder_of[first + number]]
            assert line is not None
            coded.facts[first + number] = _line_facts(line, coder)

    def score_table(self, batch: pa.RecordBatch, file: str | None = None, first: int = 1) -> ScoredBatch:
        """Score the rows of a batch in the schema of episodes. `first` is the number of its first row."""
        self._forget()
        try:
            episodes = ArrowEpisodes(batch)
        except RecordError as error:
            return self._score_around(batch, file, first, str(error))
        keys, key_of = episodes.keys
        coders = [self._find_coder(*key) for key in keys]
        numbers, usable = episodes.code(coders)
        asks = np.array([coder is not None and coder.has_answer for coder in coders], dtype=bool)
        usable &= ~asks[key_of] & episodes.without_record
        coded = CodedEpisodes(self._table, self._listed, episodes.said)
        episodes.select(coded, coders, numbers, usable)
        coded.known |= {
            "file": pa.repeat(pa.scalar(file, pa.string()), len(coded.places)),
            "line": pa.array(np.flatnonzero(usable) + first),
        }
        others = _OtherRows()
        traces = episodes.column("trace")
        for row in map(int, np.flatnonzero(~usable)):
            known = {"trace": traces[row].as_py()} if traces[row].is_valid else {}
            where = {"file": file, "line": row + first, **known}
            try:
                self._score_other(others, row, episodes.record(row), where)
            except RecordError as error:
                others.places.append(row)
                _add_problem(others, str(error), where)
        return _join(coded, others)

    def _score_around(self, batch: pa.RecordBatch, file: str | None, first: int, wrong: str) -> ScoredBatch:
        """Score all rows of a batch but those that have something `wrong`, which are found by halving it."""
        if half := batch.num_rows // 2:
            before, after = (
                self.score_table(batch[:half], file, first),
                self.score_table(batch[half:], file, first + half),
            )
            scores = pa.Table.from_batches([before.scores, after.scores]).combine_chunks().to_batches()[0]
            return ScoredBatch(scores, before.problems + after.problems, before.ordinary + after.ordinary)
        others = _OtherRows(places=[0])
        where: dict[str, Any] = {"file": file, "line": first}
        with suppress(RecordError):
            where["trace"] = read_column(batch, "trace")[0].as_py()
        _add_problem(others, wrong, where)
        return ScoredBatch(_make_batch(others.rows), tuple(others.problems))

    def score_episodes(self, episodes: Iterable[tuple[Episode, Mapping[str, Any]] | Problem]) -> ScoredBatch:
        """Score episodes that have no line of their own. With each comes what is known of its place, e.g. `trace`."""
        others = _OtherRows()
        for place, one in enumerate(episodes):
            if isinstance(one, Problem):
                others.problems.append(one)
                others.rows.append({"file": one.file, "line": one.line, "problem": one.message})
            else:
                self._score_episode(others, one[0], {**one[1], "episode": episode_json(one[0])})
            others.places.append(place)
        return _join(CodedEpisodes(self._table, self._listed, KeptLines(join_lines([]))), others)

    def _forget(self) -> None:
        """Forget all calls if there are very many, so that memory does not grow with the input."""
        if len(self._table.codes) > MOST_CALLS:
            self._table = CallTable()
            self._coders.clear()
            self._listed.clear()
        if sum(len(coder.by_text) + len(coder.known) for coder in self._listed) > MOST_CALLS:
            for coder in self._listed:
                coder.by_text.clear()
                coder.known.clear()

    def _coder_of(self, line: EpisodeLine) -> TaskCoder | None:
        scoring = line.scoring
        if isinstance(scoring, dict):
            return None
        key = (line.task, line.seed, line.fingerprint, scoring)
        if key in self._coders:
            return self._coders[key]
        return self._find_coder(*key)

    def _find_coder(self, task: Any, seed: Any, fingerprint: Any, scoring: Any) -> TaskCoder | None:
        """Return the coder for episodes of a task, or None if they must be scored one by one."""
        key = (task, seed, fingerprint, scoring)
        if key not in self._coders:
            try:
                self._coders[key] = self._make_coder(task, seed, fingerprint, scoring)
            except CorepathError:
                self._coders[key] = None  # scoring such an episode says what is wrong
        return self._coders[key]

    def _make_coder(self, task: Any, seed: Any, fingerprint: Any, scoring: Any) -> TaskCoder | None:
        if (
            self.tasks is None
            or self.rules
            or not isinstance(task, str)
            or scoring not in (None, "paper", "recommended")
        ):
            return None
        episode = Episode(task, (), seed=seed, fingerprint=fingerprint)
        found = self.tasks.of(episode)
        check_played(found, episode)
        if found.simulator is not None or not is_coded(found):
            return None
        options = self.scoring or (PAPER if scoring is None else Scoring.of(scoring))
        self._listed.append(TaskCoder(task, found, options, self._table, len(self._listed)))
        return self._listed[-1]

    def _score_other(self, others: _OtherRows, place: int, text: bytes, where: Mapping[str, Any]) -> None:
        """Score an episode that is not coded, or say what is wrong with it."""
        others.places.append(place)
        try:
            self._score_episode(others, parse_episode(text), where)
        except LineError as error:
            _add_problem(others, error.message, where, error.column)

    def _score_episode(self, others: _OtherRows, episode: Episode, where: Mapping[str, Any]) -> None:
        try:
            scoring = self.scoring or (PAPER if episode.scoring is None else Scoring.of(episode.scoring))
            found = self._score(episode, scoring)
        except CorepathError as error:
            _add_problem(others, str(error), {**_facts_of(episode), **where})
            return
        others.ordinary += 1
        others.rows.append({**_facts_of(episode), **_scores_of(found, episode), **where})

    def _score(self, episode: Episode, scoring: Scoring) -> Score | RuleScore:
        if self.tasks is None:
            return score_rules(self.rules, episode, scoring)
        return score(self.tasks.of(episode), episode, scoring, rules=self.rules)


def _line_facts(line: EpisodeLine, coder: TaskCoder) -> dict[str, Any]:
    """Return the columns that come from an unusual key of a line, and whether the answer matches."""
    found = _facts_of(Episode(line.task, (), **typed_fields(line.facts)))
    return {name: found[name] for name in _FACTS} | {"answer_match": match_answer(coder.task, line.answer, line.params)}


_FACTS: Final = ("trace", "reward", *USAGE, "excluded")


def _facts_of(episode: Episode) -> dict[str, Any]:
    """Return the columns that come from an episode's record."""
    return {
        "trace": trace_of(episode),
        "task": episode.task or None,
        "seed": episode.seed,
        "agent": episode.agent,
        "epoch": episode.epoch,
        "reward": reward_of(episode),
        **{name: usage_of(episode, name) for name in USAGE},
        "excluded": exclusion(episode),
    }


def _scores_of(found: Score | RuleScore, episode: Episode) -> dict[str, Any]:
    """Return the columns of a score."""
    shown = found.to_dict()
    row = {name: shown.get(name) for name in SCORES.names if name in shown}
    row["options"] = options_text(found.scoring)
    row["harms"] = [{**harm, "tool": episode.calls[harm["index"]].tool} for harm in shown["harms"]]
    row["rules"] = [{name: rule[name] for name in ("rule", "state")} for rule in shown.get("rules", ())] or None
    return row


def _add_problem(others: _OtherRows, message: str, where: Mapping[str, Any], column: int = 1) -> None:
    others.problems.append(Problem(str(where.get("file") or "<batch>"), where.get("line") or 1, column, message))
    others.rows.append({**where, "problem": message})


def _join(coded: CodedEpisodes, others: _OtherRows) -> ScoredBatch:
    """Put coded and other rows into one batch, in the order in which they came."""
    parts = [coded.score()] if len(coded.coder_of) else []
    if others.rows:
        parts.append(_make_batch(others.rows))
    if not parts:
        return ScoredBatch(pa.RecordBatch.from_pylist([], schema=SCORES))
    joined = pa.Table.from_batches(parts)
    places = np.concatenate((np.asarray(coded.places, dtype=np.int64), np.array(others.places, dtype=np.int64)))
    if np.any(np.diff(places) < 0):
        joined = joined.take(pa.array(np.argsort(places, kind="stable")))
    return ScoredBatch(joined.combine_chunks().to_batches()[0], tuple(others.problems), others.ordinary)


def _make_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    try:
        return pa.RecordBatch.from_pylist(rows, schema=SCORES)
    except (UnicodeEncodeError, OverflowError):
        return pa.RecordBatch.from_pylist([_storable(row) for row in rows], schema=SCORES)


def _storable(value: Any) -> Any:
    """Return a value that Arrow can hold: half a surrogate pair is escaped, and a number that is too large is null."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {name: _storable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value
