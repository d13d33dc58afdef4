"""What every explanation promises, on every built-in episode and on the τ episodes.

Without `--long`, only some of the built-in episodes are explained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from corepath import Automaton, score
from corepath.automaton.step import Kind, begin, step
from corepath.explanation import CauseKind, EditKind, FindingKind
from corepath.explanation.arguments import differing_arguments
from corepath.explanation.facts import Facts
from corepath.explanation.headline import LONGEST_HEADLINE
from corepath.explanation.mistakes import find_mistakes
from corepath.explanation.repair import repair_path
from corepath.explanation.sentences import number_text
from corepath.rules.rule import Never
from corepath.world.examples import variant
from corepath.world.exploring import Edge, Node, attempt, replay
from tests.explanation.episodes import Case, built_in_cases, tau_cases
from tests.explanation.helpers import is_repaired

JARGON = re.compile(r"\b(due|golden|approx|tol|regex|one_of|none_of|self-loop|root cause|needless|automaton)\b")
LISTED = re.compile(
    r"; (?=[^;.]* (?:was|were) [^;]*, expected |[^;.]* wrong too\.|[^;.]* is not expected; |and \d+ more diff)"
)
"""What comes before one of several differences of a call's arguments."""
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


@pytest.fixture(scope="module", params=["built-in", "tau"])
def cases(request, times) -> list[Case]:
    return list(built_in_cases(1 if times > 1 else 8)) if request.param == "built-in" else list(tau_cases())


def failing(cases: list[Case]) -> Iterator[Case]:
    return (case for case in cases if case[3].harms or not case[3].accepted)


def sentences(case: Case) -> Iterator[str]:
    found = case[4]
    yield found.headline
    yield from (finding.text for finding in found.findings)
    yield from (edit.text for edit in found.fix)
    yield from (note.text for note in found.notes)


def test_no_two_texts_that_should_differ_look_alike(cases):
    seen = 0
    for name, _, _, _, found in cases:
        for note in found.notes:
            for one in note.differences:
                seen += 1
                assert one.given != one.expected, (name, one)
        for was, expected in re.findall(r"was ([^;]+), expected ([^;]+?)(?:;|\.$|$)", found.headline):
            assert was != expected, (name, found.headline)
    assert seen > 20


def test_sentences_are_plain(cases):
    for case in cases:
        for text in sentences(case):
            assert not JARGON.search(QUOTED.sub("", text)), (case[0], text)
        assert len(case[4].headline) <= LONGEST_HEADLINE
        assert case[4].headline[-1] in '.?!…"', (case[0], case[4].headline)


def test_every_failure_has_one_cause_and_a_fix_that_the_task_accepts(cases):
    for name, task, _, scored, found in cases:
        failed = bool(scored.harms) or not scored.accepted
        assert bool(found.fix) == failed, (name, found.headline)
        if failed:
            assert found.cause is not None, name
            assert is_repaired(task, found), (name, found.fix)


def test_a_fix_works_in_the_world(cases):
    for name, task, episode, _, found in failing(cases):
        if task.simulator is None:
            continue
        node = Node(begin(task.automaton), task.start)
        for index, symbol in found.repair:
            if symbol is None:
                continue
            kept = not any(edit.call == index and edit.kind != "add" for edit in found.fix)
            if index is not None and kept:
                call, state = task.simulator.answer(node.state, episode.calls[index])
                taken, position = step(node.position, call)
                assert taken.kind is Kind.PROGRESS, (name, call)
                node = Node(position, state)
            else:
                done = attempt(task, node, symbol, variant(task, 0))
                assert isinstance(done, Edge), (name, done)
                node = done.after
        assert node.position.accepted, name


