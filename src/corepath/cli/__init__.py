"""The command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final

import typer
from rich.text import Text

from corepath import __version__
from corepath.aggregate import LEFT_OUT, left_out
from corepath.cli import derive, explain, importing, run, serve, worlds
from corepath.cli import report as reports
from corepath.cli.options import refuse_a_parser_that_misreads
from corepath.cli.printing import print_table, report, safe, safe_lines, say, table, wrong_use
from corepath.cli.profile import Profile
from corepath.drawing import draw
from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.files import load_tasks, read_episodes
from corepath.formats import schema as format_schema
from corepath.score import Score, Scoring, score, with_options
from corepath.show import as_dot, as_json, as_mermaid, as_text, count_text, span
from corepath.sources import Tasks
from corepath.task import NO_AGENT_ACTIONS, Episode, Task
from corepath.world import installed_worlds
from corepath.world import task as world_task

app = typer.Typer(
    help="Judge tool-using agents by their whole path, not by the final state alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_GATES = ("pc", "pc_ktc", "prefix_criticality", "harm_free", "efficiency", "directness", "pc_hlr", "accepted")


class Format(StrEnum):
    """How `show` writes an automaton."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"
    SVG = "svg"


class SchemaOf(StrEnum):
    """What `schema` describes."""

    TASK = "task"
    EPISODE = "episode"


worlds.add_commands(app)
run.add_commands(app)
serve.add_commands(app)
reports.add_commands(app)
explain.add_commands(app)
importing.add_commands(app)
derive.add_commands(app)

