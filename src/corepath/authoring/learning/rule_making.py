"""Make the rules of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corepath.authoring.learning.rule_candidate import Candidate, Template
from corepath.authoring.learning.rule_log import CONSENT, OTHER, YES, RuleLog
from corepath.errors import CorepathError
from corepath.notation.action import Action, Tool
from corepath.notation.patterns import var
from corepath.rules.parser import parse_rule
from corepath.rules.rule import ANY_CALL, AtLeast, AtMost, Eventually, Never, Requires, Rule
from corepath.values import is_name

_SAME = {Template.REQUIRES_SAME, Template.EVENTUALLY_SAME, Template.NEVER_AFTER_SAME}


def make_rule(candidate: Candidate, log: RuleLog) -> Rule | None:
    """Make the rule of a candidate. Return None if it cannot be written so that it is read as the same rule."""
    rule = candidate.rule or _make(candidate.template, candidate.parts, log)
    try:
        return rule if parse_rule(str(rule)) == rule else None
    except CorepathError:
        return None


def _make(template: Template, parts: Sequence[int], log: RuleLog) -> Rule:
    if template in _SAME:
        return _relate(template, *make_same([(parts[0], parts[1])], log))
    if template is Template.AT_MOST_EACH:
        return AtMost(parts[1], make_same([(parts[0], parts[0])], log)[0])
    first = _pattern(parts[0], log)
    if template is Template.AT_MOST:
        return AtMost(parts[1], first)
    if template is Template.AT_LEAST:
        return AtLeast(parts[1], first)
    return _relate(template, first, _pattern(parts[1], log))


def _relate(template: Template, one: Action, other: Action) -> Rule:
    match template:
        case Template.REQUIRES | Template.REQUIRES_SAME:
            return Requires(other, one)
        case Template.REQUIRES_OWN:
            return Requires(other, one, own=True)
        case Template.EVENTUALLY | Template.EVENTUALLY_SAME:
            return Eventually(one, other)
    return Never(one, other)


def _pattern(letter: int, log: RuleLog) -> Action:
    if letter == CONSENT:
        return YES
    return ANY_CALL if letter == OTHER else Tool(log.tools[letter]).any()


def make_same(pairs: Sequence[tuple[int, int]], log: RuleLog) -> tuple[Action, Action]:
    """Make two patterns with a variable for each pair of slots."""
    names = [name if is_name(name := log.slots[one][1]) else f"v{place}" for place, (one, _) in enumerate(pairs)]
    sides = []
    for side in (0, 1):
        slots = [log.slots[pair[side]] for pair in pairs]
        given = {argument: var(name) for (_, argument), name in zip(slots, names, strict=True)}
        sides.append(Tool(log.tools[slots[0][0]]).where(**given))
    return sides[0], sides[1]


def join_variables(candidates: Sequence[Candidate], log: RuleLog) -> Iterator[tuple[tuple[Template, int, int], Rule]]:
    """Yield rules with several variables, from candidates about the same two tools. The key has these tools."""
    groups: dict[tuple[Template, int, int], list[tuple[int, int]]] = {}
    for one in candidates:
        if one.template in (Template.REQUIRES_SAME, Template.EVENTUALLY_SAME):
            first, second = (log.slots[slot][0] for slot in one.parts)
            groups.setdefault((one.template, first, second), []).append((one.parts[0], one.parts[1]))
    for key, pairs in groups.items():
        chosen: list[tuple[int, int]] = []
        for pair in sorted(pairs, key=lambda pair: log.slots[pair[0]][1] != log.slots[pair[1]][1]):
            if all(pair[0] != one and pair[1] != other for one, other in chosen):
                chosen.append(pair)
        if len(chosen) > 1:
            yield key, _relate(key[0], *make_same(chosen, log))
