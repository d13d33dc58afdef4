"""The JSON Schemas accept and reject what the readers do."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from corepath import (
    InputError,
    load_episodes,
    load_task,
)
from corepath.files.schema import schema

BANK = Path(__file__).parents[2] / "examples" / "bank"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", ["task", "episode"])
def test_the_schemas_are_schemas(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_the_schemas_take_the_examples():

    for file in sorted((BANK / "tasks").iterdir()):
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema("task"))
    for line in (BANK / "episodes.jsonl").read_text(encoding="utf-8").splitlines():
        jsonschema.validate(json.loads(line), schema("episode"))


GOOD = {"id": "a", "procedure": "a()"}
WRONG_TASKS = [
    {"procedure": "a()"},
    {"id": "a"},
    {**GOOD, "id": ""},
    {**GOOD, "colour": "red"},
    {**GOOD, "version": 2},
    {**GOOD, "unlisted": "harmful"},
    {**GOOD, "reads": "get()"},
    {**GOOD, "actions": ["a()"]},
    {**GOOD, "actions": None},
    {**GOOD, "forbid": [{"severity": "high"}]},
    {**GOOD, "forbid": [{"call": "a()", "severity": "awful"}]},
    {**GOOD, "start": "q0", "accept": ["q0"], "transitions": {}},
    {"id": "a", "start": "q0", "transitions": {"q0": {"a": "q1"}}},
]
WRONG_EPISODES = [
    {"calls": []},
    {"task": "t"},
    {"task": 3, "calls": []},
    {"task": "t", "calls": {}},
    {"task": "t", "calls": [{"arguments": {}}]},
    {"task": "t", "calls": [{"tool": "a"}]},
    {"task": "t", "calls": [{"tool": 1, "arguments": {}}]},
    {"task": "t", "calls": [], "version": 2},
    {"task": "t", "calls": [], "epoch": "first"},
    {"task": "t", "calls": [], "params": []},
    [],
]


@pytest.mark.parametrize("content", WRONG_TASKS, ids=json.dumps)
def test_the_schema_and_the_reader_refuse_the_same_tasks(tmp_path, content):
    assert not jsonschema.Draft202012Validator(schema("task")).is_valid(content)
    with pytest.raises(InputError):
        load_task(write(tmp_path, "a.json", json.dumps(content)))


@pytest.mark.parametrize("content", WRONG_EPISODES, ids=json.dumps)
def test_the_schema_and_the_reader_refuse_the_same_episodes(tmp_path, content):
    assert not jsonschema.Draft202012Validator(schema("episode")).is_valid(content)
    with pytest.raises(InputError):
        load_episodes(write(tmp_path, "e.jsonl", json.dumps(content)))
