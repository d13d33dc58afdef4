"""Score many episodes at once: the same numbers as `score`, at little more than the cost of reading them."""

from corepath.batch.schema import EPISODES, SCORES
from corepath.batch.scorer import BatchScorer, score_batch

__all__ = ["EPISODES", "SCORES", "BatchScorer", "score_batch"]
