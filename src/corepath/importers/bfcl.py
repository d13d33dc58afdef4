"""BFCL multi-turn results: records with an `id` and a `result`, which is a list of turns of steps of the model.

An error is an answer that begins with "Error during execution", or an object with an `error`; and a response that
the benchmark could not decode makes an error of each of its calls. What was executed and what it answered stands in the
`inference_log`; without it the calls are read from the `result` alone and stay unanswered. Calls are written as objects
(`{"cd": "{...}"}`), as Python (`[cd(folder='x')]`), which is taken apart and never run, or where there is no log as
other models do: `<tool_call>{"name": ..., "arguments": ...}</tool_call>`, `{"name": ..., "parameters": ...}`. What
looks like a call and cannot be taken apart is kept as raw text. The task is `bfcl/ID`. An entry that broke off during
inference failed outside the agent.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import Problem, RecordError, count
from corepath.importers.messages import Conversation, metadata_of, objects, result_value
from corepath.importers.reading import records
from corepath.values import parse_json

_BROKE_OFF: Final = "Error during inference"
_NOT_RUN: Final = "Error during execution"
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_TAGGED: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_OBJECT: Final = re.compile(r'\[?\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:')
_NAMED: Final = re.compile(r'"name"\s*:\s*"([^"]*)"')
_BEGUN: Final = re.compile(r"\[\s*([^\W\d][\w.]*)\(")
_STEP: Final = re.compile(r"step_(\d{1,9})")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str) or "result" not in value:
        return "no object with an 'id', a text, and a 'result'"
    result = value["result"]
    if isinstance(result, str) and result.startswith(_BROKE_OFF):
        return None
    if not isinstance(result, list) or not all(isinstance(turn, list) for turn in result):
        return "the 'result' of a multi-turn entry of BFCL is a list of turns, each a list of steps"
    if not result and "inference_log" not in value:
        return "a 'result' without turns"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of an entry."""
    if wrong := fits(value):
        raise RecordError(wrong)
    made = Conversation()
    failed: dict[str, Any] = {}
    if isinstance(value["result"], str):
        failed = {"ended": FAILED_OUTSIDE, "failure": {"kind": "error", "message": value["result"]}}
    else:
        for step in _steps(value):
            _take(made, step)
    metadata = metadata_of(value, "result", "inference_log")
    episode = made.episode(benchmark="bfcl", metadata=metadata, **failed)
    yield replace(episode, task=f"bfcl/{value['id']}")


def expects(path: Path) -> str | None:
    """Why a file does not hold what the benchmark expects; None where it does."""
    for _, value in records(path, lambda one: isinstance(one, Mapping)):
        if not isinstance(value, Problem):
            return _why_not_expected(value)
    return "no JSON in it"


def expectations(path: Path) -> Iterator[Expected | Problem]:
    """What the benchmark expects, from a file of its possible answers."""
    for place, value in records(path, lambda one: isinstance(one, Mapping)):
        if isinstance(value, Problem):
            yield value
        elif wrong := _why_not_expected(value):
            yield place.problem(wrong)
        else:
            try:
                calls = tuple(_expected(text) for turn in value["ground_truth"] for text in turn)
            except RecordError as error:
                yield place.problem(str(error))
            else:
                yield Expected(f"bfcl/{value['id']}", calls)


def _why_not_expected(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str):
        return "no object with an 'id', a text, and a 'ground_truth'"
    turns = value.get("ground_truth")
    if not isinstance(turns, list) or not all(isinstance(turn, list) for turn in turns):
        return "the 'ground_truth' of a multi-turn entry of BFCL is a list of turns, each a list of calls"
    return None


# Steps of the model


@dataclass(frozen=True)
class _Step:
    """What the model wrote at once; `decoded` is what the benchmark took it for, where that is known."""

    content: Any
    decoded: list[Any] | None = None
    why_not: str | None = None
    answers: tuple[Any, ...] | None = None


def _steps(value: Mapping[str, Any]) -> Iterator[_Step]:
    if "inference_log" not in value:
        yield from (_Step(content) for turn in value["result"] for content in turn)
        return
    log = value["inference_log"]
    if not isinstance(log, list):
        raise RecordError("the 'inference_log' is a list of turns")
    for turn in log:
        if isinstance(turn, Mapping):  # what stands between turns are states
            numbered = {int(found[1]): turn[name] for name in turn if (found := _STEP.fullmatch(name))}
            for number in sorted(numbered):
                yield _logged(list(objects(numbered[number], "the entries of a step")))


def _logged(entries: list[Mapping[str, Any]]) -> _Step:
    by_role = {
        role: [one for one in entries if one.get("role") == role] for role in ("assistant", "handler_log", "tool")
    }
    content = by_role["assistant"][0].get("content") if by_role["assistant"] else None
    decoded: Any = next(
        (one["model_response_decoded"] for one in by_role["handler_log"] if "model_response_decoded" in one), []
    )
    why_not = next((str(one["error"]) for one in by_role["handler_log"] if "error" in one), None)
    if not isinstance(decoded, list):
        raise RecordError("'model_response_decoded' is a list of calls")
    if len(decoded) == 1 and not decoded[0]:
        decoded = []  # so the benchmark writes that nothing was called
    return _Step(content, decoded, why_not, tuple(one.get("content") for one in by_role["tool"]))


