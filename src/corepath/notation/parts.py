"""The parts of a procedure, each with a function that puts another part in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from corepath.notation.procedure import AnyOrder, Choice, Procedure, Repeat, Seq, any_order, choice, repeat, seq

Rebuild = Callable[[Procedure], Procedure]
"""A function that puts a part into its place in a procedure."""


def walk_parts(procedure: Procedure) -> Iterator[tuple[Procedure, Rebuild]]:
    """Yield every part of a procedure, the whole first, with a function that puts another part in its place."""
    yield procedure, lambda other: other
    match procedure:
        case Seq(parts) | AnyOrder(parts) | Choice(parts):
            make = seq if isinstance(procedure, Seq) else any_order if isinstance(procedure, AnyOrder) else choice
            for index, part in enumerate(parts):
                for inner, rebuild in walk_parts(part):
                    yield inner, _in_place(make, parts, index, rebuild)
        case Repeat(inner_step, least, most):
            for inner, rebuild in walk_parts(inner_step):
                yield inner, lambda other, rebuild=rebuild: repeat(rebuild(other), least, most)  # type: ignore[misc]


def is_nullable(procedure: Procedure) -> bool:
    """Whether a procedure may be left out as a whole."""
    match procedure:
        case Seq(parts) | AnyOrder(parts):
            return all(map(is_nullable, parts))
        case Choice(parts):
            return any(map(is_nullable, parts))
        case Repeat(step, least):
            return least == 0 or is_nullable(step)
    return False


def first_steps(procedure: Procedure) -> Iterator[Procedure]:
    """Yield the actions with which a procedure may begin."""
    match procedure:
        case Seq(parts):
            for part in parts:
                yield from first_steps(part)
                if not is_nullable(part):
                    break
        case AnyOrder(parts) | Choice(parts):
            for part in parts:
                yield from first_steps(part)
        case Repeat(step, _, most):
            yield from first_steps(step) if most else ()
        case _:
            yield procedure


def replace_leaves(procedure: Procedure, change: Rebuild) -> Procedure:
    """Return the procedure with every action changed."""
    match procedure:
        case Seq(parts):
            return seq(*(replace_leaves(part, change) for part in parts))
        case AnyOrder(parts):
            return any_order(*(replace_leaves(part, change) for part in parts))
        case Choice(parts):
            return choice(*(replace_leaves(part, change) for part in parts))
        case Repeat(step, least, most):
            return repeat(replace_leaves(step, change), least, most)
    return change(procedure)


def _in_place(make: Callable[..., Procedure], parts: Sequence[Procedure], index: int, rebuild: Rebuild) -> Rebuild:
    return lambda other: make(*parts[:index], rebuild(other), *parts[index + 1 :])
