"""Automata are checked on construction, and errors name the state or action that is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import islice

import pytest

from corepath import (
    ANY,
    Action,
    Automaton,
    Task,
    TaskError,
    action,
    any_order,
    approx,
    between,
    choice,
    one_of,
    optional,
    regex,
    seq,
    tool,
    var,
)
from corepath.automaton.automaton import MOST_SIMPLE_PATHS

ACTIONS = {name: action(f"{name}()") for name in "abc"}


def automaton_of(
    transitions: Mapping[str, Mapping[str, str]], accept: list[str], start: str = "q0", **rules: object
) -> Automaton:
    return Automaton.from_transitions(ACTIONS, start, accept, transitions, **rules)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("transitions", "accept", "says"),
    [
        ({"q0": {"a": "q1"}}, ["q2"], "accept: no state 'q2'"),
        ({"q0": {"a": "q1"}}, [], "accept is empty"),
        ({"q0": {"a": "q9"}, "q1": {}}, ["q1"], "'a' in state 'q0' leads to 'q9', which is no state"),
        ({"q0": {"x": "q1"}}, ["q1"], "state 'q0' has a transition by 'x', which is no action"),
        ({"q0": {"a": "q1"}, "q5": {"a": "q1"}}, ["q1"], "state 'q5' is unreachable"),
        ({"q0": {"a": "q1", "b": "q2"}, "q2": {"b": "q2"}}, ["q1"], "state 'q2' is dead"),
        ({"q0": {"a": "q0"}, "q1": {}}, ["q1"], "no golden path"),
        ({"q0": {"a": "q1"}, "q1": {"b": "q2"}, "q2": {"c": "q1", "a": "q3"}}, ["q3"], "circle: q1 → q2 → q1"),
    ],
)
def test_an_invalid_automaton_is_rejected_with_the_name_of_the_culprit(
    transitions: Mapping[str, Mapping[str, str]], accept: list[str], says: str
) -> None:
    with pytest.raises(TaskError) as caught:
        automaton_of(transitions, accept)
    assert says in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(TaskError) as caught:
        automaton_of({"q0": {"x": "q1", "y": "q1"}, "q1": {"a": "q9"}}, ["q1", "q7"])
    assert len(caught.value.problems) == 4


def test_an_unknown_start_is_named() -> None:
    with pytest.raises(TaskError, match="start: no state 'begin'"):
        automaton_of({"q0": {"a": "q1"}}, ["q1"], start="begin")


def test_a_self_loop_is_not_a_cycle() -> None:
    assert automaton_of({"q0": {"a": "q1", "b": "q0"}, "q1": {"a": "q1"}}, ["q1"]).count == 1


def test_an_accepting_start_has_the_empty_golden_path() -> None:
    automaton = automaton_of({"q0": {"a": "q1"}}, ["q0", "q1"])
    assert list(automaton.golden_paths()) == [(), ("a",)]


def test_a_path_through_an_accepting_state_is_golden_up_to_there_and_beyond() -> None:
    automaton = automaton_of({"q0": {"a": "q1"}, "q1": {"b": "q2"}}, ["q1", "q2"])
    assert (automaton.count, automaton.lengths) == (2, [1, 2])


def test_cycles_are_allowed_with_simple_paths() -> None:
    delta = {"q0": {"a": "q1"}, "q1": {"b": "q2", "c": "q0"}, "q2": {"a": "q1", "b": "q3"}}
    automaton = automaton_of(delta, ["q3"], golden="simple_paths")
    assert list(automaton.golden_paths()) == [("a", "b", "b")]


def test_simple_paths_past_the_cap_are_refused_with_the_number() -> None:
    names = [f"n{number}" for number in range(9)]
    actions = {name: action(f"{name}()") for name in names}
    delta = {one: {other: other for other in names if other != one} for one in names}
    with pytest.raises(TaskError, match=f"at most {MOST_SIMPLE_PATHS:,} golden paths"):
        Automaton.from_transitions(actions, "n0", ["n8"], delta, golden="simple_paths")


def test_a_few_paths_among_very_many_transitions_are_refused_rather_than_searched_forever() -> None:
    clique = [f"c{number}" for number in range(14)]
    actions = {name: action(f"{name}()") for name in ("s", "end", *clique)}
    delta = {one: {**{other: other for other in clique if other != one}, "s": "s"} for one in clique}
    delta["s"] = {"end": "end", **{name: name for name in clique}}
    with pytest.raises(TaskError, match="looks at 500,000 transitions"):
        Automaton.from_transitions(actions, "s", ["end"], delta, golden="simple_paths")


def test_enumeration_is_lazy() -> None:
    steps = [tool(f"s{number}")() for number in range(12)]
    assert len(list(islice(Task("t", procedure=any_order(*steps)).automaton.golden_paths(), 5))) == 5


def test_an_automaton_cannot_be_changed() -> None:
    automaton = automaton_of({"q0": {"a": "q1"}}, ["q1"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        automaton.start = 1  # type: ignore[misc]


send = tool("send")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (send.any(), send(to="Bob")),
        (send(to=ANY), send(to="Bob")),
        (send(to=one_of("Bob", "Eve")), send(to="Bob")),
        (send(n=between(1, 9)), send(n=between(2, 5))),
        (send(n=between(1, 9)), send(n=one_of(1, 9))),
        (send(n=approx(1, tol=1)), send(n=approx(1, tol=0.5))),
        (send(to=regex("B.*")), send(to=regex("Bo.*"))),
        (send(to=ANY), send(to="Bob").returns({"ok": True})),
        (send.where(to="Bob"), send(to="Bob", n=1)),
        (send(to=var("x")), send(to=var("x"))),
    ],
)
def test_an_action_that_an_earlier_one_covers_is_a_mistake(first: Action, second: Action) -> None:
    if first == second:
        second = second.named("again")
        with pytest.raises(TaskError, match="'again' is shadowed"):
            Automaton.from_transitions({"one": first, "again": second}, "q", ["r"], {"q": {"one": "r", "again": "r"}})
        return
    with pytest.raises(TaskError, match="is shadowed"):
        Task("t", procedure=seq(first, second))
    Task("t", procedure=seq(second, first))


def test_one_action_under_two_names_is_a_mistake() -> None:
    one, again = send(to="Bob").named("one"), send(to="Bob").named("again")
    with pytest.raises(TaskError, match="action 'again' is shadowed"):
        Task("t", procedure=seq(one, again))
    with pytest.raises(TaskError, match="action 'again' is shadowed"):
        Task("t", procedure=one, actions=[one, again])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (send(to="Bob"), send.any()),
        (send(to=var("x")), send(to="Bob")),
        (send(to=var("x")), send(to=var("y"))),
        (send(n=between(1, 3)), send(n=between(2, 5))),
        (send(to="Bob"), send(to="Bob", n=1)),
        (send(to="Bob").returns({"ok": True}), send(to="Bob")),
        (send(to=one_of("a", "b")), send(to=ANY)),
    ],
)
def test_an_action_that_can_still_match_is_accepted(first: Action, second: Action) -> None:
    assert Task("t", procedure=seq(first, second)).automaton.count == 1


def test_an_unknown_tool_is_reported_with_a_suggestion() -> None:
    with pytest.raises(TaskError, match="no tool 'snd'; did you mean 'send'"):
        Task("t", procedure=tool("snd")(), tools=[tool("send")])


def test_a_glob_cannot_be_a_step() -> None:
    with pytest.raises(TaskError, match=r"the glob 'get_\*' belongs in reads, neutral or forbid"):
        Task("t", procedure=tool("get_*").any())


def test_an_argument_that_the_tool_lacks_is_reported() -> None:
    with pytest.raises(TaskError, match="tool 'send' has no argument 'too'; it has to, text"):
        Task("t", procedure=send(too="Bob"), tools=[tool("send(to, text)")])
    with pytest.raises(TaskError, match="lacks the argument 'text'"):
        Task("t", procedure=send(to="Bob"), tools=[tool("send(to, text)")])


check, approve, reject = tool("check")(), tool("approve")(), tool("reject")()


def warnings_of(*parts: Action | object) -> tuple[str, ...]:
    return Task("t", procedure=seq(*parts), reads=[check]).automaton.read_warnings  # type: ignore[arg-type]


def test_a_read_that_forbids_a_continuation_gives_a_warning() -> None:
    (warning,) = warnings_of(choice(seq(check, approve), reject))
    assert "the read 'check' takes away a way to go on: after it, 'reject' is no longer allowed" in warning


@pytest.mark.parametrize(
    "procedure",
    [seq(check, approve), seq(optional(check), approve), any_order(check, approve), choice(approve, reject)],
)
def test_a_read_that_forbids_nothing_gives_no_warning(procedure: object) -> None:
    assert warnings_of(procedure) == ()
