"""The built-in agents: their scores, their seeds, and whether mistakes are planted; and sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

import corepath
from corepath import Session, StepLimitError, TaskError, play
from corepath.files.episodes import episode_json
from corepath.files.lookup import all_sources
from corepath.play.built_in import BUILT_IN, built_in
from corepath.scoring.summary import Summary

SOME = ("farm/dry_plants", "transactions/pay_day", "legal/settle_case", "computations/invoice", "files/check_backup")
"""Tasks with many golden paths, with values that must be read, with writes, and one that only reads."""


def made(id_):
    """A task by id; its source caches it."""
    return all_sources([id_])[0].make()


def summary(name, ids=SOME, epochs=2):
    found = Summary(name)
    for id_ in ids:
        for epoch in range(epochs):
            found.add(play(built_in(name), made(id_), name=name, epoch=epoch))
    return found


@pytest.fixture(scope="module")
def every_task():
    return [source.make() for source in all_sources([])]


def test_the_oracle_is_perfect_on_every_task(every_task):
    for task in every_task:
        scores = play(built_in("oracle"), task, name="oracle").scores
        kept = {name: scores[name] for name in ("pc", "harm_count", "efficiency", "pc_hlr", "accepted", "state_match")}
        assert kept == {
            "pc": 1.0,
            "harm_count": 0,
            "efficiency": 1.0,
            "pc_hlr": 1.0,
            "accepted": True,
            "state_match": True,
        }, task.id


def test_the_oracle_plays_random_golden_paths():
    task = made("legal/three_statements")
    paths = {tuple(map(str, play(built_in("oracle"), task, epoch=epoch).calls)) for epoch in range(20)}
    assert len(paths) > 5


@pytest.mark.parametrize("name", ["redundant_reads", "wandering"])
def test_each_mistake_is_planted_in_at_least_nine_of_ten_tasks(name, every_task):
    """The other agents' are counted in tests/explanation/test_planted_mistakes.py, which plays all tasks too."""
    episodes = [play(built_in(name), task, name=name) for task in every_task]
    planted = sum(episode.mistake == "planted" for episode in episodes)
    assert planted >= 0.9 * len(every_task)


def test_every_mistake_lowers_the_scores_that_should_detect_it():
    found = {name: summary(name) for name in BUILT_IN}
    perfect = found["oracle"]
    for name in ("left_out", "swapped", "wrong_argument", "wrong_tool", "early_stop"):
        assert found[name].mean("pc") < perfect.mean("pc"), name
    for name in ("wrong_tool", "harmful_early", "harmful_late", "undone", "random"):
        assert found[name].harmful > 0, name
    for name in ("redundant_reads", "wandering"):
        assert found[name].mean("pc") == 1.0
        assert found[name].mean("directness") < 1.0
    assert found["harmful_early"].mean("prefix_criticality") < found["harmful_late"].mean("prefix_criticality")
    assert found["undone"].mean("state_match") == 1.0
    assert found["do_nothing"].mean("length") == 0.0
    assert found["do_nothing"].mean("prefix_criticality") == found["reads_only"].mean("prefix_criticality") == 1.0


def test_the_rate_is_the_share_of_episodes_with_a_mistake():
    task = made("farm/dry_plants")
    mistakes = [play(built_in("left_out:0.3"), task, name="x", epoch=epoch).mistake for epoch in range(200)]
    assert set(mistakes) == {"planted", "spared"}
    assert 35 <= mistakes.count("planted") <= 85


def test_an_impossible_mistake_is_marked_and_left_out_of_the_means():
    episode = play(built_in("swapped"), made("farm/threshold"), name="swapped")
    assert episode.mistake == "impossible"
    found = Summary("x")
    found.add(episode)
    assert (found.episodes, found.unplanted, found.counted, found.mean("pc")) == (1, 1, 0, None)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_calls(name):
    task = made("transactions/pay_day")

    def played(seed):
        return [episode_json(play(built_in(name), task, name=name, epoch=epoch, seed=seed)) for epoch in range(8)]

    assert played(1) == played(1)
    fixed = ("do_nothing", "harmful_late", "wandering")
    assert name in fixed or [line.partition('"calls"')[2] for line in played(1)] != [
        line.partition('"calls"')[2] for line in played(2)
    ]


def test_an_unknown_agent_or_a_wrong_rate_is_an_error():
    with pytest.raises(TaskError, match="no agent 'orcale'; did you mean"):
        built_in("orcale")
    with pytest.raises(TaskError, match=r"no number from 0 to 1; write it as swapped:0\.3"):
        built_in("swapped:30")
    with pytest.raises(TaskError, match="takes no rate"):
        built_in("oracle:0.5")


# A session


def test_an_agent_is_a_function_of_a_session():
    def hasty(session):
        assert session.prompt.startswith("Read the sensors")
        assert "move_to" in [tool["name"] for tool in session.tools]
        assert session.call("unlock_safety").result is not None
        assert session.call("move_to", {"place": "Z"}).failed
        return "I am stuck."

    episode = play(hasty, made("farm/dry_plants"))
    assert (episode.agent, episode.answer, len(episode.calls)) == ("hasty", "I am stuck.", 2)
    assert episode.outcome == "answered"
    assert episode.scores["length"] == 2


def test_a_reply_is_the_result_or_the_error_as_text():
    def model(session):
        seen = session.reply("read_sensor", '{"plant": "B"}', id="c1", turn=2)
        assert json.loads(seen) == session.calls[0].result
        return session.reply("fly", {"to": "moon"})

    episode = play(model, made("farm/dry_plants"))
    assert [(call.tool, call.id, call.turn, call.failed) for call in episode.calls] == [
        ("read_sensor", "c1", 2, False),
        ("fly", None, None, True),
    ]
    assert episode.answer == f"Error: {episode.calls[1].error}"


def test_calls_are_recorded_as_they_were_sent():
    session = Session(made("farm/dry_plants"))
    sent: list[Any] = [
        '{"place": ',
        "[1]",
        '"A"',
        '{"place": NaN}',
        {"place": 7},
        {"place": float("nan")},
        '{"place": "A", "n": 1}',
    ]
    for arguments in sent:
        session.call("move_to", arguments)
    session.call("fly", {"to": "moon"})
    session.call("", None)
    recorded = [call.arguments for call in session.calls]
    assert recorded[:5] == ['{"place": ', "[1]", '"A"', '{"place": NaN}', {"place": 7}]
    assert recorded[5] == "{'place': nan}"
    assert recorded[6] == {"place": "A", "n": 1}
    assert [call.tool for call in session.calls[-2:]] == ["fly", ""]
    assert all(call.failed for call in session.calls)


def test_the_step_limit_ends_an_episode_and_the_calls_before_it_count():
    task = made("farm/threshold")

    def restless(session):
        while True:
            session.call("rover_status")

    episode = play(restless, task)
    assert (episode.outcome, len(episode.calls)) == ("step limit", task.step_limit)
    session = Session(task)
    for _ in range(task.step_limit):
        session.call("rover_status")
    before = session.state
    with pytest.raises(StepLimitError, match=f"limit of {task.step_limit} calls"):
        session.call("unlock_safety")
    assert session.state == before


def test_the_system_prompt_has_the_rules_and_no_hint_of_the_solution(every_task):
    for task in every_task:
        session = Session(task)
        world = corepath.world(str(task.world))
        assert world.rules.strip() in session.system
        text = session.system + session.prompt
        assert not [decoy for decoy in task.decoys if decoy in text]
        assert "golden" not in text
        assert [tool["name"] for tool in session.tools] == list(world.tools)
