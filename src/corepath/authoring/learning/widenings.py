"""Small changes of a procedure that let a run get past the call at which it fails.

Each of them allows more than before: a step may be left out, added, repeated or replaced, parts may come in any order,
or an argument may have another value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from corepath.authoring.learning.version import Version, is_prose
from corepath.errors import count
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Approx, Fields, Literal, Matcher, OneOf, Scope, depends_on_calls
from corepath.notation.parts import Rebuild, first_steps, is_nullable, walk_parts
from corepath.notation.patterns import ANY, as_matcher
from corepath.notation.procedure import (
    AnyOrder,
    Choice,
    Procedure,
    Repeat,
    Seq,
    any_order,
    choice,
    leaves,
    optional,
    repeat,
    seq,
)
from corepath.values import is_number

MOST_TIMES: Final = 5
"""A step that was done more often than this is not made to repeat."""
LONGEST_DETOUR: Final = 4
"""The most calls that are taken together as something done instead of a part."""
MOST_MIXED: Final = 5
"""The most neighbours that are let come in any order at once."""
MOST_COPIED: Final = 16
"""The most steps of a part that is written twice, once with a step moved."""
_CLOSE: Final = Fraction(1, 50)
"""Numbers of which one is not whole are close if they differ by this share at most."""
_LONGEST_NAME: Final = 60


@dataclass(frozen=True)
class Failure:
    """Where a run fails. `place` is the number of the call, from 1, and None if the run ends too early.

    `action` is the action that the call is, which may be new. `known` says whether the action is a step already.
    `detour` holds the actions of the call and of those after it. `times` says how often the run has the action.
    `skipped` holds sets of actions: if all actions in one of them are left out, the run gets further. `early` holds
    steps that the run did before they were due, without harm since they only read. `later` holds the steps that the run
    does after the call, and `done` all steps that it does. `kept` holds those of them that stand in the
    procedure once, so that they are not left out, but perhaps moved.
    """

    place: int | None
    call: Call | None = None
    action: Action | None = None
    known: bool = False
    detour: tuple[Action, ...] = ()
    times: int = 1
    skipped: tuple[frozenset[Action], ...] = ()
    early: frozenset[Action] = frozenset()
    later: frozenset[Action] = frozenset()
    done: frozenset[Action] = frozenset()
    kept: frozenset[Action] = frozenset()

    @property
    def where(self) -> str:
        """The place in words."""
        return "at the end" if self.place is None else f"call {self.place}"


def list_widenings(version: Version, failure: Failure) -> Iterator[Version]:
    """Yield versions with one change each, which may let the run get further."""
    for part, rebuild in walk_parts(version.procedure):
        for change in (_leave_out, _add, _reorder, _move, _repeat, _replace):
            yield from change(version, failure, part, rebuild)
    for actions in failure.skipped:
        if actions.isdisjoint(failure.early | failure.kept):
            yield from _leave_out_all(version, failure, actions)
    yield from _allow_values(version, failure)


# Changes of the procedure


def _leave_out(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Make a part optional, or neighbouring parts of a sequence together."""
    why = _why_left_out(failure)
    if part is not version.procedure and _may_be_left_out(part, failure):
        yield version.change(rebuild(optional(part)), f"{_name(part)} may be left out now: {why}.")
    if isinstance(part, Seq):
        for first, last in combinations(range(len(part.parts) + 1), 2):
            middle = seq(*part.parts[first:last])
            if 1 < last - first < len(part.parts) and _may_be_left_out(middle, failure):
                made = rebuild(seq(*part.parts[:first], optional(middle), *part.parts[last:]))
                yield version.change(made, f"{_name(middle)} may be left out now, as a whole: {why}.")


def _may_be_left_out(part: Procedure, failure: Failure) -> bool:
    return not is_nullable(part) and (failure.early | failure.kept).isdisjoint(steps_in(part))


def _leave_out_all(version: Version, failure: Failure, actions: frozenset[Action]) -> Iterator[Version]:
    """Make several actions optional, and then the largest parts that have no others."""
    parts = [part for part, _ in walk_parts(version.procedure) if not is_nullable(part)]
    steps = [part for part in parts if isinstance(part, Action)]
    for found in (steps, [part for part in parts if part is not version.procedure]):
        whole = [part for part in found if actions.issuperset(steps_in(part))]
        made = _make_optional(version.procedure, whole)
        names = " and ".join(dict.fromkeys(map(_name, whole)))
        yield version.change(made, f"{_cut(names)} may be left out now: {_why_left_out(failure)}.")


