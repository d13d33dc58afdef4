"""τ²-bench results: an object with `info`, `tasks` and `simulations`, or the folder form with a file a simulation.

An error is an answer whose `error` is true. Calls that the simulated user made, and what the benchmark expects of
that user, are not the agent's: the calls stand in `other_calls`, and expected ones are left out. A task that expects
something of the user only is marked `no_agent_actions`, and so are its episodes. Where the agent was alone
(`dummy_user`), all that is expected is expected of it. The task is `tau2/DOMAIN/ID`. A simulation that the user's
model or the machinery broke off failed outside the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, NO_AGENT_ACTIONS, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.messages import Conversation, objects, result_value, text_of
from corepath.importers.reading import Place, before_the_fault, records

_FOLDER: Final = "simulations"
_OUTSIDE: Final = ("user_error", "infrastructure_error", "unexpected_error")
_AGENT: Final = "assistant"


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    if not isinstance(value, Mapping):
        return "no object with 'info', 'tasks' and 'simulations'"
    info = value.get("info")
    if not isinstance(info, Mapping) or not isinstance(info.get("environment_info"), Mapping):
        return "results of τ²-bench have an 'info' with 'environment_info', which names the domain"
    if not isinstance(value.get("tasks"), list):
        return "results of τ²-bench have a list of 'tasks'"
    if not isinstance(value.get("simulations"), list) and not isinstance(value.get("simulation_index"), list):
        return "results of τ²-bench have a list of 'simulations'"
    return None


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return next((fits(value) for _, value in _results(path) if not isinstance(value, Problem)), "no JSON in it")


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, and a problem for each simulation that cannot be read."""
    for place, value in _results(path):
        if isinstance(value, Problem):
            yield value
        elif wrong := fits(value):
            yield place.problem(wrong)
        else:
            yield from _simulated(path, place, value)


def episodes(value: Any) -> Iterator[Episode]:
    """The episodes of results that are one object."""
    if wrong := fits(value):
        raise RecordError(wrong)
    for simulation in objects(value.get("simulations"), "simulations"):
        yield _episode(simulation, value)


def expects(path: Path) -> str | None:
    """Why a file does not hold what the benchmark expects; None where it does: results say it too."""
    return fits_file(path)


def expectations(path: Path) -> Iterator[Expected | Problem]:
    """What the benchmark expects of the agent in the tasks of a file."""
    for place, value in _results(path):
        if isinstance(value, Problem):
            yield value
        elif wrong := fits(value):
            yield place.problem(wrong)
        else:
            for number, task in enumerate(value["tasks"], start=1):
                try:
                    yield _expected(task, value)
                except RecordError as error:
                    yield place.problem(f"task {number}: {error}")


def _results(path: Path) -> Iterator[tuple[Place, Any]]:
    """The results of a file; of a broken file, with the simulations that are whole."""
    for place, value in records(path, lambda one: fits(one) is None):
        if isinstance(value, Problem) and place.number is None:
            kept = None
            with suppress(OSError):
                kept = before_the_fault(path.read_bytes())
            if fits(kept) is None:
                yield place, kept
        yield place, value


def _simulated(path: Path, place: Place, value: Mapping[str, Any]) -> Iterator[Episode | Problem]:
    """The episodes of results; those of the folder form stand beside the file."""
    folder = path.parent / _FOLDER
    if isinstance(value.get("simulations"), list):
        for number, simulation in enumerate(value["simulations"], start=1):
            yield _made(place, simulation, value, f"simulation {number}")
    elif not folder.is_dir():
        yield place.problem(
            f"the simulations of these results stand in a folder '{_FOLDER}' beside it, which is not there"
        )
    else:
        for file in sorted(folder.glob("*.json")):
            for inner, simulation in records(file, lambda one: isinstance(one, Mapping)):
                yield simulation if isinstance(simulation, Problem) else _made(inner, simulation, value, "simulation")


def _made(place: Place, simulation: Any, value: Mapping[str, Any], which: str) -> Episode | Problem:
    try:
        return _episode(simulation, value)
    except RecordError as error:
        return place.problem(f"{which}: {error}")


