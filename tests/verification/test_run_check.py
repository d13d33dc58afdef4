"""A task checked with recorded runs: what it punishes, what it lets pass, and what it should be asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import pytest
from benchmarks import planted
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode, Task, TaskError, parse_tasks, play, trace_calls, world
from corepath.notation import parser
from corepath.play.built_in import built_in
from corepath.verification import task_mutants
from corepath.verification.other_ways import find_other_ways
from corepath.verification.run_check import check_runs
from corepath.verification.run_variants import MOST_QUESTIONS, Variant
from corepath.verification.task_variants import TracedRun, VariantMaker

FIND, REFUND, SEND = "find(order=7)", "refund(order=7, amount=20)", 'send(to="Ann", text="Done!")'
SHOP = f'{FIND} >> {REFUND} >> send(to="Ann", text=ANY)'


def make_task(procedure: str, **fields: Any) -> Task:
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return parse_tasks(f"id: shop/refund\nprocedure: '{procedure}'\n{lines}")["shop/refund"]


def run(*calls: str | Call, **fields: Any) -> Episode:
    """A run of calls that were all answered with `ok`."""
    made = (replace(parser.call(one), result="ok") if isinstance(one, str) else one for one in calls)
    return Episode("shop/refund", tuple(made), **fields)


def ask(procedure: str, *runs: Episode, **fields: Any) -> list[str]:
    """The questions that a task raises, which must accept the runs."""
    found = check_runs(make_task(procedure, **fields), runs)
    assert found.accepted == len(runs), found.punished
    assert found.mutants is not None
    return [str(question).removesuffix(": intended?") for question in found.mutants.questions]


# Good runs and bad runs


def test_good_runs_that_are_punished_for_the_same_cause_are_one_entry() -> None:
    skipped = [run(REFUND, SEND) for _ in range(3)]
    other = run(FIND, "refund(order=7, amount=25)", SEND)
    found = check_runs(make_task(SHOP), [run(FIND, REFUND, SEND), *skipped, other], mutants=False)
    assert [(str(one.cause), one.runs) for one in found.punished] == [
        ("skipped a step: find", ("good run 2", "good run 3", "good run 4")),
        ("wrong argument: refund(amount=…)", ("good run 5",)),
    ]
    assert found.punished[0].headline.startswith("Skipped find(order=7): refund (call 1) was made without it")
    assert found.punished[0].advice == "To accept it, make the step optional, as in find(…)?."
    assert "one_of" in found.punished[1].advice
    assert found.summary == "good: 1 of 5 accepted"
    assert not found.is_ok


def test_a_call_that_the_tool_refused_is_punished_and_the_advice_says_why() -> None:
    refused = Call("refund", {"order": 7, "amount": 99}, error="too much")
    [found] = check_runs(make_task(SHOP), [run(FIND, refused, REFUND, SEND)]).punished
    assert found.advice.startswith("The tool refused the call")


@pytest.mark.parametrize(
    ("procedure", "unlisted", "bad", "advice"),
    [
        (SHOP, "ignore", run(FIND, REFUND, "delete(id=1)", SEND), "The task ignores delete(id=1)"),
        (f"find(order=7)? >> {REFUND}", "harm", run(REFUND), "No good run does the same steps"),
        (SHOP, "harm", run(FIND, "get_user(id=9)", REFUND, SEND), "Beside its steps it makes call 2, get_user(id=9)"),
        (SHOP, "harm", run(FIND, REFUND, 'send(to="Ann", text="No!")'), "It does the same steps as good run 1"),
    ],
)
def test_a_bad_run_that_passes_is_named_with_what_to_do(
    procedure: str, unlisted: str, bad: Episode, advice: str
) -> None:
    task = make_task(procedure, unlisted=unlisted, reads="['get_*(...)']")
    good = run(FIND, REFUND, SEND) if "send" in procedure else run(FIND, REFUND)
    found = check_runs(task, [good], [bad, run(REFUND, FIND)], mutants=False)
    assert [one.run for one in found.passing] == ["bad run 1"]
    assert found.passing[0].headline.startswith("Followed the procedure")
    assert found.passing[0].advice.startswith(advice)
    assert found.summary == "good: 1 of 1 accepted; bad: 1 of 2 rejected"


def test_a_wrong_answer_counts_if_the_run_has_an_answer() -> None:
    task = make_task(FIND, answer="'contains(\"20\")'")
    runs = [run(FIND, answer="20 euros"), run(FIND, answer="30 euros"), run(FIND)]
    found = check_runs(task, runs, runs, mutants=False)
    assert [str(one.cause) for one in found.punished] == ["wrong answer"]
    assert [one.run for one in found.passing] == ["bad run 1", "bad run 3"]


def test_runs_of_an_earlier_version_of_the_task_are_used_but_not_those_of_another_source() -> None:
    assert check_runs(make_task(SHOP), [run(FIND, REFUND, SEND, fingerprint="before")]).is_ok
    with pytest.raises(TaskError, match="other expected calls"):
        check_runs(make_task(SHOP, source="calls:1a"), [run(FIND, REFUND, SEND, fingerprint="calls:2b")])


def test_the_scoring_options_of_a_run_say_how_its_failed_calls_count() -> None:
    again = Call("find", {"order": 7}, error="busy")
    calls = (again, FIND, REFUND, SEND)
    options = {"order_fallback": 0.5, "errors": "harmful"}
    assert check_runs(make_task(SHOP), [run(*calls)]).is_ok
    assert not check_runs(make_task(SHOP), [run(*calls, scoring=options)]).is_ok


def test_the_check_as_json_has_everything() -> None:
    found = check_runs(make_task(f"{FIND} >> {REFUND}?"), {"a:1": run(FIND, REFUND)}, {"b:1": run(FIND)}).to_dict()
    assert (found["ok"], found["good"], found["bad"]) == (
        False, {"runs": 1, "accepted": 1}, {"runs": 1, "rejected": 0},
    )  # fmt: skip
    assert found["passing"][0]["run"] == "b:1"
    assert found["questions"][0] == {
        "question": "refund left out: intended?", "kind": "left out", "about": ["refund"], "run": "a:1",
        "example": "without refund(order=7, amount=20)", "missed": 1, "tried": 1,
    }  # fmt: skip
    assert found["variants"]["tried"] - found["variants"]["noticed"] == 1


# Questions


def test_a_strict_task_raises_no_question() -> None:
    task = make_task(SHOP)
    found = check_runs(task, [run(FIND, REFUND, SEND)])
    assert found.mutants is not None
    assert (found.mutants.questions, found.mutants.missed) == ((), 0)
    assert found.mutants.tried > 15


FULL = run(FIND, REFUND, SEND)


@pytest.mark.parametrize(
    ("procedure", "question"),
    [
        (f"{FIND}? >> {REFUND} >> {SEND}", "find left out"),
        (f"{FIND} >> {REFUND}{{1,2}} >> {SEND}", "refund called twice"),
        (f"{FIND} >> {REFUND} >> {SEND} >> {REFUND}?", "refund called twice"),
        (f"({FIND} & {REFUND}) >> {SEND}", "refund before find"),
        (f"{FIND} & {REFUND} & {SEND}", "another order of refund, find and send"),
        (f"{FIND} >> ({REFUND} >> {SEND})?", "stopping after find"),
        (f"({FIND} >> {REFUND} >> {SEND})?", "stopping before the first step"),
        (f"{FIND} >> ({REFUND} | refund(order=8, amount=20)) >> {SEND}",
         "refund(order=8, amount=20), which no good run calls"),
        (f"({FIND} >> {REFUND} >> {SEND}) | ({SEND} >> {REFUND} >> {FIND})", "send before find"),
    ],
)  # fmt: skip
def test_what_a_task_accepts_beyond_the_good_runs_is_asked(procedure: str, question: str) -> None:
    assert question in ask(procedure, FULL)


def test_steps_of_another_branch_are_asked_about_once_each_and_only_where_they_begin() -> None:
    assert ask(f"({FIND} >> {REFUND}) | (look() >> cancel(order=7))", run(FIND, REFUND)) == [
        "look, which no good run calls"
    ]


def test_another_value_is_asked_about_if_another_step_takes_it() -> None:
    procedure = f"({FIND} >> {REFUND}) | (find(order=8) >> refund(order=7, amount=20))"
    both = (run(FIND, REFUND), run("find(order=8)", REFUND))
    assert ask(procedure, both[0]) == ["find(order=8), which no good run calls"]
    assert ask(procedure, *both) == []


def test_exchanged_values_are_asked_about() -> None:
    ways = ("pay(to=1, amount=5) & pay(to=2, amount=7)", "pay(to=1, amount=7) & pay(to=2, amount=5)")
    shown = (run("pay(to=1, amount=5)", "pay(to=2, amount=7)"), run("pay(to=2, amount=7)", "pay(to=1, amount=5)"),
             run("pay(to=2, amount=5)", "open()", "pay(to=1, amount=7)"),
             run("pay(to=1, amount=7)", "open()", "pay(to=2, amount=5)"))  # fmt: skip
    asked = ask(f"({ways[0]}) | ({ways[1]}) | (open() & {ways[1]})", *shown)
    assert any("each other's amount" in question for question in asked)


@pytest.mark.parametrize(
    ("procedure", "fields"),
    [
        ("find(order=ANY) >> refund(order=between(1, 9), amount=approx(20, tol=5)) >> send(...)", {}),
        ('find(order=one_of(7, 8)) >> refund(order=7, amount=20) >> send(to=regex("[A-Z].*"), text=ANY)', {}),
        ("find(order=$o) >> refund(order=$o, amount=$a) >> send(to=$w, text=$t)", {}),
        (SHOP, {"reads": "['find(...)', 'get_*(...)']"}),
    ],
)
def test_what_a_pattern_decides_is_not_asked(procedure: str, fields: dict[str, str]) -> None:
    """Open values, values inside a pattern, and repetitions of reads are decided in the task itself."""
    assert ask(procedure, FULL, **fields) == []


@pytest.mark.parametrize(
    ("procedure", "shown"),
    [
        (f"{FIND}? >> {REFUND} >> {SEND}", run(REFUND, SEND)),
        (f"({FIND} & {REFUND}) >> {SEND}", run(REFUND, FIND, SEND)),
        (f"{FIND} >> {REFUND}{{1,3}} >> {SEND}", run(FIND, REFUND, REFUND, REFUND, SEND)),
        (f"{FIND} >> ({REFUND} >> {SEND})?", run(FIND)),
    ],
)
def test_what_another_good_run_does_is_not_asked(procedure: str, shown: Episode) -> None:
    assert ask(procedure, FULL)
    assert ask(procedure, FULL, shown) == []


def test_ignored_calls_are_asked_about_once_for_each_tool_of_a_step_and_once_for_all_others() -> None:
    asked = ask(SHOP, FULL, unlisted="ignore")
    assert sorted(asked) == [
        "calls of tools that the task does not name",
        "one more find, with other arguments",
        "one more refund, with other arguments",
        "one more send, with other arguments",
    ]
    unknown = check_runs(make_task(SHOP, unlisted="ignore"), [FULL]).mutants
    assert unknown is not None
    assert "a call of another tool at the end" in [question.example for question in unknown.questions]
    named = check_runs(make_task(SHOP, unlisted="ignore"), [FULL], [run(FIND, "wipe(disk=1)")]).mutants
    assert named is not None
    assert "wipe(disk=1) at the end" in [question.example for question in named.questions]


def test_a_repeated_write_that_the_world_shows_to_change_nothing_is_not_asked_about() -> None:
    task = world("farm").make("bring_it_home")
    runs = [play(built_in("oracle"), task, epoch=epoch) for epoch in range(4)]
    found = check_runs(task, runs, [play(built_in("left_out"), task)])
    assert found.is_ok
    assert found.mutants is not None
    assert not any(question.kind == "repeated" for question in found.mutants.questions)


def test_questions_are_counted_by_runs_and_the_most_frequent_come_first() -> None:
    procedure = f"{FIND}? >> {REFUND} >> (log(x=1) | {SEND})?"
    found = check_runs(make_task(procedure), [FULL, FULL, run(FIND, REFUND, "log(x=1)")]).mutants
    assert found is not None
    counts = {str(one): (one.missed, one.tried) for one in found.questions}
    assert counts == {
        "find left out: intended?": (3, 3), "send left out: intended?": (2, 2), "log left out: intended?": (1, 1),
    }  # fmt: skip
    assert [one.missed for one in found.questions] == [3, 2, 1]


def test_there_are_at_most_twenty_questions_and_the_rest_is_counted() -> None:
    steps = [f"step_{number}()" for number in range(30)]
    found = check_runs(make_task(" >> ".join(f"{step}?" for step in steps)), [run(*steps)]).mutants
    assert found is not None
    assert (len(found.questions), found.more) == (MOST_QUESTIONS, 10)


# Brute force

STEPS = [f"s{number}()" for number in range(4)]


def procedures() -> st.SearchStrategy[str]:
    def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(parts, st.sampled_from([" >> ", " & ", " | "]), parts)
        return joined.map(lambda one: f"({one[0]}{one[1]}{one[2]})") | parts.map(lambda one: f"({one})?")

    return st.recursive(st.sampled_from(STEPS), combine, max_leaves=5)


def golden(task: Task) -> list[tuple[int, ...]]:
    return [tuple(path) for path in islice(task.automaton.golden.paths(), 500)]


def as_run(task: Task, path: tuple[int, ...]) -> TracedRun:
    calls = [replace(task.automaton.alphabet.actions[symbol].examples()[0], result="ok") for symbol in path]
    return TracedRun("r", trace_calls(task.automaton, calls))


def differs(path: tuple[int, ...], known: list[tuple[int, ...]]) -> bool:
    """Whether a path lacks a step that all known ones have, or has two steps in an order that none has."""
    orders = {pair for one in known for pair in combinations(one, 2)}
    lacks = set.intersection(*map(set, known)) - set(path)
    return bool(lacks) or not orders.issuperset(combinations(path, 2))


@given(procedures(), st.randoms(use_true_random=False))
def test_another_way_is_found_if_and_only_if_there_is_one(procedure: str, random: Any) -> None:
    task = make_task(procedure)
    paths = golden(task)
    known = random.sample(paths, min(len(paths), random.randint(1, 2)))
    steps = {symbol for path in known for symbol in path}
    others = [path for path in paths if steps.issuperset(path) and differs(path, known)]
    for way in find_other_ways(task.automaton, known, most=50):
        assert tuple(way.path) in paths
        assert differs(tuple(way.path), known)
        known.append(tuple(way.path))
        others = [path for path in others if differs(path, known)]
    assert others == []


@given(procedures(), st.randoms(use_true_random=False))
def test_variants_are_judged_as_whole_traces_are(procedure: str, random: Any) -> None:
    task = make_task(procedure, unlisted=random.choice(["harm", "ignore"]))
    traced = as_run(task, random.choice(golden(task)))
    variants: list[Variant] = list(VariantMaker(task, [traced], [Call("other")]).make(traced))
    found = task_mutants._judge(task, traced, variants, task_mutants._Shown([traced]))
    noticed = {id(one.variant): one.path is None for one in found}
    for variant in variants:
        whole = trace_calls(task.automaton, [one for one in variant.items if isinstance(one, Call)])
        right = whole.end.accepted and not any(whole.harm_mask)
        assert noticed.get(id(variant), False) is not right


# Planted mistakes


@pytest.mark.parametrize("name", ["desktop/update_the_idle", "legal/enforce_if_listed", "farm/weigh_and_log"])
def test_right_ways_deleted_from_a_task_and_wrong_ones_added_are_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted, "GOOD", 6)
    monkeypatch.setattr(planted, "BAD", 1)
    found = list(planted.challenge(name))
    assert len(found) >= 4
    assert [missed for notice in found for missed in notice.missed] == []
