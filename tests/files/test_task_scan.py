"""The index finds the ids that the parser finds, in every file that a person or a library may write."""

from __future__ import annotations

import ast
import json
import random
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from corepath import InputError, load_tasks
from corepath.files import tasks
from corepath.files.task_index import TaskIndex
from corepath.files.task_scan import scan
from tests.files.task_files import ids_of, problems_of_all, write
from tests.files.test_bad_tasks import WRONG_JSON, WRONG_YAML, remove_marks
from tests.strategies import texts

ROOT = Path(__file__).parents[2]
P = "procedure: a()\n"


def loaded_ids(file: Path) -> list[str] | None:
    """The ids of the tasks that the parser finds, or None if there are problems."""
    try:
        return list(load_tasks(file))
    except InputError:
        return None


# A file, and whether the scan alone must find its ids: otherwise it may ask the parser.
HOSTILE = {
    "plain": (f"id: a\n{P}", True),
    "a path": (f"id: bank/open-and_deposit.2\n{P}", True),
    "a comment with an id": (f"# id: b\nid: a # id: c\n{P}# id: d\n", True),
    "double quotes": (f'id: "bank: pay"\n{P}', True),
    "single quotes": (f"id: 'a # b'\n{P}", True),
    "escapes": (f'id: "b\\x61nk"\n{P}', False),
    "doubled quotes": (f"id: 'it''s'\n{P}", False),
    "a quoted key": (f'"id": a\n{P}', False),
    "an escaped key": (f'"i\\x64": a\nprompt: b\n{P}', False),
    "a key with a question mark": (f"? id\n: a\n{P}", False),
    "an anchor": (f"id: &x a\nprompt: *x\n{P}", False),
    "an alias": (f"prompt: &x a\nid: *x\n{P}", False),
    "a tag": (f"id: !!str 12\n{P}", False),
    "a number": (f"id: 007\n{P}", True),
    "a truth value": (f"id: yes\n{P}", True),
    "a date": (f"id: 2024-01-01\n{P}", True),
    "a time": (f"id: 12:30\n{P}", True),
    "two words": (f"id: open  account\n{P}", True),
    "words on two lines": (f"id: open\n  account\n{P}", False),
    "words with a blank line between": (f"id: open\n\n  account\n{P}", False),
    "a folded text": (f"id: >-\n  open\n  account\n{P}", False),
    "umlauts": (f"id: prüfung/größe\n{P}", True),
    "a byte order mark": (f"\ufeffid: a\n{P}", True),
    "Windows lines": (f"id: a\r\nprompt: |\r\n  id: b\r\n{P}", True),
    "old Mac lines": ("id: a\rprocedure: a()\r", False),
    "Unicode lines": ("prompt: b\u2028id: a\nprocedure: a()\n", False),
    "no line at the end": ("procedure: a()\nid: a", True),
    "last": (f"{P}id: a\n", True),
    "in the middle": (f"prompt: >\n  id: b\n\n  id: c\n\n{P}id: a\ntags:\n- id\n- 'id: b'\n", True),
    "twice": (f"id: a\nid: b\n{P}", False),
    "twice, once in quotes": (f"id: a\n{P}'id': b\n", False),
    "in nested mappings": (f"actions:\n  id: b()\nforbid:\n- call: id()\n  why: b\nid: a\n{P}", True),
    "in a quoted text without an indent": (f'prompt: "see\nid: b\n  below"\nid: a\n{P}', False),
    "in a quoted text without an indent, and as a quoted key": (f'prompt: "see\nid: b\n  below"\n"id": a\n{P}', False),
    "in a flow mapping without an indent": (f"actions: {{x: x(),\nid: b()}}\nid: a\n{P}", False),
    "a document's marker": (f"--- # one\nid: a\n{P}", False),
    "a bare marker": (f"# one\n---\n# two\nid: a\n{P}", True),
    "a directive": (f"%YAML 1.1\n---\nid: a\n{P}", False),
    "an end of a document": (f"id: a\n{P}...\n---\nid: b\n{P}", False),
    "two documents": (f"id: a\n{P}---\n{P}id: b\n", True),
    "documents with nothing between": (f"---\n---\nid: a\n{P}---\n# nothing\n---\nid: b\n{P}---\n", True),
    "a document and a list": (f"id: a\n{P}---\n- id: b\n  {P}- id: c\n  {P}", True),
    "a list": (f"- id: a\n  {P}- {P}  id: b\n", True),
    "a list with comments": (f"# x\n- id: a\n# - id: x\n  {P}\n  # it's\n- id: b\n  {P}", True),
    "a list of mappings on a line": ("- {id: a, procedure: a()}\n- {id: 'b', procedure: 'b(x=1)'}\n", True),
    "mappings on a line with two ids": ("- {id: a, procedure: a(), id: b}\n", False),
    "a mapping on a line": ("{id: a, procedure: a()} # } id: b\n", True),
    "a mapping on two lines": ('{id: a, procedure: a(),\n"id": b}\n', False),
    "an indented mapping on lines": (' {\nid: a\n# x\n , "procedure": a(), "id": b}\n', False),
    "a list with an indent": (f"  - id: a\n    {P}  - id: b\n    {P}", False),
    "a list with wide gaps": (f"-   id: a\n    {P}-\n  id: b\n  {P}", False),
    "a list with quotes that are open": (f'- id: a\n  prompt: "see\n- id: x\n  below"\n  {P}- id: b\n  {P}', False),
    "a list with open quotes twice": (f"- id: a\n  prompt: 'it''s\n- id: x\n  prompt: b'\n  {P}- id: b\n  {P}", False),
    "a list with escaped open quotes": (f'- id: a\n  prompt: "x\\"\n- id: x\n  prompt: b"\n  {P}', False),
    "a list with closed quotes": (f"- id: a\n  prompt: ' '\n  {P}- id: b\n  tags: [don't, \"x \"]\n  {P}", False),
    "a list with an anchor": (f"- id: a\n  prompt: &x hello\n  {P}- id: b\n  prompt: *x\n  {P}", False),
    "a list with ids in quoted texts": (f'- prompt: "see\n  id: b\n  below"\n  "id": a\n  {P}', False),
    "JSON": ('{"procedure": "a()", "id": "a"}', True),
    "JSON with nested ids": ('{"actions": {"id": "b()"}, "id": "a", "procedure": "a()"}', True),
    "JSON with escapes": ('{"i\\u0064": "\\ud83d\\ude00\\n\\/", "procedure": "a()"}', True),
    "JSON with a key twice": ('{"id": "a", "procedure": "a()", "id": "b"}', True),
    "JSON with a number": ('{"id": 12, "procedure": "a()"}', False),
    "a JSON list": ('[{"id": "a", "procedure": "a()"},\n {"procedure": "a()", "id": "b"}]\n', True),
    "a JSON list on a line": ('[{"id": "a", "procedure": "a()"}, {"id": "b", "procedure": "a()"}]', True),
    "a JSON list with a number": ('[{"id": "a", "procedure": "a()"}, {"procedure": "a()", "id": 1.0}]\n', False),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_the_index_finds_the_ids_that_the_parser_finds(tmp_path, case) -> None:
    text, quick = HOSTILE[case]
    for name in ("t.yaml", *(["t.json"] if "JSON" in case else [])):
        file = write(tmp_path, text, name)
        expected = loaded_ids(file)
        assert expected
        assert ids_of(file) == expected
        assert problems_of_all(file) == []
        assert [TaskIndex(file).build(id_).warnings for id_ in expected] == [
            one.warnings for one in load_tasks(file).values()
        ]
        parts = scan(text.removeprefix("\ufeff"), is_json=name == "t.json")
        assert not quick or [part.id for part in parts or ()] == expected


def texts_in_the_repository() -> set[str]:
    """Every text in the tests, docs and examples that may be a task file."""
    found = [path.read_text("utf-8") for place in ("examples", "docs", "tests", "src") for ending in ("yaml", "json")
             for path in (ROOT / place).rglob(f"*.{ending}")]  # fmt: skip
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        found += re.findall(r"^```\w*.*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for path in (ROOT / "tests").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        found += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found += [remove_marks(text)[0] for text, _ in (*WRONG_YAML.values(), *WRONG_JSON.values())]
    return {text for text in found if "procedure" in text and re.search(r"\bid['\"]?\s*:", text) and len(text) < 5000}


def test_the_index_finds_the_ids_in_every_task_file_of_the_repository(tmp_path) -> None:
    found = 0
    for text in sorted(texts_in_the_repository()):
        for name in ("t.yaml", "t.json") if text.lstrip().startswith(("{", "[")) else ("t.yaml",):
            file = write(tmp_path, text, name)
            expected = loaded_ids(file)
            if expected is None:
                assert problems_of_all(file), text
            else:
                assert ids_of(file) == expected, text
                found += 1
    assert found > 50


LINES = (
    "id: a", "id: 'b'", 'id: "c"', "id: d # x", "id:e", "id : f", '"id": g', "? id", ": h", "id: |", "id: &x i",
    "id: *x", "id: null", "id:", "id: a b", "id: a: b", "id: [j]", "id: {id: k}", 'id: "l\\x41"', "id: m''n", "id: -o",
    "id: p,", "{id: q, procedure: z}", "{procedure: 'z', id: r}", "{id: s, id: t}", "- ", "-", "---", "--- # c", "...",
    "# id: u", 'prompt: "foo', "prompt: 'foo", 'bar"', "bar'", "prompt: foo", "prompt: |", "prompt: it's", "tags: [a,",
    "b]", "}", "setup: {x: 1,", "tags:", "- a", "actions:", "pay: 'pay(x=\"1\")'", "procedure: a() & b()", "x: &x 1",
    "y: *x", "", "\tid: v", "\ufeffid: w", "\x85id: x", "\rid: y", "id: é", "id: '  '", "id: z \t", "don't 'quote",
    'say "hi',
)  # fmt: skip


@st.composite
def line_soups(draw: st.DrawFn) -> str:
    """Lines of task files in any order, with any indents, mostly in lists."""
    lines = st.tuples(st.sampled_from(["", "  ", "  ", "- ", "    "]), st.sampled_from(LINES)).map("".join)
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return end.join(draw(st.lists(lines, min_size=1, max_size=8))) + draw(st.sampled_from(["", end]))


def check_scan(text: str) -> bool:
    """Compare the scan of any YAML with what the parser says. Return whether the text is valid, with valid ids."""
    try:
        parsed = [
            one.data.get("id") if isinstance(one.data, dict) else None
            for one in tasks.read_text("t", text, is_json=False)
        ]
    except InputError:
        return False
    if not all(isinstance(id_, str) and id_ for id_ in parsed):
        return False
    scanned: list[str] = []
    for part in scan(text, is_json=False) or ():
        try:
            inside = tasks.read_text("t", text[part.start : part.end], is_json=False)
        except InputError:
            return True  # the index asks the parser for the whole file
        scanned += [one.data["id"] for one in inside] if part.id is None else [part.id]
    assert scanned in ([], parsed), text
    return True


@given(line_soups())
def test_the_scan_is_never_wrong_about_valid_yaml(text) -> None:
    check_scan(text)


def test_the_scan_is_never_wrong_about_many_lines_in_any_order() -> None:
    chance = random.Random(19)
    valid = 0
    for _ in range(3000):
        pieces = [chance.choice(["", "  ", "  ", "- "]) + chance.choice(LINES) for _ in range(chance.randint(1, 6))]
        valid += check_scan("\n".join(pieces) + "\n")
    assert valid > 50


@st.composite
def dumps(draw: st.DrawFn) -> tuple[str, str]:
    """The name and text of a task file that a library writes, in any of its styles."""
    pairs = draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=4, unique_by=lambda pair: pair[0]))
    records = [{"id": id_, "prompt": prompt, "tags": [prompt, "id: x"], "procedure": "a()"} for id_, prompt in pairs]
    by_name, utf8 = draw(st.booleans()), draw(st.booleans())
    form = draw(st.sampled_from(["json", "list", "documents"]))
    if form == "json":
        data = records if len(records) > 1 else records[0]
        return "t.json", json.dumps(
            data, sort_keys=by_name, ensure_ascii=not utf8, indent=draw(st.sampled_from([None, 1]))
        )
    flow, width = draw(st.sampled_from([None, False, True])), draw(st.sampled_from([20, 80, 10**9]))
    dump = yaml.safe_dump if form == "list" else yaml.safe_dump_all
    return "t.yaml", dump(records, sort_keys=by_name, default_flow_style=flow, width=width, allow_unicode=utf8)


@given(dumps())
def test_the_index_finds_the_ids_in_whatever_a_library_writes(tmp_path_factory, dumped) -> None:
    name, text = dumped
    file = write(tmp_path_factory.mktemp("t"), text, name)
    expected = loaded_ids(file)
    if expected is None:
        assert problems_of_all(file)
    else:
        assert ids_of(file) == expected
        assert problems_of_all(file) == []
