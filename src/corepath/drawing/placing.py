"""Find the places in a drawing as lanes that a path goes through, and compare lanes with their automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.drawing.blocks import NOTHING, Block, Form, repeat

MOST_TRIES: Final = 20_000
"""The most steps to try while looking for the places of one path."""
MOST_PAIRS: Final = 20_000
"""The most pairs of states to visit in the comparison of lanes with an automaton."""

Next = Iterator[tuple[Block, Block]]
"""The steps with which a block can begin, each with what remains of the block."""


def begin(block: Block) -> Next:
    """Yield the steps with which a block can begin, and what remains of the block after each."""
    if block.form is Form.STEP:
        yield block, NOTHING
    else:
        yield from _BEGIN[block.form](block)


def _begin_seq(block: Block) -> Next:
    for number, part in enumerate(block.parts):
        for step, rest in begin(part):
            yield step, _seq(rest, *block.parts[number + 1 :])
        if not part.can_be_skipped:
            return


def _begin_any_order(block: Block) -> Next:
    """Yield the steps of all parts, or those of the part that must not be interrupted now."""
    begun = next((number for number, part in enumerate(block.parts) if _is_begun(part)), None)
    for number, part in enumerate(block.parts):
        parts = block.parts
        if begun is not None and number != begun:
            closed = _close(parts[begun])
            if closed is None:
                continue
            parts = (*parts[:begun], closed, *parts[begun + 1 :])
        for step, rest in begin(part):
            left = [one for one in (*parts[:number], rest, *parts[number + 1 :]) if one != NOTHING]
            yield step, left[0] if len(left) == 1 else replace(block, parts=tuple(left)) if left else NOTHING


def _begin_partial_order(block: Block) -> Next:
    for number, part in enumerate(block.parts):
        if any(head == number and block.parts[tail] != NOTHING for tail, head in block.links):
            continue
        for step, rest in begin(part):
            left = (*block.parts[:number], rest, *block.parts[number + 1 :])
            yield step, replace(block, parts=left) if any(one != NOTHING for one in left) else NOTHING


def _begin_one_by_one(block: Block) -> Next:
    for number, part in enumerate(block.parts):
        others = block.parts[:number] + block.parts[number + 1 :]
        for step, rest in begin(part):
            yield step, _seq(rest, replace(block, parts=others) if len(others) > 1 else others[0])


def _begin_choice(block: Block) -> Next:
    for part in block.parts:
        yield from begin(part)


def _begin_repeat(block: Block) -> Next:
    again = _once_less(block)
    for step, rest in begin(block.parts[0]):
        yield step, _seq(rest, again)
    if block.parts[0].can_be_skipped and again.parts:
        yield from begin(again)


def _begin_unbroken(block: Block) -> Next:
    for step, rest in begin(block.parts[0]):
        yield step, NOTHING if rest == NOTHING else Block(Form.BEGUN, (rest,))


_BEGIN: Final[Mapping[Form, Callable[[Block], Next]]] = {
    Form.SEQ: _begin_seq,
    Form.ANY_ORDER: _begin_any_order,
    Form.ONE_BY_ONE: _begin_one_by_one,
    Form.PARTIAL_ORDER: _begin_partial_order,
    Form.CHOICE: _begin_choice,
    Form.REPEAT: _begin_repeat,
    Form.UNBROKEN: _begin_unbroken,
    Form.BEGUN: _begin_unbroken,
}


def _once_less(block: Block) -> Block:
    """Return what remains of a repetition after one time."""
    least, most = max(0, block.least - 1), block.most - 1
    if len(block.parts) == 1:
        return repeat(block.parts[0], least, most) if most else NOTHING
    return Block(Form.REPEAT, block.parts[1:], least=least, most=most)


def _seq(*parts: Block) -> Block:
    flat: list[Block] = []
    for part in parts:
        flat.extend(part.parts if part.form is Form.SEQ else (part,))
    return flat[0] if len(flat) == 1 else Block(Form.SEQ, tuple(flat)) if flat else NOTHING


def _is_begun(block: Block) -> bool:
    if block.form is Form.BEGUN:
        return True
    if block.form is Form.SEQ:
        return bool(block.parts) and _is_begun(block.parts[0])
    return block.form is Form.ANY_ORDER and any(map(_is_begun, block.parts))


def _close(block: Block) -> Block | None:
    """Return the block without the rest of its unbroken part, or None if that rest must be done."""
    if block.form is Form.BEGUN:
        return NOTHING if block.can_be_skipped else None
    if block.form is Form.SEQ:
        first = _close(block.parts[0])
        return None if first is None else _seq(first, *block.parts[1:])
    parts = [_close(part) if _is_begun(part) else part for part in block.parts]
    return None if None in parts else replace(block, parts=tuple(part for part in parts if part is not None))


# Paths


@dataclass
class Places:
    """The places that paths go through, for one block. Places of equal paths are looked up once."""

    block: Block
    _known: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def of(self, symbols: Sequence[int]) -> tuple[int, ...]:
        """Return the place of each step of a path that makes progress only.

        Where an action stands in several places, the whole path decides which of them is meant. A path that the block
        does not allow gets places for as many steps as possible.
        """
        path = tuple(symbols)
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: tuple[int, ...]) -> tuple[int, ...]:
        """Search depth-first for places, trying each pair of what is done and what remains once."""
        found: list[int] = []
        best: tuple[int, ...] = ()
        dead: set[tuple[int, Block]] = set()
        waiting = [begin(self.block)]
        tries = 0
        while waiting and len(found) < len(path) and tries < MOST_TRIES:
            tries += 1
            for step, rest in waiting[-1]:
                if step.symbol == path[len(found)] and (len(found), rest) not in dead:
                    dead.add((len(found), rest))
                    found.append(step.place)
                    best = max(best, tuple(found), key=len)
                    waiting.append(begin(rest))
                    break
            else:
                waiting.pop()
                if found:
                    found.pop()
        return best


# Comparison


def allows_the_same(block: Block, automaton: Automaton) -> bool:
    """Return True if a block allows exactly the paths of progress that the automaton accepts.

    Returns False too if there are too many states to compare.
    """
    start = (automaton.start, frozenset((block,)))
    seen, waiting = {start}, [start]
    while waiting:
        state, rests = waiting.pop()
        if (state in automaton.accepting) != any(rest.can_be_skipped for rest in rests):
            return False
        after: dict[int, set[Block]] = {}
        for rest in rests:
            for step, left in begin(rest):
                after.setdefault(step.symbol, set()).add(left)
        if after.keys() != set(automaton.due(state)):
            return False
        for symbol, left_over in after.items():
            pair = (automaton.delta[state][symbol], frozenset(left_over))
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
        if len(seen) > MOST_PAIRS:
            return False
    return True
