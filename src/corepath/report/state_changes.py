"""What a call changed in a world's state: the paths that differ, with the values before and after as short texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from typing import Any, Final

from corepath.values import equal, is_name

MOST_CHANGES: Final = 20
"""The most changes that are listed for a call."""
LONGEST: Final = 160
"""The longest text of a value, in characters. Longer texts are cut to the part around the first difference."""
_BEFORE: Final = 40
"""How many characters are shown before the first difference of two long texts."""
_ABSENT: Final = object()

Change = tuple[str, str | None, str | None]
"""A path, and the value's text before and after. A text is None if there is no value."""


def changed_values(before: Any, after: Any, most: int = MOST_CHANGES) -> list[Change]:
    """List the first `most` places where two JSON values differ."""
    return [(path, *_texts(old, new)) for path, old, new in islice(_differences(before, after, ""), most)]


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each value that differs, with the values before and after."""
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            yield from _differences(before.get(name, _ABSENT), after.get(name, _ABSENT), _join(path, str(name)))
    elif isinstance(before, list) and isinstance(after, list):
        for place, (old, new) in enumerate(zip_longest(before, after, fillvalue=_ABSENT)):
            yield from _differences(old, new, f"{path}[{place}]")
    elif before is _ABSENT or after is _ABSENT or not equal(before, after):
        yield path, before, after


def _join(path: str, name: str) -> str:
    """Add a key to a path. A key that is no plain name is put in brackets and quotes."""
    if is_name(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def _texts(old: Any, new: Any) -> tuple[str | None, str | None]:
    """Write two values. Of long texts, the part around the first difference is shown."""
    one, other = (None if value is _ABSENT else json.dumps(value, ensure_ascii=False) for value in (old, new))
    begin = 0
    if one is not None and other is not None and max(len(one), len(other)) > LONGEST:
        pairs = enumerate(zip(one, other, strict=False))
        first = next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
        begin = max(0, first - _BEFORE)
    return _cut(one, begin), _cut(other, begin)


def _cut(text: str | None, begin: int) -> str | None:
    if text is None:
        return None
    end = begin + LONGEST
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if len(text) > end else ''}"
