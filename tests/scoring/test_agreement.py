"""The agreement of scores with the reward of the source, compared with brute force."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Episode
from corepath.episode import reward_of, world_name
from corepath.scoring.agreement import COMPARED, agreement, disagreement, rank_correlation
from corepath.scoring.summary import MEANS, Summary, summarise


def brute_correlation(pairs: list[tuple[float, float]]) -> float | None:
    """Spearman's rho with exact fractions: the correlation of ranks, where a rank counts smaller and equal values."""
    ranks = [
        [1 + sum(other < one for other in side) + Fraction(side.count(one) - 1, 2) for one in side]
        for side in ([one for one, _ in pairs], [two for _, two in pairs])
    ]
    if len(pairs) < 2:
        return None
    mean = Fraction(len(pairs) + 1, 2)
    product = sum((one - mean) * (two - mean) for one, two in zip(*ranks, strict=True))
    spread = [sum((one - mean) ** 2 for one in side) for side in ranks]
    return float(product) / sqrt(spread[0] * spread[1]) if all(spread) else None


values = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)


@given(st.lists(st.tuples(values, st.sampled_from([0.0, 0.5, 1.0])), max_size=12))
def test_the_rank_correlation_is_that_of_brute_force(pairs: list[tuple[float | None, float]]) -> None:
    found = rank_correlation([one for one, _ in pairs], [two for _, two in pairs])
    right = brute_correlation([(one, two) for one, two in pairs if one is not None])
    assert found == (None if right is None else pytest.approx(right, abs=1e-12))


def test_a_known_rank_correlation_with_ties() -> None:
    # by hand: ranks 1, 2.5, 2.5, 4 and 1.5, 1.5, 3.5, 3.5, so that rho = 3 / sqrt(4.5 * 4)
    assert rank_correlation([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1]) == pytest.approx(3 / sqrt(18))
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([3, 2, 1], [10, 20, 30]) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("ours", "theirs"), [([], []), ([1.0], [1.0]), ([1.0, 1.0], [0.0, 1.0]), ([None, 1.0], [0.0, 1.0])]
)
def test_an_undefined_rank_correlation_is_none(ours: list[float | None], theirs: list[float]) -> None:
    assert rank_correlation(ours, theirs) is None


def episode(reward: Any, pc: float = 1.0, harms: tuple[str, ...] = (), **fields: Any) -> Episode:
    """An episode with a harm for each word: `done`, `refused`, or `again` for a repeat with the same answer."""
    listed = [
        {"kind": "repeated", "effected": one != "refused", **({"again": 0} if one == "again" else {})} for one in harms
    ]
    scores = {**dict.fromkeys(MEANS, pc), "harm_rate": 1 - pc, "harm_count": len(harms), "harms": listed}
    return Episode("t/a", (), "x", reward=reward, scores=scores, **fields)


episodes = st.builds(
    episode,
    st.sampled_from([None, "yes", True, False, 0, 1, 1.0, 0.5, 2, float("nan"), 10**400]),
    st.sampled_from([0.0, 0.3, 0.89, 0.9, 1.0]),
    st.lists(st.sampled_from(["done", "refused", "again"]), max_size=3).map(tuple),
    outcome=st.sampled_from([None, None, "failed outside"]),
    unasked=st.sampled_from([False, False, True]),
)


@given(st.lists(episodes, max_size=10))
def test_counts_and_correlations_are_those_of_brute_force(played: list[Episode]) -> None:
    counted = [
        one for one in played
        if isinstance(one.reward, (bool, int, float)) and -9e9 < one.reward < 9e9
        and one.outcome is None and not one.unasked
    ]  # fmt: skip
    found = agreement("x", played)
    if not counted:
        assert found is None
        return
    assert found is not None
    effects = [[harm for harm in one.scores["harms"] if harm["effected"] and "again" not in harm] for one in counted]
    good = [bool(one.reward >= 1) for one in counted]
    assert found.episodes == len(counted)
    assert found.rewarded == sum(good)
    assert found.reward == pytest.approx(sum(one.reward for one in counted) / len(counted))
    assert found.rewarded_harmful == sum(won and bool(did) for won, did in zip(good, effects, strict=True))
    assert found.nearly_right == sum(
        not won and one.scores["pc"] >= 0.9 and not did
        for won, did, one in zip(good, effects, counted, strict=True)
    )  # fmt: skip
    assert tuple(found.correlations) == COMPARED
    right = brute_correlation([(one.scores["pc"], float(one.reward)) for one in counted])
    assert found.correlations["pc"] == (None if right is None else pytest.approx(right, abs=1e-12))
    assert {disagreement(one) for one in played if one not in counted} <= {None}


def test_an_undefined_efficiency_counts_as_the_summary_counts_it() -> None:
    played = [episode(1, 0.9), episode(0, 0.2), episode(1, 0.5)]
    played[2].scores["efficiency"] = None  # type: ignore[index]
    zero, skip = (agreement("x", played, rule) for rule in ("zero", "skip"))
    assert zero is not None
    assert skip is not None
    assert zero.correlations["efficiency"] == pytest.approx(0)
    assert skip.correlations["efficiency"] == pytest.approx(1)


def test_the_reward_is_averaged_like_a_score_where_there_is_one() -> None:
    (made,) = summarise([episode(1), episode(0), episode("yes"), episode(1, unasked=True)], lambda _: "x").values()
    assert (made.values("reward"), made.mean("reward")) == ([1.0, 0.0], 0.5)
    assert made.to_dict()["reward"] == 0.5
    none = Summary("x")
    none.add(episode(None))
    assert "reward" not in none.to_dict()
    assert "reward" not in none.to_dict()["errors"]


@pytest.mark.parametrize(
    ("reward", "number"),
    [(True, 1.0), (0, 0.0), (0.5, 0.5), (None, None), ("1", None), (float("inf"), None), (10**400, None)],
)
def test_only_a_finite_number_is_a_reward(reward: Any, number: float | None) -> None:
    assert reward_of(episode(reward)) == number


@pytest.mark.parametrize(
    ("task", "world"),
    [
        ("farm/water_plant", "farm"),
        ("tau2/airline/12", "tau2/airline"),
        ("tau-bench/retail/7", "tau-bench/retail"),
        ("agentdojo/banking/user_task_0", "agentdojo/banking"),
        ("bfcl/multi_turn_base_3", "bfcl/multi_turn_base"),
        ("bfcl/multi_turn_miss_func_10", "bfcl/multi_turn_miss_func"),
        ("bfcl/other", "bfcl"),
        ("shop/level_3", "shop"),
        ("legal", "legal"),
        ("", ""),
        ("/x", "/x"),
        ("a/b/", "a/b"),
    ],
)
def test_the_world_of_a_task_is_all_parts_of_its_id_but_the_last(task: str, world: str) -> None:
    assert world_name(task) == world
