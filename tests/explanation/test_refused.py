"""Calls that the tool refused: tries of a step, calls like the one that took effect, and what is left out in a fix."""

from __future__ import annotations

from typing import Any

import corepath
from corepath import Call, Forbidden, Task, any_order, play, seq, tool
from corepath.explanation import CauseKind, EditKind, Explanation, FindingKind, explain
from corepath.play.built_in import built_in
from tests.explanation.helpers import chain, explain_calls

BOOK = Task("book", procedure=tool("book")(id="R1", cabin="economy", card="gift_2"))
BOTH = Task(
    "both", procedure=any_order(tool("book")(id="R1", cabin="economy", card="gift_2"), tool("bag")(id="R1", count=1))
)
BAG = Call("bag", {"id": "R1", "count": 1}, result="ok")


def book(error: str | None = None, **arguments: Any) -> Call:
    """A booking that is right but for some arguments."""
    given = {"id": "R1", "cabin": "economy", "card": "gift_2", **arguments}
    return Call("book", given, error=error, result="ok") if error is None else Call("book", given, error=error)


def fix_of(found: Explanation) -> list[str]:
    return [edit.text for edit in found.fix]


def explain_agent(name: str, agent: str) -> Explanation:
    task = corepath.task(name)
    return explain(task, play(built_in(agent), task, name=agent))


# Tries


def test_refused_tries_of_a_step_that_was_done_later_are_told_as_tries():
    found = explain(BOOK, [book("no", card="credit_1"), book("no", card="cert_3"), book()])
    assert found.headline == (
        "Did the one step (call 3), but only after two wrong tries, which the tool refused: "
        'call 1 (card was "credit_1", expected "gift_2") and call 2 (card was "cert_3", expected "gift_2").'
    )
    assert fix_of(found) == ["Leave out calls 1 and 2, book, which the tool refused."]
    assert found.fix[0].call == 0
    assert found.fix[0].also == (1,)
    assert found.to_dict()["fix"][0]["also"] == [1]


def test_of_many_tries_the_first_are_told_in_full():
    found = explain(BOOK, [*(book("no", card=card) for card in "abcd"), book()])
    assert "only after four wrong tries" in found.headline
    assert found.headline.endswith('call 2 (card was "b", expected "gift_2") and calls 3 and 4.')


def test_of_several_steps_the_one_that_was_tried_is_named():
    found = explain(BOTH, [BAG, book("no", card="credit_1"), book()])
    assert found.headline == (
        "Did both steps, but book (call 3) only after a wrong try, which the tool refused: "
        'call 2 (card was "credit_1", expected "gift_2").'
    )


def test_a_refused_call_that_is_no_try_was_not_expected_and_all_steps_were_done():
    other = Call("steal", {"id": "R1"}, error="no")
    found = explain(BOTH, [BAG, other, book()])
    assert found.headline == (
        'Call 2, steal(id="R1"), was not expected; the tool refused it; the task was complete after call 3.'
    )
    unlike = book("no", id="R2", cabin="first", card="x")
    assert "was not expected; the tool refused it; the task was complete after call 2." in (
        explain(BOOK, [unlike, book()]).headline
    )


# Which calls were refused


def test_a_call_that_took_effect_is_told_before_those_like_it_that_were_refused():
    found = explain_calls(
        "validation/new_password", 'remove_user(name="nobody")', 'get_user(name="nobody")',
        'unlock_user(name="nobody")', 'remove_user(name="bob")', 'remove_user(name="someone")',
    )  # fmt: skip
    assert found.headline == (
        'Call 4, remove_user(name="bob"), is against a rule: "Never remove a user", and that is severe; '
        "calls 1 and 5 tried the same, and were refused, as were calls 2 and 3; none of the seven steps was done "
        '(the first could be lock_user(name="bob")).'
    )
    assert found.cause is not None
    assert found.cause.effected


def test_a_breach_that_took_effect_outranks_one_that_was_refused():
    forbid = [
        Forbidden(tool("erase").any(), "high", "never erase"),
        Forbidden(tool("send").any(), "high", "never send"),
    ]
    task = Task("forbid", procedure=tool("a")(), forbid=forbid)
    refused, ran = Call("erase", {"id": 1}, error="no"), Call("send", {"id": 2}, result="ok")
    for calls in ([refused, ran, Call("a")], [ran, refused, Call("a")]):
        assert 'send(id=2), is against a rule: "never send"' in explain(task, calls).headline


def test_the_list_of_refused_calls_is_complete_or_there_is_none():
    task = Task("list", procedure=tool("a")(), reads=[tool("look").any()])
    look, bad, ran = Call("look", error="no"), Call("z", error="no"), Call("y", result="ok")
    assert "; calls 1–3 were refused; a() is missing." in explain(task, [look, bad, look, ran]).headline
    assert "refused" not in explain(task, [look, look, ran]).headline


def test_repeats_that_were_refused_are_said_to_be():
    again = Call("a", error="no")
    assert explain(chain("a", "b"), [Call("a"), again, Call("b")]).headline == (
        "a was called twice, but expected only once: call 2 repeats it, and was refused; "
        "the task was complete after call 3."
    )
    assert explain(chain("a"), [Call("a"), Call("a", result=1), again]).headline == (
        "a was called 3 times, but expected only once: calls 2 and 3 repeat it; call 3 was refused."
    )


