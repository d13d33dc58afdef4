"""Changing the procedure and the actions in a task file, and nothing else: comments and layout stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping

import yaml

from corepath.errors import InputError, Problem, TaskError, count, nearest
from corepath.files.document import Document
from corepath.files.tasks import build_task, read_file, read_text
from corepath.files.yaml import compose

_Edit = tuple[int, int, str]
"""Where a piece of the source begins and ends, and what takes its place."""


def find_document(path: str) -> Document:
    """Return the document of a file's only task, or of the task with the id after `::`, e.g. `tasks.yaml::bank/open`.

    Raises `InputError` if there is no such task.
    """
    file, _, id_ = path.partition("::")
    documents = read_file(file)
    ids = [document.data.get("id") if isinstance(document.data, dict) else None for document in documents]
    if not id_ and len(documents) == 1:
        return documents[0]
    if id_ in ids:
        return documents[ids.index(id_)]
    known = [str(one) for one in ids if one]
    if id_:
        raise InputError([Problem(file, 1, 1, f"has no task '{id_}'{nearest(id_, known)}")])
    few = ", ".join(known[:5]) + ", …" * (len(known) > 5)
    message = f"has {count(len(documents), 'task')} ({few}); name one, as in {file}::{known[0] if known else 'id'}"
    raise InputError([Problem(file, 1, 1, message)])


def edit_task(document: Document, procedure: str, actions: Mapping[str, str]) -> str:
    """Return the text of a task file with another procedure and other actions.

    `actions` maps the names of changed and new actions to their notations. Raises `TaskError` if the file is laid out
    in a way that cannot be edited, e.g. with an alias.
    """
    edits: list[_Edit] = []
    known: dict[str, str] = document.data.get("actions") or {}
    if document.data["procedure"] != procedure:
        edits.append(_replace(document, ("procedure",), procedure))
    edits += [
        _replace(document, ("actions", name), text)
        for name, text in actions.items()
        if name in known and known[name] != text
    ]
    fresh = {name: text for name, text in actions.items() if name not in known}
    if fresh:
        edits.append(_add_actions(document, fresh))
    source = document.source
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    _check(document, source, procedure, actions)
    return source


def _replace(document: Document, where: tuple[str, ...], text: str) -> _Edit:
    """Replace a scalar. Its quotes are kept if it needs none, and a block becomes a line."""
    node = _scalar(document, where)
    start, end = node.start_mark.index, node.end_mark.index
    if document.node is None or node.style in ("|", ">") or _is_inside_flow(document, where):
        quoted = _quote(text, is_json=document.node is None)
    else:
        quoted = text if node.style is None and _is_plain(text) else _quote(text)
    tail = "\n" if document.source[start:end].endswith("\n") else ""
    blank = document.source[start:end][len(document.source[start:end].rstrip()) :] if tail else ""
    return start, end, quoted + (blank or tail)


def _add_actions(document: Document, actions: Mapping[str, str]) -> _Edit:
    """Add actions after the last one, as the file writes them, or before the procedure if there are none."""
    key, node = document.find(("actions",))
    is_json = document.node is None
    if not isinstance(node, yaml.MappingNode) or not isinstance(key, yaml.ScalarNode) or key.value != "actions":
        return _begin_actions(document, actions)
    pairs = [f"{_key(name, is_json=is_json)}: {_quote(text, is_json=is_json)}" for name, text in actions.items()]
    if node.flow_style:
        end = node.value[-1][1].end_mark.index if node.value else node.start_mark.index + 1
        return end, end, (", " if node.value else "") + ", ".join(pairs)
    indent = " " * node.value[-1][0].start_mark.column
    end = _line_end(document.source, node.value[-1][1].end_mark.index)
    return end, end, "".join(f"\n{indent}{pair}" for pair in pairs)


def _begin_actions(document: Document, actions: Mapping[str, str]) -> _Edit:
    key, _ = document.find(("procedure",))
    assert key is not None
    start, is_json = key.start_mark.index, document.node is None
    pairs = [f"{_key(name, is_json=is_json)}: {_quote(text, is_json=is_json)}" for name, text in actions.items()]
    if is_json or _is_inside_flow(document, ("procedure",)):
        name = '"actions"' if is_json else "actions"
        return start, start, f"{name}: {{{', '.join(pairs)}}}, "
    indent = " " * key.start_mark.column
    return start, start, "actions:\n" + "".join(f"{indent}  {pair}\n" for pair in pairs) + indent


def _scalar(document: Document, where: tuple[str, ...]) -> yaml.ScalarNode:
    _, node = document.find(where)
    if not isinstance(node, yaml.ScalarNode):
        raise TaskError.of(f"'{'.'.join(where)}' of the task cannot be found in the file")
    return node


def _is_inside_flow(document: Document, where: tuple[str, ...]) -> bool:
    """Whether a value stands in a mapping with braces."""
    for length in range(len(where)):
        _, node = document.find(where[:length])
        if isinstance(node, yaml.MappingNode) and node.flow_style:
            return True
    return False


def _line_end(source: str, index: int) -> int:
    """Return where the line ends on which a value ends. A block's end is at the beginning of the next line."""
    if index and source[index - 1] == "\n":
        return len(source[:index].rstrip())
    found = source.find("\n", index)
    return len(source) if found < 0 else found


def _is_plain(text: str) -> bool:
    """Whether YAML reads a text as it is, without quotes."""
    try:
        (node,) = compose("", f"key: {text}\n")
    except (InputError, ValueError):
        return False
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        return False
    value = node.value[0][1]
    return isinstance(value, yaml.ScalarNode) and value.value == text and value.style is None


def _key(name: str, *, is_json: bool) -> str:
    return name if not is_json and name.isidentifier() and _is_plain(name) else _quote(name, is_json=is_json)


def _quote(text: str, *, is_json: bool = False) -> str:
    if is_json or not text.isprintable():
        return json.dumps(text)
    return "'" + text.replace("'", "''") + "'"


def _check(document: Document, source: str, procedure: str, actions: Mapping[str, str]) -> None:
    """Raise `TaskError` unless the edited file holds the task as it should be, and the other tasks as they were."""
    wanted = {**document.data, "procedure": procedure}
    if actions:
        wanted["actions"] = {**(document.data.get("actions") or {}), **actions}
    try:
        found = parse_documents(document, source)
        before = parse_documents(document, document.source)
    except InputError as error:
        raise TaskError.of(f"the file cannot be edited: {error}") from None
    same = [one.data for one in before]
    place = next((number for number, one in enumerate(same) if one == document.data), None)
    if place is not None:
        same[place] = wanted
    if place is None or [one.data for one in found] != same:
        raise TaskError.of("the file cannot be edited without changing more than the task's procedure and actions; "
                           "write the task into a file of its own")  # fmt: skip
    build_task(found[place])


def parse_documents(document: Document, source: str) -> list[Document]:
    """Parse other text in place of a document's file."""
    return read_text(document.file, source, is_json=document.node is None)
