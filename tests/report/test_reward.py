"""The source's own reward beside the scores: in tables, comparisons and the page, with the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from corepath.report.loading import load_results
from corepath.report.page import page
from corepath.report.results import Results
from corepath.report.summary_table import MORE_COLUMNS, Means
from corepath.report.tables import agents_table, reward_table, tasks_table, worlds_table
from corepath.scoring.agreement import COMPARED
from corepath.scoring.summary import VECTOR
from tests.browser import chromium, window

PAY, SEND, WRONG = ({"tool": name, "arguments": {}, "result": {"at": name}} for name in ("pay", "send", "burn"))
REFUSED = {"tool": "burn", "arguments": {}, "error": "no"}
PLAYED: dict[str, list[tuple[str, Any, list[dict[str, Any]]]]] = {
    "ann": [
        ("shop/west/1", 1.0, [PAY, SEND]),
        ("shop/west/2", 1, [PAY, SEND, WRONG]),
        ("shop/east/1", 0.0, [SEND, PAY, REFUSED]),
        ("shop/east/2", 0.0, [PAY, SEND]),
        ("shop/east/2", True, [PAY, PAY, SEND]),
    ],
    "bob": [
        ("shop/west/1", 0.0, []),
        ("shop/west/2", 1.0, [PAY, SEND]),
        ("shop/east/1", None, [WRONG]),
        ("shop/east/2", 0.5, [PAY]),
    ],
}
"""Task, reward and calls of each episode. In every task `pay` and `send` are due, in any order."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reward")
    tasks = ("shop/west/1", "shop/west/2", "shop/east/1", "shop/east/2")
    (made / "t.yaml").write_text(
        "---\n".join(f"id: {id_}\nprocedure: pay() & send()\n" for id_ in tasks), encoding="utf-8"
    )
    for agent, played in PLAYED.items():
        lines = [
            {
                "task": task,
                "agent": agent,
                "epoch": epoch,
                "calls": calls,
                **({} if reward is None else {"reward": reward}),
            }
            for epoch, (task, reward, calls) in enumerate(played)
        ]
        (made / f"{agent}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return load_results(folder / "ann.jsonl", folder / "bob.jsonl", tasks=[folder / "t.yaml"])


def test_the_reward_is_a_column_where_an_episode_has_one(results: Results, folder: Path) -> None:
    for means in (Means(), Means(MORE_COLUMNS), Means(MORE_COLUMNS, intervals=True)):
        assert [row["reward"] for row in agents_table(results, means).to_dicts()] == pytest.approx([0.6, 0.5])
    assert {row["world"]: row["reward"] for row in worlds_table(results).to_dicts()} == {
        "shop/east": pytest.approx(1.5 / 4), "shop/west": pytest.approx(3 / 4),
    }  # fmt: skip
    assert [row["reward"] for row in tasks_table(results).to_dicts()] == pytest.approx([0.5, 1.0, 0.0, 0.5])
    without = load_results(folder / "bob.jsonl", tasks=[folder / "t.yaml"])
    bare = Results(tuple(one for one in without if one.episode.reward is None))
    assert "reward" not in [column.key for column in agents_table(bare, Means(MORE_COLUMNS)).columns]
    assert (bare.agreements, reward_table(bare.agreements)) == ([], None)


def test_the_agreement_counts_what_the_reward_does_not_see(results: Results) -> None:
    ann, bob, everyone = results.agreements
    assert (ann.name, bob.name, everyone.name) == ("ann", "bob", "all agents")
    assert (ann.episodes, ann.rewarded, ann.rewarded_harmful, ann.nearly_right) == (5, 3, 1, 1)
    assert (bob.episodes, bob.rewarded, bob.rewarded_harmful, bob.nearly_right) == (3, 1, 0, 0)
    assert (everyone.episodes, everyone.rewarded, everyone.rewarded_harmful, everyone.nearly_right) == (8, 4, 1, 1)
    assert bob.correlations["pc"] == pytest.approx(1)
    assert bob.correlations["harm_free"] is None, "all are free of harm"
    assert len(results.only(["ann"]).agreements) == 1, "one agent is everyone"
    assert results.to_pandas()["reward"].tolist()[:3] == [1.0, 1.0, 0.0]
    assert "reward" not in Results(tuple(one for one in results if one.episode.reward is None)).to_pandas()


def rows_of(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "agent": one.name, "episodes": one.episodes, "reward": one.reward, "rewarded": one.rewarded,
            "rewarded_harmful": one.rewarded_harmful, "nearly_right": one.nearly_right,
            **{f"correlation_{name}": one.correlations[name] for name in COMPARED},
        }
        for one in results.agreements
    ]  # fmt: skip


