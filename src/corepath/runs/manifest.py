"""Read a run's manifest and validate it like any other input file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corepath.errors import InputError, Problem, TaskError
from corepath.files.document import Document, read_json
from corepath.files.validation import record_problems
from corepath.scoring.options import Scoring

FORMAT: Final = "corepath-run"
VERSION: Final = 1

_Text = Annotated[str, Field(min_length=1)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)


class _TaskEntry(_Record):
    where: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]
    hash: _Text
    scored: _Text | None = None


class _Options(_Record):
    max_connections: Annotated[int, Field(ge=1)] | None = None
    base_url: str | None = None
    max_retries: Annotated[int, Field(ge=0)] = 0
    timeout: Annotated[float, Field(gt=0)] = 1.0
    threads: Annotated[int, Field(ge=1)] = 1


class _Manifest(_Record):
    kind: Literal["serve"] | None = None
    agents: list[_Text]
    models: list[_Text]
    floor: list[_Text] = []
    own_agents: dict[_Text, str] = {}
    epochs: Annotated[int, Field(ge=1)]
    seed: int
    profile: Literal["paper", "recommended", "custom"]
    scoring: dict[str, Any]
    options: _Options
    redact: list[_Text]
    tasks: Annotated[dict[_Text, _TaskEntry], Field(min_length=1)]


def read_manifest(file: Path) -> dict[str, Any]:
    """Read a run's manifest. Raises `InputError` with all problems that were found."""
    (document,) = read_json(str(file), _read_text(file))
    data = document.data
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(
            [document.problem(f'is not the manifest of a run: its "format" must be "{FORMAT}"', ("format",))]
        )
    if type(data.get("version")) is not int or data["version"] != VERSION:
        message = f"is of version {short_repr(data.get('version'))} of the format, and this corepath reads {VERSION}"
        raise InputError([document.problem(message, ("version",))])
    try:
        read = _Manifest.model_validate(data)
    except ValidationError as error:
        raise InputError(document.problem(message, where) for where, message in record_problems(error)) from None
    if problems := [*_scoring_problems(document, read), *_name_problems(document, read)]:
        raise InputError(problems)
    return data


def _read_text(file: Path) -> str:
    try:
        raw = file.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError([Problem(str(file), 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError([Problem(str(file), line, column, f"not UTF-8: the byte 0x{raw[error.start]:02x}")]) from None


def _scoring_problems(document: Document, read: _Manifest) -> list[Problem]:
    """Return problems with the scoring options: missing or invalid options, or options that contradict the profile."""
    if left := Scoring.__dataclass_fields__.keys() - read.scoring.keys():
        return [document.problem(f"'scoring' lacks the option '{min(left)}'", ("scoring",))]
    try:
        scoring = Scoring.of(read.scoring)
    except TaskError as error:
        return [document.problem(str(error), ("scoring",))]
    if scoring.profile != read.profile:
        message = f"'profile' is '{read.profile}', and the options in 'scoring' are those of '{scoring.profile}'"
        return [document.problem(message, ("profile",))]
    return []


def _name_problems(document: Document, read: _Manifest) -> list[Problem]:
    """Return problems for an agent that is listed twice, and for task ids that do not start with the world's name."""
    problems = []
    who = [*read.agents, *read.models]
    if twice := next((name for name in who if who.count(name) > 1), None):
        problems.append(document.problem(f"'{twice[:60]}' is named twice; an agent plays once", ("agents",)))
    for id_, task in read.tasks.items():
        in_file = task.where.endswith((".py", ".yaml", ".yml", ".json", "/"))
        if not in_file and (not id_.startswith(f"{task.where}/") or id_ == f"{task.where}/"):
            message = f"'{id_[:60]}' is not a task of the world '{task.where[:60]}'; its name must be WORLD/TASK"
            problems.append(document.problem(message, ("tasks", id_), at_key=True))
    return problems


def short_repr(value: Any) -> str:
    """Return the first 40 characters of a value's repr, for an error message."""
    return repr(value)[:40]
