"""A table of values that can be written as text, Markdown, CSV, LaTeX, HTML, JSON or a data frame."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from corepath.report.definitions import definition
from corepath.values import visible

if TYPE_CHECKING:
    import pandas as pd

LONGEST_NAME: Final = 120
"""Names longer than this are shortened, except in CSV, JSON and data frames."""
NARROWEST_TEXT: Final = 12
"""On a narrow terminal, text is wrapped to this width, or to its longest word, before columns are left out."""
COMFORTABLE_TEXT: Final = 24
"""Columns of rank 2 and more are left out before text is wrapped to less than this."""
LONGEST_WORD: Final = 30
"""Longer words are split on a narrow terminal."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Muted:
    """A value that is shown as –, because it would mislead, but saved as it is."""

    value: float


@dataclass(frozen=True)
class Column:
    """A table column with a key for programs, a title for people, and a number format.

    A title may have two lines. The percent sign is in the title only, not after each number. On a narrow terminal,
    `short` is the title, and the columns with the highest `rank` are left out first, from the right.
    """

    key: str
    title: str
    form: str = ""
    short: str = ""
    rank: int = 0

    @property
    def is_text(self) -> bool:
        """Whether the column holds text rather than numbers."""
        return not self.form

    def cell(self, value: Any) -> str:
        """Format a value for display. An undefined or muted value is shown as –."""
        if value is None or isinstance(value, Muted):
            return "–"
        if self.is_text or isinstance(value, str):
            text = visible(str(value))
            return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
        if isinstance(value, Estimate):
            return f"{self.cell(value.mean)} [{self.cell(value.low)}, {self.cell(value.high)}]"
        return _format_number(value, self.form)

    @property
    def line(self) -> str:
        """The title on one line."""
        return self.title.replace("\n", " ")


@lru_cache(maxsize=2**14, typed=True)
def _format_number(value: float, form: str) -> str:
    """Format a number, without its percent sign. The numbers of a table are often the same."""
    text = format(value, form).removesuffix("%")
    return text.removeprefix("-") if not float(text.replace(",", "")) else text  # no "-0.000"


