"""Decide from the evidence whether a tool reads, writes or is neutral.

The evidence, strongest first:

1. what a schema or a world declares,
2. the verb in the tool's name,
3. what runs show: reads that answer differently after the tool, how it answers when it is repeated, answers like `ok`,
4. the first verb of its description, which counts like a word in the name that is not sure.

A tool counts as a read only if nothing contradicts it: a write that counts as a read would be forgiven. Where the
evidence is weak or contradicts itself, the tool is unsure, and counts as a write until a person decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from corepath.authoring.tools.observations import Observations, Repeat, Usage
from corepath.authoring.tools.words import Hint, Kind, common_prefixes, read_description, read_name
from corepath.values import to_notation

_FEW: Final = 2
"""How many repeats with the same answer support that a tool reads."""
_SOME: Final = 3
"""How many reads that stay the same around a tool support that it reads."""
_RATIO: Final = 5
"""A tool changes reads if one in so many of them answers differently after it."""


@dataclass(frozen=True)
class Verdict:
    """A tool's kind and the evidence for it. If it is not `sure`, `kind` is a guess."""

    kind: Kind
    evidence: tuple[str, ...]
    sure: bool = True


@dataclass(frozen=True)
class Declared:
    """A kind that a source declares, and what declares it: `readOnlyHint`, or the decorator of a world."""

    kind: Kind
    by: str
    firm: bool = False
    """Whether nothing else counts. A world executes its tools, and a person's tool file is what was decided before."""


@dataclass
class Shown:
    """What runs show about one tool."""

    alike: int = 0
    other: int = 0
    refused: int = 0
    """How calls were answered that were repeated at once, with nothing between but reads."""
    followed: int = 0
    """How often a repeated call was answered differently after other tools were called."""
    kept: int = 0
    """How often a read was answered alike before and after the tool, with nothing else between."""
    changed: Counter[str] = field(default_factory=Counter)
    """The reads that were answered differently after it, with nothing else between."""

    @property
    def repeats(self) -> int:
        """How often a call was repeated at once."""
        return self.alike + self.other + self.refused

    @property
    def changes(self) -> bool:
        """Whether reads answer differently after the tool."""
        times = self.changed.total()
        return times > 0 and times * _RATIO >= times + self.kept

    @property
    def differs(self) -> bool:
        """Whether the tool answers differently, or fails, when it is repeated at once."""
        return 2 * (self.other + self.refused) >= self.repeats > 0


def judge(
    names: list[str], declared: Mapping[str, Declared], descriptions: Mapping[str, str], seen: Observations
) -> dict[str, Verdict]:
    """Decide the kind of each tool."""
    prefixes = common_prefixes(names)
    hints = {name: read_name(name, prefixes) for name in names}
    trusted = {name for name in names if _is_trusted(declared.get(name), hints[name])}
    shown = _summarise(seen.repeats, trusted)
    return {
        name: _judge(
            _Evidence(
                declared.get(name),
                hints[name],
                read_description(descriptions.get(name, ""), name),
                shown.get(name, Shown()),
                seen.tools.get(name, Usage()),
            )
        )
        for name in names
    }


def _is_trusted(declared: Declared | None, hint: Hint | None) -> bool:
    """Whether a tool is a read or neutral before the runs are looked at."""
    if declared is not None:
        doubted = hint is not None and hint.kind == "write" and not declared.firm
        return declared.kind != "write" and not doubted
    return hint is not None and hint.kind != "write" and hint.sure


def _summarise(repeats: Mapping[Repeat, int], trusted: set[str]) -> dict[str, Shown]:
    """Turn repeated calls into what they show about the repeated tool, and about the tools called between."""
    shown: dict[str, Shown] = {}
    for repeat, times in repeats.items():
        if not repeat.between:
            _count_answer(shown.setdefault(repeat.tool, Shown()), repeat, times)
    steady = {name for name, one in shown.items() if name in trusted and one.alike >= _FEW and one.alike == one.repeats}
    for repeat, times in repeats.items():
        if not repeat.between:
            continue
        writers = repeat.between - trusted
        if not writers and (repeat.answer == "alike" or repeat.tool not in steady):
            _count_answer(shown.setdefault(repeat.tool, Shown()), repeat, times)
        elif writers and repeat.answer == "other" and repeat.tool not in repeat.between:
            shown.setdefault(repeat.tool, Shown()).followed += times
        _count_effect(shown, repeat, times, trusted, steady)
    return shown


def _count_answer(shown: Shown, repeat: Repeat, times: int) -> None:
    match repeat.answer:
        case "alike":
            shown.alike += times
        case "other":
            shown.other += times
        case "refused":
            shown.refused += times


