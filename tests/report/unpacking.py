"""Puts together what a page's records were taken apart into, as plainly as can be."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any
from zlib import decompress


def unpacked(text: str) -> Any:
    """The value that was packed."""
    parts = json.loads(decompress(b64decode(text)))
    numbers = [[iter(column.split(" ")) for column in holes] for holes in parts["numbers"]]
    texts: list[str] = []
    met = 0
    for pieces in parts["texts"]:
        made = ""
        for number in pieces:
            piece, met = (number - 1, met) if number else (met, met + 1)
            first, *rest = parts["pieces"][piece].split("\0")
            made += first + "".join(next(hole) + part for hole, part in zip(numbers[piece], rest, strict=True))
        texts.append(made)
    unmet = iter(texts)
    columns: dict[str, Iterator[Any]] = {place: iter(column) for place, column in parts["columns"].items()}

    def value(kind: str, place: str) -> Any:
        one = next(columns[place])
        if kind == "text":
            return texts[one - 1] if one else next(unmet)
        if kind == "object":
            return {key: value(inner, f"{place}.{key}") for key, inner in parts["shapes"][one]}
        if kind == "list":
            return [value(inner, f"{place}[]") for count, inner in parts["shapes"][one] for _ in range(count)]
        return one

    return value(parts["kind"], "")
