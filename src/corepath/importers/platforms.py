"""What the formats of tracing platforms share. Their rows become spans.

The attributes of such a span are the row's metadata, and fields that begin with a dot: `.input`, `.output`, `.model`,
`.usage`, `.scores`, and `.updated`, the time of the row's last change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE
from corepath.errors import RecordError
from corepath.importers.content import parse_result, time_of
from corepath.importers.otlp import Span
from corepath.importers.row_files import RowFormat
from corepath.importers.span_content import Chat, ToolRun
from corepath.importers.spans import Convention, SpanFormat, span_format
from corepath.importers.stored_messages import agent_messages, in_one_turn, read_messages
from corepath.values import is_number

_ENDED: Final = 2**62


def platform_format(
    name: str, errors: str, rows: RowFormat, kind: Callable[[Span], str | None], tool_run: Callable[[Span], ToolRun]
) -> SpanFormat:
    """Define the format of a tracing platform. `kind` and `tool_run` are as in `Convention`."""
    capture = "export the rows with their inputs and outputs"
    convention = Convention(
        rows.name, kind, lambda span: _chat(span, kind), tool_run, (".",), capture, _version, Outcome
    )
    made = span_format(name, errors, convention, rows.read, rows.trace_of)
    return replace(made, recognise=lambda sample: rows.recognise(sample.file), signs=rows.keys)


def nanoseconds(given: Any) -> int:
    """Convert a time in any form that `time_of` reads to nanoseconds, or return 0 if it is missing or malformed."""
    time = time_of(given)
    return 0 if time is None else round(time * 10**6) * 1000


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not null and not empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def object_in(value: Any) -> dict[str, Any]:
    """Return an object, or the object in a JSON string. Anything else becomes an empty object."""
    value = parse_result(value)
    return dict(value) if isinstance(value, dict) else {}


def _version(span: Span) -> int:
    """Rank the versions of a row that was exported more than once: those that have ended, and then by last change."""
    updated = span.attributes.get(".updated")
    known = updated if isinstance(updated, int) else 0
    return (_ENDED if span.end > 0 else 0) + min(max(known, 0), _ENDED - 1)


def _chat(span: Span, kind: Callable[[Span], str | None]) -> Chat:
    """Return the messages of a model call, or of a whole agent."""
    attributes = span.attributes
    given, output = attributes.get(".input"), attributes.get(".output")
    unread: tuple[str, ...] = ()
    if kind(span) == "agent":
        sent, said = agent_messages(given, output)
        return Chat(tuple(sent), tuple(said))
    try:
        sent = read_messages(given, "user")
    except RecordError as error:
        sent, unread = [], (str(error),)
    said = [] if span.failed and isinstance(output, str) else read_messages(output, "assistant")
    return Chat(tuple(sent), in_one_turn(said), attributes.get(".model"), unread, attributes.get(".usage") or {})


@dataclass
class Outcome:
    """The scores that people and programs gave to a trace, and whether its last call of a model failed.

    Scores are metadata. Only if there is exactly one number named `reward`, it is the episode's reward.
    """

    scores: list[Mapping[str, Any]] = field(default_factory=list)
    failure: str | None = None

    def add(self, span: Span, kind: str | None) -> None:
        """Add a span. Spans are added in order of their start times."""
        self.scores += span.attributes.get(".scores") or []
        if kind == "chat":
            self.failure = (span.status or "error") if span.failed and not span.attributes.get(".output") else None

    def fields(self) -> dict[str, Any]:
        """Return the scores, the reward, and why the episode failed for a reason that is not the agent's."""
        values = [one.get("value") for one in self.scores if one.get("name") == "reward"]
        rewards = [one for one in values if is_number(one)]
        found: dict[str, Any] = {"metadata": {"scores": self.scores}} if self.scores else {}
        if len(rewards) == 1:
            found["reward"] = rewards[0]
        if self.failure is not None:
            found |= {"ended": FAILED_OUTSIDE, "failure": {"kind": "model call failed", "message": self.failure}}
        return found
