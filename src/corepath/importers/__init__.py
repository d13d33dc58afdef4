"""Traces of other tools as episodes: one file a format, and none needs the package of whoever wrote the trace.

A format is a module with `fits(value)`, which says why a record is not of it, and `episodes(value)`, which gives the
episodes of one record and raises `RecordError` where that is wrong. A format whose files are not JSON, or are too large
to be read at once, has `fits_file(path)` and `stream(path)` instead. Episodes have no task yet: routing gives them one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import InputError, Problem, RecordError, TaskError, nearest
from corepath.importers.exchanges import why_no_record_fits
from corepath.importers.reading import Place, readable, records

FORMATS: Final = {
    "corepath": "episodes",
    "openinference": "openinference",
    "otel": "otel",
    "inspect": "inspect_logs",
    "mcp": "mcp_logs",
    "tau-bench": "tau_bench",
    "tau2": "tau2_bench",
    "bfcl": "bfcl",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic_messages",
    "gemini": "gemini",
    "langchain": "langchain",
    "pydantic-ai": "pydantic_ai",
    "openai": "openai_chat",
    "generic": "generic",
}
"""The formats by the name that a user gives, and the module of each."""

Made = Episode | Problem
"""An episode, or what is wrong with a record."""


def imported(path: str | Path, format: str = "auto") -> Iterator[Made]:  # noqa: A002
    """The episodes of a file, one by one, and a problem for each bad record. Good records are kept.

    `auto` recognises the format; raises `InputError` that says which were tried and why each failed. `-` is the
    standard input.
    """
    if format != "auto" and format not in FORMATS and not format.startswith("generic:"):
        raise TaskError.of(f"no format '{format}'{nearest(format, FORMATS)}")
    with readable(Path(path)) as (file, name):
        try:
            for made in _imported(file, format):
                yield _named(made, file, name) if isinstance(made, Problem) else made
        except InputError as error:
            raise InputError(_named(one, file, name) for one in error.problems) from None


def _named(problem: Problem, file: Path, name: str) -> Problem:
    """The problem with the name that the user gave the file, of which a copy may have been read."""
    return replace(problem, file=name) if problem.file == str(file) else problem


def _imported(file: Path, format_: str) -> Iterator[Made]:
    module = _module(format_ if format_ != "auto" else recognised(file))
    if hasattr(module, "stream"):
        yield from module.stream(file)
        return
    found = False
    for place, value in records(file, lambda one: module.fits(one) is None):
        found = True
        if isinstance(value, Problem):
            yield value
        else:
            yield from _made(module, place, value)
    if not found:
        yield Problem(str(file), 1, 1, "no records in this file")


def _made(module: Any, place: Place, value: Any) -> Iterator[Made]:
    try:
        yield from module.episodes(value)
    except RecordError as error:
        yield place.problem(str(error))


def recognised(file: Path) -> str:
    """The format of a file. Raises `InputError` with the reason of each format that it is not of."""
    tried: dict[str, str] = {}
    for name in FORMATS:
        module = _module(name)
        why = module.fits_file(file) if hasattr(module, "stream") else why_no_record_fits(file, module.fits)
        if why is None:
            return name
        tried[name] = why
    reasons = "; ".join(f"{name}: {why}" for name, why in tried.items())
    raise InputError([Problem(str(file), 1, 1, f"of no format that is known; say which with --from. {reasons}")])


def _module(name: str) -> Any:
    name, _, given = name.partition(":")
    module = import_module(f"corepath.importers.{FORMATS[name]}")
    return module.with_map(given) if given else module
