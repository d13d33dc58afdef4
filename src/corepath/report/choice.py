"""Choose the episodes that a page has. The page of a large run has examples of everything, the failed ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

from corepath.errors import OptionError
from corepath.report.fixes import name_of
from corepath.report.results import Result, Results

MOST_SHOWN: Final = 3_000
"""The most episodes in a page, unless the user asks for more. Their page takes about 3 MB."""
ALL: Final = "all"
FAILED: Final = "failed"


def choose_episodes(results: Results, wanted: str | None = None) -> tuple[Result, ...]:
    """Return the results whose episodes a page has, in their order.

    `wanted` is "all", "failed" or a number of episodes. If it is None, that is all of them, or `MOST_SHOWN` of a large
    run. Raises `OptionError` if `wanted` is something else.
    """
    if wanted == ALL:
        return results.results
    if wanted == FAILED:
        return tuple(result for result in results.results if result.failed)
    if wanted is not None and not wanted.isdecimal():
        raise OptionError(f"'{wanted[:40]}' must be 'all', 'failed' or a number of episodes")
    number = MOST_SHOWN if wanted is None else int(wanted)
    if len(results) <= number:
        return results.results
    chosen = {id(result) for result in _by_priority(results)[:number]}
    return tuple(result for result in results.results if id(result) in chosen)


def _by_priority(results: Results) -> list[Result]:
    """Sort results by how much they show that the ones before them do not.

    First come the examples of what to fix. Then comes one episode for each agent, task and outcome, then failed
    episodes, and then the others. Among these, failed episodes come first, then those that are unlike earlier ones, and
    the tasks take turns.
    """
    examples = {cluster.example.name for cluster in results.fixes}
    outcomes: set[Hashable] = set()
    contents: set[tuple[str, int]] = set()
    turns: Counter[Hashable] = Counter()
    ranked = []
    for place, result in enumerate(results.results):
        outcome, content = _outcome(result), (result.task_name, result.content)
        stage = 0 if name_of(result) in examples else 1 if outcome not in outcomes else 2 if result.failed else 3
        rank = (stage, not result.failed, content in contents)
        turns[result.task_name, rank] += 1
        ranked.append((*rank, turns[result.task_name, rank], place))
        outcomes.add(outcome)
        contents.add(content)
    return [results.results[place] for *_, place in sorted(ranked)]


def _outcome(result: Result) -> Hashable:
    """Return the agent, the task and what came of it. Episodes in which this differs are worth an example each."""
    effected = any(harm["effected"] for harm in result.scores["harms"])
    ended = (result.record.outcome, result.failed, result.scores["accepted"], effected)
    return result.agent, result.task_name, ended
