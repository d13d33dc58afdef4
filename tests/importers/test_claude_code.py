"""Sessions of Claude Code, by what its session files and its stream hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, TURN_LIMIT
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.importers.formats import claude_code
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, outcomes, read, survives, write

SESSION = {"sessionId": "s1", "cwd": "/home/me/shop", "gitBranch": "fix", "version": "2.1.20", "userType": "external"}


def line(kind: str, number: int, message: Any = None, **extra: Any) -> dict[str, Any]:
    """A line of a session file; the line before it has the number before."""
    own = {"parentUuid": f"u{number - 1}" if number else None, "isSidechain": False, **SESSION, "type": kind}
    said = {} if message is None else {"message": message}
    return own | said | {"uuid": f"u{number}", "timestamp": f"2026-02-01T10:00:{number:02}.000Z"} | extra


def response(id_: str, *blocks: Any, tokens: int = 5, model: str = "claude-opus-4-5") -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": tokens, "cache_read_input_tokens": 100}
    return {"id": id_, "type": "message", "role": "assistant", "model": model, "content": list(blocks), "usage": usage}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(id_: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": tool, "input": arguments}


def result(id_: str, content: Any, **extra: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": content, **extra}]}


def asked(said: str) -> dict[str, Any]:
    return {"role": "user", "content": said}


STORED: list[Any] = [
    {"type": "file-history-snapshot", "messageId": "u0", "snapshot": {}, "isSnapshotUpdate": False},
    line("user", 0, asked("Fix the shop.")),
    line("assistant", 1, response("m1", {"type": "thinking", "thinking": "Hm.", "signature": "x"}, tokens=1)),
    line("assistant", 2, response("m1", text("I look."), tokens=1)),
    line("assistant", 3, response("m1", call("t1", "Bash", command="ls"), tokens=1)),
    line("assistant", 4, response("m1", call("t2", "Read", file_path="a.py"), tokens=40)),
    line("user", 5, result("t1", "a.py"), toolUseResult={"stdout": "a.py", "stderr": "", "interrupted": False}),
    line("user", 6, result("t2", [text('{"n": '), text("1}")]), toolUseResult={"type": "text"}),
    line("user", 7, asked("Caveat: the messages below…"), isMeta=True),
    line("system", 8, subtype="turn_duration", durationMs=9),
    line("assistant", 9, response("m2", call("t3", "Bash", command="make"), tokens=7)),
    line("user", 10, result("t3", "Exit code 2\nno rule", is_error=True), toolUseResult="Error: Exit code 2\nno rule"),
    line("assistant", 11, response("m3", text("The shop needs a Makefile."))),
    {"type": "summary", "summary": "Shop without a Makefile", "leafUuid": "u11"},
]


def test_a_session_is_read_whole(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *STORED), "claude-code")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("Bash", {"command": "ls"}, "t1", 1),
        ("Read", {"file_path": "a.py"}, "t2", 1),
        ("Bash", {"command": "make"}, "t3", 2),
    ]
    assert [one.result for one in episode.calls[:2]] == ["a.py", {"n": 1}]
    assert episode.calls[2].error == "Exit code 2\nno rule"
    assert episode.calls[0].extra["seconds"] == 2
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Fix the shop.", 0),
        ("assistant", "I look.", 0),
        ("system", "Caveat: the messages below…", 2),
        ("assistant", "The shop needs a Makefile.", 3),
    ]
    assert episode.answer == "The shop needs a Makefile."
    assert episode.agent == "claude-opus-4-5"


def test_a_response_on_several_lines_counts_once_with_its_last_usage() -> None:
    (episode,) = claude_code.read_session(STORED)
    usage = {"requests": 3, "input_tokens": 30, "output_tokens": 40 + 7 + 5, "input_tokens_cache_read": 300}
    assert episode.extra["usage"] == usage


def test_the_project_is_in_the_metadata() -> None:
    (episode,) = claude_code.read_session(STORED)
    known = {"sessionId": "s1", "cwd": "/home/me/shop", "gitBranch": "fix", "version": "2.1.20"}
    assert episode.extra["metadata"] == {**known, "title": "Shop without a Makefile"}
    assert episode.extra["seconds"] == 11


def test_lines_that_a_resumed_session_repeats_count_once(tmp_path: Path) -> None:
    resumed = [one | {"sessionId": "s2"} if "sessionId" in one else one for one in STORED]
    later = line("user", 12, asked("Write one.")) | {"sessionId": "s2"}
    final = line("assistant", 13, response("m4", text("Done."))) | {"sessionId": "s2"}
    (episode,) = read(write(tmp_path, *STORED, *resumed[4:8], later, final), "claude-code")
    (plain,) = claude_code.read_session(STORED)
    assert episode.calls == plain.calls
    assert [one.content for one in episode.messages[-2:]] == ["Write one.", "Done."]


def test_several_sessions_in_one_file_are_several_episodes(tmp_path: Path) -> None:
    other = [
        one
        | {"sessionId": "s2", "uuid": "x" + one["uuid"], "parentUuid": one["parentUuid"] and "x" + one["parentUuid"]}
        for one in STORED[1:-1]
    ]
    file = write(tmp_path, {"type": "summary", "summary": "Older", "leafUuid": "?"}, *STORED, *other)
    assert outcomes(import_trace(file)) == [3, 3]


def test_calls_of_sub_agents_belong_to_the_session() -> None:
    task = line("assistant", 1, response("m1", call("t1", "Task", prompt="Count.")))
    side = {"isSidechain": True, "agentId": "a7"}
    inline = [
        line("user", 2, asked("Count."), **side),
        line("assistant", 3, response("s1", call("t2", "Grep", pattern="x"), model="claude-haiku-4-5"), **side),
        line("user", 4, result("t2", "2"), **side),
        line("assistant", 5, response("s2", text("Two."), model="claude-haiku-4-5"), **side),
    ]
    shown = [
        line("progress", 10 + n, data={"type": "agent_progress", "agentId": "a7", "message": one, "prompt": "Count."})
        for n, one in enumerate(inline)
    ]
    end = [line("user", 6, result("t1", [text("Two.")])), line("assistant", 7, response("m2", text("There are two.")))]
    for told in (inline, shown):
        (episode,) = claude_code.read_session([line("user", 0, asked("How many?")), task, *told, *end])
        assert [(one.tool, one.turn, one.extra.get("sub_agent")) for one in episode.calls] == [
            ("Task", 1, None),
            ("Grep", 2, "a7"),
        ]
        assert [one.content for one in episode.messages] == ["How many?", "Two.", "There are two."]
        assert episode.answer == "There are two."
        assert episode.extra["models"] == ["claude-opus-4-5", "claude-haiku-4-5"]


def test_the_file_of_a_sub_agent_is_an_episode(tmp_path: Path) -> None:
    lines = [one | {"isSidechain": True, "agentId": "a7"} for one in STORED[1:-1]]
    (episode,) = read(write(tmp_path, *lines), "claude-code")
    assert episode.messages[0].content == "Fix the shop."
    assert episode.answer == "The shop needs a Makefile."
    assert episode.extra["metadata"]["agentId"] == "a7"


def test_parallel_responses_keep_their_turns() -> None:
    lines = [
        line("assistant", 1, response("m1", call("t1", "Bash", command="a"))),
        line("assistant", 2, response("s1", call("t2", "Bash", command="b")), isSidechain=True),
        line("user", 3, result("t1", "A")),
        line("assistant", 4, response("m1", call("t3", "Bash", command="c"))),
    ]
    (episode,) = claude_code.read_session(lines)
    assert [(one.id, one.turn) for one in episode.calls] == [("t1", 1), ("t2", 2), ("t3", 1)]
    assert [one.result for one in episode.calls] == ["A", UNANSWERED, UNANSWERED]


def test_messages_sent_while_the_agent_works_are_kept_once() -> None:
    def queue(operation: str, **extra: Any) -> dict[str, Any]:
        return {"type": "queue-operation", "operation": operation, "timestamp": None, "sessionId": "s1", **extra}

    notice = "<task-notification>done</task-notification>"
    attached = {"type": "queued_command", "prompt": "And faster.", "commandMode": "prompt"}
    (episode,) = claude_code.read_session(
        [
            *STORED[:5],
            *(queue("enqueue", content=one) for one in ("Also test it.", notice, "Next.", "And faster.")),
            *(queue("remove"), queue("remove"), queue("dequeue"), queue("remove")),
            line("attachment", 20, attachment=attached),
            line("user", 21, asked("Next.")),
        ]
    )
    assert [(one.role, one.content) for one in episode.messages[2:]] == [
        ("user", "Also test it."),
        ("system", notice),
        ("user", "And faster."),
        ("user", "Next."),
    ]


@pytest.mark.parametrize(
    ("said", "ended"), [("API Error: 529 overloaded", FAILED_OUTSIDE), ("Prompt is too long", CONTEXT_LIMIT)]
)
def test_an_error_of_the_api_ends_a_session_unless_the_agent_goes_on(said: str, ended: str) -> None:
    error = line("assistant", 12, response("e1", text(said), model="<synthetic>"), isApiErrorMessage=True)
    (episode,) = claude_code.read_session([*STORED, error])
    assert episode.outcome == ended
    assert (episode.messages[-1].role, episode.messages[-1].content) == ("system", said)
    assert episode.extra["usage"]["requests"] == 3
    (episode,) = claude_code.read_session([*STORED, error, line("assistant", 13, response("m9", text("Again.")))])
    assert (episode.outcome, episode.answer) == (None, "Again.")


def streamed(kind: str, message: Any, parent: str | None = None) -> dict[str, Any]:
    return {"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": "s1", "uuid": None}


RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "duration_ms": 4000, "duration_api_ms": 3000,
    "num_turns": 2, "result": "Done.", "session_id": "s1", "total_cost_usd": 0.25,
    "usage": {"input_tokens": 20, "output_tokens": 90}, "permission_denials": [],
}  # fmt: skip
STREAM: list[Any] = [
    {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "s1", "tools": ["Task"], "model": "claude-x"},
    streamed("assistant", response("m1", text("I ask."), model="claude-x")),
    streamed("assistant", response("m1", call("t1", "Task", prompt="Count."), model="claude-x")),
    streamed("user", asked("Count."), "t1"),
    streamed("assistant", response("s1", call("t2", "Grep", pattern="x"), model="claude-y"), "t1"),
    streamed("user", result("t2", "no", is_error=True), "t1"),
    streamed("user", result("t1", "None.")),
    {"type": "stream_event", "event": {"type": "message_stop"}, "session_id": "s1", "parent_tool_use_id": None},
    streamed("assistant", response("m2", text("Done."), model="claude-x")),
    RESULT,
]


def test_a_stream_has_its_cost_and_its_sub_agents(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *STREAM), "claude-code")
    assert [(one.tool, one.turn, one.failed, one.extra.get("sub_agent")) for one in episode.calls] == [
        ("Task", 1, False, None),
        ("Grep", 2, True, "t1"),
    ]
    usage = {"requests": 3, "input_tokens": 20, "output_tokens": 90, "total_cost": 0.25}
    assert (episode.extra["usage"], episode.extra["seconds"]) == (usage, 4)
    assert (episode.answer, episode.outcome) == ("Done.", None)
    assert episode.extra["metadata"]["num_turns"] == 2
    assert episode.extra["metadata"]["cwd"] == "/w"


def test_the_list_that_claude_prints_as_one_json_value_is_the_same(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, STREAM, name="trace.json"), "claude-code")
    assert list(claude_code.read_session(STREAM)) == [episode]


@pytest.mark.parametrize(
    ("end", "outcome", "failure"),
    [
        ({"subtype": "error_max_turns", "is_error": True}, TURN_LIMIT, {}),
        ({"subtype": "error_during_execution", "is_error": True, "result": None, "errors": ["a", "b"]}, FAILED_OUTSIDE,
         {"kind": "error_during_execution", "message": "a; b"}),
        ({"is_error": True, "result": "Credit balance is too low"}, FAILED_OUTSIDE,
         {"kind": "success", "message": "Credit balance is too low"}),
    ],
)  # fmt: skip
def test_how_a_run_ended(end: dict[str, Any], outcome: str, failure: dict[str, Any]) -> None:
    (episode,) = claude_code.read_session([*STREAM[:-1], RESULT | end])
    assert (episode.outcome, episode.failure) == (outcome, failure)


def test_a_result_without_its_call_is_a_bad_session(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no call waits for it"):
        list(claude_code.read_session([*STORED, line("user", 12, result("t9", "x"))]))
    file = write(tmp_path, line("user", 0, asked("x")), line("assistant", 1, response("m1", call("t1", "Bash"))))
    file.write_text(file.read_text() + '{"type": "user", "mess')
    counts = outcomes(import_trace(file))
    assert 1 in counts
    assert len(counts) == 2, "the call and the broken line"


def test_similar_lines_are_not_of_claude_code() -> None:
    qwen = {"uuid": "u", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"role": "user", "parts": []}}
    cursor = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/", "model": "x"}
    others: tuple[Any, ...] = (
        qwen,
        cursor,
        {"type": "assistant", "message": {}, "session_id": "s"},
        {"type": "result"},
        [],
        1,
    )
    for other in others:
        assert claude_code.mismatch(other) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(claude_code.read_session, data.draw(damaged(data.draw(st.sampled_from([STORED, STREAM])))))


@given(st.data())
def test_damaged_lines_still_have_a_session(data: st.DataObject) -> None:
    key = claude_code._Sessions()
    for one in data.draw(damaged(STORED)):
        assert isinstance(key(one), str | None)
        claude_code.mismatch(one)
