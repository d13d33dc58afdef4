"""Read Inspect AI logs, which are `.eval` archives or `.json` files.

An `.eval` file is a zip archive of samples that may be compressed with Zstandard. Each sample is an episode. Its calls
come from the model events, and their results from the tool events. Without tool events, both come from the sample's
messages. If a sample has its own `error`, the failure does not count against the agent.

Models with a role, e.g. a grader, are left out unless every model has a role. Everything that scorers do is left out
too. A call to the submit tool that Inspect's solvers add is the agent's answer and not a call. This tool is recognised
by its description. A sample from one of corepath's own tasks contains the scored episode, which is read unchanged.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.archive import is_archive, list_members, read_member
from corepath.importers.content import objects, parse_result, text_of, time_of
from corepath.importers.format import Format
from corepath.importers.inspect_samples import Inputs, add_message, add_usage, ended, insert_attachments
from corepath.importers.json_parts import PartError, read_parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.reading import Sample
from corepath.importers.transcript import Transcript
from corepath.play.episode_origin import EPISODE, KEY, origin_in, restore
from corepath.values import parse_json

_HEADERS: Final = ("header.json", "_journal/start.json")
_FIRST_FIELDS: Final = ("version", "status", "eval", "location")
_SUBMIT_DESCRIPTION: Final = "Submit an answer for evaluation"
_EVAL_FIELDS: Final = ("task", "task_id", "run_id", "eval_id", "created", "tags")


def _recognise(sample: Sample) -> str | None:
    """Explain why a file is not in this format, or return None if it is."""
    try:
        with sample.file.open("rb") as read:
            if is_archive(read):
                names = {info.filename for info in list_members(read)[0]}
                return None if any(name in names for name in _HEADERS) else f"an archive without '{_HEADERS[0]}'"
        return _header_mismatch(_json_header(sample.file))
    except (OSError, zipfile.BadZipFile, PartError) as error:
        return f"neither an archive nor JSON: {error}"


def _read_file(file: Path) -> Iterator[Episode | Problem]:
    """Yield a log's episodes sample by sample, and a `Problem` for each sample that cannot be read."""
    name = str(file)
    try:
        with file.open("rb") as read:
            if is_archive(read):
                yield from _read_archive(name, read)
                return
        yield from _read_json(file)
    except RecordError as error:
        yield Problem(name, 1, 1, str(error))
    except PartError as error:
        yield Problem(name, error.line, 1, str(error))
    except zipfile.BadZipFile as error:
        yield Problem(name, 1, 1, f"the archive cannot be read: {error}")
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror or error}")


def _read_archive(file: str, read: IO[bytes]) -> Iterator[Episode | Problem]:
    found, complete = list_members(read)
    if not complete:
        yield Problem(file, 1, 1, "the archive is truncated; the samples before the cut are kept")
    infos = {info.filename: info for info in found}
    log = _archive_header(read, infos)
    samples = [info for name, info in infos.items() if name.startswith("samples/") and name.endswith(".json")]
    if not samples:
        yield Problem(file, 1, 1, "no samples in this log")
    for info in samples:
        try:
            yield read_sample(_parse_member(read, info), log)
        except RecordError as error:
            yield Problem(file, 1, 1, f"{info.filename[:200]}: {error}")


def _archive_header(read: IO[bytes], infos: Mapping[str, zipfile.ZipInfo]) -> Any:
    """Read a log's header from its archive. Raises `RecordError` if the header is missing or malformed."""
    header = next((infos[name] for name in _HEADERS if name in infos), None)
    if header is None:
        raise RecordError(f"an archive without '{_HEADERS[0]}' is not an Inspect log")
    log = _parse_member(read, header)
    if why := _header_mismatch(log):
        raise RecordError(f"{header.filename}: {why}")
    return log


def _parse_member(read: IO[bytes], info: zipfile.ZipInfo) -> Any:
    try:
        return parse_json(read_member(read, info).decode(), stored=True)
    except ValueError as error:
        raise RecordError(f"not JSON: {error}") from None


def _read_json(file: Path) -> Iterator[Episode | Problem]:
    log = _json_header(file)
    if why := _header_mismatch(log):
        raise RecordError(why)
    empty = True
    with file.open(encoding="utf-8-sig") as read:
        for path, line, sample in read_parts(read, _enter_samples):
            if path[1:2] == ("samples",) and len(path) == 3 and isinstance(path[2], int):
                empty = False
                try:
                    yield read_sample(sample, log)
                except RecordError as error:
                    yield Problem(str(file), line, 1, f"sample {path[2] + 1}: {error}")
    if empty:
        yield Problem(str(file), 1, 1, "no samples in this log")


