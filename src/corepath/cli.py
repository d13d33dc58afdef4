"""The command line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corepath import __version__
from corepath.errors import InputError, Problem, TaskError, nearest
from corepath.files import load_tasks, read_episodes
from corepath.formats import schema as format_schema
from corepath.score import PAPER, RECOMMENDED, Score, Scoring, score, with_options
from corepath.show import as_dot, as_json, as_mermaid, as_text, count_text, span
from corepath.task import Episode, Task

app = typer.Typer(
    help="Judge tool-using agents by their whole path, not by the final state alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(highlight=False, stderr=True)

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_GATES = ("pc", "pc_ktc", "prefix_criticality", "harm_free", "efficiency", "directness", "pc_hlr", "accepted")


class Profile(StrEnum):
    """The two named ways to score."""

    PAPER = "paper"
    RECOMMENDED = "recommended"


class Format(StrEnum):
    """How `show` writes an automaton."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


class SchemaOf(StrEnum):
    """What `schema` describes."""

    TASK = "task"
    EPISODE = "episode"


TasksOption = Annotated[
    list[Path], typer.Option("--tasks", "-t", help="A task file, or a folder of them. May be given more than once.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs.")]


def main() -> None:
    """What the `corepath` command runs."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except InputError as error:
        _report(error.problems)
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
    tasks: TasksOption,
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
    max_harm: Annotated[int | None, typer.Option(help="Exit 1 if any episode has more harmful calls.")] = None,
) -> None:
    """Score episodes against their tasks."""
    try:
        scoring = with_options(
            PAPER if profile is Profile.PAPER else RECOMMENDED,
            lam=lam,
            beta=beta,
            order_fallback=_number_or_text(order_fallback),
            hlr_references=hlr_references,
            errors=errors,
            undefined_efficiency=undefined_efficiency,
            ktc_budget=ktc_budget,
        )
    except TaskError as error:
        _wrong_use(str(error))
    gate = _Gate(_limits(fail_under or []), max_harm)
    known = load_tasks(*_existing(tasks))
    rows: list[tuple[Episode, Score]] = []
    problems = 0
    for row in _scored(_existing(episodes), known, scoring):
        if isinstance(row, Problem):
            problems += 1
            _report([row])
            continue
        gate.hold(*row)
        if as_json:
            typer.echo(_line(*row))
        else:
            rows.append(row)
    if not as_json and rows:
        _print_table(rows, scoring)
    for failure in gate.failures:
        _say(f"gate failed: {failure}")
    if problems:
        _say(f"{problems} bad {'line' if problems == 1 else 'lines'} left out")
    if problems or gate.failures:
        raise typer.Exit(1)


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
            _report(error.problems)
        raise typer.Exit(1) from None
    table = _table("task", "states", "actions", "golden paths", "lengths", "warnings")
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
            typer.echo(json.dumps(row))
            continue
        counts = (len(automaton.states), len(automaton.alphabet.actions))
        table.add_row(
            _safe(task.id), *(f"{count:,}" for count in counts), count_text(automaton.count), span(automaton.lengths),
            str(len(warnings)) if warnings else "",
        )  # fmt: skip
        for warning in warnings:
            _say(f"warning: {task.id}: {warning}")
    if not as_json:
        out.print(table)


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="A task file, or with --tasks a task's id.")],
    tasks: Annotated[list[Path] | None, typer.Option("--tasks", "-t", help="Where to look for the id.")] = None,
    form: Annotated[Format, typer.Option("--as", help="text, mermaid, dot or json.")] = Format.TEXT,
) -> None:
    """Show a task's automaton."""
    found = load_tasks(*_existing(tasks or [Path(task)]))
    if tasks and task not in found:
        _wrong_use(f"no task '{task}'{nearest(task, found)}")
    for one in [found[task]] if tasks else found.values():
        match form:
            case Format.TEXT:
                typer.echo(_safe_lines(as_text(one)))
            case Format.MERMAID:
                typer.echo(as_mermaid(one.automaton))
            case Format.DOT:
                typer.echo(as_dot(one.automaton))
            case Format.JSON:
                typer.echo(as_json(one))


@app.command()
def schema(of: Annotated[SchemaOf, typer.Argument(help="task or episode.")] = SchemaOf.TASK) -> None:
    """Print the JSON Schema of task files or of episodes, for editors."""
    typer.echo(json.dumps(format_schema(of.value), indent=1))


# Scoring


def _scored(
    paths: Iterable[Path], tasks: dict[str, Task], scoring: Scoring
) -> Iterator[tuple[Episode, Score] | Problem]:
    for path in paths:
        standard_input = str(path) == "-"
        lines = read_episodes("<stdin>", sys.stdin.buffer) if standard_input else read_episodes(path)
        for line in lines:
            if line.problem is not None:
                yield line.problem
            elif line.episode is not None:
                task = tasks.get(line.episode.task)
                if task is None:
                    message = f"no task '{line.episode.task}'{nearest(line.episode.task, tasks)}"
                    yield Problem(str(path), line.line, 1, message)
                else:
                    yield line.episode, score(task, line.episode, scoring)


