"""The scanner for Inspect Scout, on real logs of Inspect. Tests that need Scout are skipped where it is missing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from corepath import RECOMMENDED, Episode, Scoring, play, score, task
from corepath.episode import FAILED_OUTSIDE
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.play.built_in import built_in
from tests.conftest import PATIENCE, ROOT, Run
from tests.importers.inspect_turns import TURNS

needs_scout = pytest.mark.skipif(find_spec("inspect_scout") is None, reason="inspect-scout is not installed")
SCRIPT = Path(__file__).with_name("scout_scan.py")
COMMAND = [sys.executable, "-c", "from inspect_scout._cli.main import main; main()"]
PLAYED = [
    (id_, seed, profile, agent)
    for id_, seed, profile in [("farm/dry_plants", 0, "paper"), ("legal/correct_flag", 3, "recommended")]
    for agent in ("oracle", "harmful_early")
]


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def own_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of corepath's own Inspect tasks: a golden path and a harmful one in each of two worlds."""
    folder = tmp_path_factory.mktemp("own")
    plays = []
    for id_, seed, profile, agent in PLAYED:
        made = play(built_in(agent), task(id_, seed), seed=seed, scoring=Scoring.of(profile))
        plays.append([id_, seed, profile, [(call.tool, call.arguments) for call in made.calls], "Done."])
    (folder / "plays.json").write_text(json.dumps(plays))
    run(sys.executable, "-m", "tests.runs.inspect_trips", folder, cwd=ROOT)
    return folder / "logs"


@pytest.fixture(scope="module")
def foreign_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of another Inspect task, as `.eval` and as `.json`."""
    folder = tmp_path_factory.mktemp("foreign")
    run(sys.executable, "-m", "tests.importers.inspect_eval", folder, cwd=ROOT)
    return folder


def scanned(logs: Path, scans: Path, **options: Any) -> tuple[dict[str, dict[str, Any]], Any]:
    """The results of a scan by sample id, and the means."""
    found, means = json.loads(run(sys.executable, SCRIPT, logs, scans, json.dumps(options)))
    return {one["transcript_task_id"]: one for one in found}, means


def imported(logs: Path) -> dict[Any, Episode]:
    made = [one for log in logs.iterdir() for one in import_trace(log) if isinstance(one, Episode)]
    return {one.extra["metadata"]["sample_uuid"]: one for one in made}


def transcripts(logs: Path) -> list[Any]:
    from inspect_scout import TranscriptContent, transcripts_from

    async def load() -> list[Any]:
        async with transcripts_from(str(logs)).reader() as reader:
            return [await reader.read(info, TranscriptContent("all", "all")) async for info in reader.index()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Scout uses what pandas has deprecated
        return asyncio.run(load())


@needs_scout
def test_scout_scan_gives_the_scores_of_import_and_score(own_logs: Path, tmp_path: Path, corepath: Run) -> None:
    run(*COMMAND, "scan", "corepath/path_scanner", "-T", own_logs, "--scans", "scans", "--max-processes", 2,
        "--display", "none", cwd=tmp_path)  # fmt: skip
    (folder,) = (tmp_path / "scans").iterdir()
    found = json.loads(run(sys.executable, SCRIPT, folder))
    episodes = corepath("import", *own_logs.iterdir()).stdout
    scores = [json.loads(line) for line in corepath("score", "-", "--json", stdin=episodes).stdout.splitlines()]
    ids = [json.loads(line)["metadata"]["sample_id"] for line in episodes.splitlines()]
    expected = dict(zip(ids, scores, strict=True))
    assert len(found) == len(expected) == len(PLAYED)
    for one in found:
        other = expected[one["transcript_task_id"]]
        assert one["value"].items() <= other.items()
        assert one["metadata"]["task"] == other["task"]
        assert (one["value"]["pc"] == 1.0) is ("oracle" in PLAYED[int(one["transcript_task_id"])])
        assert one["answer"] == "Done."
        assert len(one["message_references"]) == other["harm_count"], "one call in a message"
        assert all(reference["cite"] in one["explanation"] for reference in one["message_references"])


@needs_scout
def test_scoring_options_replace_the_recorded_ones(own_logs: Path, tmp_path: Path) -> None:
    found, means = scanned(own_logs, tmp_path, tasks="farm,legal", scoring="recommended")
    episodes = {one.extra["metadata"]["sample_id"]: one for one in imported(own_logs).values()}
    for id_, one in found.items():
        episode = episodes[id_]
        scores = score(task(episode.task, episode.seed or 0), episode, RECOMMENDED).to_dict()
        assert one["value"] == json.loads(json.dumps(scores))
    assert means["pc"]["mean"] == pytest.approx(sum(one["value"]["pc"] for one in found.values()) / len(found))


@needs_scout
def test_a_transcript_is_read_as_import_reads_the_log(own_logs: Path, foreign_logs: Path) -> None:
    from corepath.testing.scout import read_transcript

    for logs, number in ((own_logs, len(PLAYED)), (foreign_logs, 2 * len(TURNS))):
        expected = imported(logs)
        found = transcripts(logs)
        assert len(found) == len(expected) == number
        for transcript in found:
            ours, theirs = expected[transcript.transcript_id], read_transcript(transcript)
            for name in ("task", "calls", "messages", "answer", "agent", "epoch", "seed", "fingerprint", "outcome",
                         "failure"):  # fmt: skip
                assert getattr(theirs, name) == getattr(ours, name), (transcript.task_id, name)


TASKS = """
id: sums/add
procedure: add(x=1, y=2)
---
id: sums/both
procedure: add(x=1, y=2) >> add(x=60, y=2)
"""


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the two tasks in `TASKS`."""
    file = tmp_path_factory.mktemp("tasks") / "sums.yaml"
    file.write_text(TASKS)
    return file


