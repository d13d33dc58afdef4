"""Keep little of an episode in memory, and read the rest again from its file when it is needed."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from struct import Struct, pack
from sys import intern
from tempfile import TemporaryFile
from typing import Any, Final, Protocol
from weakref import WeakSet, finalize

from corepath.episode import Episode, reward_of
from corepath.errors import CorepathError
from corepath.files.episodes import EpisodeLine, read_episodes
from corepath.notation.call import Call
from corepath.scoring.options import Scoring

MOST_OPEN: Final = 100
"""The most files that are kept open. Further files are opened again each time."""
TAKEN: Final = ("seconds", "usage")
"""The keys in an episode's record that say what it took. They stay in memory."""
MOST_SHARED: Final = 2**14
"""How many of the latest values are looked through for equal ones."""
_CHUNK: Final = 1 << 16
_HARM: Final = ("index", "kind", "effected", "again", "severity", "rule")
_RULE: Final = ("rule", "state")


class EpisodeFile:
    """An episode file whose episodes are read again by their offset.

    The file stays open, so that it can still be read after it was deleted or replaced. A file that can be read only
    once, e.g. a pipe, is copied to a temporary file. `place` is what the user named: the file, or the folder of its
    run. `scoring` returns the options for an episode, and `complete` scores it as it was scored when it was loaded.
    """

    _open: Final[WeakSet[EpisodeFile]] = WeakSet()

    def __init__(
        self,
        path: Path,
        place: str,
        scoring: Callable[[Episode], Scoring],
        complete: Callable[[Episode], Episode | None],
    ) -> None:
        self.path = path
        self.place = place
        self.scoring = scoring
        self.complete = complete
        self._last: tuple[int, Episode] | None = None
        self._last_complete: tuple[int, Episode] | None = None
        self._descriptor = _open_file(path) if len(self._open) < MOST_OPEN or not path.is_file() else None
        if self._descriptor is not None:
            self._open.add(self)
            finalize(self, os.close, self._descriptor)

    def lines(self) -> Iterator[EpisodeLine]:
        """Yield the lines of the file. They are read from its beginning."""
        if self._descriptor is None:
            yield from read_episodes(self.path)
            return
        with os.fdopen(self._descriptor, "rb", closefd=False) as stream:
            stream.seek(0)
            yield from read_episodes(self.path, stream)

    def read(self, offset: int) -> Episode:
        """Read the episode at an offset, and score it. Raises `CorepathError` if it is no longer there."""
        if self._last_complete is None or self._last_complete[0] != offset:
            self._last_complete = offset, self._there(self.complete(self.read_unscored(offset)))
        return self._last_complete[1]

    def read_unscored(self, offset: int) -> Episode:
        """Read the episode at an offset as it is. Raises `CorepathError` if it is no longer there."""
        if self._last is None or self._last[0] != offset:
            line = next(read_episodes(self.path, BytesIO(self._line(offset))))
            self._last = offset, self._there(line.episode)
        return self._last[1]

    def _there(self, episode: Episode | None) -> Episode:
        if episode is None:
            raise CorepathError(f"{self.path}: an episode is no longer there; the file was changed meanwhile")
        return episode

    def _line(self, offset: int) -> bytes:
        """Return the bytes from an offset to the end of the line."""
        if self._descriptor is None:
            try:
                with self.path.open("rb") as stream:
                    stream.seek(offset)
                    return stream.readline()
            except OSError as error:
                raise CorepathError(f"{self.path}: cannot be read: {error.strerror}") from None
        parts: list[bytes] = []
        while chunk := os.pread(self._descriptor, _CHUNK, offset):
            line, newline, _ = chunk.partition(b"\n")
            parts.append(line)
            if newline:
                break
            offset += len(chunk)
        return b"".join(parts)


def _open_file(path: Path) -> int | None:
    """Open a file, or a temporary copy if it cannot be read twice. Returns None if it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    with os.fdopen(descriptor, "rb") as once, TemporaryFile() as copy:
        copyfileobj(once, copy)
        copy.flush()
        return os.dup(copy.fileno())


class Stored(Protocol):
    """Where an episode is stored, and how it is read from there."""

    @property
    def file(self) -> EpisodeFile:
        """The file with the episode."""

    @property
    def number(self) -> int:
        """The number of the episode in its place, from 1."""

    @property
    def content(self) -> int:
        """A hash of what the agent did and was told."""

    @property
    def lost(self) -> str | None:
        """Why the episode that was scored is no longer at hand, or None if it is."""

    def read(self) -> Episode:
        """Read the whole episode, and score it."""

    def read_unscored(self) -> tuple[Episode, Scoring]:
        """Read the whole episode as it is recorded, and return it with the options by which it is scored."""


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """Where an episode is stored.

    `number` counts the episodes of the file from 1, and `content` is a hash of what the agent did and was told.
    """

    file: EpisodeFile
    offset: int
    number: int
    content: int
    lost: None = None

    def read(self) -> Episode:
        """Read the whole episode, and score it."""
        return self.file.read(self.offset)

    def read_unscored(self) -> tuple[Episode, Scoring]:
        """Read the whole episode as it is recorded, and return it with the options by which it is scored."""
        episode = self.file.read_unscored(self.offset)
        return episode, self.file.scoring(episode)


def content_hash(episode: Episode) -> int:
    """Return a hash of all in an episode that its scores and its explanation depend on, beside its task.

    Episodes of the same task with equal hashes differ at most in who played them, when, and at what cost.
    """
    parts = [
        episode.params, episode.answer, episode.outcome, episode.failure, episode.mistake, episode.unasked,
        [_call_parts(call) for call in episode.calls], [_call_parts(call) for call in episode.other_calls],
        [vars(message) for message in episode.messages],
    ]  # fmt: skip
    text = json.dumps(parts, default=repr)
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest())


def _call_parts(call: Call) -> list[Any]:
    """Return the parts of a call that count. Its id is random in many sources, and says nothing."""
    return [call.tool, call.arguments, call.result, call.error, call.turn, call.time, call.extra]


# What stays in memory


class Compact(Mapping[str, Any]):
    """A read-only mapping that takes little memory: its numbers are packed, and equal ones have the same keys.

    `compact` makes it. A number's place is among `numbers`, and that of any other value is among `others`.
    """

    __slots__ = ("_numbers", "_others", "_shape")

    def __init__(self, shape: _Shape, numbers: bytes, others: tuple[Any, ...]) -> None:
        self._shape, self._numbers, self._others = shape, numbers, others

    def __getitem__(self, key: str) -> Any:
        kind, place = self._shape[key]
        if kind is None:
            return self._others[place]
        (number,) = _NUMBER.unpack_from(self._numbers, place * _NUMBER.size)
        return number if kind is float else kind(number)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or `default` if there is none."""
        return self[key] if key in self._shape else default

    def __contains__(self, key: object) -> bool:
        return key in self._shape

    def __iter__(self) -> Iterator[str]:
        return iter(self._shape)

    def __len__(self) -> int:
        return len(self._shape)

    def __hash__(self) -> int:
        return hash((self._numbers, self._others))

    def __repr__(self) -> str:
        return repr(dict(self))


