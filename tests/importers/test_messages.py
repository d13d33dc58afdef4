"""Every message format reads the same conversation as the same episode, and no other format's records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call
from corepath.episode import events
from corepath.errors import InputError, RecordError
from corepath.importers import import_trace
from corepath.importers.registry import recognise_format
from corepath.importers.transcript import Transcript

from .conversations import ALL, ANTHROPIC, CALLS, GEMINI, MESSAGES, OPENAI, RESPONSES, bare
from .damage import damaged, good, outcomes, read, survives, write

names = pytest.mark.parametrize("name", ALL)


@names
def test_the_conversation_gives_the_same_episode_in_every_format(name: str, tmp_path: Path) -> None:
    _, record, model = ALL[name]
    (episode,) = read(write(tmp_path, record), name)
    turns = (*CALLS[:3], CALLS[3])
    assert [(call.tool, call.arguments, call.result, call.error, call.id, call.turn) for call in episode.calls] == [
        (call.tool, call.arguments, call.result, call.error, call.id, call.turn) for call in turns
    ]
    assert episode.answer == "I could not."
    assert episode.messages == MESSAGES
    assert [one.id if isinstance(one, Call) else one.content for one in events(episode)] == [
        "You care for plants.", "Water A.", "I look.", "c1", "c2", "c3", "Use less.", "c4", "I could not."
    ]  # fmt: skip
    assert episode.agent == model
    assert episode.extra["metadata"]["flow"] == "water"
    assert episode.calls[3].malformed


@names
@pytest.mark.parametrize("file", ["list.json", "list.jsonl"])
def test_a_bare_list_is_a_conversation_too(name: str, file: str, tmp_path: Path) -> None:
    _, record, _ = ALL[name]
    (episode,) = read(write(tmp_path, bare(record), name=file), name)
    assert len(episode.calls) == 4
    assert episode.answer == "I could not."


@names
def test_a_list_of_conversations_and_lines_of_them_are_both_read(name: str, tmp_path: Path) -> None:
    _, record, _ = ALL[name]
    in_list = read(write(tmp_path, [record, record], name="list.json"), name)
    in_lines = read(write(tmp_path, bare(record), bare(record)), name)
    assert [len(one.calls) for one in (*in_list, *in_lines)] == [4, 4, 4, 4]


@names
def test_no_format_takes_the_records_of_another(name: str) -> None:
    module = ALL[name][0]
    for other, (_, record, _) in ALL.items():
        for shape in (record, bare(record), [record]):
            fits = module.mismatch(shape) is None
            assert fits is (other == name and shape != [record]), (other, shape)


@names
def test_each_piece_of_a_conversation_alone_is_not_taken_for_a_record_of_another_format(name: str) -> None:
    for other, (_, record, _) in ALL.items():
        module = ALL[name][0]
        assert other == name or not [piece for piece in bare(record) if module.mismatch(piece) is None], other


@names
@given(st.data())
def test_damage_gives_episodes_or_an_error_of_the_record(name: str, data: st.DataObject) -> None:
    module, record, _ = ALL[name]
    survives(module.read_record, data.draw(damaged(record)))
    survives(module.read_record, data.draw(damaged(bare(record))))


@names
@given(st.data())
def test_damage_never_breaks_the_recognition(name: str, data: st.DataObject) -> None:
    record = data.draw(damaged(ALL[name][1]))
    for module, _, _ in ALL.values():
        why = module.mismatch(record)
        assert why is None or (isinstance(why, str) and why)


def exchange(given: str, messages: list[Any], response: Any) -> dict[str, Any]:
    return {"request": {given: messages}, "response": response}


CHAT, BLOCKS, CONTENTS, ITEMS = OPENAI["messages"], ANTHROPIC["messages"], GEMINI["contents"], RESPONSES["input"]
EXCHANGES: dict[str, list[Any]] = {
    "openai": [exchange("messages", CHAT[:n], {"choices": [{"message": CHAT[n]}]}) for n in (2, 5)],
    "anthropic": [exchange("messages", BLOCKS[:n], BLOCKS[n]) for n in (1, 3)],
    "gemini": [exchange("contents", CONTENTS[:n], {"candidates": [{"content": CONTENTS[n]}]}) for n in (1, 3)],
    "openai-responses": [exchange("input", ITEMS[:n], {"output": ITEMS[n:m]}) for n, m in ((1, 5), (7, 8))],
}
"""Two exchanges of one run; the second repeats the first."""


@pytest.mark.parametrize("name", EXCHANGES)
def test_of_exchanges_that_repeat_each_other_the_last_is_read(name: str, tmp_path: Path) -> None:
    (episode,) = good(import_trace(write(tmp_path, *EXCHANGES[name]), name))
    assert [(call.id, call.turn) for call in episode.calls] == [("c1", 1), ("c2", 1), ("c3", 2)]
    changed = json.loads(json.dumps(EXCHANGES[name][1]).replace("Water A.", "Water B."))
    both = good(import_trace(write(tmp_path, EXCHANGES[name][0], changed), name))
    assert [len(one.calls) for one in both] == [2, 3]


@pytest.mark.parametrize("name", EXCHANGES)
def test_equal_runs_that_are_logged_at_the_same_time_are_each_an_episode(name: str, tmp_path: Path) -> None:
    first, second = EXCHANGES[name]
    both = good(import_trace(write(tmp_path, first, first, second, second), name))
    assert [len(one.calls) for one in both] == [3, 3]


@pytest.mark.parametrize("bare_ones", [True, False])
@pytest.mark.parametrize("name", EXCHANGES)
def test_of_requests_alone_that_repeat_each_other_the_last_is_read(name: str, bare_ones: bool, tmp_path: Path) -> None:
    requests = [{**one["request"], "model": "m"} for one in EXCHANGES[name]]
    log = requests if bare_ones else [{"request": one} for one in requests]
    (episode,) = good(import_trace(write(tmp_path, *log), name))
    assert [call.id for call in episode.calls] == ["c1", "c2"]


@pytest.mark.parametrize("name", EXCHANGES)
@given(st.data())
def test_damaged_exchanges_give_episodes_or_problems(name: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        file = write(Path(folder), *data.draw(damaged(EXCHANGES[name])), None)
        assert outcomes(import_trace(file, name))


@names
def test_an_importer_needs_no_package_of_a_vendor(name: str) -> None:
    vendors = "openai anthropic google.genai langchain_core langgraph pydantic_ai"
    code = f"import sys, {ALL[name][0].__name__}; print(sorted({set(vendors.split())} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@names
def test_a_bad_record_is_named_and_the_good_ones_are_kept(name: str, tmp_path: Path) -> None:
    _, record, _ = ALL[name]
    file = write(tmp_path, record, record, record)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1][:-40], lines[2]]) + "\n")
    first, second, third = outcomes(import_trace(file))
    assert (first, third) == (4, 4)
    assert str(second).startswith(f"{file}:2:")
    assert "not JSON" in str(second)


@names
def test_an_answer_to_no_call_is_an_error_that_names_the_record_and_the_id(name: str, tmp_path: Path) -> None:
    _, record, _ = ALL[name]
    text = json.dumps(record)
    lost = json.loads(text.replace('"c1"', '"other"', 1))
    bad, kept = outcomes(import_trace(write(tmp_path, lost, record), name))
    assert kept == 4
    assert "trace.jsonl:1:" in str(bad)
    assert "'c1'" in str(bad)


@names
def test_a_call_id_that_is_used_twice_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    _, record, _ = ALL[name]
    twice = json.loads(json.dumps(record).replace('"c2"', '"c1"'))
    bad, kept = outcomes(import_trace(write(tmp_path, twice, record), name))
    assert kept == 4
    assert "the call id 'c1' is used twice" in str(bad)


@names
def test_arguments_that_are_a_json_text_of_a_json_text_stay_as_they_were_sent(name: str) -> None:
    module, record, _ = ALL[name]
    text = json.dumps(json.dumps({"litres": 2}))
    (episode,) = module.read_record(_with_last_arguments(record, text))
    assert episode.calls[3].arguments == text
    assert episode.calls[3].malformed


def _with_last_arguments(record: Any, text: str) -> Any:
    old = json.dumps('{"litres": 2')
    transcript = json.dumps(record).replace(old, json.dumps(text))
    return json.loads(transcript)


@pytest.mark.parametrize("value", [[], {}, 5, "x", None, [[]], {"messages": []}, {"contents": []}, [5], {"input": 5}])
@names
def test_what_is_no_conversation_is_an_error_that_says_what_would_be_one(name: str, value: Any) -> None:
    module = ALL[name][0]
    if name == "openai" and value == {"messages": []}:
        return  # an episode that did nothing
    assert module.mismatch(value)
    with pytest.raises(RecordError, match=r"\w+ \w+"):
        list(module.read_record(value))


@names
def test_a_file_that_is_cut_short_says_where_it_cannot_be_read(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, ALL[name][1], name="cut.json")
    file.write_text(file.read_text()[:300])
    with pytest.raises(InputError, match="not a known format: not JSON"):
        recognise_format(file)
    problem, *_ = outcomes(import_trace(file, name))
    assert "cut.json:1:" in str(problem)


def test_an_id_is_used_again_once_it_was_answered() -> None:
    transcript = Transcript()
    for n in range(2):
        transcript.add_call("look", {"n": n}, "same")
        transcript.add_result("same", n)
    assert [call.result for call in transcript.calls] == [0, 1]


def test_an_answer_without_an_id_belongs_to_the_first_call_of_its_tool_that_waits() -> None:
    transcript = Transcript()
    transcript.add_call("a", {}, "1")
    transcript.add_call("b", {})
    transcript.add_call("b", {})
    transcript.add_result(None, "first b", tool="b")
    transcript.add_result(None, "a")
    transcript.add_result(None, "second b", tool="b")
    assert [call.result for call in transcript.calls] == ["a", "first b", "second b"]
    with pytest.raises(RecordError, match="a result for the tool 'b', but no call waits for it"):
        transcript.add_result(None, "third b", tool="b")
    with pytest.raises(RecordError, match="no call waits for it"):
        transcript.add_result("1", "again")


def test_a_number_is_an_id_and_a_list_is_none() -> None:
    transcript = Transcript()
    transcript.add_call("a", {}, 7)
    transcript.add_result("7", "ok")
    assert transcript.calls == [Call("a", {}, "ok", id="7")]
    with pytest.raises(RecordError, match="a call id must be a string, not a list"):
        transcript.add_call("a", {}, ["7"])
