"""Shows the progress of long commands: as a live line on a terminal, as plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.live import Live
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from corepath.cli.printing import err
from corepath.episode import Episode
from corepath.errors import count
from corepath.scoring.summary import Row, Summary
from corepath.values import visible

EVERY_SECONDS: Final = 10.0
"""Seconds between two plain lines."""
LIVE_SECONDS: Final = 0.1
"""Seconds between two changes of a live line."""


@dataclass
class RunProgress:
    """A run's progress: episodes done, mean scores so far, time left."""

    total: int
    before: int = 0
    """Episodes that were already done when the run was resumed."""
    summary: Summary = field(default_factory=lambda: Summary("so far"))

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._live: Live | None = None
        self._next = self._began + EVERY_SECONDS
        self._agent = ""

    def add(self, episode: Episode, row: Row) -> None:
        """Count an episode that is finished and written. `row` has its values."""
        self.summary.add(episode, row)
        self._agent = episode.agent or ""
        now = time.monotonic()
        if now < self._next:
            return
        if self._live is not None:
            self._live.update(self._grid())
        else:
            err.print(Text(self.line), soft_wrap=True)
        every = EVERY_SECONDS if self._live is None else LIVE_SECONDS
        self._next = now + max(every, 20 * (time.monotonic() - now))  # the means of many episodes take a while

    @property
    def line(self) -> str:
        """The progress in one line, with the rate and the time left."""
        return self._words(*self._pace())

    @property
    def last_line(self) -> str:
        """The progress in one line after the run has ended, without the rate and the time left."""
        return self._words()

    def _pace(self) -> list[str]:
        done = self.before + self.summary.episodes
        rate = self.summary.episodes / max(time.monotonic() - self._began, 1e-9)
        return [f"{rate:,.1f}/s", f"{_time((self.total - done) / rate)} left"] if rate and done < self.total else []

    def _words(self, *pace: str) -> str:
        parts = [f"{self.before + self.summary.episodes:,} of {count(self.total, 'episode')}", *pace]
        pc, accepted = self.summary.mean("pc"), self.summary.mean("accepted")
        if pc is not None and accepted is not None:
            parts.append(
                f"mean PC {pc:.3f}, accepted {100 * accepted:.0f} %, {count(self.summary.harmful, 'harmful call')}"
            )
        if self.summary.outside:
            parts.append(f"{self.summary.outside} failed outside")
        return "; ".join(parts)

    def _grid(self) -> Table:
        """Build the live display: a bar, the progress line, and the agent that played last."""
        made = Table.grid(padding=(0, 1))
        done = self.before + self.summary.episodes
        made.add_row(ProgressBar(self.total, done, width=24), Text(self.line))
        made.add_row(Text(visible(self._agent)[:24], style="dim"))
        return made

    @contextmanager
    def show(self) -> Iterator[RunProgress]:
        """Show the progress on a terminal inside the `with` block."""
        if not err.is_terminal:
            yield self
            return
        with Live(self._grid(), console=err, refresh_per_second=8, transient=True) as self._live:
            self._next = self._began
            yield self
        self._live = None


@dataclass
class Counter:
    """Counts finished items, and shows a live line on a terminal or a plain line every ten seconds elsewhere."""

    what: str
    total: int = 0
    """How many items there will be, or 0 if that is unknown."""
    done: int = 0

    def __post_init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._status: Status | None = None
        self._current = ""
        self._patience = 1.0 if err.is_terminal else EVERY_SECONDS  # short work shows no line

    def name(self, current: str) -> None:
        """Say which file is being read now."""
        self._current = f"; {visible(current[-60:])}"

    def add(self) -> None:
        """Count one more item."""
        self.done += 1
        if self.done % 64:
            return  # reading the clock costs more than counting
        now = time.monotonic()
        if now - self._last < (self._patience if self._status is None else 0.1):
            return
        self._last = now
        if not err.is_terminal:
            err.print(Text(self.line), soft_wrap=True)
        elif self._status is None:
            self._status = err.status(self.line)
            self._status.start()
        else:
            self._status.update(self.line)

    @property
    def line(self) -> str:
        """The count in one line, with the rate and the time left."""
        rate = self.done / max(time.monotonic() - self._began, 1e-9)
        left = f", {_time((self.total - self.done) / rate)} left" if self.done < self.total else ""
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.done:,}{of} {self.what}; {rate:,.0f}/s{left}{self._current}"

    @contextmanager
    def show(self) -> Iterator[Counter]:
        """Remove the live line at the end of the `with` block."""
        try:
            yield self
        finally:
            if self._status is not None:
                self._status.stop()


@dataclass
class ByteProgress:
    """Shows how much of the input is done: a live line on a terminal, or a plain line every ten seconds elsewhere."""

    what: str
    before: tuple[int, int] | None = None
    """The items and bytes that were done before, as the first update says. They count for neither rate nor time."""

    def __post_init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._status: Status | None = None

    def update(self, items: int, done: int, total: int) -> None:
        """Say how many items and bytes are done."""
        self.before = self.before or (items, done)
        now = time.monotonic()
        if not err.is_terminal and now - self._last < EVERY_SECONDS:
            return
        self._last = now
        line = self.line(items, done, total, now - self._began)
        if not err.is_terminal:
            err.print(Text(line), soft_wrap=True)
        elif self._status is None:
            self._status = err.status(line)
            self._status.start()
        else:
            self._status.update(line)

    def line(self, items: int, done: int, total: int, seconds: float) -> str:
        """The progress in one line, with the rate and the time left."""
        share = done / total if total else 1.0
        items_before, done_before = self.before or (0, 0)
        left = f", {_time(seconds * (total - done) / (done - done_before))} left" if done_before < done < total else ""
        bar = "━" * round(20 * share) + "╌" * (20 - round(20 * share))
        rate = (items - items_before) / max(seconds, 1e-9)
        return f"{bar} {100 * share:.0f} %; {items:,} {self.what}; {rate:,.0f}/s{left}"

    @contextmanager
    def show(self) -> Iterator[ByteProgress]:
        """Remove the live line at the end of the `with` block."""
        try:
            yield self
        finally:
            if self._status is not None:
                self._status.stop()


def count_lines(path: Path) -> int:
    """Count the lines in a file. Return 0 for standard input and for a file that cannot be read."""
    if not path.is_file():
        return 0
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


@contextmanager
def show_status(what: str) -> Iterator[None]:
    """Show `what` on a terminal inside the `with` block, e.g. "reading episodes"."""
    with err.status(what) if err.is_terminal else nullcontext():
        yield


@contextmanager
def show_downloads() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a function that shows a download. Its arguments are a name, the bytes received, and the total or None."""
    if not err.is_terminal:
        said: set[str] = set()

        def say_once(what: str, _done: int, _total: int | None) -> None:
            if what not in said:
                said.add(what)
                err.print(Text(f"fetching {what}"))

        yield say_once
        return
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in bars:
                bars[what] = progress.add_task(f"fetching {what}", total=total)
            progress.update(bars[what], completed=done, total=total)

        yield show


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
