"""Benchmarks of batches: the kernel against peers on the same episodes, files end to end, growth and memory.

All figures are ratios within one run, of CPU time on one core. What does not grow with the episodes is left out: making
tasks, and starting a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks.claims import Claim, interleaved, is_long, ratio_claim, seconds
from benchmarks.coded import code_episodes, outcome, run_all
from benchmarks.naive import NaiveTask, compare, naive_tasks
from benchmarks.workloads import Workload, small_tasks, write_lines, write_parquet
from corepath import Episode, Task, score
from corepath.batch.files import Settings, score_files
from corepath.scoring.arrays import COMPILED

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
MOST_MEMORY = 500
FIRST = 400
"""Lines that are scored to measure how long it takes to begin."""
START = 10_000
"""Lines that are scored to measure what does not grow with their number, such as reading each distinct call once."""
MANY_FILES = 9
"""How many files two processes share, so that a moment of other work hardly counts."""

_SCORE = """
import json, re, sys, time
from pathlib import Path
from corepath.batch.files import Settings, score_files
tasks, out, processes, *files = sys.argv[1:]
if __name__ == "__main__":
    begin, cpu = time.perf_counter(), time.process_time()
    found = score_files([Path(file) for file in files], Path(out), Settings((tasks,)), processes=int(processes))
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
    print(json.dumps([found.episodes, time.perf_counter() - begin, time.process_time() - cpu, peak]))
