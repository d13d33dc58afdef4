"""A file is parsed once, and lines that may repeat each other twice, however its format is found."""

from __future__ import annotations

import gzip
import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from corepath import Episode, values
from corepath.errors import InputError, Problem
from corepath.files.episodes import episode_json
from corepath.importers import import_trace, reading
from corepath.importers.kept_records import KeptRecords
from corepath.importers.reading import Place, Sample, read_records
from corepath.importers.registry import FORMATS, explain_formats, load_format, recognise_format

from . import test_inspect_logs, test_mcp, test_openinference, test_otel
from .conversations import ALL, OPENAI
from .damage import good, write
from .spans_by_hand import sent

RECORDS: dict[str, Any] = {name: record for name, (_, record, _) in ALL.items()} | {
    "otel": sent(*test_otel.trace()),
    "openinference": sent(*test_openinference.trace()),
    "inspect": test_inspect_logs.log(test_inspect_logs.model(text="Yes.")),
    "mcp": test_mcp.SESSION,
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str | bytes]:
    """The texts that are parsed as records."""
    texts: list[str | bytes] = []
    parse = values.parse_json

    def note(text: str | bytes, *, stored: bool = False) -> Any:
        texts.append(text)
        return parse(text, stored=stored)

    monkeypatch.setattr(reading, "parse_json", note)
    return texts


def exchange(turns: int, question: str = "Water A.") -> dict[str, Any]:
    """A request with the conversation so far, and its response."""
    told: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "function": {"name": "look", "arguments": json.dumps({"plant": turn})}}
        told += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        told += [{"role": "tool", "tool_call_id": f"c{turn}", "content": "wet"}]
    answer = {"role": "assistant", "content": "Done."}
    if turns < 3:
        answer = exchange(turns + 1, question)["request"]["messages"][2 + 2 * turns]
    return {
        "request": {"model": "m", "messages": told},
        "response": {"choices": [{"message": answer}], "created": turns},
    }


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ALL)
def test_auto_parses_a_document_once_and_reads_what_the_named_format_does(
    name: str, indent: int | None, tmp_path: Path, parsed: list[str | bytes]
) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(RECORDS[name], indent=indent))
    found = list(import_trace(file))
    assert sum(len(text) >= file.stat().st_size // 2 for text in parsed) == 1
    assert found == list(import_trace(file, name))


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "openai-responses"])
def test_a_named_format_parses_each_line_once_or_compares_it_first(
    name: str, tmp_path: Path, parsed: list[str | bytes]
) -> None:
    file = write(tmp_path, *[{**RECORDS[name], "number": number} for number in range(60)])
    assert len(good(import_trace(file, name))) == 60
    times = [sum(f'"number": {number}}}' in str(text) for text in parsed) for number in range(1, 60)]
    assert times == [2 if name == "openai-responses" else 1] * 59  # the first line also to see that there are lines


def test_exchanges_that_repeat_each_other_are_parsed_to_compare_and_to_read_them(
    tmp_path: Path, parsed: list[str | bytes]
) -> None:
    file = write(tmp_path, *(exchange(turns) for turns in range(4)), *(exchange(turns, "Other.") for turns in range(4)))
    episodes = good(import_trace(file, "openai"))
    assert [len(one.calls) for one in episodes] == [3, 3]
    assert [call.time for one in episodes for call in one.calls] == [0, 1, 2] * 2
    assert [parsed.count(json.dumps(exchange(turns)).encode()) for turns in range(1, 4)] == [2, 2, 2]


def test_exchanges_are_the_same_as_lines_with_blank_ones_between_and_as_a_list(tmp_path: Path) -> None:
    records = [exchange(turns, question) for question in ("A.", "B.") for turns in range(4)]
    lines, apart, one = write(tmp_path, *records), tmp_path / "apart.jsonl", tmp_path / "list.json"
    apart.write_bytes(b"\xef\xbb\xbf\r\n \n" + b" \r\n\r\n".join(json.dumps(each).encode() for each in records))
    one.write_text(json.dumps(records))
    found = list(import_trace(lines, "openai"))
    assert list(import_trace(apart, "openai")) == list(import_trace(one, "openai")) == found
    assert len(good(iter(found))) == 2


