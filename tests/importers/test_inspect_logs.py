"""Logs of Inspect AI: real, written by hand, and broken."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode, episode_json
from corepath.errors import InputError, Problem, RecordError
from corepath.importers import archive, import_trace
from corepath.importers.formats import inspect
from corepath.importers.registry import recognise_format
from corepath.notation.call import UNANSWERED
from tests.conftest import PATIENCE, ROOT

from .damage import damaged, good, mismatch_of, outcomes, read, records_of, survives, write
from .inspect_turns import UNREADABLE


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The logs of a real run of Inspect with a mock model, as `.eval` and as `.json`."""
    folder = tmp_path_factory.mktemp("logs")
    command = [sys.executable, "-m", "tests.importers.inspect_eval", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=ROOT)
    found = {file.suffix: file for file in folder.iterdir()}
    assert found.keys() == {".eval", ".json"}, done.stderr
    return found


def by_sample(made: list[Episode]) -> dict[str, Episode]:
    return {one.extra["metadata"]["sample_id"]: one for one in made}


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_the_logs_of_a_real_run_are_read(logs: dict[str, Path], suffix: str) -> None:
    found = by_sample(read(logs[suffix], "inspect"))
    assert found.keys() == {"adds", "submits", "breaks", "is cut"}
    adds = found["adds"]
    assert adds.calls == (
        Call("add", {"x": 1, "y": 2}, 3, id="a1", turn=1),
        Call("add", {"x": 60, "y": 2}, "long " * 500, id="a2", turn=1),
        Call("nope", {"x": 1}, error="Tool nope not found", id="a3", turn=2),
        Call("add", {"x": 101, "y": 2}, error="too large", id="a4", turn=2),
        Call("add", "{x: 1", error=UNREADABLE, id="a5", turn=3),
    )
    assert (adds.agent, adds.epoch, adds.answer) == ("mockllm/model", 1, "It is 3.")
    assert [(one.role, one.content, one.before_call) for one in adds.messages] == [
        ("user", "adds", 0), ("assistant", "I add.", 0), ("assistant", "It is 3.", 5)
    ]  # fmt: skip
    assert None not in [one.time for one in adds.messages[1:]] + [one.time for one in adds.calls]
    assert adds.extra["usage"]["requests"] == 4, "without the request of the scorer"
    assert [one.role for one in found["submits"].messages[:2]] == ["system", "user"]
    told = adds.extra["metadata"]
    assert (told["ticket"], told["epoch"], told["eval"]["task"], told["scores"]) == (0, 1, "adding", {"graded": "C"})
    assert [call.tool for call in found["submits"].calls] == ["add"]
    assert found["submits"].answer == "So:\n\n3", "what the agent submitted"
    assert found["is cut"].extra["metadata"]["limit"]["type"] == "message"
    broken = found["breaks"]
    assert broken.outcome == "failed outside"
    assert "on fire" in broken.failure["message"]
    assert [call.failed for call in broken.calls] == [False, True]


def test_a_real_log_without_events_gives_the_same_calls_from_its_messages(logs: dict[str, Path]) -> None:
    log = json.loads(logs[".json"].read_text(encoding="utf-8"))
    whole = by_sample(list(records_of(inspect.FORMAT)(log)))
    for sample in log["samples"]:
        sample["events"] = []
    bare = by_sample(list(records_of(inspect.FORMAT)(log)))
    assert bare["adds"].calls == whole["adds"].calls
    assert bare["adds"].answer == whole["adds"].answer
    assert [call.result for call in bare["breaks"].calls] == [3, UNANSWERED], "no message tells of the end"


def repacked(file: Path, to: Path, **kept: Any) -> Path:
    """Copy an archive with another compression, without some members, or with their bytes changed."""
    with file.open("rb") as raw, zipfile.ZipFile(raw) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            name = info.filename
            if any(part in name for part in kept.get("without", ())):
                continue
            new.writestr(name, kept.get("changed", lambda _, same: same)(name, archive.read_member(raw, info)))
    return to


def test_archives_with_deflate_are_read_and_so_are_logs_that_did_not_end(logs: dict[str, Path], tmp_path: Path) -> None:
    expected = [one.calls for one in good(import_trace(logs[".eval"]))]
    plain = repacked(logs[".eval"], tmp_path / "plain.eval")
    assert [one.calls for one in read(plain, "inspect")] == expected
    unended = repacked(logs[".eval"], tmp_path / "unended.eval", without=("header.json", "summaries", "reductions"))
    assert [one.calls for one in read(unended, "inspect")] == expected
    other = repacked(logs[".eval"], tmp_path / "other.eval", without=("header.json", "start.json"))
    with pytest.raises(InputError, match="not a known format: not UTF-8"):
        recognise_format(other)
    assert outcomes(import_trace(other, "inspect")) == [
        f"{other}:1:1: an archive without 'header.json' is not an Inspect log"
    ]


