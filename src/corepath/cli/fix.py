"""The command that says what to fix: fix."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Final

import typer

from corepath.cli.options import JsonOption, ProfileOption, RulesOption, RunsArgument, TasksOption, find_rules
from corepath.cli.printing import fail, out, say, usage_error
from corepath.cli.progress import show_status
from corepath.cli.results import finish, load
from corepath.errors import count, nearest
from corepath.report.fixes import Cluster, Example, Fixes
from corepath.report.results import Results
from corepath.values import visible

MOST_PRINTED: Final = 10
"""How many causes and tools are printed if the user does not say."""
MOST_EDITS: Final = 4
"""The most edits of a fix that are printed."""
LONGEST_NAME: Final = 120
LONGEST_WORDS: Final = 400
WIDTH: Final = 80
"""The width of the text where there is no terminal."""
_WIDEST: Final = 100
_BAR: Final = 12
_INDENT: Final = 6
_NO_BREAK: Final = "\u00a0"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("fix")(fix_command)


def fix_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    rules: RulesOption = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", help="Only episodes of this agent; may be repeated.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, metavar="N", help=f"Show the N largest causes. Default: {MOST_PRINTED}, JSON: all."
        ),
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what to fix: failed episodes by cause, the largest first, each with an example and its fix."""
    results = load(runs, tasks, profile, find_rules(rules))
    if results.problems and not results.results:
        fail("no episode could be read, so it is not known what to fix")
    with show_status("explaining the episodes that failed"):
        fixes = _find_fixes(results, agents or [])
    if as_json:
        typer.echo(json.dumps(fixes.to_dict(top)))
    else:
        width = max(40, min(out.width, _WIDEST)) if out.is_terminal else WIDTH
        for line in _Text(width, _options(tasks, rules)).lines(fixes, top or MOST_PRINTED):
            typer.echo(line)
    for note in fixes.notes():
        say(note)
    finish(results)


def _find_fixes(results: Results, agents: list[str]) -> Fixes:
    """Find out what to fix, for these agents only if there are any. Exit with code 2 if an agent has no episode."""
    if not agents:
        return results.fixes
    for agent in agents:
        if results.results and agent not in results.by_agent:
            usage_error(f"no episode of agent '{agent}'{nearest(agent, results.by_agent)}")
    return Fixes.of(results.only(agents), [])


def _options(tasks: list[str] | None, rules: list[Path] | None) -> list[str]:
    """Return the options that `corepath explain` needs to see the same tasks and rules."""
    named = [part for name in tasks or () for part in ("--tasks", name)]
    return named + [part for file in rules or () for part in ("--rules", str(file))]


class _Text:
    """Writes what to fix as lines of text, at most `width` characters long. Commands are never broken."""

    def __init__(self, width: int, options: list[str]) -> None:
        self.width, self.options = width, options

    def lines(self, fixes: Fixes, most: int) -> Iterator[str]:
        """Yield the lines for the `most` largest causes, and for harmful calls by tool."""
        if not fixes.failed:
            yield "No episode failed." if fixes.episodes else "There is no episode that counts."
            return
        yield f"{fixes.failed:,} of {count(fixes.episodes, 'episode')} failed."
        if len(fixes.causes) > 1:
            yield from self._wrap(", ".join(_keep(f"{kind} {number:,}") for kind, number in fixes.causes.items()), 0)
        clusters = fixes.clusters
        for one in clusters[:most]:
            yield ""
            yield from self._cluster(one, fixes.failed, len(clusters[0]))
        if rest := clusters[most:]:
            episodes = count(sum(map(len, rest)), "episode")
            yield f"\n{count(len(rest), 'more cause')} ({episodes}): --top {len(clusters)} shows all"
        yield from self._tools(fixes, most)

    def _cluster(self, one: Cluster, failed: int, largest: int) -> Iterator[str]:
        """Yield the lines for one cause: a bar, the count and words, and below them an example and its fix."""
        bar = "█" * max(1, round(_BAR * len(one) / largest))
        begin = f"{len(one):>{len(f'{largest:,}')},}  {bar:<{_BAR}}  "
        yield from self._wrap(_cut(str(one), LONGEST_NAME), len(begin), begin)
        tasks = f", in {count(len(one.tasks), 'task')}" if one.tasks else ""
        agents = f" by {count(len(one.agents), 'agent')}" if len(one.agents) > 1 else ""
        effect = f"; took effect in {one.effected:,}" if one.effected else ""
        about = f"{_percent(len(one) / failed)} of the failures{tasks}{agents}{effect}"
        yield from self._wrap(about, len(begin), " " * len(begin))
        yield from self._example(one.example)

    def _example(self, example: Example) -> Iterator[str]:
        begin = " " * _INDENT
        yield from self._wrap(_cut(example.headline, LONGEST_WORDS), _INDENT, begin)
        if example.fix:
            more = len(example.fix) - MOST_EDITS
            edits = _cut(" ".join(example.fix[:MOST_EDITS]), LONGEST_WORDS) + (
                f" And {count(more, 'more edit')}." if more > 0 else ""
            )
            yield from self._wrap(f"Fix: {edits}", _INDENT, begin)
        if example.explained and example.name.number:
            where = [example.name.place, *self.options, "--episode", str(example.name.number)]
            yield begin + visible(shlex.join(["corepath", "explain", *where]))

    def _tools(self, fixes: Fixes, most: int) -> Iterator[str]:
        """Yield the lines for harmful calls by tool and kind, with what took effect and what was refused."""
        if not fixes.harms:
            return
        yield "\nHarmful calls by tool, took effect/refused:"
        for tool in fixes.tools[:most]:
            counted = {kind: fixes.count_harms(tool, kind) for kind in fixes.kinds}
            kinds = [
                _keep(f"{kind.replace('_', ' ')} {one.effected:,}/{one.refused:,}")
                for kind, one in counted.items()
                if one.total
            ]
            yield from self._wrap(f"{_cut(tool, LONGEST_NAME)}: {', '.join(kinds)}", 4, "  ")
        if (rest := len(fixes.tools) - most) > 0:
            yield f"  {count(rest, 'more tool')}"

    def _wrap(self, text: str, indent: int, begin: str = "") -> list[str]:
        """Break text into lines. Only words that are longer than a line are broken."""
        lines = wrap(visible(text), self.width, initial_indent=begin, subsequent_indent=" " * indent,
                     break_on_hyphens=False)  # fmt: skip
        return [line.replace(_NO_BREAK, " ") for line in lines]


def _keep(text: str) -> str:
    """Keep the words of a text on one line."""
    return text.replace(" ", _NO_BREAK)


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
