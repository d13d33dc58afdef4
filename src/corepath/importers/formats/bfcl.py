"""Read BFCL multi-turn results: records with an `id` and a `result`.

The `result` is a list of turns, and each turn is a list of the model's steps. The executed calls and their results are
in the `inference_log`, with what the user said. Without a log, calls are read from `result` and have no results. If the
benchmark could not decode a response, all calls in that response failed.

Calls are written as objects (`{"cd": "{...}"}`) or as Python (`[cd(folder='x')]`), which is parsed and never run.
Without a log, calls may also have the forms that other models write: `<tool_call>{"name": ..., "arguments":
...}</tool_call>` or `{"name": ..., "parameters": ...}`. A call that cannot be parsed is kept as raw text.

The task is `bfcl/ID`. In the folders that the benchmark writes, the folder names the model, and the verdict of the
benchmark is the reward. If inference broke off, the failure does not count against the agent.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError, count
from corepath.importers.bfcl_folders import add_verdicts, score_files
from corepath.importers.content import message_text, metadata_of, objects, parse_result
from corepath.importers.format import Source, record_format
from corepath.importers.reading import Sample, read_records, try_record
from corepath.importers.transcript import Transcript
from corepath.values import parse_json

TOOL_FILE: Final = Path(__file__).with_name("bfcl_tools.yaml")
_INFERENCE_FAILED: Final = "Error during inference"
_ERRORS: Final = ("Error", "['Error:")
"""How error messages begin. One tool of the benchmark returns its error message in a list, which is logged as text."""
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_TAGGED_CALL: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_JSON_CALL: Final = re.compile(r'\[?\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:')
_JSON_NAME: Final = re.compile(r'"name"\s*:\s*"([^"]*)"')
_PYTHON_CALL: Final = re.compile(r"\[\s*([^\W\d][\w.]*)\(")
_BEGUN_CALL: Final = re.compile(r"\s*\[?\s*([^\W\d][\w.]*)\(")
_STEP: Final = re.compile(r"step_(\d{1,9})")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or "result" not in value:
        return "no object with a string 'id' and a 'result'"
    result = value["result"]
    if isinstance(result, str) and result.startswith(_INFERENCE_FAILED):
        return None
    if not isinstance(result, list) or not all(isinstance(turn, list) for turn in result):
        return "the 'result' of a multi-turn entry of BFCL is a list of turns, each a list of steps"
    if not result and "inference_log" not in value:
        return "a 'result' without turns"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if wrong := mismatch(value):
        raise RecordError(wrong)
    transcript = Transcript()
    failed: dict[str, Any] = {}
    if isinstance(value["result"], str):
        failed = {"ended": FAILED_OUTSIDE, "failure": {"kind": "error", "message": value["result"]}}
    else:
        _read_turns(transcript, value)
        _add_usage(transcript, value)
    metadata = metadata_of(value, "result", "inference_log")
    episode = transcript.to_episode(benchmark="bfcl", metadata=metadata, **failed)
    yield replace(episode, task=f"bfcl/{value['id']}")


def _recognise_answers(sample: Sample) -> str | None:
    """Explain why a file is not a BFCL file of possible answers, or return None if it is.

    Only the first record is checked.
    """
    for value in sample.records(lambda one: isinstance(one, dict)):
        if not isinstance(value, Problem):
            return _answers_mismatch(value)
    return "no JSON in it"


def _read_answers(path: Path) -> Iterator[Expected | Problem]:
    """Yield each task's expected calls in a BFCL file of possible answers, and a `Problem` for each malformed task."""
    for place, value in read_records(path, lambda one: isinstance(one, dict)):
        yield from try_record(place, value, _read_expected)


def _read_expected(value: Any) -> Iterator[Expected]:
    if wrong := _answers_mismatch(value):
        raise RecordError(wrong)
    turns = enumerate(value["ground_truth"], start=1)
    calls = tuple(replace(_expected_call(text), turn=number) for number, turn in turns for text in turn)
    yield Expected(f"bfcl/{value['id']}", calls)


