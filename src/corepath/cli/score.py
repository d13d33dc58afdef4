"""The command that scores episodes: score."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.cli.gate import Gate, Judge, parse_minimums
from corepath.cli.junit import write_junit
from corepath.cli.options import (
    JsonOption,
    ScoreRulesOption,
    TasksOption,
    WideOption,
    WorstOption,
    find_rules,
    find_tasks,
    require_episodes,
    require_paths,
)
from corepath.cli.printing import say, usage_error
from corepath.cli.profile import Profile
from corepath.cli.rule_scores import score_by_rules
from corepath.cli.score_file import score_to_file
from corepath.cli.score_table import print_score_table
from corepath.cli.scored_episodes import pick_worst, score_episodes
from corepath.errors import TaskError, count
from corepath.scoring.options import Scoring, with_options

ScoringOption = Annotated[
    Profile | None, typer.Option(help="Scoring profile. Default: the recorded one, else the paper's.")
]
LambdaOption = Annotated[float | None, typer.Option("--lambda", help="Weight of PC against order in PC-KTC, 0 to 1.")]
BetaOption = Annotated[
    float | None, typer.Option(help="Base of Prefix Criticality: the smaller, the more early harm weighs.")
]
OrderFallbackOption = Annotated[
    str | None, typer.Option(help="Order score if fewer than two steps match: a number, or pc.")
]
HlrReferencesOption = Annotated[
    str | None, typer.Option(help="Paths that PC+HLR compares with: repaired, or repaired+golden.")
]
ErrorsOption = Annotated[str | None, typer.Option(help="How a failed call counts: no_effect, harmful, or as_called.")]
UndefinedEfficiencyOption = Annotated[
    str | None, typer.Option(help="How an undefined efficiency counts in the mean: zero, or skip.")
]
KtcBudgetOption = Annotated[
    int | None, typer.Option(help="Search limit for PC-KTC; beyond it the score is an interval.")
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=NUMBER", help="Exit 1 if an episode scores lower, as in --fail-under pc=0.9."),
]
MaxHarmOption = Annotated[
    int | None, typer.Option(min=0, help="Exit 1 if an episode has more harmful calls than this.")
]
MaxBrokenOption = Annotated[
    int | None, typer.Option(min=0, help="With --rules: exit 1 if an episode breaks more rules than this.")
]
TracesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="EPISODES", help="Episode files (JSON lines) or run folders; with --rules also any traces.",
                   callback=require_paths),
]  # fmt: skip
ScoresOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE.parquet", help="Write the scores of all episodes to this file instead: for "
                 "millions of them (JSON lines, plain, .gz or .zst, or Parquet)."),
]  # fmt: skip
ResumeOption = Annotated[bool, typer.Option("--resume", help="With --out: go on where an interrupted run stopped.")]
ProcessesOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="With --out: how many processes score. Default: one a core.")
]
JunitOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the result of the gate as JUnit XML, for CI.")
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("score")(score_command)


def score_command(
    episodes: TracesArgument,
    tasks: TasksOption = None,
    rules: ScoreRulesOption = None,
    as_json: JsonOption = False,
    wide: WideOption = False,
    worst: WorstOption = None,
    profile: ScoringOption = None,
    lam: LambdaOption = None,
    beta: BetaOption = None,
    order_fallback: OrderFallbackOption = None,
    hlr_references: HlrReferencesOption = None,
    errors: ErrorsOption = None,
    undefined_efficiency: UndefinedEfficiencyOption = None,
    ktc_budget: KtcBudgetOption = None,
    fail_under: FailUnderOption = None,
    max_harm: MaxHarmOption = None,
    max_broken: MaxBrokenOption = None,
    junit: JunitOption = None,
    out: ScoresOption = None,
    resume: ResumeOption = False,
    processes: ProcessesOption = None,
) -> None:
    """Score episodes against their tasks, or traces against rules."""
    options = {
        "lam": lam, "beta": beta, "order_fallback": _number_or_text(order_fallback), "hlr_references": hlr_references,
        "errors": errors, "undefined_efficiency": undefined_efficiency, "ktc_budget": ktc_budget,
    }  # fmt: skip
    scoring = _choose_scoring(profile, options)
    if out is not None:
        unused = {"--worst": worst, "--fail-under": fail_under, "--max-harm": max_harm, "--max-broken": max_broken,
                  "--junit": junit, "--wide": wide or None}  # fmt: skip
        score_to_file(episodes, out, tasks, rules, scoring, resume=resume, processes=processes, as_json=as_json,
                      unused=unused)  # fmt: skip
        return
    if resume or processes is not None:
        usage_error(f"{'--resume' if resume else '--processes'} belongs to --out")
    if rules and not tasks:
        score_by_rules(
            episodes, rules, scoring, as_json=as_json, worst=worst, max_broken=max_broken,
            minimums=parse_minimums(fail_under or []),
        )  # fmt: skip
        return
    if max_broken is not None and not rules:
        usage_error("--max-broken belongs to --rules")
    gate = Gate(parse_minimums(fail_under or []), max_harm, max_broken)
    _score_on_tasks(episodes, tasks, rules, scoring, gate, as_json=as_json, wide=wide, worst=worst, junit=junit)


def _score_on_tasks(
    episodes: list[Path], tasks: list[str] | None, rules: list[Path] | None, scoring: Scoring | None, gate: Gate,
    *, as_json: bool, wide: bool, worst: int | None, junit: Path | None,
) -> None:  # fmt: skip
    """Score episodes one by one, print them, and check the gate."""
    require_episodes(episodes)
    judge = Judge(gate, keep_cases=junit is not None)
    if junit is not None:
        _check_junit(junit, judge.gate)
    scored = judge.check(score_episodes(episodes, find_tasks(tasks), scoring, find_rules(rules)))
    if as_json:
        for one in pick_worst(scored, worst):
            typer.echo(one.to_json())
    else:
        print_score_table(scored, worst, wide=wide)
    if junit is not None:
        write_junit(junit, judge.cases)
    judge.gate.check_complete(judge.judged, episodes)
    _finish(judge, episodes, tasks or [], rules or [])


def _choose_scoring(profile: Profile | None, options: dict[str, Any]) -> Scoring | None:
    """Return the scoring options that the user set, or None if the user set none.

    None means that each episode is scored with the options in its record.
    """
    if profile is None and all(value is None for value in options.values()):
        return None
    try:
        return with_options((profile or Profile.PAPER).scoring, **options)
    except TaskError as error:
        name, _, rest = str(error).removeprefix("Scoring: ").partition(" ")
        usage_error(f"--{'lambda' if name == 'lam' else name.replace('_', '-')} {rest}")


def _number_or_text(text: str | None) -> float | str | None:
    if text is None or text == "pc":
        return text
    try:
        return float(text)
    except ValueError:
        return text


def _check_junit(file: Path, gate: Gate) -> None:
    """Check that the gate has limits and that the XML file can be written, before anything is scored."""
    if not gate.is_set:
        usage_error("--junit writes what a gate finds; set its limits with --fail-under, --max-harm or --max-broken")
    if file.is_dir():
        usage_error(f"--junit {file}: it is a folder")
    if not file.parent.is_dir():
        usage_error(f"--junit {file}: there is no folder {file.parent}")


def _finish(judge: Judge, episodes: list[Path], tasks: list[str], rules: list[Path]) -> None:
    """Print what failed and how to find out why. Exit with code 1 if anything failed."""
    for failure in judge.gate.failures:
        say(f"gate failed: {failure}")
    if judge.gate.failed and Path("-") not in episodes:
        say(f"see why with: {_explain_command(judge.gate.failed[:3], episodes, tasks, rules)}")
    if judge.problems:
        say(f"{count(judge.problems, 'bad line')} left out")
    if judge.problems or judge.gate.failures:
        raise typer.Exit(1)


def _explain_command(numbers: list[int], episodes: list[Path], tasks: list[str], rules: list[Path]) -> str:
    named = [part for name in tasks for part in ("--tasks", name)]
    named += [part for file in rules for part in ("--rules", str(file))]
    which = [part for number in numbers for part in ("--episode", str(number))]
    return shlex.join(["corepath", "explain", *map(str, episodes), *named, *which])