@dataclass(frozen=True)
class Table:
    """A table with a title, columns, rows of values, and notes below it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Titles and notes may contain agent names with control characters.
        object.__setattr__(self, "title", _lines(self.title))
        object.__setattr__(self, "notes", tuple(map(_lines, self.notes)))

    @cached_property
    def cells(self) -> list[list[str]]:
        """The formatted cells, row by row."""
        return [
            [column.cell(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]  # fmt: skip

    def text(self, width: int | None = None) -> str:
        """Return the table as plain text for a terminal.

        If the table is wider than `width`, titles are shortened, text is wrapped, and the least important columns are
        left out. A note then says how many.
        """
        layout = self._lay_out(width)
        left_out = len(self.columns) - len(layout.columns)
        more = [f"{left_out} more {'column' if left_out == 1 else 'columns'} with --wide"] if left_out else []
        notes = [*self.notes, *more]
        if width is not None:
            notes = [line for note in notes for part in note.split("\n") for line in fold(part, width, split=False)]
        return "\n".join([*([self.title] if self.title else []), *layout.lines(), *notes])

    def _lay_out(self, width: int | None) -> _Layout:
        """Lay out the columns, or those that fit into `width`."""
        shown = list(range(len(self.columns)))
        texts = [_Texts(column, cells) for column, cells in zip(self.columns, self._by_column, strict=True)]
        layout = _Layout.of(texts, short=False)
        if width is None or layout.width <= width:
            return layout
        layout = _Layout.of(texts, short=True)
        for rank, text in ((2, COMFORTABLE_TEXT), (1, NARROWEST_TEXT)):
            while layout.narrowest(text) > width and (least := self._least(shown, rank)) is not None:
                shown.remove(least)
                layout = _Layout.of([texts[place] for place in shown], short=True)
        layout.shrink_to(width)
        return layout

    @property
    def _by_column(self) -> Iterable[Sequence[str]]:
        return zip(*self.cells, strict=True) if self.rows else [()] * len(self.columns)

    def _least(self, shown: Sequence[int], rank: int) -> int | None:
        """Return the least important column of those shown, or None if no column has at least this rank."""
        ranked = [(self.columns[place].rank, place) for place in shown[1:] if self.columns[place].rank >= rank]
        return max(ranked)[1] if ranked else None

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [[column.line for column in self.columns], *self.cells]
        lines = [f"| {' | '.join(map(_markdown, row))} |" for row in rows]
        rule = "".join("|---" if column.is_text else "|---:" for column in self.columns) + "|"
        notes = ["", "  \n".join(map(_markdown, self.notes))] if self.notes else []
        return "\n".join([f"**{_markdown(self.title)}**", "", lines[0], rule, *lines[1:], *notes])

    def csv(self) -> str:
        """Return the table as CSV with unrounded numbers. Undefined values are empty."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        keys, rows = self._flat
        writer.writerow(keys)
        for row in rows:
            writer.writerow(["" if value is None else _harmless(value) for value in row])
        return file.getvalue().rstrip("\n")

    def latex(self) -> str:
        """Return the table as LaTeX with booktabs rules."""
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
        """Return the table as HTML. The attribute `data-value` holds each cell's number for sorting."""
        head = "".join(map(_html_head, self.columns))
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
        """Return the table as a data frame with unrounded numbers."""
        import pandas as pd  # noqa: PLC0415  # an extra

        keys, rows = self._flat
        return pd.DataFrame(rows, columns=keys)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as JSON objects."""
        keys, rows = self._flat
        return [dict(zip(keys, row, strict=True)) for row in rows]

    @cached_property
    def _flat(self) -> tuple[list[str], list[list[Any]]]:
        """The column keys and the rows with unformatted values. An estimate takes three columns: mean, low and high."""
        wide = [any(isinstance(row[place], Estimate) for row in self.rows) for place in range(len(self.columns))]
        keys: list[str] = []
        for column, is_wide in zip(self.columns, wide, strict=True):
            keys += [column.key, f"{column.key}_low", f"{column.key}_high"] if is_wide else [column.key]
        return keys, [[one for value, is_wide in zip(row, wide, strict=True) for one in _spread(value, is_wide)]
                      for row in self.rows]  # fmt: skip


# Text


@dataclass
class _Texts:
    """A column as text: its cells, and how wide they are."""

    column: Column
    cells: Sequence[str]

    def titles(self, *, short: bool) -> list[str]:
        """Return the lines of the title."""
        return ((short and self.column.short) or self.column.title).split("\n")

    @cached_property
    def width(self) -> int:
        """The width of the widest cell."""
        return max(map(_width, set(self.cells)), default=0)

    @cached_property
    def longest_word(self) -> int:
        """The width of the longest word in a cell."""
        return max((_width(word) for cell in set(self.cells) for word in _words(cell)), default=0)


@dataclass
class _Layout:
    """Some columns of a table as text: the lines of their titles, and how wide each column is."""

    columns: Sequence[_Texts]
    heads: list[tuple[str, ...]]
    widths: list[int]

    @classmethod
    def of(cls, columns: Sequence[_Texts], *, short: bool) -> _Layout:
        """Lay out columns, each as wide as its title and its cells."""
        titles = [one.titles(short=short) for one in columns]
        high = max(map(len, titles))
        heads = list(zip(*([""] * (high - len(title)) + title for title in titles), strict=True))
        widths = [max(one.width, *map(_width, title)) for one, title in zip(columns, titles, strict=True)]
        return cls(columns, heads, widths)

    @property
    def width(self) -> int:
        """The width of the whole table."""
        return sum(self.widths) + len(self.widths) - 1

    def narrowest(self, text: int) -> int:
        """Return the width of the table if long text is wrapped to a width of `text`, or of its longest word."""
        return sum(self._narrowest(place, text) for place in range(len(self.columns))) + len(self.widths) - 1

    def _narrowest(self, place: int, text: int) -> int:
        """Return how narrow a column can be. Numbers are not wrapped."""
        if not self.columns[place].column.is_text:
            return self.widths[place]
        in_title = max((_width(word) for line in self.heads for word in _words(line[place])), default=0)
        longest = max(self.columns[place].longest_word, in_title)
        return max(min(text, self.widths[place]), min(longest, LONGEST_WORD))

    def shrink_to(self, width: int) -> None:
        """Make columns of text narrower, the widest first, so that the table fits if possible."""
        for place in sorted(range(len(self.widths)), key=lambda place: -self.widths[place]):
            spare = self.widths[place] - self._narrowest(place, NARROWEST_TEXT)
            self.widths[place] -= min(max(0, self.width - width), spare)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table. Long text takes several lines, and numbers are on the first."""
        is_text = [one.column.is_text for one in self.columns]
        columns = list(zip(self.widths, is_text, strict=True))
        for row in (*self.heads, *zip(*(one.cells for one in self.columns), strict=True)):
            folded = [
                fold(cell, width) if _width(cell) > width else None
                for cell, width in zip(row, self.widths, strict=True)
            ]
            if not any(folded):
                yield " ".join(map(_pad, row, columns)).rstrip()
                continue
            parts = (one or [cell] for one, cell in zip(folded, row, strict=True))
            yield from (" ".join(map(_pad, line, columns)).rstrip() for line in zip_longest(*parts, fillvalue=""))


