"""Find out which steps must come before a step, on every right path."""

from __future__ import annotations

from collections import deque

from corepath.automaton.automaton import Automaton


def times_needed(automaton: Automaton, state: int, step: int, before: int, times: int = 1) -> int:
    """Return how often `step` must be done from `state` on before the step `before` can be done, whatever the order.

    That is the smallest number on any path to a state where `before` is expected for the last of `times` times. If it
    is 0, a right path can do without `step` until then. Return 0 if no path leads there.
    """
    start = (state, times)
    best = {start: 0}
    queue = deque([start])
    while queue:
        here, left = node = queue.popleft()
        edges = automaton.delta[here]
        if left == 1 and edges.get(before, here) != here:
            return best[node]
        for symbol, after in edges.items():
            done, following = best[node] + (symbol == step), (after, left - (symbol == before))
            if after != here and done < best.get(following, done + 1):
                best[following] = done
                (queue.append if symbol == step else queue.appendleft)(following)
    return 0


def is_needed(automaton: Automaton, state: int, step: int) -> bool:
    """Whether every right path from `state` on does `step`."""
    found, waiting = {state}, [state]
    while waiting:
        here = waiting.pop()
        if here in automaton.accepting:
            return False
        for symbol, after in automaton.delta[here].items():
            if symbol != step and after not in found:
                found.add(after)
                waiting.append(after)
    return True