def test_the_headline_agrees_with_the_fix(cases):
    for name, task, _, _, found in failing(cases):
        actions = task.automaton.alphabet.actions
        added = {step for one in found.fix if one.kind != "change" for step in (one.action, *one.then)}
        put_in = {actions[step].tool for step in added if step is not None}
        if match := re.match(r"Skipped (\w+)\(", found.headline):
            assert match[1] in put_in, (name, found.headline, found.fix)
        if match := re.match(r"(\w+) \(call (\d+)\) came too early: (\w+)\(", found.headline):
            moved = {one.call for one in found.fix if one.kind == "move"}
            assert match[3] in put_in or int(match[2]) - 1 in moved, (name, found.headline, found.fix)
        if match := re.match(r"Wrong arguments? in call (\d+),", found.headline):
            changed = {one.call for one in found.fix if one.kind == "change"}
            assert int(match[1]) - 1 in changed, (name, found.headline, found.fix)
        if match := re.match(r"(?:Both|All \w+) tries of \w+ \((calls [\d, –and]+)\) (?:had|were)", found.headline):
            changed = {one.call + 1 for one in found.fix if one.kind == "change" and one.call is not None}
            assert changed & numbers(match[1]), (name, found.headline, found.fix)
        if match := re.match(r"Call (\d+), .* is (?:not part of this task|against a rule)", found.headline):
            touched = {one.call for one in found.fix if one.kind in ("leave out", "change")}
            assert int(match[1]) - 1 in touched or not found.fix, (name, found.headline, found.fix)


def test_a_step_is_told_as_skipped_only_if_no_right_path_does_the_call_before_it(cases):
    seen = 0
    for name, task, episode, scored, found in failing(cases):
        facts = Facts(task, scored, None if task.simulator is None else replay(task, episode.calls), episode)
        early = "must come first" in str(found) or "Skipped " in found.headline
        for one in find_mistakes(facts, repair_path(facts), ()) if early else ():
            action = facts.symbol(facts.steps[one.call]) if one.call < len(facts.steps) else None
            if one.kind not in ("skipped", "too early") or action is None or one.has_choice:
                continue
            for symbol in one.steps:
                seen += 1
                made = [
                    index for index, step in found.repair
                    if step == action and index is not None and index < one.call and not facts.steps[index].advances
                ]  # fmt: skip
                state = facts.positions[one.call].state
                assert not can_do_without(task.automaton, state, symbol, action, 1 + len(made)), (name, found.headline)
    assert seen > 20 or all(case[1].simulator is None for case in cases)


def can_do_without(automaton: Automaton, state: int, symbol: int, action: int, times: int) -> bool:
    """Whether a path from `state` does `action` that many times, and `symbol` never before the last time."""
    found, waiting = {(state, times)}, [(state, times)]
    while waiting:
        here, left = waiting.pop()
        for one, after in automaton.delta[here].items():
            if after == here:
                continue
            if one == action and left == 1:
                return True
            reached = after, left - (one == action)
            if one != symbol and reached not in found:
                found.add(reached)
                waiting.append(reached)
    return False


def test_no_other_try_of_a_changed_call_would_need_fewer_new_arguments(cases):
    seen = 0
    for name, task, episode, scored, found in failing(cases):
        facts = Facts(task, scored, None if task.simulator is None else replay(task, episode.calls), episode)
        left_out = [one.call for one in found.fix if one.kind is EditKind.LEAVE_OUT]
        left_out += [call for one in found.fix for call in one.also]
        for edit in found.fix if task.simulator is None else ():
            if edit.kind is not EditKind.CHANGE or edit.call is None or edit.action is None:
                continue
            tool = task.automaton.alphabet.actions[edit.action].tool
            own = len(differing_arguments(facts, edit.call, edit.action))
            for other in left_out:
                if other is not None and episode.calls[other].tool == episode.calls[edit.call].tool == tool:
                    seen += 1
                    assert own <= len(differing_arguments(facts, other, edit.action)), (name, found.fix)
    assert seen > 10 or all(case[1].simulator is not None for case in cases)


def test_no_call_is_moved_to_where_it_is(cases):
    for name, _, _, _, found in failing(cases):
        for edit in found.fix:
            if match := re.match(r"Move call (\d+), .*, to before call (\d+)\.$", edit.text):
                assert int(match[2]) - int(match[1]) not in (0, 1), (name, edit.text)


def test_no_sentence_has_a_cut_list_or_object(cases):
    for name, _, _, _, found in cases:
        for text in (found.headline, *(edit.text for edit in found.fix)):
            bare = QUOTED.sub("", text)
            assert all(bare.count(sign) == bare.count(end) for sign, end in ("[]", "{}", "()")), (name, text)


