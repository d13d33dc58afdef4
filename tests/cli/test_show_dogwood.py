"""`corepath show RULES --as dogwood`: rules as policies, and the rules that cannot be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

RULES = """\
tools: [refund, check, delete_user, delete_order, close]
rules:
  - refund(order=$o, ...) requires check(order=$o, ...)
  - never delete_*(...)                      # because: people delete accounts
  - after refund(...) eventually close(...)
"""


def test_rules_are_written_as_policies(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    done = corepath("show", "rules.yaml", "--as", "dogwood", cwd=tmp_path)
    assert done.returncode == 0
    assert 'unless temporal { formerly within 24h Action::"check"::response{' in done.stdout
    assert 'forbid (principal, action in [Action::"delete_order", Action::"delete_user"], resource);' in done.stdout
    assert done.stdout.count("forbid (") == 2
    assert done.stderr.splitlines() == [
        (
            "not exported: after refund(...) eventually close(...): "
            "Dogwood looks only at the past, and this must still follow"
        )
    ]


def test_rules_have_no_automaton_to_show(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    done = corepath("show", "rules.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "rules.yaml has rules and no automaton; see corepath check rules.yaml, or --as dogwood" in done.stderr


def test_a_task_is_no_policy(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "task.yaml").write_text("id: t\nprocedure: a()\n")
    done = corepath("show", "task.yaml", "--as", "dogwood", cwd=tmp_path)
    assert done.returncode == 1
    assert "this is a task file, for --tasks, and not a rule file" in done.stderr
