"""Rules that a model drafts: what it is told, how its answer is read, and the file that is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from corepath.authoring.draft import NOTATION, Draft, find_yaml, make_examples
from corepath.errors import InputError
from corepath.files.rules import load_rules
from corepath.files.tool_list import ListedTool, load_tool_list
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED
from corepath.rules.parser import parse_rule
from corepath.rules.witness import find_broken, find_kept

POLICY = """\
# Refunds
- **Check** the order before you refund it.
- Never delete an account.
"""
TOOLS = (
    ListedTool(Tool("refund", {"order": REQUIRED, "amount": REQUIRED}), "Refund\nan order."),
    ListedTool(Tool("check_order", {"order": REQUIRED})),
    ListedTool(Tool("delete_account")),
)
REFUND = "refund(order=$o, ...) requires check_order(order=$o, ...)"


def draft(*answers: str) -> Draft:
    made = Draft(POLICY, TOOLS)
    for answer in answers:
        made.add(answer)
    return made


def rules(made: Draft) -> list[str]:
    return list(map(str, made.rules))


def test_every_sentence_and_pattern_of_the_notation_that_models_are_told_is_a_rule() -> None:
    lines = [re.split(r" {3,}", line[2:])[0].strip() for line in NOTATION.splitlines() if line.startswith("  ")]
    sentences = [line for line in lines if re.match(r"A |after |never |at |sum\(", line)]
    patterns = [
        line.split("  ")[0] for line in lines if re.match(r"(failed )?[a-z_*]+\(", line) and line not in sentences
    ]
    assert (len(sentences), len(patterns)) == (10, 9)
    for text in sentences:
        parse_rule(re.sub(r"\b([ABC])\b", r"\1(...)", text))
    for text in patterns:
        parse_rule(f"never {text}")


def test_the_model_is_told_the_tools_and_the_policy() -> None:
    told = Draft(POLICY, TOOLS).ask()
    assert "- refund(order, amount): Refund an order.\n- check_order(order)\n- delete_account\n" in told
    assert told.endswith("- Never delete an account.")


@pytest.mark.parametrize(
    "answer",
    [
        f"rules:\n  - rule: '{REFUND}'\n    because: x",
        f"rules:\n- {REFUND}",
        f"Sure:\n```yaml\nrules:\n  - {REFUND}   # because: x\n```\nThat is all.",
        f"First:\n```\nnot this\n```\n~~~yml\nrules:\n  - rule: >-\n      {REFUND}\n~~~",
        f"rules: ['{REFUND}']",
        f'{{"rules": [{{"rule": "{REFUND}"}}]}}',
    ],
)
def test_a_rule_file_is_found_in_an_answer(answer: str) -> None:
    assert rules(draft(answer)) == [REFUND]


def test_a_rule_with_a_result_need_not_be_quoted() -> None:
    made = draft("rules:\n  - refund(...) requires check_order(...) -> {ok: true}\n  - never delete_*(...)\n")
    assert rules(made) == ["refund(...) requires check_order(...) -> {ok: true, ...}", "never delete_*(...)"]


def test_bad_rules_are_sent_back_and_corrected() -> None:
    made = draft(
        f"rules:\n  - rule: '{REFUND}'\n  - never delte_account(...)\n  - never refund(ordr=1, ...)\n  - be kind\n"
    )
    assert rules(made) == [REFUND]
    errors = [error for one in made.bad for error in one.errors]
    assert errors[0] == "no tool 'delte_account'; did you mean 'delete_account'?"
    assert errors[1] == "tool 'refund' has no argument 'ordr'; did you mean 'order'?"
    assert all(one.text in made.ask_again() and one.errors[0] in made.ask_again() for one in made.bad)
    made.add("rules:\n  - never delete_account(...)\n  - never refund(order=1, ...)\n  - be very kind\n")
    assert rules(made) == [REFUND, "never delete_account(...)", "never refund(order=1, ...)"]
    assert [one.text for one in made.bad] == ["be very kind"]


@pytest.mark.parametrize("second", ["no", "rules:\n  - never refund(...)\n", "rules: [\n"])
def test_bad_rules_that_are_not_all_corrected_stay_bad(second: str) -> None:
    made = draft("rules:\n  - be kind\n  - be brief\n", second)
    assert {"be kind", "be brief"} <= {one.text for one in made.bad}


@pytest.mark.parametrize("answer", ["", "I cannot do that.", "rules: []", "rules: [", "- a\n- b", "rule: x", "\ud800"])
def test_an_answer_without_rules_is_bad_as_a_whole(answer: str) -> None:
    made = draft(answer)
    assert made.rules == []
    assert len(made.bad) == 1
    assert made.bad[0].errors


@pytest.mark.parametrize(
    ("because", "is_quoted"),
    [
        ("Check the order before you refund it.", True),
        ("check the order\n  before you refund it", True),
        ("Orders are checked.", False),
        ("", False),
    ],
)
def test_a_reason_that_is_not_in_the_policy_is_a_warning(because: str, is_quoted: bool) -> None:
    made = draft(json.dumps({"rules": [{"rule": REFUND, "because": because}]}))
    assert rules(made) == [REFUND]
    assert any("no sentence of the policy" in one for one in made.warnings) is not is_quoted


def test_the_file_can_be_loaded_and_shows_examples(tmp_path: Path) -> None:
    answer = {
        "groups": {"write": ["refund", "delete_*"]},
        "rules": [
            {"rule": REFUND, "because": 'Say "no": # always\nand ever', "severity": "high"},
            {"rule": "never write(...) -> {ok: true}", "attempted": False},
            "be kind",
        ],
    }
    made = draft(json.dumps(answer))
    examples = make_examples(made.rules, *([find(rule) for rule in made.rules] for find in (find_kept, find_broken)))
    path = tmp_path / "rules.yaml"
    path.write_text(made.write(examples, "Drafted.\nHere."), encoding="utf-8")
    loaded = load_rules(path)
    assert list(loaded.rules) == made.rules
    assert [rule.because for rule in loaded.rules] == ['Say "no": # always\nand ever', ""]
    assert loaded.tools == {"refund", "check_order", "delete_account"}
    text = path.read_text(encoding="utf-8")
    assert '  # allowed: check_order(order="A") → refund(order="A")\n  # refused: refund(order="A")\n' in text
    assert '# Left out: "be kind"\n' in text
    assert text.startswith("# Drafted. Here.\n")


def test_a_fence_that_is_not_closed_is_read_as_it_is() -> None:
    assert find_yaml("```yaml\nrules: []") == "```yaml\nrules: []"


# Lists of tools

OPENAI = {"type": "function", "function": {"name": "pay", "description": "Pays.", "parameters": {
    "type": "object", "properties": {"to": {}, "note": {"default": "x"}}, "required": ["to"]}}}  # fmt: skip
MCP = {"name": "pay", "description": "Pays.", "inputSchema": {
    "type": "object", "properties": {"to": {}, "note": {"default": "x"}}, "required": ["to"]}}  # fmt: skip


@pytest.mark.parametrize("data", [[OPENAI], [MCP], {"tools": [OPENAI]}, {"jsonrpc": "2.0", "result": {"tools": [MCP]}}])
def test_tools_are_read_from_json(tmp_path: Path, data: Any) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(data))
    assert load_tool_list(tmp_path / "tools.json") == (ListedTool(Tool("pay", {"to": REQUIRED, "note": "x"}), "Pays."),)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tools: ['pay(to)', send]", ["pay", "send"]),
        ("reads: [get_*, find]\narguments: {pay: {x: any}}", ["find", "pay"]),
    ],
)
def test_tools_are_read_from_a_tool_file(tmp_path: Path, text: str, names: list[str]) -> None:
    (tmp_path / "tools.yaml").write_text(text)
    assert [one.tool.name for one in load_tool_list(tmp_path / "tools.yaml")] == names


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("tools.json", "[", "not JSON"),
        ("tools.json", "[]", "lists no tools"),
        ("tools.json", '{"a": 1}', "a list of tools is JSON such as"),
        ("tools.json", "[{}]", "tool 1 has no name"),
        ("tools.yaml", "reads: [get_*]", "lists no tools"),
    ],
)
def test_a_file_without_tools_is_an_error(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        load_tool_list(tmp_path / name)
