"""Changes of a task by single runs, for the command `learn`: `--add` widens it, and `--bad` narrows it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.authoring.learning.narrow import Doubt, find_doubts
from corepath.authoring.learning.version import Version
from corepath.authoring.learning.widen import widen
from corepath.cli.options import require_paths
from corepath.cli.printing import ask, fail, print_text, safe_lines, say, usage_error
from corepath.cli.recorded_runs import RunReader
from corepath.episode import Episode
from corepath.errors import InputError, TaskError, count, no_such_file
from corepath.files.document import Document
from corepath.files.folders import TASK_ENDINGS
from corepath.files.task_edit import edit_task, find_document, parse_documents
from corepath.files.tasks import build_task
from corepath.scoring.tracing import trace_task
from corepath.task import Task

AddOption = Annotated[
    list[Path] | None,
    typer.Option("--add", metavar="RUN", help="Good runs to widen the task by, one after the other.",
                 callback=lambda paths: require_paths(paths or [])),
]  # fmt: skip


def change_task(
    targets: Sequence[str], add: Sequence[Path], bad: Path | None, out_file: Path | None, *, yes: bool, as_json: bool
) -> None:
    """Widen the task in a file by good runs, or narrow it by a bad run, and write it.

    `targets` names the task, and with `bad` also files of good runs. The change is written to `out_file`, or into the
    task's own file if the user agrees, or with `yes`.
    """
    names = [one for one in targets if one.partition("::")[0].endswith(TASK_ENDINGS)]
    goods = require_paths(Path(one) for one in targets if one not in names)
    if not names:
        usage_error(f"{goods[0]} is no task file, as it does not end in {', '.join(TASK_ENDINGS)}; "
                    f"name the task, as in corepath learn --add RUN TASK.yaml")  # fmt: skip
    if len(names) > 1:
        usage_error(f"name one task file, as in TASK.yaml or TASKS.yaml::id, not {len(names)}")
    if add and bad is not None:
        usage_error("--add widens the task and --bad narrows it; do one after the other")
    if goods and bad is None:
        usage_error(f"{goods[0]} is no task file; good runs are named with --add")
    if not Path(names[0].partition("::")[0]).is_file():
        usage_error(no_such_file(names[0].partition("::")[0]))
    session = _Session(find_document(names[0]), as_json)
    try:
        changed = session.add(add) if bad is None else session.doubt(bad, goods, yes=yes)
    except TaskError as error:
        fail(str(error))
    if changed:
        _write(session, out_file, yes=yes)


@dataclass
class _Session:
    """A task file that is changed run by run. `document` is the task as it is now."""

    document: Document
    as_json: bool

    @property
    def task(self) -> Task:
        """The task as it is now."""
        return build_task(self.document)

    def put(self, before: Version, after: Version) -> None:
        """Take over the procedure and the actions of a changed task."""
        known = {action.name: action.notation for action in before.actions}
        changed = {
            action.name: action.notation
            for action in after.actions
            if action.name and known.get(action.name) != action.notation
        }
        old: str = self.document.data["procedure"]
        text = old if str(before.procedure) == str(after.procedure) else str(after.procedure)
        source = edit_task(self.document, text, changed)
        id_ = self.document.data["id"]
        self.document = next(one for one in parse_documents(self.document, source) if one.data["id"] == id_)

    def add(self, paths: Sequence[Path]) -> bool:
        """Widen the task by all runs in some files. Return True if it changed."""
        changed = False
        for name, episode in _load_runs(paths, self.task.id):
            try:
                widened = widen(self.task, episode)
            except TaskError as error:
                raise TaskError.of(f"{name}: {error}") from None
            if widened.changed:
                self.put(widened.before, widened.after)
                changed = True
            row = {"run": name, "changed": widened.changed, "reasons": list(widened.reasons)}
            paths_now = {"golden_paths": widened.after.automaton.count}
            self._print(row | paths_now | self._texts(widened.diff), name, widened.diff, " ".join(widened.reasons))
        return changed

    def doubt(self, bad: Path, goods: Sequence[Path], *, yes: bool) -> bool:
        """Ask what was wrong in a bad run, and narrow the task as the answer says. Return True if it changed."""
        task = self.task
        runs = list(_load_runs([bad], task.id))
        if len(runs) != 1:
            usage_error(f"{bad} has {count(len(runs), 'run')} of task '{task.id}'; --bad takes one")
        name, episode = runs[0]
        good = [one for _, one in _load_runs(goods, task.id)]
        doubts = find_doubts(task, episode, good)
        if not doubts:
            self._print({"run": name, "questions": []}, name, "", _why_no_doubts(task, episode))
            return False
        if yes and not good:
            usage_error("--yes takes the first suggestion that keeps all good runs; name some after the task")
        self._ask(name, doubts)
        chosen = 1 if yes else _choose(len(doubts))
        if not chosen:
            return False
        taken = doubts[chosen - 1]
        self.put(taken.before, taken.after)
        if not self.as_json:
            typer.echo(safe_lines(taken.diff))
            print_text(taken.result)
        return True

    def _ask(self, name: str, doubts: Sequence[Doubt]) -> None:
        if self.as_json:
            rows = [{"question": one.question, "diff": one.diff, "golden_paths": one.after.automaton.count}
                    for one in doubts]  # fmt: skip
            typer.echo(json.dumps({"run": name, "questions": rows}))
            return
        print_text(f"The task accepts {name}. Which step was missing or wrong?")
        for number, one in enumerate(doubts, 1):
            print_text(f"{number}. {one.question}", "   ")

    def _texts(self, diff: str) -> dict[str, Any]:
        return {"procedure": self.document.data["procedure"], "diff": diff}

    def _print(self, row: dict[str, Any], name: str, diff: str, words: str) -> None:
        if self.as_json:
            typer.echo(json.dumps({"task": self.document.data["id"], **row}))
            return
        if diff:
            typer.echo(safe_lines(diff))
        print_text(f"{name}: {words}")


def _load_runs(paths: Sequence[Path], task: str) -> Iterator[tuple[str, Episode]]:
    """Yield the runs of a task in some files, with their names. Runs that name no task are of this one.

    Raises `InputError` if a run cannot be read. Exit with code 2 if a file has no run of the task.
    """
    for path in paths:
        reader = RunReader()
        episodes = [episode for _, episode in reader.read([path])]
        if reader.problems:
            raise InputError(reader.problems)
        reader.print_problems()
        found = [(number, one) for number, one in enumerate(episodes, 1) if one.task in ("", task)]
        if not found:
            others = ", ".join(f"'{one[:60]}'" for one in list(dict.fromkeys(one.task for one in episodes))[:5])
            usage_error(f"{path} has no run of task '{task}', but of {others or 'none'}")
        for number, episode in found:
            name = f"run {number} of {path.name}" if len(episodes) > 1 else path.name
            yield name, replace(episode, task=task)


def _why_no_doubts(task: Task, episode: Episode) -> str:
    trace = trace_task(task, episode.calls, episode.params)
    harmful = next((step for step in trace.steps if step.harm is not None), None)
    if harmful is not None:
        words = str(harmful.harm).replace("_", " ")
        return (
            f"The task rejects the run already: call {harmful.index + 1}, {harmful.call.label}, is harmful ({words})."
        )
    if not trace.end.accepted:
        return "The task rejects the run already: it ends before the task is done."
    return (
        "The task accepts the run, and no small change rejects it and keeps the good runs. "
        "If a call was missing, name good runs that have it after the task."
    )


def _choose(most: int) -> int:
    """Ask for the number of a suggestion. 0 means none, which is the answer where nobody can be asked."""
    if not sys.stdin.isatty():
        say("nothing is written; answer at a terminal, or take the first suggestion with --yes")
        return 0
    while True:
        with ask():
            number = int(typer.prompt("Number, or 0 for none", type=int, default=0))
        if 0 <= number <= most:
            return number
        say(f"a number from 0 to {most}")


def _write(session: _Session, out_file: Path | None, *, yes: bool) -> None:
    """Write the changed file: to `out_file`, or in place if the user agrees."""
    place = Path(session.document.file) if out_file is None else out_file
    if out_file is None and not yes:
        if not sys.stdin.isatty() or session.as_json:
            say(f"nothing is written; write {place} with --yes, or another file with --out")
            return
        with ask():
            agreed = typer.confirm(f"Write {place}?")
        if not agreed:
            return
    place.write_bytes(session.document.source.encode())
    say(f"{place} is written")