def test_conversations_whose_long_texts_differ_only_inside_are_different(tmp_path: Path) -> None:
    questions = [f"{'a' * 300}{letter}{'b' * 300}" for letter in "xy"]
    file = write(tmp_path, *(exchange(turns, question) for turns in (1, 3) for question in questions))
    assert len(good(import_trace(file, "openai"))) == 2
    file = write(tmp_path, exchange(1, questions[0]), exchange(3, questions[1]))
    assert [len(one.calls) for one in good(import_trace(file, "openai"))] == [2, 3]


def test_conversations_are_read_before_the_file_ends_if_no_other_can_repeat_them(tmp_path: Path) -> None:
    file = write(tmp_path, OPENAI, OPENAI, exchange(0), OPENAI, exchange(1))
    with file.open("a") as add:
        add.write("[\n")
    found = list(import_trace(file, "openai"))
    assert [len(one.calls) if isinstance(one, Episode) else one.line for one in found] == [4, 4, 4, 2, 6]


# Signs of formats


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("form", ["plain", "indented", "lines", "escaped", "compressed"])
def test_a_format_is_recognised_by_its_signs_wherever_it_is_without_them(name: str, form: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    text = json.dumps(RECORDS[name], indent=1 if form == "indented" else None)
    if form == "escaped":
        for sign in ("traceId", "jsonrpc", "eval"):
            text = text.replace(f'"{sign}"', f'"\\u{ord(sign[0]):04x}{sign[1:]}"')
    lines = f"{text}\n".encode() * (2 if form == "lines" else 1)
    file.write_bytes(gzip.compress(lines) if form == "compressed" else lines)
    without = [found.name for found, why in explain_formats(file) if why is None]
    if without:
        assert recognise_format(file).name == without[0]
    else:
        with pytest.raises(InputError):
            recognise_format(file)


def test_why_no_format_fits_is_said_as_without_signs(tmp_path: Path) -> None:
    file = write(tmp_path, {"jsonrpx": "2.0", "method": "tools/call", "params": {}}, name="one.json")
    with pytest.raises(InputError, match="nearest to mcp, but: no JSON-RPC message with an MCP method"):
        recognise_format(file)


def test_a_sign_is_found_across_the_blocks_of_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BLOCK", 50)
    for place in range(30, 60):
        file = tmp_path / f"{place}.json"
        file.write_text(f'{{"{"x" * place}": 1,\n "jsonrpc": "2.0"}}')
        assert Sample(file).may_have(["jsonrpc"])
        assert not Sample(file).may_have(["traceId", "run_type"])


def test_a_file_that_cannot_be_read_is_not_searched(tmp_path: Path) -> None:
    assert Sample(tmp_path / "none.json").may_have(["traceId"])
    with pytest.raises(InputError, match="not a known format"):
        recognise_format(tmp_path / "none.json")


# Kept records


def test_kept_records_come_back_as_they_were_also_between_others(tmp_path: Path) -> None:
    values = [
        {"a": [1, -(10**40), 1.5, -0.0, 1e300, None, True, "é\ud800\U0001f600"]},
        Problem("x.jsonl", 2, 3, "not JSON"),
        None,
        [[]] * 3,
        "x" * 100_000,
    ]
    file = tmp_path / "x.jsonl"
    file.write_text('{"b": 1}\n\n["\u00e9"]\nno JSON', encoding="utf-8")
    lines = list(read_records(file, lambda _: True))
    assert [place.start for place, _ in lines] == [0, 10, 17]
    copied = [(Place(str(file), number + 1, number or None), value) for number, value in enumerate(values)]
    records = [one for pair in zip_longest(copied, lines) for one in pair if one is not None]
    with KeptRecords(file) as kept:
        for number, (place, value) in enumerate(records):
            assert kept.add(place, value) == number
            assert kept.load(number // 2) == records[number // 2]
        assert list(kept) == records
        assert str(kept.load(0)[1]) == str(values[0])


def test_all_formats_write_the_same_episodes_from_a_list_and_from_lines(tmp_path: Path) -> None:
    for name in ALL:
        records = [{**RECORDS[name], "metadata": {"number": number}} for number in range(3)]
        lines, one = write(tmp_path, *records), tmp_path / "list.json"
        one.write_text(json.dumps(records, indent=2))
        texts = [[episode_json(episode) for episode in good(import_trace(file))] for file in (lines, one)]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 3


def test_signs_are_words_whose_escapes_are_known() -> None:
    for name in FORMATS:
        assert all(sign.replace("_", "").isalpha() and sign.isascii() for sign in load_format(name).signs)
