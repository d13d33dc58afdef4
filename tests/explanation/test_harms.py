"""Harmful calls: the reason for each kind, and causes that are not mistaken for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

import corepath
from corepath import (
    Automaton,
    Call,
    Forbidden,
    Scoring,
    Task,
    Tool,
    action,
    approx,
    between,
    choice,
    contains,
    one_of,
    parse_rule,
    play,
    repeat,
    result_of,
    score,
    seq,
    tool,
)
from corepath.explanation import FindingKind, explain
from corepath.play.built_in import built_in
from tests.explanation.helpers import (
    ABC,
    ANSWERED,
    BOUND,
    called,
    chain,
    everything,
    explain_calls,
    kinds,
    texts,
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('b(x="1")', 'has a wrong argument: x was "1", expected 1'),
        ("b()", "has a wrong argument: x was not given, expected 1"),
        ("b(x=1, y=2)", "has a wrong argument: y was 2, but no such argument is expected"),
        ("b(x=2, y=2)", "has wrong arguments: x was 2, expected 1; y was 2, but no such argument is expected"),
    ],
)
def test_a_wrong_argument_stands_beside_the_expected_value(given, said):
    found = explain(ABC, ["a()", given])
    assert found.notes[1].text == said
    assert said in texts(found, FindingKind.HARM)[0]
    end = ". Also, c() is missing." if ";" in said else "; c() is missing."
    assert f"{said.partition(': ')[2]}{end}" in found.headline


@pytest.mark.parametrize(
    ("pattern", "given", "said"),
    [
        (approx(4.5), 5, "litres was 5, expected 4.5"),
        (approx(4.5, tol=0.1), 5, "litres was 5, expected 4.5 ± 0.1"),
        (between(1, 3), 9, "litres was 9, expected between 1 and 3"),
        (one_of("p", "q"), "r", 'litres was "r", expected "p" or "q"'),
        (contains("hi"), "no", 'litres was "no", expected a text with "hi"'),
    ],
)
def test_matchers_are_told_in_words(pattern, given, said):
    task = Task("matchers", procedure=tool("water")(litres=pattern))
    assert said in explain(task, [Call("water", {"litres": given})]).headline


def test_of_long_texts_the_part_is_shown_in_which_they_differ():
    text = "Please send the quarterly report to everyone in the finance team before noon, thanks"
    found = explain(Task("long", procedure=tool("say")(text=text)), [Call("say", {"text": text[:-6] + "cheers"})])
    assert 'text was "…team before noon, cheers", expected "…team before noon, thanks"' in found.headline


def test_variables_and_results_are_told_with_the_value_they_are_bound_to():
    found = explain(BOUND, [ANSWERED, Call("approve", {"policy": "P2", "rule": "R9"})])
    assert found.notes[1].text == (
        'has wrong arguments: policy was "P2", expected "P1"; rule was "R9", expected "R1", as check returned it'
    )
    assert 'approve(policy="P1", rule="R1") was expected' in texts(found, FindingKind.DIVERGED)[0]


def test_a_call_that_needs_what_a_skipped_step_returns_names_that_step():
    found = explain(BOUND, [Call("approve", {"policy": "P1", "rule": "R1"})])
    assert found.headline == (
        'Skipped check(policy=…) with the result {"status": "ok"}: approve (call 1) needs its result.'
    )


def test_an_act_in_spite_of_what_the_check_said():
    refused = replace(ANSWERED, result={"status": "conflict"})
    found = explain(BOUND, [refused, Call("approve", {"policy": "P1", "rule": "R1"})])
    assert found.headline == (
        'Call 1, check(policy="P1"), did not return what the task asks for, and approve (call 2) went on all the same.'
    )
    assert found.notes[0].text == 'the expected step, but it returned {"status": "conflict"}'


def test_a_step_that_came_too_early_names_the_one_that_came_too_late():
    found = explain(chain(*"abcd"), called(*"acbd"))
    assert found.headline == (
        "Calls 2 and 3 are in the wrong order: b() must come before c; call 4 is harmful only because of that."
    )
    assert kinds(found) == ["diverged", "harm", "fix"], "nothing was skipped"
    one = explain(chain(*"ab"), called(*"ba"))
    assert one.headline == "Calls 1 and 2 are in the wrong order: a() must come before b."
    assert texts(one, FindingKind.FIX) == ["Swap call 1, b(), and call 2, a()."]
    same = Task("same", procedure=seq(tool("go")(to="A"), tool("go")(to="B")))
    assert explain(same, ['go(to="B")', 'go(to="A")']).headline == (
        'Calls 1 and 2 are in the wrong order: go(to="A") must come first.'
    )


def test_a_step_before_calls_that_are_no_steps_came_too_early():
    delta = {"q0": {"go": "q1", "look": "q0"}, "q1": {}}
    actions = {name: action(f"{name}()") for name in ("go", "look")}
    task = Task("looks first", automaton=Automaton.from_transitions(actions, "q0", ["q1"], delta))
    found = explain(task, called("go", "look", "look"))
    assert found.headline == "go (call 1) came too early; calls 2 and 3 are harmful only because of that."
    assert [str(edit) for edit in found.fix] == ["Move call 1, go(), to the end."]


def test_calls_that_are_no_steps_may_come_too_early():
    actions = {name: action(f"{name}()") for name in ("open", "look", "close")}
    delta = {"q0": {"open": "q1"}, "q1": {"look": "q1", "close": "q2"}, "q2": {}}
    task = Task("looks later", automaton=Automaton.from_transitions(actions, "q0", ["q1", "q2"], delta))
    early = "look (call 1) came too early: open() must come first, and came only at call 3; call 2 is harmful only"
    for rest in ((), ("close",)):
        found = explain(task, called("look", "look", "open", *rest))
        assert found.headline == f"{early} because of that."


def test_nine_consequences_of_one_skipped_step_are_one_finding():
    found = explain(chain(*"abcdefghij"), called(*"bcdefghij"))
    assert found.headline == "Skipped a(): b (call 1) was made without it; calls 2–9 are harmful only because of that."
    assert [finding.calls for finding in found.findings if finding.kind is FindingKind.HARM] == [tuple(range(9))]


def test_a_wrong_call_in_the_place_of_a_step_is_the_cause_of_what_follows():
    wrong = explain(ABC, ["a()", "b(x=2)", "c()"])
    assert wrong.headline == (
        "Wrong argument in call 2, b: x was 2, expected 1; call 3 is harmful only because of that."
    )
    other = explain(ABC, ["a()", "z()", "c()"])
    assert other.headline == (
        "Call 2, z(), was not expected, and b(x=1) is missing; call 3 is harmful only because of that."
    )
    assert texts(other, FindingKind.FIX) == ["Instead of call 2, z(), call b(x=1)."]


def test_a_forbidden_call_is_told_with_its_reason_and_comes_first_where_it_took_effect():
    forbid = [Forbidden(tool("erase").any(), "high", "accounts are closed by people")]
    task = Task("forbid", procedure=seq(tool("a")(), tool("b")()), forbid=forbid)
    found = explain(task, ["z()", "a()", "erase(id=3)", "b()"])
    assert found.headline == (
        'Call 3, erase(id=3), is against a rule: "accounts are closed by people", and that is severe; '
        "call 1, z, was not expected; the task was complete after call 4."
    )


def test_a_rule_about_calls_of_every_kind_says_what_the_call_changed():
    task = corepath.task("validation/reject")
    found = explain(task, play(built_in("harmful_early"), task, name="harmful_early"))
    assert found.headline == (
        'Call 1, hash_password(password="dora"), is against a rule: "If not, find out everything that is wrong with '
        'it, and change nothing"; call 1 changed waiting from [] to ["h-69db3197"]; '
        "all steps were done, but the final state is wrong."
    )
    memory = corepath.task("computations/gross_price")
    other = explain(memory, play(built_in("harmful_early"), memory, name="harmful_early")).headline
    assert '"Use the memory only if the task says so"; call 9 is harmful only because of that' in other


def test_a_second_call_with_wrong_arguments_is_told_by_what_differs_and_more_by_their_numbers():
    task = Task("two", procedure=seq(tool("a")(x=1), tool("b")(k="K", y=2, z=3), tool("c")(k="K", w=4)))
    first = "Wrong argument in call 1, a: x was 0, expected 1; "
    for rest, said in (
        (['b(k="K", y=0, z=3)', 'c(k="K", w=4)'], "call 2, b, has a wrong argument: y was 0, expected 2; call 3"),
        (['b(k="K", y=0, z=0)', 'c(k="K", w=4)'], "call 2, b, has wrong arguments (y and z); call 3"),
        (['b(k="K", y=0, z=3)', 'c(k="K", w=0)'], "calls 2 and 3 have wrong arguments too."),
    ):
        assert explain(task, ["a(x=0)", *rest]).headline.startswith(first + said)


def test_malformed_calls_and_unknown_tools_say_what_is_wrong():
    task = Task("tools", procedure=tool("move")(), tools=[Tool("move", {}), Tool("scan", {})])
    found = explain(task, [Call("move", "{'x': 1}"), Call("move", [1, 2]), Call("mvoe"), Call("zzz")])
    assert [note.text for note in found.notes] == [
        (
            "has arguments that are no JSON object: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)"
        ),
        "has arguments that are no JSON object: a list",
        "names a tool that does not exist; did you mean 'move'?",
        "names a tool that does not exist; there is move, scan",
    ]


def test_calls_after_completion_say_when_the_task_was_complete():
    found = explain(chain("a", "b"), called("a", "b", "z", "y"))
    assert found.headline == "Calls 3 and 4, z and y, were not expected: the task was complete after call 2."


def test_a_refused_call_is_told_apart_from_one_that_ran():
    refused = explain(ABC, [Call("a", result=1), Call("z", error="the lock\n is on."), Call("y", result=1)])
    assert refused.notes[1].text == "was not expected; the tool refused it: the lock is on"
    assert refused.notes[2].text == "was not expected; it ran"
    ran, failed = Call("z", result=1), Call("z", error="no")
    for calls, begin, end in (
        ([failed], "Call 2, z(), was", "; the tool refused it."),
        ([failed, failed], "Calls 2 and 3, z, were", "; the tool refused both."),
        ([ran, failed], "Call 2, z(), was", "; call 3 tried the same, and was refused."),
        ([ran, Call("x", error="no")], "Call 2, z(), was", "; call 3, x, was refused."),
        ([ran, failed, ran], "Calls 2 and 4, z, were", "; call 3 tried the same, and was refused."),
    ):
        found = explain(chain("a"), [Call("a"), *calls])
        assert found.headline == f"{begin} not expected: the task was complete after call 1{end}"


def test_a_repeat_that_got_the_same_answer_is_told_apart():
    found = explain(chain("a"), [Call("a", result={"seat": 3}), Call("a", result={"seat": 3}), Call("a", result="ok")])
    assert [note.text for note in found.notes[1:]] == [
        "repeats call 1, and was not expected again; it ran, but got the same answer as call 1",
        "repeats call 1, and was not expected again; it ran",
    ]


def test_a_repeat_that_is_expected_again_later_is_no_skipped_step():
    found = explain(chain(*"abca"), called(*"aabca"))
    assert (
        found.headline
        == "Call 2, a(), repeats call 1, and is not expected again yet; the task was complete after call 5."
    )


def test_failed_calls_are_harmful_where_the_scoring_says_so():
    calls = [Call("a"), Call("b", {"x": 1}, error="no power"), Call("b", {"x": 1}), Call("c")]
    found = explain(ABC, calls, Scoring(errors="harmful"))
    assert found.headline == (
        "Call 2, b(x=1), failed, and every failed call counts as harmful here; the task was complete after call 4."
    )


# Only what is true


def test_a_step_that_came_late_is_not_told_as_never_done():
    task = corepath.task("arm/pick_rotate_place")
    found = explain(task, play(built_in("swapped"), task, name="swapped"))
    assert found.notes[3].text.startswith("follows from call 2, which came too early; it took effect")


def test_harm_is_put_down_to_a_call_only_where_it_is_gone_with_the_step_in_its_place():
    text = "Sells e-mail addresses to advertisers"
    found = explain_calls(
        "legal/settle_case", 'read_case(case="C7")', f'flag_violation(statement="{text}", rule="R1")',
        f'clear_flag(statement="{text}")', f'check_compliance(statement="{text}", document="privacy policy")',
        'suspend_party(party="Lumen")', 'close_case(case="C7")',
    )  # fmt: skip
    assert [finding.calls for finding in found.findings if finding.kind is FindingKind.HARM] == [(1,), (2,), (4, 5)]
    assert found.headline.startswith('Skipped notify_party(party="Lumen", rule="P2"), flag_violation(')
    assert "suspend_party (call 5) was made without them; call 6 is harmful only because of that" in found.headline


BALANCE = tool("bal")(acc=1)
PAY = Task("pay", procedure=seq(BALANCE, tool("pay")(amount=result_of(BALANCE))))


def test_a_call_before_what_it_needs_came_too_early_and_was_not_left_undone():
    found = explain(PAY, [Call("pay", {"amount": 7}), Call("bal", {"acc": 1}, result=7)])
    assert found.headline == "Calls 1 and 2 are in the wrong order: bal(acc=1) must come before pay."
    assert FindingKind.SKIPPED not in kinds(found)
    other = explain(PAY, [Call("pay", {"amount": 8}), Call("bal", {"acc": 1}, result=7)])
    assert texts(other, FindingKind.STOPPED) == ["It stopped early; never done: pay(amount=7)."], (
        "that was another call"
    )
    message = 'schedule_message(sender="Bob", to="Dave", content="The figures are due on Friday", at="08:00")'
    stand_in = explain_calls("communication/stand_in", message, 'look_up_person(name="Carol")', "current_time()")
    assert "ever done" not in everything(stand_in)


def test_what_a_call_needs_is_not_told_as_undone_where_it_was_done():
    look, fetch = tool("look")(), tool("fetch")()
    task = Task("fetch", procedure=seq(look, fetch, tool("use")(it=result_of(fetch))))
    early = explain(task, [Call("fetch", result=5), Call("use", {"it": 5})])
    assert early.notes[1].text == "follows from call 1: look() had not been done"
    assert texts(early, FindingKind.SKIPPED) == ["Never done: look()."]
    blank = explain(task, [Call("look"), Call("fetch"), Call("use", {"it": 5})])
    assert blank.headline == "Wrong argument in call 3, use: it was 5, expected what fetch returns."
    read = Task("read", procedure=seq(look, fetch, tool("see")(it=result_of(fetch))), reads=[tool("see").any()])
    seen = explain(read, [Call("fetch", result=5), Call("see", {"it": 5}), Call("see", {"it": 6})])
    assert texts(seen, FindingKind.SKIPPED) == ["Never done: look()."]
    assert [note.text for note in seen.notes[1:]] == [
        "a step that is not expected yet, and does not count", "only looks, no step here"
    ]  # fmt: skip


def test_a_step_that_was_refused_or_done_too_few_times_was_not_skipped():
    found = explain(PAY, [Call("bal", {"acc": 1}, error="down"), Call("pay", {"amount": 7})])
    assert found.headline == "bal(acc=1) failed at call 1, and pay (call 2) was made without it."
    twice = Task("twice", procedure=seq(repeat(tool("a")(), 2, 3), tool("b")()))
    again = explain(twice, called(*"ab"))
    assert again.headline == "Called a() too few times before b (call 2): once more was expected."
    assert again.notes[1].text == "comes too early: a() once more must come first"
    assert explain(twice, called("a")).headline == "Stopped after 1 of 3 steps: a() once more and b() are missing."


CHECK_FIRST = Task(
    "check first",
    procedure=choice(
        seq(tool("check")().returns({"ok": True}), tool("approve")()),
        seq(tool("check")().returns({"ok": False}), tool("reject")()),
    ),
)


def test_a_harmful_act_that_went_out_with_its_check_acted_before_seeing():
    check, act = Call("check", result={"ok": False}, turn=1), Call("approve", turn=1)
    found = explain(CHECK_FIRST, [check, act])
    assert [finding.calls for finding in found.findings if finding.kind is FindingKind.UNSEEN] == [(0, 1)]
    later = explain(CHECK_FIRST, [check, replace(act, turn=2)])
    assert FindingKind.UNSEEN not in kinds(later)
    assert later.headline == (
        'Call 2, approve(), is a step of this task, but not expected at this point: call 1 had returned {"ok": false}, '
        "and reject() is missing."
    )
    refused = replace(ANSWERED, result={"status": "conflict"})
    unseen = explain(BOUND, [refused, Call("approve", {"policy": "P1", "rule": "R1"}, turn=1)])
    assert unseen.headline.endswith("and approve (call 2) went out in the same turn.")
    assert FindingKind.UNSEEN in kinds(unseen)
    done = explain(CHECK_FIRST, [check, Call("reject", turn=2), replace(check, turn=3), Call("reject", turn=3)])
    assert FindingKind.UNSEEN not in kinds(done), "nothing more is expected that could depend on it"


def test_a_step_in_its_place_took_nothing_back():
    opened = explain_calls(
        "arm/pick_box", "unlock_safety()", "open_gripper()", "close_gripper()",
        "move(x=0.3, y=0.35, z=0.12, yaw=0.0)", "open_gripper()",
    )  # fmt: skip
    assert [finding.calls for finding in opened.findings if finding.kind is FindingKind.UNDONE] == [(1, 2)]


def test_a_circle_is_told_where_no_golden_path_has_one():
    actions = {name: action(f"{name}()") for name in ("open", "close", "go")}
    delta = {"q0": {"open": "q1"}, "q1": {"close": "q0", "go": "q2"}}
    task = Task("circle", automaton=Automaton.from_transitions(actions, "q0", ["q2"], delta, golden="simple_paths"))
    found = explain(task, called("open", "close", "open", "go"))
    assert found.headline == "Followed the procedure: 4 steps, no harm; but call 2 makes a detour."
    assert texts(found, FindingKind.DIVERGED) == [
        (
            "The path was right up to call 1; at call 2 go() was expected. "
            "It leads back to where the path had been before. "
            "With 4 steps the path is longer than any right one: 2 at most."
        )
    ]
    assert explain(task, called("open", "go")).findings == ()


def test_a_step_that_is_lacking_twice_is_named_once():
    found = explain(chain(*"ababa"), called(*"aaa"))
    assert (
        found.headline
        == "Skipped b(): a (call 2) was made without it; call 3, a, came too early; one more b() is missing."
    )
    assert texts(found, FindingKind.SKIPPED) == ["Never done: b() twice."]


def test_a_step_that_breaks_a_rule_is_done_and_can_be_repeated():
    task = Task("shop", procedure=seq(tool("refund")(order=7), tool("close")()), reads=[tool("check").any()])
    calls = ("refund(order=7)", "refund(order=7)")
    episode = corepath.Episode("shop", tuple(map(corepath.call, calls)))
    scored = score(task, episode, rules=[parse_rule("refund(...) requires check(...)")])
    found = explain(task, episode, scored=scored)
    assert [harm.kind for harm in scored.harms] == ["forbidden", "repeated"]
    said = " ".join(one.text for one in found.findings)
    assert "repeats call 1" in said
