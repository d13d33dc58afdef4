"""Check whether an episode belongs to its run, and whether its recorded scores can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corepath.automaton.harm import HarmKind
from corepath.episode import Episode, free_record
from corepath.errors import TaskError, nearest
from corepath.files.validation import record_problems
from corepath.runs.manifest import short_repr
from corepath.scoring.options import Scoring
from corepath.scoring.summary import DERIVED, MEANS

LARGEST: Final = 10**9
"""The largest harm count or path length that recorded scores may have."""


class _Failure(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)

    kind: str
    message: str


class _EpisodeOfRun(BaseModel):
    """Fields of an episode record that are written only by runs."""

    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)

    ended: Annotated[str, Field(min_length=1)]
    failure: _Failure | None = None
    turns: Annotated[int, Field(ge=0)] = 0
    usage: dict[str, Annotated[float, Field(ge=0)]] = {}
    seconds: Annotated[float, Field(ge=0)] = 0.0
    fault: Annotated[str, Field(min_length=1)] = "none"
    client: dict[str, str] = {}
    episode: str = ""


def episode_error(episode: Episode, manifest: Mapping[str, Any]) -> str | None:
    """Return an error message if the episode cannot belong to the manifest's run, or None if it can.

    The episode's scores are not checked.
    """
    try:
        _EpisodeOfRun.model_validate(free_record(episode))
        if episode.scoring is not None:
            Scoring.of(episode.scoring)
    except ValidationError as error:
        return "; ".join(message for _, message in record_problems(error)[:5])
    except TaskError as error:
        return str(error)
    tasks = manifest["tasks"]
    if episode.task not in tasks:
        return f"this run has no task '{episode.task[:60]}'{nearest(episode.task, tasks)}"
    if wrong := _place_error(episode, manifest):
        return wrong
    if episode.seed not in (None, manifest["seed"]):
        return f"it was played with the seed {episode.seed}, and the run has {manifest['seed']}"
    played = tasks[episode.task]
    if episode.fingerprint not in (None, played["hash"], played.get("scored")):
        return f"it was played on another '{episode.task[:60]}' than the run: their fingerprints differ"
    return None


def _place_error(episode: Episode, manifest: Mapping[str, Any]) -> str | None:
    """Return an error message if the run does not have the episode's agent or epoch, or None if it has both.

    If the run comes from `corepath serve`, any agent and epoch are allowed.
    """
    served = manifest.get("kind") == "serve"
    agents = [*manifest["agents"], *manifest["models"]]
    if not episode.agent or (not served and episode.agent not in agents):
        return f"this run has no agent '{(episode.agent or '')[:60]}'{nearest(episode.agent or '', agents)}"
    if episode.epoch < 0 or (not served and episode.epoch >= manifest["epochs"]):
        return f"this run has no epoch {episode.epoch}; it has {manifest['epochs']}, and the first is 0"
    return None


_NUMBERS: Final = tuple(name for name in MEANS if name not in DERIVED)
_MAY_BE_UNDEFINED: Final = ("efficiency", "directness", "state_match", "response_match")


def scores_error(scores: Any, scoring: Scoring) -> str | None:
    """Return the reason why recorded scores cannot be used in a table, or None if they can."""
    if not isinstance(scores, Mapping) or not scores:
        return "it has no scores"
    if scores.get("profile") != scoring.profile:
        return f"its scores are of the profile {short_repr(scores.get('profile'))}"
    for name in _NUMBERS:
        if name not in scores:
            return f"it has no score '{name}'"
        if wrong := _number_error(name, scores[name]):
            return wrong
    harms = scores.get("harms")
    good = isinstance(harms, list) and all(map(_is_harm, harms))
    return None if good else "its 'harms' are not a list of harms"


def _number_error(name: str, value: Any) -> str | None:
    if value is None and name in _MAY_BE_UNDEFINED:
        return None
    if not isinstance(value, (bool, int, float)):
        return f"its score '{name}' is not a number"
    if not 0 <= value <= (LARGEST if name in ("harm_count", "length") else 1):
        return f"its score '{name}' is out of range"
    return None


def _is_harm(value: Any) -> bool:
    known = isinstance(value, dict) and value.get("kind") in list(HarmKind)
    return known and isinstance(value.get("effected"), bool)
