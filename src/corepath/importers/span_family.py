"""How the spans in a trace are nested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

Family = Mapping[str, tuple[str | None, str | None]]
"""The parent id and kind of each span, keyed by span id. Both may be None."""


def ancestors(family: Family, parent: str | None, span: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Yield the id and kind of each span that encloses `span`, nearest first, beginning with `parent`."""
    seen = {span}
    while parent is not None and parent in family and parent not in seen:
        seen.add(parent)
        above, kind = family[parent]
        yield parent, kind
        parent = above


def put_parents_first(spans: Sequence[tuple[int, str | None, int]], family: Family) -> Iterator[int]:
    """Yield the numbers of spans in their order, but a span before those inside it that start at the same time.

    Each span has a number, an id and a start.
    """
    starts = {id_: (number, start) for number, id_, start in reversed(spans) if id_ is not None}
    done: set[int] = set()
    for number, id_, start in spans:
        chain = [number]
        for above, _ in ancestors(family, family[id_][0], id_) if id_ is not None else ():
            if starts[above][1] != start:
                break
            chain.append(starts[above][0])
        for one in reversed(chain):
            if one not in done:
                done.add(one)
                yield one


def find_outer_chats(family: Family) -> list[str]:
    """Return the chat spans that enclose several chat spans, with no agent or tool in between.

    Chat spans that enclose each other are counted as one.
    """
    outer = {id_: _chats_around(family, id_) for id_, (_, kind) in family.items() if kind == "chat"}
    around_others = {one for around in outer.values() for one in around}
    inner = [id_ for id_ in outer if id_ not in around_others]
    counted = Counter(one for id_ in inner for one in outer[id_])
    return [id_ for id_, count in counted.items() if count > 1]


def _chats_around(family: Family, span: str) -> list[str]:
    found: list[str] = []
    for id_, kind in ancestors(family, family[span][0], span):
        if kind == "chat":
            found.append(id_)
        elif kind is not None:
            break
    return found