"""


def kernel_alone() -> Iterator[Claim]:
    """The kernel on coded episodes of small tasks, against listing, agentevals, pm4py, and orjson on the same lines."""
    work = small_tasks()
    episodes, lines = list(work.make(20_000)), list(work.lines(20_000))
    few = episodes[:2_000]
    naive, kept = naive_tasks(work.tasks), naive_tasks(work.tasks, kept=True)
    plain = code_episodes(work.tasks, few, compiled=False)
    far = max(compare(naive[one.task].score(one.calls), score(work.tasks[one.task], one.calls)) for one in few)
    yield Claim("listing gives the same scores, to 1e-12", f"{far:.1e} on {len(few):,} episodes", far < 1e-12)
    runs: dict[str, tuple[Callable[[], object], int]] = {
        "naive": (partial(list_all, naive, few), len(few)),
        "kept": (partial(list_all, kept, few), len(few)),
        "plain": (lambda: run_all(plain), len(few)),
        "orjson": (lambda: parse_lines(lines), len(lines)),
    }
    if COMPILED:
        coded = code_episodes(work.tasks, episodes, compiled=True)
        same = outcome(code_episodes(work.tasks, few, compiled=True)) == outcome(plain)
        yield Claim("compiled or not, the same bits", f"{same}", same)
        runs["kernel"] = (lambda: run_all(coded), len(episodes))
    times = interleaved({name: run for name, (run, _) in runs.items()}, 7)
    per = {name: times[name] / count for name, (_, count) in runs.items()}
    shown = {name: f"{1e6 * value:.2f} µs an episode" for name, value in per.items()}
    yield ratio_claim("not compiled, to listing", per["plain"] / per["naive"], 0.5, shown["plain"])
    if not COMPILED:
        yield Claim("the compiled kernel", "is not there: no compiler was found when corepath was installed")
        return
    mine = per["kernel"]
    yield ratio_claim("compiled, faster than listing", per["naive"] / mine, 150, shown["naive"], at_least=True)
    yield Claim("… and than listing once and keeping the list", f"{per['kept'] / mine:.0f} times ({shown['kept']})")
    yield ratio_claim("compiled, to orjson.loads", mine / per["orjson"], 0.2, f"{shown['kernel']}, {shown['orjson']}")
    yield from _by_kind(work, few)
    yield from _against_peers(work, mine)


def _by_kind(work: Workload, episodes: list[Episode]) -> Iterator[Claim]:
    """How much the ratio depends on what the agents did, since the kernel hardly works where nothing is wrong."""
    kept, naive = naive_tasks(work.tasks, kept=True), naive_tasks(work.tasks)
    kinds: dict[str, list[Episode]] = {"without a mistake": [], "with mistakes": []}
    for one in episodes:
        found = score(work.tasks[one.task], one.calls)
        kinds["without a mistake" if found.pc == 1 else "with mistakes"].append(one)
    for kind, group in kinds.items():
        coded = code_episodes(work.tasks, group, compiled=True)
        times = interleaved({
            "kernel": partial(run_all, coded),
            "naive": partial(list_all, naive, group),
            "kept": partial(list_all, kept, group),
        }, 7)  # fmt: skip
        shown = (
            f"{times['naive'] / times['kernel']:.0f} times, {times['kept'] / times['kernel']:.0f} with the list kept"
        )
        yield Claim(f"… on the {len(group):,} episodes {kind}", shown)


def list_all(naive: Mapping[str, NaiveTask], episodes: list[Episode]) -> None:
    for one in episodes:
        naive[one.task].score(one.calls)


def parse_lines(lines: list[bytes]) -> None:
    for line in lines:
        orjson.loads(line)


def _against_peers(work: Workload, mine: float) -> Iterator[Claim]:
    if not PEERS.exists():
        yield Claim("agentevals and pm4py", "are missing: make peers installs them in .venv-peers")
        return
    with TemporaryDirectory() as folder:
        tasks, lines = Path(folder) / "tasks.json", Path(folder) / "lines.jsonl"
        tasks.write_text(json.dumps({id_: _describe(task) for id_, task in work.tasks.items()}), encoding="utf-8")
        write_lines(lines, work.lines(1_000))
        done = subprocess.run(
            [PEERS, ROOT / "benchmarks" / "peers.py", tasks, lines], capture_output=True, text=True, check=True
        )
    theirs: dict[str, float] = json.loads(done.stdout)
    for name, limit in (("agentevals", 1_000), ("pm4py", 500)):
        variant = min((one for one in theirs if one.startswith(name)), key=theirs.__getitem__)
        ratio, shown = theirs[variant] / mine, f"{variant}: {1e6 * theirs[variant]:.0f} µs"
        yield ratio_claim(f"compiled, faster than {name}", ratio, limit, shown, at_least=True)


def _describe(task: Task) -> dict[str, Any]:
    """Return a small task as the peers need it, with its first golden path."""
    automaton = task.automaton
    names, states = automaton.alphabet.names, automaton.states
    steps = {
        name: (action.tool, json.loads(str(dict(action.arguments.fields)["ticket"])))
        for name, action in zip(names, automaton.alphabet.actions, strict=True)
    }
    golden = (steps[names[symbol]] for symbol in next(iter(automaton.golden.paths())))
    return {
        "steps": steps,
        "reads": [pattern.tool for pattern in automaton.alphabet.reads],
        "start": states[automaton.start],
        "accept": [states[state] for state in sorted(automaton.accepting)],
        "transitions": {
            states[state]: {names[symbol]: states[after] for symbol, after in edges.items()}
            for state, edges in enumerate(automaton.delta)
        },
        "golden": [{"tool": tool, "arguments": {"ticket": ticket, "note": "as agreed"}} for tool, ticket in golden],
    }


def score_against_listing() -> Iterator[Claim]:
    """score() on small tasks, against listing with rapidfuzz."""
    work = small_tasks()
    episodes = list(work.make(2_000))
    naive = naive_tasks(work.tasks)
    times = interleaved({
        "naive": partial(list_all, naive, episodes),
        "score": lambda: [score(work.tasks[one.task], one.calls) for one in episodes],
    }, 7)  # fmt: skip
    shown = f"{1e6 * times['score'] / len(episodes):.1f} µs an episode"
    yield ratio_claim("score(), to listing", times["score"] / times["naive"], 1.5, shown)


def end_to_end() -> Iterator[Claim]:
    """Files of small tasks scored into a file by one process, against orjson.loads of the same lines."""
    count = 1_000_000 if is_long() else 100_000
    limits = {"JSON lines": 2.5, "Parquet": 1.0, "10 % unique": None, "30 % unique": 4.0, "100 % unique": None}
    with TemporaryDirectory() as name:
        folder = Path(name)
        tasks = small_tasks().write_tasks(folder)
        for what, limit in limits.items():
            unique = int(what.split()[0]) / 100 if what.endswith("unique") else 0.0
            files = _write(folder, small_tasks(unique), (START, count), parquet=what == "Parquet")
            ratio, shown = _time_file(files, folder, tasks, count)
            if limit is None:
                yield Claim(f"{count:,} episodes, {what}", f"{ratio:.2f} times ({shown})")
            else:
                yield ratio_claim(f"{count:,} episodes, {what}, to orjson.loads", ratio, limit, shown)
            for file in files:
                file.unlink()


def _write(folder: Path, work: Workload, counts: tuple[int, ...], *, parquet: bool = False) -> list[Path]:
    """Write files of JSON lines, and the last one as Parquet too if asked."""
    files = []
    for count in counts:
        files.append(folder / f"{count}.jsonl")
        write_lines(files[-1], work.lines(count))
        if parquet:
            files.append(folder / f"{count}.parquet")
            write_parquet(files[-1], work.make(count))
    return files


def _time_file(files: list[Path], folder: Path, tasks: tuple[str, ...], count: int) -> tuple[float, str]:
    """Return the time to score the last file, to that of parsing the lines. Both leave out the first file's."""
    ours = files[1::2] if len(files) > 2 else files
    lines = files[-1].with_suffix(".jsonl")
    best = {"start": float("inf"), "ours": float("inf"), "orjson": float("inf")}
    for _ in range(3):
        for name, work in (
            ("start", partial(_score_file, ours[0], folder, tasks)),
            ("ours", partial(_score_file, ours[1], folder, tasks)),
        ):
            best[name] = min(best[name], seconds(work, 1))
        best["orjson"] = min(best["orjson"], _time_parsing(lines))
    mine, floor = (best["ours"] - best["start"]) / (count - START), best["orjson"] / count
    return mine / floor, f"{1e6 * mine:.2f} and {1e6 * floor:.2f} µs an episode"