def _enter_samples(path: PartPath) -> bool:
    return path in ((0,), (0, "samples"))


def _enter_header(path: PartPath) -> bool:
    """Return True if the value at `path` is read item by item. Only `eval` and `metadata` are read as a whole.

    This way a large file in another format is rejected early.
    """
    return path[1:2] not in (("eval",), ("metadata",)) and len(path) < 8


def _json_header(file: Path) -> dict[str, Any]:
    """Read the fields that come before a log's samples.

    If `eval` is not among them, the fields after the samples are read too.
    """
    log: dict[str, Any] = {}
    with file.open(encoding="utf-8-sig") as read:
        for path, _, value in read_parts(read, _enter_header):
            if path[0] or len(path) < 2 or not (log or path[1] in _FIRST_FIELDS) or {"eval", "samples"} <= log.keys():
                break
            log[str(path[1])] = value if len(path) == 2 else None
    return log


def _header_mismatch(log: Any) -> str | None:
    """Explain why `log` is not an Inspect log's header, or return None if it is."""
    spec = log.get("eval") if isinstance(log, dict) else None
    if not isinstance(spec, dict) or not isinstance(spec.get("task"), str) or "model" not in spec:
        return "no 'eval' with the task and model of an Inspect log"
    return None


def read_sample(sample: Any, log: Mapping[str, Any]) -> Episode:
    """Read an episode from a sample of a log and the log's header. Raises `RecordError` if the sample is malformed."""
    if not isinstance(sample, dict) or "id" not in sample:
        raise RecordError("a sample must be an object with 'id', 'messages' and 'events'")
    sample = insert_attachments(sample)
    origin = origin_in(sample.get("metadata"))
    if origin is None:
        return _read_foreign_sample(sample, log)
    identity = {name: one for name, one in origin.items() if name != EPISODE}
    recorded = _recorded_episode(sample, log, origin.get(EPISODE))
    return recorded or restore(_read_foreign_sample(sample, log), identity)


def _recorded_episode(sample: Mapping[str, Any], log: Mapping[str, Any], text: Any) -> Episode | None:
    """Return the episode that corepath's scorer stored in a sample, or None if the episode is missing or malformed."""
    record = parse_result(text)
    try:
        known = Episode("", (), extra={"metadata": _metadata(sample, log)})
        return restore(known, record) if isinstance(record, dict) else None
    except RecordError:
        return None


def _read_foreign_sample(sample: Mapping[str, Any], log: Mapping[str, Any]) -> Episode:
    """Read an episode from a sample's messages and events."""
    events = [one for one in _flatten(sample.get("events")) if one.get("event") in ("model", "tool", "span_begin")]
    transcript = Transcript()
    messages = list(objects(sample.get("messages"), "messages"))
    by_agent = list(_agent_events(events))
    if any(one["event"] == "tool" for one in events) or not any(one.get("role") == "assistant" for one in messages):
        inputs = Inputs(sample)
        _read_events(transcript, by_agent, set(_call_ids(messages)), inputs)
        _read_remaining_answers(transcript, messages)
        inputs.add(transcript, messages)
    else:
        _read_messages(transcript, messages, _submit_tools(events), _answer_times(by_agent))
    add_usage(transcript, by_agent)
    spec = log["eval"]
    error = sample.get("error")
    failure = None
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        failure = {"kind": "error of the sample", "message": str(message)}
    episode = transcript.to_episode(
        spec["model"], metadata=_metadata(sample, log), ended=FAILED_OUTSIDE if error else None, failure=failure
    )
    epoch = sample.get("epoch")
    return replace(episode, epoch=epoch if type(epoch) is int else 0, answer=_answer(sample, transcript, episode))


def _answer(sample: Mapping[str, Any], transcript: Transcript, episode: Episode) -> Any:
    """Return the agent's last text, or the sample's completion if a solver changed that text."""
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, dict) else None
    said = [one.content for one in transcript.messages if one.role == "assistant"]
    if not completion or completion in said[-1:]:
        return episode.answer
    return completion


