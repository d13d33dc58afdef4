"""The recorder for your own agent loop, and `assert_path`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corepath import (
    RECOMMENDED,
    Call,
    CorepathError,
    Episode,
    Message,
    Recorder,
    StepLimitError,
    Task,
    TaskError,
    World,
    assert_path,
    episode,
    episode_json,
    explain,
    installed_worlds,
    load_episodes,
    play,
    repeat,
    score,
    seq,
    task,
    tool,
)
from corepath.play.built_in import oracle
from corepath.play.session import LONGEST_REPLY, describe_result
from corepath.testing.assertion import MOST_LINES

READ = ("read_sensor", {"plant": "B"})
CHECK, APPROVE = tool("check")(policy="P1"), tool("approve")(policy="P1")
LEGAL = Task("legal/own", procedure=seq(CHECK, APPROVE))
SEND = Task("mail/send", procedure=tool("send")(to="Bob"), reads=[tool("look").any()])


@dataclass
class Counter:
    total: int = 0


# The recorder


def test_changing_a_returned_call_does_not_change_the_record() -> None:
    sent = {"plant": "B"}
    with episode("farm/threshold") as ep:
        answered = ep.call(name="read_sensor", arguments=sent)
        sent["plant"] = "A"
        assert isinstance(answered.arguments, dict)
        answered.arguments["plant"] = "A"
        answered.result["moisture"] = -1
    assert ep.calls[0].arguments == {"plant": "B"}
    assert ep.calls[0].result["moisture"] > 0
    assert ep.score.pc == 1


WRONG: list[tuple[Any, dict[str, Any], Any, str]] = [
    (None, {}, "openai", "a task is a Task, an id such as 'farm/threshold', or a file, not None"),
    ("farm/threshold", {"seed": "x"}, "openai", "a seed is a whole number, not 'x'"),
    ("farm/threshold", {}, ["x"], r"no form of tools '\['x'\]'"),
]


@pytest.mark.parametrize(("of", "options", "form", "said"), WRONG)
def test_a_wrong_task_seed_or_form_is_an_error(of: Any, options: dict[str, Any], form: Any, said: str) -> None:
    with pytest.raises(CorepathError, match=said):
        episode(of, **options).tools(form)


def test_a_recorder_records_the_same_episode_as_play() -> None:
    played = play(oracle, task("legal/settle_case"), name="agent")
    with episode("legal/settle_case") as ep:
        for call in played.calls:
            assert ep.call(call.tool, call.arguments).result == call.result
        ep.answer(played.answer)
    assert ep.episode == played
    assert ep.score == score(task("legal/settle_case"), played)
    assert ep.state == played.extra["state"]


def test_an_episode_takes_a_task_a_variant_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text("version: 1\nid: mine/read\nworld: farm\nprocedure: 'read_sensor(plant=\"A\")'\n")
    for given in (file, str(file)):
        with episode(given) as ep:
            ep.call("read_sensor", {"plant": "A"})
        assert (ep.task.id, ep.score.accepted) == ("mine/read", True)
    with episode(task("farm/threshold")) as ep:
        assert ep.prompt == task("farm/threshold").prompt
    seed = next(seed for seed in range(1, 50) if task("farm/threshold", seed).prompt != ep.prompt)
    with episode("farm/threshold", seed=seed, agent="me", epoch=2) as ep:
        assert ep.prompt == task("farm/threshold", seed).prompt
    assert (ep.episode.seed, ep.episode.agent, ep.episode.epoch) == (seed, "me", 2)


def test_a_task_that_does_not_exist_or_has_no_world_is_an_error() -> None:
    with pytest.raises(TaskError, match="no task 'thresold' in world 'farm'; did you mean 'threshold'"):
        episode("farm/thresold")
    with pytest.raises(TaskError, match="'legal/own' has no world in which its calls could be executed"):
        episode(LEGAL)


NAMES = {"openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema", "schema": "parameters"}


@pytest.mark.parametrize("form", NAMES)
def test_tools_have_the_schema_format_of_the_provider(form: Any) -> None:
    for world in installed_worlds():
        with episode(next(iter(_tasks_of(world)))) as ep:
            plain = {one["name"]: one for one in ep.tools("schema")}
            tools = ep.tools(form)
        assert len(tools) == len(plain)
        for one in tools:
            inner = one["function"] if form == "openai" else one
            assert one.keys() == ({"type", "function"} if form == "openai" else {"name", "description", NAMES[form]})
            Draft202012Validator.check_schema(inner[NAMES[form]])
            assert inner[NAMES[form]] == plain[inner["name"]]["parameters"]
            assert inner["description"] == plain[inner["name"]]["description"]


def _tasks_of(world: str) -> list[str]:
    from corepath import world as world_named

    return [f"{world}/{name}" for name in world_named(world).makers]


def test_tools_are_a_copy_that_may_be_changed() -> None:
    with episode("farm/threshold") as ep:
        for one in ep.tools("openai"):
            one["function"]["parameters"]["properties"].clear()
        assert any(one["parameters"]["properties"] for one in ep.tools())


def test_a_misspelt_form_gets_a_suggestion() -> None:
    with episode("farm/threshold") as ep, pytest.raises(CorepathError, match="did you mean 'openai'"):
        ep.tools("open_ai")  # type: ignore[arg-type]


def test_a_reply_is_the_text_that_a_model_reads() -> None:
    with episode("farm/threshold") as ep:
        assert json.loads(ep.reply(*READ)) == ep.calls[0].result
        assert ep.reply("teleport", {}) == f"Error: {ep.calls[1].error}"
        assert ep.reply("read_sensor", '{"plant": ') == f"Error: {ep.calls[2].error}"
        assert ep.calls[2].arguments == '{"plant": '
        assert json.loads(ep.reply("read_sensor", '{"plant": "B"}', id="c4", turn=3)) == ep.calls[0].result
        assert (ep.calls[3].id, ep.calls[3].turn) == ("c4", 3)


def test_a_long_result_is_cut_for_the_model() -> None:
    longest = "x" * LONGEST_REPLY
    assert describe_result(Call("read", result=longest)) == longest
    assert describe_result(Call("read", result=f"{longest}y")) == f"{longest}… (100001 characters)"
    assert describe_result(Call("read", result="é")) == "é"
    assert describe_result(Call("read", result=["é", None])) == '["é", null]'


def test_what_is_said_and_answered_is_recorded() -> None:
    with episode("farm/threshold") as ep:
        ep.say("I read.")
        ep.call(*READ)
        ep.answer("It is 30 percent.")
    assert ep.episode.messages == (Message("assistant", "I read.", 0),)
    assert ep.episode.answer == "It is 30 percent."


def test_an_answer_must_be_json() -> None:
    with episode("farm/threshold") as ep, pytest.raises(CorepathError, match="an answer is text or other JSON"):
        ep.answer(object())


def test_the_score_is_available_during_the_episode() -> None:
    with episode("farm/threshold") as ep:
        assert (ep.score.accepted, ep.score.pc) == (False, 0.0)
        ep.call(*READ)
        assert (ep.score.accepted, ep.score.pc) == (True, 1.0)
        assert ep.score is ep.score


def test_the_scoring_is_an_option() -> None:
    with episode("farm/threshold", scoring=RECOMMENDED) as ep:
        ep.call(*READ)
    assert (ep.score.pc_ktc, ep.episode.scores["profile"]) == (1.0, "recommended")


def test_an_exception_propagates_and_the_calls_before_it_are_kept() -> None:
    with pytest.raises(ConnectionError), episode("farm/threshold") as ep:  # noqa: PT012  # a loop has many steps
        ep.call(*READ)
        raise ConnectionError("the model is away")
    assert [call.tool for call in ep.episode.calls] == ["read_sensor"]
    assert ep.episode.outcome == "failed outside"
    assert ep.episode.failure["message"] == "ConnectionError: the model is away"
    assert "ConnectionError: the model is away" in str(explain(ep.task, ep.episode))


@pytest.mark.parametrize("after", [AssertionError, ValueError])
def test_an_exception_after_the_episode_is_finished_is_not_a_failure(after: type[Exception]) -> None:
    with pytest.raises(after), episode("farm/threshold") as ep:  # noqa: PT012  # a loop has many steps
        ep.call(*READ)
        if after is ValueError:
            ep.answer("Done.")
        raise after
    assert ep.episode.outcome == "answered"


def test_the_step_limit_is_raised_and_recorded() -> None:
    with pytest.raises(StepLimitError), episode("farm/threshold") as ep:  # noqa: PT012  # a loop has many steps
        while True:
            ep.call("rover_status")
    assert ep.over
    assert (len(ep.calls), ep.episode.outcome) == (ep.task.step_limit, "step limit")


def test_a_loop_that_checks_over_never_exceeds_the_limit() -> None:
    with episode("farm/threshold") as ep:
        while not ep.over:
            ep.call("rover_status")
    assert (len(ep.calls), ep.episode.outcome) == (ep.task.step_limit, "answered")


@pytest.mark.parametrize("late", [lambda ep: ep.call(*READ), lambda ep: ep.say(""), lambda ep: ep.answer("")])
def test_nothing_can_be_added_to_an_episode_that_has_ended(late: Callable[[Recorder], object]) -> None:
    with episode("farm/threshold") as ep:
        pass
    with pytest.raises(CorepathError, match="'farm/threshold' has ended with its `with`"):
        late(ep)
    with pytest.raises(CorepathError, match="begin another one"), ep:
        pass
    assert ep.calls == ()


def test_calls_from_many_threads_are_executed_one_by_one() -> None:
    """LangGraph and others run the calls of one turn in threads; no call may overwrite another's change."""
    world = World("counter", Counter)

    @world.write
    def add(counter: Counter) -> int:
        """Add one."""
        before = counter.total
        time.sleep(0.0001)  # let other threads run
        counter.total = before + 1
        return counter.total

    counting = world.complete(Task("counter/many", procedure=repeat(add(), 200), most_calls=200))
    with episode(counting) as ep, ThreadPoolExecutor(16) as pool:
        results = [call.result for call in pool.map(lambda _: ep.call("add"), range(200))]
    assert sorted(results) == [call.result for call in ep.calls] == list(range(1, 201))
    assert ep.state == {"total": 200}


