"""Explain a score: the cause in one line, a note on each call, and findings.

>>> from corepath import Task, seq, tool
>>> task = Task("legal/approve", procedure=seq(tool("check")(policy="P1"), tool("approve")(policy="P1")))
>>> explain(task, ['approve(policy="P1")']).headline
'Skipped check(policy="P1"): approve (call 1) was made without it.'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from corepath.episode import Episode, events
from corepath.explanation.blame import find_cause
from corepath.explanation.facts import Facts
from corepath.explanation.findings import (
    ABSENT,
    Cause,
    CauseKind,
    Difference,
    Edit,
    EditKind,
    Explanation,
    Finding,
    FindingKind,
    Note,
)
from corepath.explanation.fix import find_fix, write_fix
from corepath.explanation.harms import find_harms
from corepath.explanation.headline import LONGEST_HEADLINE, write_headline
from corepath.explanation.mistakes import find_mistakes
from corepath.explanation.notes import write_notes
from corepath.explanation.outcome import find_outside_failure, find_state_mismatch, find_wrong_answer
from corepath.explanation.path import find_divergence, find_early_stop, find_skipped
from corepath.explanation.repair import repair_path
from corepath.explanation.rules import explain_rules, find_broken_rules
from corepath.explanation.sentences import cut
from corepath.explanation.turns import find_unseen
from corepath.explanation.undo import find_undone, undo_pairs
from corepath.explanation.waste import classify_loops, find_waste
from corepath.notation import parser
from corepath.notation.call import UNANSWERED, Call
from corepath.rules.rule import Rule
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.values import visible
from corepath.world.exploring import replay

__all__ = [
    "ABSENT",
    "Cause",
    "CauseKind",
    "Difference",
    "Edit",
    "EditKind",
    "Explanation",
    "Finding",
    "FindingKind",
    "Note",
    "explain",
    "explain_rules",
    "find_cause_and_fix",
]


def explain(
    task: Task,
    calls: Episode | Iterable[Call | str],
    scoring: Scoring = PAPER,
    *,
    scored: Score | None = None,
    rules: Sequence[Rule] = (),
) -> Explanation:
    """Explain why an episode, or a list of calls, got its score on `task`.

    If you already have the score, pass it as `scored`. Otherwise it is computed with the options in `scoring`, and with
    `rules` beside the task.
    """
    episode = calls if isinstance(calls, Episode) else _as_episode(task, calls)
    facts = _find_facts(task, episode, scoring, scored, rules)
    undone, repair = undo_pairs(facts), repair_path(facts)
    fix, mistakes = write_fix(facts, repair, undone), find_mistakes(facts, repair, undone)
    loops = classify_loops(facts)
    findings = (
        *find_outside_failure(facts),
        *find_divergence(facts),
        *find_harms(facts, mistakes),
        *find_broken_rules(facts.score.broken, tuple(events(episode))),
        *find_skipped(facts, mistakes),
        *find_early_stop(facts, mistakes),
        *find_undone(facts, undone),
        *find_unseen(facts),
        *find_waste(facts, loops, undone),
        *find_state_mismatch(facts, mistakes),
        *find_wrong_answer(facts),
        *find_fix(facts, fix, repair),
    )
    return Explanation(
        headline=visible(cut(write_headline(facts, mistakes, loops, repair), LONGEST_HEADLINE)),
        notes=tuple(write_notes(facts, loops, mistakes)),
        findings=tuple(replace(finding, text=visible(finding.text)) for finding in findings),
        repair=() if repair is None else repair.rows,
        cause=find_cause(facts, mistakes),
        fix=fix,
    )


def find_cause_and_fix(
    task: Task, episode: Episode, scoring: Scoring = PAPER, *, rules: Sequence[Rule] = ()
) -> tuple[Cause | None, tuple[Edit, ...]]:
    """Return only the cause and the fix of an explanation, which takes less time than the whole of it."""
    facts = _find_facts(task, episode, scoring, None, rules)
    undone, repair = undo_pairs(facts), repair_path(facts)
    return find_cause(facts, find_mistakes(facts, repair, undone)), write_fix(facts, repair, undone)


def _find_facts(task: Task, episode: Episode, scoring: Scoring, scored: Score | None, rules: Sequence[Rule]) -> Facts:
    """Gather what an explanation is based on. The episode is scored if it is not yet."""
    replayed = None if task.simulator is None else replay(task, episode.calls)
    if scored is None:
        scored = score(task, episode, scoring, replayed=replayed, rules=rules)
    return Facts(task, scored, replayed, episode)


def _as_episode(task: Task, calls: Iterable[Call | str]) -> Episode:
    """Wrap calls in an episode that has no answer."""
    parsed = (parser.call(call) if isinstance(call, str) else call for call in calls)
    return Episode(task.id, tuple(parsed), answer=UNANSWERED)
