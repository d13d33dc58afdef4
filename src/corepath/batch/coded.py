"""Coded episodes: the calls of many episodes as numbers, scored by the kernel task by task."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corepath.automaton.harm import HarmKind
from corepath.batch.coding import CallTable, TaskCoder
from corepath.batch.schema import HARM_FIELDS, SCORES
from corepath.scoring import arrays, kernel
from corepath.scoring.arrays import zeros
from corepath.scoring.evidence import shown_state
from corepath.scoring.metrics import Metrics, Searched, Workspace, make_path
from corepath.values import canonical_json

_FLOATS: Final = {
    "pc": 0, "prefix_criticality": 2, "harm_rate": 3, "efficiency": 4, "directness": 5, "pc_hlr": 6,
}  # fmt: skip
"""Where the kernel writes each score."""
_NUMBERS: Final = {"harm_count": 7, "accepted": 9, "missing_steps": 10}
_KINDS: Final = pa.array([kind.value for kind in HarmKind])

Ints = npt.NDArray[np.int64]


class SaidCalls(Protocol):
    """Finds what the coded calls say, since their numbers do not."""

    def identify(self, calls: Ints) -> Ints:
        """Return a number for each of some coded calls. Calls that say the same have the same number."""

    def find_arguments(self, at: int) -> Any:
        """Return the arguments of the call at a place among all coded calls."""

    def find_result(self, at: int) -> Any:
        """Return its result."""


@dataclass
class CodedEpisodes:
    """The episodes of a batch whose calls are coded.

    `calls` holds a number for each call, and `offsets` where the calls of each episode begin. `coder_of` holds the
    number of each episode's coder. `said` finds what a call in `calls` says. `places` says where each episode stands in
    the batch.
    """

    table: CallTable
    coders: Sequence[TaskCoder]
    said: SaidCalls
    calls: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("q", [0]))
    coder_of: array[int] = field(default_factory=lambda: array("q"))
    places: Sequence[int] | Ints = ()
    known: dict[str, Any] = field(default_factory=dict)
    """The columns that do not come from the kernel."""
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    """More values of such columns, for the few episodes that have them."""

    def score(self) -> pa.RecordBatch:
        """Score all episodes."""
        offsets = np.frombuffer(self.offsets, dtype=np.int64)
        calls = np.frombuffer(self.calls, dtype=np.int64)
        codes = np.frombuffer(self.table.codes, dtype=np.int64)[calls]
        coder_of = np.frombuffer(self.coder_of, dtype=np.int64)
        run = _KernelRun(self.coders, coder_of, codes, offsets)
        run.score()
        columns: dict[str, Any] = {name: _column(name, values) for name, values in self.known.items()}
        columns |= self._fact_columns()
        columns |= run.columns()
        columns["length"] = pa.array(np.diff(offsets), pa.int32())
        columns["harms"] = self._list_harms(run.mark, calls, offsets)
        return pa.RecordBatch.from_arrays(
            [columns[one.name] if one.name in columns else pa.nulls(len(coder_of), one.type) for one in SCORES],
            schema=SCORES,
        )

    def _fact_columns(self) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {}
        for number, facts in self.facts.items():
            for name, value in facts.items():
                if value is not None:
                    columns.setdefault(name, [None] * len(self.coder_of))[number] = value
        return {name: _column(name, values) for name, values in columns.items()}

    def _list_harms(self, mark: Ints, calls: Ints, offsets: Ints) -> pa.ListArray:
        """Return the harmful calls of each episode."""
        ran = np.frombuffer(self.table.ran, dtype=np.int8)[calls].astype(bool)
        harmful = np.flatnonzero(mark > 1)
        episodes = np.searchsorted(offsets, harmful, side="right") - 1
        again = self._find_repeats(mark, ran, calls, harmful, offsets[episodes])
        kinds = pa.DictionaryArray.from_arrays(pa.array(mark[harmful] - 2, pa.int8()), _KINDS).cast(pa.string())
        found = pa.StructArray.from_arrays(
            [
                pa.array(harmful - offsets[episodes], pa.int32()),
                self._name_tools(calls[harmful]),
                kinds,
                pa.array(ran[harmful]),
                pa.array(again, pa.int32(), mask=again < 0),
            ],
            fields=list(HARM_FIELDS),
        )
        starts = np.concatenate(([0], np.cumsum(np.bincount(episodes, minlength=len(offsets) - 1))))
        return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), found)

    def _name_tools(self, calls: Ints) -> pa.Array:
        names = pa.array(list(self.table.tool_names), pa.string())
        return names.take(pa.array(np.frombuffer(self.table.tools, dtype=np.int64)[calls]))

    def _find_repeats(self, mark: Ints, ran: npt.NDArray[np.bool_], calls: Ints, harmful: Ints, first: Ints) -> Ints:
        """For each harmful call, return the index of the call that it only repeats, or -1.

        `first` is where the calls of its episode begin. Only calls to the same tool as the last one that ran are
        compared.
        """
        again = np.full(len(harmful), -1, dtype=np.int64)
        if not len(harmful):
            return again
        here = np.flatnonzero((mark > 0) & ran)
        before = np.searchsorted(here, harmful) - 1
        last = np.where(before < 0, -1, here[before]) if len(here) else before
        tools = np.frombuffer(self.table.tools, dtype=np.int64)
        alike = np.flatnonzero((last >= first) & (tools[calls[last]] == tools[calls[harmful]]))
        repeats = alike[self._are_repeats(last[alike], harmful[alike], calls)]
        again[repeats] = last[repeats] - first[repeats]
        return again

    def _are_repeats(self, before: Ints, now: Ints, calls: Ints) -> npt.NDArray[np.bool_]:
        """Whether calls only repeat the calls before them, which are to the same tools."""
        numbers = self.said.identify(np.concatenate((before, now))).reshape(2, -1)
        places = np.stack((before, now))
        arguments = _number_texts(numbers, places, lambda at: canonical_json(self.said.find_arguments(at)))
        failed = np.frombuffer(self.table.failed, dtype=np.int8)[calls[now]].astype(bool)
        same: npt.NDArray[np.bool_] = arguments[0] == arguments[1]
        asked = np.flatnonzero(same & ~failed)
        states = _number_texts(numbers[:, asked], places[:, asked], lambda at: shown_state(self.said.find_result(at)))
        same[asked] = (states[0] == states[1]) & (states[0] >= 0)
        return same


def _number_texts(numbers: Ints, places: Ints, read: Callable[[int], str | None]) -> Ints:
    """Return a number for what is read of each call: the same one for equal texts, and -1 for none.

    Calls with the same number in `numbers` say the same, so only one of them is read, at its place in `places`.
    """
    place_of = np.full(numbers.max(initial=-1) + 1, -1, dtype=np.int64)
    place_of[numbers] = places
    distinct = np.flatnonzero(place_of >= 0)
    known: dict[str, int] = {}
    texts = map(read, place_of[distinct].tolist())
    place_of[distinct] = [-1 if text is None else known.setdefault(text, len(known)) for text in texts]
    return place_of[numbers]


class _KernelRun:
    """Scores coded episodes with the kernel, task by task, and searches for what the kernel leaves to do."""

    def __init__(self, coders: Sequence[TaskCoder], coder_of: Ints, codes: Ints, offsets: Ints) -> None:
        self._codes, self._offsets, self._lengths = in_kernel(codes), in_kernel(offsets), np.diff(offsets)
        self._mark = in_kernel(np.zeros(len(codes), dtype=np.int64))
        self._out = in_kernel(np.zeros(len(coder_of) * kernel.WIDTH))
        self._searched: dict[int, Searched] = {}
        self._coders, self._coder_of = coders, coder_of
        longest = int(self._lengths.max(initial=0))
        self._x, self._harm, self._before = zeros(longest), zeros(longest), zeros(longest)

    def score(self) -> None:
        """Score all episodes."""
        few = len(self._coders) < 2**15  # then NumPy sorts without comparing
        order = np.argsort(self._coder_of.astype(np.int16) if few else self._coder_of, kind="stable")
        sorted_coders = self._coder_of[order]
        starts = np.flatnonzero(np.diff(sorted_coders, prepend=-1))
        for which in np.split(order, starts[1:]):
            self._score_task(self._coders[self._coder_of[which[0]]], which)
        for number in np.flatnonzero(self.table[:, 11]).tolist():
            self._searched[number] = self._search(self._coders[self._coder_of[number]], number)

    def _score_task(self, coder: TaskCoder, which: Ints) -> None:
        flat, start = coder.flat, coder.task.automaton.start
        work = Workspace(flat, int(self._lengths[which].max(initial=0)), coder.scoring)
        left = in_kernel(which)
        while len(left):
            place, done = kernel.score_episodes(
                flat.graph, coder.codes.rows, start, self._codes, self._offsets, left, work.options, self._x,
                self._harm, self._before, self._mark, work.place, work.columns, work.live, self._out,
            )  # fmt: skip
            left = left[done:]
            if place >= 0:
                coder.codes.fill(place)

    def _search(self, coder: TaskCoder, number: int) -> Searched:
        """Search for the scores of an episode that the kernel left to do."""
        automaton = coder.task.automaton
        first, last = int(self._offsets[number]), int(self._offsets[number + 1])
        n, end = kernel.condense(
            coder.codes.rows, self._codes, first, last, automaton.start, self._x, self._harm, self._before, self._mark,
            zeros(coder.flat.symbols + 1),
        )  # fmt: skip
        path = make_path(automaton, self._x[:n], self._harm[:n], self._before[:n], end, last - first)
        todo = int(self._out[number * kernel.WIDTH + 11])
        return Metrics(path, automaton).search(todo, coder.scoring)

    @property
    def table(self) -> npt.NDArray[np.float64]:
        """What the kernel wrote, a row for each episode."""
        return np.asarray(self._out, dtype=np.float64).reshape(len(self._coder_of), kernel.WIDTH)

    @property
    def mark(self) -> Ints:
        """What each call did: 0 for a self-loop, 1 for progress, 2 + k for harm of kind k."""
        return np.asarray(self._mark, dtype=np.int64)

    def columns(self) -> dict[str, Any]:
        """Return the scores as columns."""
        table = np.ascontiguousarray(self.table.T)
        found = {name: table[place] for name, place in _FLOATS.items()}
        lower, upper = table[1], table[1].copy()
        for number, searched in self._searched.items():
            if searched.pc is not None:
                found["pc"][number] = searched.pc
            if searched.pc_hlr is not None:
                found["pc_hlr"][number] = searched.pc_hlr
            if searched.pc_ktc is not None:
                lower[number], upper[number] = searched.pc_ktc.lower, searched.pc_ktc.upper
        columns = {name: pa.array(values, mask=values < 0) for name, values in found.items()}
        columns |= {"pc_ktc": pa.array(lower), "pc_ktc_lower": pa.array(lower), "pc_ktc_upper": pa.array(upper)}
        columns |= {name: _column(name, table[place]) for name, place in _NUMBERS.items()}
        which = pa.array(self._coder_of)
        columns["profile"] = pa.array([coder.profile for coder in self._coders], pa.string()).take(which)
        columns["options"] = pa.array([coder.options for coder in self._coders], pa.string()).take(which)
        columns["task"] = pa.array([coder.name for coder in self._coders], pa.string()).take(which)
        return columns


def in_kernel(values: Any) -> Any:
    """Return an array as the kernel works on it: as a list if it is plain Python, where lists are faster."""
    return values if arrays.COMPILED else values.tolist()


def _column(name: str, values: Any) -> pa.Array:
    """Return values as a column of scores. What the kernel computed as a number may be a truth value."""
    kind = SCORES.field(name).type
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values.astype(np.bool_ if kind == pa.bool_() else np.int32), kind)
    return pa.array(values, kind)