def _take(made: Conversation, step: _Step) -> None:
    made.next_turn()
    calls = _calls(step)
    if not calls:
        made.said(step.content if isinstance(step.content, str) else None)
        if step.answers:
            raise RecordError(f"{count(len(step.answers), 'answer')} to a step of the model that called nothing")
        return
    for name, arguments in calls:
        made.call(name, arguments)
    if step.why_not is not None:
        for _ in calls:
            made.result(None, step.why_not, error=True)
    elif step.answers is not None:
        if len(step.answers) != len(calls):
            raise RecordError(
                f"{count(len(step.answers), 'answer')} to a step of the model with {count(len(calls), 'call')}"
            )
        for answer in step.answers:
            value = result_value(answer)
            error = _error(value)
            made.result(None, value if error is None else error, error=error is not None)


def _error(value: Any) -> Any:
    """What an answer says went wrong; None where nothing did."""
    if isinstance(value, str):
        return value if value.startswith(_NOT_RUN) else None
    if isinstance(value, Mapping) and value.get("error"):
        return value["error"] if len(value) == 1 else dict(value)
    return None


def _calls(step: _Step) -> list[tuple[str, Any]]:
    written = _written(step.content)
    if step.decoded is None or (step.why_not is not None and not isinstance(step.content, str)):
        return written
    if len(written) == len(step.decoded) and not isinstance(step.content, str):
        return written  # as the model wrote them, which the decoded ones were made of
    return [_python_call(text) for text in step.decoded]


def _written(content: Any) -> list[tuple[str, Any]]:
    """The calls in what the model wrote: objects of names and arguments, or Python."""
    if isinstance(content, str):
        text = _THOUGHT.sub("", content, count=1).strip()
        tagged = _TAGGED.findall(text) or ([text] if _OBJECT.match(text) else [])
        begun = _BEGUN.match(text)
        python = _python_calls(text) or ([(begun[1], text)] if begun else [])
        return [call for one in tagged for call in _json_calls(one)] or python
    found: list[tuple[str, Any]] = []
    for one in content if isinstance(content, list) else [content] if isinstance(content, Mapping) else []:
        if isinstance(one, Mapping):
            found += [(str(name), arguments) for name, arguments in one.items()]
        elif isinstance(one, str):
            found.append(_python_call(one))
        else:
            raise RecordError("a call is an object of a name and its arguments, or Python as text")
    return found


def _json_calls(text: str) -> list[tuple[str, Any]]:
    """The calls of a text that is an object with a name and arguments, or a list of them; else as raw text."""
    try:
        value = parse_json(text.strip(), stored=True)
    except ValueError:
        value = None
    found: list[tuple[str, Any]] = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            name = _NAMED.search(text)
            return [(name[1] if name else "", text)]
        found.append((one["name"], one.get("arguments", one.get("parameters"))))
    return found


# Python, which is only taken apart


def _expected(text: Any) -> ExpectedCall:
    nodes = _nodes(text) if isinstance(text, str) else None
    if nodes is None or len(nodes) != 1:
        raise RecordError(f"an expected call is one call in Python, not {str(text)[:80]!r}")
    try:
        return ExpectedCall(_name(nodes[0]), _named(nodes[0]), unnamed=[_literal(one) for one in nodes[0].args])
    except ValueError:
        raise RecordError(f"an expected call has literal arguments, not {text[:80]!r}") from None


def _python_call(text: Any) -> tuple[str, Any]:
    nodes = _nodes(text) if isinstance(text, str) else None
    if nodes is None or len(nodes) != 1:
        name = re.match(r"\s*([\w.]*)", str(text))
        return name[1] if name else "", str(text)
    return _call(nodes[0], text)


def _python_calls(text: str) -> list[tuple[str, Any]]:
    """The calls of a text that is nothing but calls, as the benchmark reads it: in brackets, or bare with names."""
    bare = text.strip("`\n ").removeprefix("python\n").strip()
    listed = bare if bare.startswith("[") else f"[{bare}]"
    nodes = _nodes(listed) or []
    if listed != bare and any(node.args for node in nodes):
        return []
    return [_call(node, ast.get_source_segment(listed, node) or bare) for node in nodes]


def _call(node: ast.Call, text: str) -> tuple[str, Any]:
    try:
        return _name(node), text if node.args else _named(node)
    except ValueError:
        return _name(node), text


def _nodes(text: str) -> list[ast.Call] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that mean nothing
            body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = body.elts if isinstance(body, (ast.List, ast.Tuple)) else [body]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node)]
    return calls if len(calls) == len(nodes) else None


def _name(node: ast.Call) -> str:
    """The name of what is called, with its dots; empty where it is something else than names."""
    parts: list[str] = []
    inner = node.func
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(parts)]) if isinstance(inner, ast.Name) else ""


def _named(node: ast.Call) -> dict[str, Any]:
    if any(one.arg is None for one in node.keywords):
        raise ValueError("arguments are spread")
    return {str(one.arg): _literal(one.value) for one in node.keywords}


def _literal(node: ast.expr) -> Any:
    try:
        return _lists(ast.literal_eval(node))
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _lists(value: Any) -> Any:
    """The value with its tuples as lists, as JSON has them."""
    if isinstance(value, (list, tuple)):
        return [_lists(item) for item in value]
    return {name: _lists(item) for name, item in value.items()} if isinstance(value, dict) else value
