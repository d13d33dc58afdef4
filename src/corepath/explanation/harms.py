"""Write findings about harmful calls, one for each group of calls with the same reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.groups import Group, is_sole_cause, late_steps
from corepath.explanation.reasons import effect_text, reason_text, repeated_call
from corepath.explanation.sentences import add_full_stop, calls_text, capitalise, join, sentence
from corepath.explanation.value_text import message_text, tool_name
from corepath.scoring.evidence import Harm

MOST_GROUPS: Final = 12
"""Maximum number of groups that get their own finding."""
FEWEST_WORDS: Final = 3
"""A policy's reason is quoted only if it has at least this many words. A shorter reason is a fragment."""


def displaced_text(facts: Facts, group: Group) -> str:
    """Start a sentence about the group's skipped steps, e.g. `check() was never done, and `.

    Return an empty string if the first call has the same tool as one of these steps.
    """
    tools = [facts.automaton.alphabet.actions[symbol].tool for symbol in group.skipped]
    if facts.steps[group.first.index].call.tool in tools:
        return ""
    late = late_steps(facts, group)
    never = [symbol for symbol in group.skipped if symbol not in late]
    were = "was" if len(never or group.skipped) == 1 else "were"
    if not never:
        steps = facts.missing_text(group.skipped, group.first.index)
        return f"{steps} {were} done only at {calls_text(sorted(late.values()))}, and "
    never_text = "not" if facts.steps_called(len(facts.steps)).intersection(never) else "never"
    return f"{facts.missing_text(never, group.first.index)} {were} {never_text} done, and "


def find_harms(facts: Facts, groups: tuple[Group, ...]) -> Iterator[Finding]:
    """Yield a finding for each group of harmful calls. If there are many, the last finding sums up the rest."""
    for group in groups[:MOST_GROUPS]:
        yield Finding(FindingKind.HARM, _describe(facts, group), group.calls)
    if rest := groups[MOST_GROUPS:]:
        kinds = Counter(harm.kind.value.replace("_", " ") for group in rest for harm in group.harms)
        calls = tuple(sorted(index for group in rest for index in group.calls))
        shown = join([f"{count:,} {kind}" for kind, count in kinds.most_common()], most=9)
        yield Finding(FindingKind.HARM, f"And {count(len(calls), 'more harmful call')}: {shown}.", calls)


def _describe(facts: Facts, group: Group) -> str:
    """Describe why the group's calls are harmful, what they did, which policy they broke and what was expected."""
    first, rest = group.first, group.harms[1:]
    text = [sentence(f"{facts.call_text(first.index)}, {_group_reason(facts, group)}")]
    if rest and group.back is None:
        text.append(add_full_stop(_others(facts, group)))
    text += [sentence(part) for part in (_effects(facts, group), _policy(first), _due(facts, first)) if part]
    return " ".join(text)


def _group_reason(facts: Facts, group: Group) -> str:
    """Describe why the group's first call is harmful. If all skipped steps were done later, say at which calls."""
    late, reason = late_steps(facts, group), reason_text(facts, group.first)
    all_done = late and len(late) == len(set(group.skipped))
    if group.first.cause is None or not all_done or repeated_call(facts, group.first) is not None:
        return reason
    return f"{reason}, and came only at {calls_text(sorted(late.values()))}"


def _others(facts: Facts, group: Group) -> str:
    """Write a sentence about the group's other calls."""
    rest, one = calls_text(group.calls[1:]), len(group.harms) == 2
    be = "is" if one else "are"
    if group.skipped and group.first.cause is None:
        displaced = displaced_text(facts, group)
        return f"{displaced}{rest if displaced else capitalise(rest)} {be} harmful only for that"
    if group.skipped:
        only = "only " if is_sole_cause(facts, group) else ""
        return f"{capitalise(rest)} {be} harmful {only}for the same reason"
    match group.first.kind:
        case HarmKind.REPEATED:
            return f"So {'does' if one else 'do'} {rest}"
        case HarmKind.UNLISTED | HarmKind.FORBIDDEN:
            return f"The same goes for {rest} of {tool_name(facts.steps[group.first.index].call.tool)}"
    return f"The same goes for {rest}"


def _effects(facts: Facts, group: Group) -> str:
    """Describe what the group's calls did to the world, or return an empty string if that is not known."""
    if group.back is not None:
        return f"it took effect, and call {group.back + 1} took it back"
    if len(group.harms) == 1:
        return effect_text(facts, group.first)
    failed = sum(facts.steps[index].call.failed for index in group.calls)
    took = sum(facts.changed_state[index] is True and not facts.steps[index].call.failed for index in group.calls)
    parts = [f"{_share(took, group)} took effect"] if took else []
    if failed:
        which = str(failed) if took else _share(failed, group)
        parts.append(f"{which} {'was' if failed == 1 else 'were'} refused by the tool")
    return ", and ".join(parts)


def _share(part: int, group: Group) -> str:
    """Describe `part` calls as a share of the group, e.g. `both`, `all 3` or `2 of the 3`."""
    whole = len(group.harms)
    if part == whole:
        return "both" if whole == 2 else f"all {whole}"
    return f"{part} of the {whole}"


def _policy(harm: Harm) -> str:
    """Quote the reason for the policy that a call broke, or return an empty string if the call broke none."""
    if harm.why is None or harm.kind is HarmKind.FORBIDDEN or len(harm.why.split()) < FEWEST_WORDS:
        return ""
    return f'the agent was told: "{message_text(harm.why)}"'


def _due(facts: Facts, harm: Harm) -> str:
    """Name the steps that were expected instead of a harmful call.

    Return an empty string if they are already named elsewhere in the explanation, or if no step was expected.
    """
    if harm.cause is not None or harm.index == facts.score.harms[0].index:
        return ""
    due = facts.due_text(harm.index)
    return f"due was {due}" if due else ""
