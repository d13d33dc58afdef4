"""Read τ²-bench results: an object with `info`, `tasks` and `simulations`.

The simulations may also be separate files in a folder. Calls by the simulated user are not the agent's calls, so they
go to `other_calls`. Calls expected from the user are left out. A task that expects calls only from the user is tagged
`no_agent_actions`, and so are its episodes. If there was no user (`dummy_user`), all calls are expected from the agent.

The task is `tau2/DOMAIN/ID`. A simulation lists the calls that it was judged by. If they are not those of its task, the
simulation is refused, because it stands under the wrong id. Simulations alone, as a list or without `info`, can be read
if their tasks are given (`--tasks-from`).

If the user's model or the infrastructure stopped a simulation, the failure does not count
against the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE, NO_AGENT_ACTIONS, Episode
from corepath.errors import InputError, Problem, RecordError
from corepath.importers.content import message_text, objects, parse_result, text_of
from corepath.importers.format import Format, Source, recognise_records
from corepath.importers.formats.tau_bench import TOOL_FILE
from corepath.importers.reading import Place, Sample, read_records, recover_json
from corepath.importers.transcript import Transcript

_FOLDER: Final = "simulations"
_OUTSIDE: Final = ("user_error", "infrastructure_error", "unexpected_error")
_AGENT: Final = "assistant"
_ERROR: Final = "Error"


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if _bare_simulations(value) is not None:
        return "simulations of τ²-bench without their tasks; name the file that has them with --tasks-from"
    if not isinstance(value, dict):
        return "no object with 'info', 'tasks' and 'simulations'"
    info = value.get("info")
    if not isinstance(info, dict) or not isinstance(info.get("environment_info"), dict):
        return "results of τ²-bench have an 'info' with 'environment_info', which names the domain"
    if not isinstance(value.get("tasks"), list):
        return "results of τ²-bench have a list of 'tasks'"
    if not isinstance(value.get("simulations"), list) and not isinstance(value.get("simulation_index"), list):
        return "results of τ²-bench have a list of 'simulations'"
    return None


def _recognise(sample: Sample) -> str | None:
    """Explain why a file is not in this format, or return None if it is.

    Simulations without their tasks are in this format too. Reading them says what is missing.
    """
    why = next((_outline(value) for value in sample.records(_is_outlined) if not isinstance(value, Problem)), None)
    if why is None and sample.is_valid:
        return None
    found = (value for _, value in _results(sample.file) if not isinstance(value, Problem))
    return why if sample.is_valid else next((mismatch(value) for value in found), why or "no JSON in it")


def _outline(value: Any) -> str | None:
    return None if _bare_simulations(value) is not None else mismatch(value)


def _is_outlined(value: Any) -> bool:
    return _outline(value) is None


def _bare_simulations(value: Any) -> list[Any] | None:
    """Return the simulations in a record that has nothing else, or None if it is not such a record.

    The record is a list of simulations, one simulation, or results without `info` or `tasks`.
    """
    if isinstance(value, dict) and ("info" not in value or "tasks" not in value):
        value = value.get("simulations", [value])
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    return value if all({"task_id", "messages", "reward_info"} <= one.keys() for one in value) else None


def _read_simulations(path: Path) -> Iterator[Episode | Problem]:
    """Yield the episodes in a file, and a `Problem` for each malformed simulation."""
    for place, value in _checked_results(path):
        yield from (value,) if isinstance(value, Problem) else _simulations(path, place, value)


def _read_tasks(path: Path) -> Iterator[Expected | Problem]:
    """Yield the calls expected from the agent in each task, and a `Problem` for each malformed task."""
    for place, value in _checked_results(path):
        yield from (value,) if isinstance(value, Problem) else _tasks(place, value)


def _checked_results(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield each results object in a file with its place. An object in another format is yielded as a `Problem`."""
    for place, value in _results(path):
        wrong = None if isinstance(value, Problem) else mismatch(value)
        yield place, value if wrong is None else place.problem(wrong)


# Tasks that are given apart