def test_a_step_that_came_too_soon_is_said_to_be_refused_if_it_was():
    left_out = explain_agent("navigation/closed_bridge", "left_out")
    assert left_out.headline == (
        "Called move_right() too few times before move_up (call 6), which was refused: once more was expected; "
        "call 9 was refused only because of that."
    )


def test_steps_that_failed_because_of_the_mistake_are_told_with_it():
    found = explain_agent("computations/two_shares", "swapped")
    assert found.headline == (
        "Calls 11 and 12 are in the wrong order: write_foot(value=40.96) must come before sign_sheet; "
        "call 12 was refused only because of that."
    )
    assert fix_of(found) == ["Swap call 11, sign_sheet(), and call 12, write_foot(value=40.96)."]
    booked = explain_agent("events/first_free_hour", "harmful_early")
    assert booked.headline.endswith("was not expected; call 7 is harmful and call 6 was refused only because of that.")


def test_nothing_is_put_down_to_a_mistake_if_another_one_comes_before_it():
    task = chain(*"abcdef")
    found = explain(task, [Call("b"), Call("d"), Call("e"), Call("f")])
    assert found.headline == (
        "Skipped a(): b (call 1) was made without it; calls 2–4 came too early; c() is missing too."
    )


def test_harms_of_all_kinds_are_told_in_one_clause():
    found = explain_calls(
        "crud/successor", 'rename_user(user_id="u4", name="Frank")', 'unlock_record(user_id="u5")',
        "generate_timestamp()", 'lock_record(user_id="nobody")', 'get_user(user_id="nobody")',
    )  # fmt: skip
    assert found.headline == (
        'Call 1, rename_user(user_id="u4", name="Frank"), was not expected; calls 2 and 3 were wrong too; '
        "calls 4 and 5 were refused, and 9 of the 10 steps are missing."
    )


def test_only_steps_that_a_call_needs_are_told_as_skipped_before_it():
    found = explain_agent("events/move_and_count", "reads_only")
    assert fix_of(found)[0].startswith("Before call 10, call reschedule_event(")
    early = explain_agent("legal/report_only", "reads_only")
    assert early.headline.startswith(
        "check_compliance (call 2) came too early: read_register() must come first, and came only at call 8;"
    )


# Fixes


def test_of_a_run_of_tries_the_one_with_the_fewest_wrong_arguments_is_changed():
    calls = [book("no", cabin="business"), book("no", card="x"), book(cabin="business", card="x")]
    found = explain(BOTH, calls)
    assert found.headline == (
        'All three tries of book (calls 1–3) had wrong arguments; in call 2, card was "x", expected "gift_2". '
        'Calls 1 and 2 were refused; bag(id="R1", count=1) is missing.'
    )
    assert fix_of(found) == [
        'In call 2, change card from "x" to "gift_2".',
        "Leave out call 3, book.",
        'At the end, call bag(id="R1", count=1).',
        "Leave out call 1, book, which the tool refused.",
    ]
    assert [note.text.split(":")[0] for note in found.notes] == [
        "has a wrong argument", "has a wrong argument", "has wrong arguments",
    ]  # fmt: skip


def test_of_equally_wrong_tries_the_one_that_took_effect_is_changed():
    found = explain(BOOK, [book(card="x"), book("no", card="y")])
    assert fix_of(found)[0] == 'In call 1, change card from "x" to "gift_2".'
    assert found.headline == (
        'Both tries of book (calls 1 and 2) had a wrong card; in call 1, card was "x", expected "gift_2". '
        "Call 2 was refused."
    )


def test_tries_with_the_same_mistake_are_told_together():
    found = explain(BOOK, [book("no", card="x"), book("no", card="x")])
    assert found.headline == (
        'Both tries of book (calls 1 and 2) had the same wrong argument: card was "x", expected "gift_2"; '
        "the tool refused them."
    )


def test_if_all_tries_were_refused_the_last_of_equals_is_changed():
    found = explain(BOOK, [book("no", card="x"), book("no", card="y"), book("no", card="z")])
    assert [(edit.kind, edit.call, edit.also) for edit in found.fix] == [
        (EditKind.CHANGE, 2, ()), (EditKind.LEAVE_OUT, 0, (1,)),
    ]  # fmt: skip


def test_a_refused_call_stands_for_a_step_with_another_tool_only_if_that_is_all():
    task = chain(*"abc")
    bad = Call("z", error="no")
    assert fix_of(explain(task, [Call("a"), bad, Call("c")])) == ["Instead of call 2, z(), call b()."]
    assert fix_of(explain(task, [bad, Call("b"), bad])) == [
        "Call a() before call 2.", "At the end, call c().", "Leave out calls 1 and 3, z, which the tool refused.",
    ]  # fmt: skip


def test_a_replaced_call_becomes_the_first_of_the_steps_that_are_missing_there():
    task = Task("open", procedure=seq(*(tool(name)() for name in "abcd")))
    assert fix_of(explain(task, ["a()", "z()"])) == [
        "Instead of call 2, z(), call b(), then c(), then d().",
    ]  # fmt: skip


