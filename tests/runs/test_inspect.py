"""The worlds as tasks of Inspect, run by its own command and solvers against a local server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corepath import RECOMMENDED, Episode, Task, installed_worlds, load_episodes, score, task
from corepath.files.fingerprint import fingerprint
from corepath.importers import import_trace
from corepath.play.golden_run import golden_runs
from corepath.world.world import World
from tests.command_server import CommandServer
from tests.conftest import PATIENCE
from tests.runs.bad_server import BadServer, Reply, Request, calls, echo_oracle, odd_replies, says, status
from tests.runs.test_models import plans

NOWHERE = "http://127.0.0.1:9"


class Inspect:
    """The command `inspect` in a folder, with a server for its model."""

    def __init__(self, folder: Path, server: CommandServer) -> None:
        self.folder, self.server = folder, server

    def run(self, *arguments: str, url: str = NOWHERE) -> tuple[int, str]:
        """Run the command; its exit code and what it printed."""
        env = {"SERVER_API_KEY": "none", "SERVER_BASE_URL": url}
        code, out, err = self.server.run(["inspect", *arguments], cwd=self.folder, env=env)
        return code, out.decode() + err.decode()

    def eval(self, url: str, *options: str) -> Any:
        """Run `inspect eval` and return its log as JSON."""
        usual = ("--model", "openai-api/server/m", "-M", "max_retries=0", "--max-retries", "0", "--display", "none")
        _, printed = self.run("eval", *usual, "--log-dir", "logs", "--log-format", "json", *options, url=url)
        logs = sorted((self.folder / "logs").glob("*.json"))
        assert logs, printed
        return json.loads(logs[-1].read_text())


@pytest.fixture
def inspect(tmp_path: Path, command_server: CommandServer) -> Inspect:
    return Inspect(tmp_path, command_server)


def test_inspect_eval_runs_a_world_and_scores_it(inspect):
    with BadServer(echo_oracle(plans("farm"))) as server:
        log = inspect.eval(server.url, "corepath/farm", "-T", "tasks=dry_plants,threshold", "--epochs", "2")
    assert log["status"] == "success"
    assert log["eval"]["task"] == "corepath/farm"
    assert [sample["id"] for sample in log["samples"]] == ["farm/dry_plants", "farm/threshold"] * 2
    for sample in log["samples"]:
        value = sample["scores"]["core"]["value"]
        assert (value["pc"], value["accepted"], value["harm_count"]) == (1.0, 1.0, 0.0)
        assert sample["scores"]["core"]["metadata"]["scores"]["profile"] == "paper"
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
    assert means["pc"] == 1.0
    assert {"pc_ktc", "prefix_criticality", "harm_rate", "efficiency", "pc_hlr", "state_match"} <= means.keys()


def test_a_log_of_ours_is_imported_as_what_was_scored(tmp_path, corepath, inspect):
    """No task is named; the variant, profile, epochs, calls and scores all come from the log."""
    ways = {task(id_, 4).prompt: [*(golden(task(id_, 4))), *odd] for id_, odd in PLAYED.items()}
    options = ("-T", "seed=4", "-T", "tasks=dry_plants,threshold", "-T", "profile=recommended", "--epochs", "2")
    with BadServer(echo_oracle(ways)) as server:
        log = inspect.eval(server.url, "corepath/farm", *options)
    (file,) = (tmp_path / "logs").glob("*.json")
    done = corepath("import", file, "--out", tmp_path / "e.jsonl")
    assert (done.returncode, done.stderr) == (0, f"4 episodes in {tmp_path / 'e.jsonl'}\n")
    episodes = load_episodes(tmp_path / "e.jsonl")
    told = [sample["scores"]["core"]["metadata"] for sample in log["samples"]]
    assert [(one.task, one.epoch) for one in episodes] == [(sample["id"], sample["epoch"]) for sample in log["samples"]]
    for episode, metadata in zip(episodes, told, strict=True):
        assert (episode.seed, episode.scoring, episode.outcome) == (4, "recommended", "answered")
        assert list(map(str, episode.calls)) == metadata["calls"]
        found = json.loads(json.dumps(score(task(episode.task, 4), episode, RECOMMENDED).to_dict()))
        assert found == episode.scores
        assert {name: found[name] for name in metadata["scores"]} == metadata["scores"], "less what is null"
        assert (found["pc"] == 1.0) is not bool(PLAYED[episode.task])
    overwrite = ("--action", "overwrite", "--overwrite", "--display", "none")
    code, printed = inspect.run(
        "score", str(file), "--scorer", "corepath/core", "-S", "profile=recommended", *overwrite
    )
    assert code == 0, printed
    scored = json.loads(file.read_text())["samples"]
    assert [sample["scores"]["core"]["metadata"] for sample in scored] == told
    assert episodes == load_imported(file)


def test_a_sample_of_ours_that_was_not_scored_says_which_task_it_is_of(tmp_path, inspect):
    with BadServer(lambda _: status(500)) as server:
        inspect.eval(server.url, "corepath/farm", "-T", "tasks=threshold", "-T", "seed=2", "--no-fail-on-error")
    (file,) = (tmp_path / "logs").glob("*.json")
    (episode,) = load_imported(file)
    assert (episode.task, episode.seed, episode.scoring, episode.epoch) == ("farm/threshold", 2, "paper", 1)
    assert episode.fingerprint == fingerprint(task("farm/threshold", 2))
    assert episode.outcome == "failed outside"


PLAYED: dict[str, list[Any]] = {"farm/dry_plants": [("move_to", {"place": None})], "farm/threshold": []}
"""Tasks, and what is tried in them after a golden path."""


def golden(played: Task) -> list[Any]:
    assert isinstance(played.simulator, World)
    return [(call.tool, dict(call.arguments)) for call in golden_runs(played, played.simulator, 1)[0].calls]


def load_imported(file: Path) -> list[Episode]:
    return [one for one in import_trace(file) if isinstance(one, Episode)]


def wrong(request: Request) -> Reply:
    first = calls(
        ("unlock_safety", {}), ("move_to", '{"place": '), ("nothing", {"a": 1}), ("move_to", {"place": 5}),
        ("move_to", {"place": "A", "x": 1}),
    )  # fmt: skip
    return [first, calls(("move_to", {"place": "A"})), says("Done.")][min(request.number, 2)]


IN_PROCESS = """
import json, math, sys
from inspect_ai import eval, score
from inspect_ai.approval import Approval, ApprovalPolicy, approver
from inspect_ai.model import get_model
from inspect_ai.agent import react
from inspect_ai.solver import basic_agent, generate
from corepath.runs.inspect_tasks import _SESSIONS, core, farm