_Shape = Mapping[str, tuple[type | None, int]]
"""The type and the place of each value. The type is None for values that are no numbers."""
_NUMBER: Final = Struct("d")
_LARGEST: Final = 2**53
"""Whole numbers beyond this are not packed, as they may not fit."""


def compact(items: Mapping[str, Any]) -> Compact:
    """Return the items as a compact mapping. Their values are plain, i.e. neither lists nor dicts."""
    kinds = tuple(map(_kind_of, items.values()))
    pairs = [*zip(kinds, items.values(), strict=True)]
    numbers = [value for kind, value in pairs if kind is not None]
    others = tuple(value for kind, value in pairs if kind is None)
    return _compact(_same(tuple(items)), _same(kinds), pack(f"{len(numbers)}d", *numbers), _same(others))


def _kind_of(value: Any) -> type | None:
    kind = type(value)
    packed = kind in (bool, float) or (kind is int and -_LARGEST < value < _LARGEST)
    return kind if packed else None


@lru_cache(maxsize=MOST_SHARED)
def _compact(keys: tuple[str, ...], kinds: tuple[type | None, ...], numbers: bytes, others: tuple[Any, ...]) -> Compact:
    """Return a mapping, the same one for equal arguments if it was made not long ago."""
    return Compact(_shape(keys, kinds), numbers, others)


@lru_cache(maxsize=MOST_SHARED)
def _shape(keys: tuple[str, ...], kinds: tuple[type | None, ...]) -> _Shape:
    places: Counter[bool] = Counter()
    shape = {}
    for key, kind in zip(keys, kinds, strict=True):
        shape[key] = kind, places[kind is None]
        places[kind is None] += 1
    return shape


@lru_cache(maxsize=MOST_SHARED)
def _same(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a tuple, the same one for equal values if it was seen not long ago."""
    return values


def shorten(episode: Episode) -> Episode:
    """Return what tables need of an episode: its names, its outcome, its scores, and what it took.

    Calls, messages and everything else are left out. Each harm keeps its kind and effect, and gets its call's `tool`.
    """
    return Episode(
        task=episode.task,
        calls=(),
        agent=episode.agent,
        epoch=episode.epoch,
        seed=episode.seed,
        outcome=None if episode.outcome is None else intern(episode.outcome),
        failure=_plain_items(episode.failure),
        reward=reward_of(episode),
        mistake=None if episode.mistake is None else intern(episode.mistake),
        unasked=episode.unasked,
        params=_NOTHING,
        scores=_shorten_scores(episode),
        extra=_shorten_extra(episode.extra),
    )


_NOTHING: Final[Mapping[str, Any]] = {}


def _shorten_scores(episode: Episode) -> Mapping[str, Any]:
    kept: dict[str, Any] = dict(_plain_items(episode.scores))
    harms, rules = episode.scores.get("harms"), episode.scores.get("rules")
    if isinstance(harms, (list, tuple)):
        kept["harms"] = tuple(_shorten_harm(harm, episode) for harm in harms)
    if isinstance(rules, (list, tuple)):
        kept["rules"] = tuple(_plain_items({name: one[name] for name in _RULE}) for one in rules)
    return compact(kept)


def _shorten_harm(harm: Mapping[str, Any], episode: Episode) -> Compact:
    """Return a harm's kind and effect with its call's tool. Harms in a file may have any form."""
    kept = {name: value for name in _HARM if name in harm and _is_plain(value := harm[name])}
    index = kept.get("index")
    if isinstance(index, int) and 0 <= index < len(episode.calls):
        kept["tool"] = intern(episode.calls[index].tool)
    return compact(kept)


def _shorten_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    taken = {name: extra[name] for name in TAKEN if name in extra}
    if isinstance(usage := taken.get("usage"), dict):
        taken["usage"] = _plain_items(usage)
    return _plain_items(taken) if taken else _NOTHING


def _plain_items(items: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the items whose values are plain, as a compact mapping."""
    kept = {name: value for name, value in items.items() if _is_plain(value)}
    return compact(kept) if kept else _NOTHING


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, Compact))
