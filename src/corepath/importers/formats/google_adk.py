"""Read sessions of the Agent Development Kit (ADK), and the results and eval sets of its evaluation.

A session is an object with `events`, in camelCase or in snake_case. Events may also be on separate lines, or be rows of
the table in which ADK stores them. Parts of a stream (`partial`) are left out, because the whole event follows. All
agents in a session take part in one episode, which is named after the first one. A call by another agent has the name
of that agent in its `extra`. What an agent does inside an `AgentTool` is not in the session.

Calls that ADK itself adds to ask the user for something (`adk_request_confirmation`) are not the agent's calls, and are
left out. If a tool answers a call twice, the later answer counts: this is how a tool that waits for the user works.

Results hold one session for each eval case, or only its invocations. The task is `google-adk/EVAL_SET/EVAL_CASE`. The
reward is the score if there was one metric, and otherwise whether the case passed. An eval set holds expected calls, so
it is a source for `corepath derive`. If a session ends with an error that is not a way for a model to finish, the
failure does not count against the agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.content import first_of, metadata_of, objects, parse_result
from corepath.importers.format import Source
from corepath.importers.reading import Sample, read_records, try_record
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript
from corepath.notation.call import UNANSWERED

_ASKED_BY_ADK: Final = re.compile(r"adk_request_\w+")
_CODE: Final = "code_execution"
_PASSED: Final = (1, "passed", "PASSED")
_FAILED: Final = (2, "failed", "FAILED")
_FINISHED: Final = {
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST",
    "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS", "IMAGE_PROHIBITED_CONTENT", "NO_IMAGE", "IMAGE_RECITATION", "IMAGE_OTHER",
    "BLOCKED_REASON_UNSPECIFIED", "MODEL_ARMOR", "JAILBREAK",
}  # fmt: skip
"""The error codes that say how the model finished. All other codes are failures of the service."""
_CASE_RESULTS: Final = ("eval_metric_result_per_invocation", "evalMetricResultPerInvocation")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    value = _decode(value)
    if not isinstance(value, dict):
        return "no session with 'events', no event with an 'author', and no results of an eval set"
    if isinstance(_get(value, "eval_case_results"), list) or _is_event(value):
        return None
    if isinstance(_get(value, "eval_cases"), list):
        return "an eval set, which holds expected calls: read it with corepath derive"
    events = value.get("events")
    if not isinstance(events, list):
        return "no session with 'events', no event with an 'author', and no results of an eval set"
    named = all(isinstance(_get(value, name), str) for name in ("app_name", "user_id"))
    if any(map(_is_event, events)) or (named and not events):
        return None
    return "no event has an 'author' and an 'invocation_id'"


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episode in the records of one session, or one episode for each run of an eval case.

    Raises `RecordError` if a record is malformed. The good runs of the case are yielded first.
    """
    if not any(_is_case(record) for record in records):
        yield _read_events(*_merge(records))
        return
    wrong: RecordError | None = None
    for epoch, case in enumerate(records):
        try:
            yield replace(_read_case(case), epoch=epoch)
        except RecordError as error:
            wrong = wrong or error
    if wrong is not None:
        raise wrong


# Records


def _get(record: Any, name: str) -> Any:
    """Return a field, whose name may be in snake_case or in camelCase, or None if it is missing."""
    first, *rest = name.split("_")
    return first_of(record, name, first + "".join(map(str.capitalize, rest))) if isinstance(record, dict) else None


def _decode(value: Any) -> Any:
    """Return a value, parsed if it is JSON text. Older results are JSON text inside a JSON file."""
    return parse_result(value) if isinstance(value, str) and value.startswith("{") else value


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    value = _event(value)
    return isinstance(value.get("author"), str) and isinstance(_get(value, "invocation_id"), str)


