"""A run on disk: `manifest.json` says what is run, `episodes.jsonl` has one finished episode a line.

A line is written in one go, so that a run that is killed loses at most the episode that was being written; that is seen
when the folder is opened again. Only one process writes to a folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import InputError, Problem
from corepath.files.episodes import EpisodeLine, episode_json, read_episodes
from corepath.runs.record import FORMAT, VERSION, read_manifest, wrong_episode
from corepath.runs.redact import Redaction

MANIFEST: Final = "manifest.json"
EPISODES: Final = "episodes.jsonl"
SET_ASIDE: Final = "set-aside.jsonl"

Key = tuple[str | None, str, int]
"""What tells episodes of a run apart: agent, task, epoch."""


def key_of(episode: Episode) -> Key:
    """What tells the episode apart in its run."""
    return episode.agent, episode.task, episode.epoch


@dataclass
class RunFolder:
    """A run's folder. `redact` is applied to every record before it is written."""

    path: Path
    manifest: Mapping[str, Any]
    redact: Redaction | None = None
    _file: int | None = field(default=None, init=False, repr=False)

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, Any]) -> RunFolder:
        """A new run; its folder must be empty or not there yet."""
        if why := why_not_new(path):
            raise _wrong(path, why)
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path, {"format": FORMAT, "version": VERSION, **manifest})
        replace_file(path / MANIFEST, json.dumps(made.manifest, indent=1) + "\n")
        return made

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that is there."""
        if not is_run(path):
            raise _wrong(path, f"no run here: a run's folder has a {MANIFEST}")
        return cls(path, read_manifest(path / MANIFEST))

    def lines(self) -> Iterator[EpisodeLine]:
        """The lines of finished episodes, in the order in which they ended: each an episode of this run, or a problem.

        A line that a kill cut short is none.
        """
        file = self.path / EPISODES
        try:
            if not file.exists() or file.stat().st_size == 0:
                return
            whole = _whole_lines(file)
        except OSError as error:
            raise _wrong(file, f"cannot be read: {error.strerror}") from None
        first: dict[Key, int] = {}
        for line in read_episodes(file):
            if line.line > whole:
                return
            if line.episode is None:
                yield line
                continue
            wrong = wrong_episode(line.episode, self.manifest)
            if wrong is None and (there := first.setdefault(key_of(line.episode), line.line)) != line.line:
                wrong = f"the same agent, task and epoch as in line {there}"
            yield line if wrong is None else EpisodeLine(line.line, None, Problem(str(file), line.line, 1, wrong))

    def episodes(self) -> Iterator[Episode]:
        """The good ones of the lines."""
        return (line.episode for line in self.lines() if line.episode is not None)

    @contextmanager
    def writing(self) -> Iterator[RunFolder]:
        """Hold the folder for writing; a line that a kill cut short is taken off first."""
        lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _wrong(self.path, "another process is writing to this run; wait until it has ended") from None
            try:
                _mend(self.path / EPISODES)
                self._file = _open_to_append(self.path / EPISODES)
            except OSError as error:
                raise _wrong(self.path / EPISODES, f"cannot be written: {error.strerror}") from None
            yield self
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None
            os.close(lock)

    def append(self, *episodes: Episode) -> None:
        """Write finished episodes; they are in the system's hands when this returns."""
        assert self._file is not None, "append inside `with folder.writing()`"
        data = b"".join(self.line(episode) for episode in episodes)
        before = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            os.ftruncate(self._file, before)  # no half of a line, to which the next one would be written
            raise

    def line(self, episode: Episode) -> bytes:
        """The episode as it is written."""
        text = episode_json(episode)
        if self.redact is not None:
            text = json.dumps(self.redact(json.loads(text)))
        return text.encode() + b"\n"

    def set_aside(self, numbers: Collection[int]) -> None:
        """Move lines to `set-aside.jsonl`, as they are, so that their episodes are played again; nothing is lost."""
        assert self._file is not None, "set_aside inside `with folder.writing()`"
        if not numbers:
            return
        with (self.path / EPISODES).open("rb") as file:
            lines = list(enumerate(file, start=1))
        with (self.path / SET_ASIDE).open("ab") as aside:
            aside.writelines(line for number, line in lines if number in numbers)
        replace_file(self.path / EPISODES, b"".join(line for number, line in lines if number not in numbers))
        os.close(self._file)
        self._file = _open_to_append(self.path / EPISODES)

    def replace(self, episodes: Iterable[Episode], manifest: Mapping[str, Any] | None = None) -> None:
        """Put other episodes, and another manifest, in the place of those that are there; all or nothing a file."""
        if manifest is not None:  # first: it knows the tasks as they were played and as they are scored
            replace_file(self.path / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        replace_file(self.path / EPISODES, "".join(episode_json(episode) + "\n" for episode in episodes))


def new_folder(begins: str = "") -> Path:
    """A folder that is not there yet, named after the time."""
    base = Path("runs") / (begins + time.strftime("%Y-%m-%d-%H%M%S"))
    also = (base.with_name(f"{base.name}-{number}") for number in count(2))
    return next(path for path in chain([base], also) if not path.exists())


def why_not_new(path: Path) -> str | None:
    """Why a run cannot begin in a folder; None where it can."""
    if path.exists() and not path.is_dir():
        return "is a file; give another place with --out"
    if is_run(path):
        return f"holds a run; go on with it: corepath run --resume {path}; or give another with --out"
    if path.exists() and any(not one.name.startswith((".lock", f".{MANIFEST}")) for one in path.iterdir()):
        return "is not empty; give another folder with --out"
    return None


def is_run(path: Path) -> bool:
    """Whether there is a run in the folder."""
    return (path / MANIFEST).is_file()


def replace_file(path: Path, text: str | bytes) -> None:
    """Write a file so that there is always the old one or the new one, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _open_to_append(file: Path) -> int:
    return os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)


def _whole_lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(line.endswith(b"\n") for line in lines)


def _mend(file: Path) -> None:
    """Take off what stands after the last end of a line: a kill cut it short."""
    if not file.exists():
        return
    with file.open("rb+") as data:
        end = data.seek(0, os.SEEK_END)
        place = end
        while place > 0:
            start = max(0, place - 65536)
            data.seek(start)
            found = data.read(place - start).rfind(b"\n")
            if found >= 0:
                place = start + found + 1
                break
            place = start
        if place < end:
            data.truncate(place)


def _wrong(path: Path, message: str) -> InputError:
    return InputError([Problem(str(path), 1, 1, message)])
