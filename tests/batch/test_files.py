"""`corepath score --out`: whole files only, the same after an interruption, and each problem has its place."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from corepath import load_results
from corepath.batch import parts, shards
from corepath.batch.files import Settings, score_files
from corepath.cli import make_app
from corepath.cli.progress import ByteProgress
from corepath.errors import CorepathError
from tests.batch.cases import SYSTEM_MEMORY, as_table, random_record, write_tasks
from tests.batch.span_tables import FAMILIES, make_table, write_rows

Made = tuple[Path, list[bytes]]
PLAIN = ("plain", "open", "ignore", "random/0", "random/1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    folder, rng = tmp_path_factory.mktemp("files"), random.Random("files")
    tasks = write_tasks(folder, rng)
    records = [random_record(rng, list(PLAIN)) for _ in range(400)]
    usual = [{name: one[name] for name in ("task", "calls", "agent")} for one in records]
    for record in usual:
        for call in record["calls"]:
            call.pop("odd", None)
    lines = [json.dumps(record | {"epoch": epoch}).encode() + b"\n" for epoch in range(5) for record in usual]
    return tasks, [*(json.dumps(record).encode() + b"\n" for record in records[:100]), *lines]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 50_000)


def write(folder: Path, lines: list[bytes], name: str = "episodes.jsonl") -> Path:
    file, text = folder / name, b"".join(lines)
    if name.endswith(".gz"):
        text = gzip.compress(text)
    if name.endswith(".zst"):
        text = zstandard.compress(text)
    file.write_bytes(text)
    return file


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(make_app("score"), ["score", *map(str, arguments)])
    return found.exit_code, found.output


def without_place(file: Path) -> list[dict[str, object]]:
    hidden = ("file", "offset")
    return [{name: row[name] for name in row if name not in hidden} for row in pq.read_table(file).to_pylist()]


def test_packed_files_and_parquet_have_the_scores_of_plain_lines(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    settings, wanted = Settings((str(tasks),)), None
    for name in ("episodes.jsonl", "episodes.jsonl.gz", "episodes.jsonl.zst"):
        out = tmp_path / f"{name}.parquet"
        report = score_files([write(tmp_path, lines, name)], out, settings, processes=1)
        assert report.shards == (1 if name.endswith(("gz", "zst")) else 1 + sum(map(len, lines)) // 50_000)
        wanted = wanted or without_place(out)
        assert without_place(out) == wanted
        assert [row["line"] for row in wanted] == list(range(1, len(lines) + 1))
    assert wanted is not None


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_whether_a_file_is_packed_follows_from_its_content(pack: Any, made: Made, tmp_path: Path) -> None:
    """Nothing is lost if a packed file is named like a plain one, or a plain one like a packed one."""
    tasks, lines = made
    file, plain = tmp_path / f"named.jsonl{'.gz' * (pack is bytes)}", write(tmp_path, lines)
    file.write_bytes(pack(plain.read_bytes()))
    for place, out in ((file, tmp_path / "out.parquet"), (plain, tmp_path / "wanted.parquet")):
        score_files([place], out, Settings((str(tasks),)), processes=1)
    assert without_place(tmp_path / "out.parquet") == without_place(tmp_path / "wanted.parquet")


def test_the_file_has_the_same_bytes_however_the_work_was_split(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, lines = made
    file, settings = write(tmp_path, lines), Settings((str(tasks),))
    found = []
    for size, processes in ((50_000, 1), (50_000, 2), (10**9, 1), (33_333, 1)):
        monkeypatch.setattr(shards, "SHARD_BYTES", size)
        out = tmp_path / f"{size}-{processes}.parquet"
        score_files([file], out, settings, processes=processes)
        found.append(out.read_bytes())
    assert len(set(found)) == 1


def test_parquet_is_read_by_row_groups(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, lines = made
    monkeypatch.setattr(shards, "SHARD_ROWS", 300)
    records = [record for line in lines[:1000] if "\\ud800" not in str(record := json.loads(line))]
    file, out = tmp_path / "episodes.parquet", tmp_path / "scores.parquet"

    pq.write_table(pa.Table.from_batches([as_table(records)]), file, row_group_size=100)
    report = score_files([file], out, Settings((str(tasks),)), processes=1)
    assert report.shards == -(-len(records) // 300)
    assert pq.read_table(out)["line"].to_pylist() == list(range(1, len(records) + 1))


def test_texts_of_calls_in_parquet_may_be_stored_once_or_not(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are too many distinct texts, the rest of a row group has them one by one."""
    tasks, lines = made
    monkeypatch.setattr(shards, "ROWS", 30)
    records = [record for line in lines[:400] if "\\ud800" not in str(record := json.loads(line))]
    table = pa.Table.from_batches([as_table(records)])
    found = []
    ways: tuple[dict[str, Any], ...] = ({"use_dictionary": False}, {}, {"dictionary_pagesize_limit": 100})
    for number, options in enumerate(ways):
        file, out = tmp_path / "episodes.parquet", tmp_path / f"scores{number}.parquet"
        pq.write_table(table, file, row_group_size=150, write_batch_size=10, data_page_size=500, **options)
        score_files([file], out, Settings((str(tasks),)), processes=1)
        found.append(pq.read_table(out).to_pylist())
    assert len(found[0]) == len(records)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("rows", [20, 150])
