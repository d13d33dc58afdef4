"""Look up formats and sources by name. Modules are imported only when needed.

To add a format, write a module in `formats` that declares `FORMAT`, and add the format's name to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeVar

from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.importers.format import Format, Source
from corepath.importers.nearest import nearest_format
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
    "claude-code",
    "codex",
    "gemini-cli",
    "atif",
    "swe-agent",
    "openhands",
    "autogen",
    "smolagents",
    "google-adk",
    "openai-agents",
    "vercel-ai",
    "openai-responses",
    "anthropic",
    "bedrock",
    "gemini",
    "langchain",
    "pydantic-ai",
    "openai",
    "generic",
)
"""The names of all trace formats, in the order in which `auto` tries them.

Span formats come first, because they recognise a file of any size without reading all of it.
"""
SOURCES: Final = ("tau-bench", "tau2", "bfcl", "google-adk", "calls")
"""The names of all sources for expected calls, in the order in which `auto` tries them."""

_Candidate = TypeVar("_Candidate", Format, Source)


@cache
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


def recognise_format(file: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Format:
    """Recognise a file's format. Raises `InputError` if no format fits.

    `settings` has a setting for some formats, as in `--from NAME:SETTING`.
    """
    found = (find_format(f"{name}:{settings[name]}") if name in settings else load_format(name) for name in FORMATS)
    return _recognise(file, found, _explain_format)


def recognise_source(file: Path) -> Source:
    """Recognise a file's source. Raises `InputError` if no source fits, and says why each one does not."""
    return _recognise(file, map(load_source, SOURCES), _explain_source)


def explain_formats(file: Path) -> Iterator[tuple[Format, str | None]]:
    """Yield each format, and why a file is not in this format, or None if it is."""
    sample = Sample(file)
    with sample.reuse():
        for name in FORMATS:
            found = load_format(name)
            yield found, found.recognise(sample)


def describe_format(name: str) -> str:
    """Return what a format reads, in the words of its module."""
    return str(_module(name).__doc__).partition("\n")[0].removeprefix("Read ").rstrip(".")


def _recognise(
    file: Path, candidates: Iterable[_Candidate], explain: Callable[[Sample, Mapping[str, _Candidate]], str]
) -> _Candidate:
    sample = Sample(file)
    tried: dict[str, _Candidate] = {}
    with sample.reuse():
        for candidate in candidates:
            if sample.may_have(_signs(candidate)) and candidate.recognise(sample) is None:
                return replace(candidate, read=partial(_read_sampled, sample, candidate.read))
            tried[candidate.name] = candidate
        raise InputError([Problem(str(file), 1, 1, explain(sample, tried))])


def _signs(candidate: Format | Source) -> tuple[str, ...]:
    return candidate.signs if isinstance(candidate, Format) else ()


def _read_sampled(sample: Sample, read: Callable[[Path], Iterator[Any]], file: Path) -> Iterator[Any]:
    """Yield what `read` finds in a file, of which the sample may have the document."""
    with sample.reuse():
        yield from read(file)


def _explain_format(sample: Sample, tried: Mapping[str, Format]) -> str:
    """Say in two lines which format a file comes nearest to, why it is not that, and how to learn more."""
    broken = next((value.message for value in sample.records(lambda _: True) if isinstance(value, Problem)), None)
    why = f": {broken}" if broken else ", nor near to one"
    if (near := nearest_format(sample)) is not None:
        why = f"; it comes nearest to {near}, but: {tried[near].recognise(sample)}"
    return (
        f"not a known format{why}\n'corepath formats {sample.file}' says why each format does not fit; "
        "'corepath import --from generic:MAP.yaml' reads any JSON by a map of its fields"
    )


def _explain_source(sample: Sample, tried: Mapping[str, Source]) -> str:
    listed = "; ".join(f"{name}: {one.recognise(sample)}" for name, one in tried.items())
    return f"not a known source; name it with --from. {listed}"


def _module(name: str) -> ModuleType:
    return import_module(f"corepath.importers.formats.{name.replace('-', '_')}")
