"""Damaged run folders: whatever a run's files hold, a command ends with a message and never in a traceback."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from corepath.cli import main
from corepath.cli.options import MISSING_EXTRA
from corepath.episode import FAILED_OUTSIDE
from corepath.files.lookup import Source
from corepath.play.play import record_episode
from corepath.play.session import Session
from corepath.runs.episode_check import scores_error
from corepath.runs.folder import EPISODES, MANIFEST, RunFolder
from corepath.runs.plan import Plan
from corepath.runs.served_task import ServedTask, open_folder
from corepath.scoring.options import PAPER

FARM = "farm/dry_plants"
MODEL = "mockllm/model"
AGENTS = ("oracle", "swapped:0.3", "do_nothing")

LARGE = "LARGE"
"""Placeholder for 1e400, which is valid JSON but no float."""
JUNK: list[Any] = [None, True, -1, LARGE, 2.5, "x", "", [], {}, "long " * 4000]
DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]
DEEPER = "DEEPER"
"""Placeholder for lists nested deeper than any reader goes."""


@dataclass(frozen=True)
class Done:
    """The outcome of a command: its exit code, its messages, and an unexpected traceback."""

    code: int | None
    err: str
    raised: str | None


def run(*arguments: object) -> Done:
    """Run the real command line in this process."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    code, raised = None, None
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
        Path(os.devnull).open() as nothing,
    ):
        sys.argv, sys.stdin, sys.stdout, sys.stderr = ["corepath", *map(str, arguments)], nothing, out, err
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException:  # noqa: BLE001  # any other end is what is looked for
            raised = traceback.format_exc()
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = before
        err.seek(0)
        return Done(code, err.read(), raised)


# Runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small undamaged runs: two worlds, seed 3, redacted, with a failed model, and served."""
    folder = tmp_path_factory.mktemp("runs")
    agents = [part for agent in AGENTS for part in ("--agent", agent)]
    options: dict[str, list[object]] = {
        "plain": ["--world", "farm", "--world", "files", "--limit", 1],
        "varied": ["--task", FARM, "--seed", 3, "--epochs", 2],
        "redacted": ["--task", FARM, "--redact", "plant,litres"],
    }
    for name, own in options.items():
        assert run("run", *agents, *own, "--jobs", 1, "--out", folder / name).code == 0
    _run_with_failure(folder / "failed")
    _serve_run(folder / "served")
    return {path.name: path for path in folder.iterdir()}


def _run_with_failure(folder: Path) -> None:
    sources = tuple(Source(task.partition("/")[0], task) for task in (FARM, "farm/threshold"))
    options = {"max_connections": None, "base_url": None, "max_retries": 0, "timeout": 5.0, "threads": 1}
    plan = Plan(sources, agents=("do_nothing",), models=(MODEL,), options=options)
    made = RunFolder.create(folder, plan.manifest())
    more = {
        "turns": 2,
        "usage": {"requests": 2, "input_tokens": 300, "output_tokens": 20, "seconds": 0.5},
    }
    failure = {"failure": {"kind": "timeout", "message": "The service took too long."}}
    with made.writing():
        for number, source in enumerate(plan.sources):
            session = Session(source.make(), clock=lambda: 1.5)
            session.call("unlock_safety", {})
            session.say("I begin.")
            ended, also = (FAILED_OUTSIDE, failure) if number else ("answered", {})
            end: Any = {"epoch": 0, "seed": 0, "answer": "Done.", "ended": ended, "scoring": plan.scoring}
            made.append(record_episode(session, MODEL, **end, more={**more, **also}))
    assert run("run", "--resume", folder, "--jobs", 1).code == 0


def _serve_run(folder: Path) -> None:
    source = Source("farm", FARM)
    made = open_folder(folder, source, 0)
    with made.writing():
        offer = ServedTask(source.make(), made, lambda _: None)
        for name in ("first", "second"):
            offer.visit(name, {"name": "tester", "version": "1"})
            offer.call(name, "unlock_safety", {})
            offer.end(name, "answered", "Done.")


# Damage


class Damage(NamedTuple):
    """A way to damage a copy of a run; `line` is the line of the damaged episode, if there is only one."""

    name: str
    run: str
    do: Callable[[Path], object]
    line: int | None = None


def to_json(value: Any) -> str:
    """JSON text, with the placeholders replaced by what `json` does not write."""
    text = json.dumps(value).replace(f'"{LARGE}"', "1e400")
    return text.replace(f'"{DEEPER}"', "[" * 100_000 + "]" * 100_000)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a record; only the first two items of a list, and nothing inside call values."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        found = list(value.items())
    elif isinstance(value, list):
        found = list(enumerate(value))[:2]
    for key, below in found:
        yield (*path, key)
        if key not in ("state", "arguments", "result"):
            yield from places(below, (*path, key))


