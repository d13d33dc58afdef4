"""Records as few letters: what is alike stands together, and what is the same stands once.

A value is taken apart into columns, one for each place of a record, since values of one place are like each other.
Texts stand in a list of their own, each once, in pieces; the numbers in a piece are taken out of it, so that pieces
that differ in their numbers only are one. Of texts and of pieces, the next one that was not met before is 0, and one
that was met is its number from 1. `packing.js` puts it together again.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, Final
from zlib import compress

_PIECE: Final = re.compile(r"<[^<>]*>\n?|[^<→;.,:\n]+[→;.,:\n]* ?|.", re.DOTALL)
"""A tag of a drawing, or words up to a stop."""
_HOLE: Final = "\0"
"""Where a number was taken out. The sign itself is taken out as if it were one."""
_NUMBER: Final = re.compile(f"-?[0-9]+|{_HOLE}")


def packed(value: Any) -> str:
    """A JSON value, taken apart and deflated, in letters that mean nothing to a page. Any text can be in it."""
    parts = _Parts()
    kind = parts.take(value, "")
    made = json.dumps({"kind": kind, **parts.to_dict()}, separators=(",", ":")).encode("ascii")
    return b64encode(compress(made, 9)).decode("ascii")


@dataclass
class _Parts:
    """What a value is taken apart into.

    Each place of the value has a column: the shape of a list or an object, the number of a text, and all else itself.
    """

    columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    shapes: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)

    def take(self, value: Any, place: str) -> str:
        """Notes a value, and gives its kind."""
        if isinstance(value, Mapping):
            shape = [[key, self.take(one, f"{place}.{key}")] for key, one in value.items()]
            self.columns[place].append(self._shape(shape))
            return "object"
        if isinstance(value, (list, tuple)):
            kinds = [self.take(one, f"{place}[]") for one in value]
            self.columns[place].append(self._shape([[len(list(same)), kind] for kind, same in groupby(kinds)]))
            return "list"
        if isinstance(value, str):
            self.columns[place].append(_met(self.texts, value))
            return "text"
        self.columns[place].append(value)
        return "value"

    def _shape(self, shape: Iterable[Any]) -> int:
        return self.shapes.setdefault(json.dumps(shape), len(self.shapes))

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON."""
        pieces: dict[str, int] = {}
        taken: dict[str, list[list[str]]] = defaultdict(list)
        texts = []
        for text in self.texts:
            numbers = iter(_NUMBER.findall(text))
            found = []
            for piece in _PIECE.findall(_NUMBER.sub(_HOLE, text)):
                found.append(_met(pieces, piece))
                if _HOLE in piece:
                    taken[piece].append(list(islice(numbers, piece.count(_HOLE))))
            texts.append(found)
        return {
            "shapes": list(map(json.loads, self.shapes)),
            "columns": self.columns,
            "texts": texts,
            "pieces": list(pieces),
            "numbers": [_columns(taken[piece]) for piece in pieces],
        }


def _met(known: dict[str, int], one: str) -> int:
    """The number of one that was met before, or 0; then it is the next one."""
    if one in known:
        return known[one]
    known[one] = len(known) + 1
    return 0


def _columns(rows: list[list[str]]) -> list[str]:
    return [" ".join(column) for column in zip(*rows, strict=True)]
