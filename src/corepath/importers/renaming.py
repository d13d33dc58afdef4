"""Rename the tools in imported traces, e.g. to remove the prefix that a client adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from corepath.episode import Episode
from corepath.errors import TaskError
from corepath.importers.routing import read_table
from corepath.notation.call import Call

SENT_AS: Final = "sent_as"
"""The key in a renamed call's `extra` that holds the name in the trace."""


@dataclass(frozen=True)
class Renaming:
    """Rules that rename tools. For each tool, the first rule that matches its name is used."""

    rules: tuple[tuple[re.Pattern[str], str], ...] = ()

    @classmethod
    def parse(cls, given: Iterable[str]) -> Self:
        """Parse rules: `OLD=NEW`, or the name of a file with lines `OLD: NEW`.

        Without a `*`, `OLD` is a whole name. With a `*`, it is the beginning of a name, of which `NEW` takes the place.
        Raises `TaskError` if a rule cannot be read, and `InputError` if a file has problems.
        """
        rules: list[tuple[str, str]] = []
        for text in given:
            old, equals, new = text.partition("=")
            if equals and old:
                rules.append((old, new))
            elif not equals and Path(text).is_file():
                rules += read_table(Path(text), "NEW").items()
            else:
                raise TaskError.of(f"'{text}' is neither OLD=NEW, as in 'mcp__*__=', nor a file of lines 'OLD: NEW'")
        return cls(tuple((_regex(old), new) for old, new in rules))

    def __call__(self, episode: Episode) -> Episode:
        """Return the episode with its tools renamed."""
        if not self.rules:
            return episode
        calls, others = (tuple(map(self._rename, some)) for some in (episode.calls, episode.other_calls))
        return replace(episode, calls=calls, other_calls=others)

    def _rename(self, call: Call) -> Call:
        for pattern, new in self.rules:
            if found := pattern.match(call.tool):
                extra: Mapping[str, object] = {SENT_AS: call.tool, **call.extra}
                return replace(call, tool=new + call.tool[found.end() :], extra=extra)
        return call


def _regex(old: str) -> re.Pattern[str]:
    parts = ".*?".join(map(re.escape, old.split("*")))
    return re.compile(parts if "*" in old else rf"{parts}\Z", re.DOTALL)
