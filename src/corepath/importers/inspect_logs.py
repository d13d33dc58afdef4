"""Logs of Inspect AI: `.eval`, a zip archive of samples that may be compressed with zstandard, and `.json`.

An episode is a sample. Its calls are those that the model made in its events, in the order of its messages, with the
results of the tool events; where there are none, those of its messages. An error is a tool event, or a tool's message,
that has an `error`, or an event that is marked as `failed`. A sample that ended with an error of its own failed outside
the agent. Models with a role, such as a grader, and whatever scorers do are not the agent's, unless every model has a
role. What the agent gave to the submit tool that solvers of Inspect add, told by its description, is its answer and no
call. A sample of corepath's own tasks holds the episode as it was scored, and is that.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.archive import is_archive, member, members
from corepath.importers.json_parts import PartError, parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.messages import Conversation, objects, result_value, text_of
from corepath.play.origin import EPISODE, KEY, origin_in, restore
from corepath.values import parse_json

_ATTACHED: Final = "attachment://"
_HEADERS: Final = ("header.json", "_journal/start.json")
_FIRST: Final = ("version", "status", "eval", "location")
_SUBMITS: Final = "Submit an answer for evaluation"
_EVAL: Final = ("task", "task_id", "run_id", "eval_id", "created", "tags")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    if not isinstance(value, Mapping):
        return "no object with 'eval' and 'samples'"
    return _why_no_header(value) or (None if isinstance(value.get("samples"), list) else "no 'samples' in the log")


def episodes(value: Any) -> Iterator[Episode]:
    """The episodes of a log, one a sample."""
    if (why := fits(value)) is not None:
        raise RecordError(why)
    for sample in objects(value["samples"], "samples"):
        yield _episode(sample, value)


def fits_file(file: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    try:
        with file.open("rb") as read:
            if is_archive(read):
                names = {info.filename for info in members(read)[0]}
                return None if any(name in names for name in _HEADERS) else f"an archive without '{_HEADERS[0]}'"
        return _why_no_header(_json_header(file))
    except (OSError, zipfile.BadZipFile, PartError) as error:
        return f"neither an archive nor JSON: {error}"


def stream(file: Path) -> Iterator[Episode | Problem]:
    """The episodes of a log, sample by sample."""
    name = str(file)
    try:
        with file.open("rb") as read:
            if is_archive(read):
                yield from _from_archive(name, read)
                return
        yield from _from_json(file)
    except RecordError as error:
        yield Problem(name, 1, 1, str(error))
    except PartError as error:
        yield Problem(name, error.line, 1, str(error))
    except zipfile.BadZipFile as error:
        yield Problem(name, 1, 1, f"an archive that cannot be read: {error}")
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror or error}")


def _from_archive(file: str, read: IO[bytes]) -> Iterator[Episode | Problem]:
    found, whole = members(read)
    if not whole:
        yield Problem(file, 1, 1, "an archive that is cut off at its end; the samples before the cut are kept")
    infos = {info.filename: info for info in found}
    header = next((infos[name] for name in _HEADERS if name in infos), None)
    if header is None:
        raise RecordError(f"an archive without '{_HEADERS[0]}' is no log of Inspect")
    log = _read(read, header)
    if why := _why_no_header(log):
        raise RecordError(f"{header.filename}: {why}")
    samples = [info for name, info in infos.items() if name.startswith("samples/") and name.endswith(".json")]
    if not samples:
        yield Problem(file, 1, 1, "no samples in this log")
    for info in samples:
        try:
            yield _episode(_read(read, info), log)
        except RecordError as error:
            yield Problem(file, 1, 1, f"{info.filename[:200]}: {error}")


def _read(read: IO[bytes], info: zipfile.ZipInfo) -> Any:
    try:
        return parse_json(member(read, info).decode(), stored=True)
    except ValueError as error:
        raise RecordError(f"not JSON: {error}") from None


def _from_json(file: Path) -> Iterator[Episode | Problem]:
    log = _json_header(file)
    if why := _why_no_header(log):
        raise RecordError(why)
    some = False
    with file.open(encoding="utf-8-sig") as read:
        for path, line, sample in parts(read, _goes_on):
            if path[1:2] == ("samples",) and len(path) == 3:
                some = True
                try:
                    yield _episode(sample, log)
                except RecordError as error:
                    yield Problem(str(file), line, 1, f"sample {int(path[2]) + 1}: {error}")
    if not some:
        yield Problem(str(file), 1, 1, "no samples in this log")


def _goes_on(path: PartPath) -> bool:
    return path in ((0,), (0, "samples"))


def _goes_on_to_header(path: PartPath) -> bool:
    """Into everything but what a header needs, so that a large file of another kind is not read to know that."""
    return path[1:2] not in (("eval",), ("metadata",)) and len(path) < 8


def _json_header(file: Path) -> dict[str, Any]:
    """What a log says before its samples, and where it says too little there, after them."""
    log: dict[str, Any] = {}
    with file.open(encoding="utf-8-sig") as read:
        for path, _, value in parts(read, _goes_on_to_header):
            if path[0] or len(path) < 2 or not (log or path[1] in _FIRST) or {"eval", "samples"} <= log.keys():
                break
            log[str(path[1])] = value if len(path) == 2 else None
    return log


def _why_no_header(log: Any) -> str | None:
    spec = log.get("eval") if isinstance(log, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(spec.get("task"), str) or "model" not in spec:
        return "no 'eval' with the task and the model of a log of Inspect"
    return None


def _episode(sample: Any, log: Mapping[str, Any]) -> Episode:
    if not isinstance(sample, Mapping) or "id" not in sample:
        raise RecordError("a sample is an object with 'id', 'messages' and 'events'")
    sample = _Attached(sample)(sample)
    ours = origin_in(sample.get("metadata"))
    if ours is None:
        return _read_from(sample, log)
    of_task = {name: one for name, one in ours.items() if name != EPISODE}
    return _recorded(sample, log, ours.get(EPISODE)) or restore(_read_from(sample, log), of_task)


def _recorded(sample: Mapping[str, Any], log: Mapping[str, Any], kept: Any) -> Episode | None:
    """The episode that our scorer left in a sample; None where there is none that can be read."""
    record = result_value(kept)
    try:
        known = Episode("", (), extra={"metadata": _metadata(sample, log)})
        return restore(known, record) if isinstance(record, Mapping) else None
    except RecordError:
        return None


def _read_from(sample: Mapping[str, Any], log: Mapping[str, Any]) -> Episode:
    """What the messages and events of a sample tell."""
    events = [one for one in _flat(sample.get("events")) if one.get("event") in ("model", "tool", "span_begin")]
    made = Conversation()
    messages = list(objects(sample.get("messages"), "messages"))
    if any(one["event"] == "tool" for one in events) or not any(one.get("role") == "assistant" for one in messages):
        _from_events(made, events, set(_asked(messages)))
        _answers_in(made, messages)
    else:
        _from_messages(made, messages, _submits(events))
    spec = log["eval"]
    error = sample.get("error")
    failure = None
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        failure = {"kind": "error of the sample", "message": str(message)}
    episode = made.episode(
        spec["model"], metadata=_metadata(sample, log), ended=FAILED_OUTSIDE if error else None, failure=failure
    )
    epoch = sample.get("epoch")
    return replace(episode, epoch=epoch if type(epoch) is int else 0, answer=_answer(sample, made, episode))


def _answer(sample: Mapping[str, Any], made: Conversation, episode: Episode) -> Any:
    """The last words of the agent, or the completion that a solver made of an answer that was submitted."""
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, Mapping) else None
    if not completion or any(one["content"] == completion for one in made.messages[-1:]):
        return episode.answer
    return completion


def _from_events(made: Conversation, events: list[Mapping[str, Any]], kept: set[str | None]) -> None:
    """A call that no tool event tells of was never run; it counts where the sample's messages keep it."""
    scoring = _scoring(events)
    events = [one for one in events if _name(one.get("span_id")) not in scoring]
    roles = {_name(one.get("role")) for one in events if one["event"] == "model"}
    agents = roles & {None} or roles
    submits = _submits(events)
    known = kept | {_name(one.get("id")) for one in events if one["event"] == "tool"}
    for event in events:
        if event["event"] == "tool":
            if not _is_submitted(made, event, submits, "id"):
                _ran(made, event)
        elif event["event"] == "model" and _name(event.get("role")) in agents:
            message = _said(event)
            if message is not None:
                made.next_turn()
                made.said(text_of(message.get("content")))
                for call in _calls(message):
                    if _name(call.get("id")) in known:
                        _calls_or_submits(made, call, submits)