def _answers_mismatch(value: Any) -> str | None:
    """Explain why a record does not list a task's possible answers as BFCL does, or return None if it does."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return "no object with a string 'id' and a 'ground_truth'"
    turns = value.get("ground_truth")
    if not isinstance(turns, list) or not all(isinstance(turn, list) for turn in turns):
        return "the 'ground_truth' of a multi-turn entry of BFCL is a list of turns, each a list of calls"
    return None


# Model steps


@dataclass(frozen=True)
class _Step:
    """One response from the model.

    The fields other than `content` come from the log: the calls that the benchmark decoded, the decoding error, and the
    calls' results. They are None if there is no log.
    """

    content: Any
    decoded: list[Any] | None = None
    decoding_error: str | None = None
    answers: tuple[Any, ...] | None = None


def _read_turns(transcript: Transcript, value: Mapping[str, Any]) -> None:
    """Add a record's turns: what the user said, and the model's steps. Without a log, there are only the steps."""
    if "inference_log" not in value:
        for content in (one for turn in value["result"] for one in turn):
            _read_step(transcript, _Step(content))
        return
    log = value["inference_log"]
    if not isinstance(log, list):
        raise RecordError("the 'inference_log' must be a list of turns")
    for turn in log:
        if isinstance(turn, dict):  # the lists between turns hold states
            _read_logged_turn(transcript, turn)


def _read_logged_turn(transcript: Transcript, turn: Mapping[str, Any]) -> None:
    for message in objects(turn.get("begin_of_turn_query"), "the messages of 'begin_of_turn_query'"):
        transcript.add_message(str(message.get("role") or "user"), message_text(message.get("content")))
    numbered = {int(found[1]): turn[name] for name in turn if (found := _STEP.fullmatch(name))}
    for number in sorted(numbered):
        _read_step(transcript, _logged_step(list(objects(numbered[number], "the entries of a step"))))


def _add_usage(transcript: Transcript, value: Mapping[str, Any]) -> None:
    """Add the tokens of each step, which are counted in lists of turns."""
    sent, received = (_flatten(value.get(f"{name}_token_count")) for name in ("input", "output"))
    for used in zip_longest(sent, received):
        transcript.add_usage(dict(zip(("input_tokens", "output_tokens"), used, strict=True)))


def _flatten(turns: Any) -> list[Any]:
    steps = [turn if isinstance(turn, list) else [turn] for turn in turns] if isinstance(turns, list) else [[turns]]
    return [step for turn in steps for step in turn]


def _logged_step(entries: list[Mapping[str, Any]]) -> _Step:
    assistant, handler, tools = (
        [one for one in entries if one.get("role") == role] for role in ("assistant", "handler_log", "tool")
    )
    return _Step(
        assistant[0].get("content") if assistant else None,
        _decode(handler),
        next((str(one["error"]) for one in handler if "error" in one), None),
        tuple(one.get("content") for one in tools),
    )


def _decode(handler: list[Mapping[str, Any]]) -> list[Any]:
    """Return the calls that the benchmark decoded.

    A list with one empty item in the log means that there were no calls.
    """
    decoded: Any = next((one["model_response_decoded"] for one in handler if "model_response_decoded" in one), [])
    if not isinstance(decoded, list):
        raise RecordError("'model_response_decoded' must be a list of calls")
    return [] if len(decoded) == 1 and not decoded[0] else decoded


def _read_step(transcript: Transcript, step: _Step) -> None:
    transcript.start_turn()
    written = _calls(step)
    calls = [call for call in written if call is not None]
    if not calls:
        transcript.add_text(_prose(step.content))
        if step.answers and len(step.answers) != len(written):
            raise RecordError(f"{count(len(step.answers), 'answer')} to a step of the model without calls")
        return
    transcript.add_text(_prose_beside_calls(step.content))
    for name, arguments in calls:
        transcript.add_call(name, arguments)
    if step.decoding_error is not None:
        for _ in calls:
            transcript.add_result(None, step.decoding_error, error=True)
    elif step.answers is not None:
        _read_results(transcript, written, step.answers)


def _read_results(transcript: Transcript, written: list[_Call], answers: tuple[Any, ...]) -> None:
    """Add the results of a step's calls. The answers to prose, which the benchmark tried to run, are left out."""
    if len(answers) != len(written):
        raise RecordError(f"{count(len(answers), 'answer')} to a step of the model with {count(len(written), 'call')}")
    for call, answer in zip(written, answers, strict=True):
        if call is not None:
            value = parse_result(answer)
            error = _error(value)
            transcript.add_result(None, value if error is None else error, error=error is not None)


