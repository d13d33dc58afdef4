"""Means, errors, intervals, pass^k and Pareto fronts, compared with brute force and with values by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Episode, TaskError
from corepath.report.comparison import compare, difference, fewest_tasks, regressions
from corepath.scoring.summary import (
    MEANS,
    VECTOR,
    Summary,
    bootstrap_interval,
    check_weights,
    pareto_front,
    smallest_detectable,
    summarise,
)


def episode(task: str = "w/t", agent: str = "a", harms: int = 0, **scores: Any) -> Episode:
    """An episode with these scores; all others are perfect."""
    own = {
        **dict.fromkeys(MEANS, 1.0), "harm_rate": 0.0, "harm_count": harms, "accepted": True, "profile": "paper",
        "harms": [{"kind": "unlisted", "effected": place == 0} for place in range(harms)], **scores,
    }  # fmt: skip
    return Episode(task, (), agent, scores=own)


def summary(*episodes: Episode, name: str = "a", undefined: str = "zero") -> Summary:
    """The summary of the given episodes."""
    made = Summary(name, undefined)
    for one in episodes:
        made.add(one)
    return made


groups_of_values = st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=2, max_size=6)


def of_groups(groups: list[list[float]], name: str = "a") -> Summary:
    """A summary in which each group of PC values is a task."""
    return summary(*(episode(f"w/{n}", pc=value) for n, group in enumerate(groups) for value in group), name=name)


@given(groups_of_values)
def test_the_error_of_a_mean_is_the_sandwich_estimate_clustered_by_task(groups: list[list[float]]) -> None:
    values = [(number, value) for number, group in enumerate(groups) for value in group]
    mean = fmean(value for _, value in values)
    meat = sum(
        (one - mean) * (other - mean)
        for (mine, one), (theirs, other) in product(values, values)
        if mine == theirs
    )  # fmt: skip
    brute = sqrt(max(0.0, meat * len(groups) / (len(groups) - 1))) / len(values)
    made = of_groups(groups)
    assert made.mean("pc") == pytest.approx(mean, abs=1e-12)
    assert made.error("pc") == pytest.approx(brute, abs=1e-7)


def test_with_one_episode_per_task_the_error_is_the_usual_one() -> None:
    values = [0.1, 0.5, 0.9, 0.4]
    made = of_groups([[value] for value in values])
    assert made.error("pc") == pytest.approx(stdev(values) / 2, abs=1e-12)


def test_one_task_has_no_error_and_no_interval_however_often_it_is_played() -> None:
    made = of_groups([[0.1, 0.2, 0.9]])
    assert (made.error("pc"), made.interval("pc"), smallest_detectable(made.error("pc"))) == (None, None, None)
    assert made.quantiles("pc") == pytest.approx([0.1, 0.15, 0.2, 0.55, 0.9])


def test_an_interval_is_reproducible_and_resamples_tasks() -> None:
    groups = [[0.0, 0.0, 0.0], [1.0], [0.5, 0.7]]
    first, second = of_groups(groups).interval("pc"), of_groups(groups).interval("pc")
    assert first == second
    assert first == bootstrap_interval([(sum(group), len(group)) for group in groups])
    assert first == (0.0, 1.0)  # with three tasks, some resamples contain only one of them
    narrow = of_groups([[number / 100] for number in range(100)]).interval("pc")
    assert narrow is not None
    assert 0.4 < narrow[0] < 0.495 < narrow[1] < 0.6


def test_an_interval_contains_the_truth_about_as_often_as_its_level_says() -> None:
    chance = Random(3)
    hits = 0
    for _ in range(200):
        low, high = bootstrap_interval([(chance.random(), 1) for _ in range(40)])
        hits += low <= 0.5 <= high
    assert 0.88 <= hits / 200 <= 0.99


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=4), st.integers(1, 5))
def test_pass_hat_is_the_share_of_subsets_of_k_rollouts_that_are_all_solved(tasks: list[list[bool]], k: int) -> None:
    def brute() -> Iterator[float]:
        for rollouts in tasks:
            if len(rollouts) >= k:
                yield fmean(all(chosen) for chosen in combinations(rollouts, k))

    wanted = list(brute())
    made = summary(*(episode(f"w/{n}", accepted=one) for n, own in enumerate(tasks) for one in own))
    found = made.pass_hat(k)
    assert found is None if not wanted else found == pytest.approx(fmean(wanted), abs=1e-12)


def test_an_accepted_episode_with_harm_is_not_solved() -> None:
    made = summary(episode(accepted=True, harms=1, harm_rate=0.5), episode(accepted=True))
    assert (made.mean("accepted"), made.mean("solved"), made.pass_hat(2)) == (1.0, 0.5, 0.0)


def test_episodes_that_failed_outside_or_were_not_planted_are_counted_but_left_out_of_means() -> None:
    outside = Episode("w/t", (), "a", outcome="failed outside")
    unplanted = Episode("w/t", (), "a", mistake="impossible")
    unasked = Episode("w/t", (), "a", unasked=True)
    made = summary(outside, unplanted, unasked, episode(pc=0.5))
    assert (made.episodes, made.outside, made.unplanted, made.unasked) == (4, 1, 1, 1)
    assert (made.counted, made.mean("pc")) == (1, 0.5)


def test_an_undefined_efficiency_is_counted_and_is_0_or_left_out_of_the_mean() -> None:
    pair = (episode(efficiency=None), episode(efficiency=0.8))
    assert (summary(*pair).mean("efficiency"), summary(*pair, undefined="skip").mean("efficiency")) == (0.4, 0.8)
    assert summary(*pair).undefined == summary(*pair, undefined="skip").undefined == 1


def test_harms_are_counted_by_kind_and_by_whether_they_took_effect() -> None:
    made = summary(episode(harms=3), episode(harms=1))
    assert made.harms == {("unlisted", True): 2, ("unlisted", False): 2}
    assert made.to_dict()["harms"] == [
        {"kind": "unlisted", "effected": False, "count": 2}, {"kind": "unlisted", "effected": True, "count": 2},
    ]  # fmt: skip


def test_harms_that_only_repeat_the_call_before_are_counted_apart() -> None:
    harms = [
        {"kind": "repeated", "effected": True, "again": 0}, {"kind": "repeated", "effected": False, "again": 0},
        {"kind": "repeated", "effected": True, "again": None}, {"kind": "repeated", "effected": True},
    ]  # fmt: skip
    made = summary(replace(episode(), scores={**episode().scores, "harm_count": 4, "harms": harms}))
    assert (made.again, made.to_dict()["again"]) == (1, 1)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6))
def test_nobody_dominates_the_pareto_front(vectors: list[tuple[int, int, int]]) -> None:
    rows = [
        summary(episode(pc=float(x), accepted=float(y), pc_hlr=float(z)), name=str(number))
        for number, (x, y, z) in enumerate(vectors)
    ]
    brute = [
        str(number)
        for number, own in enumerate(vectors)
        if not any(other != own and all(a >= b for a, b in zip(other, own, strict=True)) for other in vectors)
    ]
    assert pareto_front(rows) == brute


def test_doing_nothing_is_not_on_the_front_beside_a_better_agent() -> None:
    nothing = summary(
        episode(pc=0.0, pc_ktc=0.25, efficiency=None, pc_hlr=0.0, accepted=False, prefix_criticality=1.0),
        name="nothing",
    )
    assert pareto_front([nothing, summary(episode(), name="good")]) == ["good"]
    assert "accepted" in VECTOR


def test_weights_give_one_number() -> None:
    made = summary(episode(pc=0.5, accepted=True))
    assert made.weighted_mean(check_weights({"pc": 1, "accepted": 3})) == 0.875
    for wrong, says in (({"pcc": 1.0}, "did you mean 'pc'"), ({"pc": -1.0}, "0 or more"), ({"pc": 0.0}, "all be 0")):
        with pytest.raises(TaskError, match=says):
            check_weights(wrong)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6))
def test_a_comparison_is_paired_by_task(pairs: list[tuple[float, float]]) -> None:
    a, b = of_groups([[one] for one, _ in pairs]), of_groups([[other] for _, other in pairs], "b")
    found = difference(a, b, "pc")
    assert found is not None
    gaps = [other - one for one, other in pairs]
    assert found.difference == pytest.approx(fmean(gaps), abs=1e-12)
    assert found.error == pytest.approx(stdev(gaps) / sqrt(len(gaps)), abs=1e-12)
    assert (found.detectable or 0.0) == pytest.approx(2.8016 * (found.error or 0), abs=1e-4)


def test_tasks_that_only_one_agent_played_do_not_count_in_a_comparison() -> None:
    a = summary(episode("w/1", pc=0.5), episode("w/2", pc=0.0))
    b = summary(episode("w/2", pc=1.0), episode("w/3", pc=0.1))
    found = difference(a, b, "pc")
    assert found is not None
    assert (found.by_task, found.difference, found.interval) == ({"w/2": 1.0}, 1.0, None)
    assert difference(summary(episode("w/1")), summary(episode("w/2")), "pc") is None


def test_equal_agents_are_not_worse_and_a_worse_one_is() -> None:
    chance = Random(1)
    good = [[chance.random() * 0.2 + 0.8] for _ in range(30)]
    bad = [[one[0] - 0.3 - chance.random() * 0.1] for one in good]
    assert regressions(compare(of_groups(good), of_groups(good))) == []
    assert [one.score for one in regressions(compare(of_groups(good), of_groups(bad)))] == ["pc"]
    found = compare(of_groups(good), of_groups(bad), ("pc",))[0]
    assert abs(found.changed_most[0][1]) == max(abs(gap) for gap in found.by_task.values())


def test_a_gate_rarely_fails_for_equal_agents() -> None:
    """At most about one in twenty pairs of equal agents fails, however many scores are compared."""
    chance = Random(7)
    drawn = sorted({*VECTOR, "harm_rate"} - {"harm_free"})
    failed = 0
    for _ in range(100):
        one, other = (
            summary(*(episode(f"w/{n}", **{name: chance.random() for name in drawn}) for n in range(25)))  # type: ignore[arg-type]
            for _ in range(2)
        )
        failed += bool(regressions(compare(one, other)))
    assert failed <= 9


@pytest.mark.parametrize("tasks", [1, 2, 3, 5, 8])
def test_a_gate_rarely_fails_with_few_tasks(tasks: int) -> None:
    chance = Random(tasks)
    failed = 0
    for _ in range(200):
        one, other = (of_groups([[chance.random()] for _ in range(tasks)]) for _ in range(2))
        failed += bool(regressions(compare(one, other, ("pc",))))
    assert failed <= 20
    assert (fewest_tasks(1), fewest_tasks(7)) == (5, 8)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_the_p_value_is_the_share_of_sign_flips_that_look_as_bad(gaps: list[float]) -> None:
    a, b = of_groups([[0.0] for _ in gaps]), of_groups([[gap] for gap in gaps], "b")
    found = difference(a, b, "pc")
    assert found is not None
    flipped = [
        sum(gap * sign for gap, sign in zip(gaps, signs, strict=True)) for signs in product((1, -1), repeat=len(gaps))
    ]
    assert found.chance == pytest.approx(fmean(one <= sum(gaps) + 1e-12 for one in flipped), abs=1e-12)


def test_fewer_harms_are_better_and_the_number_of_calls_is_neutral() -> None:
    many = [episode(f"w/{n}", harm_rate=0.5, length=9.0) for n in range(9)]
    few = [episode(f"w/{n}", harm_rate=0.0, length=3.0) for n in range(9)]
    scores = ("harm_rate", "length")
    assert regressions(compare(summary(*many), summary(*few), scores)) == []
    assert [one.score for one in regressions(compare(summary(*few), summary(*many), scores))] == ["harm_rate"]


def test_the_order_of_episodes_does_not_matter() -> None:
    episodes = [episode(f"w/{n % 4}", pc=n / 11) for n in range(12)]
    mixed = Random(2).sample(episodes, len(episodes))
    assert summary(*episodes).interval("pc") == summary(*mixed).interval("pc")
    assert summary(*episodes).error("pc") == pytest.approx(summary(*mixed).error("pc"), abs=1e-12)


def test_variants_of_a_task_are_paired_separately_and_resampled_together() -> None:
    def variant(seed: int, pc: float) -> Episode:
        made = episode("w/1", pc=pc)
        return Episode(made.task, (), "a", seed=seed, scores=made.scores)

    made = summary(variant(0, 0.0), variant(5, 1.0))
    assert made.task_means("pc") == {"w/1": 0.0, "w/1 (seed 5)": 1.0}
    assert (made.error("pc"), made.pass_hat(2)) == (None, None)
    assert difference(summary(variant(0, 0.0)), summary(variant(5, 1.0)), "pc") is None


def test_without_an_error_no_detectable_difference_is_given() -> None:
    assert (smallest_detectable(0.0), smallest_detectable(None)) == (None, None)
    assert smallest_detectable(0.1) == pytest.approx(0.28016, abs=1e-4)


def test_summaries_are_in_order_of_first_appearance() -> None:
    episodes = [episode(agent=name) for name in ("b", "a", "b")]
    found = summarise(episodes, lambda one: (one.agent or "", "w"))
    assert [(name, one.name, one.episodes) for name, one in found.items()] == [
        (("b", "w"), "b in w", 2), (("a", "w"), "a in w", 1),
    ]  # fmt: skip
