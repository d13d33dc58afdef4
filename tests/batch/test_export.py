"""`corepath export --as`: scores as files, and sent to a server of each platform."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corepath.batch.export import MOST_BYTES, MOST_SCORES, TARGETS, Export
from corepath.batch.export_rows import LONGEST_TEXT, NAMES, USUAL, ScoreRow, read_score_rows
from corepath.batch.export_send import LONGEST_WAIT, RETRIES, Sender, check_address
from corepath.errors import OptionError, Problem, SendError
from tests.batch.platforms import KEYS, PUBLIC, Platforms, Reply
from tests.conftest import INTERRUPTIBLE, PATIENCE

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BANK = Path(__file__).parents[2] / "examples" / "bank"
HARM = pa.struct([("index", pa.int32()), ("kind", pa.string()), ("effected", pa.bool_()), ("again", pa.int32())])
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("trace", "file", "task", "agent", "profile", "excluded")]
    + [(name, pa.int64()) for name in ("line", "offset", "seed", "epoch")]
    + [(name, pa.float64()) for name in ("pc", "pc_ktc", "pc_ktc_lower", "pc_ktc_upper", "prefix_criticality")]
    + [(name, pa.float64()) for name in ("harm_rate", "efficiency", "directness", "pc_hlr", "reward", "cost")]
    + [(name, pa.int32()) for name in ("harm_count", "missing_steps", "length", "rules_broken", "obligations_open")]
    + [(name, pa.bool_()) for name in ("accepted", "state_match", "response_match", "answer_match")]
    + [("harms", pa.list_(HARM)), ("rules", pa.list_(pa.struct([("rule", pa.string()), ("state", pa.string())])))]
)
"""What `corepath score --out` writes."""


def row(number: int = 0, **changes: object) -> dict[str, Any]:
    return {
        "trace": f"{number + 1:032x}", "file": "episodes.jsonl", "line": number + 1, "task": "bank/pay", "seed": 0,
        "agent": "ann", "epoch": 0, "profile": "paper", "pc": 0.75, "pc_ktc": 0.5, "pc_ktc_lower": 0.5,
        "pc_ktc_upper": 0.5, "prefix_criticality": 0.9, "harm_rate": 0.25, "harm_count": 1, "efficiency": None,
        "pc_hlr": 0.8, "accepted": False, "missing_steps": 2, "length": 4,
        "harms": [{"index": 2, "kind": "out_of_order", "effected": True, "again": None}], **changes,
    }  # fmt: skip


DEFINED = [name for name in USUAL if name not in ("efficiency", "rules_broken")]
"""The scores that a row has."""


def parquet(path: Path, *rows: Mapping[str, Any], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(one) for one in rows], SCHEMA), path, **options)
    return path


def lines(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def read(path: Path, *names: str, sessions: bool = False) -> list[ScoreRow]:
    found = list(read_score_rows(path, names or USUAL, sessions=sessions))
    assert not [one for one in found if isinstance(one, Problem)]
    return [one for one in found if isinstance(one, ScoreRow)]


def send(rows: list[ScoreRow], target: str, server: Platforms, waits: list[float] | None = None) -> Export:
    slept = [] if waits is None else waits
    sender = Sender(TARGETS[target], server.url, TARGETS[target].make_headers(KEYS), sleep=slept.append)
    export = Export(TARGETS[target], None, sender)
    for one in rows:
        export.add(one)
    export.flush()
    return export


def written(rows: list[ScoreRow], target: str) -> list[Any]:
    texts: list[str] = []
    export = Export(TARGETS[target], texts.append)
    for one in rows:
        export.add(one)
    export.flush()
    return [json.loads(text) for text in texts]


def attributes(event: Mapping[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in event["attributes"]}


# What the platforms get


def test_opentelemetry_gets_an_event_for_each_score_in_the_trace(tmp_path):
    file = parquet(tmp_path / "scores.parquet", row(), row(1))
    with Platforms() as server:
        export = send(read(file), "otel", server)
    assert (export.episodes, export.scores, export.unlinked) == (2, 2 * len(DEFINED), 0)
    assert [path for path, _, _ in server.requests] == ["/v1/logs"]
    assert {event["eventName"] for event in server.events} == {"gen_ai.evaluation.result"}
    assert [event["traceId"] for event in server.events] == [f"{1:032x}"] * len(DEFINED) + [f"{2:032x}"] * len(DEFINED)
    found = {attributes(event)["gen_ai.evaluation.name"]: attributes(event) for event in server.events}
    assert list(found) == DEFINED
    assert found["pc"]["gen_ai.evaluation.score.value"] == 0.75
    assert found["pc"]["gen_ai.agent.name"] == "ann"
    assert (found["pc"]["corepath.task"], found["pc"]["corepath.line"]) == ("bank/pay", "2")
    assert found["accepted"]["gen_ai.evaluation.score.value"] == 0.0
    assert found["accepted"]["gen_ai.evaluation.score.label"] == "not accepted"
    assert found["accepted"]["gen_ai.evaluation.explanation"] == "missing steps: 2"
    assert found["harm_count"]["gen_ai.evaluation.explanation"] == "call 3: out of order, took effect"
    assert "gen_ai.evaluation.explanation" not in found["pc"]


def test_langfuse_gets_scores_of_the_trace(tmp_path):
    with Platforms() as server:
        send(read(parquet(tmp_path / "scores.parquet", row())), "langfuse", server)
    assert [path for path, _, _ in server.requests] == ["/api/public/ingestion"]
    found = {score["name"]: score for score in server.scores.values()}
    assert list(found) == DEFINED
    assert {score["traceId"] for score in found.values()} == {f"{1:032x}"}
    assert (found["pc"]["value"], found["pc"]["dataType"]) == (0.75, "NUMERIC")
    assert (found["accepted"]["value"], found["accepted"]["dataType"]) == (0, "BOOLEAN")
    assert found["harm_rate"]["comment"] == "call 3: out of order, took effect"
    assert found["pc"]["metadata"]["file"] == "episodes.jsonl"


def test_phoenix_gets_annotations_of_the_trace_or_of_the_span(tmp_path):
    file = lines(tmp_path / "scores.jsonl", row(), row(1, span="00000000000000AB"))
    with Platforms() as server:
        send(read(file, "pc", "accepted"), "phoenix", server)
    assert [path for path, _, _ in server.requests] == ["/v1/trace_annotations", "/v1/span_annotations"]
    found = {(name, id_): one["result"] for (name, id_, _), one in server.annotations.items()}
    assert found == {
        (name, id_): result
        for id_ in (f"{1:032x}", "00000000000000ab")
        for name, result in (
            ("pc", {"score": 0.75}),
            ("accepted", {"score": 0.0, "label": "not accepted", "explanation": "missing steps: 2"}),
        )
    }


@pytest.mark.parametrize("target", TARGETS)
def test_sending_twice_changes_nothing(target, tmp_path):
    file = parquet(tmp_path / "scores.parquet", *map(row, range(3)))
    with Platforms() as server:
        send(read(file), target, server)
        once = (dict(server.scores), dict(server.annotations))
        send(read(file), target, server)
    assert (server.scores, server.annotations) == once
    assert server.requests[0][2] == server.requests[1][2]
    uids = [attributes(event)["log.record.uid"] for event in server.events]
    assert uids[: len(uids) // 2] == uids[len(uids) // 2 :]
    assert len(set(uids)) == len(uids) // 2


@pytest.mark.parametrize("target", ["langfuse", "phoenix"])
def test_a_score_that_was_computed_again_replaces_the_old_one(target, tmp_path):
    with Platforms() as server:
        send(read(lines(tmp_path / "a.jsonl", row(pc=0.5))), target, server)
        send(read(lines(tmp_path / "b.jsonl", row(pc=1.0, file="other.jsonl", line=7))), target, server)
    kept = [one["value"] for one in server.scores.values() if one["name"] == "pc"]
    kept += [one["result"]["score"] for one in server.annotations.values() if one["name"] == "pc"]
    assert kept == [1.0]
    if target == "langfuse":
        ids = [json.loads(raw)["batch"][0]["id"] for _, _, raw in server.requests]
        assert len(set(ids)) == 2, "an event with a known id would be skipped"


def test_scores_of_sessions_are_linked_to_sessions(tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", row(trace="chat 7")), "pc", sessions=True)
    with Platforms() as server:
        for target in TARGETS:
            send(found, target, server)
    assert attributes(server.events[0])["gen_ai.conversation.id"] == "chat 7"
    assert "traceId" not in server.events[0]
    assert [score["sessionId"] for score in server.scores.values()] == ["chat 7"]
    assert [id_ for _, id_, _ in server.annotations] == ["chat 7"]


@pytest.mark.parametrize(
    ("trace", "linked"),
    [
        ("5B8EFFF798038103D269B633813FC60C", ["otel", "langfuse", "phoenix"]),
        ("5b8efff7-9803-8103-d269-b633813fc60c", ["otel", "langfuse", "phoenix"]),
        ("run-7", ["langfuse"]),
        ("0" * 32, ["langfuse"]),
        (None, []),
        ("", []),
        ("x" * 300, []),
        ("a\x00b", []),
        ("half \ud800", []),
        (7, []),
    ],
)
def test_a_trace_is_linked_where_the_platform_can_find_it(trace, linked, tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", row(trace=trace)))
    with Platforms() as server:
        counts = {target: send(found, target, server) for target in TARGETS}
    assert [target for target, export in counts.items() if not export.unlinked] == linked
    assert [target for target, export in counts.items() if export.scores] == sorted(
        {"otel", *linked}, key=list(TARGETS).index
    )
    for event in server.events:
        assert event.get("traceId", "5b8efff798038103d269b633813fc60c") == "5b8efff798038103d269b633813fc60c"


def test_ids_of_responses_and_spans_are_kept(tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", row(response="chatcmpl-1", span="0" * 15 + "1")), "pc")
    with Platforms() as server:
        send(found, "otel", server)
        send(found, "langfuse", server)
    assert (server.events[0]["spanId"], attributes(server.events[0])["gen_ai.response.id"]) == (
        "0" * 15 + "1",
        "chatcmpl-1",
    )
    assert next(iter(server.scores.values()))["observationId"] == "0" * 15 + "1"


def test_undefined_scores_and_excluded_episodes_are_left_out(tmp_path):
    rows = [row(pc=float("nan")), row(1, excluded="outside"), row(2, rules_broken=1, efficiency=float("inf"))]
    rows[2]["rules"] = [{"rule": "never pay(...)", "state": "broken"}, {"rule": "other", "state": "kept"}]
    found = read(parquet(tmp_path / "scores.parquet", *rows))
    records = written(found, "langfuse")
    names = {trace: [one["name"] for one in records if one["traceId"] == f"{trace:032x}"] for trace in (1, 2, 3)}
    assert names == {1: DEFINED[1:], 2: [], 3: [*DEFINED, "rules_broken"]}
    assert records[-1]["comment"] == "never pay(...)"


def test_all_scores_can_be_chosen(tmp_path):
    every = dict.fromkeys(NAMES, 0.5) | dict.fromkeys((name for name in NAMES if "match" in name), True)
    found = read(lines(tmp_path / "scores.jsonl", {"trace": "t", **every}), *NAMES)
    assert [one["name"] for one in written(found, "langfuse")] == list(NAMES)


def test_an_interval_explains_a_score_that_is_not_exact(tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", row(pc_ktc_lower=0.5, pc_ktc_upper=0.625)))
    assert found[0].reasons["pc_ktc"] == "between 0.5 and 0.625"


# What agents emit


def test_hostile_texts_neither_break_a_request_nor_grow_it(tmp_path):
    hostile = ["\ud800", "\x00\x1b[2J", "a" * 2_000_000, '"}], "x": [', "\u202e", "🙂" * 5000]
    rows = [row(number, agent=text, task=text, file=text) for number, text in enumerate(hostile)]
    found = read(lines(tmp_path / "scores.jsonl", *rows))
    with Platforms() as server:
        for target in TARGETS:
            assert send(found, target, server).episodes == len(hostile)
    assert max(len(raw) for _, _, raw in server.requests) < 1_000_000
    agents = {str(score["metadata"]["agent"]) for score in server.scores.values()}
    assert agents >= {"\\ud800", "\\x00\\x1b[2J", '"}], "x": [', "\\u202e"}
    assert max(map(len, agents)) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x", "not JSON"),
        ("[1]", "expected an object"),
        ('{"pc": "high"}', "pc is a string, not a number"),
        ('{"pc": 1' + "0" * 400 + "}", "pc is"),
        ('{"pc": NaN}', "NaN is not JSON"),
        ('{"task": "bank/pay", "calls": []}', "not scores"),
        ("9" * 9_000_000, "a line of more than"),
    ],
)
def test_a_bad_line_is_reported_and_the_others_are_read(line, message, tmp_path):
    file = tmp_path / "scores.jsonl"
    file.write_text(f"{json.dumps(row())}\n\n{line}\n{json.dumps(row(1))}\n")
    found = list(read_score_rows(file))
    assert [type(one) for one in found] == [ScoreRow, Problem, ScoreRow]
    problem = found[1]
    assert isinstance(problem, Problem)
    assert problem.line == 3
    assert message in problem.message


def test_a_broken_parquet_file_is_reported(tmp_path):
    whole = parquet(tmp_path / "scores.parquet", *map(row, range(100))).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    found = list(read_score_rows(tmp_path / "cut.parquet"))
    assert [type(one) for one in found] == [Problem]


def test_a_parquet_file_without_scores_is_reported(tmp_path):
    pq.write_table(pa.table({"span_id": ["a"], "name": ["chat"]}), tmp_path / "spans.parquet")
    found = list(read_score_rows(tmp_path / "spans.parquet"))
    expected = "these are not scores, as corepath score --out or --json writes them; there is span_id, name"
    assert found == [Problem(str(tmp_path / "spans.parquet"), 1, 1, expected)]


def test_memory_does_not_grow_with_the_file(tmp_path, times):
    peaks = []
    for rows in (4_000, 40_000 * times):
        table = pa.Table.from_pylist([row(number) for number in range(1000)], SCHEMA)
        with pq.ParquetWriter(tmp_path / "scores.parquet", SCHEMA) as writer:
            for _ in range(rows // 1000):
                writer.write_table(table, row_group_size=1000)
        pool = pa.system_memory_pool()
        before = pa.default_memory_pool()
        pa.set_memory_pool(pool)
        start = pool.bytes_allocated()
        most = 0
        for number, _ in enumerate(read_score_rows(tmp_path / "scores.parquet", ("pc",))):
            if number % 1000 == 0:
                most = max(most, pool.bytes_allocated() - start)
        pa.set_memory_pool(before)
        peaks.append(most)
    assert peaks[1] < 1.5 * peaks[0] + 1_000_000


def test_batches_are_bounded(tmp_path):
    rows = [row(number, agent="a" * LONGEST_TEXT, task="t" * LONGEST_TEXT) for number in range(400)]
    with Platforms() as server:
        export = send(read(lines(tmp_path / "scores.jsonl", *rows)), "langfuse", server)
    sizes = [len(json.loads(raw)["batch"]) for _, _, raw in server.requests]
    assert sum(sizes) == export.scores == 400 * len(DEFINED) == len(server.scores)
    assert max(sizes) <= MOST_SCORES
    assert max(len(raw) for _, _, raw in server.requests) < 1.2 * MOST_BYTES


# Servers that do not answer well


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("status", [429, 503])
def test_a_request_is_repeated_after_the_time_that_the_server_asks_for(target, status, tmp_path):
    waits: list[float] = []
    with Platforms(
        Reply(status, headers={"Retry-After": "7"}), Reply(status), Reply(429, headers={"Retry-After": "9999"})
    ) as server:
        export = send(read(parquet(tmp_path / "scores.parquet", row())), target, server, waits)
    assert export.sender is not None
    assert export.sender.sent == export.scores == len(DEFINED)
    assert waits == [7, 2, LONGEST_WAIT]
    assert len({raw for _, _, raw in server.requests}) == 1


@pytest.mark.parametrize(("target", "repeated"), [("otel", False), ("langfuse", True), ("phoenix", True)])
def test_an_internal_error_is_repeated_unless_the_protocol_forbids_it(target, repeated, tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row()))
    with Platforms(Reply(500, {"message": "out of memory"})) as server:
        if repeated:
            assert send(found, target, server).scores == len(DEFINED)
        else:
            with pytest.raises(SendError, match=r"/v1/logs: answered 500 Internal Server Error: .*out of memory"):
                send(found, target, server)
    assert len(server.requests) == 1 + repeated


@pytest.mark.parametrize("target", TARGETS)
def test_sending_ends_with_what_the_server_answered(target, tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", *map(row, range(100))))
    waits: list[float] = []
    with Platforms() as server:
        sender = Sender(TARGETS[target], server.url, TARGETS[target].make_headers(KEYS), sleep=waits.append)
        export = Export(TARGETS[target], None, sender)
        for one in found[:99]:
            export.add(one)
        server.replies = [Reply(503, {"message": "down for today"})] * (RETRIES + 1)
        export.add(found[99])
        with pytest.raises(SendError, match=r"answered 503 Service Unavailable: .*down for today"):
            export.flush()
    assert sender.sent == MOST_SCORES
    assert waits == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("target", TARGETS)
def test_a_lost_connection_is_repeated_once_the_server_has_answered(target, tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", *map(row, range(100))))
    with Platforms(Reply(429), Reply(0)) as server:
        assert send(found, target, server).scores == 100 * len(DEFINED)
    waits: list[float] = []
    with pytest.raises(SendError, match="Connection refused"):
        send(found, target, server, waits)
    assert waits == []
    with Platforms(Reply(0)) as server, pytest.raises(SendError, match="RemoteDisconnected"):
        send(found, target, server, waits)
    assert waits == []


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_a_connection_that_is_lost_within_an_answer_is_repeated_too(target, tmp_path):
    found = read(lines(tmp_path / "scores.jsonl", *map(row, range(100))))
    cut = Reply(200, b'{"a', {"Content-Length": "50"})
    with Platforms(Reply(429), cut, cut) as server:
        assert send(found, target, server).scores == 100 * len(DEFINED)
    with Platforms(cut) as server, pytest.raises(SendError, match=r"IncompleteRead\(3 bytes read, 47 more"):
        send(found, target, server)


def test_no_key_is_shown_although_the_server_repeats_it(tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row()))
    env = {**KEYS, "LANGFUSE_SECRET_KEY": "sk-lf-wrong"}
    with Platforms() as server:
        sender = Sender(TARGETS["langfuse"], server.url, TARGETS["langfuse"].make_headers(env))
        with pytest.raises(SendError, match=r"answered 401 Unauthorized: .*Invalid credentials") as error:
            sender.send(TARGETS["langfuse"].make_items(found[0]))
    assert "[hidden]" in str(error.value)
    assert not any(secret in str(error.value) for secret in (PUBLIC, "sk-lf-wrong", "cGst"))


def test_a_redirect_is_not_followed(tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row()))
    with Platforms() as other, Platforms(Reply(302, headers={"Location": f"{other.url}/v1/logs"})) as server:
        with pytest.raises(SendError, match=f"answered 302 Found: it points to {other.url}/v1/logs"):
            send(found, "otel", server)
        assert not other.requests


@pytest.mark.parametrize("page", [b"<html>Sign in</html>", b"[]", b"[" * 100_000])
def test_a_page_is_no_answer(page, tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row()))
    with Platforms(Reply(200, page)) as server, pytest.raises(SendError, match="but not with a JSON object"):
        send(found, "phoenix", server)


def test_langfuse_without_ingestion_gets_scores_one_by_one(tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row(), row(1)))
    with Platforms(ingestion=False) as server:
        export = send(found, "langfuse", server)
    assert export.sender is not None
    assert len(server.scores) == export.sender.sent == 2 * len(DEFINED)
    paths = [path for path, _, _ in server.requests]
    assert paths == ["/api/public/ingestion"] + ["/api/public/scores"] * 2 * len(DEFINED)


@pytest.mark.parametrize("target", ["otel", "langfuse"])
def test_what_a_server_refuses_is_counted(target, tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row(), row(1)))
    with Platforms(refuse=lambda one: '"pc"' in json.dumps(one)) as server:
        sender = send(found, target, server).sender
    assert sender is not None
    assert (sender.sent, sender.refused) == (2 * len(DEFINED) - 2, 2)
    assert sender.reasons == (["too old"] if target == "otel" else ["no [hidden] here"] * 2)


# Addresses and keys


@pytest.mark.parametrize(
    "url",
    ["", "localhost:4318", "ftp://host", "file:///etc/passwd", "http://", "http://me:key@host", "http://host?key=1",
     "http://host/#x", "http://host:0", "http://host:x", "http://a b", "http://host\n", "http://[::1"],
)  # fmt: skip
def test_an_address_is_checked(url):
    with pytest.raises(OptionError, match="an address"):
        check_address(url)


def test_a_full_address_of_the_logs_is_taken_too(tmp_path):
    found = read(parquet(tmp_path / "scores.parquet", row()))
    with Platforms() as server:
        server.url += "/v1/logs"
        send(found, "otel", server)
    assert [path for path, _, _ in server.requests] == ["/v1/logs"]


def test_a_server_on_this_machine_is_not_behind_a_proxy(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Platforms() as server:
        assert send(read(parquet(tmp_path / "scores.parquet", row())), "otel", server).scores == len(DEFINED)


@pytest.mark.parametrize(
    ("target", "env"),
    [
        ("langfuse", {}),
        ("langfuse", {"LANGFUSE_PUBLIC_KEY": "a", "LANGFUSE_SECRET_KEY": " "}),
        ("phoenix", {"PHOENIX_API_KEY": "a\nb"}),
        ("phoenix", {"PHOENIX_API_KEY": "ключ"}),
        ("otel", {"OTEL_EXPORTER_OTLP_HEADERS": "no sign"}),
        ("otel", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0Ac"}),
    ],
)
def test_keys_are_checked_before_anything_is_sent(target, env):
    with pytest.raises(OptionError):
        TARGETS[target].make_headers(env)


def test_headers_for_logs_win():
    env = {"OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "b=2%20c, d=3=4"}
    assert TARGETS["otel"].make_headers(env) == {"b": "2 c", "d": "3=4"}


# The command


def test_the_command_sends_and_says_what_it_did(corepath, tmp_path):
    parquet(tmp_path / "scores.parquet", row(), row(1, trace=None), row(2, excluded="unasked"))
    retry = Reply(429, headers={"Retry-After": "0"}), Reply(500, headers={"Retry-After": "0"})
    with Platforms(*retry) as server:
        done = corepath("export", tmp_path, "--as", "langfuse", "--send", server.url, "--out", tmp_path / "a", env=KEYS)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 3
    assert done.stderr.splitlines() == [
        "1 episode left out: nothing was asked of the agent",
        "1 episode left out: no trace id that Langfuse can find",
        f"{len(DEFINED)} scores of 1 episode in {tmp_path / 'a'}; {len(DEFINED)} sent to {server.url}",
    ]
    assert [json.loads(line) for line in (tmp_path / "a").read_text().splitlines()] == list(server.scores.values())


def test_the_command_fails_with_the_servers_answer(corepath, tmp_path):
    parquet(tmp_path / "scores.parquet", row())
    with Platforms(Reply(403, {"message": "Ingestion suspended"})) as server:
        done = corepath("export", tmp_path / "scores.parquet", "--as", "phoenix", "--send", server.url)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'answered 403 Forbidden: {"message": "Ingestion suspended"}; 0 scores sent before that' in done.stderr


def test_the_command_can_be_stopped(tmp_path):
    parquet(tmp_path / "scores.parquet", row())
    command = Path(sys.executable).with_name("corepath")
    with Platforms(Reply(429, headers={"Retry-After": "100"})) as server:
        options = ("--as", "otel", "--send", server.url)
        running = subprocess.Popen(
            [*INTERRUPTIBLE, command, "export", tmp_path / "scores.parquet", *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not server.requests and running.poll() is None:
            time.sleep(0.01)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE)
    assert (running.returncode, said) == (130, "stopped; 0 scores sent before that\n")


def test_what_score_prints_can_be_exported(corepath, tmp_path):
    scored = corepath("score", "--tasks", BANK / "tasks", BANK / "episodes.jsonl", "--json")
    done = corepath("export", "-", "--as", "otel", "--only", "pc", stdin=scored.stdout)
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    values = [attributes(one)["gen_ai.evaluation.score.value"] for one in records]
    assert values == [json.loads(line)["pc"] for line in scored.stdout.splitlines()]
    assert len({attributes(one)["log.record.uid"] for one in records}) == 6
    assert "6 episodes linked to no trace: no trace id that OpenTelemetry can find" in done.stderr
    done = corepath("export", "-", "--as", "langfuse", stdin=scored.stdout)
    assert (done.returncode, done.stdout) == (1, "")


def test_what_rules_find_can_be_exported(corepath, tmp_path):
    (tmp_path / "rules.yaml").write_text("rules:\n  - never deposit(...)\n")
    scored = corepath("score", "--rules", tmp_path / "rules.yaml", BANK / "episodes.jsonl", "--json")
    with_trace = "".join(json.dumps({**json.loads(one), "trace": "t"}) + "\n" for one in scored.stdout.splitlines())
    done = corepath("export", "-", "--as", "langfuse", "--only", "rules_broken", stdin=with_trace)
    assert {json.loads(line).get("comment") for line in done.stdout.splitlines()} == {"never deposit(...)", None}


def test_an_episode_without_scores_is_a_problem_and_not_an_episode_without_a_trace(corepath, tmp_path):
    (tmp_path / "task.yaml").write_text("id: a\nprocedure: pay()\n")
    good = {"task": "a", "trace": "5b8efff798038103d269b633813fc60c", "calls": []}
    (tmp_path / "episodes.jsonl").write_text(json.dumps(good) + "\nnot json\n")
    scores = tmp_path / "scores.parquet"
    corepath("score", str(tmp_path / "episodes.jsonl"), "--tasks", str(tmp_path / "task.yaml"), "--out", str(scores))
    found = corepath("export", str(scores), "--as", "otel", "--out", str(tmp_path / "events.jsonl"))
    assert found.returncode == 1
    assert "episodes.jsonl:2:1: not JSON" in found.stderr
    assert "linked to no trace" not in found.stderr
