"""The worlds as Inspect AI tasks with our own scorer, e.g. `inspect eval corepath/farm --model …`.

Inspect finds this module through corepath's entry point. The default solver holds the same conversation as `corepath
run`. Other solvers work too if they use the sample's tools, e.g. `generate` or `basic_agent`. Their calls are read from
the recorded tool events.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO
from typing import Any, Final

from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.event import ToolEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, GenerateConfig, get_model
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.scorer import Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParams

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import RunError, StepLimitError, count
from corepath.files.episodes import episode_json, read_episodes
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import all_sources
from corepath.notation.call import Call
from corepath.play.episode_origin import EPISODE, KEY, identity
from corepath.play.session import Session, describe_result
from corepath.runs.conversation import converse, keep_responses
from corepath.scoring.options import Scoring
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.world.discovery import installed_worlds, world_task

VALUES: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_rate", "efficiency", "directness", "pc_hlr", "harm_count", "accepted",
    "state_match", "response_match",
)  # fmt: skip
"""The scores that Inspect averages."""

_SESSIONS: Final[dict[str, Session]] = {}
"""The session for each running sample, keyed by the sample's uuid."""


def _world_task(name: str) -> InspectTask:
    """Register a world's tasks as one Inspect task with the world's name."""

    def build(seed: int = 0, tasks: str | list[str] | None = None, profile: str = "paper") -> InspectTask:
        listed = tasks.split(",") if isinstance(tasks, str) else tasks or []
        wanted = [f"{name}/{one.strip()}" for one in listed]
        built = [source.make(seed) for source in all_sources(wanted or [name])]
        scoring = Scoring.of(profile)
        samples = [
            Sample(id=one.id, input=one.prompt, metadata={KEY: identity(one, seed, scoring)}, target="")
            for one in built
        ]
        return InspectTask(
            dataset=MemoryDataset(samples, name=name),
            setup=in_world(),
            solver=conversation(),
            scorer=core(profile),
            config=GenerateConfig(parallel_tool_calls=False),
        )

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The tasks of world {name}."
    registered: Any = inspect_task(name=name)(build)
    return registered  # type: ignore[no-any-return]  # Inspect wraps the function


@solver
def in_world() -> Solver:
    """Give each sample the world's tools and a fresh session."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        session = Session(_task(state))
        _SESSIONS[state.uuid] = session
        state.messages.insert(0, ChatMessageSystem(content=session.system))
        state.tools = [_tool(session, schema) for schema in session.tools]
        return state

    return solve


@solver
def conversation() -> Solver:
    """Let the model play the task as in `corepath run`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        session = _SESSIONS[state.uuid]
        config = GenerateConfig(parallel_tool_calls=False)
        ending = await converse(session, keep_responses(get_model()), lambda _: config)
        if ending.ended == FAILED_OUTSIDE:
            del _SESSIONS[state.uuid]
            raise ending.error or RunError(
                f"{(ending.failure or {}).get('kind')}: {(ending.failure or {}).get('message')}"
            )
        state.messages = ending.messages
        last = next((one for one in reversed(ending.messages) if isinstance(one, ChatMessageAssistant)), None)
        if last is not None:
            state.output = state.output.from_message(last)
        state.metadata["ended"] = ending.ended
        return state

    return solve


def _tool(session: Session, schema: dict[str, Any]) -> Tool:
    """Turn one of the world's tools into an Inspect tool."""

    async def execute(**arguments: Any) -> str:
        try:
            call = session.call(schema["name"], arguments)
        except StepLimitError as error:
            raise ToolError(str(error)) from None
        if call.failed:
            raise ToolError(str(call.error))
        return describe_result(call)

    return ToolDef(
        execute,
        name=schema["name"],
        description=schema["description"],
        parameters=ToolParams.model_validate(_with_descriptions(schema["parameters"])),
        parallel=False,
    ).as_tool()


def _with_descriptions(parameters: dict[str, Any]) -> dict[str, Any]:
    """Add a description to every parameter that has none, because Inspect requires one."""
    properties = {
        name: {"description": name.replace("_", " "), **schema} for name, schema in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}


