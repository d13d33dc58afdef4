"""What headlines promise about steps and calls, on every built-in episode and on the τ episodes.

Without `--long`, only some of the built-in episodes are explained.
"""

from __future__ import annotations

import re

import pytest

from corepath.automaton.step import Kind
from corepath.explanation import EditKind, FindingKind
from tests.explanation.episodes import Case, built_in_cases, tau_cases
from tests.explanation.test_every_episode import QUOTED, failing, numbers, sentences


@pytest.fixture(scope="module", params=["built-in", "tau"])
def cases(request, times) -> list[Case]:
    return list(built_in_cases(1 if times > 1 else 8)) if request.param == "built-in" else list(tau_cases())


def test_a_refused_call_has_wrong_arguments_only_if_its_step_could_come_then(cases):
    seen = 0
    for name, task, episode, _, found in failing(cases):
        match = re.match(r"Wrong arguments? in call (\d+),", found.headline)
        if match is None or not episode.calls[int(match[1]) - 1].failed:
            continue
        seen += 1
        state = task.automaton.start
        for index, symbol in found.repair:
            if index == int(match[1]) - 1:
                assert symbol in task.automaton.due(state), (name, found.headline)
                break
            if index is not None and symbol is not None:
                state = task.automaton.delta[state].get(symbol, state)
    assert seen


def test_if_nothing_at_all_was_done_that_comes_first(cases):
    seen = 0
    for name, task, _, scored, found in failing(cases):
        steps = [symbol for _, symbol in found.repair if symbol is not None]
        kept = {index for index, symbol in found.repair if symbol is not None and index is not None}
        kept -= {edit.call for edit in found.fix if edit.kind is not EditKind.ADD}
        moved = any(edit.kind is EditKind.MOVE for edit in found.fix)
        ran = any(harm.effected for harm in scored.harms)
        if kept or moved or ran or len(steps) < 3 or any(one.kind is Kind.PROGRESS for one in scored.trace.steps):
            continue
        seen += 1
        begins = "Made no|Only looked|Handed over|Ran into|None of|No step|Wrong arg|Both|All"
        assert re.match(begins, found.headline), (name, found.headline)
        if match := re.search(r"[Nn]one of the \w+ steps was done; the first (is|could be) (\w+)\(", found.headline):
            first = [
                task.automaton.alphabet.actions[symbol].tool for symbol in task.automaton.due(task.automaton.start)
            ]
            assert match[2] in first, (name, found.headline)
            assert (match[1] == "is") == (len(first) == 1), (name, found.headline)
    assert seen > 3


def test_the_steps_in_a_headline_are_counted_right(cases):
    seen = 0
    for name, _, episode, _, found in failing(cases):
        text = QUOTED.sub("", found.headline)
        if match := re.search(r"(\d+) of (\d+) steps: next [^;]*; (\d+) more steps? after it", text):
            seen += 1
            assert int(match[1]) + 1 + int(match[3]) == int(match[2]), (name, found.headline)
        steps = [(index, symbol) for index, symbol in found.repair if symbol is not None]
        changed = {edit.call for edit in found.fix if edit.kind is EditKind.CHANGE}
        moved = sum(edit.kind is EditKind.MOVE and not episode.calls[edit.call or 0].failed for edit in found.fix)
        done = moved + sum(
            index is not None and index not in changed and not episode.calls[index].failed for index, _ in steps
        )
        if match := re.search(r"(\d+) of the (\d+) steps are missing", text):
            seen += 1
            assert (int(match[1]), int(match[2])) == (len(steps) - done, len(steps)), (name, found.headline)
    assert seen > 5 or all(case[1].simulator is None for case in cases)


def test_refused_calls_to_one_tool_are_told_with_the_tool(cases):
    seen = 0
    for name, _, episode, _, found in failing(cases):
        for listed in re.findall(
            r"(calls? [\d, –and]+)(?:\w+,)? (?:was|were)(?: also)? refused(?! only)", found.headline
        ):
            tools = {episode.calls[number - 1].tool for number in numbers(listed)}
            seen += len(tools) == 1
            assert len(tools) > 1 or tools.pop() in found.headline, (name, found.headline)
    assert seen


def test_a_step_that_was_called_elsewhere_is_told_with_its_place(cases):
    for name, _, episode, _, found in failing(cases):
        if match := re.match(r"Call \d+, .*, and (\w+)\(\) is missing[;.]", found.headline):
            assert match[1] not in [call.tool for call in episode.calls], (name, found.headline)


def test_results_are_told_as_what_a_call_returns(cases):
    for case in cases:
        for text in sentences(case):
            assert not re.search(r"<\w+ of ", QUOTED.sub("", text)), (case[0], text)
            assert "which also came too early" not in text, (case[0], text)


def test_a_list_of_all_steps_stands_for_the_fix_if_no_call_is_a_step(cases):
    seen = 0
    for name, task, _, _, found in failing(cases):
        fix = next(one.text for one in found.findings if one.kind is FindingKind.FIX)
        steps = [symbol for _, symbol in found.repair if symbol is not None]
        if fix.startswith("Make none of these calls."):
            seen += 1
            state = task.automaton.start
            for symbol in steps:
                state = task.automaton.delta[state][symbol]
            assert state in task.automaton.accepting, (name, fix)
            tools = [task.automaton.alphabet.actions[symbol].tool for symbol in steps]
            assert re.findall(r"(?:: |\), )(\w+)\(", fix) == tools, (name, fix)
    assert seen or all(case[1].simulator is None for case in cases)


def test_a_step_is_added_beside_a_call_that_stays_where_it_is(cases):
    for name, _, _, _, found in failing(cases):
        moved = {edit.call for edit in found.fix if edit.kind is EditKind.MOVE}
        added = {edit.call for edit in found.fix if edit.kind is EditKind.ADD}
        assert moved.isdisjoint(added), (name, [edit.text for edit in found.fix])


def test_a_step_that_was_called_is_not_said_to_be_undone(cases):
    for name, _, _, scored, found in failing(cases):
        called = any(step.symbol is not None and not step.call.failed for step in scored.trace.steps)
        match = re.search(r"([Nn]one|[Nn]either) of the \w+ steps was done( at the right time)?", found.headline)
        assert match is None or not called or match[2], (name, found.headline)
