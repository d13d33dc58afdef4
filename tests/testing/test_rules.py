"""Rules in tests: `assert_rules`."""

from __future__ import annotations

from pathlib import Path

import pytest

from corepath import Call, Episode, Message, assert_rules


def test_a_path_that_keeps_the_rules_gives_its_score(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("rules:\n  - refund(...) requires verify(...)\n  - never delete_*(...)\n")
    found = assert_rules(file, ["verify()", "refund(order=1)"])
    assert (found.harm_count, [one.state for one in found.verdicts]) == (0, ["kept", "not applied"])


def test_a_failure_says_what_broke_a_rule_and_what_would_have_helped() -> None:
    rules = ['refund(...) requires its own user(text=~"yes")', "after open(file=$f) eventually close(file=$f)"]
    said = (Message("user", "yes", 0),)
    played = Episode("", (Call("refund", {"order": 1}), Call("refund", {"order": 2}), Call("open", {"file": "a"})),
                     messages=said)  # fmt: skip
    with pytest.raises(AssertionError) as caught:
        assert_rules(rules, played)
    assert str(caught.value).splitlines() == [
        "2 of 2 rules broken",
        '  broken: refund(...) requires its own user(text=~"yes")',
        '    refund(order=2): user(text=~"yes") must come before refund(...) for each time',
        "  owed: after open(file=$f) eventually close(file=$f)",
        '    after open(file="a"): close(file=$f) must follow, and did not',
    ]
    assert_rules(rules, played, max_broken=2)


def test_calls_are_a_list() -> None:
    with pytest.raises(TypeError, match="calls are a list"):
        assert_rules(["never a(...)"], "a()")
