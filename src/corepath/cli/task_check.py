"""Checks tasks with recorded runs, for the command `check`: good runs, bad runs, and variants of the good ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import typer

from corepath.cli.options import CheckOptions
from corepath.cli.printing import fail, say
from corepath.cli.recorded_runs import MOST_SHOWN, RunReader, print_questions
from corepath.episode import Episode, Variant, variant_name
from corepath.errors import Problem, TaskError, count
from corepath.files.lookup import Source
from corepath.values import visible
from corepath.verification.run_check import RunCheck, check_runs, prepare_run, summarise
from corepath.verification.run_variants import Question


@dataclass
class _RunsOfTask:
    """The good and the bad runs of one variant of a task, by their names."""

    good: dict[str, Episode] = field(default_factory=dict)
    bad: dict[str, Episode] = field(default_factory=dict)


class _Sorter:
    """Sorts runs by the task that they are of. If there is one task, runs that name none are of this task."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.id: source for source in sources}
        self.found: dict[Variant, _RunsOfTask] = {}
        self.others: Counter[str] = Counter()
        """The number of runs of each task that is not checked. The name of a task that is not known is empty."""

    def add(self, name: str, episode: Episode, *, is_good: bool) -> Problem | None:
        """Add a run. Return a problem if it cannot be scored on its task."""
        only = next(iter(self._sources)) if len(self._sources) == 1 else ""
        source = self._sources.get(episode.task or only)
        if source is None:
            self.others[episode.task] += 1
            return None
        try:
            if episode.seed and source.in_file:
                raise TaskError.of(f"the run is of the variant of seed {episode.seed}, and a task file has no variants")
            prepared = prepare_run(source.make(episode.seed or 0), episode)
        except TaskError as error:
            file, _, number = name.rpartition(":")
            return Problem(file, int(number), 1, str(error))
        runs = self.found.setdefault((source.id, episode.seed or 0), _RunsOfTask())
        (runs.good if is_good else runs.bad)[name] = prepared
        return None

    def check(self, *, mutants: bool) -> Iterator[RunCheck]:
        """Check each task that has runs."""
        for (id_, seed), runs in self.found.items():
            task = self._sources[id_].make(seed)
            found = check_runs(task, runs.good, runs.bad, mutants=mutants and bool(runs.good))
            yield replace(found, task=variant_name(id_, seed))

    @property
    def without_runs(self) -> list[str]:
        """The tasks that no run is of."""
        found = {id_ for id_, _ in self.found}
        return [id_ for id_ in self._sources if id_ not in found]


def check_with_runs(sources: Sequence[Source], options: CheckOptions, *, as_json: bool) -> None:
    """Check tasks with runs and print what is found. Exit with code 1 if a good run is punished or a bad one passes."""
    reader, sorter = RunReader(), _Sorter(sources)
    for paths, is_good in ((options.good, True), (options.bad, False)):
        for name, episode in reader.read(paths):
            problem = sorter.add(name, episode, is_good=is_good)
            reader.problems += [] if problem is None else [problem]
    reader.print_problems()
    _print_left_out(sorter)
    if not sorter.found:
        fail(_nothing_to_check(sources, sorter, reader))
    checks = []
    for one in sorter.check(mutants=options.mutants):
        checks.append(one)
        if as_json:
            typer.echo(json.dumps(one.to_dict()))
        else:
            _print_check(one)
    if len(checks) > 1 and not as_json:
        typer.echo(f"\n{count(len(checks), 'task')}: {summarise(checks)}")
    if reader.problems or not all(one.is_ok for one in checks):
        raise typer.Exit(1)


def _print_left_out(sorter: _Sorter) -> None:
    others = sorter.others
    if others and sorter.found:
        say(f"{count(others.total(), 'run')} left out: {_name_tasks(others)}")
    if sorter.found and (missing := sorter.without_runs):
        say(f"{count(len(missing), 'task')} without runs: {', '.join(missing[:MOST_SHOWN])}"
            + ", …" * (len(missing) > MOST_SHOWN))  # fmt: skip


def _name_tasks(others: Counter[str]) -> str:
    """Say which other tasks runs are of, e.g. `of shop/return and 3 more tasks`."""
    named = [one[:60] for one, _ in others.most_common() if one]
    texts = [f"of {', '.join(named[:MOST_SHOWN])}" + ", …" * (len(named) > MOST_SHOWN)] if named else []
    return " and ".join([*texts, *(["without a task"] if others[""] else [])])


def _nothing_to_check(sources: Sequence[Source], sorter: _Sorter, reader: RunReader) -> str:
    tasks = sources[0].id if len(sources) == 1 else f"the {count(len(sources), 'task')}"
    if not sorter.others:
        counted = " that counts" if reader.left_out else " that can be read" if reader.problems else ""
        return f"there is no run{counted}, so nothing was checked"
    others = f"{count(sorter.others.total(), 'run')} {_name_tasks(sorter.others)}"
    return f"no run is of {tasks}, so nothing was checked: {others}"


def _print_check(found: RunCheck) -> None:
    """Print the rates of a task, the good runs that it punishes, the bad runs that pass, and questions."""
    lines = [f"{found.task}: {found.summary}", *_punished_lines(found), *_passing_lines(found)]
    for line in lines:
        typer.echo(visible(line))
    if found.mutants is not None:
        print_questions(found.mutants, _describe)


def _punished_lines(found: RunCheck) -> Iterator[str]:
    for group in found.punished:
        number = len(group.runs)
        yield f"error: {count(number, 'good run')} {'is' if number == 1 else 'are'} punished: {group.cause}"
        yield f"  {group.runs[0]}: {group.headline}"
        if group.advice:
            yield f"  {group.advice}"


def _passing_lines(found: RunCheck) -> Iterator[str]:
    for one in found.passing[:MOST_SHOWN]:
        yield f"error: bad run {one.run} passes: {one.headline}"
        yield f"  {one.advice}"
    if more := found.passing[MOST_SHOWN:]:
        yield f"error: {count(len(more), 'more bad run')} {'passes' if len(more) == 1 else 'pass'}, e.g. {more[0].run}"


def _describe(question: Question) -> str:
    if not question.run:
        return "accepted, and in no good run"
    return f"accepted in {question.missed:,} of {count(question.tried, 'run')}"
