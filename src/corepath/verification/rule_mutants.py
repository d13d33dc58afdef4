"""Faulty variants of good runs, and the questions that they raise if no rule notices them."""

from __future__ import annotations

from collections.abc import Sequence

from corepath.notation.call import Call
from corepath.rules.rule import Rule
from corepath.rules.samples import Item
from corepath.rules.verdict import judge
from corepath.verification.rule_runs import Run
from corepath.verification.run_variants import (
    MOST_VARIANTS,
    Question,
    Questions,
    argument_values,
    make_variants,
    spread,
)


def find_questions(rules: Sequence[Rule], runs: Sequence[Run]) -> Questions:
    """Make faulty variants of good runs, and collect those that no rule notices. Calls that failed are not changed."""
    values = argument_values([call for run in runs for call in run.items if isinstance(call, Call)])
    most = max(1, MOST_VARIANTS // max(1, len(runs)))
    found: dict[tuple[str, ...], Question] = {}
    skipped = 0
    for run in runs:
        before = _count_breaches(rules, run.items)
        variants = list(make_variants(run.items, _tools(run.items), values))
        chosen = spread(variants, most)
        skipped += len(variants) - len(chosen)
        for variant in chosen:
            question = found.setdefault((variant.kind, *variant.about), Question(variant.kind, variant.about))
            after = _count_breaches(rules, variant.items)
            noticed = any(now > then for then, now in zip(before, after, strict=True))
            question.add(variant.example, run.name, noticed=noticed)
    tried, missed = (sum(getattr(one, name) for one in found.values()) for name in ("tried", "missed"))
    return Questions.of(found.values(), tried, missed, skipped)


def _tools(items: Sequence[Item]) -> dict[int, str]:
    """Map the places of the calls that ran to their tools."""
    return {place: item.tool for place, item in enumerate(items) if isinstance(item, Call) and not item.failed}


def _count_breaches(rules: Sequence[Rule], items: Sequence[Item]) -> list[int]:
    """Count how often each rule is broken. A rule that would need times to decide counts as broken once."""
    return [len(one.offences) + len(one.owed) + one.unclear for one in judge(rules, items)]
