"""Benchmarks of runs: episodes per second, and the time that the harness adds to a model's turn."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.runs.bad_server import BadServer, echo_oracle

from benchmarks.claims import Claim, measure
from corepath.files.lookup import all_sources
from corepath.play.golden_run import golden_runs
from corepath.runs.folder import EPISODES
from corepath.runs.plan import Plan

FEW, MANY = 4, 20
"""Epochs of the two runs whose difference is measured: about 10,000 and 50,000 episodes."""


def built_in_agents() -> Iterator[Claim]:
    """The whole command `corepath run` in one process, all built-in agents on all tasks: what further epochs cost."""
    with TemporaryDirectory() as name:
        few, many = (_run(Path(name) / str(epochs), epochs) for epochs in (FEW, MANY))
    episodes, took = many.episodes - few.episodes, many.seconds - few.seconds
    rate, each = episodes / took, (many.peak - few.peak) * 1024 / episodes
    measured = f"{rate:,.0f} ({episodes:,} episodes in {took:.0f} s, after {few.episodes:,} in {few.seconds:.0f} s)"
    yield Claim("run plays 1,500 episodes a second and core once warm", measured, rate >= 1500)
    yield Claim("run takes at most 1 KB for each further episode", f"{each:.2f} KB, {many.peak:.0f} MB", each <= 1)


class _Run(NamedTuple):
    episodes: int
    seconds: float
    peak: float


def _run(folder: Path, epochs: int) -> _Run:
    peak, took = measure("run", "--jobs", 1, "--epochs", epochs, "--out", folder)
    with (folder / EPISODES).open("rb") as lines:
        return _Run(sum(1 for _ in lines), took, peak)


def harness_of_models() -> Iterator[Claim]:
    """One conversation with the same server, with plain requests and with the harness. A turn takes half a second."""
    from corepath.runs import models  # noqa: PLC0415  # the import takes seconds

    wait = 0.5
    source = all_sources(["farm/rover_example"])[0]
    task = source.make()
    run = golden_runs(task, task.simulator, 1)[0]  # type: ignore[arg-type]
    script = echo_oracle({task.prompt: [(call.tool, dict(call.arguments)) for call in run.calls]}, wait=wait)
    with BadServer(script) as server:
        options = {"base_url": server.url, "max_retries": 0, "timeout": 60}

        async def conversations() -> list[float]:
            found = []
            with models.open_harness("m", options, lambda *_: None) as ready:
                for epoch in range(4):
                    begin = time.perf_counter()
                    episode = await ready.play(source, epoch, Plan((source,)))
                    found.append((time.perf_counter() - begin) / episode.extra["turns"])
                await ready.model.api.aclose()
            return found

        ours = asyncio.run(conversations())[1:]  # without the first, which starts the client
        turns = len(run.calls) + 1
        bodies = server.requests[-turns:]
        by_hand = [_by_hand(server.url, bodies) for _ in range(3)]
    added = median(ours) / median(by_hand) - 1
    yield Claim(
        "with a model, the harness adds under 5 % a turn",
        f"{100 * added:.1f} % ({median(by_hand):.3f} s by hand, {median(ours):.3f} s by us, {turns} turns)",
        added < 0.05,
    )


def _by_hand(url: str, bodies: Sequence[object]) -> float:
    """Seconds per turn with plain requests over one connection."""
    host = url.split("/")[2]
    connection = http.client.HTTPConnection(host)
    begin = time.perf_counter()
    for body in bodies:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        connection.getresponse().read()
    seconds = (time.perf_counter() - begin) / len(bodies)
    connection.close()
    return seconds
