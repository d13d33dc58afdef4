"""The same episodes judged by agentevals and by pm4py, in an environment of their own: `make peers`.

`.venv-peers/bin/python benchmarks/peers.py TASKS LINES` prints the CPU seconds per episode as JSON. Each gets its own
form of an episode, made beforehand, and neither is asked for more than it can do: agentevals compares with one golden
path, and pm4py aligns the steps of an episode with the task's automaton as a Petri net, without the reads. Neither
remembers an episode that comes again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")
ROUNDS = 3
Episode = Mapping[str, Any]
Tasks = Mapping[str, Any]


def trajectory_match(tasks: Tasks, episodes: Sequence[Episode]) -> Iterator[tuple[str, Callable[[], object]]]:
    """agentevals: whether the calls are those of a golden path, in this order."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # noqa: PLC0415

    evaluate = create_trajectory_match_evaluator(trajectory_match_mode="strict")
    wanted = {id_: _messages(task["golden"]) for id_, task in tasks.items()}
    given = [(_messages(episode["calls"]), wanted[episode["task"]]) for episode in episodes]

    def run() -> None:
        for outputs, reference in given:
            evaluate(outputs=outputs, reference_outputs=reference)

    yield "agentevals", run


def alignments(tasks: Tasks, episodes: Sequence[Episode]) -> Iterator[tuple[str, Callable[[], object]]]:
    """pm4py: an optimal alignment with a Petri net, by each of its variants of Dijkstra's algorithm."""
    from pm4py.algo.conformance.alignments.petri_net.algorithm import Variants, apply_trace  # noqa: PLC0415

    nets = {id_: _petri_net(task) for id_, task in tasks.items()}
    given = [(_trace(tasks[episode["task"]], episode["calls"]), nets[episode["task"]]) for episode in episodes]

    def run(variant: Any) -> None:
        for trace, (net, first, last) in given:
            apply_trace(trace, net, first, last, variant=variant)

    for variant in (Variants.VERSION_DIJKSTRA_NO_HEURISTICS, Variants.VERSION_DIJKSTRA_LESS_MEMORY):
        yield f"pm4py {variant.name}", partial(run, variant)


def _messages(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": call["tool"], "arguments": json.dumps(call["arguments"])}}
        ]} for call in calls
    ]  # fmt: skip


def _trace(task: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Any:
    from pm4py.objects.log.obj import Event, Trace  # noqa: PLC0415

    steps = {(tool, ticket): name for name, (tool, ticket) in task["steps"].items()}
    named = (
        steps.get((call["tool"], call["arguments"].get("ticket")), "unknown")
        for call in calls if call["tool"] not in task["reads"]
    )  # fmt: skip
    return Trace([Event({"concept:name": name}) for name in named])


def _petri_net(task: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the automaton as a net: a place for each state, a transition for each edge."""
    from pm4py.objects.petri_net.obj import Marking, PetriNet  # noqa: PLC0415
    from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to  # noqa: PLC0415

    net, end = PetriNet("task"), PetriNet.Place("end")
    places = {state: PetriNet.Place(state) for state in task["transitions"]}
    net.places.update([end, *places.values()])

    def connect(label: str | None, before: Any, after: Any) -> None:
        transition = PetriNet.Transition(f"t{len(net.transitions)}", label)
        net.transitions.add(transition)
        add_arc_from_to(before, transition, net)
        add_arc_from_to(transition, after, net)

    for state, edges in task["transitions"].items():
        for name, after in edges.items():
            connect(name, places[state], places[after])
    for state in task["accept"]:
        connect(None, places[state], end)
    return net, Marking({places[task["start"]]: 1}), Marking({end: 1})


def main() -> None:
    tasks = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    episodes = [json.loads(line) for line in Path(sys.argv[2]).read_bytes().splitlines()]
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        for peer in (trajectory_match, alignments):
            for name, run in peer(tasks, episodes):
                found[name] = min(_seconds(run) for _ in range(ROUNDS)) / len(episodes)
    print(json.dumps(found))


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


if __name__ == "__main__":
    main()
