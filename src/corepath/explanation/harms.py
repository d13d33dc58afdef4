"""Why calls are harmful, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step
from corepath.errors import count, nearest
from corepath.explanation.arguments import meant
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.groups import Group, done_later, is_enough
from corepath.explanation.values import message_text, step_text, tool_name, value_text
from corepath.explanation.words import calls_text, capital, listed, sentence, stopped_text
from corepath.notation.action import Action
from corepath.notation.call import UNANSWERED
from corepath.rules.policy import breaks
from corepath.scoring.evidence import Harm
from corepath.values import parse_json

MOST_GROUPS: Final = 12
"""Groups of harmful calls that are told one by one."""
FEWEST_WORDS: Final = 3
"""Words that the reason of a policy has if it is told; a shorter one is a piece of a sentence."""


def why(facts: Facts, harm: Harm) -> str:
    """Why one call is harmful: what is said of it after its name."""
    step = facts.steps[harm.index]
    match harm.kind:
        case HarmKind.MALFORMED:
            return f"has arguments that are no JSON object: {_malformed(step)}"
        case HarmKind.UNKNOWN_TOOL:
            return f"names a tool that does not exist{nearest(step.call.tool, facts.automaton.alphabet.tools or ())}"
        case HarmKind.FORBIDDEN:
            return _forbidden(facts, harm)
        case HarmKind.REPEATED:
            return f"repeats call {_done_before(facts, step) + 1}, and that is not due again"
        case HarmKind.OUT_OF_ORDER:
            return _out_of_order(facts, harm)
        case HarmKind.AFTER_COMPLETION:
            done = (index for calls in facts.done_at.values() for index in calls if index < harm.index)
            last = max(done, default=None)
            return "comes after the task was complete" + ("" if last is None else f" at call {last + 1}")
        case HarmKind.FAILED:
            return "failed, and every failed call counts as harmful here"
    return _other_arguments(facts, harm)


def _forbidden(facts: Facts, harm: Harm) -> str:
    text = f"is forbidden ({harm.severity} severity)" + (f": {message_text(harm.why)}" if harm.why else "")
    return text + _beside_due(facts, harm)


def _beside_due(facts: Facts, harm: Harm) -> str:
    """In what a call differs from a step of its tool that was due."""
    nearby = meant(facts, harm.index)
    return f"; compared with the step that was due, {nearby}" if nearby is not None and nearby.due else ""


def _out_of_order(facts: Facts, harm: Harm) -> str:
    step = facts.steps[harm.index]
    if harm.cause is None:
        fits = step.reading.fits if step.symbol is None else (step.symbol,)
        ahead = any(facts.automaton.ahead[step.before] >> symbol & 1 for symbol in fits)
        what = "is not due yet" if ahead else f"does not belong here{_decided(facts, harm, fits)}"
        return f"is a step that {what}{_beside_due(facts, harm)}"
    steps = facts.lacking_text((facts.symbols[name] for name in harm.cause.skipped), harm.cause.at)
    if (again := repeated_at_once(facts, harm)) is not None:
        return f"repeats call {again + 1}, and that is due again only after {steps}"
    if harm.index == harm.cause.at:
        return f"comes too early: {steps} must come first"
    skipped = {facts.symbols[name] for name in harm.cause.skipped}
    if skipped.isdisjoint(facts.made(harm.index)):
        return f"follows from call {harm.cause.at + 1}: {steps} had not been done"
    if skipped.isdisjoint(facts.made(harm.cause.at)):
        return f"follows from call {harm.cause.at + 1}: {steps} had not been done yet at that call"
    return f"follows from call {harm.cause.at + 1}: {steps} had to come before that call"


def _decided(facts: Facts, harm: Harm, steps: tuple[int, ...]) -> str:
    """The call whose result led another way than to these steps; empty where there is none."""
    for step in reversed(facts.steps[: harm.index]):
        if step.kind is Kind.PROGRESS and step.symbol is not None and step.call.result is not UNANSWERED:
            edges = facts.automaton.delta[step.before]
            others = [edges[one] for one in facts.alike(step.symbol) - {step.symbol} if one in edges]
            if any(facts.automaton.ahead[state] >> symbol & 1 for state in others for symbol in steps):
                return f": call {step.index + 1} had returned {value_text(step.call.result)}"
    return ""


def _other_arguments(facts: Facts, harm: Harm) -> str:
    nearby = meant(facts, harm.index)
    if nearby is None:
        return "is no step of this task"
    if nearby.needs:
        needed = listed([step_text(action, facts.scope(harm.index)) for action in nearby.needs])
        made = [step for step in facts.steps[: harm.index] if _is_one_of(facts, step, nearby.needs)]
        if done := [step.index for step in made if step.kind is Kind.PROGRESS]:
            return f"needs what {needed} returns, and {calls_text(done)} gave no such result"
        if made:
            return f"needs what {needed} returns, and {calls_text(step.index for step in made)} did not count"
        return f"needs what {needed} returns, and that had not been done"
    if nearby.due:
        return f"has {'a wrong argument' if len(nearby.wrong) == 1 else 'wrong arguments'}: {nearby}"
    return f"is no step of this task; compared with the nearest one, {nearby}"


def _is_one_of(facts: Facts, step: Step, actions: tuple[Action, ...]) -> bool:
    """Whether a call is one of these actions, and did not fail."""
    return step.symbol is not None and not step.call.failed and facts.automaton.alphabet.actions[step.symbol] in actions


def _malformed(step: Step) -> str:
    """What the arguments are instead of an object."""
    given = step.call.arguments
    try:
        read = parse_json(given) if isinstance(given, str) else given
    except ValueError as error:
        return message_text(str(error))
    return "a list" if isinstance(read, (list, tuple)) else "a text" if isinstance(read, str) else value_text(read)


def _done_before(facts: Facts, step: Step) -> int:
    """The last call that did a step which is now repeated."""
    symbols = set(step.reading.fits) if step.symbol is None else {step.symbol}
    return max(index for symbol in symbols for index in facts.done_at.get(symbol, ()) if index < step.index)


def repeated_at_once(facts: Facts, harm: Harm) -> int | None:
    """The call that a too early one repeats: the same step, done right before it, and so once too often."""
    step = facts.steps[harm.index]
    label = facts.score.trace.label(step)
    if facts.score.condensed.count(label) <= facts.score.reference.path.count(label):
        return None
    before = next((one for one in reversed(facts.steps[: harm.index]) if one.kind is not Kind.LOOP), None)
    if before is None or before.kind is not Kind.PROGRESS or before.symbol is None or before.symbol != step.symbol:
        return None
    return before.index


def effect(facts: Facts, harm: Harm) -> str:
    """Whether a harmful call took effect, or what the tool answered; empty where nothing is known."""
    call = facts.steps[harm.index].call
    if call.failed and harm.kind not in (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL):
        return f"the tool refused it: {message_text(call.error)}"
    if not harm.effected or call.result is UNANSWERED:
        return ""
    if facts.changed[harm.index] is None:
        return "it ran"
    return "it took effect" if facts.changed[harm.index] else "it changed nothing"


def not_done(facts: Facts, group: Group) -> str:
    """What a call that stands in the place of a step kept from being done; empty where the call itself says it."""
    tools = [facts.automaton.alphabet.actions[symbol].tool for symbol in group.skipped]
    if facts.steps[group.first.index].call.tool in tools:
        return ""
    later = done_later(facts, group)
    never = [symbol for symbol in group.skipped if symbol not in later]
    were = "was" if len(never or group.skipped) == 1 else "were"
    if not never:
        steps = facts.lacking_text(group.skipped, group.first.index)
        return f"{steps} {were} done only at {calls_text(sorted(later.values()))}, and "
    often = "not" if facts.made(len(facts.steps)).intersection(never) else "never"
    return f"{facts.lacking_text(never, group.first.index)} {were} {often} done, and "


def harmful(facts: Facts, found: tuple[Group, ...]) -> Iterator[Finding]:
    """A finding for each reason; of very many, what the others are in short."""
    for group in found[:MOST_GROUPS]:
        yield Finding(FindingKind.HARM, _told(facts, group), group.calls)
    if rest := found[MOST_GROUPS:]:
        kinds = Counter(harm.kind.value.replace("_", " ") for group in rest for harm in group.harms)
        calls = tuple(sorted(index for group in rest for index in group.calls))
        shown = listed([f"{count:,} {kind}" for kind, count in kinds.most_common()], most=9)
        yield Finding(FindingKind.HARM, f"And {count(len(calls), 'more harmful call')}: {shown}.", calls)


def _told(facts: Facts, group: Group) -> str:
    first, rest = group.first, group.harms[1:]
    text = [sentence(f"{facts.call_text(first.index)}, {_why(facts, group)}")]
    if rest and group.back is None:
        text.append(stopped_text(_also(facts, group)))
    text += [sentence(part) for part in (_effects(facts, group), _rule(facts, first), _legal(facts, first)) if part]
    return " ".join(text)


def _why(facts: Facts, group: Group) -> str:
    later = done_later(facts, group)
    whole = later and len(later) == len(set(group.skipped))
    if group.first.cause is None or not whole or repeated_at_once(facts, group.first) is not None:
        return why(facts, group.first)
    return f"{why(facts, group.first)}, and came only at {calls_text(sorted(later.values()))}"


def _also(facts: Facts, group: Group) -> str:
    """What the other calls of a group are."""
    rest, one = calls_text(group.calls[1:]), len(group.harms) == 2
    be = "is" if one else "are"
    if group.skipped and group.first.cause is None:
        before = not_done(facts, group)
        return f"{before}{rest if before else capital(rest)} {be} harmful only for that"
    if group.skipped:
        only = "only " if is_enough(facts, group) else ""
        return f"{capital(rest)} {be} harmful {only}for the same reason"
    match group.first.kind:
        case HarmKind.REPEATED:
            return f"So {'does' if one else 'do'} {rest}"
        case HarmKind.UNLISTED | HarmKind.FORBIDDEN:
            return f"The same goes for {rest} of {tool_name(facts.steps[group.first.index].call.tool)}"
    return f"The same goes for {rest}"


def _effects(facts: Facts, group: Group) -> str:
    if group.back is not None:
        return f"it took effect, and call {group.back + 1} took it back"
    if len(group.harms) == 1:
        return effect(facts, group.first)
    refused = sum(facts.steps[index].call.failed for index in group.calls)
    took = sum(facts.changed[index] is True and not facts.steps[index].call.failed for index in group.calls)
    parts = [f"{_of(took, group)} took effect"] if took else []
    if refused:
        which = str(refused) if took else _of(refused, group)
        parts.append(f"{which} {'was' if refused == 1 else 'were'} refused by the tool")
    return ", and ".join(parts)


def _of(count: int, group: Group) -> str:
    every = len(group.harms)
    if count == every:
        return "both" if every == 2 else f"all {every}"
    return f"{count} of the {every}"


def _rule(facts: Facts, harm: Harm) -> str:
    """The reason of the policy that a call broke, where the world has one."""
    run = facts.replay
    if run is None or harm.why is not None or harm.kind in (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL):
        return ""
    call, before, after = run.calls[harm.index], run.states[harm.index], run.states[harm.index + 1]
    for policy in facts.task.policies:
        told = len(policy.because.split()) >= FEWEST_WORDS
        if told and breaks(policy, run.calls[: harm.index], call, before, after):
            return f'the agent was told: "{message_text(policy.because)}"'
    return ""


def _legal(facts: Facts, harm: Harm) -> str:
    """What was due in the place of a harmful call, where nothing else says so."""
    if harm.cause is not None or harm.index == facts.score.harms[0].index:
        return ""
    due = facts.due_text(harm.index)
    return f"due was {due}" if due else ""
