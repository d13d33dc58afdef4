"""What to fix: failed episodes by cause, harmful calls by tool and kind, the command and the tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode, load_results
from corepath.episode import FAILED_OUTSIDE
from corepath.files.episodes import episode_json
from corepath.report.fixes import NOT_EXPLAINED, Fixes
from corepath.report.output import write_report
from corepath.report.page import page
from corepath.report.results import Results
from corepath.scoring.cause_key import CauseKey
from corepath.scoring.summary import is_failed
from tests.report.test_report import played

RULES = """\
rules:
  - refund(...) requires verify(...)
  - never delete_*(...)      # because: people delete accounts
"""
HOSTILE = '<script>alert(1)</script>\u202e"&=\x00'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(
        tmp_path_factory.mktemp("fix") / "run", ("oracle", "do_nothing", "left_out", "wrong_argument", "undone")
    )


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return load_results(run)


def line(*calls: Call, **more: Any) -> str:
    return episode_json(Episode(more.pop("task", ""), calls, **more))


def file_of(folder: Path, *lines: str) -> Path:
    (folder / "rules.yaml").write_text(RULES)
    (folder / "e.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "e.jsonl"


# Clusters


def test_each_failed_episode_is_in_exactly_one_cluster(results: Results) -> None:
    fixes = results.fixes
    names = [name for one in fixes for name in one.names]
    counted = [one for one in results if one.agent != "do_nothing" and one.episode.mistake != "impossible"]
    failed = {(one.task_name, one.agent) for one in counted if is_failed(one.scores)}
    assert len(names) == len(set(names)) == fixes.failed == len(failed) > 50
    assert {(name.task, name.agent) for name in names} == failed
    assert sum(fixes.causes.values()) == fixes.failed
    assert fixes.episodes + sum(fixes.left_out.values()) == len(results)


def test_a_cluster_is_of_the_cause_that_the_explanation_names(results: Results) -> None:
    by_number = {one.number: one for one in results}
    for cluster in results.fixes:
        for name in cluster.names:
            cause = by_number[name.number].explanation.cause
            assert cause is not None
            assert cluster.key.kind == cause.kind.value
            assert cluster.key.tool in (cause.tool, None)
            assert (cluster.key.tool is None) == (
                cause.tool is None or cause.kind in ("made no call", "ran into a limit")
            )


def test_clusters_count_tasks_agents_and_what_took_effect(results: Results) -> None:
    for one in results.fixes:
        assert sum(one.tasks.values()) == sum(one.agents.values()) == len(one)
        assert 0 <= one.effected <= len(one)
        shown = one.to_dict(results.fixes.failed)
        assert [list(shown["tasks"]), list(shown["agents"])] == [
            sorted(counts, key=lambda name: (-counts[name], name)) for counts in (one.tasks, one.agents)
        ]


def test_the_largest_cluster_comes_first_and_the_order_is_always_the_same(results: Results) -> None:
    sizes = [len(one) for one in results.fixes]
    assert sizes == sorted(sizes, reverse=True)
    again = Fixes.of(list(reversed(results.results)), results.by_agent)
    assert [one.key for one in again] == [one.key for one in results.fixes]
    assert load_results(results.places[0]).fixes.to_dict() == results.fixes.to_dict()


def test_the_example_is_an_episode_of_its_cluster_with_its_own_headline_and_fix(results: Results) -> None:
    by_number = {one.number: one for one in results}
    for one in results.fixes:
        example = one.example
        assert example.name in one.names
        explanation = by_number[example.name.number].explanation
        assert example.headline == explanation.headline
        assert example.fix == tuple(edit.text for edit in explanation.fix if edit.kind != "keep")
        if one.effected:
            cause = explanation.cause
            assert cause is not None
            assert cause.effected


def test_harmful_calls_are_counted_by_tool_kind_and_effect(results: Results) -> None:
    fixes = results.fixes
    expected: Counter[tuple[str, bool]] = Counter()
    for agent in ("oracle", "left_out", "wrong_argument", "undone"):
        expected += results.by_agent[agent].harms
    found: Counter[tuple[str, bool]] = Counter()
    for tool in fixes.tools:
        for kind in fixes.kinds:
            counted = fixes.count_harms(tool, kind)
            found[kind, True] += counted.effected
            found[kind, False] += counted.refused
    assert +found == +expected
    assert sum(expected.values()) > 50
    by_effect = [sum(fixes.count_harms(tool, kind).effected for kind in fixes.kinds) for tool in fixes.tools]
    assert by_effect == sorted(by_effect, reverse=True)


def test_floor_agents_are_left_out_only_beside_others(results: Results) -> None:
    assert results.fixes.left_out["floor"] == results.by_agent["do_nothing"].episodes
    alone = results.only(["do_nothing"]).fixes
    assert (alone.left_out["floor"], [str(one) for one in alone]) == (0, ["made no call"])
    assert alone.failed == results.by_agent["do_nothing"].episodes


def test_who_failed_outside_is_counted_but_in_no_cluster(results: Results) -> None:
    failed = [one for one in results if one.agent == "left_out"]
    outside = replace(failed[0], record=replace(failed[0].record, outcome=FAILED_OUTSIDE))
    fixes = Fixes.of([outside, *failed[1:]], ["left_out"])
    assert (fixes.left_out["outside"], fixes.failed) == (1, len(failed) - 1)
    assert "1 episode left out: failed outside the agent" in list(fixes.notes())


def test_nothing_failed_is_said_as_such(results: Results) -> None:
    fixes = results.only(["oracle"]).fixes
    assert (fixes.failed, fixes.clusters, fixes.to_dict()["clusters"]) == (0, [], [])
    assert "episodes failed." in page(results.only(["oracle"])).partition('id="fix"')[2].partition("</section>")[0]


def test_causes_are_found_of_failed_episodes_and_only_what_is_shown_is_explained(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from corepath import explanation

    counts: dict[str, Counter[str]] = {"explain": Counter(), "find_cause_and_fix": Counter()}

    def count(name: str) -> None:
        real = getattr(explanation, name)

        def counting(task: Any, episode: Any, *rest: Any, **more: Any) -> Any:
            counts[name][f"{episode.task} {episode.agent}"] += 1
            return real(task, episode, *rest, **more)

        monkeypatch.setattr(explanation, name, counting)

    count("explain")
    count("find_cause_and_fix")
    explained, diagnosed = counts.values()
    fresh = load_results(run)
    assert fresh.fixes.failed == len(diagnosed) == diagnosed.total()
    assert not explained
    assert fresh.fixes.to_dict() == fresh.fixes.to_dict()
    assert explained.total() == len(fresh.fixes), "only the examples"
    explained.clear()
    diagnosed.clear()
    whole = load_results(run)
    write_report(whole, tmp_path)
    assert len(explained) == explained.total() == len(whole)
    assert not diagnosed, "what is explained has its cause"


# Without tasks


def test_episodes_judged_by_rules_alone_are_grouped_by_rule(tmp_path: Path) -> None:
    refund, deletion = Call("refund", {"order": 1}, 1), Call("delete_all", {}, error="not allowed")
    file = file_of(tmp_path, line(refund, agent="a"), line(refund, deletion, agent="b"), line(deletion, agent="c"))
    fixes = load_results(file, rules=_rules(tmp_path)).fixes
    assert [(str(one.key.rule), len(one), one.effected, dict(one.tasks)) for one in fixes] == [
        ("refund(...) requires verify(...)", 2, 2, {}),
        ("never delete_*(...)", 1, 0, {}),
    ]
    assert "refund(order=1)" in fixes.clusters[0].example.headline
    assert fixes.count_harms("delete_all", "forbidden") == (0, 2)


def _rules(folder: Path) -> tuple[Any, ...]:
    from corepath.files.rules import load_rules

    return load_rules(folder / "rules.yaml").rules


def test_what_was_only_recorded_is_said_to_be_not_explained(results: Results, tmp_path: Path) -> None:
    recorded = [replace(one.episode, task="gone/task") for one in results if one.agent in ("oracle", "left_out")]
    fixes = load_results(file_of(tmp_path, *map(episode_json, recorded))).fixes
    assert [one.key for one in fixes] == [CauseKey(NOT_EXPLAINED)]
    assert fixes.failed == sum(is_failed(one.scores) for one in recorded) > 0
    assert fixes.clusters[0].example.headline.startswith("Not explained: no task 'gone/task'")
    assert f"{fixes.failed} failed episodes not explained: the task or the episode is not available" in list(
        fixes.notes()
    )
    assert fixes.harms


# The command


def test_the_command_fits_80_columns_and_names_a_command_that_shows_the_example(run: Path, corepath: Any) -> None:
    done = corepath("fix", "run", cwd=run.parent)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"\d+ of \d+ episodes failed\.", lines[0])
    bars = [line for line in lines if "█" in line]
    assert len(bars) == 10
    sizes = [int(line.split()[0]) for line in bars]
    assert sizes == sorted(sizes, reverse=True)
    commands = [line.strip() for line in lines if line.strip().startswith("corepath explain")]
    assert len(commands) == 10
    shown = corepath(*commands[0].split()[1:], cwd=run.parent)
    assert shown.returncode == 0
    told = " ".join(" ".join(lines).split())
    assert " ".join(shown.stdout.splitlines()[1].split())[:60] in told
    assert re.search(r"\n\d+ more causes \(\d+ episodes\): --top \d+ shows all\n", done.stdout)
    assert "left out: of the floor agents" in done.stderr


def test_json_has_the_same_numbers_as_the_text_and_python(run: Path, corepath: Any, results: Results) -> None:
    done = corepath("fix", "run", "--json", cwd=run.parent)
    found = json.loads(done.stdout)
    python = json.loads(json.dumps(results.fixes.to_dict()).replace(json.dumps(str(run)), '"run"'))
    assert found == python
    assert sum(one["episodes"] for one in found["clusters"]) == found["failed"]
    assert sum(one["share"] for one in found["clusters"]) == pytest.approx(1)
    assert all(len(one["all"]) == one["episodes"] for one in found["clusters"])
    text = corepath("fix", "run", "--top", "1", cwd=run.parent).stdout
    assert text.startswith(f"{found['failed']} of {found['episodes']} episodes failed.")
    top = json.loads(corepath("fix", "run", "--json", "--top", "2", cwd=run.parent).stdout)
    assert top == {**found, "clusters": found["clusters"][:2]}


def test_numbers_of_examples_are_those_of_explain_also_after_bad_lines(
    tmp_path: Path, results: Results, corepath: Any
) -> None:
    bad = next(one.episode for one in results if one.agent == "left_out" and one.scores["harm_count"])
    file_of(tmp_path, "no JSON", episode_json(next(iter(results)).episode), "{}", episode_json(bad))
    done = corepath("fix", "e.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 1
    example = json.loads(done.stdout)["clusters"][0]["example"]
    assert (example["place"], example["episode"]) == ("e.jsonl", 2)
    told = json.loads(corepath("explain", "e.jsonl", "--episode", "2", "--json", cwd=tmp_path).stdout)
    assert (told["line"], told["headline"]) == (4, example["headline"])


def test_agents_are_chosen_by_name(run: Path, corepath: Any) -> None:
    wrong = corepath("fix", "run", "--agent", "lft_out", cwd=run.parent)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no episode of agent 'lft_out'; did you mean 'left_out'?" in wrong.stderr
    both = json.loads(
        corepath("fix", "run", "--agent", "left_out", "--agent", "do_nothing", "--json", cwd=run.parent).stdout
    )
    assert {agent for one in both["clusters"] for agent in one["agents"]} == {"left_out", "do_nothing"}
    none = corepath("fix", "run", "--agent", "oracle", cwd=run.parent)
    assert (none.returncode, none.stdout) == (0, "No episode failed.\n")


def test_wrong_uses_are_told(tmp_path: Path, corepath: Any) -> None:
    missing = corepath("fix", "nowhere", cwd=tmp_path)
    assert (missing.returncode, missing.stderr) == (2, "corepath: no such file or folder: nowhere\n")
    (tmp_path / "bad.jsonl").write_text("no JSON\n")
    unread = corepath("fix", "bad.jsonl", cwd=tmp_path)
    assert unread.returncode == 1
    assert "no episode could be read, so it is not known what to fix" in unread.stderr
    assert corepath("fix", cwd=tmp_path).returncode == 2
    assert corepath("fix", "bad.jsonl", "--top", "0", cwd=tmp_path).returncode == 2


def test_the_command_judges_by_rules_alone(tmp_path: Path, corepath: Any) -> None:
    refund = Call("refund", {"order": 1}, 1)
    file_of(tmp_path, line(refund, agent="a"), line(agent="b"))
    done = corepath("fix", "e.jsonl", "--rules", "rules.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "against a rule: refund(...) requires verify(...)" in done.stdout
    assert "corepath explain e.jsonl --rules rules.yaml --episode 1" in done.stdout
    assert "1 of 2 episodes failed." in done.stdout


def test_hostile_names_are_escaped_in_the_terminal(tmp_path: Path, corepath: Any) -> None:
    file_of(tmp_path, line(Call(f"delete_{HOSTILE}", {}, 1), agent=HOSTILE))
    done = corepath("fix", "e.jsonl", "--rules", "rules.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not set("\u202e\x00") & set(done.stdout)
    assert r"\u202e" in done.stdout


# The tables of a report


def test_a_report_has_what_to_fix_as_tables_and_json(results: Results, tmp_path: Path) -> None:
    write_report(results, tmp_path)
    assert json.loads((tmp_path / "fixes.json").read_text()) == json.loads(json.dumps(results.fixes.to_dict()))
    rows = (tmp_path / "fixes.csv").read_text().splitlines()
    assert rows[0].startswith("cause,tool,argument,episodes,share,effected,tasks,agents,example,fix,place,episode")
    assert len(rows) == len(results.fixes) + 1
    tools = (tmp_path / "harms-by-tool.csv").read_text().splitlines()
    assert len(tools) == len(results.fixes.tools) + 1
    for name in ("fixes", "harms-by-tool"):
        assert {path.suffix for path in tmp_path.glob(f"{name}.*")} >= {".txt", ".md", ".csv", ".tex"}