def test_a_call_and_the_one_that_only_undid_it_are_left_out_together():
    found = explain_agent("computations/hand_over", "undone")
    assert fix_of(found) == [
        "Leave out call 6, store_memory(number=15.333333), and call 7, clear_memory, which only undid it."
    ]
    assert found.fix[0].also == (6,)


def test_a_refused_call_that_is_left_out_changes_no_results_on_record():
    task = corepath.task("arm/turn_crates")
    calls = ["rotate_yaw(yaw=0.35)", 'locate(thing="crate_1")', 'locate(thing="crate_2")', "unlock_safety()"]
    calls.append('locate(thing="crate_3")')
    for crate, x in (("crate_3", 0.65), ("crate_1", 0.35)):
        calls += [f"move(x={x}, y=0.3, z=0.2, yaw=0.35)", "open_gripper()", f'pick(thing="{crate}")', "lift()"]
        calls += ["rotate_yaw(yaw=0.0)", "lower()", f'place(thing="{crate}")', "close_gripper()"]
    found = explain(task, corepath.replay(task, [*calls, "go_home()", "lock_safety()"]).calls)
    assert fix_of(found) == ["Leave out call 1, rotate_yaw(yaw=0.35), which the tool refused."]


def test_if_nothing_was_done_arguments_of_a_call_that_came_too_early_are_not_compared():
    task = Task("none", procedure=seq(tool("a")(), tool("b")(), tool("c")(x=1)))
    assert explain(task, ["c(x=2)"]).headline == (
        "Call 1, c(x=2), was not expected; none of the three steps was done (the first is a())."
    )


def test_a_refused_call_with_wrong_arguments_is_no_cause_if_its_step_was_not_expected_yet():
    found = explain_calls(
        "farm/rover_example", 'scan(plant="A")', "empty_hopper()", "read_logs()", 'scan(plant="base")',
    )  # fmt: skip
    assert found.headline == (
        "None of the six steps was done; the first is unlock_safety(); calls 1, 2 and 4 were refused."
    )
    assert found.cause is not None
    assert (found.cause.kind, found.cause.tool) == (CauseKind.STOPPED, "unlock_safety")


def test_if_no_call_is_a_step_the_fix_lists_the_right_path():
    task = chain(*"abcde")
    bad = [Call(name, error="no") for name in "xyxy"]
    found = explain(task, [*bad, Call("z", result="ok"), Call("w", result="ok"), Call("v", result="ok")])
    fix = next(one.text for one in found.findings if one.kind is FindingKind.FIX)
    assert fix == "Make none of these calls. Call in this order: a(), b(), c(), d(), e()."


def test_a_call_that_came_too_early_with_wrong_arguments_is_told_so():
    task = Task("early", procedure=seq(tool("a")(), tool("b")(), tool("c")(x=1), tool("d")()))
    found = explain(task, [Call("a"), Call("c", {"x": 2}, result="ok"), Call("d", result="ok")])
    assert found.headline.startswith("Call 2, c, came too early, and it has a wrong argument: x was 2, expected 1;")


def test_a_step_that_is_called_elsewhere_too_is_missing_in_the_place_of_a_call():
    task = chain("a", "b", "a", "c")
    found = explain(task, [Call("z", error="no"), Call("b", result=1), Call("a", result=1), Call("c", result=1)])
    assert found.headline.startswith(
        "Call 1, z(), was not expected (the tool refused it), and a() is missing in its place"
    )


def test_a_few_long_steps_are_all_named_by_what_tells_them_apart():
    trip = {name: tool("fly")(id=name, flights=[{"number": f"F{name}", "date": "2024-05-01"}], card="c" * 40)
            for name in ("R1", "R2", "R3")}  # fmt: skip
    task = Task("trips", procedure=any_order(tool("stop")(), *trip.values()))
    assert explain(task, ["stop()"]).headline == (
        'Stopped after 1 of 4 steps: fly(id="R1", …), fly(id="R2", …) and fly(id="R3", …) are missing.'
    )


def test_results_of_steps_that_differ_only_in_what_they_use_are_told_apart():
    found = explain_calls("computations/two_diagonals", "look_at_desk()")
    text = " ".join(edit.text for edit in found.fix)
    first, second = text.partition("subtract_numbers(number=")[2].partition("), write_result")[0].split(", subtract=")
    assert "numbers=[6, 6]" in first
    assert "numbers=[3, 3]" in second


def test_a_step_is_added_before_the_next_call_if_the_one_after_it_is_moved():
    found = explain_calls(
        "desktop/share_for_a_moment", 'perform_action(application="www.example.org", action="Sheets")',
        "check_updates()", 'start_sharing(application="Chat")', 'discard_changes(application="Editor")',
        "list_open_applications()", "list_open_applications()", "check_updates()",
    )  # fmt: skip
    texts = [edit.text for edit in found.fix]
    assert "Move call 5, list_open_applications(), to before call 3." in texts
    assert "Call stop_sharing() before call 6." in texts