def changes(value: Any) -> Iterator[tuple[str, str]]:
    """Every change of a single value in a record: its description, and the text of the changed record."""
    for path in places(value):
        *above, key = path
        for what in (*JUNK, DEEP, DEEPER, "gone", "twice"):
            made = deepcopy(value)
            holder = made
            for name in above:
                holder = holder[name]
            shown = str(what)[:8]
            if what == "gone":
                del holder[key]
            elif what == "twice" and isinstance(holder, list):
                holder.append(holder[key])
            elif what == "twice":
                holder["<twice>"] = holder[key]
            else:
                holder[key] = what
            text = to_json(made).replace('"<twice>"', json.dumps(str(key)))
            yield f"{'.'.join(map(str, path))} = {shown}", text
        if isinstance(key, str):
            made = deepcopy(value)
            holder = made
            for name in above:
                holder = holder[name]
            holder["farm"] = holder.pop(key)
            yield f"{'.'.join(map(str, path))} is called 'farm'", to_json(made)


def write(name: str, text: str) -> Callable[[Path], object]:
    """Overwrite a file of the run."""
    return lambda folder: (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")


def write_line(number: int, text: str) -> Callable[[Path], object]:
    """Replace the line of an episode."""

    def do(folder: Path) -> None:
        lines = (folder / EPISODES).read_text().splitlines()
        lines[number - 1] = text
        (folder / EPISODES).write_text("\n".join(lines) + "\n")

    return do


def damage_manifests(runs: dict[str, Path]) -> Iterator[Damage]:
    """Replace, remove or repeat every value of every manifest."""
    for name, folder in runs.items():
        for what, text in changes(json.loads((folder / MANIFEST).read_text())):
            yield Damage(f"{name}: {MANIFEST}: {what}", name, write(MANIFEST, text))


def damage_episodes(runs: dict[str, Path]) -> Iterator[Damage]:
    """Replace, remove or repeat every value of one episode of every run."""
    for name, folder in runs.items():
        lines = (folder / EPISODES).read_text().splitlines()
        number = 1 + next((place for place, line in enumerate(lines) if '"failure"' in line or "swapped" in line), 0)
        for what, text in changes(json.loads(lines[number - 1])):
            yield Damage(f"{name}: line {number}: {what}", name, write_line(number, text), number)


def damage_bytes(runs: dict[str, Path]) -> Iterator[Damage]:
    """Flip, insert and cut off bytes at random places."""
    chance = Random(13)
    for name, folder in runs.items():
        for file in (one for one in (MANIFEST, EPISODES, "salt", "salt-check") if (folder / one).exists()):
            data = (folder / file).read_bytes()
            for _ in range(30 if file in (MANIFEST, EPISODES) else 10):
                place = chance.randrange(len(data))
                for how, part in {
                    "bit": bytes([data[place] ^ 1 << chance.randrange(8)]),
                    "digit": b"7",
                    "NUL": b"\0",
                    "no UTF-8": b"\xff",
                    "line": b"\n",
                    "quote": b'"',
                }.items():
                    changed = data[:place] + part + data[place + 1 :]
                    yield Damage(f"{name}: {file}: {how} at {place}", name, _write_bytes(file, changed))
                yield Damage(f"{name}: {file}: cut at {place}", name, _write_bytes(file, data[:place]))


def _write_bytes(file: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes(data)


def damage_files(runs: dict[str, Path]) -> Iterator[Damage]:
    """Remove, empty, repeat, swap or replace whole files and lines."""
    for name, folder in runs.items():
        for file in (one for one in (MANIFEST, EPISODES, "salt", "salt-check") if (folder / one).exists()):
            data = (folder / file).read_bytes()
            for how, changed in {
                "empty": b"",
                "an empty line": b"\n",
                "BOM": b"\xef\xbb\xbf" + data,
                "UTF-16": data.decode().encode("utf-16"),
                "NULs": b"\0" * len(data),
                "CRLF": data.replace(b"\n", b"\r\n"),
                "lines swapped": b"".join(reversed(data.splitlines(keepends=True))),
                "twice": data + data,
                "null": b"null\n",
                "a list": b"[1, 2]\n",
                "a text": b'"x"\n',
                "half": data[: len(data) // 2],
                "spaces": b" " * 70_000,
                "deep": b"[" * 100_000,
            }.items():
                yield Damage(f"{name}: {file}: {how}", name, _write_bytes(file, changed))
            yield Damage(f"{name}: no {file}", name, _remove(file))
            yield Damage(f"{name}: {file} is a folder", name, _make_folder(file))
            yield Damage(f"{name}: {file} is a link to nothing", name, _make_link(file))
            if os.geteuid():
                yield Damage(f"{name}: {file} cannot be read", name, _make_unreadable(file))
        yield Damage(f"{name}: one episode more", name, _repeat_episode)
        for other, its in runs.items():
            if other != name:
                yield Damage(
                    f"{name}: {EPISODES} of {other}", name, _write_bytes(EPISODES, (its / EPISODES).read_bytes())
                )


def _repeat_episode(folder: Path) -> None:
    with (folder / EPISODES).open("a") as file:
        file.write((folder / EPISODES).read_text().splitlines()[0] + "\n")


def _remove(file: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).unlink()


def _make_folder(file: str) -> Callable[[Path], object]:
    def do(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).mkdir()

    return do


def _make_link(file: str) -> Callable[[Path], object]:
    def do(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).symlink_to(folder / "nothing")

    return do


def _make_unreadable(file: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).chmod(0)


# Commands

BY = ("agent", "world", "pair", "task", "fault", "harm")
COMMANDS: dict[str, Callable[[Path], Sequence[object]]] = {
    "run --resume": lambda run: ("run", "--resume", run, "--jobs", 1),
    "run --resume --retry": lambda run: ("run", "--resume", run, "--retry", "--jobs", 1),
    "run --resume --dry-run": lambda run: ("run", "--resume", run, "--dry-run"),
    "rescore": lambda run: ("rescore", run),
    "rescore --profile": lambda run: ("rescore", run, "--profile", "recommended", "--json"),
    "serve": lambda run: ("serve", FARM, "--out", run),
    "table": lambda run: ("table", run, "--more", "--intervals"),
    **{f"table --by {by}": lambda run, by=by: ("table", run, "--by", by) for by in BY},  # type: ignore[misc]
    "table --profile": lambda run: ("table", run, "--profile", "recommended"),
    "sensitivity": lambda run: ("sensitivity", run),
    "tasks --items": lambda run: ("tasks", "--items", run),
    "compare": lambda run: ("compare", f"{run}@do_nothing", f"{run}@swapped:0.3"),
    "compare by itself": lambda run: ("compare", run, run),
    "explain": lambda run: ("explain", run),
    "explain --json": lambda run: ("explain", run, "--json"),
    "report": lambda run: ("report", run, "--out", run.with_name("report")),
    "view": lambda run: ("view", run),
    "export": lambda run: ("export", run / EPISODES),
    "score": lambda run: ("score", run),
    "score of the file": lambda run: ("score", run / EPISODES),
    "table of the file": lambda run: ("table", run / EPISODES),
    "explain of the file": lambda run: ("explain", run / EPISODES),
    "report of the file": lambda run: ("report", run / EPISODES, "--out", run.with_name("report")),
}
KINDS = {"manifests": damage_manifests, "episodes": damage_episodes, "bytes": damage_bytes, "files": damage_files}


@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_to_a_run_ends_a_command_in_a_traceback(
    kind: str,
    runs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    damages = list(KINDS[kind](runs))
    pairs = list(zip(damages, cycle(COMMANDS), strict=False))
    if not request.config.getoption("--long"):  # then each command is run once
        chance = Random(13)
        pairs = [chance.choice([pair for pair in pairs if pair[1] == command]) for command in COMMANDS]
    wrong: list[str] = []
    raised = 0
    folder = tmp_path / "run"
    for damage, command in pairs:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(runs[damage.run], folder)
        damage.do(folder)
        done = run(*COMMANDS[command](folder))
        raised += done.raised is not None
        if (why := _wrong(done, damage, command, folder)) and not _is_usual(done, runs[damage.run], command, folder):
            wrong.append(f"{command} on {damage.name}: {why}")
    print(f"\n{kind}: {len(pairs):,} commands on {len(damages):,} damaged runs: {raised:,} tracebacks")
    assert not wrong, f"{len(wrong):,} of {len(pairs):,} commands:\n" + "\n".join(wrong)


def _wrong(done: Done, damage: Damage, command: str, folder: Path) -> str | None:
    """What is wrong with the outcome of a command, or None."""
    if done.raised is not None:
        return done.raised
    may = (0, 1, 2, MISSING_EXTRA) if command.startswith("run") and damage.run == "failed" else (0, 1, 2)
    if done.code not in may:
        return f"exit {done.code}: {done.err}"
    if done.code in (0, MISSING_EXTRA):
        return None
    place = str(folder) if damage.line is None else f"{folder / EPISODES}:{damage.line}:"
    return None if place in done.err else f"exit {done.code} without the place: {done.err!r}"


def _is_usual(done: Done, whole: Path, command: str, folder: Path) -> bool:
    """Whether the command ends in the same way on the undamaged run."""
    if done.raised is not None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    return run(*COMMANDS[command](folder)) == done


@pytest.mark.parametrize("name", ["efficiency", "directness", "state_match", "pc"])
def test_scores_that_lack_one_cannot_stand_in_a_table(name: str, runs: dict[str, Path]) -> None:
    line = json.loads((runs["plain"] / EPISODES).read_text().splitlines()[0])
    assert scores_error(line["scores"], PAPER) is None
    del line["scores"][name]
    assert scores_error(line["scores"], PAPER) == f"it has no score '{name}'"
