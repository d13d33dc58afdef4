"""Episodes in JSON lines, read in one pass into numbers.

A line in an unusual form, e.g. with unknown keys, is read as every other command reads it. So is a line that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from corepath.values import DEEPEST

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class CallLine(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A call in a line."""

    tool: str
    arguments: Any
    result: Any = msgspec.UNSET
    error: Any = None
    id: str | None = None
    turn: int | None = None
    time: Any = None
    seconds: Any = None


class EpisodeLine(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """An episode in a line, with the keys that are usual. The text of its calls is kept as it is, or is cut out."""

    task: str
    calls: list[msgspec.Raw] | int
    version: Literal[1] = 1
    agent: str | None = None
    epoch: Int64 = 0
    seed: Int64 | None = None
    fingerprint: str | None = None
    scoring: Literal["paper", "recommended"] | dict[str, Any] | None = None
    params: dict[str, Any] = {}
    answer: Any = None
    messages: list[Any] = []
    other_calls: list[CallLine] = []
    ended: Any = None
    failure: Any = None
    fault: Any = None
    no_agent_actions: Any = None
    reward: Any = None
    usage: Any = None
    seconds: Any = None
    trace: Any = None
    scores: Any = None
    state: Any = None
    benchmark: Any = None
    metadata: Any = None
    reward_info: Any = None

    @property
    def has_facts(self) -> bool:
        """Whether one of the keys in `FACTS` is there."""
        return not (
            self.ended is None and self.reward is None and self.usage is None and self.trace is None
            and self.metadata is None and self.seconds is None and self.failure is None and self.fault is None
            and self.no_agent_actions is None
        )  # fmt: skip

    @property
    def facts(self) -> dict[str, Any]:
        """What `Episode` knows beside the calls and decides what it cost and whether it counts."""
        named = {name: getattr(self, name) for name in FACTS}
        return {name: value for name, value in named.items() if value is not None}


FACTS: Final = ("ended", "failure", "fault", "no_agent_actions", "reward", "usage", "seconds", "trace", "metadata")
"""The keys that say what an episode cost, how it ended and where it comes from."""


@dataclass(frozen=True)
class Lines:
    """Lines of a file, one after another in `block`. `starts` says where each begins, and where the last one ends.

    `first` is the number of the first line, from 1. `offset` is how many bytes come before it in the file. In a packed
    file, it is None.
    """

    block: bytes
    starts: npt.NDArray[np.int64]
    first: int = 1
    offset: int | None = 0

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> bytes:
        return self.block[self.starts[place] : self.starts[place + 1]]

    def is_blank(self, place: int) -> bool:
        """Whether there is nothing in a line."""
        return self[place].strip() in (b"", b"\xef\xbb\xbf")


_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_decode: Final = msgspec.json.Decoder(EpisodeLine).decode
_decode_lines: Final = msgspec.json.Decoder(EpisodeLine).decode_lines
parse_call: Final = msgspec.json.Decoder(CallLine).decode
"""Parse the text of a call in the usual form. Raises `ValueError` if it has another form or is wrong."""


def parse_line(text: bytes) -> EpisodeLine | None:
    """Parse a line in the usual form, or return None if it has another form or may be wrong."""
    try:
        found = _decode(text)
    except (ValueError, RecursionError):
        return None
    return found if is_shallow(text) else None


def parse_lines(texts: Sequence[bytes]) -> list[EpisodeLine | None]:
    """Parse lines as `parse_line` does, all at once if nothing is wrong with any of them. None of them is blank."""
    try:
        found: list[EpisodeLine | None] = [*_decode_lines(b"\n".join(texts))]
    except (ValueError, RecursionError):
        found = []
    if len(found) != len(texts):
        return [*map(parse_line, texts)]
    if max(map(len, texts), default=0) <= 2 * DEEPEST:
        return found
    return [line if is_shallow(text) else None for text, line in zip(texts, found, strict=True)]


def is_shallow(text: bytes, deepest: int = DEEPEST) -> bool:
    """Whether a text is surely not nested deeper than allowed. Brackets inside strings count as well."""
    if len(text) <= 2 * deepest or text.count(b"[") + text.count(b"{") <= deepest:
        return True
    left = text.translate(None, _NO_BRACKETS)
    for _ in range(deepest):
        shorter = left.replace(b"[]", b"").replace(b"{}", b"")
        if not shorter or shorter == left:
            return not shorter
        left = shorter
    return False


def is_failed(error: Any) -> bool:
    """Whether a call with this error failed, as `Call.failed` says."""
    return error is not None and error is not False and error != ""


def split_lines(block: bytes, first: int = 1, offset: int | None = 0) -> Lines:
    """Split a part of a file into lines."""
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
    rest = [len(block)] if block and not block.endswith(b"\n") else []
    return Lines(block, np.concatenate(([0], ends, rest)).astype(np.int64), first, offset)


def join_lines(texts: Iterable[bytes]) -> Lines:
    """Put the texts of lines together. They may have line ends or not."""
    known = [*texts]
    return Lines(b"".join(known), np.cumsum([0, *map(len, known)], dtype=np.int64))
