"""Prints an explanation in the terminal: in colour, and wrapped without breaking a word."""

from __future__ import annotations

from textwrap import TextWrapper
from typing import Final

from rich.text import Text

from corepath.automaton.step import Kind
from corepath.cli.printing import out
from corepath.explanation import Explanation, FindingKind, Note
from corepath.values import visible

_KINDS: Final = {Kind.HARM: "bold red", Kind.PROGRESS: "green", Kind.LOOP: "dim"}
_FINDINGS: Final = {FindingKind.HARM: "bold red", FindingKind.RULE: "bold red", FindingKind.FIX: "bold green"}
_LABEL: Final = 10
"""How wide the column with the kind of a call or a finding is."""
_NARROWEST: Final = 20


def print_explanation(found: Explanation) -> None:
    """Print the headline, every call with its note, and the findings."""
    bad = any(note.kind is Kind.HARM for note in found.notes) or any(
        finding.kind in (FindingKind.RULE, FindingKind.OUTSIDE) for finding in found.findings
    )
    for line in _wrap(found.headline, 0):
        _print(Text(line, "bold red" if bad else "bold"))
    if found.notes:
        _print(Text())
        digits = len(str(len(found.notes)))
        for note in found.notes:
            _print_note(note, digits)
    if found.findings:
        _print(Text())
        for finding in found.findings:
            _print_labelled("  ", finding.kind.value, _FINDINGS.get(finding.kind, "bold"), [finding.text])


def _print_note(note: Note, digits: int) -> None:
    """Print a call, and its note beside it if both fit on one line, or else below it."""
    margin = f"  {note.index + 1:>{digits}}  "
    together = f"{note.call}  {note.text}"
    fits = len(margin) + _LABEL + len(together) <= out.width
    _print_labelled(margin, note.kind.value, _KINDS[note.kind], [together] if fits else [note.call, f"  {note.text}"])


def _print_labelled(margin: str, label: str, style: str, paragraphs: list[str]) -> None:
    """Print paragraphs beside a coloured label. All lines but the first are indented below the text."""
    indent = len(margin) + _LABEL
    lines = [line for text in paragraphs for line in _wrap(text, indent)]
    for place, line in enumerate(lines):
        head = (margin, (f"{label:<{_LABEL}}", style)) if not place else (" " * indent,)
        _print(Text.assemble(*head, line))


def _wrap(text: str, indent: int) -> list[str]:
    own = text[: len(text) - len(text.lstrip(" "))]
    width = max(out.width - indent, _NARROWEST)
    made = TextWrapper(
        width, initial_indent=own, subsequent_indent=own, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
    return made.wrap(visible(text.strip())) or [""]


def _print(text: Text) -> None:
    text.rstrip()
    out.print(text, soft_wrap=True)
