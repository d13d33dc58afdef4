"""The registry of formats and sources. Modules are imported when they are first needed.

To add a format, write a module in `formats` that declares `FORMAT`, and add its name to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.importers.format import Format, Source

FORMATS: Final = (
    "corepath",
    "openinference",
    "otel",
    "inspect",
    "mcp",
    "tau-bench",
    "tau2",
    "bfcl",
    "openai-responses",
    "anthropic",
    "gemini",
    "langchain",
    "pydantic-ai",
    "openai",
    "generic",
)
"""The names of the trace formats, in the order in which `auto` tries them."""
SOURCES: Final = ("tau-bench", "tau2", "bfcl", "calls")
"""The names of the sources of expected calls, in the order in which `auto` tries them."""

_Candidate = TypeVar("_Candidate", Format, Source)


def load_format(name: str) -> Format:
    """Import the module of a registered format."""
    found: Format = _module(name).FORMAT
    return found


def load_source(name: str) -> Source:
    """Import the module of a registered source."""
    found: Source = _module(name).SOURCE
    return found


def find_format(name: str) -> Format:
    """Look up what the user passed to `--from`: a name, or `NAME:SETTING`. Raises `TaskError` if there is none."""
    base, _, setting = name.partition(":")
    found = load_format(base) if base in FORMATS else None
    if found is None or (name != base and found.configure is None):
        raise TaskError.of(f"no format '{name}'{nearest(name, FORMATS)}")
    return found.configure(setting) if found.configure and setting else found


def find_source(name: str) -> Source:
    """Look up what the user passed to `derive --from`. Raises `TaskError` if there is no such source."""
    if name not in SOURCES:
        raise TaskError.of(f"no source '{name}'{nearest(name, SOURCES)}")
    return load_source(name)


def recognise_format(file: Path) -> Format:
    """Find the format of a file. Raises `InputError` with the reason why each format was ruled out."""
    return _recognise(file, map(load_format, FORMATS), "format")


def recognise_source(file: Path) -> Source:
    """Find the source that a file belongs to. Raises `InputError` with the reason why each was ruled out."""
    return _recognise(file, map(load_source, SOURCES), "source")


def _recognise(file: Path, candidates: Iterable[_Candidate], kind: str) -> _Candidate:
    reasons: list[str] = []
    for candidate in candidates:
        why = candidate.recognise(file)
        if why is None:
            return candidate
        reasons.append(f"{candidate.name}: {why}")
    message = f"not a known {kind}; name it with --from. {'; '.join(reasons)}"
    raise InputError([Problem(str(file), 1, 1, message)])


def _module(name: str) -> ModuleType:
    return import_module(f"corepath.importers.formats.{name.replace('-', '_')}")
