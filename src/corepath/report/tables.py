"""Tables of scores: the paper's two, failure modes, harms by kind. One table, many ways to write it down."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from corepath.agents import BUILT_IN, FLOOR
from corepath.aggregate import Summary
from corepath.errors import count
from corepath.harm import HarmKind
from corepath.report.comparison import Difference, difference
from corepath.report.items import Item
from corepath.report.results import Results
from corepath.show import visible

if TYPE_CHECKING:
    import pandas as pd

LONGEST_NAME: Final = 120
"""Longer names are cut where they are shown; CSV and `to_pandas` have them in full."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Column:
    """What stands in a column: its key for programs, its title for people, and how its numbers are written.

    A title may have two lines. It says that a number is a percentage; the number itself stands without the sign.
    """

    key: str
    title: str
    form: str = ""

    @property
    def is_text(self) -> bool:
        """Whether it holds names rather than numbers."""
        return not self.form

    def cell(self, value: Any) -> str:
        """A value as people read it; – where it is undefined."""
        if value is None:
            return "–"
        if self.is_text or isinstance(value, str):
            text = visible(str(value))
            return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
        if isinstance(value, Estimate):
            return f"{self.cell(value.mean)} [{self.cell(value.low)}, {self.cell(value.high)}]"
        shown = format(value, self.form).removesuffix("%")
        return shown.removeprefix("-") if not float(shown.replace(",", "")) else shown

    @property
    def line(self) -> str:
        """The title in one line."""
        return self.title.replace("\n", " ")


