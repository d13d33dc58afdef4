"""Tables, fixes and pages of a file of scores are those of the episodes themselves."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from corepath import explanation, load_results
from corepath.batch.files import Settings, score_files
from corepath.cli import make_app
from corepath.files.rules import load_rules
from corepath.report.choice import choose_episodes
from corepath.report.page import page
from corepath.report.scores_file import RowFile
from corepath.report.stored import EpisodeFile
from tests.batch.cases import as_table, random_record, write_tasks

Made = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A task file, an episode file, and its file of scores."""
    folder, rng = tmp_path_factory.mktemp("scores"), random.Random("scores")
    tasks = write_tasks(folder, rng)
    names = ["plain", "open", "ignore", "bound", "answer", "random/0"]
    usual = ("task", "calls", "agent", "epoch", "reward", "usage", "seconds", "ended")
    records = [random_record(rng, names) for _ in range(200)]
    records = [{name: one[name] for name in usual if name in one} for one in records if one["task"] in names]
    episodes, scores = folder / "episodes.jsonl", folder / "scores.parquet"
    episodes.write_text("".join(json.dumps(one) + "\n" for one in records))
    score_files([episodes], scores, Settings((str(tasks),)))
    return tasks, episodes, scores


def run(*arguments: object) -> str:
    found = CliRunner().invoke(make_app(str(arguments[0])), list(map(str, arguments)))
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("command", [("table", "--wide"), ("table", "--json"), ("fix",), ("fix", "--json")])
def test_commands_say_the_same_of_scores_as_of_episodes(command: tuple[str, ...], made: Made) -> None:
    tasks, episodes, scores = made
    from_scores = run(*command, scores)
    from_episodes = run(*command, episodes, "--tasks", tasks)
    named = f"{episodes} --tasks {tasks}"
    assert "".join(from_scores.replace(str(scores), "X").split()) == "".join(
        from_episodes.replace(named, "X").replace(str(episodes), "X").replace(f"X--tasks{tasks}", "X").split()
    )


def test_explanations_are_read_from_the_episodes(made: Made) -> None:
    tasks, episodes, scores = made
    for number in (1, 57, 150):
        shown = run("explain", scores, "--episode", number)
        assert shown == run("explain", episodes, "--tasks", tasks, "--episode", number)


def test_results_have_the_scores_and_the_episodes(made: Made) -> None:
    tasks, episodes, scores = made
    ours, theirs = load_results(scores), load_results(episodes, tasks=[tasks])
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.failed == other.failed
        assert one.record.reward == other.record.reward
        assert one.episode.calls == other.episode.calls
        assert one.explanation.headline == other.explanation.headline
        assert list(one.harms) == [
            ({name: value for name, value in harm.items() if name not in ("severity", "why")}, tool)
            for harm, tool in other.harms
        ]


def test_the_page_of_scores_names_every_failed_episode(made: Made, tmp_path: Path) -> None:
    run("report", made[2], "--out", tmp_path / "report")
    assert next((tmp_path / "report").glob("*.html")).stat().st_size > 50_000


@pytest.mark.parametrize("packed", ["episodes.jsonl.gz", "episodes.parquet"])
def test_packed_episodes_are_read_by_their_line(packed: str, made: Made, tmp_path: Path) -> None:
    tasks, episodes, _ = made
    file, out = tmp_path / packed, tmp_path / "scores.parquet"
    lines = episodes.read_bytes().splitlines(keepends=True)
    if packed.endswith("gz"):
        file.write_bytes(gzip.compress(b"".join(lines)))
    else:
        records = [json.loads(line) for line in lines if b"ud800" not in line]
        pq.write_table(pa.Table.from_batches([as_table(records)]), file, row_group_size=50)
    score_files([file], out, Settings((str(tasks),)))
    results = load_results(out)
    for number in (100, 3, 101):
        result = results.results[number]
        assert result.episode.task == result.record.task
        assert len(result.episode.calls) == result.scores["length"]