def _score_file(file: Path, folder: Path, tasks: tuple[str, ...]) -> None:
    out = folder / "scores.parquet"
    out.unlink(missing_ok=True)
    report = score_files([file], out, Settings(tasks), processes=1)
    assert not report.ordinary
    assert not report.bad


def _time_parsing(file: Path) -> float:
    """CPU seconds of `orjson.loads` on all lines, without reading them."""
    taken = 0.0
    with file.open("rb") as stream:
        while lines := list(islice(stream, 50_000)):
            taken += seconds(partial(parse_lines, lines), 1)
    return taken


def growth_of_batches() -> Iterator[Claim]:
    """Time and memory of a process that scores ten times the episodes, with 30 % unique calls."""
    few = 100_000 if is_long() else 20_000
    with TemporaryDirectory() as name:
        folder = Path(name)
        work = small_tasks(0.3)
        (tasks,) = work.write_tasks(folder)
        files = _write(folder, work, (FIRST, few, 10 * few))
        start, one, ten = (min(_score_in_process(folder, tasks, 1, [file])[2] for _ in range(2)) for file in files)
        shown = f"{ten - start:.1f} s for {10 * few:,}"
        yield ratio_claim("ten times the episodes", (ten - start) / (one - start), 11, shown)
        times = 10 if is_long() else 1
        names = [folder / f"again{number}.jsonl" for number in range(times)]
        for link in names:
            link.symlink_to(files[-1])
        episodes, _, _, peak = _score_in_process(folder, tasks, 1, names)
        yield Claim(f"{episodes:,} episodes in under {MOST_MEMORY} MB", f"{peak} MB", peak < MOST_MEMORY)


def two_processes() -> Iterator[Claim]:
    """How much faster two processes are than one, against what a pure-CPU control gains in the same run."""
    few = 200_000 if is_long() else 100_000
    best: dict[str, float] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        work = small_tasks()
        (tasks,) = work.write_tasks(folder)
        files = _write(folder, work, (few,))
        names = [folder / f"part{number}.jsonl" for number in range(MANY_FILES)]
        for link in names:
            link.symlink_to(files[0])
        for _ in range(5):
            for processes in (1, 2):
                for count in (1, MANY_FILES):
                    taken = _score_in_process(folder, tasks, processes, names[:count])[1]
                    _keep_best(best, f"{processes} processes, {count} files", taken)
                _keep_best(best, f"{processes} controls", _spin(processes))
    mine = _difference(best, 1) / _difference(best, 2)
    control = best["1 controls"] / best["2 controls"]
    shown = f"{mine:.2f} times faster with two, the control {control:.2f}"
    yield ratio_claim("two processes, of a control's gain", mine / control, 0.85, shown, at_least=True)


def _difference(best: dict[str, float], processes: int) -> float:
    """Return the seconds for more files, without starting processes."""
    return best[f"{processes} processes, {MANY_FILES} files"] - best[f"{processes} processes, 1 files"]


def _keep_best(best: dict[str, float], name: str, taken: float) -> None:
    best[name] = min(best.get(name, taken), taken)


def _score_in_process(folder: Path, tasks: str, processes: int, files: list[Path]) -> tuple[int, float, float, int]:
    """Score files in a new process. Returns the episodes, the seconds, the CPU seconds and the peak memory in MB."""
    script = folder / "score.py"
    script.write_text(_SCORE, encoding="utf-8")
    out = folder / "scores.parquet"
    out.unlink(missing_ok=True)
    given = [sys.executable, str(script), tasks, str(out), str(processes), *map(str, files)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(given, capture_output=True, text=True, check=True, env=environment)
    found = json.loads(done.stdout)
    return found[0], found[1], found[2], found[3]


def _spin(processes: int) -> float:
    """Seconds until a fixed amount of pure computation is done by some processes that are already running."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(_count, [1] * processes))
        begin = time.perf_counter()
        list(pool.map(_count, [20_000_000 // processes] * processes))
        return time.perf_counter() - begin


def _count(limit: int) -> int:
    total = 0
    for number in range(limit):
        total += number & 7
    return total
