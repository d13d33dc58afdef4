"""Read OpenHands: exported trajectories, results of its evaluations (`output.jsonl`), and events of its SDK.

A conversation is a list of events, an object that has such a list, or a file with one event in each line. Histories of
old evaluations are lists of pairs, an action with its observation. An event that occurs twice is read once.

The arguments of a call are those that the model sent, if the event still has the model's response. Otherwise the tool
is the kind of the action, e.g. `run`. The `finish` action is the answer and not a call. If a delegate acts in the same
stream of events, its calls belong to the episode, and their `agent` names the delegate. Calls by the user do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, TURN_LIMIT, Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, message_text, metadata_of, parse_result, text_of
from corepath.importers.openhands_sdk import SdkReader, is_sdk_event, object_of
from corepath.importers.parts import parts_format
from corepath.importers.transcript import Transcript

_LISTS: Final = ("history", "trajectory", "events", "items")
_NO_CALLS: Final = (
    "message", "system", "recall", "change_agent_state", "condensation", "condensation_request", "null", "pause",
    "resume", "stop", "start", "loop_recovery", "finish", "reject",
)  # fmt: skip
_NO_ANSWERS: Final = ("recall", "agent_state_changed", "null", "condense", "loop_detection")
_INTERNAL: Final = (
    "thought", "confirmation_state", "is_confirmed", "hidden", "blocking", "is_static", "keep_prompt", "security_risk",
    "impl_source", "translated_ipython_code",
)  # fmt: skip
"""Fields of an action that the program adds to what the agent asked for."""
_LIMITS: Final = {"maximum iteration": TURN_LIMIT, "MaxIterationsReached": TURN_LIMIT, "ContextWindow": CONTEXT_LIMIT}


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    events = _events(value)
    if events is None:
        return "no list of events, nor an object with 'history', 'trajectory', 'events' or 'items'"
    if not any(_is_event(one) for one in events):
        return "no event has a 'source' with an 'action' and 'args', an 'observation' and 'content', or a known 'kind'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    transcript = Transcript()
    old, new = _EventReader(transcript), SdkReader(transcript)
    for event in _distinct(_events(value) or []):
        (new if is_sdk_event(event) else old).read(event)
    record = value if isinstance(value, dict) and not _is_event(value) else {}
    _read_totals(transcript, object_of(record.get("metrics")) or new.stats or old.metrics)
    yield _episode(transcript, record, new.failure)


def _events(value: Any) -> list[Any] | None:
    """Return a record's events, with pairs taken apart, or None if there are none."""
    if _is_event(value):
        return [value]
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    if not isinstance(value, list) or not value:
        return None
    if not any(isinstance(one, list) for one in value):
        return value
    return [event for number, pair in enumerate(value) for event in _pair(number, pair)]


def _pair(number: int, pair: Any) -> Iterator[Mapping[str, Any]]:
    """Yield an action and its observation, linked by a new id."""
    for event in filter(lambda one: isinstance(one, dict), pair if isinstance(pair, list) else []):
        name = "cause" if "observation" in event else "id"
        yield {**{key: one for key, one in event.items() if key not in ("id", "cause")}, name: f"pair {number}"}


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("source", ""), str):
        return False
    if isinstance(value.get("action"), str) and isinstance(value.get("args"), dict):
        return True
    has_result = isinstance(value.get("observation"), str) and "content" in value
    return (has_result and isinstance(value.get("extras"), dict)) or is_sdk_event(value)


