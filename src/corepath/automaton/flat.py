"""An automaton as a flat array of numbers, and calls as numbers, in the form that `scoring.kernel` describes.

The numbers come from the alphabet's own reading of a call and from the automaton's own steps, so that there is only one
meaning of both.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.golden_paths import GoldenGraph
from corepath.automaton.harm import HarmKind, kind_of_harm
from corepath.automaton.reading import Reading, Role
from corepath.automaton.step import Errors, Kind, effect
from corepath.notation.call import Call

MOST_EDGES: Final = 20_000
"""If a golden graph has more edges, its nodes and edges are left out."""
MOST_LISTED: Final = 64
"""Up to this many golden paths are listed. Above this number, PC-KTC is searched."""
MOST_ROW_CELLS: Final = 1 << 20
"""If an automaton has more pairs of a state and a symbol, its calls are not coded."""
UNFILLED: Final = -100
"""Stands in a row for a state in which the call was not met yet."""
_HEADER: Final = 19
_KINDS: Final = {kind: number for number, kind in enumerate(HarmKind)}
_STEP: Final = len(_KINDS)
"""A step at the wrong time: repeated if it was done before, out of order otherwise."""


class FlatAutomaton:
    """An automaton as the array `graph`, with the coded calls for each way in which failed calls can count."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.graph = _flatten(automaton)
        self.symbols = len(automaton.alphabet.actions)
        self.nodes = len(automaton.golden.edges)
        self.longest = automaton.golden.longest
        self.is_coded = self._can_code()
        self.kept: dict[Any, Any] = {}
        """What was searched for condensed paths, by path and options."""
        self._codes: dict[Errors, CallCodes] = {}

    def codes(self, errors: Errors) -> CallCodes:
        """Return the codes of calls, where failed calls count as `errors` says. They are shared by all episodes."""
        if errors not in self._codes:
            self._codes[errors] = CallCodes(self.automaton, errors)
        return self._codes[errors]

    @property
    def is_whole(self) -> bool:
        """Whether the array has the nodes and edges of the golden graph."""
        return bool(self.graph[18])

    def _can_code(self) -> bool:
        """Whether a call means the same whatever was called and answered before."""
        alphabet = self.automaton.alphabet
        small = len(self.automaton.states) * (self.symbols + 8) <= MOST_ROW_CELLS
        return small and not alphabet.depends_on_results


class CallCodes:
    """Codes of calls: each is the place of a row in `rows`, which says what the call does in each state.

    Calls that do the same share a row. Rows are filled state by state, when an episode gets there.
    """

    def __init__(self, automaton: Automaton, errors: Errors) -> None:
        self._automaton = automaton
        self._errors = errors
        self._tools = frozenset(action.tool for action in automaton.alphabet.actions)
        self._places: dict[tuple[object, ...], int] = {}
        self._examples: dict[int, tuple[Call, Reading]] = {}
        self.rows = array("q")

    def code(self, call: Call) -> int:
        """Return the code of a call."""
        failed = call.failed and self._errors != "as_called"
        reading = self._automaton.alphabet.read(call, {}, {}, failed=failed)
        tool = call.tool if call.tool in self._tools else self._is_listed(call.tool)
        key = (reading.role, reading.symbol, reading.loops, failed, tool)
        place = self._places.get(key)
        return self._add(key, call, reading) if place is None else place

    def is_executable(self, code: int) -> bool:
        """Whether the calls with this code name an existing tool and have an object of arguments."""
        return self._examples[code][1].role not in (Role.MALFORMED, Role.UNKNOWN_TOOL)

    def fill(self, place: int) -> None:
        """Fill in what a call does in a state. `place` is where that stands in `rows`."""
        width = len(self._automaton.states) + 1
        state = place % width - 1
        call, reading = self._examples[place - 1 - state]
        failed = call.failed and self._errors != "as_called"
        kind, after = effect(self._automaton, state, call, reading, failed=failed)
        if kind is Kind.HARM:
            after = -1 - self._number_harm(state, call, reading)
        elif failed and self._errors == "harmful":
            after = -1 - _KINDS[HarmKind.FAILED]
        self.rows[place] = after

    def _number_harm(self, state: int, call: Call, reading: Reading) -> int:
        kind = kind_of_harm(self._automaton, state, 0, call, reading)
        if kind is not HarmKind.OUT_OF_ORDER:
            return _KINDS[kind]  # whatever was done before
        every = (1 << len(self._automaton.alphabet.actions)) - 1
        return _KINDS[kind] if kind_of_harm(self._automaton, state, every, call, reading) is kind else _STEP

    def _is_listed(self, tool: str) -> bool:
        alphabet = self._automaton.alphabet
        return any(pattern.fits_tool(tool) for pattern in (*alphabet.reads, *alphabet.neutral))

    def _add(self, key: tuple[object, ...], call: Call, reading: Reading) -> int:
        alphabet = self._automaton.alphabet
        place = len(self.rows)
        self.rows.append(len(alphabet.actions) if reading.symbol is None else reading.symbol)
        self.rows.extend([UNFILLED] * len(self._automaton.states))
        self._examples[place] = (call, reading)
        self._places[key] = place
        return place