@approver
def no_looking():
    async def approve(message, call, view, history):
        return Approval(decision="reject" if call.function == "rover_status" else "approve")
    return approve

def value(log):
    return log.samples[0].scores["core"].value if log.samples and log.samples[0].scores else str(log.samples[0].error)

golden, idle, wrong = (
    get_model("openai-api/server/m", base_url=url, api_key="x", max_retries=0, memoize=False) for url in sys.argv[1:]
)
def run(task="rover_example", **options):
    return eval(farm(tasks=[task]), display="none", log_dir="logs", fail_on_error=False, max_retries=0, **options)[0]

found = {}
model = golden
log = run(model=model)
found["ours"] = value(log)
found["again"] = value(score(log, core(), action="overwrite"))
found["approval"] = value(run(model=model, solver=generate(), approval=[ApprovalPolicy(no_looking(), "*")]))
found["basic"] = value(run(model=model, solver=basic_agent()))
found["react"] = value(run(model=model, solver=react()))
found["idle"] = value(run(model=idle))
found["nan"] = math.isnan(found["idle"]["efficiency"])
found["left"] = len(_SESSIONS)
scored = [run("dry_plants", model=wrong, **solver).samples[0].scores["core"] for solver in ({}, {"solver": generate()})]
found["wrong"] = [[one.value, one.metadata["scores"]["harms"], one.metadata["calls"]] for one in scored]
print("FOUND", json.dumps(found))
"""


def test_solvers_approval_and_scoring_again(tmp_path):
    """A refused read and then a golden path, with Inspect's solvers, with an approver, and scored from the log."""
    own = plans("farm")
    prompt = next(prompt for prompt, path in own.items() if prompt == task("farm/rover_example").prompt)
    script = echo_oracle({prompt: [("rover_status", {}), *own[prompt]]})

    def golden(request: Request) -> Reply:
        reply = script(request)
        offered = [tool["function"]["name"] for tool in request.body["tools"]]
        if "submit" in offered and request.number > len(own[prompt]):
            return calls(("submit", {"answer": "Done."}))
        return reply

    with BadServer(golden) as server, BadServer(lambda _: says("Done.")) as idle, BadServer(wrong) as other:
        command = [sys.executable, "-c", IN_PROCESS, server.url, idle.url, other.url]
        env = {**os.environ, "SERVER_API_KEY": "none", "SERVER_BASE_URL": server.url}
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    assert "FOUND" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(done.stdout.partition("FOUND")[2].splitlines()[0])
    perfect = {"pc": 1.0, "accepted": 1.0, "harm_count": 0.0, "state_match": 1.0}
    for way in ("ours", "again", "approval", "basic"):
        assert {name: found[way][name] for name in perfect} == perfect, way
    assert found["ours"] == found["again"] == found["basic"]
    assert "does not offer the world" in found["react"]
    assert found["nan"] is True
    assert found["idle"]["pc"] == 0.0
    ours, theirs = found["wrong"]
    assert ours[0] == theirs[0]
    _, harms, made = theirs
    assert {"malformed", "unknown_tool"} <= {harm["kind"] for harm in harms}
    assert [call.partition("(")[0] for call in made] == [
        "unlock_safety", "move_to", "nothing", "move_to", "move_to", "move_to"
    ]  # fmt: skip


def test_a_service_that_fails_or_refuses_is_an_error_of_the_sample_and_no_score(inspect):
    refused = odd_replies()["the answer is filtered"]
    with BadServer(lambda request: refused if "sensor of plant" in request.user else status(500)) as server:
        log = inspect.eval(server.url, "corepath/farm", "-T", "tasks=threshold,dry_plants", "--no-fail-on-error")
    assert [bool(sample["error"]) for sample in log["samples"]] == [True, True]
    assert not any(sample.get("scores") for sample in log["samples"])


def test_every_world_is_a_task_of_inspect():
    code = "from corepath.runs import inspect_tasks as t; print([n for n in dir(t) if callable(getattr(t, n))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(repr(name) in done.stdout for name in installed_worlds())


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("tasks=threshold,nowhere", "no task 'nowhere' in world 'farm'"),
        ("profile=recomended", "no profile 'recomended'; did you mean 'recommended'?"),
    ],
)
def test_a_task_or_a_profile_that_there_is_not_is_told(inspect, option, says):
    code, printed = inspect.run("eval", "corepath/farm", "--model", "openai-api/server/m", "-T", option)
    assert code != 0
    assert says in " ".join(printed.split())
