"""Round trips through every format that we write: all scores stay exactly the same.

By default one task per world, each with another seed; with --long all tasks with the seeds 0 to 4.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import pytest

from corepath import PAPER, RECOMMENDED, Episode, Scoring, Task, installed_worlds, load_episodes, score, task, world
from corepath.files.episodes import episode_json
from corepath.files.lookup import Source
from corepath.importers import import_trace
from corepath.importers.export import openai_record
from corepath.play.built_in import built_in
from corepath.play.play import play
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan
from corepath.runs.served_task import ServedTask, open_folder
from tests.conftest import ROOT

AGENTS = ("oracle", "harmful_early")
SEEDS = range(5)


@cache
def variant(id_: str, seed: int) -> Task:
    return task(id_, seed)


@pytest.fixture(scope="module")
def played(times: int) -> list[Episode]:
    """A golden path and a harmful path for each task; every second seed uses the recommended profile."""
    names = {one: [f"{one}/{name}" for name in world(one).makers] for one in installed_worlds()}
    few = [(tasks[place % len(tasks)], place % len(SEEDS)) for place, tasks in enumerate(names.values())]
    chosen = few if times == 1 else [(id_, seed) for tasks in names.values() for id_ in tasks for seed in SEEDS]
    return [
        play(built_in(agent), variant(id_, seed), name=agent, seed=seed, scoring=(PAPER, RECOMMENDED)[seed % 2])
        for id_, seed in chosen
        for agent in AGENTS
    ]


def scores(episode: Episode) -> dict[str, Any]:
    """The scores of an episode, from its own fields alone."""
    assert episode.seed is not None
    assert episode.fingerprint is not None
    assert episode.scoring is not None
    return score(variant(episode.task, episode.seed), episode, Scoring.of(episode.scoring)).to_dict()


def check(before: Iterable[Episode], after: Iterable[Any]) -> None:
    before, after = list(before), list(after)
    assert [one.task for one in after] == [one.task for one in before]
    for one, other in zip(before, after, strict=True):
        assert (other.seed, other.fingerprint, other.scoring) == (one.seed, one.fingerprint, one.scoring)
        assert repr(scores(other)) == repr(scores(one)), (one.task, one.seed, one.agent)


def test_a_run_folder(played: list[Episode], tmp_path: Path) -> None:
    for seed in SEEDS:
        own = [one for one in played if one.seed == seed]
        sources = {one.task: Source(one.task.partition("/")[0], one.task) for one in own}
        plan = Plan(tuple(sources.values()), AGENTS, seed=seed, scoring=(PAPER, RECOMMENDED)[seed % 2])
        with RunFolder.create(tmp_path / str(seed), plan.manifest()).writing() as folder:
            folder.append(*own)
        check(own, RunFolder.open(tmp_path / str(seed)).episodes())


def test_an_episode_file(played: list[Episode], tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    file.write_text("".join(episode_json(one) + "\n" for one in played))
    check(played, load_episodes(file))


def test_an_export_as_openai_messages(played: list[Episode], tmp_path: Path) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text("".join(json.dumps(openai_record(one)) + "\n" for one in played))
    check(played, import_trace(file))


def test_logs_of_inspect(played: list[Episode], tmp_path: Path) -> None:
    """The answer is the last message of the model, which is always a text."""
    told = [
        replace(one, answer=one.answer if isinstance(one.answer, str) else json.dumps(one.answer)) for one in played
    ]
    plays = [[one.task, one.seed, one.scoring, [(call.tool, call.arguments) for call in one.calls], one.answer]
             for one in told]  # fmt: skip
    (tmp_path / "plays.json").write_text(json.dumps(plays))
    command = [sys.executable, "-m", "tests.runs.inspect_trips", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    again = [one for log in (tmp_path / "logs").iterdir() for one in import_trace(log) if isinstance(one, Episode)]
    check(told, sorted(again, key=lambda one: int(one.extra["metadata"]["sample_id"])))


def test_logs_of_mcp(played: list[Episode], tmp_path: Path) -> None:
    """The episode that the server wrote, and the messages; MCP has no final answer."""
    for number, episode in enumerate(played):
        wire = tmp_path / f"{number}.jsonl"
        kept = asyncio.run(_serve(episode, tmp_path / f"{number}", wire, ("auto", "legacy")[number % 2]))
        assert [call.result for call in kept.calls] == [call.result for call in episode.calls]
        check([kept], import_trace(wire))


async def _serve(episode: Episode, out: Path, wire: Path, mode: str) -> Episode:
    import mcp  # slow to import

    from corepath.runs.mcp_server import mcp_server

    assert episode.seed is not None
    source = Source(episode.task.partition("/")[0], episode.task)
    with open_folder(out, source, episode.seed).writing() as folder:
        served = ServedTask(variant(episode.task, episode.seed), folder, lambda _: None, episode.seed)
        async with mcp.Client(_noted(mcp_server(served, lambda _: "e"), wire), mode=mode) as client:
            for call in episode.calls:
                await client.call_tool(call.tool, dict(call.arguments))
        return served.end("e", "answered")


@asynccontextmanager
async def _noted(server: Any, wire: Path) -> AsyncIterator[Any]:
    """A transport that writes every message between client and server to a file."""
    from mcp.client._memory import InMemoryTransport  # the SDK's own, between a client and a server in one process

    with wire.open("w") as log:
        async with InMemoryTransport(server) as (read, write):
            yield _Noted(read, log), _Noted(write, log)


@dataclass
class _Noted:
    inner: Any
    log: Any

    def _note(self, sent: Any) -> Any:
        from mcp.shared.message import SessionMessage

        if isinstance(sent, SessionMessage):
            self.log.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
        return sent

    async def send(self, sent: Any) -> None:
        await self.inner.send(self._note(sent))

    async def receive(self) -> Any:
        return self._note(await self.inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._note(await self.inner.__anext__())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.inner.aclose()

    async def aclose(self) -> None:
        await self.inner.aclose()
