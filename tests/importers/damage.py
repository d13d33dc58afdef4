"""Damaged traces: with parts deleted, replaced or doubled; and helpers to write and read trace files."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from corepath import Episode
from corepath.errors import Problem, RecordError
from corepath.files.episodes import episode_json, read_episodes
from corepath.importers import import_trace
from corepath.importers.format import Format
from corepath.importers.reading import Sample
from corepath.importers.registry import recognise_format

JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2.5,
    "",
    "x",
    "[",
    [],
    [[]],
    [1],
    ["a"],
    {},
    {"a": 1},
    {"type": 5},
    {"id": []},
    [None],
]

Records = Callable[[Any], Iterator[Episode]]


def records_of(format_: Format) -> Records:
    """Read a value as a file of a format; a problem is raised as a `RecordError`."""

    def read_record(value: Any) -> Iterator[Episode]:
        with TemporaryDirectory() as folder:
            for one in format_.read(write(Path(folder), value, name="trace.json")):
                if isinstance(one, Problem):
                    raise RecordError(one.message)
                yield one

    return read_record


def mismatch_of(format_: Format, value: Any) -> str | None:
    """Why a file with this value is not in a format; None if it is."""
    with TemporaryDirectory() as folder:
        return format_.recognise(Sample(write(Path(folder), value, name="trace.json")))


@st.composite
def damaged(draw: st.DrawFn, record: Any) -> Any:
    """A record with one to three random changes."""
    record = copy.deepcopy(record)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(record))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        blow = draw(st.sampled_from(["delete", "replace", "double", "text"]))
        if blow == "delete":
            del holder[key]
        elif blow == "replace":
            holder[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        elif blow == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[key] = json.dumps(holder[key])
    return record


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield value, key
        yield from _places(one)


def survives(episodes: Records, record: Any) -> None:
    """Check that a record gives episodes that can be write, or a `RecordError` with a message, and nothing else."""
    why = None
    try:
        for episode in episodes(record):
            (line,) = read_episodes("episodes.jsonl", io.BytesIO(episode_json(episode).encode()))
            assert line.problem is None
            assert line.episode is not None
            assert line.episode.calls == episode.calls
    except RecordError as error:
        why = str(error)
    assert why != ""


def write(folder: Path, *records: Any, name: str = "trace.jsonl") -> Path:
    """Write records to a file, one per line."""
    file = folder / name
    texts = [json.dumps(record) for record in records]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


def read(file: Path, name: str) -> list[Episode]:
    """The episodes of a file, which must be recognised as this format and have no problems."""
    found = recognise_format(file).name
    assert found == name, f"taken for {found}"
    return good(import_trace(file))


def good(made: Iterator[Episode | Problem]) -> list[Episode]:
    """The episodes of an import, which must have no problems."""
    found = list(made)
    assert not [one for one in found if isinstance(one, Problem)]
    return [one for one in found if isinstance(one, Episode)]


def outcomes(made: Iterator[Episode | Problem]) -> list[str | int]:
    """The number of calls of each episode, and the message of each problem."""
    return [len(one.calls) if isinstance(one, Episode) else str(one) for one in made]
