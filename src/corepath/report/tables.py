"""The tables in a report: scores by agent, world, task and pair, failure modes, harms and item analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import count
from corepath.play.built_in import BUILT_IN, FLOOR
from corepath.report.comparison import Difference, difference
from corepath.report.item_analysis import Item
from corepath.report.results import Results
from corepath.report.summary_table import AGENTS, NUMBER, PERCENT, PLAIN, Means, summary_table
from corepath.report.table import Column, Table
from corepath.scoring.agreement import COMPARED, NEARLY, Agreement
from corepath.scoring.rules import COUNTED
from corepath.scoring.summary import Summary


def agents_table(results: Results, means: Means = PLAIN) -> Table:
    """Build the paper's first table, with one row per agent."""
    return summary_table(AGENTS, "agent", results.by_agent.values(), means)


def worlds_table(results: Results, means: Means = PLAIN) -> Table:
    """Build the paper's second table, with one row per world over all agents except the baseline agents.

    Each baseline agent has a row of its own below the worlds.
    """
    agents = list(results.by_agent)
    floor = [name for name in agents if name in FLOOR]
    above = [name for name in agents if name not in FLOOR] or agents
    rows = list((results.only(above) if floor else results).by_world.values())
    if above is not agents:
        rows += [results.by_agent[name] for name in floor]
    who = ", ".join(above) if len(above) <= 3 else f"{len(above)} agents"
    return summary_table(f"Scores by world ({who})" if above else "Scores by world", "world", rows, means)


def tasks_table(results: Results, means: Means = PLAIN) -> Table:
    """Build a table with one row per task, over all agents."""
    return summary_table("Scores by task", "task", results.by_task.values(), means)


def pairs_table(results: Results, means: Means = PLAIN) -> Table:
    """Build a table with one row per agent and world."""
    table = summary_table("Scores by agent and world", "agent", results.by_pair.values(), means)
    rows = tuple((*pair, *row[1:]) for pair, row in zip(results.by_pair, table.rows, strict=True))
    return replace(table, columns=(table.columns[0], Column("world", "world"), *table.columns[1:]), rows=rows)


# Failure modes

_MODES: Final = {
    "wrong_tool": "Wrong op",
    "wrong_argument": "Wrong parameter",
    "swapped": "Right ops, wrong order",
    "left_out": "A step left out",
    "harmful_late": "Any harmful invocation",
    "harmful_early": "Early harmful invocation",
    "repeated": "A step repeated",
    "undone": "Done and undone",
    "redundant_reads": "Redundant reads/benign writes",
    "wandering": "Exploration bloat (too many steps)",
    "early_stop": "Stopped early",
}
"""The paper's failure modes and our own, keyed by the built-in agent that shows the mode."""
_CHANGE: Final = "+.3f"
_MODE_COLUMNS: Final = (
    Column("pc", "PC", _CHANGE), Column("pc_ktc", "PC-KTC", _CHANGE, "PC-\nKTC"),
    Column("harm_rate", "HarmRate", _CHANGE, "Harm\nRate"),
    Column("prefix_criticality", "PrefixCrit", _CHANGE, "Prefix\nCrit"), Column("efficiency", "Eff.", _CHANGE, rank=1),
    Column("pc_hlr", "PC+HLR", _CHANGE, "PC+\nHLR", 1), Column("state_match", "BFCL\nState", _CHANGE),
    Column("response_match", "BFCL\nResp.", _CHANGE, rank=2),
)  # fmt: skip
SEEN: Final = 0.05
"""A score sees a fault only if the fault changes the score's mean by at least this much."""


def faults_table(results: Results) -> Table | None:
    """Build the paper's table of failure modes: how each mode changes each score, compared with the agent `oracle`.

    Returns None if there is no agent `oracle`, or no agent with a planted fault.
    """
    oracle = results.by_agent.get("oracle")
    modes = [name for name in _MODES if name in results.by_agent]
    if oracle is None or not modes:
        return None
    rows = [
        (_MODES[name], name, *(_cost(difference(oracle, results.by_agent[name], one.key)) for one in _MODE_COLUMNS))
        for name in modes
    ]
    columns = (Column("mode", "failure mode"), Column("agent", "agent"), *_MODE_COLUMNS)
    note = (
        f"difference to oracle on the same tasks; –: the score does not see the failure (a difference under {SEEN}, "
        "or a 95 % interval that contains 0); ?: too few tasks to tell"
    )
    return Table("Failure modes and the scores that see them", columns, tuple(rows), (note,))


def _cost(gap: Difference | None) -> float | str | None:
    """Return the difference, or None if it is too small or not significant, or "?" if there are too few tasks."""
    if gap is None or gap.interval is None:
        return "?"
    low, high = gap.interval
    return None if abs(gap.difference) < SEEN or low <= 0 <= high else gap.difference