def _episode(simulation: Any, value: Mapping[str, Any]) -> Episode:
    if not isinstance(simulation, Mapping) or "task_id" not in simulation:
        raise RecordError("a simulation is an object with a 'task_id' and 'messages'")
    if simulation.get("messages") is None:
        spoken = "; a spoken one, which has 'ticks', is not read" if simulation.get("ticks") else ""
        raise RecordError(f"the simulation has no 'messages'{spoken}")
    trial = simulation.get("trial") or 0
    if not isinstance(trial, int) or isinstance(trial, bool):
        raise RecordError("'trial' is a whole number")
    agent, user = Conversation(), Conversation()
    for message in objects(simulation["messages"], "messages"):
        _take(agent, user, message)
    reason = simulation.get("termination_reason")
    failed = {"ended": FAILED_OUTSIDE, "failure": {"kind": reason, "message": _why(simulation)}}
    reward = simulation.get("reward_info")
    episode = agent.episode(
        agent=_model(value, "agent_info"),
        benchmark="tau2",
        reward=reward.get("reward") if isinstance(reward, Mapping) else None,
        reward_info=reward,
        metadata=_metadata(simulation, value),
        **(failed if reason in _OUTSIDE else {}),
        **({NO_AGENT_ACTIONS: True} if _asks_only_the_user(simulation, value) else {}),
    )
    task = f"tau2/{_domain(value)}/{simulation['task_id']}"
    return replace(episode, task=task, epoch=trial, other_calls=tuple(user.calls))


def _take(agent: Conversation, user: Conversation, message: Mapping[str, Any]) -> None:
    match message.get("role"):
        case "assistant" | "user" as role:
            speaker = agent if role == _AGENT else user
            speaker.next_turn()
            speaker.said(text_of(message.get("content")))
            for call in objects(message.get("tool_calls"), "tool calls"):
                speaker.call(call.get("name"), call.get("arguments"), call.get("id"))
        case "tool":
            for answer in [message] if "tool_messages" not in message else objects(message["tool_messages"], "answers"):
                asked = agent if answer.get("requestor", _AGENT) == _AGENT else user
                content, failed = answer.get("content"), answer.get("error") is True
                asked.result(answer.get("id"), content if failed else result_value(content), error=failed)


def _metadata(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a simulation and the run that it belongs to."""
    of_run = value["info"]
    kept = ("id", "task_id", "trial", "seed", "timestamp", "termination_reason", "agent_cost", "user_cost", "duration")
    found = {name: simulation.get(name) for name in kept}
    found |= {"domain": _domain(value), "user": _model(value, "user_info"), "git_commit": of_run.get("git_commit")}
    return {name: one for name, one in found.items() if one is not None}


def _model(value: Mapping[str, Any], whose: str) -> str | None:
    known = value["info"].get(whose)
    model = known.get("llm") or known.get("implementation") if isinstance(known, Mapping) else None
    return model if isinstance(model, str) else None


def _domain(value: Mapping[str, Any]) -> str:
    return str(value["info"]["environment_info"].get("domain_name") or "unknown")


def _is_alone(value: Mapping[str, Any]) -> bool:
    """Whether there was no user: the agent then did what is else expected of the user."""
    user = value["info"].get("user_info")
    return isinstance(user, Mapping) and user.get("implementation") == "dummy_user"


def _why(simulation: Mapping[str, Any]) -> str:
    info = simulation.get("info")
    return str(info.get("error") or "") if isinstance(info, Mapping) else ""


def _asks_only_the_user(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    tasks = (task for task in value["tasks"] if isinstance(task, Mapping))
    task = next((task for task in tasks if str(task.get("id")) == str(simulation["task_id"])), {})
    try:
        return NO_AGENT_ACTIONS in _expected(task, value).tags
    except RecordError:
        return False  # what is wrong with a task is told where tasks are asked for


def _expected(task: Any, value: Mapping[str, Any]) -> Expected:
    if not isinstance(task, Mapping) or "id" not in task:
        raise RecordError("a task is an object with an 'id' and 'evaluation_criteria'")
    criteria = task.get("evaluation_criteria") or {}
    if not isinstance(criteria, Mapping):
        raise RecordError("'evaluation_criteria' is an object")
    actions = list(objects(criteria.get("actions"), "the expected actions"))
    of_agent = [one for one in actions if _is_alone(value) or one.get("requestor", _AGENT) == _AGENT]
    tags = (NO_AGENT_ACTIONS,) if actions and not of_agent else ()
    return Expected(f"tau2/{_domain(value)}/{task['id']}", tuple(map(_expected_call, of_agent)), _prompt(task), tags)


def _expected_call(action: Mapping[str, Any]) -> ExpectedCall:
    name, arguments, compared = action.get("name"), action.get("arguments"), action.get("compare_args")
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise RecordError("an expected action has a 'name' and 'arguments', which is an object")
    if compared is not None and not isinstance(compared, list):
        raise RecordError("'compare_args' is a list of the names of arguments")
    return ExpectedCall(name, arguments, compared)


def _prompt(task: Mapping[str, Any]) -> str:
    """What the user was told to ask for."""
    scenario = task.get("user_scenario")
    told = scenario.get("instructions") if isinstance(scenario, Mapping) else None
    if isinstance(told, Mapping):
        parts = (told.get(name) for name in ("reason_for_call", "known_info", "unknown_info", "task_instructions"))
        told = "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip(" \n."))
    return told if isinstance(told, str) else ""