@pytest.fixture(scope="module")
def by_id(foreign_logs: Path) -> dict[str, Any]:
    """The transcripts of the foreign logs by sample id."""
    return {one.task_id: one for one in transcripts(foreign_logs)}


@needs_scout
def test_other_transcripts_are_scored_on_the_only_task_that_is_given(
    foreign_logs: Path, sums: Path, tmp_path: Path
) -> None:
    found, means = scanned(foreign_logs, tmp_path, tasks=f"{sums}::sums/add")
    assert {id_: one["metadata"]["task"] for id_, one in found.items()} == dict.fromkeys(TURNS, "sums/add")
    assert (found["submits"]["value"]["pc"], found["submits"]["value"]["accepted"]) == (1.0, True)
    assert [harm["index"] for harm in found["adds"]["value"]["harms"]] == [1, 2, 3, 4]
    assert [one["cite"] for one in found["adds"]["message_references"]] == ["[M2]", "[M5]", "[M8]"]
    broken = found["breaks"]
    assert broken["value"] is None, "an episode that failed outside is in no mean"
    assert "on fire" in broken["explanation"]
    assert broken["metadata"]["outcome"] == FAILED_OUTSIDE
    assert broken["metadata"]["left_out"] == "failed outside the agent"
    counted = [one["value"]["pc"] for one in found.values() if one["value"] is not None]
    assert len(counted) == len(TURNS) - 1
    assert means["pc"]["mean"] == pytest.approx(sum(counted) / len(counted))


@needs_scout
def test_task_by_says_where_a_transcript_names_its_task(by_id: dict[str, Any], sums: Path) -> None:
    from corepath.testing.scout import path_scanner

    names = {"0": "sums/both", "1": "sums/add"}
    table = sums.with_name("map.yaml")
    table.write_text(json.dumps(names))
    for given in (names, str(table)):
        scan = path_scanner(tasks=str(sums), task_by="metadata.ticket", task_map=given)
        adds, submits = (asyncio.run(scan(by_id[name])) for name in ("adds", "submits"))
        assert [one.metadata["task"] for one in (adds, submits)] == ["sums/both", "sums/add"]
        assert [harm["index"] for harm in adds.value["harms"]] == [2, 3, 4]
        with pytest.raises(RecordError, match="the map has no task for '2'"):
            asyncio.run(scan(by_id["breaks"]))
    with pytest.raises(RecordError, match="does not name its task; give one in tasks"):
        asyncio.run(path_scanner(tasks=str(sums))(by_id["adds"]))


@needs_scout
def test_a_harmful_call_that_is_in_no_message_is_cited_by_its_event(by_id: dict[str, Any], sums: Path) -> None:
    from corepath.testing.scout import path_scanner

    scan = path_scanner(tasks=f"{sums}::sums/add")
    transcript = by_id["adds"]
    kept = [one for one in transcript.messages if one.role != "assistant" or not one.text]
    event, *others = asyncio.run(scan(transcript.model_copy(update={"messages": kept}))).references
    place = int(event.cite.strip("[E]")) - 1
    assert (event.type, transcript.events[place].id, transcript.events[place].uuid) == ("event", "a2", event.id)
    assert {one.type for one in others} == {"message"}
    no_ids = [one.model_copy(update={"id": None}) for one in transcript.messages]
    events = asyncio.run(scan(transcript.model_copy(update={"messages": no_ids}))).references
    assert [one.type for one in events] == ["event"] * 4


@needs_scout
def test_the_same_call_id_in_two_messages_is_cited_in_order() -> None:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import ToolCall
    from inspect_scout import Transcript

    from corepath.testing.scout import path_scanner

    messages: list[Any] = []
    for number, tool in enumerate(("read_sensor", "drain_bed")):
        call = ToolCall(id="call_0", function=tool, arguments={"plant": "A"})
        messages += [
            ChatMessageAssistant(content="", tool_calls=[call], id=f"m{number}"),
            ChatMessageTool(content="ok", tool_call_id="call_0", function=tool),
        ]
    result = asyncio.run(path_scanner(tasks="farm/dry_plants")(Transcript(transcript_id="t", messages=messages)))
    assert result.value["harm_count"] == 1
    assert [(one.cite, one.id) for one in result.references] == [("[M3]", "m1")]


@needs_scout
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": "nowhere"}, "no world or file 'nowhere'"),
        ({"tasks": "farm/dry_plant"}, "did you mean"),
        ({"scoring": "recomended"}, "did you mean 'recommended'"),
        ({"task_map": {"a": "b"}}, "task_map belongs to task_by"),
    ],
)
def test_wrong_options_are_told_before_the_scan(options: dict[str, Any], message: str) -> None:
    from corepath import TaskError
    from corepath.testing.scout import path_scanner

    with pytest.raises(TaskError, match=message):
        path_scanner(**options)


def test_inspect_finds_tasks_and_scorer_where_scout_is_missing() -> None:
    code = (
        "import sys; sys.modules['inspect_scout'] = None\n"
        "import corepath.testing.inspect_plugin\n"
        "from corepath.runs.inspect_tasks import core, farm\n"
        "print('corepath.testing.scout' in sys.modules, core.__name__, farm.__name__)"
    )
    assert run(sys.executable, "-c", code) == "False core farm\n"
