"""Write learned rules as a rule file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

import yaml

from corepath.authoring.learning.rule_choice import Choice
from corepath.errors import count
from corepath.notation.action import Tool
from corepath.rules.witness import forbids_outright
from corepath.values import visible


def write_rules(choices: Sequence[Choice], good: int, bad: int, tools: Sequence[Tool] | None) -> str:
    """Write a rule file. The comment before a rule says what the runs say about it."""
    runs = f"{count(good, 'good run')}" + (f" and {count(bad, 'bad run')}" if bad else "")
    lines = [
        f"# Learned from {runs}. Keep the rules that you mean, and add 'because: ...' to them.",
        *_write_tools(tools),
    ]
    lines.append("rules:")
    last = True
    for one in choices:
        if last and not one.adds:
            lines += ["", *_comment(_heading(bad))]
        last = one.adds
        lines += [f"  # {describe(one, good, bad)}", f"  - {_quote(str(one.rule))}"]
    return "\n".join(lines) + "\n"


def describe(one: Choice, good: int, bad: int) -> str:
    """Say in how many runs a rule applied and was broken."""
    broken = f"{len(one.counts.broken_bad):,} of {bad:,} bad ones"
    if forbids_outright(one.rule):
        return "broken in no good run" + (f", but in {broken}" if bad else "")
    return f"applied in {one.counts.applied:,} of {good:,} good runs" + (f", broken in {broken}" if bad else "")


def _heading(bad: int) -> str:
    if bad:
        return "The rules above notice all bad runs that these notice."
    return "Rules above are about the same tools."


def _comment(text: str) -> Iterator[str]:
    return (f"  # {line}" for line in wrap(text, 110))


def _write_tools(tools: Sequence[Tool] | None) -> Iterator[str]:
    if tools is not None:
        yield "tools:"
        yield from (f"  - {_quote(str(tool))}" for tool in tools)


def _quote(text: str) -> str:
    """Write text as a YAML value on one line, in quotes only if necessary."""
    return yaml.safe_dump(visible(text), allow_unicode=True, width=10**6).removesuffix("\n...\n").rstrip("\n")