def test_a_recorded_episode_can_be_written_and_read_again(tmp_path: Path) -> None:
    with episode("farm/threshold") as ep:
        ep.call("read_sensor", '{"plant": "B\\ud800"}')
        ep.call("<script>", {"to": "\x00\u202e"})
    file = tmp_path / "episodes.jsonl"
    file.write_text(episode_json(ep.episode) + "\n")
    assert load_episodes(file)[0].calls == ep.episode.calls


# Asserting a path


def test_assert_path_returns_the_score() -> None:
    assert assert_path(LEGAL, ['check(policy="P1")', 'approve(policy="P1")']).pc == 1.0
    assert assert_path("farm/threshold", [Call(*READ)]).accepted
    assert assert_path(LEGAL, iter([Call("check", {"policy": "P1"}), Call("approve", {"policy": "P1"})])).length == 2


@pytest.mark.parametrize(
    "calls",
    [[], ['check(policy="P1")'], ['approve(policy="P1")'], ['approve(policy="P1")', 'check(policy="P1")'],
     ['check(policy="P1")', "dance()", 'approve(policy="P1")']],
)  # fmt: skip
def test_any_imperfect_path_fails_by_default(calls: list[str]) -> None:
    with pytest.raises(AssertionError):
        assert_path(LEGAL, calls)