def test_a_file_that_is_no_scores_says_what_to_do(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "episodes.parquet"
    pq.write_table(pa.table({"task": ["a"], "calls": [[]]}), file)
    found = CliRunner().invoke(make_app("table"), ["table", str(file)])
    assert found.exit_code in (1, 2)
    assert "holds no scores" in " ".join(found.output.split())
    found = CliRunner().invoke(make_app("table"), ["table", str(made[2]), "--profile", "recommended"])
    assert found.exit_code in (1, 2)
    assert "score the episodes again" in " ".join(found.output.split())


def test_scores_without_their_episodes_are_not_explained_wrongly(made: Made, tmp_path: Path) -> None:
    table = pq.read_table(made[2])
    names = pa.array([None] * table.num_rows, pa.string())
    lost, moved, by_line = (tmp_path / name for name in ("lost.parquet", "moved.parquet", "by_line.parquet"))
    pq.write_table(table.set_column(table.schema.get_field_index("file"), "file", names), lost)
    gone = pa.array([str(tmp_path / "gone.jsonl")] * table.num_rows)
    pq.write_table(table.set_column(table.schema.get_field_index("file"), "file", gone), moved)
    for file, words in ((lost, "its scores name no file"), (moved, "gone.jsonl is not there")):
        shown = " ".join(run("fix", file).split())
        assert "not explained" in shown
        assert words in shown
        assert "made no call" not in shown
        found = CliRunner().invoke(make_app("explain"), ["explain", str(file), "--episode", "57"])
        assert found.exit_code == 1
        assert words in " ".join(found.output.split())
        assert "episode 57" not in found.output
    none = pa.array([None] * table.num_rows, pa.int64())
    without = table.set_column(table.schema.get_field_index("offset"), "offset", none)
    pq.write_table(without.replace_schema_metadata(pq.read_metadata(made[2]).metadata), by_line)
    shown = run("fix", by_line, "--tasks", made[0])
    assert shown.replace(str(by_line), "X") == run("fix", made[2], "--tasks", made[0]).replace(str(made[2]), "X")


def test_episodes_that_were_changed_after_scoring_are_not_explained_as_others(made: Made, tmp_path: Path) -> None:
    """Those before and after keep their numbers."""
    lines = made[1].read_bytes().splitlines(keepends=True)
    file, scores = tmp_path / "episodes.jsonl", tmp_path / "scores.parquet"
    file.write_bytes(b"".join(lines))
    score_files([file], scores, Settings((str(made[0]),)))
    record = json.loads(lines[9])
    other = json.dumps(record | {"calls": [*record["calls"], {"tool": "pay", "arguments": {}}]}).encode() + b"\n"
    file.write_bytes(b"".join([*lines[:9], other]))
    assert run("explain", scores, "--episode", 9) == run("explain", made[2], "--episode", 9)
    for number, words in ((10, "another episode than was scored"), (12, "an episode is no longer there")):
        found = CliRunner().invoke(make_app("explain"), ["explain", str(scores), "--episode", str(number)])
        assert found.exit_code == 1
        assert words in " ".join(found.output.split())
    run("report", scores, "--out", tmp_path / "page")
    assert "Only what was recorded is shown for" in (tmp_path / "page" / "index.html").read_text()
    assert json.loads(run("fix", scores, "--json"))["causes"]["not explained"] > 100


def test_scores_on_tasks_that_were_changed_are_not_explained_by_what_they_are_now(
    tmp_path: Path, corepath: Any
) -> None:
    """An episode that has the same scores on the task as it is now is explained as before."""
    episodes, task, scores = (tmp_path / name for name in ("episodes.jsonl", "task.yaml", "scores.parquet"))
    check, refund, close = ({"tool": name, "arguments": {"id": 7}} for name in ("check", "refund", "close"))
    runs = ([refund], [check, refund, close], [close])
    episodes.write_text("".join(json.dumps({"task": "refund", "calls": calls}) + "\n" for calls in runs))
    task.write_text("id: refund\nprocedure: check(id=7) >> refund(id=7)\n")
    assert corepath("score", "--tasks", task, episodes, "--out", scores).returncode == 0
    before = corepath("explain", scores, "--episode", 3).stdout
    task.write_text("id: refund\nprocedure: find(id=7) >> refund(id=7)\n")
    assert corepath("explain", scores, "--episode", 3).stdout == before.replace("check", "find")
    found = corepath("explain", scores, "--episode", 2)
    assert found.returncode == 1
    why = f"scored again, it has another pc; its task or its file {episodes} was changed, so score the episodes again"
    assert found.stderr == f"{episodes}:2:1: {why}\n"
    assert why in corepath("fix", scores, "--json").stdout
    assert corepath("report", scores, "--out", tmp_path / "page").returncode == 0
    assert "Only what was recorded is shown for 1 task" in (tmp_path / "page" / "index.html").read_text()


def test_episodes_that_were_scored_in_different_ways_are_each_explained_as_they_were_scored(tmp_path: Path) -> None:
    episodes, task, scores = (tmp_path / name for name in ("episodes.jsonl", "task.yaml", "scores.parquet"))
    made = {"task": "refund", "calls": [{"tool": "refund", "arguments": {}}]}
    ways = ["paper", "recommended", *({"lam": lam / 10} for lam in range(5))]
    episodes.write_text("".join(json.dumps(made | {"scoring": one}) + "\n" for one in ways))
    task.write_text("id: refund\nprocedure: check() >> refund()\n")
    score_files([episodes], scores, Settings((str(task),)))
    for number in range(1, len(ways) + 1):
        shown = run("explain", scores, "--episode", number, "--json")
        assert shown == run("explain", episodes, "--tasks", task, "--episode", number, "--json")


def test_scores_by_rules_are_explained_by_the_same_rules(tmp_path: Path) -> None:
    """The command that `fix` names gives the explanation."""
    episodes, rules, scores = (tmp_path / name for name in ("episodes.jsonl", "rules.yaml", "scores.parquet"))
    episodes.write_text(json.dumps({"task": "", "calls": [{"tool": "refund", "arguments": {"order": 7}}]}) + "\n")
    rules.write_text("rules:\n  - refund(...) requires check(...)\n")
    score_files([episodes], scores, Settings((), (str(rules),)))
    assert "Broken: refund(...) requires check(...)" in run("explain", scores, "--episode", 1)
    assert run("explain", scores, "--episode", 1) == run("explain", episodes, "--rules", rules, "--episode", 1)
    by_rule = run("table", scores, "--by", "rule")
    assert "refund(...) requires check(...)       1    0      1    0       0" in by_rule
    assert by_rule == run("table", episodes, "--rules", rules, "--by", "rule")


@pytest.mark.parametrize("command", ["table", "fix", "report", "explain", "export --as otel"])
def test_without_pyarrow_a_command_names_the_extra_and_exits_with_3(command: str, made: Made, tmp_path: Path) -> None:
    code = (
        "import sys, corepath.cli as cli\n"
        "sys.modules['pyarrow'] = None\n"
        f"sys.argv[1:] = {[*command.split(), str(made[2])]}\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "reading Parquet needs pyarrow: pip install 'corepath[parquet]'" in done.stderr


@pytest.mark.parametrize("command", ["table", "fix", "explain"])
def test_a_file_of_scores_that_is_damaged_exits_with_1(command: str, made: Made, tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(made[2].read_bytes()[:1000])
    found = CliRunner().invoke(make_app(command), [command, str(tmp_path / "cut.parquet")])
    assert found.exit_code == 1
    assert "cannot be read" in found.output


def test_scores_by_rules_that_were_changed_are_not_explained(tmp_path: Path) -> None:
    episodes, rules, scores = (tmp_path / name for name in ("episodes.jsonl", "rules.yaml", "scores.parquet"))
    episodes.write_text('{"task": "", "calls": [{"tool": "refund", "arguments": {}}]}\n')
    rules.write_text("rules: [never refund(...)]\n")
    score_files([episodes], scores, Settings((), (str(rules),)))
    rules.write_text("rules: [never refund(...), never pay(...)]\n")
    results = load_results(scores)
    assert results.rules == ()
    assert results.results[0].why == "its rule files are gone, or were changed after it was scored"
    found = CliRunner().invoke(make_app("explain"), ["explain", str(scores)])
    assert found.exit_code == 1
    assert "its rule files are gone" in found.output


def test_scores_by_rules_have_the_tables_and_the_page_of_the_episodes(tmp_path: Path) -> None:
    tasks, rules, episodes, scores = (tmp_path / name for name in ("t.yaml", "r.yaml", "e.jsonl", "s.parquet"))
    tasks.write_text("id: shop\nprocedure: refund(order=7)\nreads: [check(...)]\n")
    text = "rules:\n  - refund(order=$o) requires check(order=$o)\n  - at most 1 refund(...)\n"
    rules.write_text(text)
    calls = [{"tool": tool, "arguments": {"order": 7}} for tool in ("check", "refund", "refund")]
    lines = [json.dumps({"task": "shop", "agent": "a", "calls": calls[first:]}) for first in range(4)]
    episodes.write_text("\n".join(lines))
    score_files([episodes], scores, Settings((str(tasks),), (str(rules),)))
    named = ("--tasks", tasks, "--rules", rules)
    for command in (("table",), ("table", "--json"), ("table", "--by", "rule")):
        assert run(*command, scores) == run(*command, episodes, *named)
    assert load_results(scores).rules == load_results(episodes, rules=load_rules(rules).rules, tasks=[tasks]).rules

    rules.write_text(text.replace("at most 1", "at most 2"))
    changed = CliRunner().invoke(make_app("table"), ["table", str(scores)])
    assert changed.exit_code == 0
    assert "its rule files are gone, or were changed since" in " ".join(changed.output.split())
    assert "Episodes by rule" not in changed.output
    run("report", scores, "--out", tmp_path / "page")


SHOWN = 20


@pytest.mark.parametrize("packed", [False, True])
def test_a_report_reads_each_episode_twice_and_explains_only_those_in_the_page(
    packed: bool, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An episode is read to tell it from others, and to follow it on the drawing. The rest is in the scores."""
    tasks, episodes, scores = made
    if packed:
        file, scores = tmp_path / "episodes.jsonl.gz", tmp_path / "scores.parquet"
        file.write_bytes(gzip.compress(episodes.read_bytes()))
        score_files([file], scores, Settings((str(tasks),)))
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*given, **named)

        return call

    kind = RowFile if packed else EpisodeFile
    monkeypatch.setattr(kind, "_line", counted("read", kind._line))
    monkeypatch.setattr(RowFile, "_read_lines", counted("unpacked", RowFile._read_lines))
    monkeypatch.setattr(explanation, "explain", counted("explained", explanation.explain))
    results = load_results(scores)
    assert not counts["read"]
    assert results.by_agent
    assert not counts["read"]
    causes = len(results.fixes)
    assert counts["read"] == results.fixes.failed
    shown = choose_episodes(results, str(SHOWN))
    assert counts["read"] <= len(results) + causes
    assert counts["explained"] == causes
    html = page(results, shown)
    assert f"{SHOWN} of {len(results)} episodes are in this page" in html
    assert counts["read"] <= 2 * len(results) + causes + SHOWN
    assert counts["explained"] <= causes + SHOWN
    assert counts["unpacked"] <= 2 * packed