def _width(text: str) -> int:
    """Return how many places a text takes on a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def _pad(cell: str, column: tuple[int, bool]) -> str:
    """Fill a cell with spaces to the width of its column: after text, and before numbers."""
    width, is_text = column
    space = " " * (width - _width(cell))
    return cell + space if is_text else space + cell


_WORD: Final = re.compile(r"\s+|[^\s/_:.@-]*[/_:.@-]+|[^\s/_:.@-]+")
"""A name can be wrapped at a space, and after a sign such as / or _."""


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if not word.isspace()]


def fold(text: str, width: int, *, split: bool = True) -> list[str]:
    """Break text into lines of at most `width` characters, at spaces and after signs such as / or _.

    Words longer than `width` are split, unless `split` is False.
    """
    lines = [""]
    for word in _WORD.findall(text):
        if _width(lines[-1] + word.rstrip()) > width and lines[-1]:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += word if lines[-1] else word.lstrip()
        while split and _width(lines[-1]) > width:
            place = next(n for n in range(len(lines[-1]), 0, -1) if _width(lines[-1][:n]) <= width or n == 1)
            lines[-1:] = [lines[-1][:place], lines[-1][place:]]
    return [line.rstrip() for line in lines]


# Escaping


def _lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def _spread(value: Any, is_wide: bool) -> list[Any]:  # noqa: FBT001
    if isinstance(value, Estimate):
        return [value.mean, value.low, value.high]
    plain = value.value if isinstance(value, Muted) else value
    return [plain, None, None] if is_wide else [plain]


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
    """Make a value safe for spreadsheets: text that looks like a formula gets a leading apostrophe."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else visible(value)


def _html_head(column: Column) -> str:
    kind = "" if column.is_text else ' class="number"'
    about = definition(column.key)
    tip = f' title="{escape(about)}"' if about else ""
    return f'<th scope="col" data-key="{escape(column.key)}"{kind}{tip}>{escape(column.line)}</th>'


def _html_cell(column: Column, value: Any, place: int) -> str:
    text = escape(column.cell(value))
    if place == 0:
        return f'<th scope="row"><bdi>{text}</bdi></th>'
    if column.is_text:
        return f"<td>{text}</td>"
    if isinstance(value, Muted):
        return f'<td class="number" data-muted="{round(value.value, 6)}">{text}</td>'
    number = value.mean if isinstance(value, Estimate) else value
    full = f' data-value="{round(number, 6)}"' if isinstance(number, (int, float)) else ""
    return f'<td class="number"{full}>{text}</td>'