def with_tasks(file: str) -> Format:
    """Return this format for simulations whose tasks are in another file.

    That file holds complete results, or a list of tasks as τ²-bench ships them for each domain. Raises `InputError` if
    it has no tasks.
    """
    given = _given_tasks(Path(file))

    def complete(value: Any) -> Any:
        found = _bare_simulations(value)
        info = value["info"] if isinstance(value, dict) and isinstance(value.get("info"), dict) else {}
        return value if found is None else {**given, "info": {**given["info"], **info}, "simulations": found}

    def read(path: Path) -> Iterator[Episode | Problem]:
        for place, value in read_records(path, lambda one: mismatch(complete(one)) is None):
            whole = value if isinstance(value, Problem) else complete(value)
            wrong = None if isinstance(whole, Problem) else mismatch(whole)
            whole = whole if wrong is None else place.problem(wrong)
            yield from (whole,) if isinstance(whole, Problem) else _simulations(path, place, whole)

    return replace(
        FORMAT, recognise=lambda sample: recognise_records(sample, lambda one: mismatch(complete(one))), read=read
    )


def _given_tasks(file: Path) -> dict[str, Any]:
    """Return the domain and the tasks in a file as results without simulations."""
    for _, value in read_records(file, lambda _: True):
        info = value.get("info") if isinstance(value, dict) else None
        tasks = value.get("tasks") if isinstance(value, dict) else value
        if isinstance(tasks, list) and tasks and all(map(_is_task, tasks)):
            environment = info.get("environment_info") if isinstance(info, dict) else None
            return {"info": {"environment_info": environment or _environment(tasks, file)}, "tasks": tasks}
    raise InputError([Problem(str(file), 1, 1, "no tasks of τ²-bench: a list of objects with 'id', or its results")])


def _is_task(value: Any) -> bool:
    return isinstance(value, dict) and "id" in value and ("evaluation_criteria" in value or "user_scenario" in value)


def _environment(tasks: list[Any], file: Path) -> dict[str, str]:
    """Return the domain that the tasks name, or else the name of the file's folder."""
    for task in tasks:
        scenario = task.get("user_scenario")
        instructions = scenario.get("instructions") if isinstance(scenario, dict) else None
        domain = instructions.get("domain") if isinstance(instructions, dict) else None
        if isinstance(domain, str) and domain:
            return {"domain_name": domain}
    return {"domain_name": file.absolute().parent.name}


def _tasks(place: Place, value: Mapping[str, Any]) -> Iterator[Expected | Problem]:
    for number, task in enumerate(value["tasks"], start=1):
        try:
            yield _read_expected(task, value)
        except RecordError as error:
            yield place.problem(f"task {number}: {error}")


