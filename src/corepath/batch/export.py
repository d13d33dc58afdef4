"""Export scores to other platforms: as files, or sent to a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from corepath.batch import export_langfuse, export_otel, export_phoenix
from corepath.batch.export_rows import ScoreRow
from corepath.batch.export_send import Sender
from corepath.batch.export_target import Item, Target

TARGETS: Final[Mapping[str, Target]] = {
    "otel": export_otel.TARGET,
    "langfuse": export_langfuse.TARGET,
    "phoenix": export_phoenix.TARGET,
}
"""The platforms by name."""
MOST_SCORES: Final = 500
"""The most scores in a request."""
MOST_BYTES: Final = 800_000
"""The most bytes of scores in a request. Many servers take at most a megabyte."""


@dataclass
class Export:
    """Collects scores into batches, writes or sends each batch, and counts.

    Episodes that are left out of means are not exported, and neither are episodes without a trace, if the target needs
    one. Call `flush` at the end.
    """

    target: Target
    write: Callable[[str], None] | None = None
    sender: Sender | None = None
    episodes: int = 0
    scores: int = 0
    unlinked: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    _batch: list[Item] = field(default_factory=list)
    _bytes: int = 0

    def add(self, row: ScoreRow) -> None:
        """Export the scores of an episode. Raises `SendError` if the server does not take a batch."""
        if row.excluded is not None:
            self.excluded[row.excluded] += 1
            return
        if not self.target.is_linked(row):
            self.unlinked += 1
            if self.target.needs_link:
                return
        self.episodes += bool(row.scores)
        for item in self.target.make_items(row):
            if len(self._batch) == MOST_SCORES or self._bytes + len(item.text) > MOST_BYTES:
                self.flush()
            self._batch.append(item)
            self._bytes += len(item.text)

    def flush(self) -> None:
        """Write and send the scores that are not yet written and sent."""
        batch, self._batch, self._bytes = self._batch, [], 0
        if not batch:
            return
        self.scores += len(batch)
        if self.write is not None:
            for line in self.target.make_lines(batch):
                self.write(line)
        if self.sender is not None:
            self.sender.send(batch)
