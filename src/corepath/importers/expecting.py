"""What benchmarks expect, from the files in which they say it: a module a source, as importers are.

A source has `expects(path)`, which says why a file is not of it, and `expectations(path)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected
from corepath.errors import InputError, Problem, TaskError, nearest

SOURCES: Final = {"tau-bench": "tau_bench", "tau2": "tau2_bench", "bfcl": "bfcl", "calls": "expected_calls"}
"""The sources by the name that a user gives, and the module of each."""
_TOOL_FILES: Final = {"tau-bench": "tau_tools.yaml", "tau2": "tau_tools.yaml"}
"""The sources whose tools are known, and the tool file of each."""


def expected_in(path: str | Path, source: str = "auto") -> Iterator[Expected | Problem]:
    """What is expected of the tasks of a file, each task once, and a problem for each that cannot be read.

    `auto` recognises the source; raises `InputError` that says which were tried and why each failed.
    """
    file = Path(path)
    known: dict[str, Expected] = {}
    for one in _module(source_of(file, source)).expectations(file):
        if isinstance(one, Problem):
            yield one
        elif one.id not in known:
            known[one.id] = one
            yield one
        elif one != known[one.id]:
            yield Problem(str(file), 1, 1, f"task '{one.id[:120]}' is there twice, and other calls are expected of it")


def source_of(file: Path, source: str = "auto") -> str:
    """The source that is meant; `auto` recognises it."""
    if not file.exists():
        raise InputError([Problem(str(file), 1, 1, "no such file")])
    if source == "auto":
        return _recognised(file)
    if source not in SOURCES:
        raise TaskError.of(f"no source '{source}'{nearest(source, SOURCES)}")
    return source


def own_tools(source: str) -> Path | None:
    """The tool file that comes with corepath for a source."""
    name = _TOOL_FILES.get(source)
    return None if name is None else Path(__file__).with_name(name)


def _recognised(file: Path) -> str:
    tried: dict[str, str] = {}
    for name in SOURCES:
        why: str | None = _module(name).expects(file)
        if why is None:
            return name
        tried[name] = why
    reasons = "; ".join(f"{name}: {why}" for name, why in tried.items())
    raise InputError([Problem(str(file), 1, 1, f"of no source that is known; say which with --from. {reasons}")])


def _module(name: str) -> Any:
    return import_module(f"corepath.importers.{SOURCES[name]}")