def flat_form(automaton: Automaton) -> FlatAutomaton:
    """Return the flat form of an automaton. It is cached."""
    known = vars(automaton)
    if "_flat" not in known:
        known["_flat"] = FlatAutomaton(automaton)
    found: FlatAutomaton = known["_flat"]
    return found


def flat_graph(graph: GoldenGraph) -> array[int]:
    """Return the nodes and edges of a golden graph as an array, without any states. It is cached."""
    known = vars(graph)
    if "_flat" not in known:
        parts = [(), (), (), (), (), (), *_flatten_graph(graph), (), (), ()]
        known["_flat"] = _join([0, len(graph.edges), graph.start, graph.longest, 0], parts, [False, True])
    found: array[int] = known["_flat"]
    return found


def _flatten_graph(graph: GoldenGraph) -> tuple[Iterable[int], Iterable[int], Iterable[int]]:
    """Return where the incoming edges of each node begin, which nodes are accepting, and the edges."""
    incoming = graph.incoming
    return (
        accumulate(map(len, incoming), initial=0),
        [node in graph.accepting for node in range(len(graph.edges))],
        [number for into in incoming for edge in into for number in edge],
    )


def kind_of(mark: int) -> HarmKind:
    """Return the kind of harm that the kernel marked a call with."""
    return tuple(HarmKind)[mark - 2]


def _flatten(automaton: Automaton) -> array[int]:
    """Return the automaton's array. The kernel says what stands where."""
    golden, states = automaton.golden, range(len(automaton.states))
    every = automaton.rule == "acyclic"
    whole = every and golden.size <= MOST_EDGES
    loops = [automaton.loops(state) for state in states] if whole else []
    anywhere = bool(automaton.alphabet.other_loops)
    paths = list(golden.paths()) if every and golden.count <= MOST_LISTED else []
    parts: list[Iterable[int]] = [
        [state in automaton.accepting for state in states],
        automaton.missing,
        [_node_of(automaton, state) for state in states] if whole else (),
        accumulate(map(len, loops), initial=0),
        [anywhere or bool(own) for own in loops],
        [symbol for own in loops for symbol in own],
        *(_flatten_graph(golden) if whole else ([0], (), ())),
        _reached_lengths(golden),
        accumulate(map(len, paths), initial=0),
        [symbol for path in paths for symbol in path],
    ]
    first = [len(automaton.alphabet.actions), len(golden.edges), golden.start, golden.longest, len(paths)]
    return _join(first, parts, [every, whole])


def _join(first: Sequence[int], parts: Iterable[Iterable[int]], last: Sequence[int]) -> array[int]:
    """Put parts into one array, after a header with the first numbers, the places of the parts and the last numbers."""
    made = [array("q", part) for part in parts]
    places = accumulate(map(len, made), initial=_HEADER)
    joined = array("q", [*first, *list(places)[:-1], *last])
    for part in made:
        joined.extend(part)
    return joined


def _node_of(automaton: Automaton, state: int) -> int:
    rest = automaton.golden_from(state)
    assert rest is not None
    return rest.start


def _reached_lengths(golden: GoldenGraph) -> Iterable[int]:
    """For each length up to the longest, the length of the longest golden path that is not longer, or -1."""
    best = -1
    for length in range(golden.longest + 1):
        if golden.lengths >> length & 1:
            best = length
        yield best
