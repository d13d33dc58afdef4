"""Scores episodes into a file, for the command `score --out`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from corepath.cli.options import MISSING_EXTRA, require_episodes
from corepath.cli.printing import print_problems, say, usage_error
from corepath.cli.progress import ByteProgress
from corepath.errors import CorepathError, InputError, count, install
from corepath.runs.folder import EPISODES, RunFolder, is_run
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring

if TYPE_CHECKING:
    from corepath.batch.files import BatchReport


def score_to_file(
    places: Sequence[Path], out: Path, tasks: Sequence[str] | None, rules: Sequence[Path] | None,
    scoring: Scoring | None, *, resume: bool, processes: int | None, as_json: bool, unused: Mapping[str, Any],
) -> None:  # fmt: skip
    """Score the episodes in files and run folders, write the scores to `out`, and say what came of it."""
    for name, value in unused.items():
        if value is not None:
            usage_error(f"{name} is not for --out; read the file it writes with corepath table, report or fix")
    _check_out(out, resume=resume)
    if Path("-") in places:
        usage_error("--out reads files, several parts of them at once; write standard input into a file first")
    require_episodes(places)
    try:
        from corepath.batch.files import Settings, score_files  # noqa: PLC0415  # needs an extra
    except ModuleNotFoundError as error:
        say(f"scoring into a file needs the package {error.name}: {install('batch')}")
        raise typer.Exit(MISSING_EXTRA) from None
    named = tuple(tasks or _tasks_of_runs(places))
    settings = Settings(named, tuple(map(str, rules or ())), scoring)
    files = [place / EPISODES if place.is_dir() else place for place in places]
    try:
        with ByteProgress("episodes scored").show() as progress:
            report = score_files(files, out, settings, processes=processes, resume=resume, progress=progress.update)
    except InputError as error:
        print_problems(error.problems)
        raise typer.Exit(1) from None
    except CorepathError as error:
        usage_error(str(error))
    except KeyboardInterrupt:
        say(f"interrupted; go on with: {shlex.join(['corepath', *sys.argv[1:]])}{'' if resume else ' --resume'}")
        raise typer.Exit(130) from None
    _print_report(report, out, as_json=as_json)


def _check_out(out: Path, *, resume: bool) -> None:
    if out.suffix != ".parquet":
        usage_error(f"--out {out}: the file of scores ends in .parquet")
    if out.is_dir():
        usage_error(f"--out {out}: it is a folder")
    if not out.absolute().parent.is_dir():
        usage_error(f"--out {out}: there is no folder {out.parent}")
    if out.exists() and not resume:
        usage_error(f"--out {out}: it is already there; choose another name, or delete it")


def _tasks_of_runs(places: Sequence[Path]) -> list[str]:
    """Return where the tasks of run folders come from, if they are not in an installed world."""
    plans = [Plan.of(RunFolder.open(place)) for place in places if place.is_dir() and is_run(place)]
    sources = [source for plan in plans for source in plan.sources]
    if all(not source.in_file and not source.where.endswith(".py") for source in sources):
        return []
    return list(dict.fromkeys(source.where for source in sources))


def _print_report(report: BatchReport, out: Path, *, as_json: bool) -> None:
    """Print what came of it, and exit with code 1 if something is missing."""
    print_problems([*report.problems, *report.failed])
    if as_json:
        shown = {name: getattr(report, name) for name in ("episodes", "bad", "ordinary", "shards", "skipped")}
        shown |= {"failed": len(report.failed), "damaged": report.damaged}
        typer.echo(json.dumps({**shown, "seconds": report.seconds, "out": str(out)}))
    else:
        rate = (
            f" in {report.seconds:.1f} s, {report.episodes / max(report.seconds, 1e-9):,.0f}/s"
            if report.seconds and not report.skipped
            else ""
        )
        say(f"{count(report.episodes, 'episode')} scored{rate}; {report.ordinary:,} of them one by one")
        if report.skipped:
            say(f"{report.skipped:,} of {count(report.shards, 'shard')} already there")
    if report.bad:
        say(f"{count(report.bad, 'bad line')}; the column problem says what is wrong with each")
    if report.damaged:
        say(f"{count(report.damaged, 'part')} of the input could not be read to the end, and what follows has no row")
    if report.failed:
        say(f"{count(len(report.failed), 'shard')} missing, so {out} is not written; go on with --resume")
    if report.bad or report.damaged or report.empty or report.failed or not report.episodes:
        raise typer.Exit(1)
