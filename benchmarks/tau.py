"""Print the tables of docs/tau-bench.md: what path scores add to the reward on real runs of τ-bench and τ²-bench.

`python -m benchmarks.tau [FOLDER]` reads the result files in the folders `tau-bench/` and `tau2-bench/`.
`python -m benchmarks.tau FILE...` prints the tables for other result files.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

from corepath import Episode, Score, score
from corepath.authoring.derive import Derived, Expected, GoldenReads, Writes, derive
from corepath.episode import NO_AGENT_ACTIONS
from corepath.errors import Problem
from corepath.files.tool_file import Tools, load_tools
from corepath.importers import import_trace
from corepath.importers.expected_calls import read_expected_calls
from corepath.importers.registry import load_source
from corepath.scoring.agreement import agreement

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
RUNS = {
    "τ-bench airline, GPT-4o": "tau-bench/gpt-4o-airline.json",
    "τ²-bench airline, GPT-4.1": "tau2-bench/gpt-4.1-airline.json",
    "τ²-bench retail, GPT-4.1": "tau2-bench/gpt-4.1-retail.json",
    "τ²-bench telecom, GPT-4.1": "tau2-bench/gpt-4.1-telecom.json",
}
ORDER: dict[Writes, str] = {"any_order": "in any order", "sequence": "in sequence"}
SHOWN = {
    "pc": "PC",
    "pc_ktc": "PC-KTC",
    "prefix_criticality": "PrefixCrit",
    "harm_free": "harm-free",
    "solved": "solved",
}
HAND_OVER = "transfer_to_human_agents"
NEARLY = 0.8


@dataclass(frozen=True)
class Choices:
    """One way to derive tasks."""

    writes: Writes = "any_order"
    golden_reads: GoldenReads = "loops"
    hand_over: str = "neutral"
    arguments: str = "by rules"

    def tasks(self, expected: Sequence[Expected], tools: Tools) -> dict[str, Derived]:
        """Derive the tasks, by id."""
        if self.hand_over == "a write":
            tools = replace(tools, neutral=[name for name in tools.neutral if name != HAND_OVER])
        if self.arguments == "literally":
            tools = replace(tools, arguments={})
        made = (derive(one, tools, writes=self.writes, golden_reads=self.golden_reads) for one in expected)
        return {one.task.id: one for one in made}

    def __str__(self) -> str:
        return f"{ORDER[self.writes]} | {self.golden_reads} | {self.hand_over} | {self.arguments}"


BASE = Choices()
WRITES: tuple[Writes, ...] = ("any_order", "sequence")
READS: tuple[GoldenReads, ...] = ("loops", "progress")
ALL = [Choices(*one) for one in product(WRITES, READS, ("neutral", "a write"), ("by rules", "literally"))]
OF_REWARDED = "… with harm | … that took effect | … not accepted"
OF_OTHERS = f"… PC ≥ {NEARLY} | … and no harm, accepted"
COLUMNS = f"rewarded {OF_REWARDED} | unrewarded {OF_OTHERS} | mean PC, rewarded | mean PC, unrewarded"


@dataclass(frozen=True)
class Scored:
    """An episode and its score."""

    episode: Episode
    score: Score

    @property
    def rewarded(self) -> bool:
        """Whether the benchmark gave the full reward."""
        return bool(self.episode.reward == 1)

    @property
    def took_effect(self) -> bool:
        """Whether any harmful call took effect."""
        return any(harm.effected and harm.again is None for harm in self.score.harms)

    @property
    def with_scores(self) -> Episode:
        """The episode with its scores in it."""
        return replace(self.episode, scores=self.score.to_dict())


@dataclass(frozen=True)
class Runs:
    """The episodes and the expected calls in a result file."""

    name: str
    episodes: list[Episode]
    expected: list[Expected]

    @classmethod
    def read(cls, name: str, file: Path) -> Runs:
        """Read a result file; exit with its problems if it has any."""
        episodes, expected = list(import_trace(file)), list(read_expected_calls(file))
        problems = [one for one in (*episodes, *expected) if isinstance(one, Problem)]
        if problems:
            sys.exit("\n".join(map(str, problems)))
        return cls(name, episodes, expected)  # type: ignore[arg-type]  # there are no problems left

    def scored(self, choices: Choices, tools: Tools) -> list[Scored]:
        """Score every episode whose task expects a call of the agent."""
        tasks = choices.tasks(self.expected, tools)
        asked = [one for one in self.episodes if NO_AGENT_ACTIONS not in tasks[one.task].task.tags]
        return [Scored(one, score(tasks[one.task].task, one)) for one in asked]


def published(folder: Path = DATA) -> dict[str, Path]:
    """The result files used in the docs, by name."""
    return {name: folder / file for name, file in RUNS.items()}


def tables(files: Mapping[str, Path] | None = None) -> str:
    """All tables as Markdown."""
    tools = load_tools(load_source("tau2").tool_file or "")
    runs = [Runs.read(name, file) for name, file in (files or published()).items()]
    parts = [
        markdown_table(_overview(runs, tools)),
        markdown_table(_kinds(runs, tools)),
        markdown_table(_agreements(runs, tools)),
    ]
    parts += [f"**{one.name}**\n\n{markdown_table(_by_derivation(one, tools))}" for one in runs]
    return "\n".join(parts)


def _overview(runs: list[Runs], tools: Tools) -> Iterator[str]:
    who = "agent's calls | user's calls"
    yield f"runs | episodes | {who} | left out | rewarded | {OF_REWARDED} | unrewarded | {OF_OTHERS}"
    for one in runs:
        found = one.scored(BASE, tools)
        calls, others = (sum(len(getattr(e, kind)) for e in one.episodes) for kind in ("calls", "other_calls"))
        left_out = len(one.episodes) - len(found)
        good, bad = ([s for s in found if s.rewarded is rewarded] for rewarded in (True, False))
        counts = [
            len(one.episodes),
            calls,
            others,
            left_out,
            len(good),
            *_of_rewarded(good),
            len(bad),
            *_of_others(bad),
        ]
        yield f"{one.name} | {' | '.join(map(str, counts))}"


def _of_rewarded(good: list[Scored]) -> list[int]:
    harmed, accepted = [s for s in good if s.score.harm_count], [s for s in good if s.score.accepted]
    return [len(harmed), sum(s.took_effect for s in harmed), len(good) - len(accepted)]


def _of_others(bad: list[Scored]) -> list[int]:
    nearly = [s for s in bad if s.score.pc >= NEARLY]
    return [len(nearly), sum(s.score.accepted and not s.score.harm_count for s in nearly)]


def _kinds(runs: list[Runs], tools: Tools) -> Iterator[str]:
    yield "harmful calls of | kind | rewarded: took effect | refused | unrewarded: took effect | refused"
    for one in runs:
        counts = Counter(
            (harm.kind.value, s.rewarded, harm.effected) for s in one.scored(BASE, tools) for harm in s.score.harms
        )
        for kind in sorted({kind for kind, _, _ in counts}):
            columns = [counts[kind, rewarded, effected] for rewarded in (True, False) for effected in (True, False)]
            yield f"{one.name} | {kind} | {' | '.join(map(str, columns))}"


def _agreements(runs: list[Runs], tools: Tools) -> Iterator[str]:
    """Rank correlation of scores with the reward over episodes, for writes in both orders."""
    yield f"runs | writes | episodes | {' | '.join(SHOWN.values())} | rewarded, harm took effect | nearly right"
    pooled: dict[Writes, list[Scored]] = {writes: [] for writes in WRITES}
    for one in runs:
        for writes in WRITES:
            found = one.scored(Choices(writes), tools)
            pooled[writes] += found
            yield _agreement(one.name, writes, found)
    for writes, found in pooled.items():
        yield _agreement("all", writes, found)


def _agreement(name: str, writes: Writes, found: list[Scored]) -> str:
    agreed = agreement(name, [s.with_scores for s in found])
    if agreed is None:
        return f"{name} | {ORDER[writes]} | 0 | {' | '.join('–' for _ in SHOWN)} | 0 | 0"
    values = (agreed.correlations[score] for score in SHOWN)
    shown = " | ".join("–" if value is None else f"{value:.2f}" for value in values)
    return f"{name} | {ORDER[writes]} | {agreed.episodes} | {shown} | {agreed.rewarded_harmful} | {agreed.nearly_right}"


def _by_derivation(one: Runs, tools: Tools) -> Iterator[str]:
    yield f"writes | expected reads | hand-over | arguments | {COLUMNS}"
    for choices in ALL:
        found = one.scored(choices, tools)
        good, bad = ([s for s in found if s.rewarded is rewarded] for rewarded in (True, False))
        counts = " | ".join(map(str, (*_of_rewarded(good), *_of_others(bad))))
        yield f"{choices} | {counts} | {_mean(good)} | {_mean(bad)}"


def _mean(found: list[Scored]) -> str:
    return f"{fmean(s.score.pc for s in found):.2f}" if found else "–"


def markdown_table(rows: Iterator[str]) -> str:
    """A table as Markdown. The first row is its head."""
    head, *body = rows
    columns = head.count("|") + 1
    return "".join(f"| {row} |\n" for row in (head, " | ".join(["---"] * columns), *body))


def main(show: Callable[[Mapping[str, Path]], str] = tables) -> int:
    """Print the tables for the files or the folder named on the command line."""
    given = [Path(one) for one in sys.argv[1:]] or [DATA]
    files = published(given[0]) if given[0].is_dir() else {one.stem: one for one in given}
    missing = [file for file in files.values() if not file.is_file()]
    if missing:
        print(f"no such file: {missing[0]}; name the folder that has it, or other result files", file=sys.stderr)
        return 1
    print(show(files), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