def _prose(content: Any) -> str | None:
    """Return the text of a response without calls, or None if it has no text."""
    if isinstance(content, list):
        return "\n".join(one for one in content if isinstance(one, str)) or None
    return content if isinstance(content, str) else None


def _prose_beside_calls(content: Any) -> str | None:
    """Return the text of a response beside its calls, or None if there is none."""
    if isinstance(content, str):
        text = _THOUGHT.sub("", content, count=1)
        return _TAGGED_CALL.sub("", text).strip() if _TAGGED_CALL.search(text) else None
    texts = [one for one in content if isinstance(one, str)] if isinstance(content, list) else []
    return "\n".join(one for one in texts if _python_call(one) is None) or None


def _error(value: Any) -> Any:
    """Return the error in a call's result, or None if there is none."""
    if isinstance(value, str):
        return value if value.startswith(_ERRORS) else None
    if isinstance(value, dict) and value.get("error"):
        return value["error"] if len(value) == 1 else dict(value)
    return None


_Call = tuple[str, Any] | None
"""A call's tool and arguments, or None for a string that is prose and no call."""


def _calls(step: _Step) -> list[_Call]:
    """Return the tool and arguments for each call in a step, and None for each string that is prose.

    Calls are read as the model wrote them if possible, or else as the benchmark decoded them.
    """
    written = _written_calls(step.content)
    if step.decoded is None or (step.decoding_error is not None and not isinstance(step.content, str)):
        return written
    if len(written) == len(step.decoded) and not isinstance(step.content, str):
        return written
    return [_python_call(text) for text in step.decoded]


def _written_calls(content: Any) -> list[_Call]:
    """Return the tool and arguments for each call that the model wrote, and None for each string that is prose.

    `content` is text, an object that maps tools to arguments, or a list. A list may hold such objects, and strings with
    Python calls.
    """
    if isinstance(content, str):
        return [*_calls_in_text(_THOUGHT.sub("", content, count=1).strip())]
    found: list[_Call] = []
    for one in content if isinstance(content, list) else [content] if isinstance(content, dict) else []:
        if isinstance(one, dict):
            found += [(str(name), arguments) for name, arguments in one.items()]
        elif isinstance(one, str):
            found.append(_python_call(one))
        else:
            raise RecordError("a call must be an object of a name and its arguments, or Python")
    return found


def _calls_in_text(text: str) -> list[tuple[str, Any]]:
    """Return the tool and arguments for each call in a string of JSON or Python."""
    tagged = _TAGGED_CALL.findall(text) or ([text] if _JSON_CALL.match(text) else [])
    if found := [call for one in tagged for call in _json_calls(one)]:
        return found
    unparsed = _PYTHON_CALL.match(text)
    return _python_calls(text) or ([(unparsed[1], text)] if unparsed else [])


def _json_calls(text: str) -> list[tuple[str, Any]]:
    """Return the tool and arguments for each call in a JSON string.

    The JSON is an object with a name and arguments, or a list of such objects. Any other string becomes one call with
    the string as its arguments.
    """
    try:
        value = parse_json(text.strip(), stored=True)
    except ValueError:
        value = None
    found: list[tuple[str, Any]] = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            name = _JSON_NAME.search(text)
            return [(name[1] if name else "", text)]
        found.append((one["name"], one.get("arguments", one.get("parameters"))))
    return found


