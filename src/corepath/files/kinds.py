"""Tell task files, rule files and tool files apart, for the user who mistakes one for another."""

from __future__ import annotations

from typing import Any, Final, Literal

Kind = Literal["task file", "rule file", "tool file"]

_OPTIONS: Final[dict[Kind, str]] = {"task file": "--tasks", "rule file": "--rules", "tool file": "--tools"}
_OF_TASKS: Final = frozenset(("id", "actions", "procedure", "transitions"))
_OF_TOOLS: Final = frozenset(("reads", "neutral", "arguments", "unsure"))
_BESIDE_TOOLS: Final = frozenset(("version", "tools"))


def describe_other_kind(data: Any, wanted: Kind) -> str | None:
    """Return an error message if a file's content is of another kind than wanted, or None if it is not."""
    found = _find_kind(data)
    if found is None or found == wanted:
        return None
    return f"this is a {found}, for {_OPTIONS[found]}, and not a {wanted}"


def _find_kind(data: Any) -> Kind | None:
    """Return which kind of file has such content, or None if its fields do not tell."""
    if not isinstance(data, dict):
        return None
    if data.keys() & _OF_TASKS:
        return "task file"
    if "rules" in data:
        return "rule file"
    return "tool file" if data.keys() & _OF_TOOLS and data.keys() <= _OF_TOOLS | _BESIDE_TOOLS else None
