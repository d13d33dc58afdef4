"""Assert that a path is right, in a test or anywhere else.

assert_path("farm/threshold", calls)
assert_path(task, calls, min_pc=0.9, max_harm=1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from corepath.episode import Episode
from corepath.errors import count
from corepath.notation import parser
from corepath.notation.call import Call
from corepath.play.recorder import Recorder, notify_watcher, resolve_task
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task

MOST_LINES: Final = 100
"""Maximum number of explanation lines that a failure prints."""

_ROUNDING: Final = 1e-12


class Limits(TypedDict, total=False):
    """Limits for `assert_path`, whose docstring explains the defaults."""

    min_pc: float
    min_pc_ktc: float
    min_prefix_criticality: float
    min_harm_free: float
    min_efficiency: float
    min_directness: float
    min_pc_hlr: float
    max_harm: int
    """How many calls may be harmful. The default is 0, or no limit if `min_pc` is below 1."""
    max_calls: int
    accepted: bool
    """Whether the task must be completed. The default is True, or False if `min_pc` is below 1."""
    state_match: bool
    response_match: bool
    answer_match: bool


def assert_path(
    task: Task | str | Path,
    calls: Episode | Recorder | Iterable[Call | str],
    scoring: Scoring | None = None,
    **limits: Unpack[Limits],
) -> Score:
    """Score a path, and raise `AssertionError` with an explanation if it breaks a limit.

    By default, the path must be perfect: accepted, no harm, and PC 1. `max_harm=1` allows one harmful call, and
    `accepted=False` allows a path that stops early. Such paths cannot have PC 1, so both options drop that limit. A
    `min_pc` below 1 allows any harm or early stop that keeps PC high enough. All other limits are checked in addition.
    An undefined score is below any limit.

    If `scoring` is None, a recorder from `corepath.episode` is scored with its own scoring options, and anything else
    with the paper's.
    """
    __tracebackhide__ = True
    _check_limits(limits)
    found_task, episode, found = judge(task, calls, scoring)
    notify_watcher(found_task, episode, found)
    broken = _find_broken(found, dict(limits))
    if broken:
        path = episode if isinstance(calls, (Episode, Recorder)) else episode.calls  # plain calls have no final answer
        raise AssertionError(_describe_failure(found_task, path, found, broken))
    return found


def judge(
    task: Task | str | Path, calls: Episode | Recorder | Iterable[Call | str], scoring: Scoring | None = None
) -> tuple[Task, Episode, Score]:
    """Score a path, and return the task, the episode and the score."""
    found = _find_task(task, calls)
    episode = _make_episode(found, calls)
    return found, episode, score(found, episode, scoring or (calls.scoring if isinstance(calls, Recorder) else PAPER))


def _find_task(task: Task | str | Path, calls: Episode | Recorder | Iterable[Call | str]) -> Task:
    """Find the variant of the task that was played. Raises `ValueError` if the episode is from another task."""
    if isinstance(calls, Recorder) and task in (calls.task.id, calls.task):
        return calls.task
    if not isinstance(calls, (Episode, Recorder)):
        return resolve_task(task)
    episode = calls.episode if isinstance(calls, Recorder) else calls
    found = resolve_task(task, episode.seed or 0)
    if episode.task and found.id and episode.task != found.id:
        raise ValueError(f"the episode is of task '{episode.task[:120]}', not of '{found.id}'")
    return found


def _make_episode(task: Task, calls: Episode | Recorder | Iterable[Call | str]) -> Episode:
    """Return `calls` as an episode: the recorder's episode, the episode itself, or a new episode with the calls."""
    if isinstance(calls, Recorder):
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


def _find_broken(found: Score, limits: dict[str, Any]) -> list[str]:
    """Return a message for each limit that the score breaks."""
    messages = (_check_limit(found, name, limit) for name, limit in _add_defaults(limits).items())
    return [message for message in messages if message is not None]


def _add_defaults(limits: dict[str, Any]) -> dict[str, Any]:
    """Add the limits for a perfect path, unless `limits` relaxes them."""
    relaxed = limits.get("max_harm", 0) > 0 or not limits.get("accepted", True)
    perfect = {"accepted": True, "max_harm": 0} if limits.get("min_pc", 1) == 1 else {}
    return {**perfect, **({} if relaxed else {"min_pc": 1.0}), **limits}


def _check_limit(found: Score, name: str, limit: Any) -> str | None:
    """Return a message if the score breaks the limit, or None if the score is within the limit."""
    if name == "accepted":
        missing = f"the task is not completed (missing steps: {found.missing_steps})"
        return missing if limit and not found.accepted else None
    if name.startswith("max_"):
        what, number = ("harmful calls", found.harm_count) if name == "max_harm" else ("calls", found.length)
        return f"{what}: {number}, wanted at most {limit} ({name})" if number > limit else None
    if name.startswith("min_"):
        return _check_minimum(found, name, limit)
    value = getattr(found, name)
    return None if value is limit else f"{name} is {'undefined' if value is None else value}, wanted {limit}"


def _check_minimum(found: Score, name: str, limit: float) -> str | None:
    key = name.removeprefix("min_")
    value = getattr(found, key)
    if value is not None and value >= limit - _ROUNDING:
        return None
    return f"{key} is {'undefined' if value is None else f'{value:.3f}'}, wanted at least {limit:g} ({name})"


def _describe_failure(task: Task, path: Episode | tuple[Call, ...], found: Score, broken: list[str]) -> str:
    """Return the assertion message: an explanation and the broken limits.

    If the path is accepted without harm, the limits come first.
    """
    from corepath.explanation import explain  # noqa: PLC0415  # only a failure needs it

    limits = "; ".join(broken)
    text = shorten(str(explain(task, path, scored=found)))
    name = f"{task.id}: " if task.id else ""
    if found.accepted and not found.harm_count:
        return f"{name}{limits}\n{text}"
    return f"{name}{text}\n\n{limits}"


def shorten(text: str) -> str:
    """Cut the middle lines out of long text, and say how many are missing."""
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    first, last = MOST_LINES // 2, MOST_LINES // 4
    dropped = len(lines) - first - last
    return "\n".join([*lines[:first], f"  … {count(dropped, 'line')} left out …", *lines[-last:]])


def _check_limits(limits: Mapping[str, Any]) -> None:
    """Raise `TypeError` if a limit is unknown, and `ValueError` if its value is invalid."""
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