def test_texts_of_calls_in_parquet_may_be_dictionaries(
    rows: int, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow writes a column of numbered texts as such, and cannot read it back across row groups."""
    tasks, lines = made
    monkeypatch.setattr(shards, "ROWS", 100)
    records = [record for line in lines[:400] if "\\ud800" not in str(record := json.loads(line))]
    table = pa.Table.from_batches([as_table(records)])
    calls = table["calls"].combine_chunks()
    texts = pa.StructArray.from_arrays(
        [part.dictionary_encode() for part in calls.values.flatten()], [part.name for part in calls.type.value_type]
    )
    numbered = table.set_column(
        table.column_names.index("calls"), "calls", pa.ListArray.from_arrays(calls.offsets, texts)
    )
    found = []
    for number, one in enumerate((table, numbered)):
        file, out = tmp_path / "episodes.parquet", tmp_path / f"scores{number}.parquet"
        pq.write_table(one, file, row_group_size=rows)
        assert not score_files([file], out, Settings((str(tasks),)), processes=1).damaged
        found.append(pq.read_table(out).to_pylist())
    assert len(found[0]) == len(records)
    assert found[0] == found[1]


KILLED = """
import sys, threading, os, time
from pathlib import Path
from corepath.batch import shards
from corepath.batch.files import Settings, score_files
from corepath.batch.parts import PartsFolder
shards.SHARD_BYTES = 50_000
out, more = Path(sys.argv[2]), int(sys.argv[4])
def written():
    return len(list(PartsFolder(out).path.glob("*.arrow")))
def kill(before=written()):
    while written() < before + more:
        time.sleep(0.001)
    os.kill(os.getpid(), 9)
threading.Thread(target=kill, daemon=True).start()
score_files([Path(sys.argv[1])], out, Settings((sys.argv[3],)), processes=2, resume=True)
"""


def test_after_kill_9_resume_gives_the_same_as_an_uninterrupted_run(made: Made, tmp_path: Path, times: int) -> None:
    """It is killed when so many more shards are written, five times or, with --long, twenty times."""
    tasks, lines = made
    file, out, whole = write(tmp_path, lines * 2), tmp_path / "scores.parquet", tmp_path / "whole.parquet"
    planned = score_files([file], whole, Settings((str(tasks),)), processes=2).shards
    rng = random.Random("kill")
    wanted, killed, most_parts = 5 if times == 1 else 20, 0, 0
    while killed < wanted:
        more = rng.randrange(planned // 2) if killed else 0
        script = [sys.executable, "-c", KILLED, str(file), str(out), str(tasks), str(more)]
        ended = subprocess.run(script, check=False, capture_output=True)
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr.decode()
        killed += ended.returncode == -signal.SIGKILL
        most_parts = max(most_parts, len(list(parts.PartsFolder(out).path.glob("*.arrow"))))
        if out.exists():
            assert out.read_bytes() == whole.read_bytes(), "a file that is there is whole"
            out.unlink()  # and the next one begins anew
    assert most_parts, "some were killed between two shards"
    score_files([file], out, Settings((str(tasks),)), processes=2, resume=True)
    assert out.read_bytes() == whole.read_bytes()
    assert not out.with_name("scores.parquet.parts").exists()


def test_resume_skips_finished_shards_and_refuses_other_input(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, out = write(tmp_path, lines), tmp_path / "scores.parquet"
    score_files([file], out, Settings((str(tasks),)), processes=1)
    wanted = out.read_bytes()
    folder = parts.PartsFolder(out)
    out.unlink()
    folder.path.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.JoinedScores, "finish", lambda *_: None)
        report = score_files([file], out, Settings((str(tasks),)), processes=1, resume=True)
    assert report.skipped == 0
    folder.part(2).unlink()
    folder.part(3).write_bytes(folder.part(3).read_bytes()[:500])
    (folder.path / "000004.parquet.99.tmp").write_text("half")
    code, output = run(file, "--tasks", tasks, "--out", out)
    assert code == 2
    assert "--resume" in output
    code, output = run(file, "--tasks", tasks, "--out", out, "--resume", "--beta", "0.9")
    assert code == 2
    assert "settings changed" in output
    report = score_files([file], out, Settings((str(tasks),)), processes=1, resume=True)
    assert report.skipped == report.shards - 2
    assert out.read_bytes() == wanted
    code, output = run(file, "--tasks", tasks, "--out", out)
    assert code == 2
    assert "already there" in output


def test_after_resume_rate_and_time_left_do_not_count_what_was_there(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, out = write(tmp_path, lines), tmp_path / "scores.parquet"
    wanted, settings = tmp_path / "whole.parquet", Settings((str(tasks),))
    score_files([file], wanted, settings, processes=1)
    said: list[tuple[int, ...]] = []

    def stop(*told: int) -> None:
        said.append(told)
        if len(said) in {3, 5}:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            score_files([file], out, settings, processes=1, resume=True, progress=stop)
    assert said[0][:2] == (0, 0)
    assert said[3] == said[2] < said[4]
    shown = ByteProgress("lines")
    shown.update(800, 80, 100)
    shown.update(900, 90, 100)
    assert shown.line(900, 90, 100, 10.0).endswith("90 %; 900 lines; 10/s, 10 s left")
    assert shown.line(800, 80, 100, 0.5).endswith("80 %; 800 lines; 0/s")
    _, output = run(file, "--tasks", tasks, "--out", out, "--resume")
    assert "3 of" in output
    assert "/s" not in output
    assert out.read_bytes() == wanted.read_bytes()


def test_the_scores_may_be_written_into_the_folder_of_the_tasks(made: Made, tmp_path: Path) -> None:
    """The plan of the batch is no task, and what is written there does not look like a change of the tasks."""
    tasks, lines = made
    file, out = write(tmp_path, lines, "monday.jsonl"), tmp_path / "scores.parquet"
    (tmp_path / "tasks.json").write_text(tasks.read_text())
    settings = Settings((str(tmp_path),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.JoinedScores, "finish", lambda *_: None)
        assert not score_files([file], out, settings, processes=2).failed
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "world.pyc").write_text("made by Python")
    report = score_files([file], out, settings, processes=2, resume=True)
    assert report.skipped == report.shards
    assert pq.read_metadata(out).num_rows == len(lines)


def test_a_task_that_changes_meanwhile_is_noticed_also_if_it_is_named_in_its_file(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, out = write(tmp_path, lines), tmp_path / "scores.parquet"
    (named := tmp_path / "tasks.json").write_text(tasks.read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.JoinedScores, "finish", lambda *_: None)
        score_files([file], out, Settings((f"{named}::plain",)), processes=1)
    named.write_text(tasks.read_text().replace("A1", "A2"))
    code, output = run(file, "--tasks", f"{named}::plain", "--out", out, "--resume")
    assert code == 2
    assert "settings changed" in output


@pytest.mark.parametrize("name", ["episodes.jsonl", "episodes.jsonl.gz"])
def test_a_file_that_is_named_twice_is_scored_twice(name: str, made: Made, tmp_path: Path) -> None:
    """Its lines are counted anew, so that each episode is found again."""
    tasks, lines = made
    file, out = write(tmp_path, lines, name), tmp_path / "scores.parquet"
    report = score_files([file, file], out, Settings((str(tasks),)), processes=1)
    rows = pq.read_table(out, columns=["line", "problem"])
    assert rows["line"].to_pylist() == [*range(1, len(lines) + 1)] * 2
    assert {one.line for one in report.problems} == {
        line for line, problem in enumerate(rows["problem"].to_pylist()[: len(lines)], start=1) if problem
    }


def test_resume_of_finished_scores_checks_that_they_are_of_the_same_batch(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, out = write(tmp_path, [*lines[:100], b"not json\n"]), tmp_path / "scores.parquet"
    found, _ = run(file, "--tasks", tasks, "--out", out)
    again, output = run(file, "--tasks", tasks, "--out", out, "--resume")
    assert found == again == 1, "a bad line stays one"
    assert "bad line" in output
    assert "1 of 1 shard already there" in output
    for changed in ((file, "--beta", "0.9"), (file, file)):
        code, output = run(*changed, "--tasks", tasks, "--out", out, "--resume")
        assert code == 2
        assert "is of another batch" in " ".join(output.split())
    later = out.stat().st_mtime_ns + 1_000_000
    os.utime(file, ns=(later, later))
    code, output = run(file, "--tasks", tasks, "--out", out, "--resume")
    assert code == 2
    assert "input changed" in " ".join(output.split())
    out.write_text("something else")
    code, output = run(file, "--tasks", tasks, "--out", out, "--resume")
    assert code == 2
    assert "no file of scores" in " ".join(output.split())


def test_two_processes_do_not_write_the_same_file(made: Made, tmp_path: Path) -> None:
    """The second one says so, and leaves what the first one has written."""
    tasks, lines = made
    file, out = write(tmp_path, lines), tmp_path / "scores.parquet"
    first = parts.PartsFolder(out)
    first.begin({}, resume=False)
    half = first.path / "000000.arrow.1.tmp"
    half.write_text("half")
    for option in ((), ("--resume",)):
        code, output = run(file, "--tasks", tasks, "--out", out, *option)
        assert code == 2
        assert "another process is writing" in " ".join(output.split())
    assert half.exists()
    first.release()
    first.delete()
    score_files([file], out, Settings((str(tasks),)), processes=1)
    with pytest.raises(CorepathError, match="is already there"):  # it was not when the other process began
        score_files([file], out, Settings((str(tasks),)), processes=1)
    assert not first.path.exists()


def test_an_empty_file_is_reported_as_by_score(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, empty = write(tmp_path, lines[:5]), write(tmp_path, [b"\n"], "empty.jsonl")
    code, output = run(file, empty, "--tasks", tasks, "--out", tmp_path / "scores.parquet")
    assert code == 1
    assert "empty.jsonl:1:1: no episodes in this file" in " ".join(output.split())


@pytest.mark.parametrize(("place", "words"), [
    ("-", "write standard input into a file first"), (".", "name the files of episodes in it"),
])  # fmt: skip
def test_what_is_no_file_is_not_scored_into_one(place: str, words: str, tmp_path: Path) -> None:
    code, output = run(tmp_path / place if place == "." else place, "--out", tmp_path / "scores.parquet")
    assert code == 2
    assert words in " ".join(output.split())


def test_bad_lines_and_damaged_files_are_said_with_their_place(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    good = write(tmp_path, [*lines[:50], b"not json\n", *lines[50:100]], "good.jsonl")
    packed = write(tmp_path, lines, "cut.jsonl.gz")
    packed.write_bytes(packed.read_bytes()[:-200])
    frames = write(tmp_path, lines, "cut.jsonl.zst")
    frames.write_bytes(frames.read_bytes()[:-200])
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing")
    out = tmp_path / "scores.parquet"
    code, output = run(good, packed, frames, broken, "--tasks", tasks, "--out", out)
    assert code == 1
    words = " ".join(output.split())
    assert "good.jsonl:51:1: not JSON" in words
    assert "cut.jsonl.gz:" in words
    assert "data of Zstandard are cut or damaged" in words
    assert "broken.parquet:1:1: cannot be read" in words
    assert "3 parts of the input could not be read to the end" in words
    rows = pq.read_table(out).to_pylist()
    assert sum(row["file"].endswith("good.jsonl") for row in rows) == 101
    assert sum(row["file"].endswith("cut.jsonl.gz") for row in rows) > 100
    assert f"{sum(row['problem'] is not None for row in rows)} bad lines; the column problem" in words
    assert rows[50]["problem"].startswith("not JSON")
    assert rows[50]["pc"] is None


@pytest.mark.parametrize("group", [0, 3])
def test_changed_bytes_are_noticed_where_parquet_has_checksums(group: int, made: Made, tmp_path: Path) -> None:
    """Rows before the damaged row group are scored, also where small row groups are read together."""
    tasks, lines = made
    records = [record for line in lines[:300] if "\\ud800" not in str(record := json.loads(line))]
    file = tmp_path / "episodes.parquet"
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.Table.from_batches([as_table(records)]), file, row_group_size=50, **options)
    assert score_files([file], tmp_path / "whole.parquet", Settings((str(tasks),)), processes=1).damaged == 0
    column = pq.read_metadata(file).row_group(group).column(pq.read_schema(file).names.index("task"))
    raw = bytearray(file.read_bytes())
    raw[column.data_page_offset + column.total_compressed_size - 1] ^= 1
    file.write_bytes(raw)
    report = score_files([file], tmp_path / "scores.parquet", Settings((str(tasks),)), processes=1)
    assert (report.episodes + report.bad, report.damaged) == (50 * group, 1)
    assert "checksum" in report.problems[-1].message
    assert report.problems[-1].line == 50 * group + 1
    assert pq.read_table(tmp_path / "scores.parquet")["line"].to_pylist() == list(range(1, 50 * group + 1))


def test_a_full_disk_leaves_no_half_file(made: Made, tmp_path: Path) -> None:
    tasks, lines = made
    file, out = write(tmp_path, lines), tmp_path / "scores.parquet"
    script = [sys.executable, "-m", "corepath", "score", str(file), "--tasks", str(tasks), "--out", str(out)]

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    ended = subprocess.run(script, check=False, capture_output=True, text=True, preexec_fn=limit)
    assert ended.returncode == 1, ended.stderr
    assert "its scores cannot be written" in ended.stderr
    assert "File too large" in ended.stderr
    assert "--resume" in ended.stderr
    assert not out.exists()
    assert not list(tmp_path.rglob("*.tmp"))
    subprocess.run([*script, "--resume"], check=False, capture_output=True)
    assert pq.read_metadata(out).num_rows == len(lines)


@pytest.mark.parametrize(("arguments", "words"), [
    (("--out", "x.csv"), "ends in .parquet"),
    (("--out", "no/x.parquet"), "there is no folder no"),
    (("--resume",), "--resume belongs to --out"),
    (("--processes", "2"), "--processes belongs to --out"),
    (("--out", "x.parquet", "--max-harm", "0"), "--max-harm is not for --out"),
])  # fmt: skip
def test_wrong_options_say_what_is_right(
    arguments: tuple[str, ...],
    words: str,
    made: Made,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = run(write(tmp_path, made[1][:5]), "--tasks", made[0], *arguments)
    assert code == 2
    assert words in " ".join(output.split())


def test_memory_does_not_grow_with_the_input(made: Made, tmp_path: Path, times: int) -> None:
    tasks, lines = made
    script = (
        "import re, sys\nfrom pathlib import Path\nfrom corepath.batch import shards\n"
        "from corepath.batch.files import Settings, score_files\nshards.SHARD_BYTES = int(sys.argv[4])\n"
        "score_files([Path(sys.argv[1])], Path(sys.argv[2]), Settings((sys.argv[3],)), processes=1)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1])"
    )
    sizes, shard = ((5, 25), 1 << 20) if times == 1 else ((20, 600), 8 << 20)
    peaks = []
    for number, repeats in enumerate(sizes):
        file, out = write(tmp_path, lines * repeats, f"{number}.jsonl"), tmp_path / f"{number}.parquet"
        command = [sys.executable, "-c", script, str(file), str(out), str(tasks), str(shard)]
        env = {**os.environ, **SYSTEM_MEMORY}
        ended = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        peaks.append(int(ended.stdout))
    assert peaks[1] < 300_000, "kilobytes"
    assert peaks[1] < peaks[0] + 60_000


def test_spans_are_scored_by_rules_once_a_trace(tmp_path: Path) -> None:
    made = make_table(30, random.Random("spans"))
    rows = [FAMILIES["otel"](one) for one in made]
    rules = tmp_path / "rules.yaml"
    rules.write_text('version: 1\nrules: ["at most 1 search(...)"]\n')
    whole, out = write_rows(tmp_path / "whole.jsonl", rows), tmp_path / "whole.parquet"
    code, output = run(whole, "--rules", rules, "--out", out)
    assert code == 0, output
    first = write_rows(tmp_path / "first.jsonl.gz", rows[: len(rows) // 2 + 5])
    second = write_rows(tmp_path / "second.parquet", rows[len(rows) // 2 - 5 :])
    cut = tmp_path / "cut.parquet"
    code, output = run(first, second, "--rules", rules, "--out", cut)
    assert code == 0, output
    names = ("trace", "harm_count", "harm_rate", "rules_broken", "length", "rules")
    wanted, found = ({row["trace"]: [row[name] for name in names] for row in pq.read_table(file).to_pylist()}
                     for file in (out, cut))  # fmt: skip
    assert len(wanted) == 30
    assert found == wanted
    results = load_results(cut)
    assert all(len(one.episode.calls) == one.scores["length"] for one in results)
