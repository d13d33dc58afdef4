"""Look up formats and sources by name. Modules are imported only when needed.

To add a format, write a module in `formats` that declares `FORMAT`, and add the format's name to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.importers.format import Format, Source
from corepath.importers.reading import Sample

FORMATS: Final = (
    "openinference",
    "otel",
    "langfuse",
    "langsmith",
    "corepath",
    "inspect",
    "mcp",
    "tau-bench",
    "tau2",
    "bfcl",
    "agentdojo",
    "mini-swe-agent",
    "openai-responses",
    "anthropic",
    "gemini",
    "langchain",
    "pydantic-ai",
    "openai",
    "generic",
)
"""The names of all trace formats, in the order in which `auto` tries them.

Span formats come first, because they recognise a file of any size without reading all of it.
"""
SOURCES: Final = ("tau-bench", "tau2", "bfcl", "calls")
"""The names of all sources for expected calls, in the order in which `auto` tries them."""

_Candidate = TypeVar("_Candidate", Format, Source)


def load_format(name: str) -> Format:
    """Import a registered format's module and return the format."""
    found: Format = _module(name).FORMAT
    return found


def load_source(name: str) -> Source:
    """Import a registered source's module and return the source."""
    found: Source = _module(name).SOURCE
    return found


def find_format(name: str) -> Format:
    """Look up the format for a `--from` value, which is `NAME` or `NAME:SETTING`.

    Raises `TaskError` if there is no such format.
    """
    base, _, setting = name.partition(":")
    found = load_format(base) if base in FORMATS else None
    if found is None or (name != base and found.configure is None):
        raise TaskError.of(f"no format '{name}'{nearest(name, FORMATS)}")
    return found.configure(setting) if found.configure and setting else found


def find_source(name: str) -> Source:
    """Look up the source for a `derive --from` value. Raises `TaskError` if there is no such source."""
    if name not in SOURCES:
        raise TaskError.of(f"no source '{name}'{nearest(name, SOURCES)}")
    return load_source(name)


def recognise_format(file: Path) -> Format:
    """Recognise a file's format. Raises `InputError` if no format fits, and says why each one does not."""
    return _recognise(file, map(load_format, FORMATS), "format")


def recognise_source(file: Path) -> Source:
    """Recognise a file's source. Raises `InputError` if no source fits, and says why each one does not."""
    return _recognise(file, map(load_source, SOURCES), "source")


def _recognise(file: Path, candidates: Iterable[_Candidate], kind: str) -> _Candidate:
    reasons: list[str] = []
    sample = Sample(file)
    for candidate in candidates:
        why = candidate.recognise(sample)
        if why is None:
            return candidate
        reasons.append(f"{candidate.name}: {why}")
    message = f"not a known {kind}; name it with --from. {'; '.join(reasons)}"
    raise InputError([Problem(str(file), 1, 1, message)])


def _module(name: str) -> ModuleType:
    return import_module(f"corepath.importers.formats.{name.replace('-', '_')}")
