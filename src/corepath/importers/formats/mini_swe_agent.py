"""Read trajectories of mini-swe-agent: one JSON file for each instance.

Each command is a call to `bash`. Commands are the message's actions if it has them. Older trajectories have only text:
there, a command is the one code block that the text contains. The output of a command is in the message that follows.
The last message, which says how the agent ended, counts as a message by the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, message_text, metadata_of, objects, text_of
from corepath.importers.format import record_format
from corepath.importers.transcript import Transcript

_BLOCK: Final = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n```", re.DOTALL)
_CODE: Final = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>")
_OUTPUT: Final = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    kind = value.get("trajectory_format") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.startswith("mini-swe-agent"):
        return "no object with a 'trajectory_format' of mini-swe-agent"
    return None if isinstance(value.get("messages"), list) else "'messages' must be a list"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    transcript = Transcript()
    for message in objects(value["messages"], "messages"):
        _add_usage(transcript, message)
        if message.get("role") == "assistant" or message.get("object") == "response":
            _read_response(transcript, message)
        elif transcript.open_calls() and _is_output(message):
            _read_output(transcript, message)
        elif message.get("role") is not None:
            role = message["role"] if message["role"] in ("user", "system") else "system"
            transcript.add_message(role, message_text(message.get("content")), time=_time(message))
    info = value.get("info") if isinstance(value.get("info"), dict) else {}
    assert isinstance(info, dict)
    yield transcript.to_episode(_model(info), benchmark="mini-swe-agent", metadata=metadata_of(value, "messages"))


def _read_response(transcript: Transcript, message: Mapping[str, Any]) -> None:
    transcript.start_turn()
    time = _time(message)
    text = text_of(message.get("content")) or _output_text(message.get("output"))
    transcript.add_text(text, time=time)
    actions = _extra(message).get("actions")
    if actions is None:
        found = _BLOCK.findall(text) if isinstance(text, str) else []
        actions = [{"command": found[0].strip()}] if len(found) == 1 else []
    for action in objects(actions, "actions"):
        transcript.add_call("bash", {"command": action.get("command")}, action.get("tool_call_id"), time=time)


def _read_output(transcript: Transcript, message: Mapping[str, Any]) -> None:
    """Add a command's output. A command that could not be run, or ended with an exception, failed."""
    given = _extra(message)
    text = text_of(message.get("content")) or message.get("output") or ""
    code, output = _CODE.search(str(text)), _OUTPUT.search(str(text))
    returncode = given.get("returncode", int(code[1]) if code else None)
    value = {"returncode": returncode, "output": given.get("raw_output", output[1] if output else text)}
    error = given.get("exception_info")
    id_ = message.get("tool_call_id") or message.get("call_id")
    transcript.add_result(id_, error or value, error=bool(error), time=_time(message))


def _is_output(message: Mapping[str, Any]) -> bool:
    """Return True if a message after a command is its output, and not an interruption by the user."""
    return (message.get("role") in ("user", "tool") or "call_id" in message) and "interrupt_type" not in _extra(message)


def _add_usage(transcript: Transcript, message: Mapping[str, Any]) -> None:
    """Add what the response in a message used. A message about a malformed response contains this response too."""
    extra = _extra(message)
    response = message if message.get("object") == "response" else extra.get("response")
    if isinstance(response, dict):
        transcript.add_usage(response.get("usage"), model=response.get("model"), cost=extra.get("cost"))


def _time(message: Mapping[str, Any]) -> Any:
    extra = _extra(message)
    return first_of({**message, **extra}, "timestamp", "created_at")


def _extra(message: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = message.get("extra")
    return extra if isinstance(extra, dict) else {}


def _output_text(output: Any) -> Any:
    """Return the text in the output items of a response, or None if there is none."""
    items = [one for one in output if isinstance(one, dict)] if isinstance(output, list) else []
    texts = [text_of(one.get("content")) for one in items if one.get("type") == "message"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _model(info: Mapping[str, Any]) -> str | None:
    """Return the model's name in a trajectory's settings, or None if it is missing."""
    config = info.get("config")
    model = config.get("model") if isinstance(config, dict) else None
    name = model.get("model_name") if isinstance(model, dict) else None
    return name if isinstance(name, str) else None


FORMAT: Final = record_format(
    "mini-swe-agent", "an output with `exception_info`; a return code other than 0 is a result", mismatch, read_record
)
