"""Play an episode: let an agent work on a task, then record and score the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corepath.episode import ANSWERED, STEP_LIMIT, Episode, typed_fields
from corepath.errors import StepLimitError
from corepath.files.fingerprint import fingerprint
from corepath.play.rehearsal import rehearsal_of
from corepath.play.session import Agent, Session
from corepath.rules.rule import Rule
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
    """Play a task with an agent and return the scored episode.

    An agent is a function that takes a `Session` and returns its final answer. Exceptions raised by the agent are not
    caught, except `StepLimitError`, which ends the episode.
    """
    agent_name = name or str(getattr(agent, "__name__", "agent"))
    session = Session(task, episode_seed(seed, agent_name, task.id, epoch))
    ended, answer = ANSWERED, None
    try:
        answer = agent(session)
    except StepLimitError:
        ended = STEP_LIMIT
    return record_episode(session, agent_name, epoch=epoch, seed=seed, answer=answer, ended=ended, scoring=scoring)


def episode_seed(seed: int, agent: str, task: str, epoch: int) -> str:
    """Return the seed for an episode's random numbers."""
    return f"{seed}:{agent}:{task}:{epoch}"


def record_episode(
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
    """Turn a session into a scored episode.

    `ended` says how the episode ended. `more` holds additional fields to record.
    """
    task, calls, replayed = session.task, tuple(session.calls), session.replayed
    if session.rehearsed:
        rehearsal = rehearsal_of(task)
        state, scores = rehearsal.public(replayed.end), rehearsal.score(calls, answer, scoring, replayed)
    else:
        state, scores = session.state, score(task, calls, scoring, answer=answer, replayed=replayed).to_dict()
    record = {"ended": ended, **(more or {}), **session.notes, "state": state}
    if session.clock is not None:
        record["seconds"] = session.seconds
    known = {**typed_fields(record), "scoring": scoring.recorded, "scores": scores}
    return Episode(
        task.id, calls, agent, epoch, answer=answer, messages=tuple(session.messages), seed=seed,
        fingerprint=fingerprint(task), **known,
    )  # fmt: skip


def rescore(
    task: Task, episode: Episode, scoring: Scoring, replayed: Replay | None = None, rules: Sequence[Rule] = ()
) -> Episode:
    """Return a copy of the episode with new scores.

    If the calls have already been executed, pass the outcome as `replayed`. A call that breaks one of the `rules` is
    harmful too. Raises `TaskError` if the episode was played on another version of the task, or if a rule forbids all
    that the task asks for.
    """
    found = score(task, episode, scoring, replayed=replayed, rules=rules)
    return replace(episode, scoring=scoring.recorded, scores=found.to_dict())
