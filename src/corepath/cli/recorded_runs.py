"""Reads the runs named with `--good` and `--bad`, and prints questions about them, for the command `check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import typer

from corepath.cli.printing import print_problems, say
from corepath.cli.progress import Counter as Progress
from corepath.episode import EXCLUSIONS, Episode, exclusion
from corepath.errors import Problem, count
from corepath.explanation.sentences import cut
from corepath.importers.folders import NO_FILES, find_files, import_traces
from corepath.importers.registry import recognise_format
from corepath.runs.folder import EPISODES, is_run
from corepath.values import visible
from corepath.verification.run_variants import Question, Questions

MOST_SHOWN: Final = 5
"""How many runs are named for one finding."""
LONGEST_EXAMPLE: Final = 160


@dataclass
class RunReader:
    """Reads episode files, run folders and traces. Episodes that count in no mean are left out, and counted."""

    problems: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def read(self, paths: Iterable[Path]) -> Iterator[tuple[str, Episode]]:
        """Yield the episodes with names for messages, e.g. `good.jsonl:3` for the third in a file."""
        with Progress("runs read").show() as progress:
            for one in import_traces(self._find_files(paths), recognise_format, lambda file: progress.name(str(file))):
                if isinstance(one, Problem):
                    self.problems.append(one)
                elif (reason := exclusion(one.episode)) is not None:
                    self.left_out[reason] += 1
                else:
                    progress.add()
                    yield f"{one.file}:{one.number}", one.episode

    def _find_files(self, paths: Iterable[Path]) -> list[Path]:
        """Find the files with runs. Of a run folder, only the episodes are taken."""
        found: dict[Path, None] = {}
        for path in paths:
            files = find_files([path / EPISODES if is_run(path) else path])
            if not files:
                self.problems.append(Problem(str(path), 1, 1, NO_FILES))
            found |= dict.fromkeys(files)
        return list(found)

    def print_problems(self) -> None:
        """Print what could not be read, and how many episodes were left out."""
        print_problems(self.problems)
        for reason, number in self.left_out.items():
            say(f"{count(number, 'run')} left out: {EXCLUSIONS[reason]}")


def print_questions(found: Questions, describe: Callable[[Question], str]) -> None:
    """Print the questions that faulty variants raise. `describe` says how many are not noticed."""
    for question in found.questions:
        place = f"{question.run}: " if question.run else ""
        example = cut(question.example, LONGEST_EXAMPLE)
        typer.echo(visible(f"? {question} ({describe(question)}, as in {place}{example})"))
    if found.more:
        say(f"and {count(found.more, 'more question')}")
