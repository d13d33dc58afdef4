"""What the mock model of `inspect_eval.py` says. It has its own file because Inspect is slow to import."""

from __future__ import annotations

from typing import Any

UNREADABLE = "Error parsing the following tool call arguments:\n\n{x: 1\n\nError details: bad"
TURNS: dict[str, list[tuple[str, list[tuple[Any, ...]]]]] = {
    "adds": [
        ("I add.", [("a1", "add", {"x": 1, "y": 2}), ("a2", "add", {"x": 60, "y": 2})]),
        ("", [("a3", "nope", {"x": 1}), ("a4", "add", {"x": 101, "y": 2})]),
        ("", [("a5", "add", {}, UNREADABLE)]),
        ("It is 3.", []),
    ],
    "submits": [("", [("b1", "add", {"x": 1, "y": 2})]), ("So:", [("b2", "submit", {"answer": "3"})])],
    "breaks": [("", [("c1", "add", {"x": 1, "y": 2})]), ("", [("c2", "add", {"x": -1, "y": 2})])],
    "is cut": [("", [("d1", "add", {"x": 1, "y": 2})]), ("", [("d2", "add", {"x": 3, "y": 2})])],
}
