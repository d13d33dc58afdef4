"""Rules learned from runs: every proposal is judged again by the package's own verdicts, and its counts recounted."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from corepath import Call, Episode, Message
from corepath.authoring.learning import rule_log, rules
from corepath.authoring.learning.rule_making import make_rule
from corepath.authoring.learning.rule_verdicts import Verdicts
from corepath.authoring.learning.rules import LEAST_RUNS, MOST_RULES, LearnedRules, _find_candidates, learn_rules
from corepath.files.document import parse_mapping
from corepath.files.rules import read_rules
from corepath.notation import parser
from corepath.notation.action import Tool
from corepath.rules.implication import is_implied
from corepath.rules.parser import parse_rule
from corepath.rules.verdict import State, judge
from corepath.rules.witness import forbids_outright
from tests.conftest import Run

REFUND = "refund(order=$order, ...) requires check_order(order=$order, ...)"


def good_runs(number: int = 20) -> list[list[str]]:
    """Look up some orders, refund those that were checked, and say goodbye."""
    runs = []
    for place in range(number):
        orders = [10 * place + one for one in range(1 + place % 3)]
        checks = [f"check_order(order={one})" for one in orders]
        refunds = [f"refund(order={one}, amount={5 + one % 7})" for one in reversed(orders[place % 2 :])]
        runs.append([*checks, *refunds, *(["search(text='help')"] if place % 4 == 0 else []), "close()"])
    return [[one.replace("'", '"') for one in run] for run in runs]


def bad_runs() -> list[list[str]]:
    refunds = [[f"check_order(order={one})", f"refund(order={one + 1}, amount=5)", "close()"] for one in range(6)]
    return [*refunds, *([f"check_order(order={one})", "delete_all()", "close()"] for one in range(5))]


def texts(found: LearnedRules) -> list[str]:
    return list(map(str, found.rules))


def random_run(chance: random.Random) -> tuple[Call | Message, ...]:
    items: list[Call | Message] = []
    for _ in range(chance.randrange(7)):
        if chance.random() < 0.15:
            items.append(Message(chance.choice(["user", "assistant"]), chance.choice(["Yes.", "No."])))
            continue
        arguments = {name: chance.randrange(3) for name in "xy" if chance.random() < 0.8}
        error = "refused" if chance.random() < 0.2 else None
        items.append(Call(chance.choice("abc"), arguments, None, error, turn=chance.randrange(3)))
    return tuple(items)


def recount(text: str, good: Sequence[Sequence[Call | Message]], bad: Sequence[Sequence[Call | Message]]) -> list[int]:
    """Applied and broken in good runs, applied and broken in bad runs, one verdict after the other."""
    rule = parse_rule(text)
    found = []
    for runs in (good, bad):
        verdicts = [judge([rule], tuple(run))[0] for run in runs]
        applied = sum(one.applied > 0 for one in verdicts)
        found += [len(runs) if forbids_outright(rule) else applied]
        found += [sum(one.state in (State.BROKEN, State.OWED) for one in verdicts)]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_quick_counts_of_every_candidate_are_those_of_the_verdicts(seed: int) -> None:
    chance = random.Random(seed)
    good, bad = ([random_run(chance) for _ in range(number)] for number in (LEAST_RUNS + seed, 8))
    log, candidates = _find_candidates(good, bad, lambda _: True)
    assert candidates
    for one in candidates:
        rule = make_rule(one, log)
        assert rule is not None
        applied, broken, applied_bad, broken_bad = recount(str(rule), good, bad)
        assert (broken, broken_bad) == (one.misses, one.broken_bad), rule
        if one.template not in ("never, this value", "at least"):  # there, other runs are compared
            assert (applied, applied_bad) == (one.applied, one.applied_bad), rule


@pytest.mark.parametrize("seed", range(4))
def test_no_order_that_good_runs_keep_is_forgotten(seed: int) -> None:
    chance = random.Random(seed)
    good = [random_run(chance) for _ in range(6)]
    good = [run for run in good if not judge([parse_rule("b(...) requires a(...)")], run)[0].offences] * 2
    log, candidates = _find_candidates(good, [], lambda _: True)
    found = {str(make_rule(one, log)) for one in candidates if not one.misses}
    for first, other in product(log.tools[2:], repeat=2):
        text = f"{first}(...) requires {other}(...)"
        if first != other and recount(text, good, [])[1] == 0:
            assert text in found


SEEN = (
    REFUND,
    "never call after close(...)",
    "at most 1 refund(order=$o, ...)",
    "never refund(amount=5, ...)",
    "after refund(...) eventually close(...)",
)


@pytest.mark.parametrize("text", SEEN)
def test_runs_that_look_alike_to_a_rule_have_one_verdict(text: str) -> None:
    runs = [tuple(map(parser.call, run)) for run in (*good_runs(), *bad_runs())]
    kept = [run for run in runs if judge([parse_rule(text)], run)[0].is_kept]
    counts = Verdicts(kept, runs).count(parse_rule(text))
    assert counts is not None
    assert [counts.applied, 0, counts.applied_bad, len(counts.broken_bad)] == recount(text, kept, runs)


def test_the_rules_that_tell_good_from_bad_are_found_and_come_first() -> None:
    found = learn_rules(good_runs(), bad_runs())
    assert set(texts(found)[:2]) == {REFUND, "never delete_all(...)"}
    assert "# applied in 17 of 20 good runs, broken in 6 of 11 bad ones\n  - refund(order=$order" in found.text


@pytest.mark.parametrize("bad", [bad_runs(), []])
def test_every_proposal_is_kept_by_all_good_runs_and_counted_as_a_naive_count_says(bad: list[list[str]]) -> None:
    found = learn_rules(good_runs(), bad)
    good, wrong = ([tuple(map(parser.call, run)) for run in runs] for runs in (good_runs(), bad))
    assert 0 < len(found.rules) <= MOST_RULES
    for one in found.choices:
        counts = one.counts
        assert recount(str(one.rule), good, wrong) == [counts.applied, 0, counts.applied_bad, len(counts.broken_bad)]
        assert counts.applied >= LEAST_RUNS
        assert counts.broken_bad or not bad


@pytest.mark.parametrize("bad", [bad_runs(), []])
def test_no_proposal_is_implied_by_another_one(bad: list[list[str]]) -> None:
    found = learn_rules(good_runs(), bad).rules
    assert not [(str(one), str(other)) for one in found for other in found if one != other and is_implied(one, [other])]


def test_a_rule_that_follows_from_a_chain_of_others_is_left_out() -> None:
    runs = [["one()", "two()", "three()", "four()"][: 2 + place % 3] for place in range(30)]
    found = texts(learn_rules(runs))
    assert "four(...) requires three(...)" in found
    assert "four(...) requires one(...)" not in found


def test_a_rule_that_notices_no_other_bad_run_comes_later_and_says_so() -> None:
    found = learn_rules(good_runs(), bad_runs())
    noticed: set[int] = set()
    for one in found.choices:
        assert one.adds == bool(one.counts.broken_bad - noticed)
        noticed |= one.counts.broken_bad
    assert [one.adds for one in found.choices] == sorted((one.adds for one in found.choices), reverse=True)
    assert ("notice all bad runs" in found.text) == (not found.choices[-1].adds)


def test_random_runs_rarely_have_rules() -> None:
    """About one set of twenty may have a rule by chance."""
    found = []
    for seed in range(20):
        chance = random.Random(seed)
        runs = [[Call(chance.choice("abcdef"), {"x": chance.randrange(50)}) for _ in range(8)] for _ in range(80)]
        found += texts(learn_rules(runs[:40], runs[40:]))
        assert not learn_rules(runs).rules
    assert len(found) <= 3, found


def test_calls_wait_until_the_user_agrees() -> None:
    def conversation(place: int) -> list[Call | Message | str]:
        asked: list[Call | Message | str] = [Message("assistant", "Shall I?"), Message("user", "Yes, go ahead.")]
        other: list[Call | Message | str] = [
            Message("user", "Where is my order?"),
            "look_up()",
            Message("assistant", "Here."),
        ]
        return [*other * (1 + place % 2), *asked, "pay()"]

    bad: list[list[Call | Message | str]] = [[Message("user", "Where is it?"), "look_up()", "pay()"] for _ in range(6)]
    found = texts(learn_rules(map(conversation, range(20)), bad))
    assert any(one.startswith("pay(...) requires user(text=~") for one in found)


def test_the_text_is_a_rule_file_with_the_same_rules() -> None:
    tools: list[Tool | str] = ["refund", "check_order", "close", Tool("search", {"text": None})]
    found = learn_rules(good_runs(), tools=tools)
    read = read_rules(parse_mapping("rules.yaml", found.text, ""))
    assert read.rules == found.rules
    assert read.tools == {"refund", "check_order", "close", "search"}
    assert not read.warnings


def test_tools_that_are_not_listed_are_named_and_left_out() -> None:
    found = learn_rules(good_runs(), bad_runs(), tools=["refund", "check_order", "close"])
    assert not any("delete_all" in one for one in texts(found))
    assert any("delete_all, search" in note for note in found.notes)


def test_rules_that_are_equally_good_come_in_the_order_of_the_runs() -> None:
    letters = "qwertyuiop"
    good = [[f"{one}(x={number})" for one in letters] for number in range(20)]
    log = rule_log.make_log([tuple(map(parser.call, run)) for run in good], [], LEAST_RUNS, bool)
    assert log.tools == ("", "", *letters)
    bad = [[f"drop_{one}()" for one in letters]] * 10
    found = learn_rules(good, bad)
    assert [one for one in texts(found) if "drop" in one] == [f"never drop_{one}(...)" for one in letters]


def test_strange_names_of_tools_and_arguments_are_written_so_that_they_can_be_read() -> None:
    runs = [
        [Call("get order", {"the id": place}), Call("user", {"the id": place}), Call("*", {})] for place in range(20)
    ]
    found = learn_rules(runs)
    assert any('"user"' in one and '"get order"' in one for one in texts(found))
    assert read_rules(parse_mapping("rules.yaml", found.text, "")).rules == found.rules


@pytest.mark.parametrize(
    ("good", "bad", "note"),
    [
        ([], [], "0 good runs: too few"),
        ([["a()"]], [["b()"]], "1 good run: too few"),
        ([[]] * 20, [], "no calls"),
        (good_runs(), good_runs(), "nothing tells good and bad runs apart"),
        (good_runs(), good_runs()[:3], "3 bad runs of 3 made the same calls as a good run"),
    ],
)
def test_runs_from_which_nothing_can_be_learned_get_a_clear_word(
    good: list[list[str]], bad: list[list[str]], note: str
) -> None:
    found = learn_rules(good, bad)
    assert (found.rules, found.text) == ((), "")
    assert any(note in one for one in found.notes)


def test_rules_that_unseen_good_runs_may_break_are_left_out_and_it_is_said() -> None:
    few, enough = (learn_rules(good_runs(number), bad_runs()) for number in (19, 20))
    assert not few.rules
    assert any("left out that too many unseen good runs may break" in one for one in few.notes)
    assert REFUND in texts(enough)


def test_few_good_runs_are_a_note() -> None:
    bad = [[f"pay(user={one})"] for one in range(9)]
    for number in (15, 20):
        good = [[f"login(user={one})", f"confirm(user={one})", f"pay(user={one})"] for one in range(number)]
        found = learn_rules(good, bad)
        assert found.rules
        assert any("with only 15 good runs" in one for one in found.notes) == (number == 15)


def test_one_text_in_place_of_a_run_is_an_error() -> None:
    with pytest.raises(TypeError, match="a run is a list of calls"):
        learn_rules(["refund(order=7)"])


def test_very_many_tools_are_bounded_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rule_log, rules):
        monkeypatch.setattr(module, "MOST_TOOLS", 100)
    runs = [[Call(f"tool_{number}") for number in range(place % 7, 150, 7)] for place in range(42)]
    found = learn_rules(runs)
    assert "50 tools are left out: rules are learned about the 100 most frequent" in found.notes
    assert len(found.rules) == MOST_RULES
    assert found.more > 0


# The command


def write(path: Path, runs: Sequence[Sequence[str]]) -> str:
    calls = [[parser.call(one) for one in run] for run in runs]
    lines = [{"version": 1, "task": "shop", "calls": [{"tool": one.tool, "arguments": one.arguments, "result": "ok"}
                                                     for one in run]} for run in calls]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_the_command_writes_a_file_that_check_accepts(corepath: Run, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.jsonl", good_runs()), write(tmp_path / "bad.jsonl", bad_runs())
    out = str(tmp_path / "rules.yaml")
    done = corepath("learn", "--rules", good, "--bad", bad, "--out", out)
    assert done.returncode == 0
    assert "confirm each before you use it" in done.stderr
    assert corepath("check", out, "--good", good, "--bad", bad).returncode == 0


def test_the_command_prints_json(corepath: Run, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.jsonl", good_runs()), write(tmp_path / "bad.jsonl", bad_runs())
    rows = list(map(json.loads, corepath("learn", "--rules", good, "--bad", bad, "--json").stdout.splitlines()))
    one = next(row for row in rows if row["text"] == REFUND)
    assert (one["good"], one["bad"], one["applied_good"], one["broken_bad"]) == (20, 11, 17, 6)


def test_the_command_writes_nothing_if_there_is_nothing_to_propose(corepath: Run, tmp_path: Path) -> None:
    good = write(tmp_path / "good.jsonl", [["a()"]])
    done = corepath("learn", "--rules", good, "--out", str(tmp_path / "rules.yaml"))
    assert done.returncode == 1
    assert "1 good run: too few" in done.stderr
    assert not (tmp_path / "rules.yaml").exists()


def test_episodes_are_runs_too() -> None:
    episodes = [Episode("shop", tuple(map(parser.call, run))) for run in good_runs()]
    assert texts(learn_rules(episodes)) == texts(learn_rules(good_runs()))
