"""Explanations name the mistakes that the built-in agents plant."""

from __future__ import annotations

import pytest

from corepath import (
    Episode,
    Kind,
    Task,
    play,
    score,
)
from corepath.explanation import Explanation, FindingKind, explain
from corepath.files.lookup import all_sources
from corepath.play.built_in import built_in
from tests.explanation.helpers import (
    everything,
    kinds,
    texts,
)


@pytest.fixture(scope="module")
def every_task() -> list[Task]:
    return [source.make() for source in all_sources([])]


def explain_all(tasks: list[Task], agent: str) -> list[tuple[Task, Episode, Explanation]]:
    """Explain the episodes in which an agent planted its mistake: those of nine in ten tasks."""
    episodes = [(task, play(built_in(agent), task, name=agent)) for task in tasks]
    planted = [(task, episode) for task, episode in episodes if episode.mistake == "planted"]
    assert len(planted) >= 0.9 * len(tasks)
    return [(task, episode, explain(task, episode)) for task, episode in planted]


def missing_tool(task: Task, episode: Episode) -> set[str]:
    """The tools that the episode calls less often than the nearest golden path."""
    names = task.automaton.alphabet
    path = score(task, episode).reference.path
    wanted = [names.actions[names.names.index(name)].tool for name in path]
    given = [call.tool for call in episode.calls]
    return {name for name in wanted if wanted.count(name) > given.count(name)}


def test_a_step_left_out_is_named(every_task):
    for task, episode, found in explain_all(every_task, "left_out"):
        assert {FindingKind.SKIPPED, FindingKind.STOPPED} & set(kinds(found)), task.id
        names = " ".join([*texts(found, FindingKind.SKIPPED), *texts(found, FindingKind.STOPPED)])
        assert any(name in names for name in missing_tool(task, episode)), (task.id, found.headline)


def test_an_early_stop_is_told_as_one(every_task):
    for task, _, found in explain_all(every_task, "early_stop"):
        assert kinds(found)[0] is FindingKind.STOPPED, task.id
        assert found.headline.startswith(("Stopped after", "Made no call", "Only looked")), found.headline


def test_what_was_undone_is_found(every_task):
    every = explain_all(every_task, "undone")
    caught = [found for _, _, found in every if FindingKind.UNDONE in kinds(found)]
    assert len(caught) >= 0.9 * len(every)
    assert sum(" undid call " in found.headline for found in caught) >= 0.9 * len(every)


def test_a_wrong_argument_is_told_by_its_name(every_task):
    for task, episode, found in explain_all(every_task, "wrong_argument"):
        odd = [note for note in found.notes if note.kind is not Kind.PROGRESS]
        names = {name for note in odd for name in episode.calls[note.index].arguments}
        text = everything(found)
        assert any(f"{name} was" in text or f"{name}=" in text for name in names), (task.id, found.headline)
        assert "expected" in text or "needs what" in text, (task.id, text)


@pytest.mark.parametrize("agent", ["harmful_early", "harmful_late", "wrong_tool"])
def test_a_call_that_nobody_asked_for_is_named_in_the_headline(every_task, agent):
    for task, episode, found in explain_all(every_task, agent):
        first = next(note.index for note in found.notes if note.kind is Kind.HARM)
        assert first == {"harmful_early": 0, "harmful_late": len(episode.calls) - 1}.get(agent, first), task.id
        named = f"all {first + 1}, {episode.calls[first].tool}"
        assert found.headline.partition(named)[2][:1] in ("(", ","), (task.id, found.headline)


def test_a_repeated_call_is_told_as_one(every_task):
    for task, _, found in explain_all(every_task, "repeated"):
        text = everything(found)
        assert "repeat" in text or "brought nothing" in text, (task.id, text)


def test_swapped_steps_are_told_as_too_early(every_task):
    every = explain_all(every_task, "swapped")
    early = [
        found for _, _, found in every if "early" in everything(found) or "before it was expected" in everything(found)
    ]
    assert len(early) >= 0.95 * len(every)


def test_every_episode_of_every_agent_has_one_line_and_a_note_a_call(every_task):
    for agent in ("oracle", "do_nothing", "reads_only", "random", "redundant_reads", "wandering"):
        for task in every_task:
            episode = play(built_in(agent), task, name=agent)
            found = explain(task, episode)
            assert "\n" not in found.headline
            assert found.headline[-1] in ".?…", found.headline
            assert [note.index for note in found.notes] == list(range(len(episode.calls)))
            if agent == "oracle":
                assert found.findings == (), (task.id, found)
            if agent in ("redundant_reads", "wandering"):
                assert set(kinds(found)) == {FindingKind.WASTE}, (task.id, found)
