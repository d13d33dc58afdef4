"""How counts, lists and numbers of calls are written in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

MOST_LISTED: Final = 3


def cut(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(parts: Sequence[str], joint: str = "and", most: int = MOST_LISTED) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    if len(parts) > most + 1:
        return f"{', '.join(parts[:most])} {joint} {len(parts) - most} more"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {joint} {parts[-1]}" if parts else ""


def calls_text(indices: Iterable[int]) -> str:
    """`call 3`, `calls 3 and 4`, `calls 2, 4–7 and 9`: as people count, from 1."""
    runs: list[list[int]] = []
    numbers = [index + 1 for index in indices]
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    pieces: list[str] = []
    for run in runs:
        pieces += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return f"{'call' if len(numbers) == 1 else 'calls'} {listed(pieces, most=8)}"


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def tallied(counts: Mapping[str, int]) -> str:
    """`get_time (3 times), list_inbox`: names with how often, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return listed([name if count == 1 else f"{name} ({times(count)})" for name, count in ordered])


def stopped_text(text: str) -> str:
    """The text with a full stop."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def capital(text: str) -> str:
    """The text with a capital first; not for one that begins with a tool's name."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """The text with a capital first and a full stop."""
    return stopped_text(capital(text))
