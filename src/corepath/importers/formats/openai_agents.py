"""Read traces of the OpenAI Agents SDK: its traces and spans, the state of a run, and rows of a stored session.

Traces and spans are the objects that the SDK's tracing exports, one by one or under `data`. Each trace is one episode,
which is named after its first agent. A call is a function span. If the spans of the model have their messages, calls
that were never executed are read from there, too. The spans of the Responses API have no messages, so the user's
words, the agent's words and the tools that the API runs are not known there.

A hand-over to another agent is a call, as it is for the model, and did not fail. Without messages, its name is the
SDK's default name for it, e.g. `transfer_to_billing`. What agents do inside a tool (`Agent.as_tool`) is left out. A
call by another agent than the first has the name of that agent in its `extra`.

The state of a run and the rows of a session hold items of the Responses API, and are read like these. Lists of such
items are read by the format `openai-responses`. If the last request to the model failed, the failure does not count
against the agent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE, TURN_LIMIT, Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result, text_of, time_of
from corepath.importers.formats import openai_responses
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript
from corepath.values import arguments_of, canonical

_SPAN: Final = "trace.span"
_MODEL_SPANS: Final = ("generation", "response")
_MAX_TURNS: Final = "Max turns exceeded"
_KEPT: Final = ("$schemaVersion", "current_turn", "max_turns", "conversation_id", "previous_response_id")
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_]")
_EXPECTED: Final = "no 'trace' or 'trace.span' of the Agents SDK, no state of a run, and no row of a session"


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if any(_is_known(one) for one in _split(value)):
        return None
    return _EXPECTED


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episode in the records of one trace, run or session. Raises `RecordError` if a record is malformed."""
    known = [record for record in records if _is_known(record)]
    if not known:
        raise RecordError(_EXPECTED)
    if _is_state(known[0]):
        yield _read_state(known[-1])
    elif _is_row(known[0]):
        items = [parse_result(row["message_data"]) for row in known if _is_row(row)]
        (episode,) = openai_responses.read_record(list(objects(items, "the messages of a session")))
        yield replace(episode, extra={**episode.extra, "metadata": {"session_id": known[0].get("session_id")}})
    else:
        yield _read_trace([record for record in known if _is_trace_part(record)])


def _split(value: Any) -> Iterator[Any]:
    """Yield the objects in a value. The exporter puts traces and spans under `data`."""
    data = value.get("data") if isinstance(value, dict) else None
    if isinstance(data, list) and any(map(_is_trace_part, data)):
        yield from data
    else:
        yield value


def _is_known(value: Any) -> bool:
    return _is_trace_part(value) or _is_state(value) or _is_row(value)


