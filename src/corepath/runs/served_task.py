"""A task that is served to clients. Its episodes are recorded, scored and written to a run folder."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from corepath.episode import STEP_LIMIT, Episode
from corepath.errors import InputError, Problem, StepLimitError, count
from corepath.files.lookup import Source
from corepath.notation.call import Call
from corepath.play.episode_origin import identity
from corepath.play.play import record_episode
from corepath.play.session import Session
from corepath.runs.folder import RunFolder, is_run
from corepath.runs.journal import read_journal, replay, write_journal
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring
from corepath.task import Task

STOPPED: Final = "stopped"
IDLE: Final = "idle"
INTERRUPTED: Final = "interrupted"
"""Additional outcomes: the server was stopped, the client went idle, or the server was killed."""

MOST_OPEN: Final = 1000
"""The most episodes that can be open at once."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}")


def open_folder(path: Path, source: Source, seed: int) -> RunFolder:
    """Open or create the run folder for a served task.

    An existing folder must be for the same task and seed.
    """
    manifest = {"kind": "serve", **Plan((source,), seed=seed).manifest()}
    if not is_run(path):
        return RunFolder.create(path, manifest)
    folder = RunFolder.open(path)
    if any(folder.manifest.get(key) != manifest[key] for key in ("kind", "tasks", "seed")):
        message = f"is not a run of serving '{source.id}', seed {seed}, as it is now; give another folder with --out"
        raise InputError([Problem(str(path), 1, 1, message)])
    return folder


@dataclass
class OpenEpisode:
    """An episode that a client is playing.

    `touched` is the time of the last request. `limited` is True once the step limit has been reached.
    """

    session: Session
    journal: Path
    client: dict[str, str]
    touched: float
    limited: bool = False


@dataclass(frozen=True)
class Refusal:
    """The reason why an episode cannot be played, and the HTTP status to respond with."""

    status: int
    message: str


