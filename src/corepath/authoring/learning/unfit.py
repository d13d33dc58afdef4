"""Runs that no task can accept, given the tool file, so that nothing can be learned from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corepath.authoring.list_orders import permute_pairs
from corepath.episode import Episode
from corepath.errors import TaskError, count, nearest
from corepath.files.tool_file import Tools, is_glob
from corepath.notation.action import Tool
from corepath.notation.call import Call
from corepath.values import tool_text


def find_unfit(episodes: Sequence[Episode], tools: Tools) -> dict[int, str]:
    """Return the numbers of the runs that no task accepts without harm, with the reason for each."""
    known = None if tools.tools is None else {tool.name: tool for tool in tools.tools}
    found: dict[int, str] = {}
    for number, episode in enumerate(episodes):
        for place, call in enumerate(episode.calls, 1):
            why = next(_why_unfit(call, tools, known), None)
            if why is not None:
                found[number] = f"call {place} of run {number + 1}, {tool_text(call.tool)}: {why}"
                break
    return found


def _why_unfit(call: Call, tools: Tools, known: dict[str, Tool] | None) -> Iterator[str]:
    if call.malformed:
        yield "its arguments are not an object"
        return
    if not call.tool or is_glob(call.tool):
        yield "the name is empty, or has a *, ? or [, as only patterns have"
        return
    if known is not None and call.tool not in known:
        yield f"the tool file does not list that tool under tools{nearest(call.tool, known)}"
        return
    if tools.kind(call.tool) == "write":
        wrong = undeclared(call, None if known is None else known[call.tool])
        if wrong is not None:
            yield f"the tool has no argument '{wrong}' in the tool file"
    if call.failed:
        return
    try:
        permute_pairs(call.arguments, tools.rules(call.tool))
    except TaskError as error:
        yield str(error)


def undeclared(call: Call, tool: Tool | None) -> str | None:
    """Return an argument that a tool does not have, or None if there is none or the parameters are not known."""
    if tool is None or tool.parameters is None:
        return None
    return next((name for name in call.arguments if name not in tool.parameters), None)


def describe_unfit(unfit: dict[int, str]) -> str:
    """Say which runs are left out, and why the first of them is."""
    first = next(iter(unfit.values()))
    are = "is" if len(unfit) == 1 else "are"
    return f"{count(len(unfit), 'run')} {are} left out, because no task accepts such calls: {first}"
