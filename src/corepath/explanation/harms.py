"""Write findings about harmful calls, one for each mistake that explains some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.mistake import Mistake, MistakeKind
from corepath.explanation.policies import quote_policy
from corepath.explanation.reasons import effect_text, reason_text
from corepath.explanation.sentences import calls_text, join, sentence
from corepath.scoring.evidence import Harm

MOST_FINDINGS: Final = 12
"""Maximum number of mistakes that get their own finding."""


def find_harms(facts: Facts, mistakes: tuple[Mistake, ...]) -> Iterator[Finding]:
    """Yield a finding for each mistake with harmful calls. If there are many, the last finding sums up the rest."""
    harmful = [one for one in mistakes if one.harms]
    for one in harmful[:MOST_FINDINGS]:
        yield Finding(FindingKind.HARM, _describe(facts, one), one.calls)
    if rest := harmful[MOST_FINDINGS:]:
        kinds = Counter(harm.kind.value.replace("_", " ") for one in rest for harm in one.harms)
        calls = tuple(sorted(index for one in rest for index in one.calls))
        shown = join([f"{number:,} {kind}" for kind, number in kinds.most_common()], most=9)
        yield Finding(FindingKind.HARM, f"And {count(len(calls), 'more harmful call')}: {shown}.", calls)


def _describe(facts: Facts, mistake: Mistake) -> str:
    """Describe why the calls are harmful, what they did, which policy they broke and what was expected."""
    first = mistake.first or mistake.harms[0]
    text = [f"{facts.call_text(first.index)}, {reason_text(facts, first, mistake)}"]
    others = [harm.index for harm in mistake.harms if harm is not first and harm.index != mistake.other]
    tries = [index for index in others if index in mistake.tries]
    text += [f"{calls_text(tries)} tried the same step, with wrong arguments too"] if tries else []
    others = [index for index in others if index not in tries]
    text += [_others(mistake, others)] if others else []
    text += [_effects(facts, mistake), quote_policy(facts, first), _expected(facts, mistake, first)]
    return " ".join(sentence(part) for part in text if part)


def _others(mistake: Mistake, others: list[int]) -> str:
    """Write a sentence about the mistake's other calls."""
    be = "is" if len(others) == 1 else "are"
    if mistake.kind in (MistakeKind.EXTRA, MistakeKind.BREACH, MistakeKind.FOLLOWS):
        return f"the same goes for {calls_text(others)}"
    return f"{calls_text(others)} {be} harmful only because of that"


def _effects(facts: Facts, mistake: Mistake) -> str:
    """Describe what the calls did to the world, or return an empty string if that is not known."""
    if mistake.kind is MistakeKind.EXTRA and mistake.other is not None:
        return f"it took effect, and call {mistake.other + 1} undid it"
    if len(mistake.harms) == 1:
        return effect_text(facts, mistake.harms[0])
    failed = sum(facts.steps[index].call.failed for index in mistake.calls)
    took = sum(facts.changed_state[index] is True and not facts.steps[index].call.failed for index in mistake.calls)
    parts = [f"{_share(took, mistake)} took effect"] if took else []
    if failed:
        which = str(failed) if took else _share(failed, mistake)
        parts.append(f"{which} {'was' if failed == 1 else 'were'} refused by the tool")
    return ", and ".join(parts)


def _share(part: int, mistake: Mistake) -> str:
    """Describe `part` calls as a share of the mistake's, e.g. `both`, `all 3` or `2 of the 3`."""
    whole = len(mistake.harms)
    if part == whole:
        return "both" if whole == 2 else f"all {whole}"
    return f"{part} of the {whole}"


def _expected(facts: Facts, mistake: Mistake, harm: Harm) -> str:
    """Name the steps that were expected instead of a harmful call, unless that is told elsewhere."""
    if mistake.kind is not MistakeKind.EXTRA or harm.index == facts.score.harms[0].index:
        return ""
    expected = facts.expected_text(harm.index)
    return f"expected was {expected}" if expected else ""