def rules_table(results: Results) -> Table | None:
    """Build a table of in how many episodes each rule applied and was kept or broken, or return None without rules."""
    if not results.rules:
        return None
    counted = (Column("applied", "applied", ",d"), *(Column(state.value, state.value, ",d") for state in COUNTED))
    rows = tuple((rule, applied, *states) for rule, applied, states in results.by_rule.rows)
    unused = results.by_rule.unused
    notes = (f"{count(unused, 'rule')} applied to no episode",) if unused else ()
    return Table("Episodes by rule", (Column("rule", "rule"), *counted), rows, notes)


def harms_table(results: Results) -> Table | None:
    """Build a table of harmful calls by kind with one row per agent, or return None if there are no harmful calls.

    Each cell counts the calls that took effect and the calls that were refused, e.g. `3 + 1`.
    """
    seen = {kind for one in results.by_agent.values() for kind, _ in one.harms}
    kinds = [kind.value for kind in HarmKind if kind.value in seen]
    if not kinds:
        return None
    agents = results.by_agent.values()
    repeats = any(one.again for one in agents)
    columns = [Column("agent", "agent"), Column("harmful", "harmful", ",d"), Column("effected", "took\neffect", ",d")]
    columns += [Column("again", "again", ",d")] * repeats
    columns += [Column(kind, kind.replace("_", "\n", 1).replace("_", " "), ",d") for kind in kinds]
    rows = [
        (one.name, one.harmful, _count_effected(one), *[one.again] * repeats, *(_both(one, kind) for kind in kinds))
        for one in agents
    ]
    notes = ["each kind: calls that took effect + calls that were refused"]
    if repeats:
        notes.append("again: of those that took effect, calls that repeat the one before and got the same answer")
    return Table("Harmful calls by kind", tuple(columns), tuple(rows), tuple(notes))


def _count_effected(one: Summary) -> int:
    return sum(count for (_, effected), count in one.harms.items() if effected)


def _both(one: Summary, kind: str) -> str | None:
    done, refused = one.harms[kind, True], one.harms[kind, False]
    return f"{done:,} + {refused:,}" if done or refused else None


_CORRELATED: Final = {
    "pc": "PC", "pc_ktc": "PC-KTC", "prefix_criticality": "PrefixCrit", "harm_free": "harm\nfree",
    "efficiency": "Eff.", "directness": "Direct.", "pc_hlr": "PC+HLR", "accepted": "accepted", "solved": "solved",
}  # fmt: skip


def reward_table(agreements: Sequence[Agreement]) -> Table | None:
    """Build a table of how far the scores agree with the source's own reward, or return None if there is no reward."""
    if not agreements:
        return None
    columns = (
        Column("agent", "agent"), Column("episodes", "episodes", ",d"), Column("reward", "reward", NUMBER),
        Column("rewarded", "rewarded", ",d"), Column("rewarded_harmful", "with\nharm", ",d"),
        Column("nearly_right", "nearly\nright", ",d"),
        *(Column(f"correlation_{key}", title, "+.2f", rank=key != "pc") for key, title in _CORRELATED.items()),
    )  # fmt: skip
    rows = tuple(
        (one.name, one.episodes, one.reward, one.rewarded, one.rewarded_harmful, one.nearly_right,
         *(one.correlations[key] for key in _CORRELATED))
        for one in agreements
    )  # fmt: skip
    notes = (
        "rewarded: with the full reward; with harm: of these, episodes in which harm took effect",
        f"nearly right: not rewarded, but PC is at least {NEARLY} and no harm took effect",
        "each score: Spearman's rank correlation with the reward over episodes; –: undefined, as all values are equal",
    )
    return Table("Scores beside the source's own reward", columns, rows, notes)


def items_table(items: Iterable[Item]) -> Table:
    """Build a table with one row per task: its difficulty, and how well it separates agents."""
    columns = (
        Column("task", "task"), Column("episodes", "episodes", ",d"), Column("solved", "solved %", PERCENT),
        Column("difficulty", "difficulty", NUMBER), Column("discrimination", "discrimination", "+.2f"),
        Column("note", "note"),
    )  # fmt: skip
    notes = (
        "difficulty: 1 - mean PC; discrimination: correlation over agents of PC here with PC in the other tasks",
    )  # fmt: skip
    rows = [(one.task, one.episodes, one.solved, one.difficulty, one.discrimination, one.note) for one in items]
    return Table("Tasks as test items, the hardest first", columns, tuple(rows), notes)


BY: Final[Mapping[str, Callable[..., Table]]] = {
    "agent": agents_table, "world": worlds_table, "task": tasks_table, "pair": pairs_table,
}  # fmt: skip
"""The functions that build tables of means, keyed by what each row is for."""

assert set(_MODES) <= set(BUILT_IN)
assert tuple(_CORRELATED) == COMPARED