TasksOption = Annotated[
    list[Path] | None,
    typer.Option("--tasks", "-t", help="Task files, or folders of them; without it, the tasks of installed worlds."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs.")]


def main() -> None:
    """What the `corepath` command runs."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    refuse_a_parser_that_misreads()
    try:
        app()
    except InputError as error:
        report(error.problems)
        sys.exit(1)
    except OSError as error:  # nobody reads on, or the disk is full; what is still held back cannot be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"corepath: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"corepath {__version__}")
        raise typer.Exit


@app.command("score")
def score_command(
    episodes: Annotated[list[Path], typer.Argument(help="Episode files (JSON lines); - reads standard input.")],
    tasks: TasksOption = None,
    as_json: JsonOption = False,
    profile: Annotated[Profile, typer.Option(help="Which options to start from.")] = Profile.PAPER,
    lam: Annotated[float | None, typer.Option("--lambda", help="Weight of PC beside order in PC-KTC.")] = None,
    beta: Annotated[
        float | None, typer.Option(help="Base of Prefix Criticality; smaller weighs early harm more.")
    ] = None,
    order_fallback: Annotated[
        str | None, typer.Option(help="Order score where fewer than two steps match: a number, or pc.")
    ] = None,
    hlr_references: Annotated[
        str | None, typer.Option(help="What PC+HLR compares with: repaired, or repaired+golden.")
    ] = None,
    errors: Annotated[str | None, typer.Option(help="What a failed call is: no_effect, harmful, or as_called.")] = None,
    undefined_efficiency: Annotated[
        str | None, typer.Option(help="An undefined efficiency in the mean: zero, or skip.")
    ] = None,
    ktc_budget: Annotated[int | None, typer.Option(help="Places that the search for PC-KTC may look at.")] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Exit 1 if any episode scores lower: --fail-under pc=0.9."),
    ] = None,
    max_harm: Annotated[int | None, typer.Option(min=0, help="Exit 1 if any episode has more harmful calls.")] = None,
) -> None:
    """Score episodes against their tasks."""
    try:
        scoring = with_options(
            profile.scoring,
            lam=lam,
            beta=beta,
            order_fallback=_number_or_text(order_fallback),
            hlr_references=hlr_references,
            errors=errors,
            undefined_efficiency=undefined_efficiency,
            ktc_budget=ktc_budget,
        )
    except TaskError as error:
        wrong_use(_of_option(str(error)))
    gate = _Gate(_limits(fail_under or []), max_harm)
    known = Tasks(load_tasks(*_existing(tasks)) if tasks else {})
    rows: list[_Row] = []
    problems = 0
    for row in _scored(_existing_files(episodes), known, scoring):
        if isinstance(row, Problem):
            problems += 1
            report([row])
            continue
        if left_out(row[0]) != "unasked":
            gate.hold(*row)
        if as_json:
            typer.echo(_line(*row))
        else:
            rows.append(_Row.of(*row))
    if not as_json and rows:
        _print_scores(rows, scoring)
    for failure in gate.failures:
        say(f"gate failed: {failure}")
    if problems:
        say(f"{problems} bad {'line' if problems == 1 else 'lines'} left out")
    if problems or gate.failures:
        raise typer.Exit(1)


def _of_option(message: str) -> str:
    """What `Scoring` says of a field, said of the option that sets it."""
    name, _, rest = message.removeprefix("Scoring: ").partition(" ")
    return f"--{'lambda' if name == 'lam' else name.replace('_', '-')} {rest}"


@app.command()
def check(
    tasks: Annotated[list[Path], typer.Argument(help="Task files, or folders of them.")],
    as_json: JsonOption = False,
) -> None:
    """Check task files, and count what they allow."""
    try:
        found = load_tasks(*_existing(tasks))
    except InputError as error:
        if as_json:
            for problem in error.problems:
                typer.echo(json.dumps({"ok": False, **vars(problem)}))
        else:
            report(error.problems)
        raise typer.Exit(1) from None
    made = table("task", "states", "actions", "golden paths", "lengths", "warnings")
    for task in found.values():
        automaton = task.automaton
        warnings = [*task.warnings, *automaton.read_warnings]
        if as_json:
            row = {
                "ok": True,
                "task": task.id,
                "states": len(automaton.states),
                "actions": len(automaton.alphabet.actions),
                "golden_paths": automaton.count,
                "lengths": automaton.lengths,
                "warnings": warnings,
            }
            sys.set_int_max_str_digits(0)  # counts are exact, however long
            typer.echo(json.dumps(row))
            continue
        counts = (len(automaton.states), len(automaton.alphabet.actions))
        made.add_row(
            safe(task.id), *(f"{count:,}" for count in counts), count_text(automaton.count), span(automaton.lengths),
            str(len(warnings)) if warnings else "",
        )  # fmt: skip
        for warning in warnings:
            say(f"warning: {task.id}: {warning}")
    if not as_json:
        print_table(made)


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="A task file, a task of an installed world, or with --tasks an id.")],
    tasks: Annotated[list[Path] | None, typer.Option("--tasks", "-t", help="Where to look for the id.")] = None,
    form: Annotated[Format, typer.Option("--as", help="text, mermaid, dot, json or svg.")] = Format.TEXT,
) -> None:
    """Show a task's automaton."""
    shown = _named(task, tasks)
    match form:
        case Format.TEXT:
            typer.echo("\n\n".join(safe_lines(as_text(one)) for one in shown))
        case Format.MERMAID:
            typer.echo("\n\n".join(as_mermaid(one.automaton) for one in shown))
        case Format.DOT:
            typer.echo("\n\n".join(as_dot(one.automaton) for one in shown))
        case Format.JSON:
            typer.echo(as_json(*shown))
        case Format.SVG:
            if len(shown) > 1:
                wrong_use(
                    f"{task} has {len(shown):,} tasks, and --as svg draws one; name it: corepath show ID --tasks {task}"
                )
            _show_drawing(shown[0])


_MOST_STATES: Final = 60
"""A drawing of more states than these is collapsed: it would be many screens wide and high."""


def _show_drawing(task: Task) -> None:
    made = draw(task.automaton, collapsed=len(task.automaton.states) > _MOST_STATES, name=task.id)
    typer.echo(made.svg, nl=False)
    if made.left_out:
        say(made.left_out)


def _named(task: str, tasks: list[Path] | None) -> list[Task]:
    """The task, or the tasks of a file, that a user named."""
    if not tasks and not Path(task).exists() and task.partition("/")[0] in installed_worlds():
        if "/" not in task:
            wrong_use(f"'{task}' is a world; name one of its tasks (corepath tasks {task} lists them)")
        try:
            return [world_task(task)]
        except TaskError as error:
            wrong_use(str(error))
    found = load_tasks(*_existing(tasks or [Path(task)]))
    if tasks and task not in found:
        wrong_use(f"no task '{task}'{nearest(task, found)}")
    return [found[task]] if tasks else list(found.values())


@app.command()
def schema(of: Annotated[SchemaOf, typer.Argument(help="task or episode.")] = SchemaOf.TASK) -> None:
    """Print the JSON Schema of task files or of episodes, for editors."""
    typer.echo(json.dumps(format_schema(of.value), indent=1))


# Scoring


def _scored(paths: Iterable[Path], tasks: Tasks, scoring: Scoring) -> Iterator[tuple[Episode, Score] | Problem]:
    for path in paths:
        name = "<stdin>" if str(path) == "-" else str(path)
        for line in read_episodes(name, sys.stdin.buffer if str(path) == "-" else None):
            if line.problem is not None:
                yield line.problem
            elif line.episode is not None:
                try:
                    task = tasks.of(line.episode)
                except TaskError as error:
                    yield Problem(name, line.line, 1, str(error))
                else:
                    yield line.episode, score(task, line.episode, scoring)


def _line(episode: Episode, scored: Score) -> str:
    row = {"task": episode.task, "agent": episode.agent, "epoch": episode.epoch, **scored.to_dict()}
    return json.dumps({**row, **{name: episode.extra[name] for name in _BESIDE if name in episode.extra}})


_BESIDE: Final = ("reward", NO_AGENT_ACTIONS)
"""What others said of an episode, and stands beside its scores."""


@dataclass
class _Gate:
    """Limits that every episode must keep."""

    least: dict[str, float]
    max_harm: int | None

    def __post_init__(self) -> None:
        self.failures: list[str] = []

    def hold(self, episode: Episode, scored: Score) -> None:
        """Note where an episode is outside the limits; an undefined score is."""
        name = f"{episode.task} ({episode.agent or 'no agent'}, epoch {episode.epoch})"
        for key, limit in self.least.items():
            value = getattr(scored, key)
            if value is None:
                self.failures.append(f"{name}: {key} is undefined, wanted at least {limit:g}")
            elif value < limit - 1e-12:
                self.failures.append(f"{name}: {key} is {float(value):.3f}, wanted at least {limit:g}")
        if self.max_harm is not None and scored.harm_count > self.max_harm:
            calls = "1 harmful call" if scored.harm_count == 1 else f"{scored.harm_count} harmful calls"
            self.failures.append(f"{name}: {calls}, wanted at most {self.max_harm}")


def _limits(texts: list[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in _GATES:
            wrong_use(f"--fail-under {text}: no score '{name}'{nearest(name, _GATES)}")
        try:
            limits[name] = float(number)
        except ValueError:
            limits[name] = nan
        if not isfinite(limits[name]):
            wrong_use(f"--fail-under {text}: write it as {name}=0.9")
    return limits


def _number_or_text(text: str | None) -> float | str | None:
    if text is None or text == "pc":
        return text
    try:
        return float(text)
    except ValueError:
        return text


# Printing


@dataclass(frozen=True)
class _Row:
    """What the table shows of an episode; its calls need not be kept for it."""

    name: str
    values: tuple[float | None, ...]
    ktc: str
    accepted: bool
    missing: int
    matches: tuple[bool | None, bool | None]
    reward: float | None
    left_out: str | None

    @classmethod
    def of(cls, episode: Episode, scored: Score) -> _Row:
        agent = f" {episode.agent}" if episode.agent else ""
        name = f"{episode.task}{agent}{f' #{episode.epoch}' if episode.epoch else ''}"
        values = tuple(getattr(scored, attribute) for attribute in _COLUMNS)
        matches = (scored.state_match, scored.response_match)
        given = episode.extra.get("reward")
        reward = float(given) if isinstance(given, (bool, int, float)) else None
        why = left_out(episode)
        return cls(name, values, _ktc(scored), scored.accepted, scored.missing_steps, matches, reward, why)


_COLUMNS = {
    "length": "calls", "harm_count": "harm", "pc": "PC", "pc_ktc": "KTC", "prefix_criticality": "Prefix",
    "harm_rate": "Rate", "efficiency": "Eff.", "directness": "Direct.", "pc_hlr": "HLR",
}  # fmt: skip
_COUNTS = ("length", "harm_count")


def _print_scores(rows: list[_Row], scoring: Scoring) -> None:
    in_world = any(match is not None for row in rows for match in row.matches)
    rewarded = any(row.reward is not None for row in rows)
    beside = (*(("State", "Resp.") if in_world else ()), *(("reward",) if rewarded else ()))
    made = table("episode", *_COLUMNS.values(), *beside, "accepted")
    for row in rows:
        shown = [
            str(value) if name in _COUNTS else _shown(value) for name, value in zip(_COLUMNS, row.values, strict=True)
        ]
        shown[list(_COLUMNS).index("pc_ktc")] = row.ktc
        if in_world:
            shown += ["–" if match is None else "yes" if match else "no" for match in row.matches]
        if rewarded:
            shown.append("–" if row.reward is None else f"{row.reward:g}")
        made.add_row(safe(row.name), *shown, "yes" if row.accepted else f"no (−{row.missing})")
    counted = [row for row in rows if row.left_out is None]
    columns = {name: tuple(row.values[place] for row in counted) for place, name in enumerate(_COLUMNS)}
    undefined = columns["efficiency"].count(None)
    if len(rows) > 1:
        made.add_section()
        if scoring.undefined_efficiency == "zero":
            columns["efficiency"] = tuple(value or 0.0 for value in columns["efficiency"])
        means = [
            f"{_mean(values):.1f}" if name in _COUNTS else _shown(_mean(values)) for name, values in columns.items()
        ]
        if in_world:
            means += [_share(row.matches[place] for row in counted) for place in range(2)]
        if rewarded:
            means.append(_shown(_mean(row.reward for row in counted)))
        accepted = _share(row.accepted for row in counted)
        made.add_row(Text(f"mean of {len(counted)}", style="bold"), *means, accepted)
    print_table(made)
    if undefined:
        how = "counted as 0" if scoring.undefined_efficiency == "zero" else "left out"
        say(f"efficiency undefined in {undefined} of {len(counted)} episodes ({how} in the mean)")
    for why, words in LEFT_OUT.items():
        if count := sum(row.left_out == why for row in rows):
            say(f"{count} of {len(rows)} episodes {words}: in no mean")


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _share(values: Iterable[bool | None]) -> str:
    mean = _mean(values)
    return "–" if mean is None else f"{100 * mean:.0f} %"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _ktc(scored: Score) -> str:
    if scored.pc_ktc_lower == scored.pc_ktc_upper:
        return _shown(scored.pc_ktc)
    return f"{scored.pc_ktc_lower:.3f}–{scored.pc_ktc_upper:.3f}"


def _existing(paths: Iterable[Path]) -> list[Path]:
    listed = list(paths)
    for path in listed:
        if not path.exists():
            wrong_use(f"no such file or folder: {path}")
    return listed


def _existing_files(paths: Iterable[Path]) -> list[Path]:
    listed = list(paths)
    for path in _existing(path for path in listed if str(path) != "-"):
        if path.is_dir():
            wrong_use(f"{path} is a folder; name the files of episodes in it")
    return listed
