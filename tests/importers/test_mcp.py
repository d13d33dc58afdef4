"""MCP logs: written by hand, of a real client and server, and broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import Problem, RecordError
from corepath.importers import import_trace
from corepath.importers.formats import mcp
from corepath.notation.call import UNANSWERED
from tests.conftest import PATIENCE

from . import mcp_tee
from .damage import damaged, outcomes, read, records_of, survives, write


def asks(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def calls(id_: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return asks(id_, "tools/call", name=tool, arguments=arguments)


def gives(id_: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def text(*words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in words]


BEGIN = [
    asks(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "desk", "version": "1"}),
    gives(0, protocolVersion="2025-11-25", capabilities={}, serverInfo={"name": "garden", "version": "2"}),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
SESSION = [
    *BEGIN,
    asks(1, "tools/list"),
    gives(1, tools=[]),
    calls(2, "scan", plant="A"),
    calls(3, "scan", plant="B"),
    gives(3, content=text("wet")),
    gives(2, content=text('{"dry": true}'), structuredContent={"dry": True}, isError=False),
    calls("x", "water", plant="A"),
    gives("x", content=text("no", "water"), isError=True),
    calls(4, "nope"),
    {"jsonrpc": "2.0", "id": 4, "error": {"code": -32602, "message": "Unknown tool: nope"}},
    calls(5, "wait"),
]
CALLS = (
    Call("scan", {"plant": "A"}, {"dry": True}, id="2"),
    Call("scan", {"plant": "B"}, "wet", id="3"),
    Call("water", {"plant": "A"}, error="no\nwater", id="x"),
    Call("nope", {}, error="Unknown tool: nope", id="4"),
    Call("wait", {}, UNANSWERED, id="5"),
)


def only(*messages: Any) -> Episode:
    (episode,) = records_of(mcp.FORMAT)(list(messages))
    return episode


def test_a_session_gives_its_episode_in_every_form_of_log(tmp_path: Path) -> None:
    wrapped = [{"direction": "in", "timestamp": place, "message": one} for place, one in enumerate(SESSION)]
    as_text = [{"type": "send", "data": json.dumps(one)} for one in SESSION]
    batches = [SESSION[:5], SESSION[5:]]
    noise = {"level": "info", "msg": "started"}
    forms: dict[str, list[Any]] = {
        "bare.jsonl": SESSION, "bare.log": SESSION, "list.json": [SESSION], "wrapped.jsonl": wrapped,
        "wrapped.json": [wrapped], "text.jsonl": as_text, "batches.jsonl": batches, "noise.log": [noise, *SESSION],
    }  # fmt: skip
    for name, records in forms.items():
        (episode,) = read(write(tmp_path, *records, name=name), "mcp")
        assert episode.calls == CALLS, name
        assert episode.extra["metadata"] == {
            "client": {"name": "desk", "version": "1"}, "server": {"name": "garden", "version": "2"},
            "protocol": "2025-11-25",
        }  # fmt: skip
    (episode,) = read(write(tmp_path, *wrapped), "mcp")
    assert (episode.calls[0].time, episode.calls[0].extra) == (5, {"seconds": 3})
    assert episode.extra["seconds"] == 8
    unknown = [{**one, "timestamp": "noon"} for one in wrapped]
    (episode,) = read(write(tmp_path, *unknown), "mcp")
    assert (episode.calls[0].time, episode.calls[0].extra) == (None, {"timestamp": "noon"})


@pytest.mark.parametrize("end", ["", " { metadata: undefined }"])
def test_lines_of_text_that_hold_a_message_are_read(tmp_path: Path, end: str) -> None:
    file = tmp_path / "mcp-server-garden.log"
    lines = ["2026-01-01T00:00:00Z [garden] [info] Initializing server... {}"]
    lines += [f"[2026-01-01] [garden] [info] Message: {json.dumps(one)}{end}" for one in SESSION]
    file.write_text("\n".join([*lines, 'Message: {"jsonrpc": "2.0", "id": 5, "resu']), encoding="utf-8")
    problem, episode = import_trace(file)
    assert isinstance(problem, Problem)
    assert problem.line == len(lines) + 1
    assert "not JSON: Unterminated string" in problem.message
    assert isinstance(episode, Episode)
    assert episode.calls == CALLS


@pytest.mark.parametrize("begin", ['{"method":"tools/call","params":{"na', '{"result": {"content": ['])
def test_a_cut_off_line_of_text_is_told_wherever_its_version_stands(begin: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.log"
    lines = [f"[info] Message: {json.dumps(one)}" for one in SESSION]
    file.write_text("\n".join([*lines, f"[info] Message: {begin}"]), encoding="utf-8")
    problem, episode = outcomes(import_trace(file))
    assert f"{file}:{len(lines) + 1}:1: not JSON" in str(problem)
    assert episode == len(CALLS)


def test_sessions_are_told_apart_by_their_id_or_by_their_beginning() -> None:
    named = [{"sessionId": name, "message": one} for one in SESSION for name in ("a", "b")]
    first, second = records_of(mcp.FORMAT)(named)
    assert first.calls == second.calls == CALLS
    assert (first.extra["metadata"]["session_id"], second.extra["metadata"]["session_id"]) == ("a", "b")
    assert [one.calls for one in records_of(mcp.FORMAT)([*SESSION, *SESSION])] == [CALLS, CALLS]


def test_what_the_server_asks_for_is_no_answer_to_a_call_with_the_same_id() -> None:
    sampled = gives(7, role="assistant", content={"type": "text", "text": "Hm."}, model="m")
    episode = only(calls(7, "ask"), asks(7, "sampling/createMessage"), sampled, gives(7, content=text("Yes.")))
    assert [call.result for call in episode.calls] == ["Yes."]
    assert [call.result for call in only(calls(1, "a"), calls("1", "b"), gives("1", content=text("b"))).calls] == [
        UNANSWERED, "b",
    ]  # fmt: skip


def ours(id_: Any, *said: str, task: str = "farm/a", episode: str = "e", **more: Any) -> dict[str, Any]:
    """A result of `corepath serve`, with its origin in `_meta`."""
    meta = {"corepath": {"version": 1, "task": task, "agent": "ada", "seed": 2, "episode": episode, **more}}
    return gives(id_, content=text(*said), _meta=meta)


def test_episodes_of_ours_that_share_a_session_are_told_apart(tmp_path: Path) -> None:
    log = [calls(1, "a"), ours(1, "one"), calls(2, "b"), ours(2, "two", episode="f"), calls(3, "c"), ours(3, "three")]
    first, second = records_of(mcp.FORMAT)(log)
    assert [call.tool for call in first.calls] == ["a", "c"]
    assert [call.tool for call in second.calls] == ["b"]
    assert (second.task, second.agent, second.seed, second.extra["episode"]) == ("farm/a", "ada", 2, "f")
    with pytest.raises(RecordError, match=r"the call lost\(x=1\) could belong to any of 2 episodes"):
        list(records_of(mcp.FORMAT)([*log, calls(4, "lost", x=1)]))
    problem, *_ = import_trace(write(tmp_path, *log, calls(4, "lost", x=1)), "mcp")
    assert "2 episodes" in str(problem)


def test_an_episode_of_ours_without_a_call_says_whose_it_is() -> None:
    episode = only(*BEGIN, asks(1, "tools/list"), ours(1))
    assert (episode.task, episode.agent, episode.calls) == ("farm/a", "ada", ())


def test_a_seed_that_another_server_says_is_not_ours() -> None:
    meta = {"seed": 4, "task": "farm/a", "corepath": 1}
    episode = only(calls(1, "a"), gives(1, content=text("one"), _meta=meta))
    assert (episode.task, episode.seed) == ("", None)


def test_contents_that_are_no_text_are_kept_as_they_are() -> None:
    image = [*text("See:"), {"type": "image", "data": "AA==", "mimeType": "image/png"}]
    assert [call.result for call in only(calls(1, "a"), gives(1, content=image)).calls] == [image]
    assert [call.result for call in only(calls(1, "a"), gives(1, content=[])).calls] == [None]
    assert [call.result for call in only(calls(1, "a"), gives(1, toolResult=[5])).calls] == [[5]]


def test_a_call_that_becomes_a_task_or_asks_for_input_is_one_call() -> None:
    later = [
        calls(1, "dig", depth=2),
        gives(1, task={"taskId": "t", "status": "working"}),
        asks(2, "tasks/get", taskId="t"),
        gives(2, taskId="t", status="completed"),
        asks(3, "tasks/result", taskId="t"),
        gives(3, content=text("dug")),
    ]
    assert only(*later).calls == (Call("dig", {"depth": 2}, "dug", id="1"),)
    assert only(*later[:4]).calls == (Call("dig", {"depth": 2}, id="1"),)
    asked = gives(1, resultType="input_required", requestState="s", inputRequests={"q": {}})
    for arguments in ({"depth": 2}, {}):
        again = asks(2, "tools/call", name="dig", arguments=arguments, requestState="s", inputResponses={"q": {}})
        episode = only(calls(1, "dig", **arguments), asked, again, gives(2, content=text("dug")))
        assert episode.calls == (Call("dig", arguments, "dug", id="1"),)


def test_a_call_that_is_cancelled_says_so() -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "bored"}}
    (call,) = only(calls(1, "dig"), cancel).calls
    assert (call.result, call.extra) == (UNANSWERED, {"cancelled": "bored"})


def test_strays_and_ids_used_twice_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="the id 1 is used twice"):
        only(calls(1, "a"), calls(1, "b"))
    with pytest.raises(RecordError, match="a result for the id 9, but no request waits for it"):
        only(calls(1, "a"), gives(9, content=[]))
    file = write(tmp_path, calls(1, "a"), calls(1, "b"), gives(9), gives(1, content=text("one")), [1])
    file.write_text(file.read_text(encoding="utf-8") + '{"jsonrpc": "2.0", "id"', encoding="utf-8")
    made = outcomes(import_trace(file))
    assert made[-1] == 1
    lines = sorted(str(one).removeprefix(f"{file}:").split(":")[0] for one in made[:-1])
    assert lines == ["2", "3", "6"]


def test_arguments_that_are_no_object_stay_as_they_were_sent() -> None:
    twice = json.dumps(json.dumps({"plant": "A"}))
    (first, second) = only(asks(1, "tools/call", name="a", arguments=twice), asks(2, "tools/call", arguments=[1])).calls
    assert (first.arguments, second.tool, second.arguments) == (twice, "", [1])


def test_json_rpc_of_others_is_not_mistaken() -> None:
    assert mcp.mismatch([asks(1, "initialize", rootUri="file:///"), asks(2, "textDocument/hover")]) is not None
    assert mcp.mismatch({"messages": [{"role": "user", "content": "tools/call"}]}) is not None
    assert mcp.mismatch(5) is not None
    assert mcp.mismatch(SESSION) is None


@given(st.data())
def test_broken_messages_give_episodes_or_an_error(data: st.DataObject) -> None:
    survives(records_of(mcp.FORMAT), data.draw(damaged(SESSION)))


@given(st.data())
def test_broken_wrappings_give_episodes_or_an_error(data: st.DataObject) -> None:
    wrapped = [{"sessionId": "s", "timestamp": 1, "message": one} for one in SESSION]
    survives(records_of(mcp.FORMAT), data.draw(damaged(wrapped)))


def test_the_messages_of_a_real_client_and_server_are_read(tmp_path: Path) -> None:
    """Import a session of the mcp package's client and server, logged by a tee between them."""
    file = tmp_path / "session.jsonl"
    command = [sys.executable, mcp_tee.__file__, "talk", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (episode,) = read(file, "mcp")
    assert [(call.tool, call.arguments, call.result, call.failed) for call in episode.calls] == [
        ("scan", {"plant": "A"}, {"dry": True}, False),
        ("water", {"plant": "A"}, UNANSWERED, True),
        ("nope", {"x": 1}, UNANSWERED, True),
    ]
    assert episode.extra["metadata"]["server"]["name"] == "garden"
