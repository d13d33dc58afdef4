"""The journal of an open episode: a file with the calls so far, in case the server is killed.

Journals are in the subfolder `open` of the run folder. Each line is an episode with only the new calls. The server
deletes a journal when the episode ends. The next server on the same folder turns the remaining journals into episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corepath.episode import Episode
from corepath.files.episodes import episode_json, read_episodes
from corepath.notation.call import Call
from corepath.play.session import Session
from corepath.task import Task
from corepath.values import is_number


@dataclass(frozen=True)
class Journal:
    """The content of a journal: an interrupted episode's agent, client and calls.

    `seconds` is the time from the start of the episode to the last call.
    """

    agent: str
    client: dict[str, str]
    calls: tuple[Call, ...]
    seconds: float


def write_journal(file: Path, news: Episode, client: dict[str, str]) -> None:
    """Append a line with the client and the new calls, which are in `news`."""
    with file.open("a", encoding="utf-8") as journal:
        journal.write(episode_json(replace(news, extra={"client": client})) + "\n")


def read_journal(file: Path) -> tuple[Journal | None, list[str]]:
    """Read a journal, and return it with a message for each problem.

    The journal is None if the file is empty or has no readable line. An unreadable file is renamed to
    `NAME.unreadable`.
    """
    lines = list(read_episodes(file))
    news = [line.episode for line in lines if line.episode is not None]
    if not news and file.stat().st_size:
        aside = file.replace(file.with_suffix(".unreadable"))
        return None, [f"{lines[0].problem}; it is kept as {aside}"]
    complete = lines[:-1]  # the last line may be cut short
    problems = [f"{line.problem}; the call in it is lost" for line in complete if line.problem is not None]
    if not news:
        return None, problems
    calls = tuple(call for one in news for call in one.calls)
    client = news[-1].extra.get("client")
    known = {name: str(text) for name, text in client.items()} if isinstance(client, dict) else {}
    return Journal(str(news[-1].agent), known, calls, _seconds(calls)), problems


def _seconds(calls: Sequence[Call]) -> float:
    at: Any = calls[-1].extra.get("at") if calls else None
    return at if is_number(at) and at >= 0 else 0.0


def replay(task: Task, calls: Sequence[Call]) -> Session:
    """Execute recorded calls in a new session. The returned session has the recorded results."""
    session = Session(task)
    for call in calls:
        session.call(call.tool, call.arguments)
    session.calls[:] = calls
    return session
