"""Tasks learned from good runs: what is learned, that training runs are accepted, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corepath import Call, Episode, Message, Task, TaskError, learn, load_tasks, play, score, task
from corepath.authoring.learning.learn import Question, accepts
from corepath.authoring.learning.simulation import is_right
from corepath.automaton import derivatives
from corepath.files.episodes import episode_json
from corepath.files.tool_file import Tools
from corepath.notation.parser import tool
from corepath.play.built_in import built_in
from tests import recording
from tests.conftest import Run

TOOLS = Tools(reads=["get_*"], neutral=["hand_over"])


def call(tool: str, result: object = "ok", **arguments: object) -> Call:
    return Call(tool, arguments, result)


def episode(*calls: Call, **more: object) -> Episode:
    return Episode("shop/order", calls, **more)  # type: ignore[arg-type]


def learned(*runs: Episode, tools: Tools = TOOLS) -> Task:
    return learn(runs, tools).task


A, B, C, D = call("a"), call("b"), call("c"), call("d")


@pytest.mark.parametrize(
    ("runs", "procedure"),
    [
        ([[A, B, C]] * 3, "a >> b >> c"),
        ([[A, B, C], [A, C, B]] * 3, "a >> (b & c)"),
        ([[A, B, C, D], [C, D, A, B]] * 8, "(a >> b >> c >> d) | (c >> d >> a >> b)"),
        ([[A, B], [A, C]] * 3, "a >> (b | c)"),
        ([[A, B, C], [A, C]] * 3, "a >> b? >> c"),
        ([[A, A, B]] * 3, "a >> a >> b"),
    ],
)
def test_orders_are_learned(runs: list[list[Call]], procedure: str) -> None:
    assert str(learned(*(episode(*run) for run in runs)).procedure) == procedure


def test_a_read_is_a_step_if_every_one_of_seven_runs_makes_it() -> None:
    runs = [episode(call("get_bill"), A, *([call("get_time")] if number % 2 else [])) for number in range(7)]
    assert str(learned(*runs).procedure) == "get_bill >> a"
    assert str(learned(*runs[:6]).procedure) == "a"


def test_reads_that_are_made_more_often_than_needed_do_not_hide_the_needed_one() -> None:
    look = call("get_bill")
    clean, early, late = [A, look, B], [look, A, look, B], [A, look, B, look]
    runs = [*[episode(*clean)] * 5, *[episode(*early)] * 2, *[episode(*late)] * 2]
    assert str(learned(*runs).procedure) == "a >> get_bill >> b"


def test_runs_that_make_a_read_too_often_still_show_what_comes_before_all_of_its_calls() -> None:
    look = call("get_bill")
    late, early = [B, C, A, look, look], [look, C, B, A, look]
    made = learned(episode(A, look, B, C), *[episode(*late)] * 3, *[episode(*early)] * 3)
    assert accepts(made, episode(B, C, A, look))
    assert not accepts(made, episode(look, C, B, A))


def test_reads_that_their_results_tell_apart_are_two_steps() -> None:
    def page(name: str) -> list[Call]:
        return [call("open", to=name), call("get_page", {"page": name, "words": 3})]

    one, other = page("Archive"), page("Tickets")
    made = learned(*[episode(*one, *other), episode(*other, *one)] * 5)
    notations = {action.notation for action in made.actions}
    assert {'get_page() -> {page: "Archive", ...}', 'get_page() -> {page: "Tickets", ...}'} <= notations
    assert not accepts(made, episode(one[0], other[0], one[1], other[1]))


def test_a_value_is_a_literal_a_choice_a_number_with_a_tolerance_or_free() -> None:
    def pay(number: int) -> Call:
        return call("pay", bill=7, how="card" if number % 2 else "cash", note=f"thanks a lot, number {number}")

    made = learned(*(episode(pay(number)) for number in range(8)))
    assert [action.notation for action in made.actions] == ['pay(bill=7, how=one_of("cash", "card"), note=ANY)']
    close = learned(*(episode(call("pay", amount=100 + number / 10)) for number in range(8)))
    assert close.actions[0].notation == "pay(amount=approx(100.35, tol=0.35))"


def test_a_value_may_come_from_params_from_a_result_or_from_an_earlier_step() -> None:
    def run(number: int) -> Episode:
        bill = call("get_bill", {"bill": {"id": f"B{number}"}}, order=f"W{number}")
        return episode(bill, call("pay", bill=f"B{number}", user=f"u{number}"), call("log", user=f"u{number}"),
                       params={"order": f"W{number}"})  # fmt: skip

    made = learned(*map(run, range(8)))
    assert {action.notation for action in made.actions} == {
        "get_bill(order=$order)", 'pay(bill=result_of(get_bill, "bill.id"), user=$user)', "log(user=$user)",
    }  # fmt: skip
    assert accepts(made, run(99))
    mixed = run(99)
    assert not accepts(made, episode(mixed.calls[0], mixed.calls[1], call("log", user="other"), params=mixed.params))


def test_rules_of_the_tool_file_are_respected() -> None:
    tools = Tools(arguments={"book": {"seats": "unordered", "note": "any"}})
    runs = [episode(call("book", seats=[1, 2], note="x")), episode(call("book", seats=[2, 1], note="y"))]
    made = learned(*runs, tools=tools)
    assert [action.notation for action in made.actions] == ["book(seats=unordered([1, 2]), note=ANY)"]


def test_a_task_that_changes_nothing_asks_for_a_look_or_for_handing_over() -> None:
    look, other = call("get_bill", id=1), call("get_user", id=2)
    found = learn([episode(look, other), episode(look)], TOOLS)
    assert found.support == {"get_bill": "2 of 2 runs", "hand_over": "0 of 2 runs"}
    made = found.task
    assert accepts(made, episode(look, other))
    assert accepts(made, episode(call("hand_over")))
    assert not accepts(made, episode())
    assert not accepts(made, episode(look, A))


def test_refused_calls_of_good_runs_are_not_harmful_and_tries_are_none() -> None:
    refused = Call("pay", {"bill": 7, "how": "gold"}, error="no such way")
    stray = Call("delete", {"bill": 7}, error="not allowed")
    right = call("pay", bill=7, how="card")
    made = learned(episode(refused, right), episode(stray, right))
    assert accepts(made, episode(Call("pay", {"bill": 8, "how": "card"}, error="no such bill"), right))
    assert accepts(made, episode(stray, right))
    assert not accepts(made, episode(right, Call("pay", {"bill": 8, "how": "card"}, error="no such bill")))
    assert not accepts(made, episode(call("pay", bill=8, how="card"), right))


def test_tools_that_no_run_has_are_harmful_with_a_tool_file_and_ignored_without() -> None:
    runs = [episode(A, B)] * 3
    assert not accepts(learn(runs, TOOLS).task, episode(A, call("drop"), B))
    free = learn(runs).task
    assert accepts(free, episode(A, call("drop"), B))
    assert not accepts(free, episode(A, call("b", x=1), B))
    assert "ignored (unlisted)" in learn(runs).text


ODD_VALUES = [0, 1, 1.5, None, True, "", "ünï ☃", [1, [2]], {"k": None}, "a text of more than six words, at last"]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["a", "b", "get_x", "get_y", "hand_over"]), st.sampled_from(ODD_VALUES),
                           st.sampled_from(["ok", "no", [1, {"id": 1.5}], None]), st.booleans()), max_size=6),
        min_size=1, max_size=10,
    )
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_every_run_that_was_learned_from_is_accepted_without_harm(
    found: list[list[tuple[str, object, object, bool]]],
) -> None:
    runs = [
        episode(
            *(Call(tool, {"x": x}, result, error="no" if failed and x else None) for tool, x, result, failed in run)
        )
        for run in found
    ]
    made = learn(runs, TOOLS)
    for run in runs:
        scored = score(made.task, run)
        assert scored.accepted
        assert not scored.harm_count


def test_the_file_says_what_speaks_for_each_step_and_reads_back_as_the_same_task(tmp_path: Path) -> None:
    runs = [episode(A, B, messages=(Message("user", "Do it."),)), episode(A, messages=(Message("user", "Do it."),))] * 4
    made = learn(runs, TOOLS)
    assert "b: 'b()'  # 4 of 8 runs" in made.text
    assert made.task.prompt == "Do it."
    (tmp_path / "task.yaml").write_text(made.text)
    again = load_tasks(tmp_path / "task.yaml")["shop/order"]
    assert str(again.procedure) == str(made.task.procedure) == "a >> b?"
    assert (again.refused, again.unlisted) == ("try", "harm")


def test_steps_with_letters_that_yaml_must_escape_have_a_comment_too() -> None:
    made = learn([episode(A, call("send", text="\u200b\U0001f468\u200d\U0001f469"), B)] * 3, TOOLS)
    assert made.text.count("# 3 of 3 runs") == 3


def test_each_order_of_paired_lists_says_how_many_runs_have_it() -> None:
    tools = Tools(arguments={"book": {"names": "paired with seats"}})
    one, other = call("book", names=["A", "B"], seats=[1, 2]), call("book", names=["B", "A"], seats=[2, 1])
    made = learn([episode(one), episode(other), episode(one)], tools)
    assert made.support == {"book": "2 of 3 runs", "book_2": "1 of 3 runs"}


def test_a_long_procedure_takes_several_lines_and_reads_back_as_the_same(tmp_path: Path) -> None:
    steps = [call("send_message", to=f"person number {number}", text='a ">> b" & c') for number in range(8)]
    made = learn([episode(*steps), episode(*steps[4:], *steps[:4])] * 8, Tools(reads=["get_*"]))
    (tmp_path / "task.yaml").write_text(made.text)
    assert "\n  | (send_message_4" in made.text
    assert "neutral:" not in made.text
    assert str(load_tasks(tmp_path / "task.yaml")["shop/order"].procedure) == str(made.task.procedure)


def test_steps_of_one_tool_are_named_after_what_tells_them_apart() -> None:
    def book(room: str, start: str) -> Call:
        return call("book", room=room, start=start)

    steps = [book("Blue room", "2025-02-11 09:00"), book("Red room", "2025-02-11 09:00"),
             book("Red room", "2025-02-11 11:30"), call("lock", x=0.5), call("lock", x=0.7)]  # fmt: skip
    names = [action.name for action in learned(*[episode(*steps)] * 3).actions]
    assert names == ["book_Blue_room", "book_Red_room_09_00", "book_11_30", "lock_0.5", "lock_0.7"]


def test_a_judge_is_asked_at_most_five_times_and_its_answer_counts() -> None:
    asked: list[Question] = []

    def judge(question: Question) -> list[bool]:
        asked.append(question)
        return [True] * len(question.examples)

    steps = [call("s", number=number) for number in range(6)]
    runs = [episode(*steps), episode(*steps[::-1]), episode(*steps[1:], steps[0])] * 6
    narrow, wide = learn(runs, TOOLS), learn(runs, TOOLS, judge=judge)
    assert 1 <= len(asked) <= 5
    assert all(question.examples and question.text.endswith("?") for question in asked)
    assert wide.task.automaton.golden.count > narrow.task.automaton.golden.count


def test_a_world_answers_by_executing_the_paths() -> None:
    chosen = task("transactions/fee_after_deposit")
    right = play(built_in("oracle"), chosen).calls
    assert is_right(chosen, right)
    assert not is_right(chosen, right[:-1])
    assert not is_right(chosen, (right[1], right[0], *right[2:]))


def test_runs_of_two_tasks_under_one_name_are_warned_about() -> None:
    made = learn([*[episode(A, B)] * 3, *[episode(C, D)] * 3], TOOLS)
    assert any("different tasks" in warning for warning in made.warnings)
    assert not learn([*[episode(A, B)] * 3, *[episode(A, D)] * 3], TOOLS).warnings


def test_nothing_to_learn_from_and_too_much_are_said() -> None:
    with pytest.raises(TaskError, match="no runs"):
        learn([], TOOLS)
    many = [episode(*(call(f"tool_{run}_{number}") for number in range(50))) for run in range(60)]
    with pytest.raises(TaskError, match=r"3,000 different calls.*none of them is in all runs"):
        learn(many, TOOLS)


def test_of_too_many_different_calls_those_that_all_runs_make_are_steps() -> None:
    runs = [episode(A, *(call(f"tool_{run}_{number}") for number in range(50)), B) for run in range(60)]
    made = learn(runs, TOOLS)
    assert str(made.task.procedure) == "a >> b"
    assert "only the 2 that all make are steps" in made.text
    assert all(accepts(made.task, run) for run in runs)
    assert not accepts(made.task, episode(B, A))


def test_if_a_task_would_be_too_large_only_the_orders_of_the_runs_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivatives, "MOST_STATES", 500)
    steps = [call("send", to=number, text=f"hello number {number} from all of us") for number in range(10)]
    runs = [episode(*Random(seed).sample(steps, len(steps))) for seed in range(12)]
    made = learn(runs, TOOLS)
    assert made.task.automaton.count == 12
    assert all(accepts(made.task, run) for run in runs)
    assert not accepts(made.task, episode(*steps))
    assert any("only the orders of the runs are allowed" in warning for warning in made.warnings)
    assert "# Only the orders of the runs are allowed" in made.text


@pytest.mark.parametrize(
    ("calls", "tools", "why"),
    [
        ([Call("a", "{broken")], TOOLS, "call 1 of run 9, a: its arguments are not an object"),
        ([A, call("aa")], Tools(tools=[tool("a"), tool("b")]), "call 2 of run 9, aa: the tool file does not list"),
        ([call("a", wrong=1)], Tools(tools=[tool("a(x=1)"), tool("b")]), "has no argument 'wrong'"),
        ([call("a", x=[1], y=[])], Tools(arguments={"a": {"x": "paired with y"}}), "paired, but have 1 and 0 items"),
        ([call("pay[all]")], TOOLS, 'call 1 of run 9, "pay[all]": the name is empty, or has a *, ? or ['),
        ([call("")], TOOLS, 'call 1 of run 9, "": the name is empty'),
    ],
)
def test_a_run_that_no_task_accepts_is_left_out_with_the_reason(calls: list[Call], tools: Tools, why: str) -> None:
    made = learn([*[episode(A, B)] * 8, episode(*calls)], tools)
    assert str(made.task.procedure) == "a >> b"
    assert any(why in warning for warning in made.warnings)
    assert "1 more run left out" in made.text
    with pytest.raises(TaskError, match="no runs to learn from: 1 run is left out"):
        learn([episode(*calls)], tools)


def test_a_refused_call_whose_lists_do_not_pair_does_not_make_a_run_unfit() -> None:
    tools = Tools(arguments={"pay": {"bills": "paired with cards"}})
    refused = Call("pay", {"bills": [7, 8], "cards": ["gold"]}, error="as many cards as bills, please")
    run = episode(refused, call("pay", bills=[7], cards=["gold"]))
    made = learn([run], tools)
    assert accepts(made.task, run)
    assert not made.warnings


def test_a_run_that_contradicts_all_others_is_named() -> None:
    (warning,) = learn([*[episode(A, B)] * 9, episode(B, A)], TOOLS).warnings
    assert "run 10 is the only one with b before a" in warning
    assert not learn([*[episode(A, B)] * 9, *[episode(B, A)] * 2], TOOLS).warnings


def test_a_step_of_a_tool_with_an_odd_name_has_a_plain_name() -> None:
    odd = ["line\nbreak # 'x': y", "x" * 5_000, "\u202e", "überweisen", "mail.send-all"]
    made = learn([episode(*map(call, odd))], TOOLS)
    assert [action.name for action in made.task.actions] == [
        "line_break_x_y", "x" * 36, "step", "überweisen", "mail.send-all"
    ]  # fmt: skip


def test_steps_that_differ_in_numbers_are_named_after_them(tmp_path: Path) -> None:
    different = [7.5, 50.0, [2.5, 3], 10**400, -1.5]
    made = learn([episode(*(call("add", number=number) for number in different))], TOOLS)
    assert [action.name for action in made.task.actions] == ["add_7.5", "add_50", "add_2.5_3", "add", "add_2"]
    (tmp_path / "task.yaml").write_text(made.text)
    assert str(load_tasks(tmp_path / "task.yaml")["shop/order"].procedure) == str(made.task.procedure)


def test_a_long_procedure_has_no_long_lines(tmp_path: Path) -> None:
    steps = [call("step", place=f"shelf {number}") for number in range(30)]
    made = learn([episode(A, *steps, B), episode(A, *reversed(steps), B)] * 8, TOOLS)
    assert max(map(len, made.text.splitlines())) < 120
    (tmp_path / "task.yaml").write_text(made.text)
    assert str(load_tasks(tmp_path / "task.yaml")["shop/order"].procedure) == str(made.task.procedure)


def test_numbers_that_are_too_large_for_a_mean_are_listed() -> None:
    for large in ([1e308, 1.001e308, 1.002e308], [10**400, 10**400 + 1, 10**400 + 2]):
        runs = [episode(call("pay", amount=amount)) for amount in large]
        made = learn(runs, TOOLS)
        assert all(accepts(made.task, run) for run in runs)
        assert "one_of" in made.text


# Reads that decide


def decided(status: str, *done: Call) -> Episode:
    return episode(A, call("get_status", {"status": status, "count": len(done)}), *done, D)


def test_a_read_whose_result_decides_what_follows_is_required_with_that_result() -> None:
    made = learned(*[decided("open", B), decided("shut", C)] * 4)
    assert str(made.procedure) == "a >> ((get_status_open >> b) | (get_status_shut >> c)) >> d"
    assert accepts(made, decided("open", B))
    assert not accepts(made, decided("open", C))
    assert not accepts(made, episode(A, B, D))
    assert not accepts(made, episode(A, B, call("get_status", {"status": "open"}), D))


def test_a_read_whose_result_decides_a_value_keeps_the_values_apart() -> None:
    gold, other = call("discount", percent=10), call("discount", percent=5)
    made = learned(*[decided("gold", gold), decided("plain", other)] * 4)
    assert accepts(made, decided("gold", gold))
    assert not accepts(made, decided("gold", other))


@pytest.mark.parametrize(
    "runs",
    [
        [decided("open", B), decided("open", C)],
        [decided("open", B), decided("shut", B), decided("open", C), decided("shut", C)],
        [episode(B, call("get_status", "b is done"), D), episode(C, call("get_status", "c is done"), D)],
    ],
)
def test_a_read_does_not_decide_if_results_and_writes_do_not_go_together_or_it_comes_too_late(
    runs: list[Episode],
) -> None:
    made = learned(*runs * 4)
    assert [action.notation for action in made.actions if action.tool == "get_status"] == ["get_status()"]


# The command


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    lines = [episode_json(episode(call("get_bill"), A, B)) for _ in range(8)]
    (tmp_path / "good.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "tools.yaml").write_text("version: 1\nreads: [get_*]\n")
    return tmp_path


def test_the_command_writes_a_task_file(corepath: Run, runs: Path) -> None:
    done = corepath("learn", "good.jsonl", "--tools", "tools.yaml", "--out", "task.yaml", cwd=runs)
    assert done.returncode == 0
    assert "1 task in task.yaml: 3 steps, 1 golden path, learned from 8 runs" in done.stderr
    assert corepath("check", "task.yaml", "--good", "good.jsonl", cwd=runs).returncode == 0
    again = corepath("learn", "good.jsonl", "--out", "task.yaml", cwd=runs)
    assert again.returncode == 2
    assert "task.yaml exists; --force replaces it" in again.stderr


def test_the_command_learns_a_task_for_each_id_and_prints_json(corepath: Run, runs: Path) -> None:
    with (runs / "good.jsonl").open("a") as file:
        file.write(episode_json(Episode("shop/other", (C, D))) + "\n")
    done = corepath("learn", "good.jsonl", "--tools", "tools.yaml", "--json", cwd=runs)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["task"], one["runs"], one["procedure"]) for one in found] == [
        ("shop/order", 8, "get_bill >> a >> b"), ("shop/other", 1, "c >> d"),
    ]  # fmt: skip
    assert found[0]["steps"][0]["support"] == "8 of 8 runs"
    assert "note: 1 task of them is learned from one run, which shows one way only" in done.stderr


def test_runs_whose_calls_were_all_refused_are_learned_with_a_warning(corepath: Run, tmp_path: Path) -> None:
    refused = Call("pay", {"bill": 7}, error="no such bill")
    (tmp_path / "refused.jsonl").write_text(f"{episode_json(episode(refused))}\n" * 2)
    done = corepath("learn", "refused.jsonl", "--out", "task.yaml", cwd=tmp_path)
    assert "shop/order: no run has a call that could be a step, so that the task accepts doing nothing" in done.stderr
    assert "actions" not in (tmp_path / "task.yaml").read_text()
    assert corepath("check", "task.yaml", "--good", "refused.jsonl", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("given_", "wanted", "code"),
    [
        (["nope.jsonl"], "no such file or folder: nope.jsonl", 2),
        (["empty.jsonl"], "no runs to learn from", 1),
        (["good.jsonl", "--bad", "good.jsonl"], "--bad needs --rules to learn rules, or a task file", 2),
        (["idle.jsonl"], "no run makes a call, so that there is nothing to learn", 1),
        (["good.jsonl", "--world", "farm"], "tasks; name one, as in farm/", 2),
        (["good.jsonl", "--world", "farm/water_plant"], "finds none of the runs right", 1),
        (["good.jsonl", "--world", "nowhere/task"], "no world or file 'nowhere/task'", 2),
        (["good.jsonl", "--tools", "nope.yaml"], "no such file", 2),
    ],
)
def test_bad_input_is_said(corepath: Run, runs: Path, given_: list[str], wanted: str, code: int) -> None:
    (runs / "empty.jsonl").write_text("")
    (runs / "idle.jsonl").write_text(episode_json(episode()) + "\n")
    done = corepath("learn", *given_, cwd=runs)
    assert wanted in done.stderr
    assert done.returncode == code


def test_a_run_with_a_low_reward_is_warned_about(corepath: Run, runs: Path) -> None:
    with (runs / "good.jsonl").open("a") as file:
        file.write(episode_json(episode(A, reward=0.0)) + "\n")
    done = corepath("learn", "good.jsonl", "--tools", "tools.yaml", cwd=runs)
    assert "warning: 1 run got a reward below 1" in done.stderr


def test_the_recording_shows_what_the_four_commands_print(tmp_path: Path) -> None:
    shown = recording.read("learn")
    assert len(shown) == 4
    assert recording.record(tuple(command for command, _ in shown), tmp_path) == shown


# Few runs


def test_the_same_done_to_several_things_is_in_any_order_after_one_run() -> None:
    cancels = [call("cancel", order=name, reason="late") for name in ("A1", "B2", "C3")]
    made = learn([episode(*cancels)], TOOLS)
    assert str(made.task.procedure) == "cancel_A1 & cancel_B2 & cancel_C3"
    assert "Steps on different things are taken to be in any order." in made.text
    both = [call(name, order=order) for order in ("A1", "B2") for name in ("cancel", "refund")]
    one_by_one = learned(episode(*both, A))
    assert accepts(one_by_one, episode(*both[2:], *both[:2], A))
    assert not accepts(one_by_one, episode(both[1], both[0], *both[2:], A))
    assert not accepts(one_by_one, episode(A, *both))


def test_writes_whose_answers_are_records_of_different_things_are_in_any_order() -> None:
    change = Call("change", {"order": "A1", "card": "gold"}, '{"order": "A1", "user": "ann"}')
    send_back = Call("send_back", {"order": "B2", "card": "gold"}, '{"order": "B2", "user": "ann"}')
    assert str(learned(episode(change, send_back)).procedure) == "change & send_back"
    unknown = Call("send_back", {"order": "B2", "card": "gold"}, "done")
    assert str(learned(episode(change, unknown)).procedure) == "change >> send_back"


@pytest.mark.parametrize(
    "steps",
    [
        [call("transfer", source="A1", target="B2"), call("transfer", source="B2", target="C3")],
        [call("move", path="drafts/plan", folder="old"), call("move", path="new/plan", folder="drafts")],
        [call("create", "T7", title="one"), call("create", "T8", title="T7")],
        [call("set", level=5), call("set", level=6)],
        [call("open", door="front"), call("take", item="key")],
        [call("lock", record="u1"), call("set", record="u2"), call("lock", record="u1")],
    ],
    ids=["shared account", "folder of a path", "result used", "numbers", "different tools", "the same again"],
)
def test_steps_that_may_depend_on_each_other_keep_the_order_of_one_run(steps: list[Call]) -> None:
    assert learn([episode(*steps)], TOOLS).task.automaton.golden.count == 1


def test_five_runs_with_the_same_order_are_no_chance() -> None:
    cancels = [call("cancel", order=name) for name in ("A1", "B2")]
    assert learn([episode(*cancels)] * 4, TOOLS).task.automaton.golden.count == 2
    assert learn([episode(*cancels)] * 5, TOOLS).task.automaton.golden.count == 1


def test_very_many_things_keep_their_order() -> None:
    for number, paths in ((8, 40_320), (40, 1)):
        cancels = [call("cancel", order=f"A{one}") for one in range(number)]
        assert learn([episode(*cancels)], TOOLS).task.automaton.golden.count == paths


def test_huge_arguments_are_learned_as_they_are() -> None:
    run = episode(call("send", text="x" * 300_000), call("pay", numbers=list(range(20_000))))
    made = learn([run], TOOLS)
    assert str(made.task.procedure) == "send >> pay"
    assert accepts(made.task, run)


def test_an_answer_can_say_that_a_guessed_order_is_wrong() -> None:
    cancels = [call("cancel", order=name) for name in ("A1", "B2")]
    made = learn([episode(*cancels)], TOOLS, judge=lambda question: [False] * len(question.examples))
    assert made.task.automaton.golden.count == 1
    assert made.asked[0][0].text == 'May cancel(order="B2") come before cancel(order="A1")?'


# Refused calls, and tasks that change nothing

LOOK = call("get_user", {"tier": "gold"})
REFUSED = Call("pay", {"bill": 7}, error="no money")


def test_if_a_tool_without_steps_refused_a_good_run_its_refusals_are_harmless() -> None:
    made = learn([episode(LOOK, REFUSED)], TOOLS)
    assert "refused: ignore_other_tools" in made.text
    assert accepts(made.task, episode(LOOK, Call("pay", {"bill": 8}, error="no money")))
    assert not accepts(made.task, episode(LOOK, call("pay", bill=8)))
    strict = learn([episode(LOOK, REFUSED)], TOOLS, refused="try").task
    assert accepts(strict, episode(LOOK, REFUSED))
    assert not accepts(strict, episode(LOOK, Call("pay", {"bill": 8}, error="no money")))
    lenient = learn([episode(A)], TOOLS, refused="ignore_other_tools").task
    assert accepts(lenient, episode(A, REFUSED))
    assert not accepts(lenient, episode(A, Call("a", {"x": 1}, error="no")))
    assert not accepts(learned(episode(A)), episode(A, REFUSED))


def test_a_task_that_changes_nothing_asks_for_a_look_unless_runs_end_differently() -> None:
    over = call("hand_over")
    looked = learned(episode(LOOK), episode(LOOK))
    assert not accepts(looked, episode())
    assert accepts(looked, episode(over))
    made = learn([episode(LOOK), episode(LOOK, over)], TOOLS)
    assert accepts(made.task, episode())
    assert not accepts(made.task, episode(A))
    assert "some runs hand over and others do not, so that the task accepts doing nothing" in made.warnings
    assert not accepts(learned(episode(LOOK, over), episode(LOOK, over)), episode())


def test_thinking_is_no_look() -> None:
    made = learn([episode(LOOK)], Tools(reads=["get_*"], neutral=["think", "transfer_to_human"])).task
    assert not accepts(made, episode(call("think")))
    assert accepts(made, episode(call("transfer_to_human")))


def test_what_many_runs_do_to_hand_over_is_required() -> None:
    over = call("hand_over")
    assert accepts(learned(*[episode(over)] * 6), episode())
    assert not accepts(learned(*[episode(over)] * 7), episode())
