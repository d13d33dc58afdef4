"""Read a data frame that pandas wrote by columns, so that it can be larger than memory."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from corepath.importers.json_parts import Text, read_parts
from corepath.importers.span_envelopes import table_span

_START: Final = re.compile(
    rb"""\s*\{\s*"(?:name|span_kind|parent_id|start_time|end_time|status_code|status_message|events|context\.\w+)"
    \s*:\s*\{""",
    re.VERBOSE,
)


def is_table_start(line: bytes) -> bool:
    """Return True if a line begins like a data frame with an object for each column."""
    return _START.match(line) is not None


def read_table(text: Text) -> Iterator[Mapping[str, Any]]:
    """Yield the spans in a data frame, row by row. The cells are first stored in a temporary database.

    Raises `PartError` at the first syntax error. The rows before the error are lost, since a row is whole only at the
    end of the file.
    """
    with closing(sqlite3.connect("")) as database:
        database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000; PRAGMA temp_store = FILE;"
            "CREATE TABLE rows (number INTEGER PRIMARY KEY, name TEXT UNIQUE);"
            "CREATE TABLE cells (row INTEGER, column TEXT, value BLOB);"
        )
        for path, _, value in read_parts(text, lambda path: len(path) <= 2):
            if len(path) == 3 and value is not None:
                _, column, row = path
                name = _storable(row)
                database.execute("INSERT OR IGNORE INTO rows (name) VALUES (?)", (name,))
                database.execute(
                    "INSERT INTO cells SELECT number, ?, ? FROM rows WHERE name = ?",
                    (_storable(column), json.dumps(value), name),
                )
        database.execute("CREATE INDEX by_row ON cells (row)")
        for number, name in database.execute("SELECT number, name FROM rows ORDER BY number"):
            cells = database.execute("SELECT column, value FROM cells WHERE row = ?", (number,))
            yield table_span({column: json.loads(value) for column, value in cells}, name)


def _storable(text: object) -> str:
    return str(text).encode("utf-8", "replace").decode()
