"""The worlds as tasks of Inspect AI, with the scores as its scorer: `inspect eval corepath/farm --model …`.

Inspect finds this module by its entry point. Any solver may act: the world's tools are offered to it, and what it did
is read from the recorded tool events; unless told otherwise it is the conversation that `corepath run` has too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
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

from corepath.action import Call
from corepath.errors import StepLimitError
from corepath.runs.conversation import converse, listened_to, shown
from corepath.score import PAPER, RECOMMENDED, Score, score
from corepath.session import Session
from corepath.sources import all_sources
from corepath.task import Episode
from corepath.world import installed_worlds, task

VALUES: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_rate", "efficiency", "directness", "pc_hlr", "harm_count", "accepted",
    "state_match", "response_match",
)  # fmt: skip
"""The scores that Inspect has means of."""

_SESSIONS: Final[dict[str, Session]] = {}
"""The sessions of samples that are under way, by the sample's own id."""


def _world_task(name: str) -> InspectTask:
    """The tasks of a world, registered under its name."""

    def made(seed: int = 0, tasks: str | list[str] | None = None, profile: str = "paper") -> InspectTask:
        listed = tasks.split(",") if isinstance(tasks, str) else tasks or []
        wanted = [f"{name}/{one.strip()}" for one in listed]
        found = [source.make(seed) for source in all_sources(wanted or [name])]
        samples = [
            Sample(id=one.id, input=one.prompt, metadata={"task": one.id, "seed": seed}, target="") for one in found
        ]
        return InspectTask(
            dataset=MemoryDataset(samples, name=name),
            setup=in_world(),
            solver=conversation(),
            scorer=core(profile),
            config=GenerateConfig(parallel_tool_calls=False),
            name=name,
        )

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"The tasks of world {name}."
    registered: Any = inspect_task(name=name)(made)
    return registered  # type: ignore[no-any-return]  # Inspect wraps the function


@solver
def in_world() -> Solver:
    """Give the sample a fresh copy of its world, and the world's tools."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        session = Session(task(state.metadata["task"], state.metadata["seed"]))
        _SESSIONS[state.uuid] = session
        state.messages.insert(0, ChatMessageSystem(content=session.system))
        state.tools = [_tool(session, schema) for schema in session.tools]
        return state

    return solve


@solver
def conversation() -> Solver:
    """Let the model act, one turn after the other, as `corepath run` does."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        session = _SESSIONS[state.uuid]
        config = GenerateConfig(parallel_tool_calls=False)
        ending = await converse(session, listened_to(get_model()), lambda _: config)
        if ending.error is not None:
            raise ending.error
        state.messages = ending.messages
        last = next((one for one in reversed(ending.messages) if isinstance(one, ChatMessageAssistant)), None)
        if last is not None:
            state.output = state.output.from_message(last)
        state.metadata["ended"] = ending.ended
        return state

    return solve


def _tool(session: Session, schema: dict[str, Any]) -> Tool:
    """A tool of the world for solvers that execute tools themselves."""

    async def execute(**arguments: Any) -> str:
        try:
            call = session.call(schema["name"], arguments)
        except StepLimitError as error:
            raise ToolError(str(error)) from None
        if call.failed:
            raise ToolError(str(call.error))
        return shown(call)

    return ToolDef(
        execute,
        name=schema["name"],
        description=schema["description"],
        parameters=ToolParams.model_validate(_described(schema["parameters"])),
        parallel=False,
    ).as_tool()


def _described(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, each with a description: Inspect wants one, and a world's tool says it all in its own."""
    properties = {
        name: {"description": name.replace("_", " "), **schema} for name, schema in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}


@scorer(metrics={name: [mean(), stderr()] for name in VALUES})
def core(profile: str = "paper") -> Scorer:
    """The scores of CORE: an undefined one is nan."""
    scoring = RECOMMENDED if profile == "recommended" else PAPER

    async def judge(state: TaskState, target: Target) -> InspectScore:  # noqa: ARG001
        session = _SESSIONS.pop(state.uuid)
        events = [event for event in transcript().events if isinstance(event, ToolEvent)]
        calls = tuple(calls_of(events, session.calls, state)) if events else tuple(session.calls)
        answer = state.output.completion if state.output else None
        episode = Episode(session.task.id, calls, str(state.model), state.epoch, answer=answer)
        found = score(session.task, episode, scoring)
        return InspectScore(
            value={name: _number(getattr(found, name)) for name in VALUES},
            answer=answer,
            explanation=explanation(found),
            metadata={"scores": found.to_dict(), "calls": [str(call)[:1000] for call in calls]},
        )

    return judge


def calls_of(events: Iterable[ToolEvent], executed: Iterable[Call], state: TaskState) -> Iterable[Call]:
    """The calls that a solver made, from the recorded tool events: those too that never reached the world."""
    raw = {
        call.id: _raw_arguments(call.parse_error)
        for message in state.messages
        if isinstance(message, ChatMessageAssistant)
        for call in message.tool_calls or []
        if call.parse_error is not None
    }
    done = iter(executed)
    for event in events:
        refused = event.error is not None and event.error.type == "parsing"
        reached = None if refused else next(done, None)
        arguments: Any = raw.get(event.id, event.arguments)
        if reached is None:
            message = event.error.message if event.error else "not executed"
            yield Call(event.function, arguments, error=message, id=event.id)
        else:
            yield replace(reached, tool=event.function, arguments=arguments, id=event.id)


def _raw_arguments(parse_error: str) -> str:
    """The arguments in Inspect's own words about why they did not read."""
    _, _, rest = parse_error.partition("\n\n")
    return rest.rpartition("\n\nError details:")[0] or parse_error


def explanation(found: Score) -> str:
    """A score in words."""
    lines = [f"{'accepted' if found.accepted else f'not accepted, {found.missing_steps} steps missing'}"]
    lines += [f"call {harm.index}: {harm.kind}" for harm in found.harms[:20]]
    return "\n".join(lines)


def _number(value: float | bool | None) -> float:  # noqa: FBT001
    return math.nan if value is None else float(value)


for _name in installed_worlds():
    globals()[_name] = _world_task(_name)