def test_one_bad_member_is_named_and_the_others_are_kept(logs: dict[str, Path], tmp_path: Path) -> None:
    def changed(name: str, raw: bytes) -> bytes:
        return raw[:100] if "adds" in name else raw

    made = outcomes(import_trace(repacked(logs[".eval"], tmp_path / "bad.eval", changed=changed)))
    assert sorted(one for one in made if isinstance(one, int)) == [1, 2, 2]
    (problem,) = (one for one in made if isinstance(one, str))
    assert "samples/adds_epoch_1.json: not JSON" in problem


def cuts(raw: bytes) -> tuple[list[str], list[int]]:
    """The members of an archive, and the offset where each ends."""
    with zipfile.ZipFile(io.BytesIO(raw)) as read_:
        infos = sorted(read_.infolist(), key=lambda one: one.header_offset)
    return [one.filename for one in infos], [
        one.header_offset + 30 + len(one.filename) + one.compress_size for one in infos
    ]


def test_a_truncated_or_changed_archive_is_a_problem_that_says_so(logs: dict[str, Path], tmp_path: Path) -> None:
    raw = logs[".eval"].read_bytes()
    cut = tmp_path / "cut.eval"
    names, ends = cuts(raw)
    for end in (ends[0] + 5, ends[2] + 5, ends[-1] + 5):
        cut.write_bytes(raw[:end])
        problem, *rest = outcomes(import_trace(cut))
        assert problem == f"{cut}:1:1: the archive is truncated; the samples before the cut are kept"
        whole = [name for name, place in zip(names, ends, strict=True) if place <= end and name.startswith("samples/")]
        assert len([one for one in rest if isinstance(one, int)]) == len(whole)
    with zipfile.ZipFile(io.BytesIO(raw)) as read_:
        info = next(one for one in read_.infolist() if "adds" in one.filename)
    place = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    cut.write_bytes(raw[:place] + bytes([raw[place] ^ 255]) + raw[place + 1 :])
    problems = [one for one in import_trace(cut) if isinstance(one, Problem)]
    assert len(problems) == 1
    assert "cannot be unpacked" in problems[0].message


def test_without_a_package_for_zstandard_the_error_names_one(logs: dict[str, Path], monkeypatch: Any) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(archive, "import_module", missing)
    (problem,) = import_trace(logs[".eval"], "inspect")
    assert isinstance(problem, Problem)
    assert "install the package 'zstandard'" in problem.message


def model(*calls: tuple[Any, ...], text: str = "", **more: Any) -> dict[str, Any]:
    asked = [{"id": id_, "function": tool, "arguments": arguments} for id_, tool, arguments in calls]
    message = {"role": "assistant", "content": text, "tool_calls": asked}
    return {"event": "model", "model": "m", "output": {"choices": [{"message": message}]}, **more}


def ran(id_: Any, tool: str, result: Any = "", **more: Any) -> dict[str, Any]:
    return {"event": "tool", "id": id_, "function": tool, "arguments": {}, "result": result, **more}


def log(*events: dict[str, Any], **sample: Any) -> dict[str, Any]:
    given = {"id": 1, "epoch": 2, "messages": [], "events": list(events), **sample}
    return {"version": 2, "status": "success", "eval": {"task": "t", "model": "m/x"}, "samples": [given]}


def only(*events: dict[str, Any], **sample: Any) -> Episode:
    (episode,) = records_of(inspect.FORMAT)(log(*events, **sample))
    return episode


def test_long_texts_that_are_kept_aside_are_put_back() -> None:
    attached = {"f00": "a long result", "ba4": "a long word"}
    episode = only(
        model(("1", "a", {"text": "attachment://ba4"})), ran("1", "a", "attachment://f00"),
        ran("2", "b", "attachment://gone"), attachments=attached,
    )  # fmt: skip
    assert episode.calls[0] == Call("a", {"text": "a long word"}, "a long result", id="1", turn=1)
    assert episode.calls[1].result == "attachment://gone"


