"""Which files can be read, and which records of a broken file."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from corepath.errors import InputError, Problem
from corepath.importers import import_trace
from corepath.importers.reading import read_records

from .conversations import ALL
from .damage import good

ONE: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]}
LINE = json.dumps(ONE)
PRETTY = json.dumps(ONE, indent=1)


def read(file: Path, text: str) -> list[Any]:
    """True for each record that is read, and the line of each problem."""
    file.write_text(text, encoding="utf-8")
    return [
        one.line if isinstance(one, Problem) else one == ONE
        for _, one in read_records(file, lambda value: isinstance(value, dict))
    ]


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.ndjson", "x"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LINE, [True]),
        (f"{LINE}\n\n{LINE}\n", [True, True]),
        (f"{LINE[:30]}\n{LINE}\n{LINE}\n", [1, True, True]),
        (f"words\n{LINE}\n{LINE[:30]}\n", [1, True, 3]),
        (f"{'[' * 300}{']' * 300}\n{LINE}\n", [1, True]),
        (PRETTY, [True]),
        (PRETTY[:-4], [PRETTY.count("\n")]),
        (f"{PRETTY}\n{PRETTY}", [True, True]),
        (f"{PRETTY}\n{PRETTY[:-4]}", [True, 2 * PRETTY.count("\n") + 1]),
        (f"[\n{LINE},\n{LINE}\n]", [True, True]),
        (f"[{LINE},\n{LINE}\n]", [True, True]),
        (f"[\n{LINE}\n]", [True]),
        (f"[{LINE},\n{LINE},\n{LINE[:30]}", [True, True, 3]),
    ],
)
def test_what_a_file_is_is_told_by_what_it_holds(name: str, text: str, found: list[Any], tmp_path: Path) -> None:
    assert read(tmp_path / name, text) == found


def test_numbers_that_are_none_are_kept_as_texts(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('[{"a": NaN}, {"a": [-Infinity, 1e999]}, {"a": "x')
    found = [value for _, value in read_records(file, lambda _: False)]
    assert found[:2] == [{"a": "NaN"}, {"a": ["-Infinity", "1e999"]}]
    assert isinstance(found[2], Problem)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (gzip.compress(LINE.encode(), mtime=0), "compressed with gzip; unpack it first"),
        (LINE.encode("utf-16"), "UTF-16; save it as UTF-8"),
        (LINE.encode("utf-16-le"), "UTF-16; save it as UTF-8"),
    ],
)
def test_what_is_no_text_to_read_says_what_it_is(raw: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(raw)
    for name in ("auto", "openai", "tau2"):
        with pytest.raises(InputError) as caught:
            list(import_trace(file, name))
        assert str(caught.value) == f"{file}:1:1: {why}"


def test_a_folder_and_a_file_that_is_not_there_are_told(tmp_path: Path) -> None:
    for name in ("auto", "tau2", "inspect"):
        with pytest.raises(InputError, match="a folder; name the files in it"):
            list(import_trace(tmp_path, name))
        with pytest.raises(InputError, match="no such file"):
            list(import_trace(tmp_path / "nix", name))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("given", ["auto", "format"])
def test_a_pipe_is_read_as_a_file_is(name: str, given: str, tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.write_text(json.dumps(ALL[name][1]))
    write = threading.Thread(target=pipe.write_text, args=(file.read_text(),))
    write.start()
    format_ = "auto" if given == "auto" else name
    assert good(import_trace(pipe, format_)) == good(import_trace(file, format_))
    write.join()