def test_extra_reads_are_allowed_unless_efficiency_or_calls_are_limited() -> None:
    calls = ["look()", "look()", 'send(to="Bob")']
    assert_path(SEND, calls)
    with pytest.raises(AssertionError, match=r"efficiency is 0.333, wanted at least 0.5 \(min_efficiency\)"):
        assert_path(SEND, calls, min_efficiency=0.5)
    with pytest.raises(AssertionError, match=r"calls: 3, wanted at most 2 \(max_calls\)"):
        assert_path(SEND, calls, max_calls=2)


def test_a_failure_shows_the_cause_and_the_steps() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_path(LEGAL, ['approve(policy="P1")'])
    text = str(failure.value)
    assert text.startswith('legal/own: Skipped check(policy="P1"): approve (call 1) was made without it.\n')
    assert str(explain(LEGAL, ['approve(policy="P1")'])) in text
    assert text.endswith(
        "the task is not completed (missing steps: 2); harmful calls: 1, wanted at most 0 (max_harm); "
        "pc is 0.500, wanted at least 1 (min_pc)"
    )


ONE_HARM = ['check(policy="P1")', "dance()", 'approve(policy="P1")']


def test_a_limit_relaxes_only_the_score_it_names() -> None:
    found = assert_path(LEGAL, ONE_HARM, max_harm=1)
    assert_path(LEGAL, ONE_HARM, max_harm=1, min_pc=found.pc, min_pc_ktc=found.pc_ktc, min_pc_hlr=found.pc_hlr)
    with pytest.raises(AssertionError, match="harmful calls: 1"):
        assert_path(LEGAL, ONE_HARM, min_pc=1)
    with pytest.raises(AssertionError, match=r"\(min_pc\)"):
        assert_path(LEGAL, ONE_HARM, max_harm=1, min_pc=0.9)
    with pytest.raises(AssertionError, match=r"prefix_criticality is 0\.\d+, wanted at least 1"):
        assert_path(LEGAL, ONE_HARM, max_harm=1, min_prefix_criticality=1)
    with pytest.raises(AssertionError, match="the task is not completed"):
        assert_path(LEGAL, ['check(policy="P1")'], max_harm=3)
    assert_path(LEGAL, ['check(policy="P1")'], accepted=False)
    with pytest.raises(AssertionError, match=r"harmful calls: 1, wanted at most 0 \(max_harm\)$"):
        assert_path(LEGAL, ["dance()"], accepted=False)