def test_a_headline_has_few_clauses(cases):
    seen = 0
    for name, _, _, _, found in failing(cases):
        text = QUOTED.sub("", found.headline)
        listed = len(LISTED.findall(text))
        clauses = re.split(r"; |\. ", text)
        assert len(clauses) - listed <= 3, (name, found.headline)
        assert len(re.findall(r"\btoo\b(?! (?:early|late|few|many))", text)) <= 1 + ("wrong too" in text), (
            found.headline
        )
        seen += len(clauses) > 1
    assert seen > 20


def test_who_called_a_later_step_did_not_just_stop(cases):
    for name, _, episode, scored, found in failing(cases):
        if found.headline.startswith("Stopped after") and not scored.harms:
            places = [one.call for one in found.fix if one.kind is EditKind.ADD]
            assert set(places) == {len(episode.calls)}, (name, found.headline, found.fix)


def test_a_call_that_took_effect_outranks_one_that_was_refused(cases):
    for name, task, episode, scored, found in failing(cases):
        assert found.cause is not None
        if found.cause.effected or not scored.harms:
            continue
        run = None if task.simulator is None else replay(task, episode.calls)
        took = [
            harm.index for harm in scored.harms
            if harm.effected and (run is None or run.states[harm.index] != run.states[harm.index + 1])
        ]  # fmt: skip
        assert not took, (name, found.headline)


def test_a_policy_is_quoted_only_for_the_call_that_broke_it(cases):
    for name, task, episode, _, found in failing(cases):
        told = [one for one in found.findings if one.kind is FindingKind.HARM and "The agent was told" in one.text]
        run = replay(task, episode.calls) if told else None
        for finding in told:
            number = re.match(r"Call (\d+),", finding.text)
            assert number is not None
            index = int(number[1]) - 1
            quote = finding.text.split('The agent was told: "')[1].lower()
            assert not episode.calls[index].failed, (name, finding.text)
            rules = [rule for rule in task.policies if rule.because.lower().rstrip(".") in quote]
            states = [rule.leaves for rule in rules if isinstance(rule, Never) and rule.leaves is not None]
            if rules and len(states) == len(rules) and run is not None:
                assert any(not leaves(run.states[index]) for leaves in states), (name, finding.text)


def test_hand_overs_are_told_and_not_counted_as_looking(cases):
    for name, _, episode, scored, found in cases:
        handed = [
            index for index, call in enumerate(episode.calls)
            if call.tool == "transfer_to_human_agents" and not call.failed and found.notes[index].kind is Kind.LOOP
        ]  # fmt: skip
        if not handed:
            continue
        assert all(found.notes[index].text == "handed over to a human" for index in handed), name
        looked = [one for one in found.findings if "only looked" in one.text]
        assert not any(set(handed) & set(one.calls) for one in looked), name
        progress = [step.index for step in scored.trace.steps if step.kind is Kind.PROGRESS]
        if max(progress, default=-1) < handed[-1] and not episode.unasked:
            assert "handed over to a human" in found.headline.lower(), (name, found.headline)
        if not scored.harms and not scored.accepted and max(progress, default=-1) < handed[-1]:
            assert found.cause is not None
            assert found.cause.kind is CauseKind.HANDED_OVER, (name, found.headline)


def test_where_nothing_was_to_be_changed_that_is_what_is_said(cases):
    for name, task, _, _, found in cases:
        if not any(task.automaton.due(state) for state in range(len(task.automaton.delta))):
            assert found.headline.startswith(("Nothing was ", "Not judged")), (name, found.headline)
            assert not any("task was complete" in text for text in sentences((name, task, _, _, found))), name


def numbers(text: str) -> set[int]:
    """The calls that a text names, counted from 1."""
    found: set[int] = set()
    for listed in re.findall(r"[Cc]alls? ((?:\d+(?:–\d+)?(?:, | and )?)+)", text):
        for low, high in re.findall(r"(\d+)(?:–(\d+))?", listed):
            found.update(range(int(low), int(high or low) + 1))
    return found


