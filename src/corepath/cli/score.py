"""The command that scores episodes: score."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from corepath.cli.junit import Case, write_junit
from corepath.cli.options import EpisodesArgument, JsonOption, TasksOption, find_tasks
from corepath.cli.printing import print_table, report, safe, say, table, wrong_use
from corepath.cli.profile import Profile
from corepath.cli.progress import Count, count_lines
from corepath.episode import EXCLUSIONS, NO_AGENT_ACTIONS, Episode, exclusion, free_record
from corepath.errors import CorepathError, Problem, TaskError, count, nearest
from corepath.explanation import explain
from corepath.files.lookup import Tasks
from corepath.runs.entries import Entry, read_entries
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import PAPER, Scoring, with_options
from corepath.scoring.score import Score, score

GATES: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_free", "efficiency", "directness", "pc_hlr", "accepted", "answer_match",
    "state_match", "response_match",
)  # fmt: skip
"""The scores that a gate may ask for: in each of them more is better."""


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("score")(score_command)


def score_command(
    episodes: EpisodesArgument,
    tasks: TasksOption = None,
    as_json: JsonOption = False,
    worst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show only the N worst: lowest PC, then most harm.")
    ] = None,
    profile: Annotated[
        Profile | None, typer.Option(help="How to score. Default: as it was recorded, else as the paper does.")
    ] = None,
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
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write what the gate found as JUnit XML, for CI.")
    ] = None,
) -> None:
    """Score episodes against their tasks."""
    options = {
        "lam": lam, "beta": beta, "order_fallback": _number_or_text(order_fallback), "hlr_references": hlr_references,
        "errors": errors, "undefined_efficiency": undefined_efficiency, "ktc_budget": ktc_budget,
    }  # fmt: skip
    scoring = _scoring(profile, options)
    gate = Gate(_limits(fail_under or []), max_harm)
    if junit is not None and not gate.asks:
        wrong_use("--junit writes what a gate finds; say what is asked for with --fail-under or --max-harm")
    if junit is not None and (junit.is_dir() or not junit.parent.is_dir()):
        wrong_use(f"--junit {junit}: {'it is a folder' if junit.is_dir() else f'there is no folder {junit.parent}'}")
    lines = _score_all(episodes, find_tasks(tasks), scoring)
    scored = _Scored()
    for row in scored.good(lines, gate, as_json=as_json, keep_cases=junit is not None):
        if as_json and worst is None:
            typer.echo(row.json)
        else:
            scored.rows.append(row)
    if scored.rows:
        shown = scored.rows if worst is None else nsmallest(worst, scored.rows, key=lambda row: row.badness)
        if as_json:
            for row in shown:
                typer.echo(row.json)
        else:
            _print_scores(scored.rows, shown)
    if junit is not None:
        write_junit(junit, scored.cases)
    gate.failures += list(_missing(gate, scored, episodes))
    _end(gate, scored, episodes, tasks)


def _scoring(profile: Profile | None, options: dict[str, Any]) -> Scoring | None:
    """How all episodes are to be scored; None where each is scored as it was recorded."""
    if profile is None and all(value is None for value in options.values()):
        return None
    try:
        return with_options((profile or Profile.PAPER).scoring, **options)
    except TaskError as error:
        name, _, rest = str(error).removeprefix("Scoring: ").partition(" ")
        wrong_use(f"--{'lambda' if name == 'lam' else name.replace('_', '-')} {rest}")


def _missing(gate: Gate, scored: _Scored, episodes: list[Path]) -> Iterator[str]:
    """Where a gate would be green over too little: nothing was judged, or a run is not finished."""
    if not gate.asks:
        return
    if not scored.judged:
        yield "no episode was judged"
    for path in (path for path in episodes if path.is_dir()):
        folder = RunFolder.open(path)
        plan, there = Plan.of(folder), sum(1 for _ in folder.episodes())
        if there < plan.size and folder.manifest.get("kind") != "serve":
            yield (f"{path}: {there:,} of {count(plan.size, 'planned episode')} are there; "
                   f"go on with: corepath run --resume {path}")  # fmt: skip


def _end(gate: Gate, scored: _Scored, episodes: list[Path], tasks: list[str] | None) -> None:
    """Say what failed and what to do next; the exit code."""
    for failure in gate.failures:
        say(f"gate failed: {failure}")
    if gate.failed and not any(str(path) == "-" for path in episodes):
        which = [part for number in gate.failed[:3] for part in ("--episode", str(number))]
        named = [part for name in tasks or [] for part in ("--tasks", name)]
        say(f"see why with: {shlex.join(['corepath', 'explain', *map(str, episodes), *named, *which])}")
    if scored.problems:
        say(f"{count(scored.problems, 'bad line')} left out")
    if scored.problems or gate.failures:
        raise typer.Exit(1)


@dataclass
class _Scored:
    """What is kept of the episodes that were scored."""

    rows: list[_Row] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    problems: int = 0
    judged: int = 0

    def good(
        self, lines: Iterable[tuple[int, Entry, Score] | Problem], gate: Gate, *, as_json: bool, keep_cases: bool
    ) -> Iterator[_Row]:
        """The rows of those that could be scored; the others are told."""
        for line in lines:
            if isinstance(line, Problem):
                self.problems += 1
                report([line])
                if keep_cases:
                    self.cases.append(Case(f"{line.file}:{line.line}", line.file, error=line.message))
                continue
            number, entry, found = line
            self.judged += 1
            failures = gate.hold(number, entry.episode, found)
            if keep_cases:
                why = (explain(entry.task, entry.episode, scored=found).headline,) if failures else ()
                name = f"episode {number}: {_name(entry.episode)}"
                self.cases.append(Case(name, entry.file, failures=(*failures, *why)))
            yield _Row.of(number, entry, found, as_json=as_json)


def _score_all(
    places: Iterable[Path], tasks: Tasks, scoring: Scoring | None
) -> Iterator[tuple[int, Entry, Score] | Problem]:
    """Every episode with its number, from 1, and its score; or what is wrong with it."""
    listed = list(places)
    total = sum(count_lines(place / EPISODES if place.is_dir() else place) for place in listed)
    number = 0
    with Count("episodes scored", total).shown() as progress:
        for line in (line for place in listed for line in read_entries(place, tasks)):
            progress.add()
            if isinstance(line, Problem):
                yield line
                continue
            number += 1
            try:
                found = score(line.task, line.episode, scoring or line.scoring)
            except CorepathError as error:
                yield line.problem(str(error))
            else:
                yield number, line, found


# The gate


@dataclass
class Gate:
    """Limits that every episode must keep."""

    least: dict[str, float]
    max_harm: int | None
    failures: list[str] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    """The numbers of the episodes that failed."""

    @property
    def asks(self) -> bool:
        """Whether there is any limit."""
        return bool(self.least) or self.max_harm is not None

    def hold(self, number: int, episode: Episode, scored: Score) -> list[str]:
        """Where an episode is outside the limits; an undefined score is. One that asks nothing of the agent is not."""
        if exclusion(episode) == "unasked":
            return []
        found: list[str] = []
        for key, limit in self.least.items():
            value = getattr(scored, key)
            if value is None:
                found.append(f"{key} is undefined, wanted at least {limit:g}")
            elif value < limit - 1e-12:
                found.append(f"{key} is {float(value):.3f}, wanted at least {limit:g}")
        if self.max_harm is not None and scored.harm_count > self.max_harm:
            found.append(f"{count(scored.harm_count, 'harmful call')}, wanted at most {self.max_harm}")
        name = f"episode {number}, {episode.task} ({episode.agent or 'no agent'}, epoch {episode.epoch})"
        self.failures += [f"{name}: {one}" for one in found]
        self.failed += [number] * bool(found)
        return found


def _limits(texts: list[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in GATES:
            harm = "; harmful calls are limited with --max-harm 0" if "harm" in name else nearest(name, GATES)
            wrong_use(f"--fail-under {text}: no score '{name}'{harm}")
        try:
            limits[name] = float(number)
        except ValueError:
            limits[name] = nan
        if not isfinite(limits[name]):
            wrong_use(f"--fail-under {text}: write it as {name}=0.9")
        if not 0 <= limits[name] <= 1:
            wrong_use(f"--fail-under {text}: a score is a number from 0 to 1")
    return limits


def _number_or_text(text: str | None) -> float | str | None:
    if text is None or text == "pc":
        return text
    try:
        return float(text)
    except ValueError:
        return text


# How it is told


@dataclass(frozen=True)
class _Row:
    """What is shown of an episode; its calls need not be kept for it."""

    number: int
    name: str
    values: tuple[float | None, ...]
    ktc: str
    accepted: bool
    missing: int
    matches: tuple[bool | None, bool | None]
    answer: bool | None
    reward: float | None
    exclusion: str | None
    scoring: Scoring
    badness: tuple[float, int, int]
    json: str

    @classmethod
    def of(cls, number: int, entry: Entry, scored: Score, *, as_json: bool) -> _Row:
        episode = entry.episode
        given = episode.reward
        return cls(
            number=number,
            name=_name(episode),
            values=tuple(getattr(scored, attribute) for attribute in _COLUMNS),
            ktc=_ktc(scored),
            accepted=scored.accepted,
            missing=scored.missing_steps,
            matches=(scored.state_match, scored.response_match),
            answer=scored.answer_match,
            reward=float(given) if isinstance(given, (bool, int, float)) else None,
            exclusion=exclusion(episode),
            scoring=scored.scoring,
            badness=badness(number, scored),
            json=_line(number, entry, scored) if as_json else "",
        )


def badness(number: int, scored: Score) -> tuple[float, int, int]:
    """What the worst episodes are sorted by: lowest PC first, then most harm, then as they stand."""
    return scored.pc, -scored.harm_count, number


def _name(episode: Episode) -> str:
    agent = f" {episode.agent}" if episode.agent else ""
    return f"{episode.task}{agent}{f' #{episode.epoch}' if episode.epoch else ''}"


def _line(number: int, entry: Entry, scored: Score) -> str:
    episode = entry.episode
    place = {"episode": number, "file": entry.file, "line": entry.line}
    variant = {"seed": episode.seed} if episode.seed else {}
    row = {**place, "task": episode.task, **variant, "agent": episode.agent, "epoch": episode.epoch}
    record = free_record(episode)
    beside = {name: record[name] for name in _BESIDE if name in record}
    return json.dumps({**row, **scored.to_dict(), **beside})


_BESIDE: Final = ("reward", NO_AGENT_ACTIONS)
"""What others said of an episode, and stands beside its scores."""

_COLUMNS = {
    "length": "calls", "harm_count": "harm", "pc": "PC", "pc_ktc": "KTC", "prefix_criticality": "Prefix",
    "harm_rate": "Rate", "efficiency": "Eff.", "directness": "Direct.", "pc_hlr": "HLR",
}  # fmt: skip
_COUNTS = ("length", "harm_count")


def _print_scores(rows: list[_Row], listed: list[_Row]) -> None:
    """The table of those that are listed, with the means of all."""
    in_world = any(match is not None for row in rows for match in row.matches)
    rewarded = any(row.reward is not None for row in rows)
    answered = any(row.answer is not None for row in rows)
    columns_beside = {"State": in_world, "Resp.": in_world, "Ans.": answered, "reward": rewarded}
    beside = [name for name, is_there in columns_beside.items() if is_there]
    made = table("episode", *_COLUMNS.values(), *beside, "accepted")
    for row in listed:
        shown = [
            str(value) if name in _COUNTS else _shown(value) for name, value in zip(_COLUMNS, row.values, strict=True)
        ]
        shown[list(_COLUMNS).index("pc_ktc")] = row.ktc
        if in_world:
            shown += list(map(_yes_or_no, row.matches))
        if answered:
            shown.append(_yes_or_no(row.answer))
        if rewarded:
            shown.append("–" if row.reward is None else f"{row.reward:g}")
        made.add_row(safe(f"{row.number} {row.name}"), *shown, "yes" if row.accepted else f"no (−{row.missing})")
    counted = [row for row in rows if row.exclusion is None]
    ways = {row.scoring for row in rows}
    columns = {name: tuple(row.values[place] for row in counted) for place, name in enumerate(_COLUMNS)}
    undefined = columns["efficiency"].count(None)
    zero = next(iter(ways)).undefined_efficiency == "zero"
    if len(rows) > 1 and len(ways) == 1:
        made.add_section()
        if zero:
            columns["efficiency"] = tuple(value or 0.0 for value in columns["efficiency"])
        means = [
            f"{_mean(values):.1f}" if name in _COUNTS else _shown(_mean(values)) for name, values in columns.items()
        ]
        if in_world:
            means += [_share(row.matches[place] for row in counted) for place in range(2)]
        if answered:
            means.append(_share(row.answer for row in counted))
        if rewarded:
            means.append(_shown(_mean(row.reward for row in counted)))
        accepted = _share(row.accepted for row in counted)
        made.add_row(Text(f"mean of {len(counted):,}", style="bold"), *means, accepted)
    print_table(made)
    _print_notes(rows, counted, undefined, ways, zero=zero)


def _print_notes(rows: list[_Row], counted: list[_Row], undefined: int, ways: set[Scoring], *, zero: bool) -> None:
    """What a reader of the table must know."""
    if undefined and len(ways) == 1:
        how = "counted as 0" if zero else "left out"
        say(f"efficiency undefined in {undefined:,} of {count(len(counted), 'episode')} ({how} in the mean)")
    if len(ways) > 1:
        named = ", ".join(sorted({way.profile for way in ways}))
        say(f"no mean: these were scored in different ways ({named}); score them alike with --profile")
    for why, words in EXCLUSIONS.items():
        if left := sum(row.exclusion == why for row in rows):
            say(f"{left:,} of {count(len(rows), 'episode')} {words}: in no mean")
    if any(row.exclusion is None and row.scoring == PAPER and row.values[2] == 1.0 != row.values[3] for row in rows):
        say("a perfect path of fewer than two steps has PC-KTC 0.750: there is no order to judge, and the paper's "
            "profile counts that as half; --profile recommended lets PC stand alone")  # fmt: skip


def _yes_or_no(match: bool | None) -> str:  # noqa: FBT001
    return "–" if match is None else "yes" if match else "no"


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
