"""Sessions of Gemini CLI, by what its recording service and its stream write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import FAILED_OUTSIDE
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.importers.formats import gemini_cli
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, outcomes, read, survives, write

HEAD = {
    "sessionId": "s1", "projectHash": "9da8", "startTime": "2026-01-01T10:00:00.000Z",
    "lastUpdated": "2026-01-01T10:00:00.000Z", "kind": "main",
}  # fmt: skip
TOKENS = {"input": 10, "output": 2, "cached": 4, "thoughts": 1, "tool": 0, "total": 13}


def message(number: int, kind: str, content: Any, **extra: Any) -> dict[str, Any]:
    return {
        "id": f"m{number}",
        "timestamp": f"2026-01-01T10:00:{number:02}.000Z",
        "type": kind,
        "content": content,
    } | extra


def called(id_: str, name: str, status: str, response: Any, **args: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": id_, "name": name, "response": response}}]
    return {
        "id": id_, "name": name, "args": args, "status": status, "timestamp": "2026-01-01T10:00:30.000Z",
        "result": None if response is None else result, "displayName": name, "resultDisplay": "shown",
    }  # fmt: skip


MESSAGES: list[Any] = [
    message(1, "info", "Update available."),
    message(2, "user", [{"text": "Fix "}, {"text": "the shop."}]),
    message(
        3, "gemini", "I look.", model="gemini-3-pro", tokens=TOKENS, thoughts=[{"subject": "Hm", "description": "…"}],
        toolCalls=[
            called("c1", "list_directory", "success", {"output": "a.py"}, path="."),
            called("c2", "read_file", "error", {"error": "no such file"}, path="b.py"),
            called("c3", "run_shell_command", "cancelled", {"error": "[Operation Cancelled]"}, command="rm a.py"),
        ],
    ),
    message(
        4, "gemini", "", model="gemini-3-flash", tokens=TOKENS,
        toolCalls=[
            called("c4", "search", "success", {"output": '{"n": 1}'}, query="x"),
            called("c5", "save_memory", "success", None, fact="y"),
            called("c6", "run_shell_command", "executing", None, command="sleep 9"),
        ],
    ),
    message(5, "gemini", [{"text": "thinking", "thought": True}, {"text": "The shop is fixed."}], tokens=None),
]  # fmt: skip
WHOLE = HEAD | {"messages": MESSAGES, "summary": "Fix the shop"}


def test_a_session_is_read_whole(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, WHOLE, name="session-1.json"), "gemini-cli")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("list_directory", {"path": "."}, "c1", 1),
        ("read_file", {"path": "b.py"}, "c2", 1),
        ("run_shell_command", {"command": "rm a.py"}, "c3", 1),
        ("search", {"query": "x"}, "c4", 2),
        ("save_memory", {"fact": "y"}, "c5", 2),
        ("run_shell_command", {"command": "sleep 9"}, "c6", 2),
    ]
    assert [one.error for one in episode.calls[:4]] == [None, "no such file", "[Operation Cancelled]", None]
    assert [one.result for one in episode.calls[3:]] == [{"n": 1}, "shown", UNANSWERED]
    assert episode.calls[0].extra["seconds"] == 27
    assert [(one.role, one.content) for one in episode.messages] == [
        ("system", "Update available."),
        ("user", "Fix the shop."),
        ("assistant", "I look."),
        ("assistant", "The shop is fixed."),
    ]
    assert episode.answer == "The shop is fixed."


def test_usage_models_and_metadata() -> None:
    (episode,) = gemini_cli.read_session([WHOLE])
    assert episode.extra["models"] == ["gemini-3-pro", "gemini-3-flash"]
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 20, "output_tokens": 4, "total_tokens": 26, "input_tokens_cache_read": 8,
        "reasoning_tokens": 2,
    }  # fmt: skip
    assert episode.extra["metadata"] == HEAD | {"summary": "Fix the shop"}


LINES: list[Any] = [
    HEAD,
    *MESSAGES[:2],
    MESSAGES[2] | {"toolCalls": [], "tokens": None},
    {"$set": {"lastUpdated": "2026-01-01T10:00:03.000Z"}},
    MESSAGES[2],
    *MESSAGES[3:],
    {"$rewindTo": "m4"},
    message(6, "user", "Again."),
    {"$set": {"messages": [
        message(2, "user", "masked"), message(7, "user", "<state_snapshot>"), message(6, "user", "Again."),
    ], "summary": "Again"}},
    message(8, "gemini", "Fixed again."),
]  # fmt: skip


def test_lines_replace_messages_and_nothing_that_happened_is_lost(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *LINES), "gemini-cli")
    (whole,) = gemini_cli.read_session([WHOLE])
    assert episode.calls == whole.calls
    assert episode.extra["usage"] == whole.extra["usage"]
    assert [one.content for one in episode.messages[1:]] == [
        "Fix the shop.",
        "I look.",
        "The shop is fixed.",
        "Again.",
        "<state_snapshot>",
        "Fixed again.",
    ]
    assert episode.extra["metadata"]["summary"] == "Again"


def test_several_sessions_in_one_file(tmp_path: Path) -> None:
    assert outcomes(import_trace(write(tmp_path, *LINES, HEAD | {"sessionId": "s2"}, MESSAGES[2]))) == [6, 3]


def test_an_error_ends_a_session_unless_the_agent_goes_on() -> None:
    error = message(9, "error", "Quota exceeded")
    (episode,) = gemini_cli.read_session([*LINES, error])
    assert episode.outcome == FAILED_OUTSIDE
    assert episode.failure == {"kind": "error", "message": "Quota exceeded"}
    (episode,) = gemini_cli.read_session([*LINES, error, message(10, "gemini", "Back.")])
    assert (episode.outcome, episode.answer) == (None, "Back.")


def streamed(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": f"2026-01-01T10:00:{second:02}.000Z", **fields}


STREAM: list[Any] = [
    streamed(0, "init", session_id="s1", model="gemini-3-pro"),
    streamed(0, "message", role="user", content="Fix the shop."),
    streamed(1, "message", role="assistant", content="I ", delta=True),
    streamed(2, "message", role="assistant", content="look.", delta=True),
    streamed(3, "tool_use", tool_name="list_directory", tool_id="c1", parameters={"path": "."}),
    streamed(3, "tool_use", tool_name="read_file", tool_id="c2", parameters={"path": "b.py"}),
    streamed(4, "tool_result", tool_id="c1", status="success", output="[1]"),
    streamed(4, "tool_result", tool_id="c2", status="error", error={"type": "x", "message": "no such file"}),
    streamed(5, "error", severity="warning", message="Loop detected"),
    streamed(6, "tool_use", tool_name="read_file", tool_id="c3", parameters={"path": "a.py"}),
    streamed(7, "message", role="assistant", content="Done.", delta=True),
    streamed(8, "result", status="success", stats={
        "total_tokens": 13, "input_tokens": 10, "output_tokens": 3, "cached": 4, "input": 6, "duration_ms": 8000,
        "tool_calls": 3, "models": {"gemini-3-pro": {}, "gemini-3-flash": {}},
    }),
]  # fmt: skip


def test_a_stream(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *STREAM), "gemini-cli")
    assert [(one.tool, one.id, one.turn) for one in episode.calls] == [
        ("list_directory", "c1", 1),
        ("read_file", "c2", 1),
        ("read_file", "c3", 2),
    ]
    assert [(one.result, one.error) for one in episode.calls] == [
        ([1], None),
        (UNANSWERED, "no such file"),
        (UNANSWERED, None),
    ]
    assert [(one.role, one.content) for one in episode.messages] == [
        ("user", "Fix the shop."),
        ("assistant", "I look."),
        ("system", "Loop detected"),
        ("assistant", "Done."),
    ]
    assert episode.answer == "Done."
    assert episode.extra["models"] == ["gemini-3-pro", "gemini-3-flash"]
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, "input_tokens_cache_read": 4}
    assert episode.extra["usage"] == usage


def test_a_stream_that_failed() -> None:
    end = streamed(8, "result", status="error", error={"type": "FatalTurnLimitedError", "message": "Too many turns"})
    (episode,) = gemini_cli.read_session([*STREAM[:-1], end])
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "Too many turns")


def test_other_records_are_not_of_gemini_cli() -> None:
    others: tuple[Any, ...] = (
        {"contents": []},
        {"sessionId": "s", "messages": []},
        {"type": "init", "session_id": "s"},
        [],
        1,
    )
    for other in others:
        assert gemini_cli.mismatch(other) is not None
    with pytest.raises(RecordError, match="projectHash"):
        list(gemini_cli.read_session(MESSAGES))


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    lines = data.draw(damaged(data.draw(st.sampled_from([[WHOLE], LINES, STREAM]))))
    survives(gemini_cli.read_session, lines)
    for line in lines:
        gemini_cli.mismatch(line)
