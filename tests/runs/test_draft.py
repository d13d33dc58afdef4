"""`corepath draft` against a local server of OpenAI's API that gives recorded answers."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from corepath.files.rules import load_rules
from tests.runs.bad_server import BadServer, Reply, Request, completion, says, status

pytestmark = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect-ai is not installed")

POLICY = """\
# Refunds

- Check the order before you refund it.
- Never delete an account.
- Close every ticket that you open.
- Be polite.
"""
TOOLS = [
    {"name": "refund", "parameters": {"type": "object", "properties": {"order": {}}, "required": ["order"]}},
    {"name": "check_order", "parameters": {"type": "object", "properties": {"order": {}}, "required": ["order"]}},
    *({"name": name} for name in ("delete_account", "open_ticket", "close_ticket")),
]
FIRST = """\
Here are the rules:
```yaml
rules:
  - rule: 'refund(order=$o, ...) requires check_order(order=$o, ...)'
    because: 'Check the order before you refund it.'
    severity: high
  - rule: 'never delete_account(...)'
    because: Never delete an account.
  - rule: 'after open_tickt(...) eventually close_ticket(...)'
    because: Close every ticket that you open.
  - rule: 'the agent is polite'
    because: Be polite.
```
"""
SECOND = """\
rules:
  - rule: 'after open_ticket(...) eventually close_ticket(...)'
    because: Close every ticket that you open.
  - rule: 'the agent must be polite'
    because: Be polite.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.md").write_text(POLICY)
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    return tmp_path


def run(corepath: Any, folder: Path, server: BadServer, *options: object) -> Any:
    given = ("--tools", "tools.json", "--model", "m", "--base-url", server.url, "--max-retries", 0)
    return corepath("draft", "policy.md", *given, *options, cwd=folder)


def recorded(request: Request) -> Reply:
    return says(SECOND if request.number else FIRST)


def test_a_model_writes_a_rule_file(folder: Path, corepath: Any) -> None:
    with BadServer(recorded) as server:
        done = run(corepath, folder, server, "--out", "rules.yaml")
    assert done.returncode == 1  # a rule is left out
    assert (
        done.stdout
        == """\
1. refund(order=$o, ...) requires check_order(order=$o, ...)
   because:  Check the order before you refund it.
   allowed:  check_order(order="A") → refund(order="A")
   refused:  refund(order="A")
2. never delete_account(...)
   because:  Never delete an account.
   allowed:  any trace without it
   refused:  delete_account()
3. after open_ticket(...) eventually close_ticket(...)
   because:  Close every ticket that you open.
   allowed:  open_ticket() → close_ticket()
   refused:  open_ticket()
"""
    )
    assert "left out: rule: 'the agent must be polite' because: Be polite.: " in done.stderr
    assert "3 rules in rules.yaml; confirm each by its examples" in done.stderr
    loaded = load_rules(folder / "rules.yaml")
    assert [rule.because for rule in loaded.rules] == [line[2:] for line in POLICY.splitlines()[2:5]]
    assert [rule.severity for rule in loaded.rules] == ["high", "medium", "medium"]
    assert corepath("check", "rules.yaml", cwd=folder).returncode == 0


def test_the_model_is_told_the_notation_and_gets_bad_rules_back_once(folder: Path, corepath: Any) -> None:
    with BadServer(recorded) as server:
        run(corepath, folder, server, "--out", "rules.yaml")
    first, second = (request["messages"] for request in server.requests)
    assert "A requires its own B" in first[0]["content"]
    assert "- refund(order)\n" in first[1]["content"]
    assert "Never delete an account." in first[1]["content"]
    assert second[2]["content"] == FIRST
    assert "error: no tool 'open_tickt'; did you mean 'open_ticket'?" in second[3]["content"]
    assert "delete_account" not in second[3]["content"]


def test_good_rules_are_not_asked_for_again_and_are_printed(folder: Path, corepath: Any) -> None:
    with BadServer(
        lambda _: says("rules:\n  - rule: never delete_account(...)\n    because: Never delete an account.\n")
    ) as server:
        done = run(corepath, folder, server)
    assert (done.returncode, done.stderr, len(server.requests)) == (0, "", 1)
    (folder / "printed.yaml").write_text(done.stdout)
    assert [str(rule) for rule in load_rules(folder / "printed.yaml").rules] == ["never delete_account(...)"]
    assert "  # refused: delete_account()\n" in done.stdout


def test_rules_that_contradict_each_other_are_named(folder: Path, corepath: Any) -> None:
    answer = "rules:\n  - never refund(...) after check_order(...)\n  - refund(...) requires check_order(...)\n"
    with BadServer(lambda _: says(answer)) as server:
        done = run(corepath, folder, server, "--out", "rules.yaml")
    assert done.returncode == 1
    assert "error: rules 1 and 2 contradict each other" in done.stdout
    assert "warning: rule 1: its reason is no sentence of the policy" in done.stderr


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        (says("I cannot do that."), 1, "no rule that can be used, so no file is written"),
        (status(401), 3, "m gave no answer: "),
        (completion({"role": "assistant", "content": "rules:\n"}, "length"), 3, "was cut off at its limit of tokens"),
    ],
)
def test_without_an_answer_no_file_is_written(
    folder: Path, corepath: Any, reply: Reply, code: int, message: str
) -> None:
    with BadServer(lambda _: reply) as server:
        done = run(corepath, folder, server, "--out", "rules.yaml")
    assert done.returncode == code
    assert message in done.stderr
    assert not (folder / "rules.yaml").exists()


def test_an_empty_policy_is_refused(folder: Path, corepath: Any) -> None:
    (folder / "policy.md").write_text("\n")
    done = corepath("draft", "policy.md", "--tools", "tools.json", "--model", "openai/m", cwd=folder)
    assert done.returncode == 2
    assert "policy.md is empty" in done.stderr


RECORDED = Path(__file__).with_name("recorded_draft")


def test_the_recorded_answer_of_a_model_becomes_a_checked_rule_file(tmp_path: Path, corepath: Any) -> None:
    """A language model wrote the answer to this policy; it was given what `draft` sends, and nothing else."""
    for file in ("policy.md", "tools.json"):
        (tmp_path / file).write_text((RECORDED / file).read_text("utf-8"), "utf-8")
    with BadServer(lambda _: says((RECORDED / "answer.yaml").read_text("utf-8"))) as server:
        done = run(corepath, tmp_path, server, "--out", "rules.yaml")
    assert (done.returncode, len(server.requests)) == (0, 1), done.stderr
    assert "13 rules in rules.yaml; confirm each by its examples" in done.stderr
    assert "warning" not in done.stderr  # each reason is a sentence of the policy
    for example in (
        '   allowed:  ask_warehouse(order="A") -> {"packed": false} → cancel_order(order="A")\n',
        "   refused:  refund(amount=501)\n",
        '   allowed:  user "speak human" → hand_over()\n',
    ):
        assert example in done.stdout
    written = (tmp_path / "rules.yaml").read_text("utf-8")
    assert written.count("# allowed: ") == written.count("# refused: ") == 13
    assert corepath("check", "rules.yaml", cwd=tmp_path).returncode == 0
