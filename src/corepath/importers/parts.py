"""Define formats whose records are whole conversations, or single parts of one conversation in each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from corepath.episode import Episode
from corepath.errors import Problem
from corepath.importers.format import Format, Mismatch, ReadRecord, recognise_records
from corepath.importers.reading import Place, read_records, try_record


def parts_format(
    name: str,
    errors: str,
    mismatch: Mismatch,
    read_record: ReadRecord,
    is_part: Callable[[Any], bool],
    repeats: Callable[[list[Any], Any], bool] = lambda _, __: False,
) -> Format:
    """Define a format whose records are conversations, or parts of one, such as events.

    `errors` says when a call counts as failed. All parts in a file, up to a record that is a whole conversation, are
    read as the list of them. They are left out if `repeats` says that the conversation after them repeats them.
    """

    def read(file: Path) -> Iterator[Episode | Problem]:
        parts: list[Any] = []
        empty = True
        for where, value in read_records(file, lambda one: mismatch(one) is None):
            empty = False
            if isinstance(value, Problem):
                yield value
            elif is_part(value):
                parts.append(value)
            else:
                if parts and not repeats(parts, value):
                    yield from try_record(Place(str(file)), parts, read_record)
                parts = []
                yield from try_record(where, value, read_record)
        if parts:
            yield from try_record(Place(str(file)), parts, read_record)
        elif empty:
            yield Problem(str(file), 1, 1, "no records in this file")

    return Format(name, errors, lambda sample: recognise_records(sample, mismatch), read)