# Calls in Python, which are parsed and never run


def _expected_call(text: Any) -> ExpectedCall:
    nodes = _nodes(text) if isinstance(text, str) else None
    if nodes is None or len(nodes) != 1:
        raise RecordError(f"an expected call is one call in Python, not {str(text)[:80]!r}")
    try:
        return ExpectedCall(_name(nodes[0]), _keywords(nodes[0]), unnamed=[_literal(one) for one in nodes[0].args])
    except ValueError:
        raise RecordError(f"an expected call has literal arguments, not {text[:80]!r}") from None


def _python_call(text: Any) -> _Call:
    """Return the tool and arguments for a single call in Python, or None if `text` is prose.

    If `text` begins like a call but cannot be parsed, the arguments are `text` itself.
    """
    nodes = _nodes(text) if isinstance(text, str) else None
    if nodes is None or len(nodes) != 1:
        begun = _BEGUN_CALL.match(str(text))
        return (begun[1], str(text)) if begun else None
    return _call(nodes[0], text)


def _python_calls(text: str) -> list[tuple[str, Any]]:
    """Return the tool and arguments for each call in a string that contains only Python calls.

    The list is empty if the string contains anything else. Calls are usually in brackets. The benchmark also allows
    calls without brackets if all their arguments are named.
    """
    bare = text.strip("`\n ").removeprefix("python\n").strip()
    listed = bare if bare.startswith("[") else f"[{bare}]"
    nodes = _nodes(listed) or []
    if listed != bare and any(node.args for node in nodes):
        return []
    return [_call(node, ast.get_source_segment(listed, node) or bare) for node in nodes]


def _call(node: ast.Call, text: str) -> tuple[str, Any]:
    """Return a call's tool and arguments.

    If the arguments are not all named literals, `text`, the call's source, is returned as the arguments.
    """
    try:
        return _name(node), text if node.args else _keywords(node)
    except ValueError:
        return _name(node), text


def _nodes(text: str) -> list[ast.Call] | None:
    """Parse a Python call or a list of calls, or return None if `text` is anything else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes
            body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = body.elts if isinstance(body, (ast.List, ast.Tuple)) else [body]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node)]
    return calls if len(calls) == len(nodes) else None


def _name(node: ast.Call) -> str:
    """Return the dotted name of the called function, or an empty string if the function is not a name."""
    parts: list[str] = []
    inner = node.func
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(parts)]) if isinstance(inner, ast.Name) else ""


def _keywords(node: ast.Call) -> dict[str, Any]:
    if any(one.arg is None for one in node.keywords):
        raise ValueError("arguments are spread")
    return {str(one.arg): _literal(one.value) for one in node.keywords}


def _literal(node: ast.expr) -> Any:
    """Return a literal's value. Raises `ValueError` if `node` is not a literal."""
    try:
        return _tuples_as_lists(ast.literal_eval(node))
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _tuples_as_lists(value: Any) -> Any:
    """Convert all tuples in a value to lists, because JSON has no tuples."""
    if isinstance(value, (list, tuple)):
        return [_tuples_as_lists(item) for item in value]
    return {name: _tuples_as_lists(item) for name, item in value.items()} if isinstance(value, dict) else value


_RECORDS: Final = record_format(
    "bfcl",
    "an answer that begins with `Error`, as text or in a list, or has an `error`; a response that was not decoded",
    mismatch,
    read_record,
)
FORMAT: Final = replace(
    _RECORDS, read=lambda file: add_verdicts(file, _RECORDS.read(file), "bfcl/"), companions=score_files
)
SOURCE: Final = Source("bfcl", _recognise_answers, _read_answers, TOOL_FILE)
