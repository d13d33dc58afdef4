"""Checks a rule file, for the command `check`: witnesses, contradictions, recorded runs and faulty variants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from corepath.cli.options import RuleCheck
from corepath.cli.printing import print_problems, say, usage_error
from corepath.cli.progress import Counter as Progress
from corepath.episode import events, exclusion
from corepath.errors import Problem, count
from corepath.files.rules import RuleSet, load_rules
from corepath.importers.folders import find_files, import_traces
from corepath.importers.registry import recognise_format
from corepath.rules.rule import Rule
from corepath.rules.trace_text import trace_to_dicts, write_trace
from corepath.rules.verdict import State
from corepath.rules.witness import MOST_TRACES, Answer, forbids_outright
from corepath.runs.folder import EPISODES, is_run
from corepath.values import visible
from corepath.verification.rule_mutants import MutantFindings, find_questions
from corepath.verification.rule_relations import Contradiction, Implication, Relations, relate
from corepath.verification.rule_runs import Run, RunFindings, judge_runs

MOST_SHOWN: Final = 5
"""How many runs are named for one finding."""
_STATES: Final = (State.KEPT, State.BROKEN, State.OWED, State.UNCLEAR)


@dataclass(frozen=True)
class Finding:
    """Something that a check found. `rules` are numbered from 1. An error makes the command exit with code 1."""

    kind: str
    text: str
    rules: tuple[int, ...] = ()
    is_error: bool = False
    more: tuple[tuple[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        head = {"finding": self.kind, "error": self.is_error, "rules": list(self.rules)}
        return {**head, "text": self.text, **dict(self.more)}


def check_rule_file(path: str, options: RuleCheck, *, as_json: bool) -> None:
    """Check a rule file and print what is found. Exit with code 1 if something is wrong with the rules."""
    if options.mutants and not options.good:
        usage_error("--mutants makes faulty variants of good runs; name them with --good RUNS")
    found = load_rules(path)
    for warning in found.warnings:
        say(f"warning: {warning}")
    problems: list[Problem] = []
    good = list(read_runs(options.good, problems, is_good=True))
    bad = list(read_runs(options.bad, problems, is_good=False))
    print_problems(problems)
    relations = relate(found.rules, options.traces or MOST_TRACES)
    runs = judge_runs(found.rules, [*good, *bad])
    mutants = find_questions(found.rules, good) if options.mutants else None
    findings = [*rule_findings(found.rules, relations), *_run_findings(found.rules, runs)]
    if as_json:
        _print_json(found, relations, runs, findings, mutants)
    else:
        _print_rules(found.rules, relations, runs)
        print_findings(findings)
        _print_questions(mutants)
    if problems or any(one.is_error for one in findings):
        raise typer.Exit(1)


def read_runs(paths: Iterable[Path], problems: list[Problem], *, is_good: bool) -> Iterator[Run]:
    """Yield the episodes in episode files, run folders and traces. Those that count in no mean are left out."""
    files = find_files(path / EPISODES if is_run(path) else path for path in paths)
    with Progress("runs read").show() as progress:
        for one in import_traces(files, recognise_format, lambda file: progress.name(str(file))):
            if isinstance(one, Problem):
                problems.append(one)
            elif exclusion(one.episode) is None:
                progress.add()
                yield Run(f"{one.file}:{one.number}", tuple(events(one.episode)), is_good)


# What was found


def rule_findings(rules: Sequence[Rule], relations: Relations) -> Iterator[Finding]:
    """Yield what is wrong with the rules themselves, and what a search could not decide."""
    for what, answers in (("kept", relations.kept), ("broken", relations.broken)):
        for number, answer in enumerate(answers):
            name = f"rule {number + 1}, '{rules[number]}',"
            if answer.is_impossible:
                yield Finding(f"cannot be {what}", f"{name} cannot be {what}: {_tried(answer)}", (number + 1,), True)
            elif answer.trace is None:
                text = f"{name} may or may not be {what} by some trace: none found within {answer.tried:,} traces"
                yield Finding("undecided", text, (number + 1,))
    yield from (_contradiction(rules, one) for one in relations.contradictions)
    for one, other in relations.exclusive:
        text = f"{_name((one + 1, other + 1))} never both apply in one trace of sample events without breaking one"
        yield Finding("exclusive", text, (one + 1, other + 1))
    yield from _implications(rules, relations.implications)
    for group, implied in relations.undecided:
        numbers = tuple(number + 1 for number in group)
        what = f"whether {_name(numbers[:1])} is implied by {_name(numbers[1:])}" if implied else (
            f"whether {_name(numbers)} contradict each other")  # fmt: skip
        yield Finding("undecided", f"{what}: not decided within {relations.most:,} traces", numbers)


def _tried(answer: Answer) -> str:
    return f"no trace of sample events, of any length ({count(answer.tried, 'trace')} tried)"


def _contradiction(rules: Sequence[Rule], one: Contradiction) -> Finding:
    numbers = tuple(number + 1 for number in one.rules)
    text = f"{_name(numbers)} contradict each other: "
    text += f"in no trace of sample events rule {one.kept + 1} applies and all are kept"
    if one.broken is not None:
        shown = write_trace(one.witness, [rules[number] for number in one.rules])
        text += f"; {shown} keeps rule {one.kept + 1} and breaks rule {one.broken + 1}"
    return Finding("contradiction", text, numbers, True, (("witness", trace_to_dicts(one.witness)),))


def _implications(rules: Sequence[Rule], found: Sequence[Implication]) -> Iterator[Finding]:
    pairs = {(one.rule, one.by) for one in found}
    for one in found:
        by = tuple(number + 1 for number in one.by)
        shown = write_trace(one.witness, [rules[number] for number in (one.rule, *one.by)])
        same = len(one.by) == 1 and (one.by[0], (one.rule,)) in pairs
        if same and one.rule > one.by[0]:
            continue
        text = (
            f"{_name((one.rule + 1, *by))} say the same" if same else f"rule {one.rule + 1} is implied by {_name(by)}"
        )
        text += ": no trace of sample events breaks "
        text += "only one of them" if same else f"it and keeps {'that' if len(by) == 1 else 'those'}"
        text += f"; {shown} breaks both" if len(by) == 1 else f"; {shown} breaks it and one of those"
        yield Finding("implied", text, (one.rule + 1, *by), more=(("witness", trace_to_dicts(one.witness)),))


def _run_findings(rules: Sequence[Rule], runs: RunFindings) -> Iterator[Finding]:
    """Yield what runs show about the rules."""
    for number, rule in enumerate(rules):
        alarms = [one for one in runs.false_alarms if one.rule == number]
        for alarm in alarms[:MOST_SHOWN]:
            text = f"rule {number + 1}, '{rule}', is broken in a good run, {alarm.run}: {'; '.join(alarm.why)}"
            yield Finding("broken in a good run", text, (number + 1,), True, (("run", alarm.run),))
        if len(alarms) > MOST_SHOWN:
            text = f"rule {number + 1} is broken in {len(alarms) - MOST_SHOWN:,} more good runs"
            yield Finding("broken in a good run", text, (number + 1,), True)
        if unclear := runs.states[number][State.UNCLEAR]:
            text = f"rule {number + 1} has a window in time, and {count(unclear, 'run')} no times"
            yield Finding("unclear", text, (number + 1,))
    for number in runs.never_applied:
        if forbids_outright(rules[number]) and rules[number].between is None:
            continue
        text = f"rule {number + 1}, '{rules[number]}', applies in none of {count(runs.runs, 'run')}"
        yield Finding("never applies", text, (number + 1,))
    for name in runs.unnoticed:
        yield Finding("bad run not noticed", f"bad run {name}: no rule notices it", more=(("run", name),))


def _name(numbers: Sequence[int]) -> str:
    """Name rules by their numbers, e.g. `rules 1, 2 and 5`."""
    if len(numbers) == 1:
        return f"rule {numbers[0]}"
    return f"rules {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


# Printing


def _print_rules(rules: Sequence[Rule], relations: Relations, runs: RunFindings) -> None:
    """Print each rule with a trace that keeps it and one that breaks it."""
    for number, rule in enumerate(rules):
        typer.echo(visible(f"{number + 1}. {rule}"))
        kept, broken = relations.kept[number], relations.broken[number]
        if kept.trace == ():
            typer.echo("   kept by:   any trace without it")
        else:
            typer.echo(visible(f"   kept by:   {_write(kept, rule)}"))
        typer.echo(visible(f"   broken by: {_write(broken, rule)}"))
        if runs.runs:
            states = runs.states[number]
            shown = [f"{state.value} in {states[state]:,}" for state in _STATES if states[state]]
            typer.echo(f"   in {count(runs.runs, 'run')}: {', '.join(shown) or 'does not apply'}")


def _write(answer: Answer, rule: Rule) -> str:
    if answer.trace is None:
        return "no trace of sample events" if answer.complete else f"not found within {answer.tried:,} traces"
    return write_trace(answer.trace, [rule])


def print_findings(findings: Sequence[Finding]) -> None:
    """Print what a check found, after an empty line."""
    if findings:
        typer.echo()
    for one in findings:
        typer.echo(visible(f"{'error' if one.is_error else 'note'}: {one.text}"))


def _print_questions(mutants: MutantFindings | None) -> None:
    if mutants is None:
        return
    typer.echo()
    typer.echo(f"{count(mutants.tried, 'faulty variant')} of good runs tried, {mutants.missed:,} noticed by no rule"
               + (f", {mutants.skipped:,} more not tried" if mutants.skipped else ""))  # fmt: skip
    for question in mutants.questions:
        typer.echo(visible(f"? {question} ({question.missed:,} of {question.tried:,} not noticed, "
                           f"as in {question.run}: {question.example})"))  # fmt: skip


def _print_json(
    found: RuleSet, relations: Relations, runs: RunFindings, findings: Sequence[Finding],
    mutants: MutantFindings | None,
) -> None:  # fmt: skip
    """Print an object for each rule, each finding and each question."""
    for number, rule in enumerate(found.rules):
        states = runs.states[number]
        row: dict[str, Any] = {"rule": number + 1, "text": str(rule), "file": found.file, "line": found.lines[number]}
        for name, answer in (("kept", relations.kept[number]), ("broken", relations.broken[number])):
            row[f"{name}_by"] = None if answer.trace is None else trace_to_dicts(answer.trace)
            row[f"{name}_complete"] = answer.trace is not None or answer.complete
        typer.echo(json.dumps({**row, "runs": {state.value: states[state] for state in State if states[state]}}))
    for one in findings:
        typer.echo(json.dumps(one.to_dict()))
    for question in () if mutants is None else mutants.questions:
        row = {**vars(question), "about": list(question.about)}
        typer.echo(json.dumps({"question": str(question), **row}))
