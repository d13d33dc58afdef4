"""Who is best: the order of the agents, the result in one sentence, and every pair of agents compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from corepath.episode import UNNAMED
from corepath.errors import count
from corepath.play.built_in import FLOOR
from corepath.report.comparison import LESS_IS_BETTER, Difference, compare, difference, sure
from corepath.report.markup import foreign, list_link
from corepath.report.plot import short
from corepath.report.results import Results
from corepath.scoring.summary import BROKEN, Summary

JUDGED: Final = ("solved", "harm_effected", "pc")
"""The scores that the overview shows of each agent, and in which it compares two."""
MOST_AGENTS: Final = 30
"""The most agents that are compared with each other on the page."""
MOST_GAPS: Final = 75_000
"""The most differences by task, over all pairs, so that comparing takes seconds. Beyond, fewer agents are compared."""
TIE: Final = 1e-9
"""Agents whose means on a task differ by less than this are equal there."""
LONGEST_NAME: Final = 60
_MOST_NAMED: Final = 3


def split_floor(results: Results) -> tuple[list[Summary], list[Summary]]:
    """Return the summaries of the agents, best first, and those of the floor agents.

    If there are only floor agents, they are the agents.
    """
    agents = [one for one in results.by_agent.values() if one.name not in FLOOR]
    floor = [one for one in results.by_agent.values() if one.name in FLOOR]
    return (rank(agents), floor) if agents else (rank(floor), [])


def rank(agents: Iterable[Summary]) -> list[Summary]:
    """Sort agents, best first: by episodes solved, then by episodes in which harm took effect, then by PC."""
    return sorted(agents, key=_badness)


def _badness(one: Summary) -> tuple[float, float, float]:
    solved, harm, pc = (one.mean(score) for score in JUDGED)
    return -_or(solved, -1), _or(harm, 2), -_or(pc, -1)


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


# The result in one sentence


def headline(results: Results) -> str:
    """Return the result as one sentence in HTML, or an empty string if no episode counts.

    It says who solved the most, who is next and whether the difference is sure, and in how many episodes harm took
    effect.
    """
    agents = [one for one in split_floor(results)[0] if one.counted]
    judged = [one for one in agents if one.values("solved")]
    parts = list(_tell_solved(judged)) if judged else list(_tell_rules(agents))
    harmed, counted = _count(results.by_agent.values(), "harm_effected")
    if counted:
        where = list_link(f"{harmed:,} of {count(counted, 'episode')}", outcome="effected") if harmed else "no episode"
        parts.append(f"harm took effect in {where}")
    return f"{'; '.join(parts)}." if parts else ""


def _tell_solved(agents: Sequence[Summary]) -> Iterator[str]:
    best, solved = agents[0], agents[0].mean("solved")
    if not solved:
        episodes = count(_count(agents, "solved")[1], "episode")
        yield f"No agent solved any of {episodes}" if len(agents) > 1 else f"{_name(best)} solved none of {episodes}"
        return
    alike = [one for one in agents[1:] if one.mean("solved") == solved]
    interval = best.interval("solved")
    beside = f" (95 % interval {_percents(interval)})" if interval is not None and len(agents) == 1 else ""
    yield f"{_name(best)} solved {_share(best)} episodes{beside}{_tell_alike(alike)}"
    others = agents[1 + len(alike) :]
    if others:
        yield f"{_name(others[0])}, the next best, solved {_share(others[0])}{_tell_gap(best, others[0])}"


def _tell_alike(alike: Sequence[Summary]) -> str:
    if not alike:
        return ""
    names = list(map(_name, alike[:_MOST_NAMED]))
    rest = len(alike) - len(names)
    if rest:
        names.append(f"{rest} more")
    *first, last = names
    return f", as did {', '.join(first)} and {last}" if first else f", as did {last}"


def _tell_gap(best: Summary, other: Summary) -> str:
    found = difference(best, other, "solved")
    if found is None:
        return ", but on other tasks, so the two cannot be compared"
    certain = sure(compare(best, other, JUDGED))
    if "solved" in [one.score for one in certain]:
        return f", which is {_points(found)} fewer for sure"
    return f", but whether that is worse for sure cannot be told from {count(len(found.by_task), 'task')}"


def _points(found: Difference) -> str:
    points = round(100 * abs(found.difference))
    return f"{points} percentage point{'' if points == 1 else 's'}"


def _tell_rules(agents: Sequence[Summary]) -> Iterator[str]:
    """Tell how many rules were broken, of agents that were judged by rules alone."""
    judged = [one for one in agents if one.values(BROKEN)]
    if not judged:
        return
    best = min(judged, key=lambda one: _or(one.mean(BROKEN), 0))
    broken = sum(value > 0 for value in best.values(BROKEN))
    kept = "broke no rule in any" if not broken else f"broke a rule in {broken:,}"
    yield f"{_name(best)} {kept} of {count(len(best.values(BROKEN)), 'episode')}"


def _name(one: Summary) -> str:
    shown = "an unnamed agent" if one.name == UNNAMED else foreign(short(one.name, LONGEST_NAME))
    return f"<b>{list_link(shown, agent=one.name)}</b>"


def _share(one: Summary) -> str:
    solved, counted = _count([one], "solved")
    return f"{solved:,} of {counted:,}"


def _count(agents: Iterable[Summary], score: str) -> tuple[int, int]:
    """Return in how many episodes a score is 1, and how many have it."""
    values = [value for one in agents for value in one.values(score)]
    return round(sum(values)), len(values)


def _percents(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f} %"


# Pairs


def compare_all(results: Results) -> dict[str, Any]:
    """Compare the agents with each other, as JSON for the page.

    `pairs` has an entry for each pair of `agents` in the order of `itertools.combinations`: for each of `scores`, the
    means of a and b, the difference b − a, its interval, the smallest detectable difference, whether the difference is
    sure, and on how many tasks b is better, a is better, and both are equal. It is None if they have no task in common.
    If there are too many agents or tasks, only the best are compared. `left_out` counts the others.
    """
    agents, floor = split_floor(results)
    counted = [one for one in (*agents, *floor) if one.counted]
    chosen = counted[: _most(max((len(one.task_means(JUDGED[1])) for one in counted), default=0))]
    return {
        "agents": [one.name for one in chosen],
        "scores": list(JUDGED),
        "pairs": [_pair(a, b) for a, b in combinations(chosen, 2)],
        "left_out": len(counted) - len(chosen),
    }


def _most(tasks: int) -> int:
    """Return how many agents can be compared on this many tasks. Two can always be."""
    most = MOST_AGENTS
    while most > 2 and most * (most - 1) // 2 * tasks > MOST_GAPS:
        most -= 1
    return most


def _pair(a: Summary, b: Summary) -> list[list[Any] | None] | None:
    found: Mapping[str, Difference] = {one.score: one for one in compare(a, b, JUDGED)}
    certain = {one.score for one in sure(list(found.values()))}
    if not found:
        return None
    return [_entry(found[score], score in certain) if score in found else None for score in JUDGED]


def _entry(one: Difference, certain: bool) -> list[Any]:  # noqa: FBT001
    low, high = one.interval or (None, None)
    numbers = (one.a, one.b, one.difference, low, high, one.detectable)
    return [*(None if value is None else round(value, 6) for value in numbers), certain, *_count_tasks(one)]


def _count_tasks(one: Difference) -> tuple[int, int, int]:
    """Return on how many tasks b is better, a is better, and both are equal."""
    sign = -1 if one.score in LESS_IS_BETTER else 1
    gains = [sign * gap for gap in one.by_task.values() if abs(gap) >= TIE]
    won = sum(gain > 0 for gain in gains)
    return won, len(gains) - won, len(one.by_task) - len(gains)
