"""The code on the page about clusters gives the rows of `corepath score --out`, however the data is split.

Each engine runs in a process of its own, where it is installed: `pip install pyspark 'ray[data]'`.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corepath.batch import SCORES, Settings, score_files
from tests.batch.cases import as_table, names_in, random_record, write_tasks
from tests.batch.span_tables import clickhouse, make_table, write_rows
from tests.batch.test_tables import as_bytes
from tests.documentation import ROOT, blocks

PAGE = ROOT / "docs" / "cluster.md"
PARTS = (1, 3, 7)
SPARK = """
import sys
from pyspark.sql import SparkSession
from score_on_spark import read_with_places, score_episodes, score_traces

tasks, rules, parts = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
for number in map(int, parts.split(",")):
    episodes = read_with_places(spark, "episodes").repartition(number)
    score_episodes(episodes, tasks=tasks).write.parquet(f"scores-{number}")
    spans = read_with_places(spark, "spans").repartition(number)
    scores = score_traces(spans, "TraceId", parts=number, source="otel", rules=rules)
    scores.write.parquet(f"traces-{number}")
spark.stop()
"""
RAY = """
import sys
import ray
from score_on_ray import score_episodes, score_traces

tasks, rules, parts = sys.argv[1:]
ray.init(num_cpus=2, include_dashboard=False)
for number in map(int, parts.split(",")):
    episodes = ray.data.read_parquet("episodes").repartition(number)
    score_episodes(episodes, tasks=tasks).write_parquet(f"scores-{number}")
    spans = ray.data.read_parquet("spans").repartition(number)
    scores = score_traces(spans, "TraceId", parts=number, source="otel", rules=rules)
    scores.write_parquet(f"traces-{number}")
"""
ENGINES = {"pyspark": SPARK, "ray": RAY}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_gives_the_rows_of_the_command(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed; pip install {'ray[data]' if engine == 'ray' else engine}")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.chdir(tmp_path)
    tasks, rules = write_input(tmp_path)
    run_engine(engine, tmp_path, tasks, rules)
    score_files(sorted(Path("episodes").iterdir()), Path("scores.parquet"), Settings((str(tasks),)), processes=1)
    score_files(sorted(Path("spans").iterdir()), Path("traces.parquet"), Settings(rules=(str(rules),)), processes=1)
    place = [] if engine == "pyspark" else ["file", "line", "offset"]
    for name in ("scores", "traces"):
        wanted = simplify(pq.read_table(f"{name}.parquet"), place)
        assert name == "traces" or wanted["problem"].null_count < len(wanted), "there are bad rows"
        for number in PARTS:
            found = simplify(pq.read_table(f"{name}-{number}"), place)
            assert as_bytes(found) == as_bytes(wanted), (name, number)


def write_input(folder: Path) -> tuple[Path, Path]:
    """Write episodes and spans into several files each, and return the files of tasks and rules."""
    rng = random.Random("cluster")
    tasks, rules = write_tasks(folder, rng), folder / "rules.yaml"
    rules.write_text('rules: ["never scan(plant=\\"B\\", ...)"]\n')
    (folder / "episodes").mkdir()
    (folder / "spans").mkdir()
    for name in ("a", "b"):
        records = [random_record(rng, names_in(tasks)) | {"trace": f"{name}-{number}"} for number in range(200)]
        table = pa.Table.from_batches([as_table(records)])
        pq.write_table(table, folder / "episodes" / f"{name}.parquet", row_group_size=50)
    rows = [clickhouse(one) for one in make_table(20, rng)]
    for name, half in (("a", rows[: len(rows) // 2]), ("b", rows[len(rows) // 2 :])):
        write_rows(folder / "spans" / f"{name}.parquet", half)
    return tasks, rules


def run_engine(engine: str, folder: Path, tasks: Path, rules: Path) -> None:
    """Run the code on the page, on input in several parts."""
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.file is not None:
            (folder / block.file).write_text(block.body, encoding="utf-8")
    (folder / "drive.py").write_text(ENGINES[engine], encoding="utf-8")
    paths = [str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "drive.py", str(tasks), str(rules), ",".join(map(str, PARTS))],
        cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]


def simplify(scores: pa.Table, place: list[str]) -> pa.Table:
    """Return scores with the names of files, and without the columns that an engine does not know."""
    scores = scores.cast(SCORES)
    names = pa.array([None if name is None else Path(name).name for name in scores["file"].to_pylist()], pa.string())
    scores = scores.set_column(SCORES.get_field_index("file"), SCORES.field("file"), names)
    for name in place:
        field = SCORES.field(name)
        scores = scores.set_column(SCORES.get_field_index(name), field, pa.nulls(len(scores), field.type))
    return scores
