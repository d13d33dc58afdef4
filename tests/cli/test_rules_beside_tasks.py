"""`--rules` beside tasks: score, table, compare, explain and the report say the same of every rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_rule_scores import call, episode

TASKS = """\
version: 1
id: shop/refund
prompt: Refund order 1.
procedure: refund(order=1)
reads: [verify(...)]
"""
RULES = """\
rules:
  - refund(...) requires verify(...)
  - after verify(...) eventually refund(...)
  - never delete_*(...)      # because: people delete accounts
"""
GOOD = episode(call("verify"), call("refund", order=1), agent="a")
HASTY = episode(call("refund", order=1), agent="b")
OPEN = episode(call("verify"), agent="b")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, (GOOD, HASTY, OPEN))))
    return tmp_path


BOTH = ("--tasks", "tasks.yaml", "--rules", "rules.yaml")


def test_score_has_a_column_of_broken_rules_only_if_there_are_rules(folder: Path, corepath: Any) -> None:
    without = corepath("score", "--tasks", "tasks.yaml", "e.jsonl", cwd=folder)
    assert without.returncode == 0, without.stderr
    assert "broken" not in without.stdout
    beside = corepath("score", *BOTH, "e.jsonl", cwd=folder)
    head, *rows = [line.split() for line in beside.stdout.splitlines()]
    place = head.index("broken") - len(head)
    assert [row[place] for row in rows[:2]] == ["0", "1"]
    assert rows[2][place - 1] == "1"  # "no (−1)" is two words


def test_score_as_json_merges_the_harms_of_rules_and_tasks(folder: Path, corepath: Any) -> None:
    done = corepath("score", *BOTH, "e.jsonl", "--json", cwd=folder)
    good, hasty, owing = map(json.loads, done.stdout.splitlines())
    assert (good["rules_broken"], hasty["rules_broken"], owing["rules_broken"]) == (0, 1, 1)
    assert (good["pc"], good["harm_count"], hasty["harm_count"]) == (1, 0, 1)
    assert [one["state"] for one in hasty["rules"]] == ["broken", "not applied", "not applied"]


def test_the_limit_on_broken_rules_holds_beside_tasks(folder: Path, corepath: Any) -> None:
    assert corepath("score", *BOTH, "e.jsonl", "--max-broken", "1", cwd=folder).returncode == 0
    done = corepath("score", *BOTH, "e.jsonl", "--max-broken", "0", "--junit", "gate.xml", cwd=folder)
    assert done.returncode == 1
    assert "episode 2, shop/refund (b, epoch 0): 1 broken rule, wanted at most 0" in done.stderr
    assert "corepath explain e.jsonl --tasks tasks.yaml --rules rules.yaml --episode 2 --episode 3" in done.stderr
    assert 'failures="2"' in (folder / "gate.xml").read_text()


def test_a_rule_that_forbids_the_task_is_reported(folder: Path, corepath: Any) -> None:
    (folder / "rules.yaml").write_text("rules:\n  - never refund(...)\n")
    done = corepath("score", *BOTH, "e.jsonl", cwd=folder)
    assert done.returncode == 1
    assert "the rule 'never refund(...)' forbids every golden path of 'shop/refund'" in done.stderr
