"""Asserting that a path is right, in a test or anywhere else.

assert_path("farm/threshold", calls)
assert_path(task, calls, min_pc=0.9, max_harm=1)
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from corepath.episode import Episode
from corepath.errors import count
from corepath.notation import parser
from corepath.notation.call import Call
from corepath.play.recorder import Loop, task_of, tell
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task

MOST_LINES: Final = 100
"""Lines of an explanation that a failure prints."""

_ROUNDING: Final = 1e-12


class Limits(TypedDict, total=False):
    """What a path must keep; what is not named here is asked for as `assert_path` says."""

    min_pc: float
    min_pc_ktc: float
    min_prefix_criticality: float
    min_harm_free: float
    min_efficiency: float
    min_directness: float
    min_pc_hlr: float
    max_harm: int
    """How many calls may be harmful; 0 unless this or a lower `min_pc` is given."""
    max_calls: int
    accepted: bool
    """Whether the task must be completed; it must unless this is False, or a lower `min_pc` is given."""
    state_match: bool
    response_match: bool
    answer_match: bool


def assert_path(
    task: Task | str | Path,
    calls: Episode | Loop | Iterable[Call | str],
    scoring: Scoring | None = None,
    **limits: Unpack[Limits],
) -> Score:
    """Raise `AssertionError` with the explanation unless the path is perfect: accepted, no harm, and PC 1. Its score.

    `max_harm=1` allows a harmful call, and `accepted=False` a path that stops early; as neither can have PC 1, that is
    then asked for only with `min_pc`. A `min_pc` below 1 allows both, as far as it goes. Every other limit is asked for
    besides. An undefined score is below any limit. An episode that was played is scored as it was then, all others the
    paper's way, unless `scoring` says how.
    """
    __tracebackhide__ = True
    wanted = _checked(dict(limits))
    meant, episode, found = judged(task, calls, scoring)
    tell(meant, episode, found)
    broken = _broken(found, wanted)
    if broken:
        told = episode if isinstance(calls, (Episode, Loop)) else episode.calls  # of calls alone no answer is known
        raise AssertionError(_failure(meant, told, found, broken))
    return found


def judged(
    task: Task | str | Path, calls: Episode | Loop | Iterable[Call | str], scoring: Scoring | None = None
) -> tuple[Task, Episode, Score]:
    """The task and the episode that are meant, and the score."""
    meant = _task(task, calls)
    episode = _episode(meant, calls)
    return meant, episode, score(meant, episode, scoring or (calls.scoring if isinstance(calls, Loop) else PAPER))


def _task(task: Task | str | Path, calls: Episode | Loop | Iterable[Call | str]) -> Task:
    """The task that is meant, in the variant that an episode is of."""
    if isinstance(calls, Loop) and task in (calls.task.id, calls.task):
        return calls.task
    if not isinstance(calls, (Episode, Loop)):
        return task_of(task)
    episode = calls.episode if isinstance(calls, Loop) else calls
    seed = episode.seed or 0
    meant = task_of(task, seed)
    if episode.task and meant.id and episode.task != meant.id:
        raise ValueError(f"the episode is of task '{episode.task[:120]}', not of '{meant.id}'")
    return meant


def _episode(task: Task, calls: Episode | Loop | Iterable[Call | str]) -> Episode:
    """The episode that is meant: itself, that of a loop, or one of these calls."""
    if isinstance(calls, Loop):
        return calls.episode
    if isinstance(calls, Episode):
        return calls
    if isinstance(calls, str):
        raise TypeError(f"calls are a list, such as [{calls[:60]!r}], not one text")
    made = tuple(parser.call(call) if isinstance(call, str) else call for call in calls)
    for call in made:
        if not isinstance(call, Call):
            raise TypeError(f"a call is a Call, or text such as 'pay(amount=5)', not {call!r:.120}")
    return Episode(task.id, made)


def _broken(found: Score, wanted: dict[str, Any]) -> list[str]:
    """Each limit that a score does not keep, in words."""
    relaxed = wanted.get("max_harm", 0) > 0 or not wanted.get("accepted", True)
    perfect = {"accepted": True, "max_harm": 0} if wanted.get("min_pc", 1) == 1 else {}
    full = {**perfect, **({} if relaxed else {"min_pc": 1.0}), **wanted}
    broken: list[str] = []
    for name, limit in full.items():
        what = name.removeprefix("min_").removeprefix("max_")
        if name == "accepted":
            if limit and not found.accepted:
                broken.append(f"the task is not completed (missing steps: {found.missing_steps})")
        elif name in ("max_harm", "max_calls"):
            value = found.harm_count if name == "max_harm" else found.length
            if value > limit:
                calls = "harmful calls" if name == "max_harm" else "calls"
                broken.append(f"{calls}: {value}, wanted at most {limit} ({name})")
        elif name.startswith("min_"):
            value = getattr(found, what)
            if value is None or value < limit - _ROUNDING:
                is_now = "undefined" if value is None else f"{value:.3f}"
                broken.append(f"{what} is {is_now}, wanted at least {limit:g} ({name})")
        elif getattr(found, name) is not limit:
            value = getattr(found, name)
            broken.append(f"{name} is {'undefined' if value is None else value}, wanted {limit}")
    return broken


def _failure(task: Task, told: Episode | tuple[Call, ...], found: Score, broken: list[str]) -> str:
    """The cause and the steps; where the path itself is right, the limits that it breaks come first."""
    from corepath.explanation import explain  # noqa: PLC0415  # a path that is right needs no explanation

    limits = "; ".join(broken)
    text = shortened(str(explain(task, told, scored=found)))
    name = f"{task.id}: " if task.id else ""
    if found.accepted and not found.harm_count:
        return f"{name}{limits}\n{text}"
    return f"{name}{text}\n\n{limits}"


def shortened(text: str) -> str:
    """Text of many lines without its middle; how much is left out is said."""
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    first, last = MOST_LINES // 2, MOST_LINES // 4
    dropped = len(lines) - first - last
    return "\n".join([*lines[:first], f"  … {count(dropped, 'line')} left out …", *lines[-last:]])


def _checked(limits: dict[str, Any]) -> dict[str, Any]:
    known = Limits.__annotations__
    for name, value in limits.items():
        if name not in known:
            raise TypeError(f"assert_path has no limit '{name}'; it has {', '.join(known)}")
        if name.startswith("min_"):
            ok, wanted = _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"
        elif name.startswith("max_"):
            ok, wanted = _is_number(value) and value >= 0 and value == int(value), "a whole number of 0 or more"
        else:
            ok, wanted = isinstance(value, bool), "True or False"
        if not ok:
            raise ValueError(f"assert_path: {name} must be {wanted}, not {value!r}")
    return limits


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
