"""Log formats are not confused with each other or with conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corepath.importers.reading import Sample
from corepath.importers.registry import load_format, recognise_format

from . import test_inspect_logs, test_mcp, test_openinference, test_otel
from .conversations import ALL
from .damage import write
from .spans_by_hand import sent

LOGS: dict[str, Any] = {
    "otel": sent(*test_otel.trace()),
    "openinference": sent(*test_openinference.trace()),
    "inspect": test_inspect_logs.log(test_inspect_logs.model(text="Yes.")),
    "mcp": test_mcp.SESSION,
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_are_told_apart_from_each_other_and_from_conversations(name: str, tmp_path: Path) -> None:
    recognise = load_format(name).recognise
    assert recognise(Sample(write(tmp_path, LOGS[name], name="own.json"))) is None
    others = {**{other: record for other, (_, record, _) in ALL.items()}, **LOGS}
    for other, record in others.items():
        if other != name:
            assert recognise(Sample(write(tmp_path, record, name="other.json"))), f"{name} takes a file of {other}"
    for file in ("one.json", "one.jsonl", "one.txt"):
        assert recognise_format(write(tmp_path, LOGS[name], name=file)).name == name