def test_calls_that_were_never_run_count_where_the_messages_keep_them() -> None:
    kept = [{"role": "assistant", "content": "", "tool_calls": [{"id": "2", "function": "b", "arguments": {}}]}]
    events = (model(("1", "a", {})), ran("1", "a", "x"), model(("2", "b", {})), model(("3", "c", {})))
    assert [(call.tool, call.result) for call in only(*events, messages=kept).calls] == [("a", "x"), ("b", UNANSWERED)]


def test_calls_that_a_solver_ran_itself_have_their_results_in_the_messages() -> None:
    asked: list[Any] = [{"id": id_, "function": id_, "arguments": {}} for id_ in ("a", "b")]
    kept = [
        {"role": "assistant", "content": "", "tool_calls": asked},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "", "error": {"type": "unknown", "message": "no"}},
        {"role": "assistant", "content": "Done."},
    ]
    said = model(("a", "a", {}), ("b", "b", {}))
    for events in ([said], [said, ran("a", "a", "1")], []):
        episode = only(*events, messages=kept, output={"completion": "Done."})
        assert episode.calls == (Call("a", {}, 1, id="a", turn=1), Call("b", {}, error="no", id="b", turn=1))
        assert episode.answer == "Done."


def test_calls_of_one_message_keep_its_order_whatever_ended_first() -> None:
    episode = only(model(("1", "a", {}), ("2", "b", {})), ran("2", "b", "y"), ran("1", "a", "x"))
    assert [(call.tool, call.result, call.turn) for call in episode.calls] == [("a", "x", 1), ("b", "y", 1)]


def test_what_scorers_and_models_with_a_role_do_is_not_the_agents() -> None:
    spans = [
        {"event": "span_begin", "id": "s", "type": "scorers"},
        {"event": "span_begin", "id": "t", "type": "scorer", "parent_id": "s"},
    ]
    events = [
        model(text="Yes."),
        *spans,
        model(("9", "grade", {}), text="Good.", span_id="t"),
        ran("9", "grade", span_id="t"),
        model(text="Fine.", role="grader"),
    ]
    episode = only(*events)
    assert (episode.calls, episode.answer) == ((), "Yes.")
    assert only(model(text="Yes.", role="target")).answer == "Yes.", "every model has a role"


def test_pending_failed_and_inner_tool_events_are_read() -> None:
    inner = ran("2", "inner", [{"type": "text", "text": "[1]"}])
    episode = only(ran("1", "outer", events=[inner]), ran("3", "slow", pending=True), ran("4", "bad", failed=True))
    assert [(call.tool, call.result, call.error) for call in episode.calls] == [
        ("outer", "", None), ("inner", [1], None), ("slow", UNANSWERED, None), ("bad", UNANSWERED, "the tool failed"),
    ]  # fmt: skip


def test_metadata_that_have_the_name_of_something_else_are_kept_whole() -> None:
    told = only(metadata={"flow": "water", "model": "mine"}).extra["metadata"]
    assert (told["flow"], told["model"], told["sample_metadata"]["model"]) == ("water", "m/x", "mine")


def test_a_seed_that_the_sample_of_another_has_is_not_ours() -> None:
    metadata = {"task": "farm/a", "seed": 4, "episode": episode_json(Episode("farm/a", ())), "corepath": "0.1"}
    episode = only(model(("1", "a", {})), ran("1", "a"), metadata=metadata)
    assert (episode.task, episode.seed, [call.tool for call in episode.calls]) == ("", None, ["a"])
    assert episode.extra["metadata"]["seed"] == 4


@pytest.mark.parametrize("kept", [None, "{", "[1]", '{"task": 5}', 7])
def test_a_recorded_episode_that_cannot_be_read_is_made_up_from_the_events(kept: Any) -> None:
    said = {"task": "farm/a", "seed": 4, "fingerprint": "f", "scoring": "paper"}
    events = (model(("1", "a", {})), ran("1", "a"))
    whole = only(*events, metadata={"corepath": {**said, "episode": episode_json(RECORDED)}})
    assert (whole.calls, whole.epoch, whole.outcome) == (RECORDED.calls, 3, "answered")
    assert "corepath" not in whole.extra["metadata"]
    again = only(*events, metadata={"corepath": {**said, "episode": kept}}, epoch=2)
    assert [call.tool for call in again.calls] == ["a"]
    assert "episode" not in again.extra
    assert (again.task, again.seed, again.fingerprint, again.scoring, again.epoch) == ("farm/a", 4, "f", "paper", 2)


