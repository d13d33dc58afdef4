"""Expected calls as a person writes them, for `corepath derive`.

YAML or JSON, one task or a list of them: `{id: bank/pay, prompt: ..., calls: ['pay(to="Ann", amount=5)']}`. Calls stand
in the call notation; in JSON they may be objects too: `{"tool": "pay", "arguments": {"to": "Ann", "amount": 5}}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.errors import InputError, NotationError, Problem, nearest
from corepath.files.document import Document, read_json, read_yaml
from corepath.files.folders import TASK_ENDINGS
from corepath.notation import parser

_FIELDS: Final = ("id", "prompt", "tags", "calls")


def expects(path: Path) -> str | None:
    """Why a file does not hold expected calls as this format has them; None where it does."""
    if path.suffix not in TASK_ENDINGS:
        return f"a file of expected calls ends in {', '.join(TASK_ENDINGS)}"
    try:
        first = next(iter(_documents(path)), None)
    except InputError as error:
        return error.problems[0].message
    if first is None or not isinstance(first.data, dict) or "calls" not in first.data or "id" not in first.data:
        return "no 'id' and 'calls' in the first task"
    return None


def expectations(path: Path) -> Iterator[Expected | Problem]:
    """What is expected of each task of a file."""
    try:
        documents = _documents(path)
    except InputError as error:
        yield from error.problems
        return
    for document in documents:
        problems: list[Problem] = []
        found = _expected(document, problems)
        yield from problems
        if found is not None and not problems:
            yield found


def _documents(path: Path) -> list[Document]:
    name = str(path)
    try:
        source = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(name, 1, 1, "not UTF-8; save the file as UTF-8")]) from None
    read = read_json if path.suffix == ".json" else read_yaml
    return [item for one in read(name, source) for item in one.split()]


def _expected(document: Document, problems: list[Problem]) -> Expected | None:
    data = document.data
    if not isinstance(data, dict):
        problems.append(document.problem("expected calls stand in a mapping with 'id' and 'calls'"))
        return None
    for name in (name for name in data if name not in _FIELDS):
        problems += [document.problem(f"no field '{name}'{nearest(name, _FIELDS)}", (name,), at_key=True)]
    id_, calls, prompt, tags = data.get("id"), data.get("calls"), data.get("prompt") or "", data.get("tags") or []
    if not isinstance(id_, str) or not id_:
        problems.append(document.problem("'id' is a text that is not empty", ("id",)))
    if not isinstance(calls, list):
        problems.append(document.problem("'calls' is a list; an empty one asks that nothing be changed", ("calls",)))
    if not isinstance(prompt, str):
        problems.append(document.problem("'prompt' is a text", ("prompt",)))
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        problems.append(document.problem("'tags' is a list of texts", ("tags",)))
    if problems:
        return None
    found = [_call(document, place, call, problems) for place, call in enumerate(calls or [])]
    return Expected(str(id_), tuple(call for call in found if call is not None), prompt, tuple(tags))


def _call(document: Document, place: int, call: Any, problems: list[Problem]) -> ExpectedCall | None:
    where = ("calls", place)
    if isinstance(call, str):
        try:
            read = parser.call(call)
        except NotationError as error:
            problems.append(document.problem(error.message, where, error.position))
            return None
        return ExpectedCall(read.tool, read.arguments)
    is_json = document.file.endswith(".json")
    if is_json and isinstance(call, Mapping) and set(call) == {"tool", "arguments"}:
        tool, arguments = call["tool"], call["arguments"]
        if isinstance(tool, str) and isinstance(arguments, Mapping):
            return ExpectedCall(tool, arguments)
    wanted = "a call is a text in the call notation" + (", or an object with 'tool' and 'arguments'" if is_json else "")
    problems.append(document.problem(f"{wanted}, as in 'pay(to=\"Ann\", amount=5)'", where))
    return None
