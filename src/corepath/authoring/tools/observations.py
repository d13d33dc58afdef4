"""What runs show about tools: their arguments, and how answers change when calls are repeated.

If a call is repeated, what came between says something: a tool that answers alike may only read, and a tool after which
a read answers differently writes.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from corepath.episode import Episode
from corepath.notation.call import UNANSWERED, Call
from corepath.values import canonical, parse_json

Answer = Literal["alike", "other", "refused"]

MOST_TOOLS: Final = 10_000
"""The most different tools that are described."""
MOST_PARAMETERS: Final = 100
"""The most arguments of one tool that are counted. If there are more, they are data rather than parameters."""
MOST_TEXTS: Final = 200
"""The most different values of one argument that are kept."""
LONGEST_NAME: Final = 500
"""The longest name of a tool that is described."""
_FEWEST_TEXTS: Final = 3
_LONG: Final = 20
_LONGEST_TEXT: Final = 500
"""How many characters of a text are compared."""
_MOST_BETWEEN: Final = 8
"""If more different tools were called between two equal calls, nothing can be learned from the pair."""
_MOST_PAIRS: Final = 200_000
_LONGEST_ACK: Final = 80
_DONE: Final = re.compile(r"(?:ok(?:ay)?|done|success|succeeded|unchanged)\W*", re.IGNORECASE)
_CHANGED: Final = re.compile(
    r"(?:ok(?:ay)?|done|success)\b\W.*|"
    r"(?!no\b|not\b)(?:[\w'-]+\W+){0,6}(?:successfully|created|updated|deleted|removed|sent|saved|added|booked|"
    r"cancell?ed|changed|moved|stored|scheduled|submitted|started|stopped|enabled|disabled|locked|unlocked|renamed|"
    r"published|recorded|deposited|transferred|paid|placed|inserted|written|archived|restored)\b.*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Repeat:
    """A call that was made again with equal arguments in one episode, and the other tools called between."""

    tool: str
    between: frozenset[str]
    answer: Answer


@dataclass
class Values:
    """The values of one argument."""

    count: int = 0
    not_text: int = 0
    length: int = 0
    """The length of all texts together."""
    texts: set[str] = field(default_factory=set)
    more_texts: int = 0
    """The number of texts beyond those that are kept."""

    def add(self, value: Any) -> None:
        """Add the value of one call."""
        self.count += 1
        if not isinstance(value, str):
            self.not_text += 1
            return
        self.length += len(value)
        if len(self.texts) < MOST_TEXTS:
            self.texts.add(value[:_LONGEST_TEXT])
        elif value[:_LONGEST_TEXT] not in self.texts:
            self.more_texts += 1

    @property
    def different(self) -> int:
        """The number of different texts."""
        return len(self.texts) + self.more_texts

    @property
    def is_free_text(self) -> bool:
        """Whether the values are long texts that are nearly all different."""
        few = self.count < _FEWEST_TEXTS or self.not_text > 0
        return not few and self.length >= _LONG * self.count and self.different * 5 >= self.count * 4


@dataclass
class Usage:
    """How one tool was called."""

    calls: int = 0
    named: int = 0
    """The number of calls whose arguments are an object."""
    answers: int = 0
    acknowledged: int = 0
    """The number of answers that only say that something was done."""
    example: str = ""
    """The first answer that only says so."""
    arguments: dict[str, Values] = field(default_factory=dict)
    too_many: bool = False
    """Whether there were more different arguments than are counted."""

    def add(self, call: Call) -> None:
        """Add a call."""
        self.calls += 1
        if not call.malformed:
            self.named += 1
            self._add_arguments(call.arguments)
        if call.failed or call.result is UNANSWERED:
            return
        self.answers += 1
        if (text := acknowledgement(call.result)) is not None:
            self.acknowledged += 1
            self.example = self.example or text

    def _add_arguments(self, arguments: Mapping[str, Any]) -> None:
        for name, value in arguments.items():
            if name not in self.arguments and len(self.arguments) >= MOST_PARAMETERS:
                self.too_many = True
                continue
            self.arguments.setdefault(name, Values()).add(value)

    @property
    def parameters(self) -> dict[str, bool] | None:
        """The arguments that were seen, each with whether every call had it. None if they are not known."""
        if self.too_many or not self.named:
            return None
        return {name: values.count == self.named for name, values in self.arguments.items()}


class Observations:
    """Collects what episodes show. Memory is bounded by the number of tools, not of episodes."""

    def __init__(self) -> None:
        self.tools: dict[str, Usage] = {}
        self.repeats: Counter[Repeat] = Counter()
        self.episodes = 0
        self.left_out = 0
        """The number of calls of tools that are not described, because their names are too long or too many."""

    def add(self, episode: Episode) -> None:
        """Add the calls of an episode."""
        self.episodes += 1
        calls = [call for call in episode.calls if self._is_known(call.tool)]
        for call in calls:
            self.tools[call.tool].add(call)
        if episode.other_calls:  # others may have changed anything at any time
            return
        for repeat in _find_repeats(calls):
            if repeat in self.repeats or len(self.repeats) < _MOST_PAIRS:
                self.repeats[repeat] += 1

    def _is_known(self, tool: str) -> bool:
        if tool in self.tools:
            return True
        if not tool or len(tool) > LONGEST_NAME or len(self.tools) >= MOST_TOOLS:
            self.left_out += 1
            return False
        self.tools[tool] = Usage()
        return True


def _find_repeats(calls: list[Call]) -> Iterator[Repeat]:
    """Yield each successful call that was made again, with what was called between."""
    answers: dict[tuple[str, str], tuple[int, str]] = {}
    last: OrderedDict[str, int] = OrderedDict()
    for place, call in enumerate(calls):
        if call.result is UNANSWERED and not call.failed:
            last[call.tool] = place
            last.move_to_end(call.tool)
            continue
        key = (call.tool, canonical(call.arguments))
        answer = None if call.failed else canonical(call.result)
        if key in answers:
            since, before = answers[key]
            between = _called_since(last, since)
            if between is not None:
                yield Repeat(call.tool, between, "refused" if answer is None else _compare(before, answer))
        if answer is None:
            continue
        answers[key] = (place, answer)
        last[call.tool] = place
        last.move_to_end(call.tool)


def _called_since(last: OrderedDict[str, int], since: int) -> frozenset[str] | None:
    """Return the tools that were called after a place, or None if there are too many."""
    found = set()
    for tool in reversed(last):
        if last[tool] <= since:
            break
        found.add(tool)
        if len(found) > _MOST_BETWEEN:
            return None
    return frozenset(found)


def _compare(one: str, other: str) -> Answer:
    return "alike" if one == other else "other"


def acknowledgement(result: Any) -> str | None:
    """Return a result that only says that something was done, as in `ok` or `Email sent`, or None if it says more.

    A single word such as `sent` may be a status that was read.
    """
    if isinstance(result, str) and result[:1] in ("{", '"') and len(result) <= 2 * _LONGEST_ACK:
        try:
            result = parse_json(result)
        except ValueError:
            return None
    if isinstance(result, Mapping) and len(result) == 1:
        key, value = next(iter(result.items()))
        done = value is True and key in ("success", "ok", "done")
        return f"{key}: true" if done else acknowledgement(value) if isinstance(value, str) else None
    if not isinstance(result, str):
        return None
    text = result.strip()
    if not text or len(text) > _LONGEST_ACK:
        return None
    changed = " " in text and _CHANGED.fullmatch(text)
    return text if changed or _DONE.fullmatch(text) else None
