"""Read expected calls that a person wrote, for `corepath derive`.

The file is YAML or JSON and holds one task or a list of tasks, e.g. `{id: bank/pay, prompt: ..., calls: ['pay(to="Ann",
amount=5)']}`. Calls are written in the call notation. In JSON, calls may also be objects, e.g. `{"tool": "pay",
"arguments": {"to": "Ann"}}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.errors import InputError, NotationError, Problem, nearest
from corepath.files.document import Document, read_json, read_yaml
from corepath.files.folders import TASK_ENDINGS
from corepath.importers.format import Source
from corepath.importers.reading import Sample
from corepath.notation import parser

_FIELDS: Final = ("id", "prompt", "tags", "calls")


def _recognise(sample: Sample) -> str | None:
    """Explain why a file is not in this format, or return None if it is. Only the first task is checked."""
    if sample.file.suffix not in TASK_ENDINGS:
        return f"a file of expected calls ends in {', '.join(TASK_ENDINGS)}"
    try:
        first = next(iter(_documents(sample.file)), None)
    except InputError as error:
        return error.problems[0].message
    if first is None or not isinstance(first.data, dict) or "calls" not in first.data or "id" not in first.data:
        return "no 'id' and 'calls' in the first task"
    return None


def _read(path: Path) -> Iterator[Expected | Problem]:
    """Yield the expected calls for each valid task, and every problem in each invalid task."""
    try:
        documents = _documents(path)
    except InputError as error:
        yield from error.problems
        return
    for document in documents:
        problems = list(_field_problems(document))
        found = None if problems else _read_expected(document, problems)
        if problems or found is None:
            yield from problems
        else:
            yield found


def _documents(path: Path) -> list[Document]:
    """Return the tasks in a file. Raises `InputError` if the file cannot be read or parsed."""
    name = str(path)
    try:
        source = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(name, 1, 1, "not UTF-8; save the file as UTF-8")]) from None
    read = read_json if path.suffix == ".json" else read_yaml
    return [item for one in read(name, source) for item in one.split()]


def _field_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems in a task's fields, except problems in the calls themselves."""
    data = document.data
    if not isinstance(data, dict):
        yield document.problem("expected calls must be a mapping with 'id' and 'calls'")
        return
    for name in data:
        if name not in _FIELDS:
            yield document.problem(f"no field '{name}'{nearest(name, _FIELDS)}", (name,), at_key=True)
    if not isinstance(data.get("id"), str) or not data["id"]:
        yield document.problem("'id' must be a non-empty string", ("id",))
    if not isinstance(data.get("calls"), list):
        yield document.problem("'calls' must be a list; it is empty if nothing should change", ("calls",))
    if not isinstance(data.get("prompt") or "", str):
        yield document.problem("'prompt' must be a string", ("prompt",))
    if not _is_strings(data.get("tags") or []):
        yield document.problem("'tags' must be a list of strings", ("tags",))


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _read_expected(document: Document, problems: list[Problem]) -> Expected:
    """Read the expected calls for a task whose fields are valid. Problems in the calls are added to `problems`."""
    data = document.data
    found = [_read_call(document, place, call, problems) for place, call in enumerate(data["calls"])]
    calls = tuple(call for call in found if call is not None)
    return Expected(data["id"], calls, data.get("prompt") or "", tuple(data.get("tags") or []))


def _read_call(document: Document, place: int, call: Any, problems: list[Problem]) -> ExpectedCall | None:
    where = ("calls", place)
    if isinstance(call, str):
        try:
            read = parser.call(call)
        except NotationError as error:
            problems.append(document.problem(error.message, where, error.position))
            return None
        return ExpectedCall(read.tool, read.arguments)
    is_json = document.file.endswith(".json")
    if is_json and isinstance(call, dict) and set(call) == {"tool", "arguments"}:
        tool, arguments = call["tool"], call["arguments"]
        if isinstance(tool, str) and isinstance(arguments, dict):
            return ExpectedCall(tool, arguments)
    wanted = "a call must be a string in the call notation" + (
        ", or an object with 'tool' and 'arguments'" if is_json else ""
    )
    problems.append(document.problem(f"{wanted}, as in 'pay(to=\"Ann\", amount=5)'", where))
    return None


SOURCE: Final = Source("calls", _recognise, _read)
