"""Score very many episodes: the same numbers as `score`, in bounded memory, at little more than the cost of reading."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corepath.batch.files import Settings, score_files
    from corepath.batch.schema import EPISODES, SCORES
    from corepath.batch.scorer import BatchScorer
    from corepath.batch.tables import score_batch, score_spans

_MODULES = {
    "EPISODES": "schema",
    "SCORES": "schema",
    "BatchScorer": "scorer",
    "score_batch": "tables",
    "score_spans": "tables",
    "Settings": "files",
    "score_files": "files",
}

__all__ = ["EPISODES", "SCORES", "BatchScorer", "Settings", "score_batch", "score_files", "score_spans"]


def __getattr__(name: str) -> Any:
    """Import a name on first use, because they need the extra `batch`."""
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(f"corepath.batch.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'corepath.batch' has no attribute '{name}'")
