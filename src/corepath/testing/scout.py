"""The scores as an Inspect Scout scanner, e.g. `scout scan corepath/path_scanner -T logs`.

A transcript is converted to the JSON of an Inspect sample and read in the same way as `corepath import` reads Inspect
logs. A transcript has no field for a sample's output, so the final answer is the text of the last message.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspect_ai.event import ToolEvent
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.scorer import mean, stderr
from inspect_scout import Reference, Result, Scanner, Transcript, scanner
from pydantic_core import to_json

from corepath.episode import EXCLUSIONS, Episode, exclusion
from corepath.errors import RecordError, TaskError
from corepath.explanation import Explanation, FindingKind, explain
from corepath.files.lookup import Tasks
from corepath.importers.formats.inspect import read_sample
from corepath.importers.routing import Routing, read_table
from corepath.notation.call import Call
from corepath.scoring.options import Scoring
from corepath.scoring.score import Score, score
from corepath.values import parse_json

_MEANS: Final = ("pc", "pc_ktc", "prefix_criticality", "harm_rate", "pc_hlr", "harm_count", "accepted")
"""The scores that Scout averages. They are defined for every episode."""


@scanner(messages="all", events="all", metrics={name: [mean(), stderr()] for name in _MEANS})  # type: ignore[untyped-decorator]
def path_scanner(
    tasks: str | list[str] | None = None,
    task_by: str | None = None,
    task_map: str | dict[str, str] | None = None,
    scoring: str | dict[str, Any] | None = None,
) -> Scanner[Transcript]:
    """Score each transcript on its task, with references to the messages that contain harmful calls.

    `tasks` lists worlds, task files, folders or single tasks in which to look up tasks, as in `corepath score --tasks`.
    A string may contain several, separated by commas. By default, tasks are looked up in the installed worlds.

    Transcripts of corepath's own tasks name their task. For others, `task_by` is a path to the task's name, e.g.
    `metadata.flow`, as in `corepath import --task-by`, and `task_map` maps such names to tasks. It is a mapping, or a
    file as for `--map`. Without `task_by`, transcripts that do not name their task belong to the only one in `tasks`.

    `scoring` is a profile or a mapping of scoring options. By default, the recorded options are used, or else `paper`.
    """
    names = tuple(one.strip() for one in tasks.split(",")) if isinstance(tasks, str) else tuple(tasks or ())
    routing = _make_routing(names, task_by, task_map)
    options = None if scoring is None else Scoring.of(scoring)

    async def scan(transcript: Transcript) -> Result:  # Scout pickles this function, and with it only plain values
        episode = _route(read_transcript(transcript), routing)
        return _judge(transcript, episode, _find_tasks(names), options or Scoring.of(episode.scoring or "paper"))

    return scan


@cache
def _find_tasks(names: tuple[str, ...]) -> Tasks:
    return Tasks(names)


def _make_routing(names: tuple[str, ...], task_by: str | None, task_map: str | dict[str, str] | None) -> Routing:
    """Turn the scanner's options into a rule that assigns tasks to episodes."""
    if task_map is not None and task_by is None:
        raise TaskError.of("task_map belongs to task_by: it says which task a name stands for")
    only, *others = _find_tasks(names).sources or [None]
    table = read_table(Path(task_map)) if isinstance(task_map, str) else task_map or {}
    return Routing(None if others else only, task_by, table)


def _route(episode: Episode, routing: Routing) -> Episode:
    """Return the episode with its task set. An episode that names its task keeps it, unless `routing.by` is set."""
    if routing.by is None and routing.task is None and not episode.task:
        raise RecordError("the transcript does not name its task; give one in tasks, or say where it is in task_by")
    return episode if routing.by is None and episode.task else routing(episode)


