"""Say in words what broke a rule, and what would have helped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.rule import AtLeast, AtMost, Eventually, Never, Requires, Rule, SumAtMost, text_of
from corepath.rules.verdict import Verdict

LONGEST = 80


def describe_verdict(verdict: Verdict, items: Sequence[Call | Message], most: int = 5) -> Iterator[str]:
    """Yield a sentence for each event that broke a rule, and for what is still required at the end.

    `items` are the calls and messages that were judged. At most `most` sentences of each kind are yielded.
    """
    for offence in verdict.offences[:most]:
        cause = "" if offence.cause is None else f" (after {describe_item(items[offence.cause])})"
        yield f"{describe_item(items[offence.event])}{cause}: {advise(verdict.rule)}"
    if len(verdict.offences) > most:
        yield f"and {len(verdict.offences) - most:,} more"
    for place in verdict.owed[:most]:
        since = "" if place < 0 else f"after {describe_item(items[place])}: "
        yield f"{since}{advise(verdict.rule)}, and did not"


def name_rules(rules: Sequence[Rule]) -> list[str]:
    """Return a name for each rule: its reason, or the rule itself if it has none of its own."""
    reasons = Counter(rule.because for rule in rules)
    return [rule.because if rule.because and reasons[rule.because] == 1 else str(rule) for rule in rules]


def describe_item(item: Call | Message) -> str:
    """Describe a call or a message in a few words."""
    if isinstance(item, Call):
        return item.label if len(item.label) <= LONGEST else item.label[: LONGEST - 1] + "…"
    text = str(item.content).replace("\n", " ")
    who = "agent" if item.role == "assistant" else item.role
    return f'{who} "{text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"}"'


def advise(rule: Rule) -> str:
    """Say what a rule asks for, without its reason."""
    return f"{_advise(rule)}{_between(rule)}"


def _between(rule: Rule) -> str:
    if rule.between is None:
        return ""
    first, last = rule.between
    return f" between {_text(first)} and {_text(last)}"


def _advise(rule: Rule) -> str:
    within = getattr(rule, "within", None)
    near = "" if within is None else f" {within}"
    match rule:
        case Requires():
            return _advise_requires(rule, near)
        case Eventually(_, then, own):
            return f"{_text(then)} must follow{near}{', once for each' if own else ''}"
        case Never():
            return _advise_never(rule, near)
        case AtMost(most, call):
            return f"{_text(call)} may be done at most {_times(most)}{near}"
        case AtLeast(least, call):
            return f"{_text(call)} must be done at least {_times(least)}"
        case SumAtMost(most, call, field):
            return f"the sum of {field} in {_text(call)} may be at most {most:g}{near}"
    return str(rule)


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _text(pattern: Action) -> str:
    """Write a pattern, cut if it is long."""
    text = text_of(pattern)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _advise_requires(rule: Requires, near: str) -> str:
    after = "" if rule.since is None else f" since the last {_text(rule.since)}"
    each = " for each time" if rule.own else ""
    return f"{_text(rule.first)} must come before {_text(rule.then)}{after}{near}{each}"


def _advise_never(rule: Never, near: str) -> str:
    what = "this" if rule.call is None else _text(rule.call)
    later = "" if rule.after is None else f" after {_text(rule.after)}{near}"
    together = "" if rule.beside is None else f" in one turn with {_text(rule.beside)}"
    return f"{what} must not be done{later}{together}"