def test_a_list_of_refused_calls_is_complete(cases):
    seen = 0
    for name, _, episode, _, found in failing(cases):
        text = QUOTED.sub("", found.headline)
        refused = {number for number, call in enumerate(episode.calls, 1) if call.failed}
        told = numbers(found.headline) | numbers(text.replace("(call ", "call "))
        if match := re.search(
            r"(\w+)(?<! more)(?<!more) (?:calls|of them)(?: to \w+)? were refused", text, re.IGNORECASE
        ):
            seen += 1
            assert number_text(len(refused)) == match[1].lower(), (name, found.headline)
        elif match := re.search(r"(\w+) (?:more|other) calls(?:(?: to \w+)? were refused|[.,;])", text):
            assert len(refused) > len(refused & told), (name, found.headline)
        elif re.search(r"(was|were)( also)? refused(, as [^;]*)?[;.,]", text) and " more" not in text:
            seen += 1
            assert refused <= told, (name, found.headline)
    assert seen > 5


def test_who_did_all_steps_is_told_so(cases):
    for name, _, _, scored, found in failing(cases):
        if scored.accepted:
            said = (
                "all steps",
                "done",
                "Did ",
                "task was complete",
                "Nothing was",
                "only once",
                "came too early",
                "wrong order",
            )
            assert any(text in found.headline for text in said), (name, found.headline)


def test_no_refused_harm_of_a_task_without_a_world_is_left_without_an_edit(cases):
    for name, task, episode, scored, found in failing(cases):
        if task.simulator is None:  # in a world, such a call may do no harm after the repair
            edited = {call for edit in found.fix if edit.kind != "add" for call in (edit.call, *edit.also)}
            refused = {harm.index for harm in scored.harms if episode.calls[harm.index].failed}
            assert refused <= edited, (name, found.fix)


def test_only_a_task_with_the_right_outcome_is_called_complete(cases):
    seen = 0
    for name, task, episode, scored, found in failing(cases):
        if match := re.search(r"complete after call (\d+)", QUOTED.sub("", found.headline)):
            seen += 1
            assert scored.accepted, (name, found.headline)
            assert scored.state_match is not False, (name, found.headline)
            assert scored.response_match is not False, (name, found.headline)
            assert score(task, episode.calls[: int(match[1])]).accepted, (name, found.headline)
    assert seen > 5


def test_a_wrong_argument_is_told_only_of_a_call_that_can_have_been_meant_for_the_step(cases):
    seen = 0
    for name, task, episode, scored, found in failing(cases):
        match = re.match(r"Wrong arguments? in call (\d+),", found.headline)
        if match is None:
            continue
        seen += 1
        index = int(match[1]) - 1
        facts = Facts(task, scored, None if task.simulator is None else replay(task, episode.calls), episode)
        symbol = next(one.action for one in found.fix if one.kind is EditKind.CHANGE and one.call == index)
        assert symbol is not None
        state, actions = facts.positions[index].state, task.automaton.alphabet.actions
        if symbol not in task.automaton.due(state):
            others = [
                one for one in task.automaton.alphabet.steps - {symbol}
                if task.automaton.ahead[state] >> one & 1 and actions[one].tool == actions[symbol].tool
            ]  # fmt: skip
            far = len(differing_arguments(facts, index, symbol))
            assert all(len(differing_arguments(facts, index, one)) > far for one in others), (name, found.headline)
    assert seen > 5


def test_who_only_read_is_told_that_steps_are_missing(cases):
    for name, task, episode, _, found in failing(cases):
        world = task.simulator
        if world is None or not found.headline.startswith(("Skipped", "Wrong argument")) or not episode.calls:
            continue
        read = all(call.tool in world.tools and not world.tools[call.tool].writes for call in episode.calls)
        added = [step for one in found.fix for step in (one.action, *one.then) if one.kind == "add"]
        writes = [step for step in added if step is not None
                  and world.tools[task.automaton.alphabet.actions[step].tool].writes]  # fmt: skip
        assert not (read and writes), (name, found.headline)


def test_a_fix_names_each_place_once(cases):
    for name, _, _, _, found in failing(cases):
        text = " ".join(edit.text for edit in found.fix)
        assert "Then call" not in QUOTED.sub("", text), (name, text)
        places = [edit.call for edit in found.fix if edit.kind is EditKind.ADD and "that, call" not in edit.text]
        edits = [edit.kind for edit in found.fix]
        assert len(places) == len(set(places)) or set(edits) != {EditKind.ADD}, (name, text)
