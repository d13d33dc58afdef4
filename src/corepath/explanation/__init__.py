"""Why a score is what it is: the cause of an episode in one line, each call with its kind, and what was found.

>>> from corepath import Task, seq, tool
>>> task = Task("legal/approve", procedure=seq(tool("check")(policy="P1"), tool("approve")(policy="P1")))
>>> explain(task, ['approve(policy="P1")']).headline
'Skipped check(policy="P1"): approve was called without it.'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from corepath.episode import Episode
from corepath.explanation.ends import answer, outside, state
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Explanation, Finding, FindingKind, Note
from corepath.explanation.groups import groups
from corepath.explanation.harms import harmful
from corepath.explanation.headline import headline
from corepath.explanation.notes import notes
from corepath.explanation.path import diverged, skipped, stopped
from corepath.explanation.repair import repair, repaired
from corepath.explanation.turns import unseen
from corepath.explanation.undone import pairs, undone
from corepath.explanation.waste import idle, waste
from corepath.explanation.words import cut
from corepath.notation import parser
from corepath.notation.call import UNANSWERED, Call
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.values import visible
from corepath.world.exploring import replay

LONGEST_HEADLINE: Final = 300

__all__ = ["Explanation", "Finding", "FindingKind", "Note", "explain"]


def explain(
    task: Task,
    calls: Episode | Iterable[Call | str],
    scoring: Scoring = PAPER,
    *,
    scored: Score | None = None,
) -> Explanation:
    """Why the calls (or an episode) score as they do on a task. `scored` is their score, where that is known."""
    if not isinstance(calls, Episode):
        made = tuple(parser.call(call) if isinstance(call, str) else call for call in calls)
        calls = Episode(task.id, made, answer=UNANSWERED)
    run = None if task.simulator is None else replay(task, calls.calls)
    found = score(task, calls, scoring, replayed=run) if scored is None else scored
    facts = Facts(task, found, run, calls)
    taken_back, loops = pairs(facts), idle(facts)
    reasons, mended = groups(facts, taken_back), repair(facts)
    findings = [
        *outside(facts), *diverged(facts), *harmful(facts, reasons), *skipped(facts), *stopped(facts),
        *undone(facts, taken_back), *unseen(facts), *waste(facts, loops, taken_back), *state(facts), *answer(facts),
        *repaired(facts, mended),
    ]  # fmt: skip
    return Explanation(
        headline=visible(cut(headline(facts, reasons, loops), LONGEST_HEADLINE)),
        notes=tuple(notes(facts, loops)),
        findings=tuple(replace(finding, text=visible(finding.text)) for finding in findings),
        repair=() if mended is None else mended.rows,
    )
