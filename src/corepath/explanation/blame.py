"""Find what is at fault in an episode, as a value that episodes can be grouped by."""

from __future__ import annotations

from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.explanation.arguments import nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Cause, CauseKind
from corepath.explanation.groups import Group
from corepath.explanation.path import failed_at_the_end, limit_text

_KINDS: Final = {
    HarmKind.MALFORMED: CauseKind.MALFORMED,
    HarmKind.UNKNOWN_TOOL: CauseKind.UNKNOWN_TOOL,
    HarmKind.FORBIDDEN: CauseKind.AGAINST_A_RULE,
    HarmKind.REPEATED: CauseKind.REPEATED,
    HarmKind.OUT_OF_ORDER: CauseKind.TOO_EARLY,
    HarmKind.WRONG_ARGUMENT: CauseKind.WRONG_ARGUMENT,
    HarmKind.AFTER_COMPLETION: CauseKind.NOT_PART,
    HarmKind.UNLISTED: CauseKind.NOT_PART,
    HarmKind.FAILED: CauseKind.REFUSED,
}


def find_cause(facts: Facts, groups: tuple[Group, ...]) -> Cause | None:
    """Return what is at fault, or None if nothing is."""
    if facts.outside_failure:
        return Cause(CauseKind.OUTSIDE)
    if groups:
        return _harmful_cause(facts, groups[0])
    if facts.score.accepted:
        return _accepted_cause(facts)
    return _unfinished_cause(facts)


def _harmful_cause(facts: Facts, group: Group) -> Cause:
    """Return what is at fault in a group of harmful calls."""
    effected = any(harm.effected for harm in group.harms)
    tool = facts.steps[group.first.index].call.tool
    if group.skipped and group.first.cause is not None:
        tool = facts.automaton.alphabet.actions[group.skipped[0]].tool
        return Cause(CauseKind.SKIPPED, tool, None, group.calls, effected)
    if group.back is not None:
        return Cause(CauseKind.UNDONE, tool, None, group.calls, effected)
    kind = _KINDS[group.first.kind]
    nearest = nearest_step(facts, group.first.index) if kind is CauseKind.WRONG_ARGUMENT else None
    if nearest is not None and nearest.due:
        return Cause(kind, tool, nearest.arguments[0], group.calls, effected)
    kind = CauseKind.NOT_PART if kind is CauseKind.WRONG_ARGUMENT else kind
    return Cause(kind, tool, None, group.calls, effected)


def _accepted_cause(facts: Facts) -> Cause | None:
    """Return what is at fault although the path is valid."""
    if facts.score.broken:
        return Cause(CauseKind.AGAINST_A_RULE)
    if facts.has_wrong_answer:
        return Cause(CauseKind.WRONG_ANSWER)
    return Cause(CauseKind.WRONG_STATE) if facts.score.state_match is False else None


def _unfinished_cause(facts: Facts) -> Cause:
    """Return what is at fault in a path that stopped early without harm."""
    left = facts.steps_left
    tool = facts.automaton.alphabet.actions[left[0]].tool if left else None
    if limit_text(facts):
        return Cause(CauseKind.LIMIT, tool)
    if not facts.steps:
        return Cause(CauseKind.NO_CALL, tool)
    if failed := failed_at_the_end(facts):
        return Cause(CauseKind.REFUSED, facts.steps[failed[-1]].call.tool, None, failed)
    return Cause(CauseKind.STOPPED, tool)
