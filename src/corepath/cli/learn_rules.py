"""Learns rules from runs, for the command `learn --rules`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from corepath.authoring.learning.rule_text import describe
from corepath.authoring.learning.rules import LearnedRules, learn_rules
from corepath.cli.printing import say
from corepath.cli.recorded_runs import RunReader
from corepath.episode import events
from corepath.errors import count
from corepath.files.tool_list import load_tool_list
from corepath.values import visible


def learn_rules_command(
    good: Sequence[Path], bad: Sequence[Path], tools: Path | None, out_file: Path | None, *, as_json: bool
) -> None:
    """Propose rules that all good runs keep, and print or write them. Exit with code 1 if there are none."""
    listed = None if tools is None else [one.tool for one in load_tool_list(tools)]
    reader = RunReader()
    kept = [tuple(events(episode)) for _, episode in reader.read(good)]
    broken = [tuple(events(episode)) for _, episode in reader.read(bad)]
    reader.print_problems()
    if bad and not broken:
        say("corepath: --bad has no runs, so the rules are learned from good runs alone")
    found = learn_rules(kept, broken, listed)
    for note in found.notes:
        say(f"note: {note}")
    if as_json:
        _print_json(found)
    if out_file is not None and found.text:
        out_file.write_text(found.text, encoding="utf-8")
    elif not as_json:
        typer.echo(found.text, nl=False)
    _conclude(found, out_file)
    if reader.problems or not found.rules:
        raise typer.Exit(1)


def _conclude(found: LearnedRules, out_file: Path | None) -> None:
    if not found.rules:
        say("corepath: no rule is proposed" + (", so no file is written" if out_file is not None else ""))
        return
    more = f"; the best of {len(found.rules) + found.more:,}" if found.more else ""
    where = f" in {out_file}" if out_file is not None else ""
    say(f"{count(len(found.rules), 'rule')}{where}{more}; confirm each before you use it")


def _print_json(found: LearnedRules) -> None:
    """Print an object for each rule."""
    for number, one in enumerate(found.choices, 1):
        counts = one.counts
        row = {
            "rule": number, "text": str(one.rule), "support": visible(describe(one, found.good, found.bad)),
            "good": found.good, "bad": found.bad, "applied_good": counts.applied, "applied_bad": counts.applied_bad,
            "broken_bad": len(counts.broken_bad), "adds": one.adds, "unseen": round(one.unseen, 4),
        }  # fmt: skip
        typer.echo(json.dumps(row))
