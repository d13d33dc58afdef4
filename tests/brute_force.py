"""Reference implementation: every score computed straight from its definition, by listing golden paths and repairs.

It shares no code with the package. Automata are plain dictionaries {state: {symbol: state}}, calls are symbols, and a
symbol without a transition is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Delta = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Machine:
    """An automaton: start state, accepting states, and transitions."""

    start: str
    accept: frozenset[str]
    delta: Delta

    def golden(self) -> list[tuple[str, ...]]:
        """List the golden paths: progress only, no state twice, ending in an accepting state."""
        return [symbols for symbols, _ in self.golden_with_states()]

    def golden_with_states(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        return self.ways_from(self.start)

    def ways_from(self, start: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        found = []

        def walk(state: str, symbols: tuple[str, ...], states: tuple[str, ...]) -> None:
            if state in self.accept:
                found.append((symbols, states))
            for symbol, target in self.delta.get(state, {}).items():
                if target not in states:
                    walk(target, (*symbols, symbol), (*states, target))

        walk(start, (), (start,))
        return found


def levenshtein(x: Sequence[str], y: Sequence[str]) -> int:
    row = list(range(len(y) + 1))
    for i, a in enumerate(x):
        new = [i + 1]
        for j, b in enumerate(y):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + (a != b)))
        row = new
    return row[-1]


def pc(x: Sequence[str], y: Sequence[str]) -> float:
    if not x and not y:
        return 1.0
    distance = levenshtein(x, y)
    return 1 - 2 * distance / (len(x) + len(y) + distance)


def tau(x: Sequence[str], g: Sequence[str], fallback: float) -> float:
    used = [False] * len(g)
    ranks = []
    for token in x:
        for place, other in enumerate(g):
            if other == token and not used[place]:
                used[place] = True
                ranks.append(place)
                break
    if len(ranks) < 2:
        return fallback
    pairs = [(a, b) for i, a in enumerate(ranks) for b in ranks[i + 1 :]]
    kendall = sum(1 if a < b else -1 for a, b in pairs) / len(pairs)
    return (1 + kendall) / 2


def brute_score(
    machine: Machine,
    calls: Sequence[str],
    *,
    lam: float = 0.5,
    beta: float = 0.5,
    order_fallback: float | str = 0.5,
    hlr_references: str = "repaired",
    extra_loops: Sequence[str] = (),
) -> dict[str, Any]:
    """Compute every score. `extra_loops` are symbols that loop in every state, such as reads."""
    state = machine.start
    condensed: list[str] = []
    mask: list[int] = []
    before: list[str] = []
    progress = 0
    for call in calls:
        target = machine.delta.get(state, {}).get(call)
        if target is None and call in extra_loops:
            continue
        if target == state:
            continue
        condensed.append(call)
        before.append(state)
        mask.append(int(target is None))
        if target is not None:
            progress += 1
            state = target
    golden = machine.golden_with_states()
    paths = [path for path, _ in golden]
    best_pc = max(pc(condensed, path) for path in paths)
    best_ktc = max(
        lam * pc(condensed, path)
        + (1 - lam) * tau(condensed, path, pc(condensed, path) if order_fallback == "pc" else float(order_fallback))
        for path in paths
    )
    references = list(_repaired(machine, condensed, mask, before, golden, state, extra_loops))
    best_hlr = max(pc(condensed, reference) for reference in references)
    if hlr_references == "repaired+golden":
        best_hlr = max(best_hlr, best_pc)
    m, n = len(condensed), len(calls)
    lengths = {len(path) for path in paths}
    reached = [length for length in lengths if length <= n]
    efficiency = None if not reached else 1.0 if not n else max(reached) / n
    prefix = 1.0
    if m:
        prefix = 1 - (1 - beta) / (1 - beta**m) * sum(h * beta**k for k, h in enumerate(mask))
    return {
        "pc": best_pc,
        "pc_ktc": best_ktc,
        "pc_hlr": best_hlr,
        "prefix_criticality": prefix,
        "harm_count": sum(mask),
        "harm_rate": sum(mask) / m if m else 0.0,
        "efficiency": efficiency,
        "directness": progress / n if n else (1.0 if machine.start in machine.accept else None),
        "accepted": state in machine.accept,
        "missing_steps": _missing(machine, state),
        "harm_mask": mask,
        "condensed": condensed,
    }


def _repaired(
    machine: Machine,
    condensed: list[str],
    mask: list[int],
    before: list[str],
    golden: list[tuple[tuple[str, ...], tuple[str, ...]]],
    end: str,
    extra_loops: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    options: list[list[tuple[str, ...]]] = []
    for symbol, harmful, state in zip(condensed, mask, before, strict=True):
        if not harmful:
            options.append([(symbol,)])
            continue
        edges = machine.delta.get(state, {})
        loops = {s for s, target in edges.items() if target == state} | {s for s in extra_loops if s not in edges}
        options.append([(), *((loop,) for loop in sorted(loops))])
    suffixes: list[tuple[str, ...]] = [()]
    if any(end in states for _, states in golden):
        suffixes = [path for path, _ in machine.ways_from(end)]
    for parts in product(*options):
        repaired = tuple(symbol for part in parts for symbol in part)
        for suffix in suffixes:
            yield repaired + suffix


def _missing(machine: Machine, state: str) -> int:
    level, steps, seen = {state}, 0, {state}
    while not level & machine.accept:
        level = {target for one in level for target in machine.delta.get(one, {}).values()} - seen
        seen |= level
        steps += 1
        assert level, "no way to acceptance"
    return steps
