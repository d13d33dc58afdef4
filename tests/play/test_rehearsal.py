"""Built-in agents remember calls, judgements and scores. What they record is the same as without."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from corepath import Session, Task, World, play
from corepath.automaton import step_memory
from corepath.files.episodes import episode_json
from corepath.files.lookup import all_sources
from corepath.notation.call import Call
from corepath.play import rehearsal
from corepath.play.built_in import BUILT_IN, built_in
from corepath.play.play import record_episode
from corepath.play.rehearsal import rehearsal_of
from corepath.rules import monitor
from corepath.rules.monitor import Monitor, find_breaches
from corepath.scoring.options import PAPER
from corepath.world.exploring import replay

TASKS = ("farm/threshold", "communication/only_the_cleared", "crud/hand_over", "computations/two_diagonals")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [source.make() for source in all_sources(list(TASKS))]


def played(task: Task, epochs: int = 3) -> list[str]:
    return [
        episode_json(play(built_in(name), task, name=name, epoch=epoch)) for name in BUILT_IN for epoch in range(epochs)
    ]


def test_a_remembered_episode_is_the_one_that_an_execution_gives(tasks):
    for task in tasks:
        for name in BUILT_IN:
            episode = play(built_in(name), task, name=name, epoch=1)
            session = Session(task)
            for call in episode.calls:
                session.call(call.tool, call.arguments)
            session.notes.update({"fault": episode.mistake} if episode.mistake else {})
            again = record_episode(
                session, name, epoch=1, seed=0, answer=episode.answer, ended=episode.outcome or "", scoring=PAPER
            )
            assert not session.rehearsed or not episode.calls
            assert episode_json(episode) == episode_json(again)


def test_forgetting_changes_nothing(tasks, monkeypatch):
    for task in tasks:
        rehearsal_of.cache_clear()
        remembered = played(task)
        for name in ("MOST_CALLS", "MOST_EPISODES"):
            monkeypatch.setattr(rehearsal, name, 1)
        monkeypatch.setattr(monitor, "MOST_CACHED", 1)
        monkeypatch.setattr(step_memory, "MOST_STEPS", 1)
        rehearsal_of.cache_clear()
        assert played(task) == remembered
        monkeypatch.undo()


def test_what_is_remembered_is_bounded(tasks, monkeypatch):
    monkeypatch.setattr(rehearsal, "MOST_CALLS", 20)
    monkeypatch.setattr(rehearsal, "MOST_EPISODES", 5)
    monkeypatch.setattr(step_memory, "MOST_STEPS", 20)
    rehearsal_of.cache_clear()
    played(tasks[0])
    known = vars(rehearsal_of(tasks[0]))
    sizes = {name: len(value) for name, value in known.items() if isinstance(value, dict)}
    assert sizes.keys() == {"_moves", "_situations", "_answered", "_calls", "_states", "_scores"}
    assert max(sizes.values()) <= 20
    assert sizes["_scores"] <= 5
    for memory in (known["_steps"], known["_recall"]):
        assert max(len(value) for value in vars(memory).values() if isinstance(value, dict)) <= 20


@dataclass
class Shelf:
    books: dict[str, int] = field(default_factory=dict)


def make_shelf() -> tuple[World[Shelf], list[str]]:
    world = World("shelf", Shelf)
    executed: list[str] = []

    @world.write
    def put(shelf: Shelf, book: str) -> str:
        """Put a book on the shelf."""
        executed.append(book)
        shelf.books[book] = 1
        return "ok"

    @world.read
    def list_books(shelf: Shelf) -> list[str]:
        """List the books in the order in which they were put there."""
        return list(shelf.books)

    return world, executed


def shelf_task() -> tuple[Task, list[str]]:
    world, executed = make_shelf()
    put = world.tools["put"]
    task = Task("shelf/two", prompt="Put a and b on the shelf.", procedure=put(book="a") & put(book="b"))
    return world.complete(task), executed


def test_states_that_differ_in_the_order_of_keys_are_not_the_same():
    task, _ = shelf_task()
    known = rehearsal_of(task)
    listed = []
    for order in ("ab", "ba"):
        state = task.start
        for book in order:
            state = known.execute(state, Call("put", {"book": book}))[2]
        listed.append(known.execute(state, Call("list_books"))[0].result)
    assert listed == [["a", "b"], ["b", "a"]]


def test_equal_calls_in_different_states_are_one_object_only_if_they_got_the_same_answer():
    task, _ = shelf_task()
    known = rehearsal_of(task)
    list_books, put = Call("list_books"), Call("put", {"book": "a"})
    before = known.execute(task.start, list_books)[0]
    shelf = known.execute(task.start, put)[2]
    after = known.execute(shelf, list_books)[0]
    assert (before.result, after.result) == ([], ["a"])
    assert known.execute(task.start, put)[0] is known.execute(shelf, Call("put", {"book": "a"}))[0]


def test_calls_that_differ_only_in_the_type_of_a_number_are_not_the_same():
    task, _ = shelf_task()
    known = rehearsal_of(task)
    sent = [known.execute(task.start, Call("put", {"book": book}))[0].arguments["book"] for book in (1, 1.0, True)]
    assert list(map(repr, sent)) == ["1", "1.0", "True"]


def test_only_built_in_agents_remember_calls():
    task, executed = shelf_task()

    def own(session: Session) -> None:
        session.call("put", {"book": "a"})

    for agent, calls in ((own, 3), (built_in("oracle"), 0)):
        play(built_in("oracle"), task, name="oracle")
        executed.clear()
        for _ in range(3):
            play(agent, task, name="oracle")
        assert len(executed) == calls


def test_an_answer_that_counts_is_part_of_what_is_remembered():
    task, _ = shelf_task()
    asked = replace(task, answer="yes")

    def answer(text: str) -> Any:
        return play(lambda _: text, asked, name="a").scores["answer_match"]

    assert [answer("yes"), answer("no")] == [True, False]


def test_a_monitor_begins_anew_each_time(tasks):
    for task in tasks:
        known = Monitor(task.policies)
        episodes = [play(built_in(name), task, name=name) for name in ("random", "harmful_early", "swapped")]
        for episode in [*episodes, *episodes]:
            run = replay(task, episode.calls)
            fresh = find_breaches(Monitor(task.policies), run.calls, run.states)
            assert find_breaches(known, run.calls, run.states) == fresh


def test_what_a_move_breaks_is_what_the_policies_say(tasks):
    for task in tasks:
        known, monitor = rehearsal_of(task), Monitor(task.policies)
        for name in ("random", "harmful_early", "wandering"):
            calls = play(built_in(name), task, name=name).calls
            run = replay(task, calls)
            broken = find_breaches(monitor, run.calls, run.states)
            assert [known.breaks(calls[: end + 1]) for end in range(len(calls))] == [
                index in broken for index in range(len(calls))
            ]
            assert known.complies(calls) == (not broken)


def test_a_session_that_mixes_remembered_and_own_calls_records_what_own_calls_record(tasks):
    for task in tasks:
        calls = play(built_in("harmful_late"), task, name="a").calls
        mixed, own = Session(task), Session(task)
        for index, call in enumerate(calls):
            own.call(call.tool, call.arguments)
            if index % 3 == 1:
                mixed.call(call.tool, call.arguments)
            else:
                mixed.repeat(call)
        how: Any = {"epoch": 0, "seed": 0, "answer": "Done.", "ended": "answered", "scoring": PAPER}
        assert episode_json(record_episode(mixed, "a", **how)) == episode_json(record_episode(own, "a", **how))