def _line(episode: Episode, scored: Score) -> str:
    row = {"task": episode.task, "agent": episode.agent, "epoch": episode.epoch, **scored.to_dict()}
    return json.dumps(row)


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
            self.failures.append(f"{name}: {scored.harm_count} harmful calls, wanted at most {self.max_harm}")


def _limits(texts: list[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in _GATES:
            _wrong_use(f"--fail-under {text}: no score '{name}'{nearest(name, _GATES)}")
        try:
            limits[name] = float(number)
        except ValueError:
            _wrong_use(f"--fail-under {text}: write it as {name}=0.9")
    return limits


def _number_or_text(text: str | None) -> float | str | None:
    if text is None or text == "pc":
        return text
    try:
        return float(text)
    except ValueError:
        return text


# Printing


def _print_table(rows: list[tuple[Episode, Score]], scoring: Scoring) -> None:
    scores = ("PC", "KTC", "Prefix", "Rate", "Eff.", "Direct.", "HLR")
    table = _table("episode", "calls", "harm", *scores, "accepted")
    for episode, scored in rows:
        agent = f" {episode.agent}" if episode.agent else ""
        name = f"{episode.task}{agent}{f' #{episode.epoch}' if episode.epoch else ''}"
        table.add_row(
            _safe(name), str(scored.length), str(scored.harm_count), _shown(scored.pc), _ktc(scored),
            _shown(scored.prefix_criticality), _shown(scored.harm_rate), _shown(scored.efficiency),
            _shown(scored.directness), _shown(scored.pc_hlr),
            "yes" if scored.accepted else f"no (−{scored.missing_steps})",
        )  # fmt: skip
    if len(rows) > 1:
        table.add_section()
        table.add_row(*_means([scored for _, scored in rows], scoring))
    out.print(table)
    undefined = sum(scored.efficiency is None for _, scored in rows)
    if undefined:
        counted = "counted as 0" if scoring.undefined_efficiency == "zero" else "left out"
        _say(f"efficiency undefined in {undefined} of {len(rows)} episodes ({counted} in the mean)")


def _means(scores: list[Score], scoring: Scoring) -> list[Text | str]:
    efficiencies = [one.efficiency for one in scores if one.efficiency is not None]
    if scoring.undefined_efficiency == "zero":
        efficiencies += [0.0] * (len(scores) - len(efficiencies))
    directness = [one.directness for one in scores if one.directness is not None]
    return [
        Text(f"mean of {len(scores)}", style="bold"), f"{fmean(one.length for one in scores):.1f}",
        f"{fmean(one.harm_count for one in scores):.1f}", _mean(one.pc for one in scores),
        _mean(one.pc_ktc for one in scores), _mean(one.prefix_criticality for one in scores),
        _mean(one.harm_rate for one in scores), _mean(efficiencies), _mean(directness),
        _mean(one.pc_hlr for one in scores), f"{100 * fmean(one.accepted for one in scores):.0f} %",
    ]  # fmt: skip


def _mean(values: Iterable[float]) -> str:
    known = list(values)
    return _shown(fmean(known) if known else None)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _ktc(scored: Score) -> str:
    if scored.pc_ktc_lower == scored.pc_ktc_upper:
        return _shown(scored.pc_ktc)
    return f"{scored.pc_ktc_lower:.3f}–{scored.pc_ktc_upper:.3f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        name = column in ("task", "episode")
        left = name or column in ("accepted", "lengths", "warnings")
        table.add_column(column, justify="left" if left else "right", no_wrap=not name, overflow="fold")
    return table


def _safe(text: str) -> Text:
    """An agent's or author's text as it may be printed: no control signs, no markup, not too long."""
    return Text(_visible(text if len(text) <= 120 else text[:119] + "…"))


def _visible(text: str) -> str:
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def _safe_lines(text: str) -> str:
    return "\n".join(map(_visible, text.split("\n")))


def _report(problems: Iterable[Problem]) -> None:
    for problem in problems:
        _say(str(problem))


def _say(text: str) -> None:
    err.print(Text(_visible(text)), soft_wrap=True)


def _existing(paths: Iterable[Path]) -> list[Path]:
    listed = list(paths)
    for path in listed:
        if str(path) != "-" and not path.exists():
            _wrong_use(f"no such file or folder: {path}")
    return listed


def _wrong_use(message: str) -> NoReturn:
    _say(f"corepath: {message}")
    raise typer.Exit(2)