@scorer(metrics={name: [mean(), stderr()] for name in VALUES})
def core(profile: str = "paper") -> Scorer:
    """Score a sample with the CORE scores. Undefined scores are NaN."""
    scoring = Scoring.of(profile)

    async def judge(state: TaskState, target: Target) -> InspectScore:  # noqa: ARG001
        session = _SESSIONS.pop(state.uuid, None)
        episode = _logged_episode(state) if session is None else _episode(session, state, scoring)
        scored = score(_task(state) if session is None else session.task, episode, scoring)
        if session is not None:
            episode = replace(episode, scores=scored.to_dict())
            state.metadata[KEY] = {**state.metadata[KEY], EPISODE: episode_json(episode)}
        return InspectScore(
            value={name: _number(getattr(scored, name)) for name in VALUES},
            answer=episode.answer,
            explanation=describe(scored),
            metadata={"scores": scored.to_dict(), "calls": [str(call)[:1000] for call in episode.calls]},
        )

    return judge


def _task(state: TaskState) -> Task:
    origin = state.metadata[KEY]
    return world_task(origin["task"], origin["seed"])


def _episode(session: Session, state: TaskState, scoring: Scoring) -> Episode:
    """Build the episode that was played in a sample."""
    events = [event for event in transcript().events if isinstance(event, ToolEvent)]
    return Episode(
        session.task.id,
        tuple(calls_of(events, session, state)) if events else tuple(session.calls),
        str(state.model),
        state.epoch,
        answer=state.output.completion if state.output else None,
        messages=tuple(session.messages),
        seed=state.metadata[KEY]["seed"],
        fingerprint=fingerprint(session.task),
        scoring=scoring.recorded,
        outcome=state.metadata.get("ended"),
    )


def _logged_episode(state: TaskState) -> Episode:
    """Read a sample's episode from the log, to score it again."""
    kept = state.metadata[KEY].get(EPISODE)
    if not isinstance(kept, str):
        raise RunError("this sample has no calls to score: it was never scored when it was run")
    line = next(iter(read_episodes("the log", BytesIO(kept.encode()))))
    if line.episode is None:
        raise RunError(f"the calls of this sample cannot be read: {line.problem}")
    return line.episode


_NOT_EXECUTED: Final = ("parsing", "approval", "limit", "cancelled", "timeout")
"""The error types with which Inspect rejects a call before the call reaches the world."""


def calls_of(events: Iterable[ToolEvent], session: Session, state: TaskState) -> Iterable[Call]:
    """Yield the calls that a solver made, including calls that never reached the world.

    The calls are read from the recorded tool events. Calls to the solver's own tools, e.g. to submit an answer, are
    skipped.
    """
    tools = {tool["name"] for tool in session.tools}
    raw = _raw_arguments(state)
    done = deque(session.calls)
    for event in events:
        kind = None if event.error is None else event.error.type
        arguments: Any = raw.get(event.id, event.arguments)
        if event.function not in tools:
            if kind == "parsing":
                yield Call(event.function, arguments, error=_message(event), id=event.id)
            continue
        if kind == "parsing" and "not found" in _message(event):
            raise RunError(
                f"the solver does not offer the world's tool '{event.function}'; "
                "use one that takes the sample's tools, such as generate or basic_agent"
            )
        if kind not in _NOT_EXECUTED and done and done[0].tool == event.function:
            yield replace(done.popleft(), arguments=arguments, id=event.id)
        else:
            yield Call(event.function, arguments, error=_message(event) or "not executed", id=event.id)


def _message(event: ToolEvent) -> str:
    return "" if event.error is None else event.error.message


def _raw_arguments(state: TaskState) -> dict[str, str]:
    """Collect the arguments that Inspect could not parse, keyed by call id."""
    calls = (
        call
        for message in state.messages
        if isinstance(message, ChatMessageAssistant)
        for call in message.tool_calls or []
    )
    return {call.id: _arguments_in(call.parse_error) for call in calls if call.parse_error is not None}


def _arguments_in(parse_error: str) -> str:
    """Extract the unparsed arguments from Inspect's error message, or return the whole message if there are none."""
    _, _, rest = parse_error.partition("\n\n")
    return rest.rpartition("\n\nError details:")[0] or parse_error


def describe(scored: Score) -> str:
    """Describe a score in words: whether the episode was accepted, and its first harms."""
    lines = ["accepted" if scored.accepted else f"not accepted, {count(scored.missing_steps, 'step')} missing"]
    lines += [f"call {harm.index}: {harm.kind}" for harm in scored.harms[:20]]
    return "\n".join(lines)


def _number(value: float | bool | None) -> float:  # noqa: FBT001
    return math.nan if value is None else float(value)


for _name in installed_worlds():
    globals()[_name] = _world_task(_name)
