"""Write tool files for people: each entry with its evidence as a comment behind it."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from corepath.authoring.tools.verdict import Verdict
from corepath.files import VERSION
from corepath.files.tool_file import Tools
from corepath.notation.action import Tool

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_TEXT: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that a YAML reader may take for something other than text."""
_LONGEST_COMMENT: Final = 300


def write_tool_file(
    tools: Tools, evidence: Mapping[str, Verdict], seen: Mapping[str, Tool], rules: Mapping[tuple[str, str], str]
) -> str:
    """Return a tool file. `seen` has tools whose arguments are known from runs only."""
    parts = [
        f"version: {VERSION}\n",
        _list("reads", _entries("read", evidence)),
        _list("neutral", _entries("neutral", evidence)),
        *_unsure(evidence),
        *_writes(evidence),
        *_arguments(tools, rules),
        *_signatures(tools, seen),
    ]
    return "".join(parts)


def _entries(kind: str, evidence: Mapping[str, Verdict]) -> Iterator[str]:
    """Yield an item for each tool of a kind that is sure."""
    for name, verdict in evidence.items():
        if verdict.kind == kind and verdict.sure:
            yield f"{_scalar(glob.escape(name))}{_comment(kind, verdict.evidence)}"


def _list(key: str, items: Iterable[str]) -> str:
    listed = "".join(f"- {item}\n" for item in items)
    return f"{key}:\n{listed}" if listed else f"{key}: []\n"


def _unsure(evidence: Mapping[str, Verdict]) -> Iterator[str]:
    unsure = {name: verdict for name, verdict in evidence.items() if not verdict.sure}
    if unsure:
        yield "# Each counts as a write until you move it to reads or neutral, or delete its line if it writes.\n"
        yield "unsure:\n"
    for name, verdict in unsure.items():
        yield f"  {_scalar(glob.escape(name))}: {verdict.kind}?{_comment('', verdict.evidence)}\n"


def _writes(evidence: Mapping[str, Verdict]) -> Iterator[str]:
    """Yield the writes as comments: what is listed nowhere is a write."""
    items = list(_entries("write", evidence))
    if items:
        yield "# Writes need no entry:\n"
        yield from (f"# - {item}\n" for item in items)


def _arguments(tools: Tools, rules: Mapping[tuple[str, str], str]) -> Iterator[str]:
    if rules:
        yield "arguments:\n"
    last = None
    for (name, path), why in rules.items():
        if name != last:
            yield f"  {_scalar(glob.escape(name))}:\n"
        last = name
        yield f"    {_scalar(path)}: {_scalar(tools.arguments[glob.escape(name)][path])}{_comment('', (why,))}\n"


def _signatures(tools: Tools, seen: Mapping[str, Tool]) -> Iterator[str]:
    """Yield the signatures. What runs show may be incomplete, so it is written as comments."""
    if tools.tools is not None:
        yield "tools:\n"
        for tool in tools.tools:
            shown = f"   # called as {_clean(str(seen[tool.name]))}" if tool.name in seen else ""
            yield f"- {_quote(str(tool))}{shown}\n"
    elif seen:
        yield "# Arguments that were seen. Remove these # signs if no tool and no argument is missing:\n"
        yield "# tools:\n"
        yield from (f"# - {_quote(str(tool))}\n" for tool in seen.values())


def _comment(kind: str, evidence: Iterable[str]) -> str:
    said = _clean("; ".join(evidence))
    return f"   # {kind}: {said}" if kind else f"   # {said}"


def _clean(text: str) -> str:
    """Return text for a comment: on one line, without characters that YAML does not allow, and not too long."""
    cut = text if len(text) <= _LONGEST_COMMENT else f"{text[: _LONGEST_COMMENT - 1]}…"
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in cut).replace("\x7f", "\\u007f")


def _scalar(text: str) -> str:
    """Return a text for YAML, in quotes if necessary."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT else _quote(text)


def _quote(text: str) -> str:
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text).replace("\x7f", "\\u007f")
