"""How an alphabet reads a call: as a step, forbidden, a read, neutral or unlisted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from corepath.notation.action import Action

Severity = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class Forbidden:
    """A rule that forbids all calls that match `call`, regardless of the state."""

    call: Action
    severity: Severity = "medium"
    why: str | None = None


class Role(StrEnum):
    """A call's role in the task, regardless of the state."""

    STEP = "step"
    FORBIDDEN = "forbidden"
    LOOP = "loop"
    """A read or neutral call."""
    UNLISTED = "unlisted"
    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown_tool"


@dataclass(frozen=True)
class Reading:
    """The alphabet's classification of a call.

    `symbol` is the number of the action that fits both the call's arguments and its result, or None if no action does.
    `fits` lists the numbers of the actions that fit the arguments. If `symbol` is not None, it comes last in `fits`,
    and the actions before it expect a different result. `loops` says whether a read or neutral pattern fits.
    `forbidden` is the rule that forbids the call, or None if the call is not forbidden. `variables` holds the
    variables' values after the call if the call is progress. `early` lists the numbers of the steps that fit the call
    except that they refer to a result that is not known yet.
    """

    role: Role
    symbol: int | None = None
    fits: tuple[int, ...] = ()
    loops: bool = False
    forbidden: Forbidden | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    early: tuple[int, ...] = ()