def test_a_lower_min_pc_relaxes_the_other_defaults_but_not_explicit_limits() -> None:
    found = assert_path(LEGAL, ONE_HARM, min_pc=0.5)
    assert found.harm_count == 1
    assert_path(LEGAL, ['check(policy="P1")'], min_pc=0.5)
    assert_path(LEGAL, [], min_pc=0)
    with pytest.raises(AssertionError, match="harmful calls: 1, wanted at most 0"):
        assert_path(LEGAL, ONE_HARM, min_pc=0.5, max_harm=0)
    with pytest.raises(AssertionError, match="the task is not completed"):
        assert_path(LEGAL, ['check(policy="P1")'], min_pc=0.5, accepted=True)


def test_an_undefined_score_is_below_any_limit() -> None:
    with pytest.raises(AssertionError, match="efficiency is undefined, wanted at least 0 "):
        assert_path(LEGAL, ['check(policy="P1")'], accepted=False, min_efficiency=0)
    with pytest.raises(AssertionError, match="state_match is undefined, wanted True"):
        assert_path(LEGAL, ['check(policy="P1")', 'approve(policy="P1")'], state_match=True)


def test_the_state_and_the_answer_can_be_required() -> None:
    asked = Task("legal/asked", procedure=seq(CHECK), answer="yes")
    calls = (Call("check", {"policy": "P1"}),)
    assert_path(asked, Episode("legal/asked", calls, answer="yes"), answer_match=True)
    with pytest.raises(AssertionError, match="answer_match is False, wanted True"):
        assert_path(asked, Episode("legal/asked", calls, answer="no"), answer_match=True)
    assert_path("farm/threshold", [Call(*READ)], state_match=True)