def _make_optional(procedure: Procedure, parts: Sequence[Procedure]) -> Procedure:
    """Make all these parts optional. Parts in a part that becomes optional stay as they are."""
    if any(part is procedure for part in parts):
        return optional(procedure)
    match procedure:
        case Seq(inner):
            return seq(*(_make_optional(one, parts) for one in inner))
        case AnyOrder(inner):
            return any_order(*(_make_optional(one, parts) for one in inner))
        case Choice(inner):
            return choice(*(_make_optional(one, parts) for one in inner))
        case Repeat(step, least, most):
            return repeat(_make_optional(step, parts), least, most)
    return procedure


def _why_left_out(failure: Failure) -> str:
    if failure.action is None:
        return "the run ends without it"
    return f"the run has none before {_name(failure.action)} ({failure.where})"


def _add(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Add the call as an optional step."""
    step = failure.action
    if step is None:
        return
    again = " again" if failure.times > 1 else ""
    for made, where in _places(part, optional(step)):
        reason = f"{_name(step)} may be done{again} {where} now: the run does it there ({failure.where})."
        yield version.change(rebuild(made), reason, step)


def _places(part: Procedure, step: Procedure) -> Iterator[tuple[Procedure, str]]:
    """Yield a part with a step added, at each place, and the place in words."""
    parts = part.parts if isinstance(part, Seq) else (part,)
    for place in range(len(parts) + 1):
        where = f"after {_name(parts[place - 1])}" if place else f"before {_name(parts[0])}" if parts else "alone"
        yield seq(*parts[:place], step, *parts[place:]), where
    if isinstance(part, AnyOrder):
        yield any_order(*part.parts, step), f"at any time beside {_name(part)}"


def _reorder(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Let neighbouring parts of a sequence come in any order. The call is a step of the second."""
    if not isinstance(part, Seq) or failure.action is None:
        return
    early = {failure.action, *failure.early}
    for first, middle, last in combinations(range(len(part.parts) + 1), 3):
        one, other = seq(*part.parts[first:middle]), seq(*part.parts[middle:last])
        soon = next((step for step in first_steps(other) if step in early), None)
        if soon is None:
            continue
        if soon not in failure.early and not any(step in failure.later or step in early for step in leaves(one)):
            continue  # the run does not do the first part later, so that it was left out
        where = "" if soon in failure.early else f" ({failure.where})"
        reason = f"may come in any order now: the run has {_name(soon)} early{where}."
        before, after = part.parts[:first], part.parts[last:]
        made = rebuild(seq(*before, any_order(one, other), *after))
        yield version.change(made, f"{_name(one)} and {_name(other)} {reason}")
        if 2 < last - first <= MOST_MIXED:
            parts = part.parts[first:last]
            names = " and ".join(map(_name, parts))
            yield version.change(rebuild(seq(*before, any_order(*parts), *after)), f"{_cut(names)} {reason}")


def _move(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Let a step of a later part of a sequence come early, as another way, while all else stays in order."""
    if not isinstance(part, Seq) or failure.action is None or version.copies:
        return
    steps = steps_in(part)
    if len(steps) > MOST_COPIED:
        return
    for step in dict.fromkeys((failure.action, *sorted(failure.early, key=str))):
        for later, other in enumerate(part.parts):
            rest = _without(other, step) if steps.count(step) == 1 else None
            for place in range(later + 1 if rest is not None else 0):
                before, between, after = part.parts[:place], part.parts[place:later], part.parts[later + 1 :]
                moved = seq(*before, step, *between, *(rest or ()), *after)
                where = f"before {_name(seq(*between, *(rest or ())))}" if between or rest else "there"
                reason = f"{_name(step)} may come {where} now: the run has it early ({failure.where})."
                if moved != part:
                    yield replace(version.change(rebuild(choice(part, moved)), reason), copies=version.copies + 1)


def _without(part: Procedure, step: Action) -> tuple[Procedure, ...] | None:
    """Return a part without a step, as no or one part. Returns None if the step is no part that is always done."""
    if part == step:
        return ()
    if not isinstance(part, (Seq, AnyOrder)):
        return None
    for place, inner in enumerate(part.parts):
        rest = _without(inner, step)
        if rest is not None:
            left = (*part.parts[:place], *rest, *part.parts[place + 1 :])
            return (seq(*left) if isinstance(part, Seq) else any_order(*left),)
    return None


def _repeat(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Let a part be done more often."""
    if failure.action is None or failure.action not in leaves(part):
        return
    step, least, most = (part.step, part.least, part.most) if isinstance(part, Repeat) else (part, 1, 1)
    for times in range(most + 1, min(most + failure.times, MOST_TIMES + 1)):
        reason = f"{_name(step)} may be done {_often(times)} now: the run does it again ({failure.where})."
        yield version.change(rebuild(repeat(step, least, times)), reason)


def _replace(version: Version, failure: Failure, part: Procedure, rebuild: Rebuild) -> Iterator[Version]:
    """Let the call, and perhaps some after it, be done instead of a part that has none of them."""
    for length in range(1, min(len(failure.detour), LONGEST_DETOUR) + 1):
        instead = failure.detour[:length]
        other = seq(*instead)
        where = failure.where if length == 1 else f"{count(length, 'call')} from {failure.where}"
        for skipped, made in _replaced(part, other):
            if failure.done.isdisjoint(steps_in(skipped)) and _are_different(instead, skipped):
                reason = f"{_name(other)} may be done instead of {_name(skipped)} now: the run does that ({where})."
                yield version.change(rebuild(made), reason, *instead)


def _are_different(instead: Sequence[Action], skipped: Procedure) -> bool:
    """Whether actions have nothing in common with a part. Two calls of a tool differ in more than one argument."""
    left_out = steps_in(skipped)
    if len(instead) == len(left_out) == 1 and instead[0].tool == left_out[0].tool:
        return len(set(instead[0].arguments.fields) ^ set(left_out[0].arguments.fields)) > 2
    return not {action.tool for action in instead}.intersection(action.tool for action in left_out)


def _replaced(part: Procedure, other: Procedure) -> Iterator[tuple[Procedure, Procedure]]:
    """Yield parts that may be left out if `other` is done instead, and what the whole is then."""
    yield part, choice(part, other)
    if isinstance(part, Seq):
        for first, last in combinations(range(len(part.parts) + 1), 2):
            if 1 < last - first < len(part.parts):
                middle = seq(*part.parts[first:last])
                yield middle, seq(*part.parts[:first], choice(middle, other), *part.parts[last:])


# Changes of actions


def _allow_values(version: Version, failure: Failure) -> Iterator[Version]:
    """Allow the call's values for the arguments of an action."""
    call = failure.call
    if call is None or failure.known:
        return
    for action in dict.fromkeys(leaves(version.procedure)):
        if not isinstance(action, Action) or action.tool != call.tool:
            continue
        wider = widen_action(action, call, version)
        if wider is not None and wider != action:
            values = ", ".join(f"{name}={pattern}" for name, pattern in _changed(action, wider))
            reason = f"{_name(action)} may have {_cut(values)} now ({failure.where})."
            yield version.swap(action, wider, reason)


def widen_action(action: Action, call: Call, version: Version) -> Action | None:
    """Return the action with wider patterns, so that the call's arguments fit, or None if that is not possible."""
    tools = version.task.automaton.alphabet.tools
    tool = None if tools is None else tools[call.tool]
    full = action if tool is None else tool.complete(action)
    given = call.arguments if tool is None else tool.fill_defaults(call.arguments)
    patterns = dict(full.arguments.fields)
    if patterns.keys() - given.keys() or (given.keys() - patterns.keys() and not action.arguments.open):
        return None
    written = {name for name, _ in action.arguments.fields}
    fields: list[tuple[str, Matcher]] = []
    for name, pattern in patterns.items():
        wider = pattern if depends_on_calls(pattern) else widen_pattern(pattern, given[name])
        if name in written or wider != pattern:
            fields.append((name, wider))
    return replace(action, arguments=Fields(tuple(fields), action.arguments.open))


def widen_pattern(pattern: Matcher, value: Any) -> Matcher:
    """Return a pattern that allows a value too: a number nearby, any text if it is long, or one of several values."""
    if pattern.matches(value, Scope()):
        return pattern
    options = pattern.options if isinstance(pattern, OneOf) else (pattern,)
    texts = [value, *(one.value if isinstance(one, Literal) else None for one in options)]
    if all(isinstance(text, str) for text in texts) and any(map(is_prose, texts)):
        return as_matcher(ANY)
    if is_number(value):
        for place, option in enumerate(options):
            near = _stretch(option, value)
            if near is not None:
                others = (*options[:place], near, *options[place + 1 :])
                return near if len(others) == 1 else OneOf(others)
    return OneOf((*options, as_matcher(value)))


def _stretch(pattern: Matcher, value: float) -> Approx | None:
    """Return a tolerance that reaches a number close to the pattern's, or None if it is not close."""
    match pattern:
        case Approx(number=number) | Literal(value=number) if is_number(number):
            pass
        case _:
            return None
    one, other = Fraction(repr(number)), Fraction(repr(value))
    if one.denominator == other.denominator == 1 or abs(one - other) > _CLOSE * max(abs(one), abs(other)):
        return None
    near = Approx(number, float(abs(one - other)))
    return near if near.matches(value, Scope()) else None


def _changed(old: Action, new: Action) -> Iterator[tuple[str, Matcher]]:
    before = dict(old.arguments.fields)
    return ((name, pattern) for name, pattern in new.arguments.fields if before.get(name) != pattern)


def steps_in(part: Procedure) -> list[Action]:
    """Return the actions of a part."""
    return [action for action in leaves(part) if isinstance(action, Action)]


# Words


def _name(part: Procedure) -> str:
    return _cut(str(part))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _often(times: int) -> str:
    return "twice" if times == 2 else f"up to {times} times"