def _distinct(events: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the events whose id has not occurred before."""
    seen: set[str] = set()
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict):
            raise RecordError(f"events must be objects; number {number} is not")
        id_ = event.get("id")
        if id_ is None or repr(id_) not in seen:
            yield event
        seen.add(repr(id_))


@dataclass
class _EventReader:
    """Adds the events of an exported trajectory to a transcript, one by one."""

    transcript: Transcript
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """The last known tokens and cost."""
    _responses: set[str] = field(default_factory=set)
    _places: dict[str, int] = field(default_factory=dict)
    """The index of each call, keyed by the id of its event."""
    _delegates: list[tuple[str, Any]] = field(default_factory=list)
    """The delegates that are at work: the id of the event that called each, and its name."""

    def read(self, event: Mapping[str, Any]) -> None:
        """Add an event."""
        self.metrics = object_of(event.get("llm_metrics")) or self.metrics
        action, args = event.get("action"), object_of(event.get("args"))
        if "observation" in event:
            self._read_answer(event)
        elif action == "system":
            self.transcript.add_message("system", args.get("content"), time=event.get("timestamp"))
        elif event.get("source") == "agent" and isinstance(action, str):
            self._read_action(event, action, args)
        elif action == "message":
            self.transcript.add_message("user", message_text(args.get("content")), time=event.get("timestamp"))
        elif action not in _NO_CALLS:
            self.transcript.add_message("user", event.get("message"), time=event.get("timestamp"), action=action)

    def _read_action(self, event: Mapping[str, Any], action: str, args: Mapping[str, Any]) -> None:
        if action in _NO_CALLS and action not in ("message", "finish", "reject"):
            return
        time, sent = event.get("timestamp"), object_of(event.get("tool_call_metadata"))
        response = object_of(sent.get("model_response"))
        text = self._start_response(response, args if action not in ("think", "message") else {})
        self.transcript.add_text(text, time=time)
        if action == "message":
            self.transcript.add_text(message_text(args.get("content")), time=time)
        elif action in ("finish", "reject"):
            said = args.get("final_thought") or object_of(args.get("outputs")).get("reason")
            self.transcript.add_text(said if said != text else None, time=time)
        else:
            tool, arguments = _call(action, args, sent, response)
            extra = {"agent": self._delegates[-1][1]} if self._delegates else {}
            self._places[repr(event.get("id"))] = len(self.transcript.calls)
            self.transcript.add_call(tool, arguments, sent.get("tool_call_id"), time=time, **extra)
        if action == "delegate":
            self._delegates.append((repr(event.get("id")), args.get("agent")))

    def _start_response(self, response: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
        """Begin a turn unless the response has been read, and return the text in the response."""
        id_ = response.get("id")
        if id_ is not None and repr(id_) in self._responses:
            return None
        self._responses.add(repr(id_))
        self.transcript.start_turn()
        self.transcript.add_usage(response.get("usage"), model=response.get("model"))
        return text_of(_message(response).get("content")) or text_of(args.get("thought"))

    def _read_answer(self, event: Mapping[str, Any]) -> None:
        kind, extras, content = event.get("observation"), object_of(event.get("extras")), event.get("content")
        id_, cause = object_of(event.get("tool_call_metadata")).get("tool_call_id"), repr(event.get("cause"))
        place = self._places.get(cause)
        self._delegates = [one for one in self._delegates if one[0] != cause]
        value, time = parse_result(content), event.get("timestamp")
        error = kind in ("error", "user_rejected") or _is_error(extras if kind != "mcp" else value)
        code = first_of({**extras, **object_of(extras.get("metadata"))}, "exit_code")
        extra = {} if code is None else {"exit_code": code}
        value = content if error else value
        if place is not None and place in self.transcript.open_calls():
            self.transcript.answer_call(place, value, error=error, time=time, **extra)
        elif id_ is not None and self.transcript.waits_for(id_):
            self.transcript.add_result(id_, value, error=error, time=time, **extra)
        elif kind not in _NO_ANSWERS:
            self.transcript.add_message("system", content, time=time, observation=kind)


def _is_error(marked: Any) -> bool:
    """Return True if the details of an observation, or the result of an MCP tool, are marked as an error."""
    return object_of(marked).get("error") is True or object_of(marked).get("isError") is True


def _call(
    action: str, args: Mapping[str, Any], sent: Mapping[str, Any], response: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return the tool and the arguments of a call, as the model sent them if that is known."""
    calls = _message(response).get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and call.get("id") == sent.get("tool_call_id"):
            function = object_of(call.get("function"))
            return function.get("name"), function.get("arguments")
    if action == "call_tool_mcp":
        return args.get("name"), args.get("arguments")
    return sent.get("function_name") or action, {name: args[name] for name in args if name not in _INTERNAL}


def _message(response: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = response.get("choices")
    return object_of(object_of(choices[0]).get("message")) if isinstance(choices, list) and choices else {}


def _read_totals(transcript: Transcript, metrics: Mapping[str, Any]) -> None:
    """Use the accumulated tokens and cost of a conversation instead of the sums over its responses."""
    used, whole = object_of(metrics.get("accumulated_token_usage")), Transcript()
    cache = {
        "cache_read_input_tokens": used.get("cache_read_tokens"),
        "cache_creation_input_tokens": used.get("cache_write_tokens"),
    }
    whole.add_usage({**used, **cache}, cost=metrics.get("accumulated_cost"))
    requests = metrics.get("token_usages")
    if whole.usage and isinstance(requests, list) and requests:
        whole.usage["requests"] = len(requests)
    elif whole.usage:
        whole.usage.pop("requests")
    transcript.usage |= whole.usage


def _episode(transcript: Transcript, record: Mapping[str, Any], failure: dict[str, Any] | None) -> Episode:
    settings, error = object_of(record.get("metadata")), record.get("error")
    failure = {"kind": "error", "message": str(error)} if error else failure
    config = object_of(settings.get("llm_config")) or object_of(settings.get("llm"))
    model, outcome = config.get("model"), _outcome(failure)
    episode = transcript.to_episode(
        model if isinstance(model, str) else None,
        benchmark="openhands" if "instance_id" in record else None,
        reward=_reward(record),
        metadata=metadata_of(record, *_LISTS, "instruction", "metrics"),
        ended=outcome,
        failure=failure if outcome == FAILED_OUTSIDE else None,
    )
    instance = record.get("instance_id")
    return replace(episode, task=f"openhands/{instance}") if isinstance(instance, str) and instance else episode


def _outcome(failure: dict[str, Any] | None) -> str | None:
    """Return how a conversation ended, or None if nothing went wrong outside the agent."""
    if failure is None:
        return None
    known = f"{failure['kind']}: {failure['message']}"
    limit = next((outcome for mark, outcome in _LIMITS.items() if mark in known), None)
    return limit if limit is not None or "AgentStuckInLoop" in known else FAILED_OUTSIDE


def _reward(record: Mapping[str, Any]) -> float | None:
    """Return 1 if an evaluation says that the instance is resolved, 0 if it is not, or None if it does not say."""
    test = object_of(record.get("test_result"))
    reports = (test, object_of(test.get("report")), object_of(record.get("report")), record)
    resolved = next((one["resolved"] for one in reports if isinstance(one.get("resolved"), bool)), None)
    return None if resolved is None else float(resolved)


FORMAT: Final = parts_format(
    "openhands",
    "an observation `error` or `user_rejected`, or one that is marked as an error; in the SDK an `AgentErrorEvent`, a "
    "rejected action, or an observation with `is_error`; an exit code other than 0 is a result",
    mismatch,
    read_record,
    _is_event,
)