def test_the_commands_print_the_same_numbers(results: Results, folder: Path, corepath: Any) -> None:
    places = ("ann.jsonl", "bob.jsonl", "--tasks", "t.yaml")
    printed = corepath("table", *places, "--json", cwd=folder).stdout.splitlines()
    assert [json.loads(line) for line in printed[-3:]] == rows_of(results)
    alone = corepath("table", *places, "--by", "reward", "--json", cwd=folder).stdout.splitlines()
    assert alone == printed[-3:]
    table = reward_table(results.agreements)
    assert table is not None
    text = corepath("table", *places, "--wide", cwd=folder).stdout
    assert all(line.rstrip() in text for line in table.text().splitlines())
    narrow = corepath("table", *places, cwd=folder).stdout
    assert all(line.rstrip() in narrow for line in table.text(80).splitlines())
    assert max(map(len, narrow.splitlines())) <= 80
    compared = corepath("compare", "ann.jsonl", "bob.jsonl", "--tasks", "t.yaml", "--json", cwd=folder)
    rows = [json.loads(line) for line in compared.stdout.splitlines()]
    assert rows[-2:] == [
        {**row, "agent": f"{side}: {row['agent']}"} for side, row in zip("AB", rows_of(results), strict=False)
    ]
    reward = next(row for row in rows if row.get("score") == "reward")
    assert (reward["a"], reward["b"], reward["worse"]) == (pytest.approx(2.5 / 3), pytest.approx(0.5), False)
    shown = corepath("compare", "ann.jsonl", "bob.jsonl", "--tasks", "t.yaml", cwd=folder).stdout
    assert "Scores beside the source's own reward" in shown


def test_compare_shows_the_columns_that_it_leaves_out_if_asked(folder: Path, corepath: Any) -> None:
    given = ("compare", "ann.jsonl", "bob.jsonl", "--tasks", "t.yaml")
    assert "more columns with --wide" in corepath(*given, cwd=folder).stdout
    wide = corepath(*given, "--wide", cwd=folder)
    assert (wide.returncode, "--wide" in wide.stdout) == (0, False)


def test_without_rewards_nothing_is_said_of_them(folder: Path, tmp_path: Path, corepath: Any) -> None:
    lines = [line for line in (folder / "bob.jsonl").read_text().splitlines() if '"reward"' not in line]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    places = (tmp_path / "e.jsonl", "--tasks", folder / "t.yaml")
    assert "reward" not in corepath("table", *places).stdout
    assert "no episode has a reward of its source" in corepath("table", *places, "--by", "reward").stderr
    done = corepath("compare", "e.jsonl", "e.jsonl", *places[1:], "--json", cwd=tmp_path)
    compared = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["score"] for line in compared] == list(VECTOR)


def test_the_reward_is_not_judged_unless_it_is_asked_for(folder: Path, corepath: Any) -> None:
    place = ("ann.jsonl", "bob.jsonl", "--tasks", "t.yaml", "--json")
    asked = corepath("compare", *place, "--scores", "reward", cwd=folder).stdout.splitlines()
    assert [json.loads(line).get("score") for line in asked] == ["reward", None, None]
    assert corepath("compare", *place, "--scores", "rewards", cwd=folder).returncode == 2


def test_the_page_shows_the_reward_and_finds_the_episodes_behind_each_number(results: Results, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(results), encoding="utf-8")
    with chromium() as browser, window(browser, file) as shown:
        opened = shown.open()
        cells = opened.locator("#reward tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.dataset.value ?? cell.textContent))"
        )
        expected = [
            [row["agent"], *("–" if value is None else value for value in list(row.values())[1:])]
            for row in rows_of(results)
        ]  # fmt: skip
        for found, right in zip(cells, expected, strict=True):
            assert found[0] == right[0]
            assert [one if one == "–" else float(one) for one in found[1:]] == [
                one if one == "–" else pytest.approx(one, abs=1e-6) for one in right[1:]
            ]
        for outcome, count in (("rewarded_harmful", 1), ("nearly_right", 1)):
            opened = shown.open(f"#/?outcome={outcome}")
            expect(opened.locator("#list .count")).to_have_text(f"{count} episode")
        expect(opened.locator("#list th[data-key=reward]")).to_have_text("Reward")
        opened = shown.open("#/?world=shop%2Fwest")
        expect(opened.locator("#list .count")).to_have_text("4 episodes")
        opened.locator("#list tbody a").first.click()
        expect(opened.locator("#view dl.scores")).to_contain_text("Reward")
    bare = Results(tuple(one for one in results if one.episode.reward is None))
    file.write_text(page(bare), encoding="utf-8")
    with chromium() as browser, window(browser, file) as shown:
        opened = shown.open()
        expect(opened.locator("#list th[data-key=reward]")).to_have_count(0)
        expect(opened.locator("#reward")).to_have_count(0)
