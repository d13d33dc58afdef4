"""The cause of harmful calls in a few words: what stands in the headline."""

from __future__ import annotations

from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.arguments import meant
from corepath.explanation.facts import Facts
from corepath.explanation.groups import Group, done_later, refused, returned_else
from corepath.explanation.harms import not_done, repeated_at_once, why
from corepath.explanation.values import step_text, tool_name
from corepath.explanation.words import MOST_LISTED, calls_text, capital, listed, times

_NO_STEP: Final = (HarmKind.WRONG_ARGUMENT, HarmKind.UNLISTED)
"""Kinds of calls that are no step, whenever they come."""


def cause(facts: Facts, group: Group) -> str:
    """What made the calls of a group harmful, without a full stop."""
    if group.first.cause is not None and repeated_at_once(facts, group.first) is None:
        return _skipped(facts, group)
    if group.first.kind is HarmKind.REPEATED and (said := _repeated(facts, group)):
        return said
    call, nearby = capital(facts.call_text(group.first.index)), meant(facts, group.first.index)
    far = group.first.kind in _NO_STEP and nearby is not None and not nearby.due
    text = _needs(facts, group) or f"{call}, {'is no step of this task' if far else why(facts, group.first)}"
    rest = len(group.harms) - 1
    if group.skipped and group.first.cause is None:
        follow = f"{count(rest, 'later call')} {'is' if rest == 1 else 'are'}"
        return f"{text}; {not_done(facts, group)}{follow} harmful for that"
    if group.back is not None:
        return f"{text}; call {group.back + 1} took it back"
    if rest and group.skipped:
        return f"{text}; {calls_text(group.calls[1:])} {'is' if rest == 1 else 'are'} harmful for the same reason"
    return f"{text}; the same goes for {calls_text(group.calls[1:])}" if rest else text


def _skipped(facts: Facts, group: Group) -> str:
    """Steps that were skipped, came too late, or were tried in vain."""
    later, tried = done_later(facts, group), refused(facts, frozenset(group.skipped))
    never = [symbol for symbol in group.skipped if symbol not in later]
    early = {facts.symbol(step) for step in facts.early if step.index < group.first.index}
    skipped = [symbol for symbol in never if symbol not in tried and symbol not in early]
    meant_here = skipped or never or group.skipped
    names = facts.lacking_text(meant_here, group.first.index)
    again = not facts.made(group.first.index).isdisjoint(skipped)
    harmful, one = count(len(group.harms), "harmful call"), len(group.harms) == 1
    call, at = tool_name(facts.steps[group.first.index].call.tool), group.first.index + 1
    were = "was" if len(meant_here) == 1 else "were"
    if not never:
        came = calls_text(sorted(later.values()))
        more = "" if one else f": {harmful}"
        return f"{call} (call {at}) came too early: {names} {were} due first and came only at {came}{more}"
    if not skipped and set(never) <= set(tried):
        last = max(tried[symbol] for symbol in never)
        if last < group.first.index:
            return f"{names} failed at call {last + 1} and {were} never done: {harmful} after that"
        return f"{call} (call {at}) came too early: {names} {were} due first and failed at call {last + 1}: {harmful}"
    if spite := _in_spite(facts, frozenset(never), group):
        return spite
    if not skipped or len(skipped) > MOST_LISTED:
        return f"{call} (call {at}) came too early: {names} {were} due first: {harmful}"
    skip = "Did not do" if again else "Skipped"
    if one:
        return f"{skip} {names}: {call} was called without {'it' if len(skipped) == 1 else 'them'}"
    steps = "one skipped step" if len(skipped) == 1 else count(len(skipped), "skipped step")
    return f"{skip} {names} before call {at}: {steps}, {harmful}"


def _needs(facts: Facts, group: Group) -> str:
    """A call that needs what a step returns which was not done; empty where it is something else."""
    first = group.first
    nearby = meant(facts, first.index) if first.kind in _NO_STEP else None
    if nearby is None or not nearby.needs:
        return ""
    actions = facts.automaton.alphabet.actions
    needed = frozenset(symbol for symbol in facts.automaton.alphabet.steps if actions[symbol] in nearby.needs)
    if needed.intersection(facts.positions[first.index].done):
        return ""
    at = f"{tool_name(facts.steps[first.index].call.tool)} (call {first.index + 1})"
    names = listed([step_text(action, facts.scope(first.index)) for action in nearby.needs])
    later = [step.index for step in facts.steps[first.index :] if step.kind is Kind.PROGRESS and step.symbol in needed]
    if later:
        return f"{at} came too early: it needs what {names} returns, done only at {calls_text(later)}"
    if spite := _in_spite(facts, needed, group):
        return spite
    tried = refused(facts, needed)
    if needed <= tried.keys():
        failed = max(tried.values())
        when = f"failed at call {failed + 1}" if failed < first.index else f"came only at call {failed + 1} and failed"
        return f"{names} {when}, and {at} needs what {'it returns' if len(nearby.needs) == 1 else 'they return'}"
    made = not facts.made(first.index).isdisjoint(needed)
    skipped = f"{names} had not been done where it was due" if made else f"Skipped {names}"
    return f"{skipped}: {at} needs what {'it returns' if len(nearby.needs) == 1 else 'they return'}"


def _in_spite(facts: Facts, steps: frozenset[int], group: Group) -> str:
    """A check that did not come out as the procedure goes on with, and an act all the same."""
    index = group.first.index
    check = returned_else(facts, steps, index)
    if check is None:
        return ""
    at = f"{tool_name(facts.steps[index].call.tool)} (call {index + 1})"
    how = "went out in the same turn" if facts.in_one_turn(check, index) else "went on all the same"
    call = capital(facts.call_text(check))
    return f"{call}, returned something else than the procedure asks for, and {at} {how}"


def _repeated(facts: Facts, group: Group) -> str:
    """`send_message was called 3 times, and once was due: calls 2 and 3 repeat it`."""
    symbol = facts.steps[group.first.index].symbol
    if symbol is None:
        return ""
    alphabet = facts.automaton.alphabet
    due = facts.score.reference.path.count(alphabet.names[symbol])
    made = sum(step.symbol == symbol and step.kind is not Kind.LOOP for step in facts.steps)
    if not 0 < due < made:
        return ""
    tool = alphabet.actions[symbol].tool
    alone = sum(action.tool == tool for action in alphabet.actions) == 1
    name = tool if alone else facts.step_text(symbol, group.first.index)
    wanted = "once was" if due == 1 else f"{due} were"
    repeat = "repeats" if len(group.harms) == 1 else "repeat"
    return f"{name} was called {times(made)}, and {wanted} due: {calls_text(group.calls)} {repeat} it"