@dataclass(frozen=True)
class Table:
    """Rows of values under columns, with a title and notes that say what is not in it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Names of agents stand in titles too.
        object.__setattr__(self, "title", _lines(self.title))
        object.__setattr__(self, "notes", tuple(map(_lines, self.notes)))

    @property
    def cells(self) -> list[list[str]]:
        """What stands in each row."""
        return [
            [column.cell(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]  # fmt: skip

    def text(self) -> str:
        """As lines for a terminal."""
        titles = [column.title.split("\n") for column in self.columns]
        high = max(map(len, titles))
        heads = [list(line) for line in zip(*([""] * (high - len(title)) + title for title in titles), strict=True)]
        lines = [*heads, *self.cells]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *(self._line(line, widths) for line in lines), *self.notes])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = []
        for column, cell, width in zip(self.columns, cells, widths, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(cell + space if column.is_text else space + cell)
        return " ".join(padded).rstrip()

    def markdown(self) -> str:
        """As a table in Markdown."""
        rows = [[column.line for column in self.columns], *self.cells]
        lines = [f"| {' | '.join(map(_markdown, row))} |" for row in rows]
        rule = "".join("|---" if column.is_text else "|---:" for column in self.columns) + "|"
        notes = ["", "  \n".join(map(_markdown, self.notes))] if self.notes else []
        return "\n".join([f"**{_markdown(self.title)}**", "", lines[0], rule, *lines[1:], *notes])

    def csv(self) -> str:
        """As comma-separated values, numbers in full; an undefined one is empty."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        keys, rows = self._flat
        writer.writerow(keys)
        for row in rows:
            writer.writerow(["" if value is None else _harmless(value) for value in row])
        return file.getvalue().rstrip("\n")

    def latex(self) -> str:
        """As a LaTeX table with the rules of booktabs."""
        align = "".join("l" if column.is_text else "r" for column in self.columns)
        rows = [" & ".join(map(_latex, row)) + r" \\" for row in self.cells]
        head = " & ".join(_latex(column.line) for column in self.columns) + r" \\"
        notes = [rf"\\[2pt] \footnotesize {' '.join(map(_latex, self.notes))}"] if self.notes else []
        return "\n".join([
            r"\begin{table}[t]", r"\centering", rf"\caption{{{_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}",
            *notes, r"\end{table}",
        ])  # fmt: skip

    def html(self) -> str:
        """As HTML; `data-value` has a number for sorting."""
        head = "".join(
            f'<th scope="col" data-key="{escape(column.key)}"{_kind(column)}>{escape(column.line)}</th>'
            for column in self.columns
        )
        body = "".join(
            f"<tr>{''.join(map(_html_cell, self.columns, row, range(len(row))))}</tr>" for row in self.rows
        )  # fmt: skip
        notes = "".join(f'<p class="note">{escape(note)}</p>' for note in self.notes)
        return (
            f'<table class="scores"><caption>{escape(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )

    def _repr_html_(self) -> str:
        return self.html()

    def to_pandas(self) -> pd.DataFrame:
        """As a data frame, numbers in full."""
        import pandas as pd  # noqa: PLC0415  # an extra

        keys, rows = self._flat
        return pd.DataFrame(rows, columns=keys)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as JSON objects."""
        keys, rows = self._flat
        return [dict(zip(keys, row, strict=True)) for row in rows]

    @cached_property
    def _flat(self) -> tuple[list[str], list[list[Any]]]:
        """Keys and rows for programs: an estimate is three values."""
        wide = [any(isinstance(row[place], Estimate) for row in self.rows) for place in range(len(self.columns))]
        keys: list[str] = []
        for column, is_wide in zip(self.columns, wide, strict=True):
            keys += [column.key, f"{column.key}_low", f"{column.key}_high"] if is_wide else [column.key]
        return keys, [[one for value, is_wide in zip(row, wide, strict=True) for one in _spread(value, is_wide)]
                      for row in self.rows]  # fmt: skip


# The paper's tables

_NUMBER: Final = ".3f"
_PERCENT: Final = ".1%"
PAPER_COLUMNS: Final = (
    Column("harmful", "Harmful\n(total)", ",d"),
    Column("harm_count", "Harmful\n(avg.)", ".2f"),
    Column("efficiency", "Eff.\n(avg.)", _NUMBER),
    Column("length", "Len\n(avg.)", ".1f"),
    Column("pc", "PC", _NUMBER),
    Column("pc_ktc", "PC-KTC", _NUMBER),
    Column("prefix_criticality", "PrefixCrit", _NUMBER),
    Column("state_match", "BFCL\nState %", _PERCENT),
    Column("response_match", "BFCL\nResp. %", _PERCENT),
    Column("pc_hlr", "PC+HLR", _NUMBER),
)
"""The columns of the paper's tables, in its order."""
MORE_COLUMNS: Final = (
    Column("episodes", "episodes", ",d"),
    Column("outside", "outside", ",d"),
    Column("unplanted", "unplanted", ",d"),
    *PAPER_COLUMNS[:7],
    Column("harm_rate", "HarmRate", _NUMBER),
    Column("directness", "Direct.", _NUMBER),
    *PAPER_COLUMNS[7:],
    Column("accepted", "accepted\n%", _PERCENT),
    Column("solved", "solved\n%", _PERCENT),
)
"""Those, and ours."""
_COUNTS: Final = ("episodes", "outside", "unplanted", "harmful")


@dataclass(frozen=True)
class Means:
    """Which means a table shows: of which columns, with intervals or not, and with a weighted one where asked for."""

    columns: tuple[Column, ...] = PAPER_COLUMNS
    intervals: bool = False
    weights: Mapping[str, float] | None = None


PLAIN: Final = Means()


def summary_table(title: str, what: str, rows: Iterable[Summary], means: Means = PLAIN) -> Table:
    """A row a summary. Columns of what was left out stand there only where something was."""
    listed = list(rows)
    empty = [name for name in ("outside", "unplanted") if not any(getattr(one, name) for one in listed)]
    shown = [column for column in means.columns if column.key not in empty]
    if means.columns is MORE_COLUMNS and what == "agent":  # other rows hold the rollouts of several agents
        shown += [Column(f"pass^{k}", f"pass^{k}", _NUMBER) for k in _repeats(listed)]
    notes = [*_notes(listed)]
    if means.weights is not None:
        shown.append(Column("weighted", "weighted", _NUMBER))
        said = ", ".join(f"{name} {weight:g}" for name, weight in means.weights.items())
        notes.append(f"weighted: a mean with the weights {said}")
    if means.intervals:
        notes.append("in brackets: 95 % bootstrap intervals that draw tasks anew, from a fixed seed")
    cells = tuple((one.name, *(_of(one, column.key, means) for column in shown)) for one in listed)
    return Table(title, (Column(what, what), *shown), cells, tuple(notes))


def _repeats(rows: Sequence[Summary]) -> list[int]:
    """The k of pass^k: 2, 4, 8 … as far as some task was played so often."""
    most = max((one.most_repeats for one in rows), default=0)
    return [2**power for power in range(1, most.bit_length()) if 2**power <= most]


def _of(one: Summary, key: str, means: Means) -> float | Estimate | None:
    if key in _COUNTS:
        count: int = getattr(one, key)
        return count
    if key == "weighted":
        return one.weighted(means.weights or {})
    if key.startswith("pass^"):
        return one.pass_hat(int(key.removeprefix("pass^")))
    mean, interval = one.mean(key), one.interval(key) if means.intervals else None
    return mean if mean is None or interval is None else Estimate(mean, *interval)


def _notes(rows: Sequence[Summary]) -> Iterable[str]:
    """What the means leave out, or count in a way that must be said."""
    counted = sum(one.counted for one in rows)
    if undefined := sum(one.undefined for one in rows):
        rule = "counted as 0" if rows[0].undefined_efficiency == "zero" else "left out"
        yield f"efficiency undefined in {undefined:,} of {count(counted, 'episode')} ({rule} in the mean)"
    if outside := sum(one.outside for one in rows):
        yield f"{count(outside, 'episode')} failed outside the agent: in no mean"
    if unplanted := sum(one.unplanted for one in rows):
        yield f"in {count(unplanted, 'episode')} an agent's fault had no place: in no mean"
    if unasked := sum(one.unasked for one in rows):
        yield f"in {count(unasked, 'episode')} nothing was asked of the agent: in no mean"


def agents_table(results: Results, means: Means = PLAIN) -> Table:
    """The paper's first table: a row an agent."""
    return summary_table("Scores by agent", "agent", results.by_agent.values(), means)


def worlds_table(results: Results, means: Means = PLAIN) -> Table:
    """The paper's second table: a row a world, over all agents but the floor, which stands below for comparison."""
    agents = list(results.by_agent)
    floor = [name for name in agents if name in FLOOR]
    above = [name for name in agents if name not in FLOOR] or agents
    rows = list(results.only(above).by_world.values())
    if above is not agents:
        rows += [results.by_agent[name] for name in floor]
    who = ", ".join(above) if len(above) <= 3 else f"{len(above)} agents"
    return summary_table(f"Scores by world ({who})" if above else "Scores by world", "world", rows, means)


def tasks_table(results: Results, means: Means = PLAIN) -> Table:
    """A row a task, over all agents."""
    return summary_table("Scores by task", "task", results.by_task.values(), means)


def pairs_table(results: Results, means: Means = PLAIN) -> Table:
    """A row an agent in a world."""
    made = summary_table("Scores by agent and world", "agent", results.by_pair.values(), means)
    rows = tuple((*pair, *row[1:]) for pair, row in zip(results.by_pair, made.rows, strict=True))
    return replace(made, columns=(made.columns[0], Column("world", "world"), *made.columns[1:]), rows=rows)


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
"""The paper's failure modes and ours, by the built-in agent that shows them."""
_MODE_COLUMNS: Final = (
    ("pc", "PC"), ("pc_ktc", "PC-KTC"), ("harm_rate", "HarmRate"), ("prefix_criticality", "PrefixCrit"),
    ("efficiency", "Eff."), ("pc_hlr", "PC+HLR"), ("state_match", "BFCL\nState"), ("response_match", "BFCL\nResp."),
)  # fmt: skip
SEEN: Final = 0.05
"""A fault that costs a score less than this on average goes unseen by it."""


def faults_table(results: Results) -> Table | None:
    """The paper's failure modes, measured: what each costs each score, beside an agent without faults.

    None where the agent `oracle` is not there to compare with, or no agent that fails on purpose.
    """
    oracle = results.by_agent.get("oracle")
    modes = [name for name in _MODES if name in results.by_agent]
    if oracle is None or not modes:
        return None
    rows = [
        (_MODES[name], name, *(_cost(difference(oracle, results.by_agent[name], key)) for key, _ in _MODE_COLUMNS))
        for name in modes
    ]
    columns = (
        Column("mode", "failure mode"), Column("agent", "agent"),
        *(Column(key, title, "+.3f") for key, title in _MODE_COLUMNS),
    )  # fmt: skip
    note = (
        f"difference to oracle on the same tasks; – where it is under {SEEN} or within the 95 % interval of "
        "no difference: the score does not see that failure; ? where there are too few tasks to tell"
    )
    return Table("Failure modes and the scores that see them", columns, tuple(rows), (note,))


def _cost(found: Difference | None) -> float | str | None:
    """The difference, where it is one."""
    if found is None or found.interval is None:
        return "?"
    low, high = found.interval
    return None if abs(found.difference) < SEEN or low <= 0 <= high else found.difference


def harms_table(results: Results) -> Table | None:
    """Harmful calls by kind, a row an agent: those that took effect, and those refused. None where there are none."""
    met = {kind for one in results.by_agent.values() for kind, _ in one.harms}
    kinds = [kind.value for kind in HarmKind if kind.value in met]
    if not kinds:
        return None
    columns = [Column("agent", "agent"), Column("harmful", "harmful", ",d"), Column("effected", "took\neffect", ",d")]
    columns += [Column(kind, kind.replace("_", "\n", 1).replace("_", " "), ",d") for kind in kinds]
    rows = [
        (one.name, one.harmful, _effected(one), *(_both(one, kind) for kind in kinds))
        for one in results.by_agent.values()
    ]
    note = "of each kind: those that took effect + those that were refused"
    return Table("Harmful calls by kind", tuple(columns), tuple(rows), (note,))


def _effected(one: Summary) -> int:
    return sum(count for (_, effected), count in one.harms.items() if effected)


def _both(one: Summary, kind: str) -> str | None:
    done, refused = one.harms[kind, True], one.harms[kind, False]
    return f"{done:,} + {refused:,}" if done or refused else None


def items_table(items: Iterable[Item]) -> Table:
    """A row a task: how hard it is, and whether it tells agents apart."""
    columns = (
        Column("task", "task"), Column("episodes", "episodes", ",d"), Column("solved", "solved %", _PERCENT),
        Column("difficulty", "difficulty", _NUMBER), Column("discrimination", "discrimination", "+.2f"),
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
"""The tables of means, by what a row is of."""


# How values are written


def _lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def _spread(value: Any, is_wide: bool) -> list[Any]:  # noqa: FBT001
    if isinstance(value, Estimate):
        return [value.mean, value.low, value.high]
    return [value, None, None] if is_wide else [value]


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text).replace("\n", " ")


_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "−": "$-$", "…": r"\dots{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "\n": " ",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _harmless(value: Any) -> Any:
    """A name without signs that hide or steer; one that a spreadsheet would take for a formula is marked as text."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else visible(value)


def _kind(column: Column) -> str:
    return "" if column.is_text else ' class="number"'


def _html_cell(column: Column, value: Any, place: int) -> str:
    text = escape(column.cell(value))
    if place == 0:
        return f'<th scope="row"><bdi>{text}</bdi></th>'
    if column.is_text:
        return f"<td>{text}</td>"
    number = value.mean if isinstance(value, Estimate) else value
    full = f' data-value="{round(number, 6)}"' if isinstance(number, (int, float)) else ""
    return f'<td class="number"{full}>{text}</td>'


assert set(_MODES) <= set(BUILT_IN)
