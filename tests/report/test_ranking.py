"""Who is best: the sentence, the order, the dots, and pairs of agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode, Task, call, seq, tool
from corepath.episode import usage_of
from corepath.report import ranking
from corepath.report.comparison import FLIPS, Difference, _chance, compare, regressions, sure
from corepath.report.dots import dots
from corepath.report.figures import _steps, heat_map, pareto_view
from corepath.report.plot import SCALE, ink_on, luminance, scale_css
from corepath.report.ranking import JUDGED, compare_all, headline
from corepath.report.results import Results
from corepath.report.summary_table import PAGE_COLUMNS, Means
from corepath.report.tables import agents_table
from corepath.scoring.summary import MOST_GROUPS, bootstrap_interval
from tests.report.test_page import of

GOOD, HARMFUL, NOTHING = (call("buy()"),), (call("steal()"), call("buy()")), ()
WORLD = {f"shop/{n:02}": Task(f"shop/{n:02}", procedure=seq(tool("buy")())) for n in range(40)}


def played(**agents: Sequence[tuple[Call, ...]]) -> Results:
    """Results of agents: each list has the calls for the first tasks."""
    episodes = [
        Episode(name, calls, agent)
        for agent, runs in agents.items()
        for name, calls in zip(WORLD, runs, strict=False)
    ]  # fmt: skip
    return of(*episodes, known=WORLD)


def words(results: Results) -> str:
    return unescape(re.sub(r"<[^>]+>", "", headline(results)))


# The sentence


def test_the_sentence_says_who_is_best_and_whether_that_is_sure():
    found = words(played(best=[GOOD] * 20, next=[GOOD] * 5 + [NOTHING] * 15, last=[NOTHING] * 20))
    assert found == (
        "best solved 20 of 20 episodes; next, the next best, solved 5 of 20, which is 75 percentage points fewer for "
        "sure; harm took effect in no episode."
    )


def test_the_sentence_does_not_claim_what_chance_may_explain():
    found = words(played(best=[GOOD] * 4, next=[GOOD] * 3 + [NOTHING]))
    assert "but whether that is worse for sure cannot be told from 4 tasks" in found


@pytest.mark.parametrize(
    ("alike", "said"),
    [(1, "as did b"), (2, "as did b and c"), (3, "as did b, c and d"), (5, "as did b, c, d and 2 more")],
)
def test_the_sentence_names_who_solved_as_many(alike: int, said: str):
    agents = {name: [GOOD] * 3 for name in "abcdefgh"[: alike + 1]}
    assert words(played(**agents)).startswith(f"a solved 3 of 3 episodes, {said};")


def test_the_sentence_of_one_agent_has_its_interval():
    results = played(one=[GOOD] * 10 + [NOTHING] * 10)
    low, high = results.by_agent["one"].interval("solved") or (0, 0)
    assert f"one solved 10 of 20 episodes (95 % interval {100 * low:.0f} to {100 * high:.0f} %)" in words(results)


def test_the_sentence_says_if_nobody_solved_anything():
    assert words(played(one=[NOTHING] * 3)).startswith("one solved none of 3 episodes")
    assert words(played(one=[NOTHING] * 3, other=[NOTHING] * 3)).startswith("No agent solved any of 6 episodes")


def test_the_sentence_does_not_compare_agents_on_different_tasks():
    episodes = [Episode("shop/00", GOOD, "one"), Episode("shop/01", NOTHING, "other")]
    assert "cannot be compared" in words(of(*episodes, known=WORLD))


def test_there_is_no_sentence_without_episodes():
    assert headline(Results()) == ""


def test_names_in_the_sentence_are_escaped():
    found = headline(of(Episode("shop/00", GOOD, "<b>&"), known=WORLD))
    assert "<bdi>&lt;b&gt;&amp;</bdi>" in found
    assert 'href="#/?agent=%3Cb%3E%26"' in found


# Order and dots


def test_harm_that_took_effect_decides_between_agents_who_solved_as_many():
    results = played(harmful=[GOOD] * 3 + [HARMFUL], quiet=[GOOD] * 3 + [NOTHING], do_nothing=[NOTHING] * 4)
    figure = dots(results)
    assert [row.agent for row in figure.rows] == ["quiet", "harmful"]
    assert figure.floor == ("do_nothing",)
    assert figure.bands == ((0, 0), (0, 0), (0, 0))


def test_dots_and_lines_are_means_and_intervals():
    results = played(one=[GOOD] * 3 + [HARMFUL] * 5, other=[NOTHING] * 8)
    one = results.by_agent["one"]
    row = next(row for row in dots(results).rows if row.agent == "one")
    assert [dot.mean for dot in row.dots if dot] == [one.mean(score) for score in JUDGED]
    assert [dot.interval for dot in row.dots if dot] == [one.interval(score) for score in JUDGED]


def test_only_floor_agents_are_rows_too():
    assert [row.agent for row in dots(played(do_nothing=[NOTHING] * 2)).rows] == ["do_nothing"]


# Pairs


def test_pairs_are_what_compare_computes():
    random = Random(0)
    results = played(**{name: [random.choice([GOOD, HARMFUL, NOTHING]) for _ in range(40)] for name in "abc"})
    found = compare_all(results)
    names = found["agents"]
    for (a, b), rows in zip(((0, 1), (0, 2), (1, 2)), found["pairs"], strict=True):
        differences = compare(results.by_agent[names[a]], results.by_agent[names[b]], JUDGED)
        certain = [one.score for one in sure(differences)]
        for one, row in zip(differences, rows, strict=True):
            assert row[:3] == pytest.approx([one.a, one.b, one.difference], abs=1e-6)
            assert row[3:5] == pytest.approx(one.interval, abs=1e-6)
            assert row[6] is (one.score in certain)
            assert sum(row[7:]) == 40


def test_beyond_the_most_agents_only_the_best_are_compared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranking, "MOST_AGENTS", 2)
    found = compare_all(played(a=[NOTHING] * 3, b=[GOOD] * 3, c=[GOOD, GOOD, NOTHING]))
    assert (found["agents"], len(found["pairs"]), found["left_out"]) == (["b", "c"], 1, 1)


def test_the_more_tasks_the_fewer_agents_are_compared():
    counts = [ranking._most(tasks) for tasks in (10, 165, 1_000, 10_000, 1_000_000)]
    assert counts[0] == ranking.MOST_AGENTS
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 2
    assert all(most * (most - 1) // 2 * tasks <= ranking.MOST_GAPS for most, tasks in ((counts[2], 1_000),))


def gap(score: str, *gaps: float) -> Difference:
    by_task = {str(number): one for number, one in enumerate(gaps)}
    interval = bootstrap_interval([(one, 1) for one in gaps])
    return Difference(score, 0, 0, sum(gaps) / len(gaps), None, interval, None, by_task)


def test_what_is_sure_is_more_than_chance_and_its_interval_excludes_0():
    assert sure([gap("pc", *[-0.5] * 10)])
    assert sure([gap("pc", *[0.5] * 10)])
    assert sure([gap("harm_effected", *[1.0] * 10)])
    assert not sure([gap("pc", -0.5, -0.5)]), "two tasks cannot show it, though the interval excludes 0"
    assert not sure([gap("pc", *[-0.5, 0.5] * 10)])
    assert [one.score for one in sure([gap("solved", *[0.5] * 10), gap("pc", *[-0.1, 0.1] * 5)])] == ["solved"]


def test_less_harm_that_took_effect_is_better():
    assert regressions([gap("harm_effected", *[1.0] * 10)])
    assert not regressions([gap("harm_effected", *[-1.0] * 10)])


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=FLIPS + 1, max_size=40))
def test_the_chance_is_that_of_flipping_each_sign(gaps: list[float]):
    random, low = Random(0), 1
    for _ in range(2**FLIPS - 1):
        bits = random.getrandbits(len(gaps))
        low += sum(one if bits >> place & 1 else -one for place, one in enumerate(gaps)) <= sum(gaps) + 1e-12
    assert _chance(gaps) == low / 2**FLIPS


def test_intervals_over_very_many_tasks_are_normal_and_nearly_the_same():
    random = Random(1)
    values = [(random.random(), 1) for _ in range(MOST_GROUPS)]
    drawn, normal = bootstrap_interval(values), bootstrap_interval([*values, (0.5, 1)])
    assert drawn == pytest.approx(normal, abs=0.002)


# Tables and figures


def test_efficiency_is_muted_on_the_page_and_saved_as_it_is():
    table = agents_table(played(wrong=[(call("steal()"),)] * 3, right=[GOOD] * 3), Means(PAGE_COLUMNS))
    place = [column.key for column in table.columns].index("efficiency")
    assert [row[place] for row in table.cells] == ["–", "1.000"]
    assert [row["efficiency"] for row in table.to_dicts()] == [1.0, 1.0]
    assert any(note.startswith("Eff. is shown as –") for note in table.notes)


def test_the_first_columns_of_the_page_are_the_ones_that_matter():
    columns = agents_table(played(one=[GOOD] * 3), Means(PAGE_COLUMNS)).columns
    assert [column.key for column in columns[:4]] == ["agent", "solved", "harm_effected", "pc"]
    assert len({column.key for column in columns}) == len(columns)


def test_the_colour_scale_reads_in_grey_and_so_does_the_text_on_it():
    greys = [luminance(colour) for colour in SCALE]
    assert greys == sorted(greys, reverse=True)
    assert min(before - after for before, after in pairwise(greys)) > 0.02
    for colour in SCALE:
        light, dark = sorted((luminance(colour), luminance(ink_on(colour))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    rules = re.findall(r"\.heat(\d) \{ background: light-dark\((#\w+), (#\w+)\)", scale_css())
    assert [rule[1] for rule in rules] == list(SCALE)
    assert [rule[2] for rule in rules] == list(SCALE)[::-1]


def test_a_heat_map_has_the_same_colours_as_svg():
    results = played(one=[GOOD] * 20, other=[NOTHING] * 10 + [GOOD] * 10)
    drawn = heat_map(results).svg()
    assert set(re.findall(r'fill="(#\w+)"/>', drawn)) <= set(SCALE)


def test_the_pareto_front_is_a_line_through_its_points():
    assert _steps([(0.2, 0.9), (0.6, 0.5), (0.5, 0.4), (0.9, 0.1)]) == (
        (0.0, 0.9), (0.2, 0.9), (0.2, 0.5), (0.6, 0.5), (0.6, 0.1), (0.9, 0.1), (0.9, 0.0),
    )  # fmt: skip
    assert _steps([]) == ()
    drawn = pareto_view(played(one=[GOOD] * 3, other=[NOTHING] * 3))
    assert drawn.front
    assert 'class="front"' in drawn.svg()


def test_pdf_figures_have_fonts_that_journals_accept(tmp_path: Any):
    pdf = pytest.importorskip("corepath.report.pdf")
    paths = pdf.write_pdfs(played(one=[GOOD] * 3, other=[NOTHING] * 3), tmp_path)
    assert {path.stem for path in paths} == {"core-versus-bfcl", "pareto", "heat-map", "agents"}
    for path in paths:
        assert b"/Type3" not in path.read_bytes()
        assert b"/CIDFontType2" in path.read_bytes()


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        ({"usage": {"total_cost": 0.5, "input_tokens": 10, "output_tokens": 5}, "seconds": 3}, (0.5, 15, 3)),
        ({"usage": {"total_tokens": 20, "input_tokens": 10, "seconds": 7}, "seconds": 0}, (None, 20, 7)),
        ({"usage": {"total_cost": True, "input_tokens": "many"}, "seconds": -1}, (None, None, None)),
        ({"usage": "none"}, (None, None, None)),
        ({}, (None, None, None)),
    ],
)
def test_cost_tokens_and_seconds_are_read_where_they_are_recorded(extra: dict[str, Any], found: tuple[Any, ...]):
    episode = Episode("shop/00", (), extra=extra)
    assert tuple(usage_of(episode, name) for name in ("cost", "tokens", "seconds")) == found