def _event(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event. A row in the table of events has the event, or its content, as JSON text."""
    data = parse_result(_get(value, "event_data"))
    if isinstance(data, dict):
        value = {**value, "event_data": None, "eventData": None, **data}
    parsed = {name: parse_result(value[name]) for name in ("content", "usage_metadata") if value.get(name)}
    return {**value, **parsed}


def _is_case(record: Any) -> bool:
    return isinstance(record, dict) and any(name in record for name in _CASE_RESULTS)


def _split(value: Any) -> Iterator[Any]:
    """Yield the results of each eval case if a value holds such results, or else the value itself."""
    value = _decode(value)
    cases = _get(value, "eval_case_results")
    if not isinstance(cases, list):
        yield value
        return
    for case in cases:
        given = case if isinstance(case, dict) else {}
        yield {"eval_set_id": _get(value, "eval_set_id"), **given, _CASE_RESULTS[0]: first_of(given, *_CASE_RESULTS)}


def _key(record: Any) -> str | None:
    if _is_case(record):
        return _task(record)
    names = ("app_name", "user_id", "session_id" if _is_event(record) else "id")
    found = [str(_get(record, name)) for name in names if _get(record, name) is not None]
    return "/".join(found) if len(found) == len(names) else None


def _merge(records: list[Any]) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return the last record of a session, and all events, each of them once."""
    session: Mapping[str, Any] = {}
    events: list[Mapping[str, Any]] = []
    for record in records:
        if (why := mismatch(record)) is not None:
            raise RecordError(why)
        if _is_event(record):
            events.append(_event(record))
        else:
            session = record
            events += map(_event, objects(record["events"], "events"))
    whole = [event for event in events if event.get("partial") is not True]
    if not whole:
        raise RecordError("the session has no events")
    return session, list({str(event.get("id") or number): event for number, event in enumerate(whole)}.values())


# Events


def _read_events(
    session: Mapping[str, Any], events: Iterable[Mapping[str, Any]], system: Iterable[str] = (), **extra: Any
) -> Episode:
    transcript = Transcript()
    for text in system:
        transcript.add_message("system", text)
    agent: Any = None
    failure: dict[str, Any] | None = None
    for event in events:
        author = event.get("author")
        by_agent = author != "user"
        if by_agent:
            agent = agent or author
            code = _get(event, "error_code")
            message = _get(event, "error_message")
            failure = None if code is None or code in _FINISHED else {"kind": str(code), "message": str(message or "")}
        _read_event(transcript, event, {} if author == agent else {"agent": author}, by_agent=by_agent)
    extra.setdefault("metadata", metadata_of(session, "events", "past_events", "event_logs"))
    if failure is not None:
        extra |= {"ended": FAILED_OUTSIDE, "failure": failure}
    return transcript.to_episode(agent, **extra)


def _read_event(transcript: Transcript, event: Mapping[str, Any], extra: dict[str, Any], *, by_agent: bool) -> None:
    time = event.get("timestamp")
    transcript.add_usage(_get(event, "usage_metadata"), model=_get(event, "model_version"))
    parts = _parts(event.get("content"))
    if by_agent and any(_get(part, "function_response") is None for part in parts):
        transcript.start_turn()
    _read_parts(transcript, parts, extra, time, by_agent=by_agent)
    for name, role in (("input_transcription", "user"), ("output_transcription", "assistant")):
        spoken = _get(event, name)
        text = spoken.get("text") if isinstance(spoken, dict) else None
        _adder(transcript, role)(text if isinstance(text, str) else None, time=time)


def _read_parts(
    transcript: Transcript, parts: list[Mapping[str, Any]], extra: dict[str, Any], time: Any, *, by_agent: bool
) -> None:
    add = _adder(transcript, "assistant" if by_agent else "user")
    for is_text, group in groupby(parts, key=lambda part: isinstance(part.get("text"), str)):
        if is_text:
            text = "".join(part["text"] for part in group if part.get("thought") is not True)
            add(text, time=time)
            continue
        for part in group:
            if not _read_part(transcript, part, extra, time):
                add(_media(part), time=time)


def _adder(transcript: Transcript, role: str) -> Callable[..., None]:
    return transcript.add_text if role == "assistant" else partial(transcript.add_message, role)


def _media(part: Mapping[str, Any]) -> str | None:
    """Return the type of a file in a message, e.g. `[image/png]`, or None if a part is not a file."""
    data = next((found for name in ("inline_data", "file_data") if (found := _get(part, name)) is not None), None)
    return f"[{str(_get(data, 'mime_type') or 'file')[:60]}]" if isinstance(data, dict) else None


def _read_part(transcript: Transcript, part: Mapping[str, Any], extra: dict[str, Any], time: Any) -> bool:
    """Add a part if it is a call or a result. Return False if it is neither."""
    if (call := _object(part, "function_call")) is not None:
        _add_call(transcript, call, extra, time)
    elif (answer := _object(part, "function_response")) is not None:
        _add_answer(transcript, answer, time)
    elif (code := _object(part, "executable_code")) is not None:
        arguments = {name: code[name] for name in ("code", "language") if code.get(name) is not None}
        transcript.add_call(_CODE, arguments, code.get("id"), time=time, type="executable_code", **extra)
    elif (outcome := _object(part, "code_execution_result")) is not None:
        failed = outcome.get("outcome") != "OUTCOME_OK"
        id_ = outcome.get("id") if transcript.waits_for(outcome.get("id")) else None
        value = outcome.get("output") or (outcome.get("outcome") if failed else "")
        transcript.add_result(id_, value, error=failed, tool=_CODE, time=time)
    else:
        return False
    return True


def _object(part: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found = _get(part, name)
    if found is None or isinstance(found, dict):
        return found
    raise RecordError(f"'{name}' must be an object")


def _add_call(transcript: Transcript, call: Mapping[str, Any], extra: dict[str, Any], time: Any) -> None:
    if not _ASKED_BY_ADK.fullmatch(str(call.get("name"))):
        transcript.add_call(call.get("name"), call.get("args"), call.get("id"), time=time, **extra)


def _add_answer(transcript: Transcript, answer: Mapping[str, Any], time: Any) -> None:
    """Add the answer to the call with the same id, or else to the first call to the tool without an answer."""
    id_, tool = answer.get("id"), answer.get("name")
    if _ASKED_BY_ADK.fullmatch(str(tool)):
        return
    value, error = _unwrap(answer.get("response"))
    earlier = [number for number, call in enumerate(transcript.calls) if id_ and call.id == id_]
    if earlier:
        place = earlier[-1]
        transcript.calls[place] = replace(transcript.calls[place], result=UNANSWERED, error=None)
        transcript.answer_call(place, value, error=error, time=time)
    else:
        transcript.add_result(None, value, error=error, tool=tool if isinstance(tool, str) else "", time=time)


def _unwrap(response: Any) -> tuple[Any, bool]:
    """Return the result in a function response, and whether it is an error. ADK puts a plain result under `result`."""
    if not isinstance(response, dict):
        return response, False
    failed = response.get("error") not in (None, "", False) or response.get("status") == "error"
    failed = failed or True in (response.get("isError"), response.get("is_error"))
    if len(response) == 1:
        return next((response[name] for name in ("error", "result") if name in response), response), failed
    return response, failed


def _parts(content: Any) -> list[Mapping[str, Any]]:
    parts = content.get("parts") if isinstance(content, dict) else None
    return list(objects(parts, "the parts of a content"))


# Results of eval sets


def _task(case: Any) -> str:
    names = (_get(case, "eval_set_id") or _get(case, "eval_set_file"), _get(case, "eval_id"))
    return "/".join(("google-adk", *(str(name) for name in names if name)))


def _read_case(case: Mapping[str, Any]) -> Episode:
    runs = objects(_get(case, _CASE_RESULTS[0]), "the results of invocations")
    invocations = [run for one in runs if isinstance(run := _get(one, "actual_invocation"), dict)]
    session = _get(case, "session_details")
    known = session if isinstance(session, dict) else {}
    events = list(map(_event, objects(known.get("events"), "events")))
    if not events:
        events = [event for invocation in invocations for event in _events_of(invocation)]
    if not events:
        raise RecordError(f"eval case {str(_get(case, 'eval_id'))[:60]!r} has neither a session nor an invocation")
    scores = _scores(case)
    left_out = (*_CASE_RESULTS, "session_details", "sessionDetails", "eval_metric_results", "evalMetricResults")
    metadata = {**(metadata_of(known, "events") or {}), **(metadata_of(case, *left_out) or {})}
    episode = _read_events(
        known, events, _instructions(invocations), benchmark="google-adk", metadata=metadata,
        reward=_reward(case, scores), reward_info=scores,
    )  # fmt: skip
    return replace(episode, task=_task(case))


def _instructions(invocations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the instructions of each agent, if the results have them."""
    details = _get(_get(invocations[0], "app_details"), "agent_details") if invocations else None
    for agent in details.values() if isinstance(details, dict) else []:
        if isinstance(text := _get(agent, "instructions"), str):
            yield text


def _scores(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the score of each metric. In older results, each metric and its result are a pair."""
    metrics = _get(case, "overall_eval_metric_results")
    if not isinstance(metrics, list):
        pairs = [pair for pair in _list(_get(case, "eval_metric_results")) if isinstance(pair, list)]
        metrics = [{name: one[name] for one in objects(pair, "metrics") for name in one} for pair in pairs]
    named = {_get(one, "metric_name"): _get(one, "score") for one in metrics}
    return {name: score for name, score in named.items() if isinstance(name, str)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _reward(case: Mapping[str, Any], scores: Mapping[str, Any]) -> Any:
    if len(scores) == 1:
        return next(iter(scores.values()))
    status = _get(case, "final_eval_status")
    return 1.0 if status in _PASSED else 0.0 if status in _FAILED else None


def _events_of(invocation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield an invocation as events: what the user said, the steps, and the final response."""
    yield {"author": "user", "content": _get(invocation, "user_content")}
    data = _get(invocation, "intermediate_data")
    steps = list(objects(_get(data, "invocation_events"), "the events of an invocation"))
    agent = next((step.get("author") for step in steps if step.get("author") != "user"), None)
    yield from steps
    uses = list(objects(_get(data, "tool_uses"), "'tool_uses'"))
    if uses:
        yield {"author": agent, "content": {"parts": [{"function_call": use} for use in uses]}}
    answers = list(objects(_get(data, "tool_responses"), "'tool_responses'"))
    if answers:
        yield {"author": agent, "content": {"parts": [{"function_response": answer} for answer in answers]}}
    for pair in _list(_get(data, "intermediate_responses")):
        if isinstance(pair, list) and len(pair) == 2:
            yield {"author": pair[0], "content": {"parts": pair[1]}}
    yield {"author": agent, "content": _get(invocation, "final_response")}


# Eval sets


def _recognise_eval_set(sample: Sample) -> str | None:
    for value in sample.records(lambda _: True):
        if not isinstance(value, Problem):
            return _eval_set_mismatch(value)
    return "no JSON in it"


def _eval_set_mismatch(value: Any) -> str | None:
    """Explain why a file's value is not an eval set, or return None if it is."""
    if isinstance(value, list):
        if value and all(isinstance(one, dict) and ("query" in one or _is_old_case(one)) for one in value):
            return None
        return "no list of queries with 'expected_tool_use'"
    return None if isinstance(_get(value, "eval_cases"), list) else "no object with 'eval_cases'"


def _is_old_case(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("name"), str) and isinstance(value.get("data"), list)


def _read_eval_set(path: Path) -> Iterator[Expected | Problem]:
    """Yield the calls expected in each eval case, and a `Problem` for each malformed case."""
    name = path.name.removesuffix(".json").removesuffix(".evalset").removesuffix(".test")
    for place, value in read_records(path, lambda one: _eval_set_mismatch(one) is None):
        if isinstance(value, Problem) or (why := _eval_set_mismatch(value)) is not None:
            yield value if isinstance(value, Problem) else place.problem(str(why))
            continue
        if isinstance(value, dict):
            name = str(_get(value, "eval_set_id") or name)
        for case in _cases(value):
            yield from try_record(place, (name, case), _read_expected)


def _cases(value: Any) -> list[Any]:
    """Return the eval cases in an eval set. A list of queries is one case."""
    if isinstance(value, dict):
        return list(_get(value, "eval_cases"))
    return value if all(map(_is_old_case, value)) else [{"data": value}]


def _read_expected(value: tuple[str, Any]) -> Iterator[Expected]:
    name, case = value
    if not isinstance(case, dict):
        raise RecordError("an eval case must be an object with a 'conversation'")
    id_ = _get(case, "eval_id") or case.get("name")
    turns = case.get("data", case.get("conversation"))
    if turns is None:
        raise RecordError(f"eval case {str(id_)[:60]!r} has no 'conversation', so it expects no calls")
    calls: list[ExpectedCall] = []
    said: list[str] = []
    for turn in objects(turns, "the turns of a conversation"):
        said.append(turn["query"] if isinstance(turn.get("query"), str) else _text(_get(turn, "user_content")))
        calls += map(_expected_call, _expected_uses(turn))
    prompt = "\n".join(text.strip() for text in said if text.strip())
    yield Expected("/".join(("google-adk", name, *([str(id_)] if id_ else []))), tuple(calls), prompt)


def _expected_uses(turn: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls expected in one turn."""
    yield from objects(_get(turn, "expected_tool_use"), "'expected_tool_use'")
    data = _get(turn, "intermediate_data")
    yield from objects(_get(data, "tool_uses"), "'tool_uses'")
    for step in objects(_get(data, "invocation_events"), "the events of an invocation"):
        for part in _parts(step.get("content")):
            if (call := _object(part, "function_call")) is not None:
                yield call


def _expected_call(use: Mapping[str, Any]) -> ExpectedCall:
    name, arguments = first_of(use, "name", "tool_name"), first_of(use, "args", "tool_input")
    if not isinstance(name, str) or not isinstance(arguments, (Mapping, type(None))):
        raise RecordError("an expected call must have a 'name' and an object of 'args'")
    return ExpectedCall(name, arguments or {})


def _text(content: Any) -> str:
    return "".join(part["text"] for part in _parts(content) if isinstance(part.get("text"), str))


FORMAT: Final = session_format(
    "google-adk",
    "a response with an `error`, the status `error` or `isError`; code whose outcome is not `OUTCOME_OK`",
    mismatch,
    _key,
    read_session,
    _split,
)
SOURCE: Final = Source("google-adk", _recognise_eval_set, _read_eval_set)
