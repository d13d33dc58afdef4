# What other modules use of the kernel, for type checkers.

from typing import Any, Final

WIDTH: Final[int]

def condense(
    rows: Any, codes: Any, first: int, last: int, state: int, x: Any, harm: Any, before: Any, mark: Any, done: Any
) -> tuple[int, int]: ...
def prefix_criticality(harm: Any, n: int, beta: float) -> float: ...
def follow_graph(
    graph: Any, node: int, x: Any, first: int, n: int, edge: int, hit: int, drop: int, columns: Any, live: Any
) -> int: ...
def measure(
    graph: Any, x: Any, harm: Any, stays: Any, before: Any, n: int, calls: int, end: int, options: Any, place: Any,
    columns: Any, live: Any, out: Any, o: int,
) -> None: ...  # fmt: skip
def score_episodes(
    graph: Any, rows: Any, start: int, codes: Any, offsets: Any, which: Any, options: Any, x: Any, harm: Any,
    before: Any, mark: Any, place: Any, columns: Any, live: Any, out: Any,
) -> tuple[int, int]: ...  # fmt: skip
