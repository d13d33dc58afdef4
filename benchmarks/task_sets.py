"""Benchmarks of large task sets: what tasks cost that no episode names."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, seconds
from corepath.files.lookup import Tasks
from corepath.files.task_index import TaskIndex
from corepath.files.tasks import load_tasks

MANY = 10_000
ROUNDS = 5

_TASK = """\
version: 1
id: bank/{number}
prompt: "Open an account for customer {number}, and pay 100 into it. Don't do anything else.{more}"
tags: [bank, easy]
tools:
- 'create(name)'
- 'deposit(account_id, amount)'
- 'get_balance(account_id)'
- 'notify(to, text)'
actions:
  create: 'create(name="c{number}")'
  deposit: 'deposit(account_id="A{number}", amount=100)'
  notify: 'notify(to="c{number}", ...)'
procedure: create >> (deposit & notify)
reads: ['get_*(...)']
"""
_SCORE = "from corepath.cli import main; main()"


def large_task_sets() -> Iterator[Claim]:
    """Score one episode with 10,000 tasks, of which it names one, against the same with that task alone."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        episode = folder / "episode.jsonl"
        episode.write_text(json.dumps({"task": "bank/0", "calls": [{"tool": "create", "arguments": {"name": "c0"}}]}))
        one, many = _write_folder(folder / "one", 1), _write_folder(folder / "many", MANY)
        files = _write_files(folder)
        times = {place: float("inf") for place in (one, many, *files)}
        for _ in range(ROUNDS):
            for place, before in times.items():
                times[place] = min(before, _score(place, episode))
        for place in (many, *files):
            ratio = times[place] / times[one]
            more = f"{ratio:.2f} times, {times[place] - times[one]:.2f} s more"
            what = "10,000 files" if place == many else f"10,000 tasks in {place.name}"
            yield Claim(f"score, {what}: at most 2.5 times one task", more, ratio <= 2.5)
        yield from _against_reading(folder, many)


def _against_reading(folder: Path, many: Path) -> Iterator[Claim]:
    """Compare finding ids with reading the files, with building the tasks, and with tasks of ten times the size."""
    large = _write_folder(folder / "large", MANY, " Please." * 700)
    find = seconds(lambda: TaskIndex(many).entries())
    find_large = seconds(lambda: TaskIndex(large).entries())
    read = seconds(lambda: [path.read_bytes() for path in many.iterdir()])
    build = seconds(lambda: load_tasks(_write_folder(folder / "some", MANY // 20)), 1) * 20
    yield Claim("ids of 10,000 files: at most 4 times reading them", f"{find / read:.1f} times", find <= 4 * read)
    yield Claim("ids: at most 2 times as long for tasks 10 times as large", f"{find_large / find:.2f} times",
                find_large <= 2 * find)  # fmt: skip
    yield Claim(
        "ids: at least 20 times faster than building all tasks", f"{build / find:.0f} times", build >= 20 * find
    )
    known = Tasks([many])
    yield Claim("all ids are found", f"{len(known.sources):,}", len(known.sources) == MANY)


def _write_folder(folder: Path, number: int, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    for place in range(number):
        (folder / f"{place:05}.yaml").write_text(_TASK.format(number=place, more=more))
    return folder


def _write_files(folder: Path) -> list[Path]:
    """Write 10,000 tasks into one file: as documents, as a list, and as JSON."""
    tasks = [_TASK.format(number=place, more="") for place in range(MANY)]
    texts = {
        "documents.yaml": "---\n".join(tasks),
        "list.yaml": "".join(f"- {task.rstrip().replace(chr(10), chr(10) + '  ')}\n" for task in tasks),
        "list.json": json.dumps([
            {"id": f"bank/{place}", "prompt": task, "procedure": f'create(name="c{place}")'}
            for place, task in enumerate(tasks)
        ]),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def _score(tasks: Path, episode: Path) -> float:
    """Return the CPU time of `corepath score` in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", _SCORE, "score", "--tasks", str(tasks), str(episode), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