def _results(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield each results object in a file with its place.

    If the file is broken, the results with only the complete simulations are yielded, and then a `Problem`.
    """
    for place, value in read_records(path, _is_outlined):
        if isinstance(value, Problem) and place.number is None:
            kept = None
            with suppress(OSError):
                kept = recover_json(path.read_bytes())
            if mismatch(kept) is None:
                yield place, kept
        yield place, value


def _simulations(path: Path, place: Place, value: Mapping[str, Any]) -> Iterator[Episode | Problem]:
    """Yield an episode or a `Problem` for each simulation in `value`, or else in the folder next to the file."""
    folder = path.parent / _FOLDER
    if isinstance(value.get("simulations"), list):
        for number, simulation in enumerate(value["simulations"], start=1):
            yield _try_simulation(place, simulation, value, f"simulation {number}")
    elif not folder.is_dir():
        yield place.problem(f"the simulations are in a folder '{_FOLDER}' next to the file, which is missing")
    else:
        for file in sorted(folder.glob("*.json")):
            for inner, simulation in read_records(file, lambda one: isinstance(one, dict)):
                yield (
                    simulation
                    if isinstance(simulation, Problem)
                    else _try_simulation(inner, simulation, value, "simulation")
                )


def _try_simulation(place: Place, simulation: Any, value: Mapping[str, Any], which: str) -> Episode | Problem:
    try:
        return _read_simulation(simulation, value)
    except RecordError as error:
        return place.problem(f"{which}: {error}")


def _read_simulation(simulation: Any, value: Mapping[str, Any]) -> Episode:
    if not isinstance(simulation, dict) or "task_id" not in simulation:
        raise RecordError("a simulation must be an object with a 'task_id' and 'messages'")
    if simulation.get("messages") is None:
        spoken = "; voice simulations, which have 'ticks', are not read" if simulation.get("ticks") else ""
        raise RecordError(f"the simulation has no 'messages'{spoken}")
    trial = _trial(simulation)
    agent, user = Transcript(), Transcript()
    for message in objects(simulation["messages"], "messages"):
        _read_message(agent, user, message)
    reward = simulation.get("reward_info")
    judged = _judge(simulation, value)
    episode = agent.to_episode(
        agent=_model(value, "agent_info"),
        benchmark="tau2",
        reward=reward.get("reward") if isinstance(reward, dict) else None,
        reward_info=reward,
        metadata=_metadata(simulation, value),
        **_failure(simulation),
        **({NO_AGENT_ACTIONS: True} if judged is not None and NO_AGENT_ACTIONS in judged.tags else {}),
    )
    task = f"tau2/{_domain(value)}/{simulation['task_id']}"
    fingerprint = None if judged is None else judged.fingerprint
    return replace(episode, task=task, epoch=trial, other_calls=tuple(user.calls), fingerprint=fingerprint)


def _trial(simulation: Mapping[str, Any]) -> int:
    trial = simulation.get("trial") or 0
    if not isinstance(trial, int) or isinstance(trial, bool):
        raise RecordError("'trial' must be an integer")
    return trial


def _read_message(agent: Transcript, user: Transcript, message: Mapping[str, Any]) -> None:
    match message.get("role"):
        case "assistant" | "user" as role:
            speaker = agent if role == _AGENT else user
            time = message.get("timestamp")
            speaker.start_turn()
            if role == _AGENT:
                agent.add_text(text_of(message.get("content")), time=time)
                _add_usage(agent, message)
            else:
                agent.add_message(role, message_text(message.get("content")), time=time)
            for call in objects(message.get("tool_calls"), "tool calls"):
                speaker.add_call(call.get("name"), call.get("arguments"), call.get("id"), time=time)
        case "system":
            agent.add_message("system", message_text(message.get("content")), time=message.get("timestamp"))
        case "tool":
            for answer in [message] if "tool_messages" not in message else objects(message["tool_messages"], "answers"):
                _read_answer(agent, user, answer)


def _read_answer(agent: Transcript, user: Transcript, answer: Mapping[str, Any]) -> None:
    """Add the result of a call.

    The trajectories of the leaderboard leave out `requestor`, `id` and `error`. Then the result is for the one who
    waits for it, and a text that begins as the benchmark's error messages do is an error.
    """
    requestor = answer.get("requestor", _AGENT if agent.open_calls() or not user.open_calls() else "user")
    content = answer.get("content")
    says_error = isinstance(content, str) and content.startswith(_ERROR)
    failed = answer["error"] is True if "error" in answer else says_error
    asked, result = agent if requestor == _AGENT else user, content if failed else parse_result(content)
    asked.add_result(answer.get("id"), result, error=failed, time=answer.get("timestamp"))


def _add_usage(agent: Transcript, message: Mapping[str, Any]) -> None:
    """Add what a message by the agent used. The greeting, which no model wrote, used nothing."""
    usage, cost = message.get("usage"), message.get("cost")
    if usage or cost:
        agent.add_usage(usage, cost=cost)


def _metadata(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata about a simulation and its run, e.g. the seed and the domain."""
    of_run = value["info"]
    kept = ("id", "task_id", "trial", "seed", "timestamp", "termination_reason", "agent_cost", "user_cost", "duration")
    found = {name: simulation.get(name) for name in kept}
    found |= {"domain": _domain(value), "user": _model(value, "user_info"), "git_commit": of_run.get("git_commit")}
    return {name: one for name, one in found.items() if one is not None}


def _model(value: Mapping[str, Any], whose: str) -> str | None:
    known = value["info"].get(whose)
    model = known.get("llm") or known.get("implementation") if isinstance(known, dict) else None
    return model if isinstance(model, str) else None


def _domain(value: Mapping[str, Any]) -> str:
    return str(value["info"]["environment_info"].get("domain_name") or "unknown")


def _has_no_user(value: Mapping[str, Any]) -> bool:
    """Return True if the run had no simulated user.

    The agent is then also expected to make the user's calls.
    """
    user = value["info"].get("user_info")
    return isinstance(user, dict) and user.get("implementation") == "dummy_user"


def _failure(simulation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say how a simulation failed outside the agent, or nothing if it did not."""
    reason, info = simulation.get("termination_reason"), simulation.get("info")
    if reason not in _OUTSIDE:
        return {}
    message = str(info.get("error") or "") if isinstance(info, dict) else ""
    return {"ended": FAILED_OUTSIDE, "failure": {"kind": reason, "message": message}}


def _judge(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> Expected | None:
    """Return the calls that a simulation was judged by, or None if they are not known.

    Raises `RecordError` if the simulation lists other calls than its task expects.
    """
    expected = _find_expected(simulation, value)
    checked = _checked_calls(simulation, value)
    if expected is None or checked is None or Expected("", checked).fingerprint == expected.fingerprint:
        return expected
    tasks = (one for one in value["tasks"] if isinstance(one, dict) and "id" in one)
    right = [str(one["id"]) for one in tasks if _has_calls(one, checked, value)]
    hint = f"they are those of task {right[0]:.60}" if len(right) == 1 else "they are of no task, or of several"
    raise RecordError(
        f"it stands under task {str(simulation['task_id'])[:60]}, but was judged by other calls ('action_checks') than "
        f"this task expects: {hint}"
    )


def _checked_calls(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> tuple[ExpectedCall, ...] | None:
    """Return the calls by which a simulation was judged, or None if it does not list them."""
    reward = simulation.get("reward_info")
    checks = reward.get("action_checks") if isinstance(reward, dict) else None
    if not isinstance(checks, list) or not checks:
        return None
    actions = [one.get("action") for one in checks if isinstance(one, dict)]
    return _select_calls([one for one in actions if isinstance(one, dict)], value)


def _has_calls(task: Mapping[str, Any], calls: tuple[ExpectedCall, ...], value: Mapping[str, Any]) -> bool:
    """Return True if a task expects exactly these calls."""
    try:
        return _read_expected(task, value).fingerprint == Expected("", calls).fingerprint
    except RecordError:
        return False


def _find_expected(simulation: Mapping[str, Any], value: Mapping[str, Any]) -> Expected | None:
    """Return the calls that a simulation's task expects, or None if the task is missing or malformed."""
    tasks = (task for task in value["tasks"] if isinstance(task, dict))
    task = next((task for task in tasks if str(task.get("id")) == str(simulation["task_id"])), {})
    try:
        return _read_expected(task, value)
    except RecordError:
        return None  # the problem is reported when the tasks are read


def _read_expected(task: Any, value: Mapping[str, Any]) -> Expected:
    if not isinstance(task, dict) or "id" not in task:
        raise RecordError("a task must be an object with an 'id' and 'evaluation_criteria'")
    criteria = task.get("evaluation_criteria") or {}
    if not isinstance(criteria, dict):
        raise RecordError("'evaluation_criteria' must be an object")
    actions = list(objects(criteria.get("actions"), "the expected actions"))
    calls = _select_calls(actions, value)
    tags = (NO_AGENT_ACTIONS,) if actions and not calls else ()
    return Expected(f"tau2/{_domain(value)}/{task['id']}", calls, _prompt(task), tags)


def _select_calls(actions: list[Mapping[str, Any]], value: Mapping[str, Any]) -> tuple[ExpectedCall, ...]:
    """Return the calls among `actions` that are expected from the agent."""
    of_agent = [one for one in actions if _has_no_user(value) or one.get("requestor", _AGENT) == _AGENT]
    return tuple(map(_expected_call, of_agent))


def _expected_call(action: Mapping[str, Any]) -> ExpectedCall:
    name, arguments, compared = action.get("name"), action.get("arguments"), action.get("compare_args")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise RecordError("an expected action must have a 'name' and an object of 'arguments'")
    if compared is not None and not isinstance(compared, list):
        raise RecordError("'compare_args' must be a list of argument names")
    return ExpectedCall(name, arguments, compared)


def _prompt(task: Mapping[str, Any]) -> str:
    """Return the simulated user's instructions."""
    scenario = task.get("user_scenario")
    instructions = scenario.get("instructions") if isinstance(scenario, dict) else None
    if isinstance(instructions, dict):
        parts = (
            instructions.get(name) for name in ("reason_for_call", "known_info", "unknown_info", "task_instructions")
        )
        instructions = "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip(" \n."))
    return instructions if isinstance(instructions, str) else ""


def _companions(path: Path) -> Iterator[Path]:
    """Yield the files with single simulations beside a file of results."""
    return (path.parent / _FOLDER).glob("*.json")


FORMAT: Final = Format(
    "tau2",
    "an answer whose `error` is true; if it has no `error`, one that begins with `Error`",
    _recognise,
    _read_simulations,
    companions=_companions,
    configure=with_tasks,
)
SOURCE: Final = Source("tau2", _recognise, _read_tasks, TOOL_FILE)
