"""Episode files: writing and reading them, and what is wrong in them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import (
    UNANSWERED,
    Call,
    Episode,
    InputError,
    Message,
    episode_json,
    load_episodes,
    load_tasks,
)
from corepath.files.episodes import episode_bytes
from corepath.files.schema import schema
from corepath.world.recall import Memo


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


texts = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)  # lone surrogates too
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
extras = st.dictionaries(texts.map(lambda name: f"x {name}"), values, max_size=2)
calls = st.builds(
    Call,
    tool=texts,
    arguments=st.dictionaries(texts, values, max_size=3) | values,
    result=st.just(UNANSWERED) | values,
    error=values,
    id=st.none() | texts,
    turn=st.none() | st.integers(0, 1000),
    time=st.none() | st.floats(0, 2e9),
    extra=extras,
)
times = st.none() | st.floats(0, 2e9)
messages = st.builds(
    Message,
    role=texts.filter(bool),
    content=values,
    before_call=st.none() | st.integers(0, 5),
    time=times,
    turn=st.none() | st.integers(0, 9),
    extra=extras,
) | values.filter(lambda one: not isinstance(one, dict)).map(lambda one: Message("", one))
episodes = st.builds(
    Episode,
    task=texts,
    calls=st.lists(calls, max_size=4).map(tuple),
    agent=st.none() | texts,
    epoch=st.integers(0, 100),
    params=st.dictionaries(texts, values, max_size=2),
    answer=values,
    other_calls=st.lists(calls, max_size=2).map(tuple),
    messages=st.lists(messages, max_size=2).map(tuple),
    extra=extras,
)


@given(st.lists(episodes, min_size=1, max_size=3))
def test_episodes_written_and_read_are_the_same(tmp_path_factory, written):
    file = tmp_path_factory.mktemp("episodes") / "e.jsonl"
    file.write_text("\n".join(map(episode_json, written)), encoding="ascii")
    read = load_episodes(file)
    assert read == written
    for one, other in zip(read, written, strict=True):
        assert [call.time for call in one.calls] == [call.time for call in other.calls]
        assert [call.extra for call in one.calls] == [call.extra for call in other.calls]
        assert [call.result is UNANSWERED for call in one.calls] == [c.result is UNANSWERED for c in other.calls]


@given(st.lists(episodes, min_size=1, max_size=3))
def test_the_quick_way_to_write_an_episode_writes_the_same_values(written):
    for episode in written:
        line = episode_bytes(episode)
        assert b"\n" not in line
        assert repr(json.loads(line)) == repr(json.loads(episode_json(episode)))


EPISODE_SCHEMA = jsonschema.Draft202012Validator(schema("episode"))


@given(episodes)
def test_what_is_written_fits_the_schema_of_episodes(episode):
    EPISODE_SCHEMA.validate(json.loads(episode_json(episode)))


def test_what_an_episode_holds_besides_is_kept(tmp_path):
    line = {"task": "t", "model": "m", "calls": [{"tool": "a", "arguments": {}, "cost": 3}]}
    (episode,) = load_episodes(write(tmp_path, "e.jsonl", json.dumps(line)))
    assert episode.extra == {"model": "m"}
    assert episode.calls[0].extra == {"cost": 3}


def test_load_episodes_reports_every_bad_line(tmp_path):
    file = write(tmp_path, "e.jsonl", '{"task": "t", "calls": []}\nnot\n\n{"calls": []}\n')
    with pytest.raises(InputError) as caught:
        load_episodes(file)
    assert [problem.line for problem in caught.value.problems] == [2, 4]


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        load_tasks(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_episodes(tmp_path / "none")


def test_an_episode_of_what_is_not_json_is_not_written():
    for write_line in (episode_json, episode_bytes):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_line(Episode("t", (Call("a", {"x": float("nan")}),)))


GOOD = {"task": "t", "calls": [{"tool": "a", "arguments": {"x": "value"}}]}
LINE = json.dumps(GOOD)

BAD_LINES: dict[str, tuple[str | bytes, str]] = {
    "truncated": (LINE[:30], "the line is cut short"),
    "truncated in a text": (LINE[:-8], "the line is cut short"),
    "not JSON": ("hello", "not JSON: Expecting value; each line is one whole episode"),
    "two on one line": (LINE + LINE, "not JSON: Extra data; each line is one whole episode"),
    "NaN": (LINE.replace('"value"', "NaN"), "NaN is not JSON; use a number, a text or null"),
    "infinite": (LINE.replace('"value"', "-Infinity"), "-Infinity is not JSON"),
    "too large": (LINE.replace('"value"', "1e999"), "the number 1e999 is too large"),
    "too long": (LINE.replace('"value"', "7" * 5000), "has more than 4,300 digits"),
    "not UTF-8": (LINE.encode().replace(b"value", b"\xff"), "not UTF-8: the byte 0xff"),
    "no tool": (LINE.replace('"tool"', '"tol"'), "'calls.0.tool' is missing"),
    "no arguments": (LINE.replace('"arguments"', '"args"'), "'calls.0.arguments' is missing"),
    "no calls": ('{"task": "t"}', "'calls' is missing"),
    "no task": ('{"calls": []}', "'task' is missing"),
    "arguments under another name": (
        LINE.replace('"arguments"', '"args"'),
        "'calls.0.arguments' is missing; it is called 'args' here, write 'arguments'",
    ),
    "a tool under another name": (
        LINE.replace('"tool"', '"name"'),
        "'calls.0.tool' is missing; it is called 'name' here, write 'tool'",
    ),
    "a task under another name": (
        '{"task_id": "t", "calls": []}',
        "'task' is missing; it is called 'task_id' here, write 'task'",
    ),
    "calls under another name": (
        '{"task": "t", "steps": []}',
        "'calls' is missing; it is called 'steps' here, write 'calls'",
    ),
    "a call of another format": (
        '{"task": "t", "calls": [{"function": {"name": "f", "arguments": "{}"}}]}',
        "'function' is an object; make episodes of other formats with: corepath import",
    ),
    **{
        f"a record of another format, with {name}": (
            json.dumps({name: []}),
            f"'calls' is missing, and '{name}' is there; make episodes of other formats with: corepath import",
        )
        for name in ("messages", "choices", "resourceSpans", "samples")
    },
    "a call that is text": (
        '{"task": "t", "calls": ["f()"]}',
        "'calls.0': expected an object with 'tool' and 'arguments', not 'f()'",
    ),
    "a call without arguments": (
        '{"task": "t", "calls": [{"tool": "f"}]}',
        "'calls.0.arguments' is missing; where there are none, write {}",
    ),
    "another scoring": (
        '{"task": "t", "calls": [], "scoring": "best"}',
        "'scoring': expected 'paper', 'recommended' or an object of options",
    ),
    "wrong types": (
        '{"task": 3, "calls": {}}',
        "'task': expected text, not 3; 'calls': expected a list, not an object",
    ),
    "a call that is none": (
        '{"task": "t", "calls": [7]}',
        "'calls.0': expected an object with 'tool' and 'arguments', not 7",
    ),
    "an epoch that is text": ('{"task": "t", "calls": [], "epoch": "1"}', "'epoch': expected a whole number, not '1'"),
    "another version": ('{"version": 2, "task": "t", "steps": []}', "version 2 is not known here"),
    "a list": ("[]", 'an episode is a JSON object with "task" and "calls"'),
    "null": ("null", 'an episode is a JSON object with "task" and "calls"'),
    "nested deeply": (LINE.replace('"value"', "[" * 100_000 + "]" * 100_000), "nested deeper than 200 levels"),
    "nested too deeply": (LINE.replace('"value"', "[" * 900 + "]" * 900), "nested deeper than 200 levels"),
}


def test_the_id_of_a_trace_is_no_other_name_for_its_calls(tmp_path):
    (tmp_path / "e.jsonl").write_text('{"task": "t", "trace": "t1"}\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_episodes(tmp_path / "e.jsonl")
    assert str(caught.value) == f"{tmp_path / 'e.jsonl'}:1:1: 'calls' is missing"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"\x1f\x8b\x08rest", "not JSON lines; unpack it, or score it into a file with corepath score --out"),
        (b"\x28\xb5\x2f\xfdrest", "not JSON lines; unpack it, or score it into a file with corepath score --out"),
        (b"PAR1rest", "not JSON lines; score --out reads episodes in Parquet, and table, .* read scores"),
    ],
)
def test_a_file_that_is_packed_is_one_problem(tmp_path, start, message):
    (tmp_path / "e.jsonl").write_bytes(start + b"\n\xff\n\xff\n")
    with pytest.raises(InputError, match=message):
        load_episodes(tmp_path / "e.jsonl")


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_reported_with_its_number_and_the_others_are_read(tmp_path, case):
    bad, expected = BAD_LINES[case]
    raw = bad.encode() if isinstance(bad, str) else bad
    file = tmp_path / "e.jsonl"
    file.write_bytes(b"\n".join([LINE.encode(), b"", raw, LINE.encode()]))
    with pytest.raises(InputError) as caught:
        load_episodes(file)
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert expected in problem.message


def test_a_byte_that_is_not_utf8_is_reported_with_its_column(tmp_path):
    file = tmp_path / "e.jsonl"
    file.write_bytes(LINE.encode().replace(b"value", b"\xff"))
    with pytest.raises(InputError) as caught:
        load_episodes(file)
    assert caught.value.problems[0].column == LINE.index("value") + 1


@pytest.mark.parametrize(
    "raw",
    [
        LINE.encode() + b"\n" + LINE.encode(),
        LINE.encode() + b"\r\n\r\n  \r\n" + LINE.encode() + b"\r\n",
        b"\xef\xbb\xbf" + LINE.encode() + b"\n" + LINE.encode() + b"\n\n",
        b"\xef\xbb\xbf\n" + LINE.encode() + b"\n\t" + LINE.encode() + b" ",
    ],
    ids=["no newline at the end", "windows lines", "byte order mark", "white space"],
)
def test_lines_may_be_ended_in_every_usual_way(tmp_path, raw):
    file = tmp_path / "e.jsonl"
    file.write_bytes(raw)
    assert [episode.calls[0].arguments for episode in load_episodes(file)] == [{"x": "value"}] * 2


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_file_without_episodes_says_so(tmp_path, raw):
    file = tmp_path / "e.jsonl"
    file.write_bytes(raw)
    with pytest.raises(InputError, match="no episodes in this file; each line is one JSON object"):
        load_episodes(file)


def test_a_line_with_remembered_texts_is_the_same_line():
    call, other = Call("look", {"at": "A"}, result={"x": 1.0}), Call("go", {}, error="no")
    scores = {"pc": 0.5, "harms": [{"kind": "unlisted"}]}
    plain = Episode("farm/a", (call, other, call), "me", scores=scores, extra={"state": {"at": "A"}})
    episodes = [
        plain,
        replace(plain, epoch=1),
        replace(plain, epoch=2, calls=(call,)),
        replace(plain, epoch=3, scores={**scores, "pc": 1.0}),
        replace(plain, epoch=4, extra={"scores": 3, "state": {}}),
        replace(plain, epoch=5, scores={}, calls=()),
    ]
    recall = Memo(100)
    for episode in [*episodes, *episodes]:
        assert episode_json(episode, recall) == episode_json(episode)
