"""One agent on one task, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corepath.episode import ANSWERED, STEP_LIMIT, Episode, typed_fields
from corepath.errors import StepLimitError
from corepath.files.fingerprint import fingerprint
from corepath.play.session import Agent, Session
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import score
from corepath.task import Task
from corepath.world.exploring import Replay


def play(
    agent: Agent,
    task: Task,
    *,
    name: str | None = None,
    epoch: int = 0,
    seed: int = 0,
    scoring: Scoring = PAPER,
) -> Episode:
    """The agent on the task, recorded and scored; see its `scores`.

    An agent is a function that is given a `Session` and returns its final answer. What it raises is not caught.
    """
    known_as = name or str(getattr(agent, "__name__", "agent"))
    session = Session(task, seed_of(seed, known_as, task.id, epoch))
    ended, answer = ANSWERED, None
    try:
        answer = agent(session)
    except StepLimitError:
        ended = STEP_LIMIT
    return recorded(session, known_as, epoch=epoch, seed=seed, answer=answer, ended=ended, scoring=scoring)


def seed_of(seed: int, agent: str, task: str, epoch: int) -> str:
    """What an episode's chance is seeded with."""
    return f"{seed}:{agent}:{task}:{epoch}"


def recorded(
    session: Session,
    agent: str,
    *,
    epoch: int,
    seed: int,
    answer: Any,
    ended: str,
    scoring: Scoring,
    more: Mapping[str, Any] | None = None,
) -> Episode:
    """The episode of a session that is over, scored."""
    extra = {**(more or {}), **session.notes, "state": session.state}
    if session.clock is not None:
        extra["seconds"] = session.seconds
    return rescored(
        session.task,
        Episode(
            session.task.id, tuple(session.calls), agent, epoch, answer=answer, messages=tuple(session.messages),
            seed=seed, fingerprint=fingerprint(session.task), **typed_fields({"ended": ended, **extra}),
        ),
        scoring,
        session.replayed,
    )  # fmt: skip


def rescored(task: Task, episode: Episode, scoring: Scoring, replayed: Replay | None = None) -> Episode:
    """The episode with the scores that it has now. One that was played on another task is refused by `score`."""
    found = score(task, episode, scoring, replayed=replayed)
    return replace(episode, scoring=scoring.recorded, scores=found.to_dict())
