"""Find a part of a file's path by a pattern, e.g. the task in `runs/{task}/*.json`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from corepath.errors import TaskError

PREFIX: Final = "path:"
"""How a pattern for paths begins where a field of the trace could stand as well."""

_TOKENS: Final = re.compile(r"(\*\*/?)|(\*)|(\?)|\{(\w*)\}")


@dataclass(frozen=True)
class PathPattern:
    """A pattern for the end of a path.

    `*` stands for any text within one name, `**` for any text, and `?` for one character. `{task}` is the part that is
    wanted, within one name. If there are several such parts, they are joined by `/`.
    """

    text: str
    regex: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a pattern. Raises `TaskError` if no part of the path is wanted."""
        made, wanted, last = "", 0, 0
        for token in _TOKENS.finditer(text):
            made += re.escape(text[last : token.start()])
            if token[1] is not None:
                made += "(?:.*/)?" if token[1].endswith("/") else ".*"
            elif token[2] or token[3]:
                made += "[^/]*?" if token[2] else "[^/]"
            else:
                made, wanted = made + "([^/]+?)", wanted + 1
            last = token.end()
        if not wanted:
            raise TaskError.of(f"the pattern '{text}' has no part in braces, as in '{PREFIX}runs/{{task}}/*.json'")
        return cls(text, re.compile(f"(?:.*/)?{made}{re.escape(text[last:])}", re.DOTALL))

    def find(self, path: Path) -> str | None:
        """Return the wanted part of a path, or None if the path does not fit the pattern."""
        found = self.regex.fullmatch(path.absolute().as_posix())
        return None if found is None else "/".join(found.groups())