def _is_trace_part(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    is_span = value.get("object") == _SPAN and isinstance(value.get("span_data"), dict)
    return is_span or (value.get("object") == "trace" and "workflow_name" in value)


def _is_state(value: Any) -> bool:
    return isinstance(value, dict) and "original_input" in value and isinstance(value.get("generated_items"), list)


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and "session_id" in value and isinstance(value.get("message_data"), str)


def _key(record: Any) -> str | None:
    if _is_state(record):
        return f"state {blake2b(canonical(record).encode(), digest_size=8).hexdigest()}"
    if _is_row(record):
        return str(record["session_id"])
    if not _is_trace_part(record):
        return None
    return str(record.get("trace_id" if record.get("object") == _SPAN else "id"))


# States


def _read_state(state: Mapping[str, Any]) -> Episode:
    given = state["original_input"]
    items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else _messages(given)
    made = list(objects(state["generated_items"], "'generated_items'"))
    items += [one.get("raw_item") for one in made if one.get("type") != "tool_approval_item"]
    (episode,) = openai_responses.read_record(_messages(items) or [{}])
    counted = Transcript()
    for response in objects(state.get("model_responses"), "'model_responses'"):
        counted.add_usage(response.get("usage"))
    agents = (one["agent"].get("name") for one in made if isinstance(one.get("agent"), dict))
    metadata = {name: state[name] for name in _KEPT if name in state}
    extra = {**episode.extra, "metadata": metadata} | ({"usage": counted.usage} if counted.usage else {})
    return replace(episode, agent=_first_text(agents), extra=extra)


def _first_text(values: Iterable[Any]) -> str | None:
    return next((one for one in values if isinstance(one, str)), None)


# Traces


def _read_trace(records: list[Mapping[str, Any]]) -> Episode:
    traces = [record for record in records if record.get("object") != _SPAN]
    records = sorted(records, key=lambda one: one.get("ended_at") is not None)  # the span that ended counts
    spans = {str(record.get("id")): record for record in records if record.get("object") == _SPAN}
    if not spans:
        raise RecordError("the trace has no spans")
    reader = _Trace(spans)
    for span in sorted(spans.values(), key=lambda one: time_of(one.get("started_at")) or 0.0):
        if not reader.is_inside_call(span):
            reader.add(span)
    found = {**(traces[0] if traces else {}), "guardrails": reader.guardrails, "errors": reader.errors}
    return reader.transcript.to_episode(reader.agent, metadata=metadata_of(found, "object"), **reader.ending())


@dataclass
class _Trace:
    """Reads the spans of a trace, in the order in which they started."""

    spans: Mapping[str, Mapping[str, Any]]
    transcript: Transcript = field(default_factory=Transcript)
    agent: str | None = None
    guardrails: list[str] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)
    failure: dict[str, Any] | None = None
    _said: Counter[str] = field(default_factory=Counter)

    def is_inside_call(self, span: Mapping[str, Any]) -> bool:
        """Return True if a span is inside a function span."""
        return any(_data(one).get("type") == "function" for one in self._ancestors(span))

    def add(self, span: Mapping[str, Any]) -> None:
        """Add what a span says."""
        data = _data(span)
        kind, name = data.get("type"), data.get("name")
        if kind in _MODEL_SPANS:
            self._add_model_span(span, data)
        elif kind == "function":
            self._add_function(span, data)
        elif kind == "handoff":
            self._add_handoff(span, data)
        elif kind == "agent":
            self.agent = self.agent or (name if isinstance(name, str) else None)
            self.errors += [span["error"]] if span.get("error") else []
        elif kind == "guardrail" and data.get("triggered") is True:
            self.guardrails.append(str(name))

    def ending(self) -> dict[str, Any]:
        """Return how the episode ended, as far as the trace says so."""
        if self.failure is not None:
            return {"ended": FAILED_OUTSIDE, "failure": self.failure}
        return {"ended": TURN_LIMIT} if any(_error(one)[0] == _MAX_TURNS for one in self.errors) else {}

    def _ancestors(self, span: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        seen = set()
        parent = str(span.get("parent_id"))
        while parent in self.spans and parent not in seen:
            seen.add(parent)
            yield self.spans[parent]
            parent = str(self.spans[parent].get("parent_id"))

    def _add_model_span(self, span: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        kind, reason = _error(span.get("error"))
        self.failure = {"kind": kind, "message": reason} if kind else None
        self.transcript.start_turn()
        self.transcript.add_usage(data.get("usage"), model=data.get("model"))
        self._add_input(data.get("input"), span.get("started_at"))
        response = data.get("response")
        output = response.get("output") if isinstance(response, dict) else data.get("output")
        for message in _messages(output):
            self.transcript.add_text(text_of(message.get("content")), time=span.get("ended_at"))
            for call in objects(message.get("tool_calls"), "tool calls"):
                made = call.get("function")
                if not isinstance(made, dict):
                    raise RecordError("a tool call needs a 'function'")
                self.transcript.add_call(made.get("name"), made.get("arguments"), call.get("id"), **self._who(span))

    def _add_input(self, given: Any, time: Any) -> None:
        """Add the messages by the user and the system that earlier requests did not contain."""
        counted: Counter[str] = Counter()
        for message in [{"role": "user", "content": given}] if isinstance(given, str) else _messages(given):
            role = str(message.get("role"))
            if role in ("user", "system", "developer"):
                key = canonical([role, message.get("content")])
                counted[key] += 1
                if counted[key] > self._said[key]:
                    self.transcript.add_message(role, message_text(message.get("content")), time=time)
        self._said |= counted

    def _add_function(self, span: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        name, given, output = data.get("name"), data.get("input"), data.get("output")
        place = self._find_open(name, given)
        if place is None:
            if given is None:
                raise RecordError(
                    f"the arguments of {str(name)[:60]!r} were not captured; set trace_include_sensitive_data to True"
                )
            details = data.get("mcp_data")
            server = {"mcp": details} if isinstance(details, dict) and details else {}
            place = len(self.transcript.calls)
            self.transcript.add_call(name, given, **self._who(span), **server)
        self._answer(place, span, output)

    def _add_handoff(self, span: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Add a hand-over to another agent. It never counts as failed."""
        target = data.get("to_agent")
        name = _NOT_IN_A_NAME.sub("_", f"transfer_to_{target}").lower()
        place = self._find_open(name, None)
        if place is None:
            waiting = self.transcript.open_calls()
            place = waiting[0] if waiting and not self._runs_later(waiting[0], span) else None
        if place is None:
            place = len(self.transcript.calls)
            self.transcript.add_call(name, None, **self._who(span))
        self._answer(place, {**span, "error": None}, {"assistant": target})

    def _runs_later(self, place: int, span: Mapping[str, Any]) -> bool:
        """Return True if a call has a function span, so it is not the hand-over in `span`."""
        tool = self.transcript.calls[place].tool
        siblings = (one for one in self.spans.values() if one.get("parent_id") == span.get("parent_id"))
        return any(_data(one).get("type") == "function" and _data(one).get("name") == tool for one in siblings)

    def _answer(self, place: int, span: Mapping[str, Any], output: Any) -> None:
        call = self.transcript.calls[place]
        self.transcript.calls[place] = replace(call, time=time_of(span.get("started_at")))
        kind, message = _error(span.get("error"))
        if kind:
            self.transcript.answer_call(place, output or message or kind, error=True, time=span.get("ended_at"))
        elif output is not None:
            self.transcript.answer_call(place, parse_result(output), time=span.get("ended_at"))

    def _find_open(self, tool: Any, given: Any) -> int | None:
        """Return the index of the waiting call to `tool`, if possible with the arguments `given`, or None."""
        waiting = [place for place in self.transcript.open_calls() if self.transcript.calls[place].tool == tool]
        same = [place for place in waiting if self.transcript.calls[place].arguments == arguments_of(_given(given))]
        return next(iter([*same, *waiting] if given is None or same else waiting), None)

    def _who(self, span: Mapping[str, Any]) -> dict[str, Any]:
        """Return the name of the agent that made a call, if it is not the episode's agent."""
        agents = (_data(one).get("name") for one in self._ancestors(span) if _data(one).get("type") == "agent")
        name = next(agents, None)
        return {} if name in (None, self.agent) else {"agent": name}


def _given(arguments: Any) -> Any:
    return arguments if isinstance(arguments, (str, dict)) else None


def _data(span: Mapping[str, Any]) -> Mapping[str, Any]:
    found = span.get("span_data")
    return found if isinstance(found, dict) else {}


def _messages(values: Any) -> list[Mapping[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _error(error: Any) -> tuple[str, str]:
    """Return the kind and the text of a span's error. Both are empty if there is none."""
    if not error:
        return "", ""
    if not isinstance(error, dict):
        return "error", str(error)
    data = error.get("data")
    detail = data.get("error") if isinstance(data, dict) else None
    return str(error.get("message") or "error"), str(detail or "")


FORMAT: Final = session_format(
    "openai-agents",
    "a function span with an `error`; in states and sessions, an output with the status `failed` or `is_error`",
    mismatch,
    _key,
    read_session,
    _split,
)
