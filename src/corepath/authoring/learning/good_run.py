"""Good runs as the learner reads them: the calls that had an effect or were answered, without the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corepath.authoring.learning.unfit import undeclared
from corepath.episode import Episode
from corepath.files.tool_file import Tools
from corepath.notation.call import Call


@dataclass(frozen=True)
class GoodRun:
    """A run that did its task in a right way.

    `calls` leaves out calls that failed, neutral calls, and calls whose arguments are not an object or not those of
    the tool. Arguments are completed with the defaults of the tool's parameters. `episode` has all calls as they were
    recorded.
    """

    calls: tuple[Call, ...]
    reads: tuple[bool, ...]
    """Whether each call only reads."""
    params: Mapping[str, Any]
    episode: Episode
    number: int = 0
    """Its place among all runs."""


def read_run(episode: Episode, tools: Tools, number: int = 0) -> GoodRun:
    """Return what the learner looks at in an episode."""
    known = {tool.name: tool for tool in tools.tools or ()}
    calls = []
    for call in episode.calls:
        if call.failed or call.malformed or tools.kind(call.tool) == "neutral":
            continue
        tool = known.get(call.tool)
        if undeclared(call, tool) is not None:
            continue
        arguments = call.arguments if tool is None else tool.fill_defaults(call.arguments)
        calls.append(Call(call.tool, dict(arguments), call.result))
    reads = tuple(tools.kind(call.tool) == "read" for call in calls)
    return GoodRun(tuple(calls), reads, episode.params, episode, number)