@dataclass
class ServedTask:
    """A task that clients can play.

    `open` maps names to open episodes, and `over` has the names of finished episodes. The folder must be locked for
    writing. `tell` is called with a message when an episode ends or cannot be written. `idle` is how many seconds an
    episode may go without a request before it is ended.
    """

    task: Task
    folder: RunFolder
    tell: Callable[[str], None]
    seed: int = 0
    agent: str | None = None
    idle: float = 600.0
    open: dict[str, OpenEpisode] = field(default_factory=dict, init=False)
    over: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._epochs: Counter[str] = Counter()
        self._scoring = Scoring(**self.folder.manifest["scoring"])
        for episode in self.folder.episodes():
            self._count(episode)
        self._journals = self.folder.path / "open"
        self._journals.mkdir(exist_ok=True)
        for journal in sorted(self._journals.glob("*.jsonl")):
            self._recover(journal)

    # Playing

    def refusal(self, name: str) -> Refusal | None:
        """Return the reason why the episode called `name` cannot be played, or None if it is open or can begin."""
        if not _NAME.fullmatch(name):
            return Refusal(404, "the name of an episode consists of at most 80 letters, digits, '_', '-' and '.'")
        if name in self.over:
            return Refusal(410, f"episode '{name}' is over; begin another one under another name")
        if name not in self.open and len(self.open) >= MOST_OPEN:
            return Refusal(503, f"{len(self.open)} episodes are open, the most there can be; end one of them")
        return None

    def visit(self, name: str, client: dict[str, str]) -> None:
        """Record a request for an episode. The first request begins the episode.

        `client` has the client's name and version. It is ignored if the client is already known.
        """
        now = time.monotonic()
        current = self.open.get(name)
        if current is None:
            session = Session(self.task, clock=time.monotonic)
            current = self.open[name] = OpenEpisode(session, self._journals / f"{name}.jsonl", client, now)
            self._log(current)
        elif client and not current.client:
            current.client = client
            self._log(current)
        current.touched = now

    def call(self, name: str, tool: str, arguments: Any) -> Call:
        """Execute a call in an open episode and add it to the journal. Raises `StepLimitError` at the step limit."""
        current = self.open[name]
        try:
            call = current.session.call(tool, arguments)
        except StepLimitError:
            current.limited = True
            raise
        self._log(current, call)
        return call

    def origin(self, name: str) -> dict[str, Any]:
        """Return an open episode's identity, e.g. its task, agent and epoch.

        Every response carries this identity, so that logged responses can be imported as episodes.
        """
        agent = self._agent(self.open[name].client)
        of_task = identity(self.task, self.seed, self._scoring)
        return {**of_task, "agent": agent, "epoch": self._epochs[agent], "episode": name}

    # Ending

    def end(self, name: str, ended: str, answer: Any = None) -> Episode:
        """End an open episode: score it, write it to the folder, and report the scores with `tell`."""
        current = self.open[name]
        ended = STEP_LIMIT if current.limited else ended
        episode = self._keep(name, current.session, current.client, self._agent(current.client), ended, answer)
        del self.open[name]
        current.journal.unlink(missing_ok=True)
        self._say(_score_line(name, episode))
        return episode

    def end_all(self, ended: str, *, untouched: float = 0.0) -> None:
        """End all open episodes that have had no request for `untouched` seconds. `ended` is the reason to record."""
        now = time.monotonic()
        for name in [name for name, current in self.open.items() if now - current.touched >= untouched]:
            try:
                self.end(name, ended)
            except OSError as error:
                self._say(
                    f"{self.open[name].journal}: the episode cannot be written: {error.strerror}; the journal is kept"
                )

    def _agent(self, client: Mapping[str, str]) -> str:
        return self.agent or client.get("name") or "client"

    def _keep(
        self, name: str, session: Session, client: Any, agent: str, ended: str, answer: Any = None, **more: Any
    ) -> Episode:
        known = {"client": client} if client else {}
        episode = record_episode(
            session, agent, epoch=self._epochs[agent], seed=self.seed, answer=answer, ended=ended,
            scoring=self._scoring,
            more={"episode": name, **known, **more},
        )  # fmt: skip
        self.folder.append(episode)
        self._count(episode)
        return episode

    def _count(self, episode: Episode) -> None:
        agent = str(episode.agent)
        self._epochs[agent] = max(self._epochs[agent], episode.epoch + 1)
        self.over.add(str(episode.extra.get("episode")))

    def _say(self, text: str) -> None:
        with suppress(OSError):  # episodes are written even if the output is closed
            self.tell(text)

    # Journals

    def _log(self, current: OpenEpisode, *calls: Call) -> None:
        """Add a line with the client and new calls to an episode's journal."""
        try:
            write_journal(current.journal, Episode(self.task.id, calls, self._agent(current.client)), current.client)
        except OSError as error:
            self._say(f"{current.journal}: cannot be written: {error.strerror}; the episode goes on without it")

    def _recover(self, path: Path) -> None:
        """Turn a journal that a killed server left behind into an episode, and delete the journal."""
        name = path.name.removesuffix(".jsonl")
        journal, problems = read_journal(path)
        for problem in problems:
            self._say(problem)
        if journal is not None and name not in self.over:  # over: killed after writing the episode
            session = replay(self.task, journal.calls)
            client, agent = journal.client, journal.agent
            episode = self._keep(name, session, client, agent, INTERRUPTED, seconds=journal.seconds)
            self._say(f"recovered from {path}: {_score_line(name, episode)}")
        path.unlink(missing_ok=True)


def _score_line(name: str, episode: Episode) -> str:
    scores = episode.scores
    numbers = {"PC": "pc", "KTC": "pc_ktc", "Prefix": "prefix_criticality", "HLR": "pc_hlr"}
    listed = ", ".join(f"{short} {scores[key]:.3f}" for short, key in numbers.items())
    calls, harms = count(scores["length"], "call"), count(scores["harm_count"], "harm")
    accepted = "accepted" if scores["accepted"] else f"not accepted (−{scores['missing_steps']})"
    who = f"{episode.task} {episode.agent} #{episode.epoch}"
    return f"{who}, episode {name}, {episode.outcome}: {calls}, {harms}, {listed}, {accepted}"
