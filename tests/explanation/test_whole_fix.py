"""A fix leads to a path that is right as a whole: every call that stays is played in the world, also those that look.

Without `--long`, only some of the built-in episodes are mended.
"""

from __future__ import annotations

from corepath import Call, Episode, Score, Task, score
from corepath.automaton.step import begin, step
from corepath.explanation.edits import PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.explanation.repair import repair_path
from corepath.world.examples import variant
from corepath.world.exploring import Edge, Node, attempt, replay
from tests.explanation.episodes import built_in_cases


def test_a_fixed_path_has_no_harm_and_is_accepted(times):
    seen = 0
    for name, task, episode, scored, found in built_in_cases(1 if times > 1 else 8):
        repair = _find_repair(task, episode, scored)
        if repair is None or not found.fix:
            continue
        seen += 1
        calls, old = _play(task, episode, repair)
        after = score(task, calls)
        harms = [old[harm.index] for harm in after.harms]
        assert after.accepted, (name, found.fix)
        assert all(index in (repair.broken or ()) for index in harms), (name, harms, found.fix)
        assert len(harms) < len(scored.harms) or not scored.accepted, (name, found.fix)
    assert seen > 100


def _find_repair(task: Task, episode: Episode, scored: Score) -> Repair | None:
    return repair_path(Facts(task, scored, replay(task, episode.calls), episode))


def _play(task: Task, episode: Episode, repair: Repair) -> tuple[list[Call], list[int | None]]:
    """Play the fixed path. Returns its calls, and the old index of each, or None for a call that is new."""
    world = task.simulator
    assert world is not None
    node = Node(begin(task.automaton), task.start)
    calls: list[Call] = []
    old: list[int | None] = []
    for index, edit in _in_order(episode, repair):
        if index is None:
            done = attempt(task, node, edit.symbol, variant(task, 0)) if edit and edit.symbol is not None else None
            assert isinstance(done, Edge), edit
            call, node = done.call, done.after
        else:
            call, state = world.answer(node.state, episode.calls[index])
            node = Node(step(node.position, call)[1], state)
        calls.append(call)
        old.append(index)
    return calls, old


def _in_order(episode: Episode, repair: Repair) -> list[tuple[int | None, PathEdit | None]]:
    """List the calls that stay by their index, and the edits that put in new ones, in the order of the new path."""
    named = {edit.call for edit in repair.path}
    others = [(index, 1, index, None) for index in range(len(episode.calls)) if index not in named]
    steps = [
        (edit.place, 0, edit.call if edit.kind in ("keep", "move") else None, edit)
        for edit in repair.path
        if edit.kind != "leave out"
    ]
    return [(index, edit) for _, _, index, edit in sorted([*steps, *others], key=lambda one: one[:2])]
