"""Explain which rules an episode broke."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corepath.errors import count
from corepath.explanation.findings import Explanation, Finding, FindingKind
from corepath.explanation.sentences import add_full_stop, capitalise, cut
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.verdict import Verdict
from corepath.rules.wording import describe_verdict
from corepath.scoring.rules import RuleScore
from corepath.values import visible

LONGEST_RULE = 200


def find_broken_rules(broken: Iterable[Verdict], items: Sequence[Call | Message]) -> Iterator[Finding]:
    """Yield a finding for each broken rule, with the calls that broke it or after which something is still owed.

    `items` are the calls and messages that were judged. If a message broke a rule because of an earlier call, the call
    is named.
    """
    places = [place for place, item in enumerate(items) if isinstance(item, Call)]
    numbers = {place: number for number, place in enumerate(places)}
    for verdict in broken:
        said = " ".join(map(add_full_stop, describe_verdict(verdict, items)))
        broken_by = (one.event if one.event in numbers else one.cause for one in verdict.offences)
        calls = tuple(sorted({numbers[event] for event in (*broken_by, *verdict.owed) if event in numbers}))
        yield Finding(FindingKind.RULE, f"{capitalise(verdict.state)}: {_name(verdict)}. {said}", calls)


def explain_rules(scored: RuleScore) -> Explanation:
    """Explain the score of an episode that was judged by rules alone."""
    findings = find_broken_rules(scored.broken, scored.items)
    return Explanation(
        headline=visible(_headline(scored)),
        notes=(),
        findings=tuple(Finding(one.kind, visible(one.text), one.calls) for one in findings),
    )


def _name(verdict: Verdict) -> str:
    """Return a rule's reason, or the rule itself if it has none."""
    return cut(verdict.rule.because.rstrip(".") or str(verdict.rule), LONGEST_RULE)


def _headline(scored: RuleScore) -> str:
    applied = sum(bool(one.applied) for one in scored.verdicts)
    if scored.broken:
        first = scored.broken[0]
        more = count(len(scored.broken) - 1, "more rule")
        rest = f"; {more} broken" if len(scored.broken) > 1 else ""
        return f"{capitalise(first.state)}: {_name(first)}{rest}."
    return f"Broke no rule; {count(applied, 'rule')} applied." if applied else "No rule applied."
