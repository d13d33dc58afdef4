"""Write a repair as instructions, e.g. `In call 3, change amount to 50`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from corepath.automaton.step import Kind
from corepath.explanation.arguments import compare_with_step
from corepath.explanation.difference_text import describe_changes
from corepath.explanation.edits import PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Edit, EditKind, Finding, FindingKind
from corepath.explanation.sentences import MOST_LISTED, calls_text, join, sentence
from corepath.explanation.tries import name_only_tool
from corepath.explanation.undo import UndoPair
from corepath.values import visible

MOST_CHANGES: Final = 5
"""Maximum number of changes that are named for one call. A call that differs more is written anew."""
FEWEST_LISTED: Final = 5
"""If there are at least so many steps and none was done, they are listed instead of edits."""


def write_fix(facts: Facts, repair: Repair | None, undone: Sequence[UndoPair]) -> tuple[Edit, ...]:
    """Write each edit of a repair as an instruction. All calls to leave out that the tool refused are one instruction.

    Steps that are added at the same place are one instruction too, and so are a call that is left out and the call that
    undid it.
    """
    if repair is None:
        return ()
    left_out = repair.left_out
    refused = [index for index in left_out if facts.is_refused(index)]
    stays = {edit.call for edit in repair.path}
    backs = {pair.done: pair.back for pair in undone if pair.back not in stays}
    edits: list[Edit] = []
    last: PathEdit | None = None
    moved = {one.call for one in repair.edits if one.kind == "move"}
    todo = [_place_beside(one, moved) for one in repair.edits if one.call not in refused]
    for run in _runs(facts, todo):
        edit, *more = run
        if edit.call in left_out:
            edits.append(_leave_out(facts, edit.call, backs.get(edit.call), alone=len(left_out) == 1))
        else:
            text = visible(sentence(_describe(facts, run, stays, last)))
            then = tuple(one.symbol for one in more if one.symbol is not None)
            edits.append(Edit(EditKind(edit.kind), _call(edit), edit.symbol, text, then=then))
        last = run[-1]
    return (*edits, *_leave_out_refused(facts, refused, alone=len(left_out) == 1))


def _place_beside(edit: PathEdit, moved: Collection[int | None]) -> PathEdit:
    """Return an edit that adds a step before the next call, if the call that it would be added before is moved."""
    while edit.kind == "add" and edit.place in moved:
        edit = replace(edit, place=edit.place + 1)
    return edit


def _runs(facts: Facts, edits: Sequence[PathEdit]) -> Iterator[list[PathEdit]]:
    """Yield the edits in groups. Each has one edit, or steps that are added one after another."""
    run: list[PathEdit] = []
    for edit in edits:
        if run and not _follows(facts, run[-1], edit):
            yield run
            run = []
        run.append(edit)
    if run:
        yield run


def _leave_out(facts: Facts, index: int, back: int | None, *, alone: bool) -> Edit:
    """Write an instruction to leave out a call. The call is written in full only if it is `alone`.

    `back` is the call that undid it and is left out too, or None if there is no such call.
    """
    text = f"leave out {facts.call_text(index) if alone else facts.name_call(index)}"
    if back is None:
        return Edit(EditKind.LEAVE_OUT, index, None, visible(sentence(text)))
    text += f", and {facts.name_call(back)}, which only undid it"
    return Edit(EditKind.LEAVE_OUT, index, None, visible(sentence(text)), (back,))


def _leave_out_refused(facts: Facts, refused: Sequence[int], *, alone: bool) -> Iterator[Edit]:
    """Yield an instruction to leave out all calls that the tool refused, if there are any."""
    if refused:
        first, *others = refused
        one = facts.call_text(first) if alone else facts.name_call(first)
        tool = name_only_tool(facts, refused)
        several = f"{calls_text(refused)}, {tool}" if tool else calls_text(refused)
        text = f"leave out {several if others else one}, which the tool refused"
        yield Edit(EditKind.LEAVE_OUT, first, None, visible(sentence(text)), tuple(others))


def find_fix(facts: Facts, fix: tuple[Edit, ...], repair: Repair | None) -> Iterator[Finding]:
    """Yield a finding with the whole repair.

    If there are many edits and no call stays as a step, it lists the steps of the new path instead.
    """
    if not fix or repair is None:
        return
    steps = [one.symbol for one in repair.path if one.symbol is not None]
    text = " ".join(edit.text for edit in fix)
    if len(fix) > 2 and len(steps) >= FEWEST_LISTED and not repair.steps_kept:
        listed = ", ".join(facts.whole_text(symbol, 0) for symbol in steps)
        text = f"{sentence('make none of these calls')} {visible(sentence(f'call in this order: {listed}'))}"
    yield Finding(FindingKind.FIX, text, repair.calls)


def _call(edit: PathEdit) -> int | None:
    return edit.place if edit.kind == "add" else edit.call


def _follows(facts: Facts, last: PathEdit, edit: PathEdit) -> bool:
    """Whether an edit adds a step right after the step that the edit before added, or put in the place of a call."""
    if edit.kind != "add":
        return False
    if last.kind == "change" and last.call is not None:
        return edit.place == last.call + 1 and not _changes_arguments(facts, last)
    return last.kind == "add" and last.place == edit.place


def _describe(facts: Facts, run: Sequence[PathEdit], stays: Collection[int | None], last: PathEdit | None) -> str:
    """Describe edits that add, move or change calls as one instruction.

    `stays` holds the calls that are steps, and `last` is the edit before.
    """
    first = run[0]
    if first.kind == "move":
        return _describe_move(facts, first, stays)
    if first.kind == "change" and _changes_arguments(facts, first):
        return _describe_arguments(facts, first)
    is_moved_there = last is not None and last.kind == "move" and last.place == first.place
    follows = is_moved_there and last is not None and _neighbour(facts, last, stays) is None
    return _describe_steps(facts, run, follows=follows)


def _describe_steps(facts: Facts, run: Sequence[PathEdit], *, follows: bool) -> str:
    """Describe steps to call one after another, e.g. `before call 2, call a(), then b()`.

    `follows` says that they come right after a call that was moved.
    """
    first, end = run[0], len(facts.steps)
    steps = [facts.whole_text(one.symbol, one.place) for one in run if one.symbol is not None]
    listed = f"in this order: {', '.join(steps)}" if len(steps) > MOST_LISTED else ", then ".join(steps)
    if first.kind == "change" and first.call is not None:
        return f"instead of {facts.call_text(first.call)}, call {listed}"
    if follows:
        return f"after that, call {listed}"
    if first.place < end:
        before = f"before call {first.place + 1}"
        return f"call {listed} {before}" if len(steps) == 1 else f"{before}, call {listed}"
    if facts.hand_over is not None:
        return f"before handing over (call {facts.hand_over + 1}), call {listed}"
    return f"at the end, call {listed}" if end else f"call {listed}"


def _describe_move(facts: Facts, edit: PathEdit, stays: Collection[int | None]) -> str:
    assert edit.call is not None
    neighbour = _neighbour(facts, edit, stays)
    if neighbour is not None:
        first, second = sorted((edit.call, neighbour))
        return f"swap {facts.call_text(first)}, and {facts.call_text(second)}"
    where = "to the end" if edit.place == len(facts.steps) else f"to before call {edit.place + 1}"
    return f"move {facts.call_text(edit.call)}, {where}"


def _neighbour(facts: Facts, edit: PathEdit, stays: Collection[int | None]) -> int | None:
    """Return the call that a moved call changes places with, or None if it moves further than that."""
    assert edit.call is not None
    low, high = (edit.place, edit.call) if edit.place < edit.call else (edit.call + 1, edit.place)
    between = [step.index for step in facts.steps[low:high] if step.kind is not Kind.LOOP or step.index in stays]
    return between[0] if len(between) == 1 else None


def _changes_arguments(facts: Facts, edit: PathEdit) -> bool:
    """Whether a changed call keeps its tool and most of its arguments. Otherwise another call takes its place."""
    assert edit.call is not None
    assert edit.symbol is not None
    call = facts.steps[edit.call].call
    if call.malformed or call.tool != facts.automaton.alphabet.actions[edit.symbol].tool:
        return False
    return len(describe_changes(compare_with_step(facts, edit.call, edit.symbol).differences)) <= MOST_CHANGES


def _describe_arguments(facts: Facts, edit: PathEdit) -> str:
    assert edit.call is not None
    assert edit.symbol is not None
    changes = describe_changes(compare_with_step(facts, edit.call, edit.symbol).differences)
    return f"in call {edit.call + 1}, {join(changes, most=MOST_CHANGES)}"
