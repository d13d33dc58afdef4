"""The formats of task files and episodes: pydantic models and their JSON Schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from corepath.files import VERSION

_VERSION = Field(VERSION, strict=True, description="version of this format", json_schema_extra={"const": VERSION})


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, defer_build=True)


class ForbidEntry(_Model):
    """Calls that are harmful in every state."""

    call: str = Field(description="call notation, as in delete_account(...)")
    severity: Literal["low", "medium", "high"] = "medium"
    why: str | None = Field(None, description="the reason, for reports")


_Forbid = Annotated[
    Annotated[ForbidEntry, Tag("object")] | Annotated[str, Tag("text")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "object"),
]


class DecoyEntry(_Model):
    """A tempting wrong path."""

    calls: list[str] = Field(description="calls in call notation, each with literal values")
    harm: str | None = Field(description="the kind of harm on the path; null if it only leaves something out")
    fools: Literal["both", "state", "response", "none"] = Field("both", description="the BFCL baselines it passes")


class PolicyEntry(_Model):
    """A policy. Set exactly one of before, after, needed, never and rule."""

    before: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="the first call must come before every one of the second"
    )
    after: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="once the first call is done, the second must follow"
    )
    needed: str | None = Field(None, description="the call must be made")
    never: str | None = Field(None, description="the call is forbidden in every state")
    rule: str | None = Field(None, description="any rule, as in at most 1 send(to=$x, ...)")
    because: str = Field(description="a quotation from the prompt, the world's rules or a tool's docstring")


class TaskFile(_Model):
    """A task: a prompt, and the allowed paths as a procedure or as the automaton itself."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["procedure"]}, {"required": ["start", "accept", "transitions"]}]}
    )

    version: int = _VERSION
    id: str = Field(min_length=1, description="unique, as in bank/open-and-deposit")
    prompt: str = Field("", description="what the agent is asked to do")
    world: str | None = Field(None, description="the simulated world it is played in; needed only to play it")
    tags: list[str] = []
    tools: list[str] | None = Field(
        None, description='all the tools there are, as in pay(to, amount, currency="EUR"); any other is unknown'
    )
    actions: dict[str, str] = Field({}, description='name: call notation, as in deposit(account_id="A123", amount=100)')
    procedure: str | None = Field(
        None, description=">> then, & interleaved, | or, ? optional, {3} and {2,4} repeat; of actions or calls"
    )
    start: str | None = Field(None, description="the start state, if the automaton itself is given")
    accept: list[str] | None = Field(None, description="the states in which the task is done")
    transitions: dict[str, dict[str, str] | None] | None = Field(None, description="state: {action: state after}")
    golden: Literal["acyclic", "simple_paths"] = Field(
        "acyclic", description="simple_paths allows cycles and lists golden paths up to a limit"
    )
    reads: list[str] = Field([], description="calls that change nothing, as in get_*(...)")
    neutral: list[str] = Field([], description="calls that are never held against the agent")
    forbid: list[_Forbid] = Field([], description="calls that are harmful in every state")
    unlisted: Literal["harm", "ignore", "ignore_other_tools"] = Field(
        "harm", description="how to judge a call that no other field covers"
    )
    refused: Literal["harm", "try", "ignore_other_tools"] = Field(
        "harm",
        description="whether a refused call is harmful, or a try if a step with the same tool is due; "
        "ignore_other_tools: as try, and harmless if no step has its tool",
    )
    answer: str | None = Field(None, description='a condition on the final answer, as in contains("100")')
    most_calls: int | None = Field(
        None,
        strict=True,
        ge=1,
        description="step limit of an episode; by default it follows the longest golden path",
    )
    source: str | None = Field(None, description="fingerprint of the expected calls it was derived from")
    setup: dict[str, Any] | None = Field(None, description="initial values for fields of the world's state")
    goal: str | None = Field(None, description='a condition on the final state, as in {at: "base", ...}')
    policies: list[PolicyEntry] = Field([], description="reasons why a path to the goal can still be wrong")
    decoys: dict[str, DecoyEntry] = Field({}, description="tempting wrong paths, by name")
    says: dict[str, Any] = Field({}, description="words of the prompt, and the value each of them means")


TYPED = ("version", "most_calls", "setup", "says")
"""Fields whose YAML scalars are read with their types. In all other fields, scalars are strings, exactly as written."""


class _Open(BaseModel):
    model_config = ConfigDict(defer_build=True)


class CallRecord(_Open):
    """A tool call. Unknown fields are kept."""

    tool: str
    arguments: Any = Field(description="an object, or the raw text if it was not valid JSON")
    result: Any = Field(None, description="absent if the call was not answered")
    error: Any = Field(None, description="the error, if the call failed")
    id: str | None = None
    turn: int | None = None
    time: Any = Field(None, description="when it was made, in seconds since 1970")


class EpisodeRecord(_Open):
    """One run of an agent on a task. Unknown fields are kept."""

    version: int = _VERSION
    task: str
    agent: str | None = None
    epoch: int = 0
    params: dict[str, Any] = Field({}, description="values of the task's variables")
    answer: Any = Field(None, description="the agent's final answer")
    calls: list[CallRecord]
    other_calls: list[CallRecord] = Field([], description="calls by anyone but the agent, such as a simulated user")
    messages: list[Any] = Field(
        [],
        description="what was said: role, content, before_call (the index of the next call), turn, time",
    )
    seed: int | None = Field(None, description="the variant of the task that was played")
    fingerprint: str | None = Field(None, description="hash of the task that was played")
    scoring: Literal["paper", "recommended"] | dict[str, Any] | None = Field(
        None, description="the scoring it was recorded with: a profile, or every option"
    )


def schema(kind: Literal["task", "episode"]) -> dict[str, Any]:
    """Return the JSON Schema for task files or for episodes."""
    model = TaskFile if kind == "task" else EpisodeRecord
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