def test_assert_path_takes_a_recorder() -> None:
    with episode("farm/threshold") as ep:
        ep.call(*READ)
        assert_path(ep.task, ep)
    assert assert_path(ep.task, ep) == assert_path(ep.task, ep.episode) == ep.score


def test_assert_path_uses_the_variant_and_the_scoring_of_the_episode() -> None:
    variant = task("farm/dry_plants", 7)
    with episode("farm/dry_plants", seed=7, scoring=RECOMMENDED) as ep:
        for call in play(oracle, variant, name="agent").calls:
            ep.call(call.tool, call.arguments)
    assert ep.score.pc == 1
    assert assert_path("farm/dry_plants", ep).scoring == RECOMMENDED
    assert assert_path("farm/dry_plants", ep.episode).pc == 1
    assert assert_path(ep.task, ep.calls, scoring=RECOMMENDED, min_pc_ktc=1).scoring == RECOMMENDED


def test_an_episode_of_another_task_is_an_error() -> None:
    with episode("farm/threshold") as ep:
        ep.call(*READ)
    for calls in (ep, ep.episode):
        with pytest.raises(ValueError, match="the episode is of task 'farm/threshold', not of 'farm/rover_example'"):
            assert_path("farm/rover_example", calls)


@pytest.mark.parametrize("call", [{"tool": "check", "arguments": {}}, ("check", {}), None])
def test_anything_but_a_call_or_text_is_an_error(call: Any) -> None:
    with pytest.raises(TypeError, match=r"a call is a Call, or text such as 'pay\(amount=5\)', not "):
        assert_path(LEGAL, [call])


def test_a_task_in_a_file_is_named_by_its_id(tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("id: a/one\nprocedure: look()\n---\nid: a/two\nprocedure: go()\n")
    assert_path(f"{file}::a/two", ["go()"])
    with pytest.raises(CorepathError, match=r"has 2 tasks \(a/one, a/two\); name one, as in .*tasks.yaml::a/one"):
        assert_path(file, ["go()"])
    with pytest.raises(CorepathError, match="has no task 'a/tow'; did you mean 'a/two'"):
        assert_path(f"{file}::a/tow", ["go()"])


def test_an_unknown_limit_lists_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"no limit 'pc'; it has min_pc, min_pc_ktc, .*, max_harm, .*, answer_match$"):
        assert_path(LEGAL, [], pc=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [({"min_pc": 90}, "a number from 0 to 1, not 90"), ({"min_pc": True}, "a number from 0 to 1"),
     ({"min_pc": float("nan")}, "a number from 0 to 1"), ({"min_pc": "0.9"}, "a number from 0 to 1, not '0.9'"),
     ({"max_harm": -1}, "a whole number of 0 or more"), ({"max_harm": 0.5}, "a whole number of 0 or more"),
     ({"accepted": 1}, "True or False, not 1"), ({"accepted": None}, "True or False")],
)  # fmt: skip
def test_a_limit_with_a_wrong_value_says_what_it_must_be(limits: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        assert_path(LEGAL, [], **limits)


def test_a_single_text_is_not_a_list_of_calls() -> None:
    with pytest.raises(TypeError, match=r"calls are a list, such as \['check\(\)'\]"):
        assert_path(LEGAL, "check()")


def test_a_failure_of_many_or_hostile_calls_is_bounded_and_escaped() -> None:
    hostile = Call("\x1b[31m<script>\u202e" + "x" * 1_000_000, {"a": "\x00"})
    with pytest.raises(AssertionError) as failure:
        assert_path(LEGAL, [hostile, *[Call("dance", {"n": n}) for n in range(1000)]])
    text = str(failure.value)
    assert len(text.split("\n")) <= MOST_LINES
    assert "lines left out" in text
    assert not {"\x1b", "\u202e", "\x00"} & set(text)
    assert len(text) < 100_000
