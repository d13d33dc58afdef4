"""A file of one kind that is given where another is wanted is named."""

from pathlib import Path

import pytest

from corepath import load_tasks
from corepath.errors import InputError
from corepath.files.rules import load_rules
from corepath.files.task_index import TaskIndex
from corepath.files.tool_file import load_tools

TASK = "id: a\nprocedure: pay()\nreads: ['get_*(...)']\n"
RULES = "version: 1\nrules: [never pay(...)]\ntools: [pay]\n"
TOOLS = "version: 1\nreads: [get_*]\nunsure: [pay]\ntools: [pay]\n"


@pytest.mark.parametrize(
    ("text", "load", "message"),
    [
        (RULES, load_tasks, "this is a rule file, for --rules, and not a task file"),
        (TOOLS, load_tasks, "this is a tool file, for --tools, and not a task file"),
        (TOOLS, lambda path: TaskIndex(path).entries(), "this is a tool file, for --tools, and not a task file"),
        (TASK, load_rules, "this is a task file, for --tasks, and not a rule file"),
        (TOOLS, load_rules, "this is a tool file, for --tools, and not a rule file"),
        (TASK, load_tools, "this is a task file, for --tasks, and not a tool file"),
        (RULES, load_tools, "this is a rule file, for --rules, and not a tool file"),
    ],
)
def test_a_file_of_another_kind_is_named(text, load, message, tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(InputError) as raised:
        load(tmp_path / "file.yaml")
    assert [one.message for one in raised.value.problems] == [message]


@pytest.mark.parametrize(
    ("text", "load", "message"),
    [
        ("prompt: Pay.\nprocedur: pay()\n", load_tasks, "no field 'procedur'; did you mean 'procedure'?"),
        ("id: a\nprocedure: pay()\nrules: ['get_*(...)']\n", load_tasks, "no field 'rules'; did you mean 'reads'?"),
        ("rule: [never pay(...)]\n", load_rules, "no field 'rule'; did you mean 'rules'?"),
        ("id: shop\nrules: [never pay(...)]\n", load_rules, "no field 'id'"),
        ("read: [get_*]\n", load_tools, "no field 'read'; did you mean 'reads'?"),
    ],
)
def test_a_misspelt_field_is_named_as_before(text, load, message, tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        load(tmp_path / "file.yaml")