def _submits(events: list[Mapping[str, Any]]) -> list[str]:
    """The names of the tools by which a solver of Inspect takes the answer."""
    given = [event.get("tools") for event in events if event["event"] == "model"]
    tools = [one for some in given if isinstance(some, list) for one in some if isinstance(one, Mapping)]
    return [str(one.get("name")) for one in tools if str(one.get("description")).startswith(_SUBMITS)]


def _calls_or_submits(made: Conversation, call: Mapping[str, Any], submits: list[str]) -> None:
    arguments = _arguments(call)
    answer = arguments.get("answer") if isinstance(arguments, Mapping) else None
    if call.get("function") in submits and isinstance(answer, str):
        made.said(answer)
    else:
        made.call(call.get("function"), arguments, call.get("id"))


def _is_submitted(made: Conversation, answer: Mapping[str, Any], submits: list[str], id_: str) -> bool:
    """Whether it is what the tool that takes the answer said of it."""
    return answer.get("function") in submits and not made.waits_for(answer.get(id_))


def _ran(made: Conversation, event: Mapping[str, Any]) -> None:
    id_ = event.get("id") or None
    if id_ is None or not made.waits_for(id_):
        made.call(event.get("function"), _arguments(event), id_)
    place = next(place for place in reversed(made.waiting()) if id_ is None or made.calls[place].id == str(id_))
    result = event.get("result")
    value = text_of(result) if isinstance(result, list) and text_of(result) else result
    error = _error(event)
    if error is not None:
        made.answer_at(place, error, error=True, **({"output": value} if value else {}))
    elif event.get("pending") is not True:
        made.answer_at(place, result_value(value))


