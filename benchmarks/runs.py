"""Benchmarks of runs: episodes per second, and the time that the harness adds to a model's turn."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.runs.bad_server import BadServer, echo_oracle

from benchmarks.claims import Claim
from corepath.files.lookup import Source, all_sources
from corepath.play.built_in import BUILT_IN
from corepath.play.golden_run import golden_runs
from corepath.runs.folder import RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan

ROUNDS = 6


def built_in_agents() -> Iterator[Claim]:
    """Play, record, score and write all built-in agents on all tasks: CPU time of one process."""
    began = time.process_time()
    sources = tuple(all_sources([]))
    for source in sources:
        source.make()
    yield Claim("made once: all tasks of all worlds", f"{time.process_time() - began:.1f} s for {len(sources)}")
    gc.collect()
    gc.freeze()
    rates = []
    for seconds, episodes in _rounds(sources):
        rates.append(episodes / seconds)
    shown = ", ".join(f"{rate:,.0f}" for rate in rates)
    yield Claim("at least 500 episodes a second and core", f"best round {max(rates):,.0f} ({shown})", max(rates) >= 500)


def _rounds(sources: tuple[Source, ...]) -> Iterator[tuple[float, int]]:
    with TemporaryDirectory() as name:
        for number in range(ROUNDS):
            plan = Plan(sources, agents=BUILT_IN, epochs=number + 1)
            folder = RunFolder.create(Path(name) / str(number), {"tasks": {}})
            earlier = {(agent, source.id, epoch) for agent in BUILT_IN for source in sources for epoch in range(number)}
            with folder.writing():
                begin = time.process_time()
                play_function_agents(plan, folder, set(earlier), lambda _: None, jobs=1)
                yield time.process_time() - begin, len(sources) * len(BUILT_IN)


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
