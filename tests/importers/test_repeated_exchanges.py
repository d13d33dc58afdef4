"""Which exchanges of a file are skipped since a later one repeats them, against the definition."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from corepath.importers import import_trace

from .damage import good

TEXTS = ("a", "b", "b" * 200, "b" * 99 + "a" + "b" * 100)
"""Few texts, of which two differ only inside."""


def random_conversations(chance: random.Random) -> list[list[str]]:
    """Conversations that begin alike, each with all its longer and shorter forms, mixed."""
    grown: list[list[str]] = []
    for _ in range(chance.randint(1, 4)):
        whole = [chance.choice(TEXTS[: chance.choice((1, 4))]) for _ in range(chance.randint(1, 10))]
        shared = chance.choice(grown)[: chance.randint(0, 8)] if grown else []
        whole = shared + whole
        grown += [whole[:end] for end in range(1, len(whole)) if chance.random() < 0.5] + [whole]
    if chance.random() < 0.5:
        chance.shuffle(grown)
    return grown


def find_last(conversations: list[list[str]]) -> list[list[str]]:
    """Return the conversations that no later one repeats. A later one repeats at most one copy of each start."""
    waiting: list[list[str]] = []
    for one in conversations:
        for end in range(1, len(one)):
            starts = [place for place, other in enumerate(waiting) if other == one[:end]]
            if starts:
                del waiting[starts[-1]]
        waiting.append(one)
    return waiting


def exchange(texts: list[str]) -> dict[str, Any]:
    messages = [{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)]
    return {"request": {"model": "m", "messages": messages[:-1]}, "response": {"choices": [{"message": messages[-1]}]}}


@pytest.mark.parametrize("as_lines", [True, False])
def test_an_exchange_is_skipped_if_and_only_if_a_later_one_repeats_it(
    as_lines: bool, tmp_path: Path, times: int
) -> None:
    file = tmp_path / "trace.jsonl"
    for seed in range(300 * times):
        conversations = random_conversations(random.Random(seed))
        records = list(map(exchange, conversations))
        file.write_text("\n".join(map(json.dumps, records)) if as_lines else json.dumps(records), encoding="utf-8")
        found = [[message.content for message in one.messages] for one in good(import_trace(file, "openai"))]
        assert found == find_last(conversations), seed