RECORDED = Episode("farm/a", (Call("b", {"c": None}, None),), "m", 3, seed=4, outcome="answered")


def test_what_is_submitted_to_the_solver_is_the_answer_and_no_call() -> None:
    submit = {"name": "submit", "description": "Submit an answer for evaluation.", "parameters": {}}
    events = (model(("1", "submit", {"answer": "3"}), text="So:", tools=[submit]), ran("1", "submit", "3"))
    episode = only(*events)
    assert (episode.calls, episode.answer) == ((), "3")
    kept = [
        events[0]["output"]["choices"][0]["message"],
        {"role": "tool", "tool_call_id": "1", "function": "submit", "content": "3"},
    ]
    episode = only(events[0], messages=kept)
    assert (episode.calls, episode.answer) == ((), "3")
    wrong = only(model(("1", "submit", {"an": 3}), tools=[submit]), ran("1", "submit", error={"message": "no"}))
    assert [(call.tool, call.error) for call in wrong.calls] == [("submit", "no")]
    own = {**submit, "description": "Submit the form."}
    assert [call.tool for call in only(model(("1", "submit", {"answer": "3"}), tools=[own]), events[1]).calls] == [
        "submit"
    ]


def test_numbers_that_are_none_are_kept_as_texts_and_cost_nothing(tmp_path: Path) -> None:
    value = log(model(("1", "a", {})), ran("1", "a"), scores={"s": {"value": float("nan")}})
    (episode,) = read(write(tmp_path, value, name="log.json"), "inspect")
    assert episode.extra["metadata"]["scores"] == {"s": "NaN"}
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as made:
        made.writestr("header.json", json.dumps({name: value[name] for name in ("version", "eval")}))
        made.writestr("samples/1.json", json.dumps(value["samples"][0]))
    assert read(tmp_path / "log.eval", "inspect") == [episode]


def test_an_id_that_is_used_twice_is_an_error() -> None:
    with pytest.raises(RecordError, match="the call id '1' is used twice"):
        only(model(("1", "a", {}), ("1", "b", {})), ran("1", "a"))


def test_json_logs_are_read_sample_by_sample_and_a_bad_one_is_named(tmp_path: Path) -> None:
    value = log(model(("1", "a", {})), ran("1", "a"))
    value["samples"] = [value["samples"][0], {"events": []}, value["samples"][0]]
    file = write(tmp_path, value, name="log.json")
    expected = [1, f"{file}:1:1: sample 2: a sample must be an object with 'id', 'messages' and 'events'", 1]
    assert outcomes(import_trace(file)) == expected
    late = {name: value[name] for name in ("version", "samples", "eval")}
    assert outcomes(import_trace(write(tmp_path, late, name="log.json"))) == expected
    file.write_text(json.dumps(value, indent=2)[:-60], encoding="utf-8")
    *some, problem = outcomes(import_trace(file))
    assert some[0] == 1
    assert "not JSON: it ends early" in str(problem)
    empty = write(tmp_path, {**value, "samples": []}, name="log.json")
    assert outcomes(import_trace(empty)) == [f"{empty}:1:1: no samples in this log"]


def test_other_json_is_not_mistaken() -> None:
    others: list[Any] = [5, [], {}, {"eval": {}, "samples": []}, {"messages": [{"role": "user", "content": "eval"}]}]
    assert all(mismatch_of(inspect.FORMAT, value) is not None for value in others)


@given(st.data())
def test_broken_logs_give_episodes_or_an_error(data: st.DataObject) -> None:
    message = {"role": "tool", "tool_call_id": "1", "content": "attachment://f", "error": {"message": "x"}}
    kept = [{"role": "assistant", "content": [{"type": "text", "text": "I."}], "tool_calls": []}, message]
    value = log(
        {"event": "span_begin", "id": "s", "type": "scorers", "parent_id": None},
        model(("1", "a", {"x": 1}), ("2", "b", {}), text="Hm."), ran("1", "a", "attachment://f"),
        ran("2", "b", error={"type": "x", "message": "no"}), messages=kept, attachments={"f": "long"},
        scores={"s": {"value": 1}}, limit={"type": "time"}, output={"completion": "Hm."}, metadata={"flow": "w"},
        error={"message": "e"},
    )  # fmt: skip
    survives(records_of(inspect.FORMAT), data.draw(damaged(value)))
    without = copy.deepcopy(value)
    without["samples"][0]["events"] = []
    survives(records_of(inspect.FORMAT), data.draw(damaged(without)))