def _answers_in(made: Conversation, messages: list[Mapping[str, Any]]) -> None:
    """The results of calls that a solver ran itself, so that no event tells of them."""
    for message in messages:
        if message.get("role") == "tool" and made.waits_for(message.get("tool_call_id")):
            _answer_in(made, message)


def _from_messages(made: Conversation, messages: list[Mapping[str, Any]], submits: list[str]) -> None:
    for message in messages:
        if message.get("role") == "assistant":
            made.next_turn()
            made.said(text_of(message.get("content")))
            for call in _calls(message):
                _calls_or_submits(made, call, submits)
        elif message.get("role") == "tool" and not _is_submitted(made, message, submits, "tool_call_id"):
            _answer_in(made, message)


def _answer_in(made: Conversation, message: Mapping[str, Any]) -> None:
    content, error = text_of(message.get("content")), _error(message)
    value = result_value(content) if error is None else error
    made.result(message.get("tool_call_id"), value, error=error is not None)


def _asked(messages: list[Mapping[str, Any]]) -> Iterator[str | None]:
    """The ids of the calls that messages hold."""
    for message in messages:
        for call in _calls(message):
            yield _name(call.get("id"))


def _calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return objects(message.get("tool_calls"), "tool calls")


def _arguments(call: Mapping[str, Any]) -> Any:
    """The arguments; where they did not read, they stand in Inspect's words about that."""
    told = call.get("parse_error")
    if not isinstance(told, str):
        return call.get("arguments")
    _, _, rest = told.partition("\n\n")
    return rest.rpartition("\n\nError details:")[0] or call.get("arguments") or told


def _error(of: Mapping[str, Any]) -> Any:
    error = of.get("error")
    if error is None:
        return "the tool failed" if of.get("failed") is True else None
    return (error.get("message") or error.get("type") or "error") if isinstance(error, Mapping) else error


def _said(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    for choice in objects(choices, "choices"):
        message = choice.get("message")
        return message if isinstance(message, Mapping) else None
    return None


def _flat(events: Any) -> Iterator[Mapping[str, Any]]:
    """Events, with those that older logs keep inside the event of a tool after it."""
    for event in objects(events, "events"):
        yield event
        yield from _flat(event.get("events"))


def _scoring(events: list[Mapping[str, Any]]) -> set[str | None]:
    """The ids of the spans in which scorers work."""
    found: set[str | None] = set()
    for event in events:
        begins = event["event"] == "span_begin" and event.get("id") is not None
        if begins and (event.get("type") in ("scorer", "scorers") or _name(event.get("parent_id")) in found):
            found.add(_name(event["id"]))
    return found


def _name(given: Any) -> str | None:
    return given if given is None or isinstance(given, str) else repr(given)


def _metadata(sample: Mapping[str, Any], log: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a sample; its own metadata stand beside, and whole where one has the name of something else."""
    scores = sample.get("scores")
    spec = log["eval"]
    told = {
        "sample_id": sample.get("id"),
        "sample_uuid": sample.get("uuid"),
        "epoch": sample.get("epoch"),
        "model": spec["model"],
        "eval": {name: spec[name] for name in _EVAL if spec.get(name) is not None},
        "target": sample.get("target"),
        "scores": {name: one.get("value") if isinstance(one, Mapping) else one for name, one in scores.items()}
        if isinstance(scores, Mapping)
        else scores,
        "limit": sample.get("limit"),
    }
    told = {name: one for name, one in told.items() if one not in (None, {}, "")}
    own: dict[str, Any] = {}
    for given in (spec.get("metadata"), log.get("metadata"), sample.get("metadata")):
        own.update(given if isinstance(given, Mapping) else {})
    if origin_in(own) is not None:
        del own[KEY]
    return {**own, **told, **({"sample_metadata": own} if told.keys() & own.keys() else {})}


class _Attached:
    """Puts long texts back, which a sample keeps aside, where they are meant."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        kept = sample.get("attachments")
        self._kept: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(_ATTACHED):
            return self._kept.get(value.removeprefix(_ATTACHED), value)
        if not self._kept or not isinstance(value, (Mapping, list)):
            return value
        if isinstance(value, list):
            return [self(one) for one in value]
        return {name: one if name == "attachments" else self(one) for name, one in value.items()}
