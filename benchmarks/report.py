"""Benchmarks of drawing automata, explaining episodes, and writing the report page."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, measure, seconds
from benchmarks.workloads import small_tasks, write_lines
from corepath import Task, any_order, explain, score, tool
from corepath.batch.files import Settings, score_files
from corepath.drawing.draw import draw
from corepath.files.lookup import all_sources
from corepath.play.built_in import BUILT_IN
from corepath.report.loading import load_results
from corepath.report.page import page
from corepath.report.results import Results
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan

AGENTS = tuple(name for name in BUILT_IN if name != "random")


def drawings() -> Iterator[Claim]:
    """Time to draw automata of growing size: any order of 5 to 8 steps has 32 to 256 states."""
    took = {}
    for steps in (5, 6, 7, 8):
        automaton = Task("t", procedure=any_order(*(tool(f"step_{n}")() for n in range(steps)))).automaton
        took[len(automaton.states)] = seconds(lambda automaton=automaton: draw(automaton))  # type: ignore[misc]
    shown = ", ".join(f"{states} states {1000 * time:.0f} ms" for states, time in took.items())
    yield Claim("an automaton of 256 states is drawn in under a second", shown, took[256] < 1)
    growth = took[256] / took[64]
    yield Claim("4 times the states, 5.3 times the edges: at most 12 times as long", f"{growth:.1f} times", growth < 12)


def explanations() -> Iterator[Claim]:
    """Time to explain an episode, compared with scoring it: the built-in agents on every task."""
    with TemporaryDirectory() as name:
        results = _played(Path(name) / "run")
        pairs = [(result.task, result.episode) for result in results.results if result.task is not None]
        gc.collect()
        scoring = seconds(lambda: [score(task, episode) for task, episode in pairs])
        scored = [score(task, episode) for task, episode in pairs]
        explaining = seconds(
            lambda: [explain(task, episode, scored=one) for (task, episode), one in zip(pairs, scored, strict=True)]
        )
        ratio = explaining / scoring
        yield Claim("to explain costs at most twice what it costs to score", f"{ratio:.2f} times", ratio < 2)


def pages() -> Iterator[Claim]:
    """Size of the page of a thousand episodes, and the time to make it."""
    with TemporaryDirectory() as name:
        results = _played(Path(name) / "run")
        some = Results(tuple(islice(results.results, 1000)), results.scoring)
        for result in some.results:
            assert result.task is not None
        took = seconds(lambda: page(some), repeat=2)
        size = len(page(some).encode()) / 1000
        measured = f"{size:,.0f} KB, made in {took:.1f} s"
        yield Claim("the page of a thousand episodes takes less than 1 MB", measured, size < 1000)


LARGE = 100_000
SMALL = 5_000


def large_runs() -> Iterator[Claim]:
    """Memory of `table` and `report` on a run of 100,000 episodes: those of the built-in agents, again and again."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _played(folder / "once")
        small = _repeated(folder / "once", folder / "small", SMALL)
        large = _repeated(folder / "once", folder / "large", LARGE)
        for command in (("table",), ("report", "--out", folder / "report")):
            (before, _), (after, took) = (measure(*command, run) for run in (small, large))
            measured = f"{after:.0f} MB, {took:.0f} s"
            yield Claim(f"{command[0]} of {LARGE:,} episodes takes under 400 MB", measured, after < 400)
            each = (after - before) * 1024 / (LARGE - SMALL)
            yield Claim(f"{command[0]} takes at most 1 KB for each further episode", f"{each:.2f} KB", each <= 1)


def large_scores() -> Iterator[Claim]:
    """Memory of `report` and others on a file of scores of 100,000 episodes of small tasks, nearly all distinct."""
    work = small_tasks()
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(work.write_tasks(folder))
        scores: dict[int, Path] = {}
        for size in (SMALL, LARGE):
            episodes, scores[size] = folder / f"{size}.jsonl", folder / f"{size}-scores.parquet"
            write_lines(episodes, work.lines(size))
            score_files([episodes], scores[size], settings, processes=1)
        commands: dict[str, Callable[[Path], tuple[object, ...]]] = {
            "table": lambda file: ("table", file),
            "compare": lambda file: ("compare", f"{file}@agent 0", f"{file}@agent 1"),
            "fix": lambda file: ("fix", file),
            "report": lambda file: ("report", file, "--out", folder / "report"),
        }
        for title, command in commands.items():
            (before, less), (after, took) = (measure(*command(scores[size])) for size in (SMALL, LARGE))
            measured = f"{after:.0f} MB, {took:.0f} s; {before:.0f} MB, {less:.0f} s for {SMALL:,}"
            yield Claim(f"{title} of {LARGE:,} scores takes under 400 MB", measured, after < 400)


SCORED = 20_000
_STEPS = ("login", "search", "add", "pay")


def score_tables() -> Iterator[Claim]:
    """The table that `score` prints against its `--json`: processor time without that of starting up."""
    with TemporaryDirectory() as name:
        task, many, one = (Path(name) / file for file in ("order.yaml", "many.jsonl", "one.jsonl"))
        task.write_text(f"id: shop/order\nprompt: Order it.\nprocedure: {'() >> '.join(_STEPS)}()\n")
        lines = list(islice(_mistaken_orders(), SCORED))
        many.write_text("".join(lines))
        one.write_text(lines[0])
        rounds = [
            [
                measure("score", "--tasks", task, file, *options)[1]
                for options in ((), ("--json",))
                for file in (one, many)
            ]
            for _ in range(3)
        ]
        start, table, start_json, as_json = map(min, zip(*rounds, strict=True))
        ratio = (table - start) / (as_json - start_json)
        measured = f"{ratio:.2f} times ({table - start:.1f} s against {as_json - start_json:.1f} s for {SCORED:,})"
        yield Claim("the table of score costs at most 1.2 times its --json", measured, ratio <= 1.2)


def _mistaken_orders() -> Iterator[str]:
    """Yield episodes of a task of four steps, with a few steps left out, repeated or swapped."""
    rng = Random(0)
    for epoch in count():
        calls = list(_STEPS)
        for _ in range(rng.randint(0, 3)):
            calls.insert(rng.randint(0, len(calls)), rng.choice((*_STEPS, "drop")))
            calls.pop(rng.randrange(len(calls)))
        made = [{"tool": tool, "arguments": {}, "result": "ok"} for tool in calls]
        yield json.dumps({"version": 1, "task": "shop/order", "agent": "a", "epoch": epoch, "calls": made}) + "\n"


def _repeated(run: Path, folder: Path, episodes: int) -> Path:
    """Make a run with the episodes of another one, each repeated with another epoch."""
    lines = [json.loads(line) for line in (run / EPISODES).read_text().splitlines()]
    epochs = -(-episodes // len(lines))
    made = RunFolder.create(folder, Plan(tuple(all_sources([])), AGENTS, epochs=epochs).manifest())
    repeated = (json.dumps({**line, "epoch": epoch}) + "\n" for epoch in range(epochs) for line in lines)
    with (made.path / EPISODES).open("w") as file:
        file.writelines(islice(repeated, episodes))
    return made.path


def _played(folder: Path) -> Results:
    plan = Plan(tuple(all_sources([])), AGENTS)
    made = RunFolder.create(folder, plan.manifest())
    with made.writing():
        play_function_agents(plan, made, set(), lambda _: None, jobs=1)
    return load_results(folder)
