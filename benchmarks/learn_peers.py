"""The same runs given to pm4py and AALpy, in an environment of their own: `make peers`.

`.venv-peers/bin/python benchmarks/learn_peers.py CASES` reads a list of cases, each with its `runs`, and with
`near_misses` of them that are wrong. It prints what each peer learns from each case as JSON: a process tree, or a
machine with its `start`, `edges` and `accepting` states. Steps are numbers.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Case = Mapping[str, Any]


def inductive_miner(case: Case) -> Any:
    """pm4py's inductive miner without a noise threshold, on the runs."""
    import pandas as pd  # noqa: PLC0415
    import pm4py  # noqa: PLC0415

    rows = [
        {"case:concept:name": str(number), "concept:name": str(step), "time:timestamp": pd.Timestamp(place, unit="s")}
        for number, run in enumerate(case["runs"])
        for place, step in enumerate(run)
    ]
    return _as_json(pm4py.discover_process_tree_inductive(pd.DataFrame(rows)))


def _as_json(tree: Any) -> list[Any]:
    if tree.operator is None:
        return ["tau"] if tree.label is None else ["step", int(tree.label)]
    names = {"SEQUENCE": "seq", "XOR": "xor", "PARALLEL": "and", "LOOP": "loop"}
    return [names[tree.operator.name], *map(_as_json, tree.children)]


def rpni(case: Case) -> Any:
    """AALpy's RPNI on the runs alone."""
    return _learn_machine("run_RPNI", case["runs"], [])


def rpni_with_near_misses(case: Case) -> Any:
    """AALpy's RPNI on the runs, and on near misses that it is told are wrong."""
    return _learn_machine("run_RPNI", case["runs"], case["near_misses"])


def edsm_with_near_misses(case: Case) -> Any:
    """AALpy's EDSM on the runs, and on near misses that it is told are wrong."""
    return _learn_machine("run_EDSM", case["runs"], case["near_misses"])


def _learn_machine(algorithm: str, right: list[list[int]], wrong: list[list[int]]) -> Any:
    import aalpy.learning_algs  # noqa: PLC0415

    data = [(tuple(run), True) for run in right] + [(tuple(run), False) for run in wrong]
    learned = getattr(aalpy.learning_algs, algorithm)(data, "dfa", print_info=False)
    numbers = {state.state_id: number for number, state in enumerate(learned.states)}
    edges = [{str(step): numbers[to.state_id] for step, to in state.transitions.items()} for state in learned.states]
    accepting = [number for number, state in enumerate(learned.states) if state.is_accepting]
    return {"start": numbers[learned.initial_state.state_id], "edges": edges, "accepting": accepting}


PEERS: Mapping[str, Callable[[Case], Any]] = {
    "pm4py inductive miner": inductive_miner,
    "AALpy RPNI, runs alone": rpni,
    "AALpy RPNI, with near misses": rpni_with_near_misses,
    "AALpy EDSM, with near misses": edsm_with_near_misses,
}


def main() -> None:
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        for name, peer in PEERS.items():
            begin = time.process_time()
            learned = [peer(case) for case in cases]
            found[name] = {"learned": learned, "seconds": time.process_time() - begin}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
