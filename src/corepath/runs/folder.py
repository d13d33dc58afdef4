"""A run folder: `manifest.json` holds the plan, and `episodes.jsonl` holds one finished episode per line.

A run that is killed loses at most the episode that it was writing. Readers skip the incomplete last line, and the next
writer drops it. Only one process at a time can write to a folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import InputError, Problem
from corepath.files.episodes import EpisodeLine, episode_json, read_episodes
from corepath.runs.episode_check import episode_error
from corepath.runs.manifest import FORMAT, VERSION, read_manifest
from corepath.runs.redaction import Redaction
from corepath.world.recall import Recall

MANIFEST: Final = "manifest.json"
EPISODES: Final = "episodes.jsonl"
SET_ASIDE: Final = "set-aside.jsonl"
_PATIENCE: Final = 3.0
"""How many seconds to wait for the lock."""

Key = tuple[str | None, str, int]
"""The agent, task and epoch that identify an episode within a run."""


def key_of(episode: Episode) -> Key:
    """Return the agent, task and epoch that identify an episode within a run."""
    return episode.agent, episode.task, episode.epoch


@dataclass
class RunFolder:
    """A run folder. If `redact` is set, it is applied to every record before the record is written."""

    path: Path
    manifest: Mapping[str, Any]
    redact: Redaction | None = None
    _file: int | None = field(default=None, init=False, repr=False)

    @classmethod
    def create(cls, path: Path, manifest: Mapping[str, Any]) -> RunFolder:
        """Create a new run's folder. An existing folder must be empty."""
        if why := why_not_new(path):
            raise _error(path, why)
        path.mkdir(parents=True, exist_ok=True)
        folder = cls(path, {"format": FORMAT, "version": VERSION, **manifest})
        replace_file(path / MANIFEST, json.dumps(folder.manifest, indent=1) + "\n")
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open an existing run's folder."""
        if not is_run(path):
            raise _error(path, f"no run here: a run's folder has a {MANIFEST}")
        return cls(path, read_manifest(path / MANIFEST))

    def lines(self) -> Iterator[EpisodeLine]:
        """Yield the lines of `episodes.jsonl` in order. Each has an episode, or a problem if it is not a valid episode.

        An incomplete last line, left by a killed process, is skipped.
        """
        file = self.path / EPISODES
        try:
            if not file.exists() or file.stat().st_size == 0:
                return
            whole = _whole_lines(file)
        except OSError as error:
            raise _error(file, f"cannot be read: {error.strerror}") from None
        first: dict[Key, int] = {}
        for line in read_episodes(file):
            if line.line > whole:
                return
            if line.episode is None:
                yield line
                continue
            wrong = episode_error(line.episode, self.manifest)
            if wrong is None and (there := first.setdefault(key_of(line.episode), line.line)) != line.line:
                wrong = f"the same agent, task and epoch as in line {there}"
            if wrong is None:
                yield replace(line, number=len(first))
            else:
                yield EpisodeLine(line.line, None, Problem(str(file), line.line, 1, wrong))

    def episodes(self) -> Iterator[Episode]:
        """Iterate over the episodes, skipping lines with problems."""
        return (line.episode for line in self.lines() if line.episode is not None)

    @contextmanager
    def writing(self) -> Iterator[RunFolder]:
        """Lock the folder for writing inside the `with` block, and first drop an incomplete last line."""
        lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            if not _take(lock):
                raise _error(self.path, "another process is writing to this run; wait until it has ended")
            try:
                _drop_incomplete_line(self.path / EPISODES)
                self._file = _open_to_append(self.path / EPISODES)
            except OSError as error:
                raise _error(self.path / EPISODES, f"cannot be written: {error.strerror}") from None
            yield self
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None
            os.close(lock)

    def append(self, *episodes: Episode, recall: Recall | None = None) -> None:
        """Append finished episodes. `recall` remembers the text of calls and scores that come again.

        Once this method returns, the episodes are safe even if the process is killed.
        """
        assert self._file is not None, "append inside `with folder.writing()`"
        data = b"".join(self.line(episode, recall) for episode in episodes)
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError:  # the next episode must not be appended to a partial line
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise

    def line(self, episode: Episode, recall: Recall | None = None) -> bytes:
        """Return the line to write for an episode."""
        text = episode_json(episode, recall)
        if self.redact is not None:
            text = json.dumps(self.redact(json.loads(text)))
        return text.encode() + b"\n"

    def set_aside(self, numbers: Collection[int]) -> None:
        """Move the lines with these numbers to `set-aside.jsonl`, so that their episodes are played again."""
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
        """Replace all episodes, and also the manifest unless `manifest` is None.

        Each file is replaced atomically.
        """
        if manifest is not None:  # comes first: its task hashes fit old and new episodes
            replace_file(self.path / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        replace_file(self.path / EPISODES, "".join(episode_json(episode) + "\n" for episode in episodes))


def new_folder(prefix: str = "") -> Path:
    """Return an unused path named after the current time, e.g. `runs/2026-01-31-120000`."""
    base = Path("runs") / (prefix + time.strftime("%Y-%m-%d-%H%M%S"))
    numbered = (base.with_name(f"{base.name}-{number}") for number in count(2))
    return next(path for path in chain([base], numbered) if not path.exists())


def why_not_new(path: Path) -> str | None:
    """Return the reason why a new run cannot use the folder, or None if it can."""
    if path.exists() and not path.is_dir():
        return "is a file; give another place with --out"
    if is_run(path):
        return f"holds a run; go on with it: corepath run --resume {path}; or give another with --out"
    if path.exists() and any(not one.name.startswith((".lock", f".{MANIFEST}")) for one in path.iterdir()):
        return "is not empty; give another folder with --out"
    return None


def is_run(path: Path) -> bool:
    """Whether the folder holds a run."""
    return (path / MANIFEST).is_file()


def replace_file(path: Path, text: str | bytes) -> None:
    """Write a file atomically: readers see the old content or the new content, never a mix."""
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


def _take(lock: int) -> bool:
    """Take the lock. The processes that a killed run started hold it a moment longer, so wait a little for them."""
    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > patience:
                return False
            time.sleep(0.05)
        else:
            return True


def _drop_incomplete_line(file: Path) -> None:
    """Truncate a file after its last complete line."""
    if not file.exists():
        return
    with file.open("rb+") as data:
        end = data.seek(0, os.SEEK_END)
        place = end
        while place > 0:
            start = max(0, place - 65536)
            data.seek(start)
            newline = data.read(place - start).rfind(b"\n")
            if newline >= 0:
                place = start + newline + 1
                break
            place = start
        if place < end:
            data.truncate(place)


def _error(path: Path, message: str) -> InputError:
    return InputError([Problem(str(path), 1, 1, message)])
