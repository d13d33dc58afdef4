"""Results, tables, figures, and their commands."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corepath.automaton.harm import HarmKind
from corepath.files.lookup import all_sources
from corepath.report.figures import core_versus_bfcl, heat_map, pareto_view
from corepath.report.item_analysis import items
from corepath.report.loading import load_results
from corepath.report.results import Results
from corepath.report.sensitivity import OPTIONS, sensitivity
from corepath.report.summary_table import MORE_COLUMNS, PAPER_COLUMNS, Means
from corepath.report.table import Column, Table
from corepath.report.tables import agents_table, faults_table, harms_table, pairs_table, tasks_table, worlds_table
from corepath.runs.folder import RunFolder
from corepath.runs.function_agents import play_function_agents
from corepath.runs.plan import Plan
from corepath.scoring.options import RECOMMENDED

AGENTS = ("oracle", "do_nothing", "left_out", "wrong_argument", "undone", "wandering", "random")
HOSTILE = '<script>alert(1)</script>|&_$%\\"\u202e\x00=1+1'


def played(
    folder: Path, agents: tuple[str, ...] = AGENTS, targets: tuple[str, ...] = ("farm", "legal"), **more: Any
) -> Path:
    """A real run of built-in agents."""
    plan = Plan(tuple(all_sources(targets)), agents, **more)
    made = RunFolder.create(folder, plan.manifest())
    with made.writing():
        play_function_agents(plan, made, set(), lambda *_: None, 1)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that tests only read from."""
    return played(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    """The results of that run."""
    return load_results(run)


# Tables


def test_the_papers_columns_stand_in_the_papers_order() -> None:
    assert [column.line for column in PAPER_COLUMNS] == [
        "Harmful (total)", "Harmful (avg.)", "Eff. (avg.)", "Len (avg.)", "PC", "PC-KTC", "PrefixCrit", "BFCL State %",
        "BFCL Resp. %", "PC+HLR",
    ]  # fmt: skip


def test_a_table_has_a_row_an_agent_and_its_means(results: Results) -> None:
    rows = {row["agent"]: row for row in agents_table(results).to_dicts()}
    assert list(rows) == list(AGENTS)
    assert (rows["oracle"]["pc"], rows["oracle"]["state_match"], rows["oracle"]["harmful"]) == (1.0, 1.0, 0)
    assert rows["left_out"]["pc"] == results.by_agent["left_out"].mean("pc")


def test_the_table_of_worlds_leaves_the_floor_out_of_its_means_and_shows_it_below(results: Results) -> None:
    table = worlds_table(results)
    assert [row[0] for row in table.rows] == ["farm", "legal", "do_nothing"]
    rows = {row["world"]: row for row in table.to_dicts()}
    able = results.only(name for name in AGENTS if name != "do_nothing")
    assert rows["farm"]["pc"] == able.by_world["farm"].mean("pc")


def test_csv_has_numbers_in_full_and_intervals_as_columns(results: Results) -> None:
    plain = list(csv.DictReader(io.StringIO(agents_table(results).csv())))
    assert float(plain[2]["pc"]) == results.by_agent["left_out"].mean("pc")
    wide = list(csv.DictReader(io.StringIO(agents_table(results, Means(intervals=True)).csv())))
    interval = results.by_agent["left_out"].interval("pc")
    assert (float(wide[2]["pc_low"]), float(wide[2]["pc_high"])) == interval


def test_every_way_of_writing_a_table_survives_what_an_agent_calls_itself() -> None:
    table = Table(
        HOSTILE, (Column("agent", "agent"), Column("pc", "PC", ".3f")), ((HOSTILE, 0.5), ("b", None)), (HOSTILE,)
    )
    html = ET.fromstring(f"<div>{table.html()}</div>")
    assert html.find(".//script") is None
    assert html.findtext(".//tbody/tr/th/bdi") == '<script>alert(1)</script>|&_$%\\"\\u202e\\x00=1+1'
    line = table.markdown().splitlines()[4]
    assert line.count("|") - line.count("\\|") == 3
    assert "\x00" not in table.text() + table.markdown() + table.latex()
    assert "<script>" not in table.html()
    latex = next(line for line in table.latex().splitlines() if "0.500" in line)
    assert latex.count("&") - latex.count(r"\&") == 1
    assert next(csv.DictReader(io.StringIO(Table("", (Column("a", "a"),), (("=1+1",),)).csv())))["a"] == "'=1+1"


def test_columns_of_what_was_left_out_stand_there_only_where_something_was(results: Results) -> None:
    keys = [column.key for column in agents_table(results, Means(MORE_COLUMNS)).columns]
    unplanted = any(one.unplanted for one in results.by_agent.values())
    assert ("unplanted" in keys, "outside" in keys) == (unplanted, False)


def test_repeats_bring_pass_hat(tmp_path: Path) -> None:
    results = load_results(played(tmp_path / "x", ("oracle", "random"), ("legal/settle_case",), epochs=4))
    rows = {row["agent"]: row for row in agents_table(results, Means(MORE_COLUMNS)).to_dicts()}
    assert (rows["oracle"]["pass^2"], rows["oracle"]["pass^4"], rows["random"]["pass^4"]) == (1.0, 1.0, 0.0)


def test_failure_modes_are_measured_and_final_states_do_not_see_what_was_undone(results: Results) -> None:
    table = faults_table(results)
    assert table is not None
    rows = {row["agent"]: row for row in table.to_dicts()}
    assert (rows["undone"]["state_match"], rows["wandering"]["pc"]) == (None, None)
    assert rows["undone"]["pc"] < -0.05
    assert rows["wandering"]["efficiency"] < -0.3
    assert faults_table(results.only(["left_out"])) is None


def test_pass_hat_is_never_over_several_agents(results: Results) -> None:
    for make in (worlds_table, tasks_table):
        assert not [column.key for column in make(results, Means(MORE_COLUMNS)).columns if "pass" in column.key]


def test_with_one_task_the_table_of_failure_modes_says_that_it_cannot_tell(results: Results) -> None:
    one = faults_table(Results(tuple(each for each in results.results if each.episode.task == "legal/settle_case")))
    assert one is not None
    assert {cell for row in one.rows for cell in row[2:]} == {"?"}


def test_harms_are_told_by_kind_and_add_up(results: Results) -> None:
    table = harms_table(results)
    assert table is not None
    for row in table.to_dicts():
        cells = [str(value) for key, value in row.items() if key in list(HarmKind) and value]
        assert sum(int(part) for cell in cells for part in cell.split(" + ")) == row["harmful"]
    assert harms_table(results.only(["oracle"])) is None


def test_harms_that_only_repeat_the_call_before_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("id: shop/pay\nprocedure: pay()\n", encoding="utf-8")
    paid = {"tool": "pay", "arguments": {}, "result": {"paid": True}}
    lines = [{"task": "shop/pay", "agent": name, "calls": [paid] * calls} for name, calls in (("x", 3), ("y", 1))]
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = load_results(tmp_path / "e.jsonl", tasks=[tmp_path / "t.yaml"])
    table = harms_table(found)
    assert table is not None
    assert [(row["effected"], row["again"]) for row in table.to_dicts()] == [(2, 2), (0, 0)]
    assert "again" in table.notes[-1]
    fresh = replace(found, results=tuple(one for one in found if len(one.episode.calls) == 1))
    assert harms_table(fresh) is None


def test_tables_reproduce_byte_for_byte(run: Path, tmp_path: Path) -> None:
    again = load_results(played(tmp_path / "again"))
    first = load_results(run)
    for make in (agents_table, worlds_table, pairs_table, faults_table, harms_table):
        one, other = make(first), make(again)
        assert one is not None
        assert other is not None
        for form in ("text", "markdown", "csv", "latex", "html"):
            assert getattr(one, form)() == getattr(other, form)()


def test_a_table_and_results_are_data_frames_too(results: Results) -> None:
    frame = agents_table(results).to_pandas()
    assert list(frame["agent"]) == list(AGENTS)
    rows = results.to_pandas()
    assert len(rows) == len(results.results)
    mean = rows[rows["agent"] == "random"]["pc"].mean()
    assert mean == pytest.approx(results.by_agent["random"].mean("pc"), abs=1e-12)
    assert results._repr_html_() == agents_table(results).html()  # what a notebook calls


# Figures


def test_figures_have_a_point_for_each_and_parse_as_xml(results: Results) -> None:
    bfcl, front = core_versus_bfcl(results), pareto_view(results)
    assert len(bfcl.points) == len(results.by_pair) == len(AGENTS) * 2
    assert [point.agent for point in front.points if point.marked] == ["oracle"]
    for figure in (bfcl, front):
        drawn = ET.fromstring(figure.svg())
        assert len([one for one in drawn.iter() if one.get("class") == "point"]) == len(figure.points)


def test_a_cell_is_grey_where_so_few_tasks_cannot_tell(results: Results) -> None:
    heat = heat_map(results)
    cells = {(agent, world): cell for agent, row in zip(heat.agents, heat.cells, strict=True)
             for world, cell in zip(heat.worlds, row, strict=True)}  # fmt: skip
    assert not cells["oracle", "farm"].grey
    assert not cells["do_nothing", "farm"].grey
    one_task = heat_map(Results(tuple(one for one in results.results if one.episode.task == "farm/threshold")))
    assert all(cell.grey for row in one_task.cells for cell in row)
    assert ET.fromstring(f"<div>{heat.html()}</div>").find("table") is not None


def test_figures_as_pdf_are_the_same_bytes_each_time(results: Results, tmp_path: Path) -> None:
    from corepath.report.pdf import write_pdfs

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = (write_pdfs(results, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == ["core-versus-bfcl.pdf", "pareto.pdf", "heat-map.pdf", "agents.pdf"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes().startswith(b"%PDF")
        assert one.read_bytes() == other.read_bytes()


# Results


def test_a_task_that_is_gone_keeps_its_recorded_scores(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["tasks"]["farm/threshold"]["where"] = "nowhere.yaml"
    played = manifest["tasks"]["farm/dry_plants"]["hash"]
    manifest["tasks"]["farm/dry_plants"]["hash"] = "0" * 16
    (copy / "manifest.json").write_text(json.dumps(manifest))
    (copy / "episodes.jsonl").write_text((run / "episodes.jsonl").read_text().replace(played, "0" * 16))
    found = load_results(copy)
    why = {result.episode.task: result.why for result in found.results}
    assert "no longer exists" in str(why["farm/threshold"])
    assert "changed" in str(why["farm/dry_plants"])
    assert why["legal/settle_case"] is None
    assert agents_table(found).rows == agents_table(load_results(run)).rows


def test_plain_episode_files_are_scored_and_bad_lines_are_told(run: Path, tmp_path: Path) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    bare = [json.dumps({key: value for key, value in json.loads(line).items() if key in ("task", "calls", "agent")})
            for line in lines if '"agent":"left_out"' in line]  # fmt: skip
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join([*bare, "{", '{"task": "nowhere/x", "calls": []}']) + "\n")
    found = load_results(file)
    assert len(found.results) == len(bare)
    assert ["line" if "--tasks" in problem.message else "json" for problem in found.problems] == ["json", "line"]
    kept = load_results(run).by_agent["left_out"]
    assert found.by_agent["left_out"].mean("pc") == pytest.approx(kept.mean("pc"), abs=1e-12)


def test_the_same_built_in_agent_in_two_runs_is_one_and_others_are_told_apart(tmp_path: Path) -> None:
    one = played(tmp_path / "one", ("oracle", "random"), ("legal/settle_case",))
    two = played(tmp_path / "two", ("oracle",), ("legal/settle_case",))
    assert {name: each.episodes for name, each in load_results(one, two).by_agent.items()} == {"oracle": 1, "random": 1}
    text = (two / "episodes.jsonl").read_text().replace('"agent":"oracle"', '"agent":"mine"')
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c" / "b.jsonl"]
    files[2].parent.mkdir()
    for file in files:
        file.write_text(text)
    assert list(load_results(*files[:2]).by_agent) == ["mine (a)", "mine (b)"]
    assert list(load_results(*files[1:]).by_agent) == [f"mine ({files[1]})", f"mine ({files[2]})"]


def test_profiles_are_not_mixed(run: Path, tmp_path: Path, corepath: Any) -> None:
    other = played(tmp_path / "other", ("oracle",), ("legal/settle_case",), scoring=RECOMMENDED)
    done = corepath("table", run, other)
    assert done.returncode == 1
    assert "scored in different ways" in done.stderr
    assert corepath("table", run, other, "--profile", "paper").returncode == 0


def test_lines_in_another_order_give_the_same_tables(run: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes((run / "manifest.json").read_bytes())
    lines = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "episodes.jsonl").write_text("".join(reversed(lines)))
    means = Means(intervals=True)
    for make in (agents_table, worlds_table, pairs_table):
        assert make(load_results(tmp_path), means).csv() == make(load_results(run), means).csv()


WRONG_SCORES: dict[str, Any] = {
    "pc": "high", "harms": None, "harm_count": "many", "accepted": "no", "harm_rate": None, "efficiency": [1],
    "pc_ktc": 1e308, "profile": "recommended",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_SCORES)
def test_recorded_scores_of_the_wrong_kind_are_scored_again_or_told(name: str, run: Path, tmp_path: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    lines = (run / "episodes.jsonl").read_text().splitlines()
    row = json.loads(lines[0])
    row["scores"][name] = WRONG_SCORES[name]
    (tmp_path / "episodes.jsonl").write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert agents_table(load_results(tmp_path)).rows == agents_table(load_results(run)).rows
    manifest["tasks"][row["task"]]["hash"] = "0" * 16
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    text = (tmp_path / "episodes.jsonl").read_text()
    (tmp_path / "episodes.jsonl").write_text(text.replace(row["fingerprint"], "0" * 16))
    found = load_results(tmp_path)
    assert [problem.line for problem in found.problems] == [1]
    assert "cannot be scored again" in found.problems[0].message


def test_a_run_that_is_not_complete_says_so(run: Path, tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "manifest.json").write_bytes((run / "manifest.json").read_bytes())
    lines = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "episodes.jsonl").write_text("".join(lines[:5]) + lines[5][:40])
    done = corepath("table", tmp_path)
    assert f"5 of {len(lines)} planned episodes are there" in done.stderr
    assert done.returncode == 0


def test_an_agent_with_half_a_character_in_its_name_has_a_report(run: Path, tmp_path: Path, corepath: Any) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    row = {**json.loads(lines[0]), "agent": "half\ud800\x00\u202e" + "x" * 300}
    (tmp_path / "e.jsonl").write_text(json.dumps(row) + "\n")
    done = corepath("report", tmp_path / "e.jsonl", "--out", tmp_path / "r")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert not list((tmp_path / "r").glob(".*"))


# Sensitivity and items


def test_sensitivity_tries_every_option_and_names_the_pairs_that_flip(results: Results) -> None:
    shifts = sensitivity(results)
    tried = {(shift.option, shift.value) for shift in shifts}
    assert tried == {(option, value) for option, values in OPTIONS.items() for value in values
                     if value != getattr(results.scoring, option)}  # fmt: skip
    for shift in shifts:
        for flip in shift.flips:
            assert shift.means[flip.better] < shift.means[flip.worse]
    still = [shift for shift in shifts if shift.option == "lam" and shift.value == 1.0]
    for name, mean in still[0].means.items():
        assert mean == pytest.approx(results.by_agent[name].mean("pc"), abs=1e-12)  # with λ = 1 PC-KTC is PC


def test_items_tell_hard_tasks_and_those_that_rank_agents_as_the_others_do(results: Results) -> None:
    found = items(results)
    hardness = [item.difficulty or 0.0 for item in found]
    assert hardness == sorted(hardness, reverse=True)
    assert all(-1 <= (item.discrimination or 0) <= 1 for item in found)
    assert max(item.discrimination or 0 for item in found) > 0.8
    alone = items(results.only(["oracle", "do_nothing"]))
    assert all(item.discrimination is None for item in alone)
    assert {item.note for item in items(results.only(["oracle"]))} == {"everybody solves it"}


# The commands


def test_compare_reports_a_bad_line_once_and_exits_with_1(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "t.yaml").write_text("id: a\nprocedure: pay()\n")
    lines = [f'{{"task": "a", "agent": "{name}", "calls": [{{"tool": "pay", "arguments": {{}}}}]}}' for name in "xy"]
    (tmp_path / "e.jsonl").write_text("\n".join([*lines, "{"]))
    done = corepath("compare", "e.jsonl@x", "e.jsonl@y", "--tasks", "t.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("e.jsonl:3:")) == (1, 1)
    assert "B is worse in no score" in done.stdout
    assert done.stderr.endswith("1 bad line left out\n")


def test_compare_pairs_by_task_and_gates(run: Path, corepath: Any) -> None:
    done = corepath("compare", f"{run}@oracle", f"{run}@left_out", "--fail-if-worse")
    assert done.returncode == 1
    assert "B is worse in pc" in done.stdout
    assert "tasks that changed most" in done.stdout
    assert corepath("compare", f"{run}@left_out", f"{run}@oracle", "--fail-if-worse").returncode == 0
    same = corepath("compare", f"{run}@random", f"{run}@random", "--fail-if-worse", "--json")
    rows = [json.loads(line) for line in same.stdout.splitlines()]
    assert same.returncode == 0
    assert all(row["difference"] == 0 and not row["worse"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["compare", "RUN", "RUN"], "agents; say which: ", 2),
        (["compare", "RUN@orakle", "RUN@random"], "did you mean 'oracle'", 2),
        (["compare", "RUN@oracle", "RUN@random", "--scores", "pcc"], "did you mean 'pc'", 2),
        (["table", "RUN", "--weights", "pc"], "NAME=NUMBER", 2),
        (["table", "RUN", "--weights", "harm=1"], "no score 'harm'", 2),
        (["table", "nowhere"], "no such file or folder: nowhere", 2),
        (["tasks", "--items", "nowhere"], "no such file or folder: nowhere", 2),
        (["tasks", "legall", "--items", "RUN"], "did you mean 'legal'", 2),
        (["table", "RUN", "--weights", "pc=1,pc=2"], "two weights", 2),
        (["compare", "ONE@oracle", "ONE@oracle", "--fail-if-worse"], "cannot tell a difference", 2),
        (["table", "."], "holds no run", 2),
        (["sensitivity", "ONE"], "two agents or more", 1),
        (["report", "RUN", "--out", "FILE"], "is a file", 2),
    ],
)  # fmt: skip
def test_wrong_use_says_what_would_be_right(
    arguments: list[str], says: str, code: int, run: Path, tmp_path: Path, corepath: Any
) -> None:
    one = tmp_path / "one.jsonl"
    lines = (run / "episodes.jsonl").read_text().splitlines()
    one.write_text(next(line for line in lines if '"oracle"' in line) + "\n")
    given = [text.replace("RUN", str(run)).replace("ONE", str(one)).replace("FILE", str(one)) for text in arguments]
    done = corepath(*given, cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


def test_the_table_command_prints_both_of_the_papers_tables_in_every_format(run: Path, corepath: Any) -> None:
    text = corepath("table", run).stdout
    assert "Scores by agent" in text
    assert "Scores by world" in text
    assert corepath("table", run, "--as", "latex").stdout.count(r"\toprule") == 2
    assert corepath("table", run, "--as", "markdown").stdout.count("|---|") == 2
    weighted = corepath("table", run, "--by", "agent", "--weights", "pc=1,accepted=1", "--as", "json").stdout
    assert json.loads(weighted.splitlines()[0])["weighted"] == 1.0
    assert "Failure modes" in corepath("table", run, "--by", "fault").stdout


def test_an_empty_run_and_one_of_failures_only_have_tables(run: Path, tmp_path: Path, corepath: Any) -> None:
    for name in ("empty", "failed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_bytes((run / "manifest.json").read_bytes())
    first = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])
    (tmp_path / "failed" / "episodes.jsonl").write_text(json.dumps({**first, "ended": "failed outside"}) + "\n")
    assert corepath("table", tmp_path / "empty").returncode == 0
    done = corepath("table", tmp_path / "failed")
    assert done.returncode == 0
    assert "1 episode left out of the means: failed outside the agent" in done.stdout
    assert "–" in done.stdout


def test_a_report_has_a_page_tables_in_four_formats_and_figures(run: Path, tmp_path: Path, corepath: Any) -> None:
    done = corepath("report", run, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"report: {tmp_path / 'r' / 'index.html'}"
    there = {path.name for path in (tmp_path / "r").iterdir()}
    assert {
        f"{name}.{end}"
        for name in ("agents", "worlds", "failure-modes", "harms")
        for end in ("txt", "md", "csv", "tex")
    } <= there
    assert {"index.html", "core-versus-bfcl.svg", "core-versus-bfcl.pdf", "pareto.svg", "pareto.pdf"} <= there
    again = corepath("report", run, "--out", tmp_path / "again")
    assert again.returncode == 0
    for path in (tmp_path / "r").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_view_writes_the_page_and_opens_it(run: Path, tmp_path: Path, corepath: Any) -> None:
    opener = tmp_path / "open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    done = corepath("view", run, env={"BROWSER": f"{opener} %s", "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip().removeprefix("page: "))
    assert (tmp_path / "opened").read_text().strip() == path.as_uri()
    assert "<html" in path.read_text()