def read_transcript(transcript: Transcript) -> Episode:
    """Read an episode from a transcript. Its task is empty unless the transcript names a corepath task.

    Raises `RecordError` if the transcript is malformed.
    """
    found = {name: transcript.metadata[name] for name in transcript.metadata}  # Scout parses values on access
    own = found.get("sample_metadata")
    last = transcript.messages[-1] if transcript.messages else None
    sample = {
        "id": found.get("id") if transcript.task_id is None else transcript.task_id,
        "uuid": transcript.transcript_id,
        "epoch": found.get("epoch") if transcript.task_repeat is None else transcript.task_repeat,
        "target": found.get("target"),
        "scores": found.get("scores"),
        "limit": transcript.limit,
        "error": transcript.error,
        "metadata": own if isinstance(own, Mapping) else found,
        "messages": transcript.messages,
        "events": transcript.events,
        "output": {"completion": last.text if isinstance(last, ChatMessageAssistant) else None},
    }
    header = {
        "task": transcript.task_set,
        "model": transcript.model,
        "eval_id": transcript.source_id,
        "created": transcript.date,
        "metadata": found.get("eval_metadata"),
    }
    try:
        sample = parse_json(to_json(sample, fallback=lambda _: None).decode(), stored=True)
    except ValueError as error:
        raise RecordError(f"the transcript cannot be written as JSON: {error}") from None
    return read_sample(sample, {"eval": header})


def _judge(transcript: Transcript, episode: Episode, tasks: Tasks, scoring: Scoring) -> Result:
    """Score an episode. An episode that is left out of all means has no value."""
    task = tasks.of(episode)
    scored = score(task, episode, scoring)
    values = json.loads(json.dumps(scored.to_dict()))
    cited = _cite(transcript, episode.calls, scored)
    why = exclusion(episode)
    left_out = {} if why is None else {"left_out": EXCLUSIONS[why], "scores": values}
    return Result(
        value=values if why is None else None,
        answer=episode.answer if episode.answer is None else str(episode.answer),
        explanation=_describe(explain(task, episode, scored=scored), cited),
        metadata={"task": episode.task, "seed": episode.seed, "outcome": episode.outcome, **left_out},
        references=list({one.id: one for one in cited.values()}.values()),
    )


def _cite(transcript: Transcript, calls: Iterable[Call], scored: Score) -> dict[int, Any]:
    """Return a reference for each harmful call, keyed by the call's index.

    It refers to the message with the call, e.g. [M3], or to the tool event if no message contains the call.
    """
    harmful = {harm.index for harm in scored.harms}
    places: dict[str | None, deque[Any]] = defaultdict(deque)
    events: dict[str | None, deque[Any]] = defaultdict(deque)
    for id_, reference in _message_references(transcript):
        places[id_].append(reference)
    for id_, reference in _event_references(transcript):
        events[id_].append(reference)
    cited: dict[int, Any] = {}
    for index, call in enumerate(calls):
        found = [some[call.id].popleft() for some in (places, events) if some[call.id]]
        if found and index in harmful:
            cited[index] = found[0]
    return cited


def _message_references(transcript: Transcript) -> Iterator[tuple[str, Any]]:
    """Yield the id of each call in a message, with a reference to the message."""
    for number, message in enumerate(transcript.messages, start=1):
        if isinstance(message, ChatMessageAssistant) and message.id is not None:
            for call in message.tool_calls or []:
                yield call.id, Reference(type="message", cite=f"[M{number}]", id=message.id)


def _event_references(transcript: Transcript) -> Iterator[tuple[str, Any]]:
    """Yield the id of each call with a tool event, with a reference to the event."""
    for number, event in enumerate(transcript.events, start=1):
        if isinstance(event, ToolEvent) and event.uuid is not None:
            yield event.id, Reference(type="event", cite=f"[E{number}]", id=event.uuid)


def _describe(explanation: Explanation, cited: Mapping[int, Any]) -> str:
    """Write the explanation as Markdown, which Scout's viewer shows."""
    lines = [explanation.headline, ""]
    for one in explanation.findings:
        calls = one.calls if one.kind is FindingKind.HARM else ()
        cites = dict.fromkeys(cited[index].cite for index in calls if index in cited)
        lines.append(" ".join([f"- {one.kind}: {one.text}", *cites]))
    return "\n".join(lines).strip()