def _count_effect(
    shown: dict[str, Shown], repeat: Repeat, times: int, trusted: set[str], steady: Collection[str]
) -> None:
    """Count whether a read was answered differently after the only tool that can be the reason.

    Tools that count as reads are suspected only if nothing else was called, and if the read never changes by itself.
    """
    suspects = repeat.between - trusted or repeat.between
    is_witness = repeat.tool in (trusted if repeat.between - trusted else steady)
    if not is_witness or len(suspects) != 1 or repeat.tool in suspects or repeat.answer == "refused":
        return
    one = shown.setdefault(next(iter(suspects)), Shown())
    if repeat.answer == "alike":
        one.kept += times
    else:
        one.changed[repeat.tool] += times


@dataclass(frozen=True)
class _Evidence:
    """All that is known about one tool."""

    declared: Declared | None
    name: Hint | None
    description: Hint | None
    shown: Shown
    usage: Usage

    @property
    def acknowledges(self) -> bool:
        """Whether the tool never answers more than that something was done."""
        return 0 < self.usage.answers == self.usage.acknowledged

    @property
    def answers_alike(self) -> bool:
        """Whether the tool answers alike whenever it is repeated, and with more than that something was done."""
        shown = self.shown
        return shown.alike >= _FEW and shown.alike == shown.repeats and not self.usage.acknowledged

    @property
    def leaves_reads(self) -> bool:
        """Whether reads always answer alike before and after the tool."""
        return self.shown.kept >= _SOME and not self.shown.changed

    @property
    def follows(self) -> bool:
        """Whether the tool answers differently only after other tools were called, as reads do."""
        return self.answers_alike and self.shown.followed > 0

    @property
    def writes(self) -> bool:
        """Whether runs show that the tool writes."""
        refused = 2 * self.shown.refused >= self.shown.repeats > 0 and self.shown.refused > 0
        return self.shown.changes or refused or self.acknowledges

    @property
    def described_as_read(self) -> bool:
        """Whether the description begins with a verb that reads."""
        return self.description is not None and self.description.kind == "read"

    @property
    def described_as_write(self) -> bool:
        """Whether the description begins with a verb that changes something."""
        return self.description is not None and self.description.kind == "write"

    @property
    def reads(self) -> bool:
        """Whether the evidence is enough for a tool whose name says nothing, or is not sure."""
        if self.name is not None:
            return self.answers_alike or self.described_as_read
        return (self.described_as_read and self.answers_alike) or (self.follows and self.leaves_reads)

    @property
    def contradicts_read(self) -> bool:
        """Whether runs or the description contradict that the tool reads."""
        return self.writes or self.shown.differs or self.described_as_write

    def lines(self) -> Iterator[str]:
        """Yield the evidence in words, strongest first."""
        if self.declared is not None:
            yield self.declared.by
            if self.declared.firm:
                return
        yield "name says nothing" if self.name is None else f"name says {self.name.word}"
        yield from self._shown()
        if self.description is not None:
            yield f'description says "{self.description.word}"'

    def _shown(self) -> Iterator[str]:
        shown = self.shown
        if shown.changed:
            read, _ = min(shown.changed.items(), key=lambda item: (-item[1], item[0]))
            times = shown.changed.total()
            yield f"{to_notation(read)[1:-1]} answers differently after it, {times:,} of {times + shown.kept:,} times"
        elif shown.kept:
            yield f"reads answer alike after it, {shown.kept:,} of {shown.kept:,} times"
        if shown.refused:
            yield f"fails when repeated, {shown.refused:,} of {shown.repeats:,} times"
        if shown.repeats and not (shown.refused and not shown.alike):
            yield f"same answer in {shown.alike:,} of {shown.repeats:,} repeats"
        if self.follows:
            yield "another answer only after other calls"
        if self.acknowledges:
            yield f"answers no more than {to_notation(self.usage.example)}"


def _judge(evidence: _Evidence) -> Verdict:
    kind, sure = _decide(evidence)
    return Verdict(kind, tuple(evidence.lines()), sure)


def _decide(evidence: _Evidence) -> tuple[Kind, bool]:
    """Return the tool's kind, and whether it is sure."""
    declared, name = evidence.declared, evidence.name
    if declared is not None:
        return declared.kind, declared.firm or _agrees(declared, evidence)
    if name is not None and name.kind == "neutral":
        return "neutral", not evidence.shown.changes
    if name is not None and name.kind == "write":
        harmless = evidence.answers_alike and evidence.leaves_reads and not evidence.writes
        return ("read", False) if harmless else ("write", True)
    if name is not None and name.sure:
        return "read", not evidence.contradicts_read
    if evidence.writes or evidence.described_as_write:
        return "write", True
    if evidence.shown.differs:
        return "write", False
    seems = name is not None or evidence.described_as_read or evidence.answers_alike or evidence.leaves_reads
    return "read" if seems else "write", evidence.reads


def _agrees(declared: Declared, evidence: _Evidence) -> bool:
    """Whether nothing contradicts a schema's hint. A tool that is declared to write may have any name."""
    name = evidence.name
    if declared.kind == "write":
        return name is None or name.kind != "neutral"
    return not (evidence.writes or evidence.shown.differs or (name is not None and name.kind == "write"))
