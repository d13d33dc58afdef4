"""What a run writes, checked when it is read again: a file on disk is input like any other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corepath.automaton.harm import HarmKind
from corepath.episode import Episode, free_record
from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.files.document import Document, read_json
from corepath.files.validation import record_problems
from corepath.scoring.options import Scoring
from corepath.scoring.summary import MEANS

FORMAT: Final = "corepath-run"
VERSION: Final = 1
LARGEST: Final = 10**9
"""No count of an episode is larger."""

_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=0)]
_Seconds = Annotated[float, Field(ge=0)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _TaskEntry(_Record):
    where: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]
    hash: _Text
    scored: _Text | None = None


class _Options(_Record):
    max_connections: Annotated[int, Field(ge=1)] | None = None
    base_url: str | None = None
    max_retries: _Count = 0
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


class _Failure(_Record):
    kind: str
    message: str


class _EpisodeOfRun(_Record):
    """The fields that only a run writes."""

    ended: _Text
    failure: _Failure | None = None
    turns: _Count = 0
    usage: dict[str, Annotated[float, Field(ge=0)]] = {}
    seconds: _Seconds = 0.0
    fault: _Text = "none"
    client: dict[str, str] = {}
    episode: str = ""


def read_manifest(file: Path) -> dict[str, Any]:
    """The manifest of a run. Raises `InputError` with everything that is wrong in it."""
    try:
        raw = file.read_bytes()
        source = raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError([Problem(str(file), 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError([Problem(str(file), line, column, f"not UTF-8: the byte 0x{raw[error.start]:02x}")]) from None
    (document,) = read_json(str(file), source)
    data = document.data
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError([document.problem(f'is no manifest of a run: its "format" must be "{FORMAT}"', ("format",))])
    if type(data.get("version")) is not int or data["version"] != VERSION:
        message = f"is of version {_short(data.get('version'))} of the format, and this corepath reads {VERSION}"
        raise InputError([document.problem(message, ("version",))])
    try:
        read = _Manifest.model_validate(data)
    except ValidationError as error:
        raise InputError(document.problem(message, where) for where, message in record_problems(error)) from None
    if problems := [*_wrong_scoring(document, read), *_wrong_names(document, read)]:
        raise InputError(problems)
    return data


def _wrong_scoring(document: Document, read: _Manifest) -> list[Problem]:
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


def _wrong_names(document: Document, read: _Manifest) -> list[Problem]:
    problems = []
    who = [*read.agents, *read.models]
    if twice := next((name for name in who if who.count(name) > 1), None):
        problems.append(document.problem(f"'{twice[:60]}' is named twice; an agent plays once", ("agents",)))
    for id_, task in read.tasks.items():
        in_file = task.where.endswith((".py", ".yaml", ".yml", ".json", "/"))
        if not in_file and (not id_.startswith(f"{task.where}/") or id_ == f"{task.where}/"):
            message = f"'{id_[:60]}' is no task of the world '{task.where[:60]}'; such a name is WORLD/TASK"
            problems.append(document.problem(message, ("tasks", id_), at_key=True))
    return problems


def wrong_episode(episode: Episode, manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with an episode of a run, but for its scores; None where it is as the run wrote it."""
    try:
        _EpisodeOfRun.model_validate(free_record(episode))
        if episode.scoring is not None:
            Scoring.of(episode.scoring)
    except ValidationError as error:
        return "; ".join(message for _, message in record_problems(error)[:5])
    except TaskError as error:
        return str(error)
    tasks, served = manifest["tasks"], manifest.get("kind") == "serve"
    agents = [*manifest["agents"], *manifest["models"]]
    if episode.task not in tasks:
        return f"this run has no task '{episode.task[:60]}'{nearest(episode.task, tasks)}"
    if not episode.agent or (not served and episode.agent not in agents):
        return f"this run has no agent '{(episode.agent or '')[:60]}'{nearest(episode.agent or '', agents)}"
    if episode.epoch < 0 or (not served and episode.epoch >= manifest["epochs"]):
        return f"this run has no epoch {episode.epoch}; it has {manifest['epochs']}, and the first is 0"
    if episode.seed not in (None, manifest["seed"]):
        return f"it was played with the seed {episode.seed}, and the run has {manifest['seed']}"
    played = tasks[episode.task]
    if episode.fingerprint not in (None, played["hash"], played.get("scored")):
        return f"it was played on another '{episode.task[:60]}' than the run: their fingerprints differ"
    return None


_NUMBERS: Final = tuple(name for name in MEANS if name not in ("harm_free", "solved"))
_MAY_BE_UNDEFINED: Final = ("efficiency", "directness", "state_match", "response_match")


def wrong_scores(scores: Any, scoring: Scoring) -> str | None:
    """Why recorded scores cannot stand in a table; None where they can."""
    if not isinstance(scores, Mapping) or not scores:
        return "it has no scores"
    if scores.get("profile") != scoring.profile:
        return f"its scores are of the profile {_short(scores.get('profile'))}"
    for name in _NUMBERS:
        if name not in scores:
            return f"it has no score '{name}'"
        value = scores[name]
        if not isinstance(value, (bool, int, float)) and not (value is None and name in _MAY_BE_UNDEFINED):
            return f"its score '{name}' is no number"
        if value is not None and not 0 <= value <= (LARGEST if name in ("harm_count", "length") else 1):
            return f"its score '{name}' is out of range"
    harms = scores.get("harms")
    good = isinstance(harms, list) and all(
        isinstance(one, dict) and one.get("kind") in list(HarmKind) and isinstance(one.get("effected"), bool)
        for one in harms
    )
    return None if good else "its 'harms' are no list of harms"


def _short(value: Any) -> str:
    return repr(value)[:40]
