"""Build sentences from lists, counts and call numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

MOST_LISTED: Final = 3
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def cut(text: str, most: int) -> str:
    """Shorten `text` to at most `most` characters, if possible between two words."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most * 2 // 3, most)
    return f"{text[: most - 1 if space < 0 else space].rstrip(' ,;:')}…"


def join(parts: Sequence[str], joint: str = "and", most: int = MOST_LISTED) -> str:
    """Join parts as in `a, b and c`, or as in `a, b, c and 4 more` if there are too many."""
    if len(parts) > most + 1:
        return f"{', '.join(parts[:most])} {joint} {len(parts) - most} more"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {joint} {parts[-1]}" if parts else ""


def join_clauses(clauses: Sequence[str], most: int) -> str:
    """Join clauses with semicolons. If there are more than `most`, the last ones become one clause."""
    *others, last = clauses[most - 1 :] or [""]
    parts = [*clauses[: most - 1], f"{', '.join(others)}, and {last}" if others else last]
    return "; ".join(part for part in parts if part)


def calls_text(indices: Iterable[int]) -> str:
    """Name calls by their numbers, counted from 1, e.g. `call 3`, `calls 3 and 4` or `calls 2, 4–7 and 9`."""
    runs: list[list[int]] = []
    numbers = sorted(index + 1 for index in indices)
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    pieces: list[str] = []
    for run in runs:
        pieces += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return f"{'call' if len(numbers) == 1 else 'calls'} {join(pieces, most=8)}"


def say_of_calls(indices: Sequence[int], what: str, be: tuple[str, str] = ("was", "were")) -> str:
    """Say something of calls, e.g. `call 3 was refused` or `calls 3 and 4 were refused`."""
    return f"{calls_text(indices)} {be[len(indices) > 1]} {what}"


_PLURALS: Final = {"was": "were", "is": "are", "has": "have"}


def say_of_several(predicate: str) -> str:
    """Put a predicate such as `was not expected` into the plural. Return an empty string if that is not so simple."""
    verb, _, rest = predicate.partition(" ")
    return f"{_PLURALS[verb]} {rest}" if verb in _PLURALS else ""


def number_text(number: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def times_text(count: int) -> str:
    """Say how often something happened: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def tally_text(counts: Mapping[str, int]) -> str:
    """List names with their counts, most frequent first, e.g. `get_time (3 times) and list_inbox`."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return join([name if count == 1 else f"{name} ({times_text(count)})" for name, count in ordered])


def add_full_stop(text: str) -> str:
    """End `text` with a full stop, unless it already ends a sentence."""
    return text if text.endswith((".", "?", "!", '."', '?"', '!"')) else f"{text}."


def capitalise(text: str) -> str:
    """Capitalise the first letter. Do not use this for text that starts with a tool's name."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """Capitalise the first letter of `text` and end it with a full stop."""
    return add_full_stop(capitalise(text))
