"""Sessions of Codex CLI, by what its rollout recorder and `codex exec --json` write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.importers.formats import codex
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, outcomes, read, survives, write


def at(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-01T10:00:{second:02}.000Z", "type": kind, "payload": payload}


def item(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return at(second, "response_item", type=kind, **fields)


def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return at(second, "event_msg", type=kind, **fields)


def said(second: int, role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, "message", role=role, content=[{"type": kind, "text": text}])


def call(second: int, id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    return item(second, "function_call", name=name, arguments=json.dumps(arguments), call_id=id_)


def output(second: int, id_: str, content: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return item(second, kind, call_id=id_, output=content)


def tokens(second: int, total: int, last: int) -> dict[str, Any]:
    def used(count: int) -> dict[str, int]:
        return {"input_tokens": count, "cached_input_tokens": 1, "output_tokens": 2, "total_tokens": count + 2}

    info = {"total_token_usage": used(total), "last_token_usage": used(last), "model_context_window": 258400}
    return event(second, "token_count", info=info, rate_limits=None)


def shell(text: str, code: int) -> str:
    return json.dumps({"output": text, "metadata": {"exit_code": code, "duration_seconds": 0.1}})


META = at(
    0, "session_meta", id="thread-1", timestamp="2026-03-01T10:00:00Z", cwd="/home/me/shop", originator="codex_cli_rs",
    cli_version="0.146.0", source="cli", git={"branch": "fix", "commit_hash": "abc"},
    base_instructions={"text": "You are Codex."}, dynamic_tools=[],
)  # fmt: skip
CONTEXT = at(1, "turn_context", cwd="/home/me/shop", model="gpt-5-codex", approval_policy="never")

ROLLOUT: list[Any] = [
    META,
    said(0, "developer", "Be careful."),
    said(0, "user", "<environment_context>…</environment_context>"),
    said(1, "user", "Fix the shop."),
    event(1, "user_message", message="Fix the shop.", images=[]),
    CONTEXT,
    item(2, "reasoning", summary=[{"type": "summary_text", "text": "Hm."}], encrypted_content="…"),
    said(2, "assistant", "I look."),
    event(2, "agent_message", message="I look."),
    call(3, "c1", "shell", command=["ls"]),
    call(3, "c2", "exec_command", cmd="make"),
    tokens(3, 100, 100),
    output(5, "c1", shell("a.py", 0)),
    output(5, "c2", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno rule"),
    tokens(5, 100, 100),
    item(6, "custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c3", status="completed"),
    event(6, "patch_apply_end", call_id="c3", stdout="", stderr="bad", success=False, status="failed", changes={}),
    output(6, "c3", [{"type": "input_text", "text": "patch "}, {"type": "input_text", "text": "rejected"}],
           "custom_tool_call_output"),
    tokens(6, 250, 150),
    item(7, "local_shell_call", call_id="c4", status="completed",
         action={"type": "exec", "command": ["cat", "a.py"], "timeout_ms": None, "env": None}),
    output(7, "c4", "Exit code: 0\nWall time: 0 seconds\nOutput:\nprint"),
    item(8, "web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "shop"}),
    call(8, "c5", "shop__list", page=1),
    event(8, "mcp_tool_call_end", call_id="c5", duration={}, invocation={}, result={"Ok": {"isError": True}}),
    output(8, "c5", "no page"),
    call(8, "c6", "shell", command=["sleep", "9"]),
    event(9, "turn_aborted", reason="interrupted"),
    at(9, "compacted", message="So far: nothing.", replacement_history=[{"type": "message", "role": "user"}]),
    said(9, "assistant", "The shop needs a Makefile."),
]  # fmt: skip


def test_a_rollout_is_read_whole(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *ROLLOUT), "codex")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("shell", {"command": ["ls"]}, "c1", 1),
        ("exec_command", {"cmd": "make"}, "c2", 1),
        ("apply_patch", {"input": "*** Begin Patch"}, "c3", 2),
        ("local_shell", {"type": "exec", "command": ["cat", "a.py"]}, "c4", 3),
        ("web_search", {"type": "search", "query": "shop"}, "ws_1", 3),
        ("shop__list", {"page": 1}, "c5", 3),
        ("shell", {"command": ["sleep", "9"]}, "c6", 3),
    ]
    assert [one.failed for one in episode.calls] == [False, True, True, False, False, True, False]
    assert episode.calls[0].result == {"output": "a.py", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}
    assert [episode.calls[n].error for n in (2, 5)] == ["patch rejected", "no page"]
    assert episode.calls[6].result is UNANSWERED
    assert episode.calls[0].extra["seconds"] == 2


def test_messages_usage_and_metadata_of_a_rollout() -> None:
    (episode,) = codex.read_session(ROLLOUT)
    assert [(one.role, one.content) for one in episode.messages] == [
        ("system", "You are Codex."),
        ("system", "Be careful."),
        ("user", "<environment_context>…</environment_context>"),
        ("user", "Fix the shop."),
        ("assistant", "I look."),
        ("system", "So far: nothing."),
        ("assistant", "The shop needs a Makefile."),
    ]
    usage = {"requests": 2, "input_tokens": 250, "output_tokens": 4, "total_tokens": 254, "input_tokens_cache_read": 2}
    assert episode.extra["usage"] == usage, "the same total twice is one request"
    assert episode.agent == "gpt-5-codex"
    assert episode.extra["metadata"]["cwd"] == "/home/me/shop"
    assert episode.extra["metadata"]["git"]["branch"] == "fix"
    assert "base_instructions" not in episode.extra["metadata"]


def test_calls_of_one_response_share_a_turn_if_each_output_follows_its_call() -> None:
    pairs = [call(2, "c1", "a"), output(2, "c1", "1"), call(2, "c2", "b"), output(2, "c2", "2")]
    later = [call(4, "c3", "c"), output(4, "c3", "3")]
    counted = [META, CONTEXT, tokens(1, 1, 1), *pairs, CONTEXT, tokens(3, 2, 1), *later]
    (episode,) = codex.read_session(counted)
    assert [one.turn for one in episode.calls] == [1, 1, 2]
    (episode,) = codex.read_session([META, *pairs, *later])
    assert [one.turn for one in episode.calls] == [1, 2, 3], "nothing says where a response ends"


OLD: list[Any] = [
    {"id": "old-1", "timestamp": "2025-07-01T10:00:00Z", "instructions": "Be kind.", "git": {"branch": "main"}},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List."}], "id": None},
    {"record_type": "state"},
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "function_call", "name": "shell", "arguments": "{broken", "call_id": "c1", "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": "failed to parse"},
    {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c2", "id": "f2"},
    {"type": "function_call_output", "call_id": "c2", "output": shell("no", 1)},
    {"record_type": "state"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Empty."}], "id": "m"},
]


def test_an_old_rollout_has_items_as_lines(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *OLD), "codex")
    assert [(one.arguments, one.turn, one.failed) for one in episode.calls] == [
        ("{broken", 1, False),
        ({"command": ["ls"]}, 1, True),
    ]
    assert [one.content for one in episode.messages] == ["Be kind.", "List.", "Empty."]
    assert episode.extra["metadata"]["git"] == {"branch": "main"}


def test_a_fork_and_several_rollouts_in_one_file(tmp_path: Path) -> None:
    fork = at(9, "session_meta", id="thread-2", forked_from_id="thread-1", cwd="/")
    other = at(9, "session_meta", id="thread-3", cwd="/")
    file = write(tmp_path, fork, *ROLLOUT, other, said(9, "user", "x"), call(9, "c1", "shell"))
    assert outcomes(import_trace(file)) == [7, 1]


def test_items_that_a_rollout_repeats_count_once() -> None:
    (episode,) = codex.read_session([*ROLLOUT, *ROLLOUT[9:14]])
    assert len(episode.calls) == 7
    assert episode.calls == next(codex.read_session(ROLLOUT)).calls


@pytest.mark.parametrize(
    ("info", "ended"), [("context_window_exceeded", CONTEXT_LIMIT), ("usage_limit_exceeded", FAILED_OUTSIDE)]
)
def test_an_error_ends_a_session_unless_the_agent_goes_on(info: str, ended: str) -> None:
    error = {"message": "Stopped.", "codex_error_info": info}
    for line in (event(9, "error", **error), event(9, "task_complete", last_agent_message=None, error=error)):
        (episode,) = codex.read_session([*ROLLOUT, line])
        assert episode.outcome == ended
        (episode,) = codex.read_session([*ROLLOUT, line, said(9, "assistant", "Again.")])
        assert episode.outcome is None


@pytest.mark.parametrize(
    ("content", "failed"),
    [
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\n", True),
        ("Command: make\nChunk ID: 1\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\n", True),
        ("Wall time: 1 seconds\nProcess running with session ID 4\nOutput:\nProcess exited with code 1\n", False),
        ("the log says\nExit code: 1\n", False),
        ({"content": "no", "success": False}, True),
        ({"content": "yes", "success": True}, False),
        ('{"metadata": {"exit_code": true}}', False),
    ],
)
def test_only_what_codex_writes_around_an_output_is_its_exit_code(content: Any, failed: bool) -> None:
    (episode,) = codex.read_session([call(1, "c1", "shell"), output(2, "c1", content)])
    assert episode.calls[0].failed is failed


def test_an_output_without_its_call_is_a_bad_session() -> None:
    with pytest.raises(RecordError, match="no call waits for it"):
        list(codex.read_session([*ROLLOUT, output(9, "c9", "x")]))
    with pytest.raises(RecordError, match="needs 'call_id'"):
        list(codex.read_session([*ROLLOUT, item(9, "function_call_output", output="x")]))


def done(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": kind, **fields}}


def begun(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"type": kind, **fields, "status": "in_progress"}}


LS = {"id": "item_1", "command": "bash -lc ls", "aggregated_output": "a.py", "exit_code": 0}
MCP = {"id": "item_3", "server": "shop", "tool": "list", "arguments": {"page": 1}}
EXEC: list[Any] = [
    {"type": "thread.started", "thread_id": "thread-1"},
    {"type": "turn.started"},
    done("reasoning", id="item_0", text="Hm."),
    begun("command_execution", **LS),
    begun("todo_list", id="item_2", items=[{"text": "look", "completed": False}]),
    {
        "type": "item.updated",
        "item": {"id": "item_2", "type": "todo_list", "items": [{"text": "x", "completed": True}]},
    },
    done("command_execution", **LS, status="completed"),
    begun("mcp_tool_call", **MCP),
    begun("command_execution", id="item_4", command="make"),
    done("command_execution", id="item_4", command="make", aggregated_output="no rule", exit_code=2, status="failed"),
    done("mcp_tool_call", **MCP, result=None, error={"message": "no page"}, status="failed"),
    done("file_change", id="item_5", changes=[{"path": "a.py", "kind": "add"}], status="completed"),
    done("web_search", id="item_6", query="shop", action={"type": "search"}),
    done("todo_list", id="item_2", items=[]),
    done("error", id="item_7", message="a warning"),
    done("agent_message", id="item_8", text="Done."),
    {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
]


def test_the_events_of_codex_exec(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *EXEC), "codex")
    assert [(one.tool, one.id, one.turn, one.failed) for one in episode.calls] == [
        ("shell", "item_1", 1, False),
        ("update_plan", None, 2, False),
        ("update_plan", None, 3, False),
        ("list", "item_3", 4, True),
        ("shell", "item_4", 4, True),
        ("apply_patch", "item_5", 5, False),
        ("web_search", "item_6", 6, False),
    ]
    assert episode.calls[0].result == {"output": "a.py", "exit_code": 0}
    assert episode.calls[1].result is UNANSWERED
    assert episode.calls[3].error == "no page"
    assert episode.calls[3].extra["server"] == "shop"
    assert [(one.role, one.content) for one in episode.messages] == [("system", "a warning"), ("assistant", "Done.")]
    assert episode.extra["usage"] == {"input_tokens": 9, "input_tokens_cache_read": 4, "output_tokens": 2}
    assert episode.answer == "Done."


def test_a_resumed_thread_numbers_its_items_again() -> None:
    again = [EXEC[0], begun("command_execution", **LS), done("command_execution", **LS, status="declined")]
    (episode,) = codex.read_session([*EXEC[:4], *again, {"type": "turn.failed", "error": {"message": "no credit"}}])
    assert [(one.tool, one.result is UNANSWERED) for one in episode.calls] == [("shell", True), ("shell", True)]
    assert [one.failed for one in episode.calls] == [False, True]
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "no credit")


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    lines = data.draw(damaged(data.draw(st.sampled_from([ROLLOUT, OLD, EXEC]))))
    survives(codex.read_session, lines)
    for line in lines:
        assert isinstance(codex._key(line), str | None)
        codex.mismatch(line)
