"""The command that exports episodes and scores for other tools: export."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from corepath.batch.export import TARGETS, Export
from corepath.batch.export_rows import NAMES, USUAL, find_score_files, read_score_rows
from corepath.batch.export_send import Sender, check_address
from corepath.batch.export_target import Target
from corepath.cli.importing import Log, open_output
from corepath.cli.options import OutFileOption, require_episodes, require_paths
from corepath.cli.printing import fail, say, usage_error
from corepath.cli.progress import Counter
from corepath.episode import EXCLUSIONS
from corepath.errors import OptionError, Problem, SendError, count, nearest
from corepath.files.lookup import Tasks
from corepath.importers.export import openai_record
from corepath.runs.entries import read_entries


class To(StrEnum):
    """The formats in which `export` writes episodes."""

    OPENAI = "openai"


class As(StrEnum):
    """The forms in which `export` writes and sends scores."""

    OTEL = "otel"
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"


ExportedArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES", help="Episode files or run folders; with --as the scores of score --out or --json.",
        callback=require_paths,
    ),
]  # fmt: skip
ToOption = Annotated[To | None, typer.Option(help="Format to write episodes in. Default: openai.")]
AsOption = Annotated[As | None, typer.Option("--as", help="Export scores, as events or rows of this platform.")]
SendOption = Annotated[
    str | None, typer.Option(metavar="URL", help="With --as: send the scores to the platform's server.")
]
OnlyScoresOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="NAME", help="With --as: export only this score. Repeatable.")
]
SessionsOption = Annotated[
    bool, typer.Option("--sessions", help="With --as: the ids are those of sessions, not of traces.")
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("export")(export_command)


def export_command(
    files: ExportedArgument,
    to: ToOption = None,
    as_: AsOption = None,
    out_file: OutFileOption = None,
    send: SendOption = None,
    only: OnlyScoresOption = None,
    sessions: SessionsOption = False,
) -> None:
    """Convert episodes to another format, or give scores back to a platform with --as."""
    if as_ is not None:
        if to is not None:
            usage_error("--to is for episodes and --as for scores; give one of them")
        _export_scores(files, TARGETS[as_], out_file, send, _choose(only), sessions=sessions)
        return
    for option, given in (("--send", send), ("--only", only), ("--sessions", sessions)):
        if given:
            usage_error(f"{option} belongs to --as: it is about scores")
    _export_episodes(require_episodes(files), to or To.OPENAI, out_file)


def _export_episodes(files: list[Path], to: To, out_file: Path | None) -> None:
    log = Log()
    with open_output(out_file) as write:
        for file in files:
            for line in read_entries(file, Tasks()):
                if isinstance(line, Problem):
                    log.add_problem(line)
                else:
                    log.good += 1
                    write(json.dumps(_EXPORTS[to](line.episode)))
    log.finish("conversation", out_file)


_EXPORTS: Final = {To.OPENAI: openai_record}


def _choose(names: list[str] | None) -> tuple[str, ...]:
    for name in names or ():
        if name not in NAMES:
            usage_error(f"--only: no score '{name}'{nearest(name, NAMES)}")
    return tuple(dict.fromkeys(names)) if names else USUAL


def _export_scores(
    files: list[Path], target: Target, out_file: Path | None, send: str | None, names: Sequence[str], *, sessions: bool
) -> None:
    """Export scores, and print what was exported and what was not."""
    found = _find_files(files)
    sender = None if send is None else _make_sender(target, send)
    log = Log()
    output = nullcontext(None) if sender is not None and out_file is None else open_output(out_file)
    with output as write, _explain_failures(sender), Counter("episodes").show() as counter:
        export = Export(target, write, sender)
        for row in (row for path in found for row in read_score_rows(path, names, sessions=sessions)):
            counter.add()
            if isinstance(row, Problem):
                log.add_problem(row)
            else:
                export.add(row)
        export.flush()
    _finish(export, log.bad, out_file)


def _find_files(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = find_score_files(path)
        if not inside:
            usage_error(f"{path} has no Parquet files; name the files of scores in it")
        found += inside
    return found


@contextmanager
def _explain_failures(sender: Sender | None) -> Iterator[None]:
    """Turn Ctrl-C or a server's error inside the `with` block into a message, which says what was sent before."""
    try:
        yield
    except SendError as error:
        fail(f"{error}{_describe_sent(sender)}")
    except KeyboardInterrupt:
        say(f"stopped{_describe_sent(sender)}")
        raise typer.Exit(130) from None


def _describe_sent(sender: Sender | None) -> str:
    return "" if sender is None else f"; {count(sender.sent, 'score')} sent before that"


def _make_sender(target: Target, url: str) -> Sender:
    try:
        return Sender(target, check_address(url), target.make_headers(os.environ))
    except OptionError as error:
        usage_error(f"--send: {error}")


def _finish(export: Export, bad: int, out_file: Path | None) -> None:
    """Print the counts. Exit with code 1 if something was bad or refused, or if there is nothing to export."""
    target, sender = export.target, export.sender
    for why, episodes in export.excluded.items():
        say(f"{count(episodes, 'episode')} left out: {EXCLUSIONS.get(why, why)}")
    if export.unlinked:
        lost = "left out" if target.needs_link else "linked to no trace"
        say(f"{count(export.unlinked, 'episode')} {lost}: no trace id that {target.name} can find")
    where = [f" in {out_file}"] if out_file and export.scores else []
    if sender is not None:
        _print_refusals(sender)
        where.append(f"; {sender.sent:,} sent to {sender.url}")
    if bad:
        where.append(f"; {count(bad, 'bad record')} left out")
    say(f"{count(export.scores, 'score')} of {count(export.episodes, 'episode')}{''.join(where)}")
    if bad or not export.scores or (sender is not None and sender.refused):
        raise typer.Exit(1)


def _print_refusals(sender: Sender) -> None:
    for reason in sender.reasons:
        say(f"{sender.target.name} says: {reason}")
    if sender.refused:
        say(f"{sender.target.name} refused {count(sender.refused, 'score')}")