def _read_events(
    transcript: Transcript, events: list[Mapping[str, Any]], kept: set[str | None], inputs: Inputs
) -> None:
    """Add the calls, results and messages in the agent's events.

    `kept` holds the call ids in the sample's messages. A call without a tool event was never run, and is added only if
    its id is in `kept`.
    """
    submit_tools = _submit_tools(events)
    known = kept | {_name(one.get("id")) for one in events if one["event"] == "tool"}
    for event in events:
        if event["event"] == "tool":
            if not _is_submit_answer(transcript, event, submit_tools, "id"):
                _read_tool_event(transcript, event)
            continue
        inputs.add_input(transcript, event)
        if (message := _model_message(event)) is not None:
            calls = [call for call in _calls(message) if _name(call.get("id")) in known]
            _read_agent_message(transcript, message, calls, submit_tools, ended(event))


def _agent_events(events: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the tool events and the agent's model events, leaving out events from scorers."""
    scoring = _scoring_spans(events)
    solving = [one for one in events if _name(one.get("span_id")) not in scoring]
    roles = {_name(one.get("role")) for one in solving if one["event"] == "model"}
    agent_roles = roles & {None} or roles
    for one in solving:
        if one["event"] == "tool" or (one["event"] == "model" and _name(one.get("role")) in agent_roles):
            yield one


def _read_agent_message(
    transcript: Transcript,
    message: Mapping[str, Any],
    calls: Iterable[Mapping[str, Any]],
    submit_tools: list[str],
    time: Any,
) -> None:
    """Add the text and calls in one message from the agent, which it wrote at `time`."""
    transcript.start_turn()
    transcript.add_text(text_of(message.get("content")), time=time)
    for call in calls:
        _read_call(transcript, call, submit_tools, time)


def _submit_tools(events: list[Mapping[str, Any]]) -> list[str]:
    """Return the names of the tools that submit the agent's answer."""
    given = [event.get("tools") for event in events if event["event"] == "model"]
    tools = [one for some in given if isinstance(some, list) for one in some if isinstance(one, dict)]
    return [str(one.get("name")) for one in tools if str(one.get("description")).startswith(_SUBMIT_DESCRIPTION)]


def _read_call(transcript: Transcript, call: Mapping[str, Any], submit_tools: list[str], time: Any) -> None:
    """Add a call, or the agent's answer if the call submits one."""
    arguments = _arguments(call)
    answer = arguments.get("answer") if isinstance(arguments, dict) else None
    if call.get("function") in submit_tools and isinstance(answer, str):
        transcript.add_text(answer, time=time)
    else:
        transcript.add_call(call.get("function"), arguments, call.get("id"), time=time)


def _is_submit_answer(transcript: Transcript, answer: Mapping[str, Any], submit_tools: list[str], id_: str) -> bool:
    """Return True if `answer` is the result of a call to a submit tool. Such calls are not in the transcript.

    `id_` is the name of the field that holds the call id.
    """
    return answer.get("function") in submit_tools and not transcript.waits_for(answer.get(id_))


def _read_tool_event(transcript: Transcript, event: Mapping[str, Any]) -> None:
    """Add a call's result, and the call itself if no model event contained it."""
    id_ = event.get("id") or None
    if id_ is None or not transcript.waits_for(id_):
        transcript.add_call(event.get("function"), _arguments(event), id_, time=event.get("timestamp"))
    place = next(
        place for place in reversed(transcript.open_calls()) if id_ is None or transcript.calls[place].id == str(id_)
    )
    call, started = transcript.calls[place], time_of(event.get("timestamp"))
    transcript.calls[place] = replace(call, time=call.time if started is None else started)
    value = _result(event)
    error = _error(event)
    if error is not None:
        extra = {"output": value} if value else {}
        transcript.answer_call(place, error, error=True, time=event.get("completed"), **extra)
    elif event.get("pending") is not True:
        transcript.answer_call(place, parse_result(value), time=event.get("completed"))


def _result(event: Mapping[str, Any]) -> Any:
    """Return a tool event's result, or only its text if the result is a list with text."""
    result = event.get("result")
    return (text_of(result) if isinstance(result, list) else None) or result


def _read_remaining_answers(transcript: Transcript, messages: list[Mapping[str, Any]]) -> None:
    """Add the results in `messages` for calls that a solver ran without tool events."""
    for message in messages:
        if message.get("role") == "tool" and transcript.waits_for(message.get("tool_call_id")):
            _read_answer(transcript, message)


def _read_messages(
    transcript: Transcript, messages: list[Mapping[str, Any]], submit_tools: list[str], times: Mapping[str, Any]
) -> None:
    """Add a sample's messages. `times` says when the agent wrote the message with each id."""
    for message in messages:
        if message.get("role") in ("user", "system"):
            add_message(transcript, message)
        elif message.get("role") == "assistant":
            time = times.get(str(message.get("id")))
            _read_agent_message(transcript, message, _calls(message), submit_tools, time)
        elif message.get("role") == "tool" and not _is_submit_answer(transcript, message, submit_tools, "tool_call_id"):
            _read_answer(transcript, message)


def _answer_times(events: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return when each of the agent's messages was written, by the message's id."""
    said = [(_model_message(event), ended(event)) for event in events if event["event"] == "model"]
    return {str(message.get("id")): time for message, time in said if message is not None and message.get("id")}


def _read_answer(transcript: Transcript, message: Mapping[str, Any]) -> None:
    content, error = text_of(message.get("content")), _error(message)
    value = parse_result(content) if error is None else error
    transcript.add_result(message.get("tool_call_id"), value, error=error is not None)


def _call_ids(messages: list[Mapping[str, Any]]) -> Iterator[str | None]:
    """Yield the id of each call in `messages`, or None for a call without an id."""
    for message in messages:
        for call in _calls(message):
            yield _name(call.get("id"))


def _calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return objects(message.get("tool_calls"), "tool calls")


def _arguments(call: Mapping[str, Any]) -> Any:
    """Return a call's arguments.

    Arguments that Inspect could not parse are taken from the error message that quotes them.
    """
    error = call.get("parse_error")
    if not isinstance(error, str):
        return call.get("arguments")
    _, _, rest = error.partition("\n\n")
    return rest.rpartition("\n\nError details:")[0] or call.get("arguments") or error


def _error(answer: Mapping[str, Any]) -> Any:
    """Return the error in a tool event or tool message, or None if there is none."""
    error = answer.get("error")
    if error is None:
        return "the tool failed" if answer.get("failed") is True else None
    return (error.get("message") or error.get("type") or "error") if isinstance(error, dict) else error


def _model_message(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message in a model event's first choice, or None if there is none."""
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    for choice in objects(choices, "choices"):
        message = choice.get("message")
        return message if isinstance(message, dict) else None
    return None


def _flatten(events: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all events, including events that older logs nest inside a tool event."""
    for event in objects(events, "events"):
        yield event
        yield from _flatten(event.get("events"))


def _scoring_spans(events: list[Mapping[str, Any]]) -> set[str | None]:
    """Return the ids of the scorers' spans and of all spans inside them."""
    found: set[str | None] = set()
    for event in events:
        begins = event["event"] == "span_begin" and event.get("id") is not None
        if begins and (event.get("type") in ("scorer", "scorers") or _name(event.get("parent_id")) in found):
            found.add(_name(event["id"]))
    return found


def _name(given: Any) -> str | None:
    """Convert an id or a role to a string so that it can be compared. None stays None."""
    return given if given is None or isinstance(given, str) else repr(given)


def _metadata(sample: Mapping[str, Any], log: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample's id, model, scores and other facts, merged with the log's and the sample's own metadata.

    If a fact and the metadata have the same name, the fact is kept, and all metadata is also kept under
    `sample_metadata`.
    """
    scores = sample.get("scores")
    spec = log["eval"]
    found = {
        "sample_id": sample.get("id"),
        "sample_uuid": sample.get("uuid"),
        "epoch": sample.get("epoch"),
        "model": spec["model"],
        "eval": {name: spec[name] for name in _EVAL_FIELDS if spec.get(name) is not None},
        "target": sample.get("target"),
        "scores": {name: one.get("value") if isinstance(one, dict) else one for name, one in scores.items()}
        if isinstance(scores, dict)
        else scores,
        "limit": sample.get("limit"),
    }
    found = {name: one for name, one in found.items() if one not in (None, {}, "")}
    own: dict[str, Any] = {}
    for given in (spec.get("metadata"), log.get("metadata"), sample.get("metadata")):
        own.update(given if isinstance(given, dict) else {})
    if origin_in(own) is not None:
        del own[KEY]
    return {**own, **found, **({"sample_metadata": own} if found.keys() & own.keys() else {})}


FORMAT: Final = Format(
    "inspect",
    "a tool event or message with an `error`, or an event that is marked as `failed`",
    _recognise,
    _read_file,
    signs=("eval", "header", "_journal"),
)
