"""Live models: the real harness and command against a local OpenAI server that answers well or badly."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import corepath as package
from corepath.episode import Episode
from corepath.files.episodes import episode_json, read_episodes
from corepath.files.lookup import all_sources
from corepath.play.golden_run import golden_runs
from corepath.runs.folder import EPISODES
from corepath.runs.plan import Plan
from tests.conftest import PATIENCE
from tests.runs.bad_server import (
    BadServer,
    Reply,
    Request,
    calls,
    echo_oracle,
    hangs,
    odd_calls,
    odd_replies,
    says,
    status,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of clients that Inspect leaves to the garbage collector
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
COMMAND = Path(sys.executable).with_name("corepath")
TASK = "farm/dry_plants"


def played(script: Any, task: str = TASK, **options: Any) -> Episode:
    """Play one episode against a server with this script."""
    from corepath.runs import models  # slow to import

    sources = tuple(all_sources([task]))

    async def play(url: str) -> Episode:
        given = {"base_url": url, "max_retries": 0, "timeout": PATIENCE, **options}
        with models.open_harness("m", given, lambda *_: None) as ready:
            try:
                return await ready.play(sources[0], 0, Plan(sources))
            finally:
                await ready.model.api.aclose()

    with BadServer(script) as server:
        episode = asyncio.run(play(server.url))
    line = episode_json(episode)
    read = next(iter(read_episodes("x", BytesIO(line.encode()))))
    assert read.problem is None, "what is written can be read back"
    return episode


def first(reply: Reply) -> Any:
    """A script that sends this reply first, and then answers."""
    return lambda request: reply if request.number == 0 else says("Done.")


def plans(*worlds: str) -> dict[str, list[tuple[str, object]]]:
    """The calls of a golden path for each prompt."""
    tasks = [source.make() for source in all_sources(worlds)]
    runs = [golden_runs(task, task.simulator, 1)[0] for task in tasks]  # type: ignore[arg-type]
    return {run.task.prompt: [(call.tool, dict(call.arguments)) for call in run.calls] for run in runs}


# One episode


def test_a_model_that_does_all_right_scores_as_the_oracle():
    episode = played(echo_oracle(plans("farm")))
    scores = episode.scores
    assert (scores["pc"], scores["accepted"], scores["harm_count"]) == (1.0, True, 0)
    assert (episode.outcome, episode.answer) == ("answered", "Done.")
    assert [call.turn for call in episode.calls] == list(range(1, len(episode.calls) + 1))
    assert episode.extra["usage"]["input_tokens"] == 10 * (len(episode.calls) + 1)
    times = [call.extra["at"] for call in episode.calls]
    assert times == sorted(times)


def test_the_model_is_told_the_rules_the_prompt_and_the_tools_and_nothing_else():
    seen: list[Request] = []

    def script(request: Request) -> Reply:
        seen.append(request)
        return calls(("rover_status", {})) if request.number == 0 else says("Done.")

    played(script)
    task = package.task(TASK)
    world = package.world("farm")
    body = seen[0].body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert world.rules.strip() in seen[0].system
    assert seen[0].user == task.prompt
    assert [tool["function"]["name"] for tool in body["tools"]] == list(world.tools)
    for tool in body["tools"]:
        function = dict(tool["function"])
        function.pop("strict", None)
        assert function["parameters"]["properties"].keys() == world.tools[function["name"]].inputs.keys()
        assert function["description"] == world.tools[function["name"]].description
    assert body["parallel_tool_calls"] is False
    told = json.loads(seen[1].body["messages"][-1]["content"])
    assert told["at"] == "base"


KINDS = {
    "arguments are cut off": "malformed",
    "arguments are a list": "malformed",
    "arguments are a bare value": "malformed",
    "arguments are the word null": "malformed",
    "arguments and two quotes more": "malformed",
    "arguments and more arguments": "malformed",
    "arguments 2000 deep": "malformed",
    "NaN": "malformed",
    "a name nobody knows": "unknown_tool",
    "an empty name": "unknown_tool",
    "no name": "unknown_tool",
    "arguments are a list and not its text": "malformed",
    "a name of 10,000 signs": "unknown_tool",
    "a name that steers a terminal": "unknown_tool",
    "half of a sign in the name": "unknown_tool",
    "an integer of 5,000 digits": "malformed",
}
NOT_OF_THE_AGENT = {"no function"}


@pytest.mark.parametrize("name", list(odd_calls()))
def test_odd_calls_count_as_what_they_were(name):
    episode = played(first(odd_calls("move_to", "place", "A")[name]))
    if name in NOT_OF_THE_AGENT:
        assert (episode.outcome, episode.failure["kind"]) == ("failed outside", "unreadable answer")
        return
    assert episode.outcome == "answered"
    if name in ("no calls in the list", "a call in the text"):
        assert episode.calls == ()
        return
    assert len(episode.calls) == {"ten calls at once": 10, "the same id twice": 2}.get(name, 1)
    if name in KINDS:
        assert [harm["kind"] for harm in episode.scores["harms"]] == [KINDS[name]]


def test_arguments_of_a_wrong_type_are_kept_and_judged_as_they_were_sent():
    sent = [("move_to", {"place": 5}), ("plan_dose", {"moisture": 45.0, "target": "60"}), ("move_to", {})]
    episode = played(lambda request: calls(sent[request.number]) if request.number < 3 else says("Done."))
    assert [call.arguments for call in episode.calls] == [arguments for _, arguments in sent]
    assert all(call.failed for call in episode.calls)
    harms = {harm["index"]: harm["kind"] for harm in episode.scores["harms"]}
    assert harms == {0: "unlisted", 2: "unlisted"}, "a write that no step takes; the read is a self-loop"


OUTSIDE = {
    "no choices": "unreadable answer", "choices are null": "unreadable answer",
    "the answer is filtered": "refused by the service", "the request is wrong": "refused by the service",
    "the prompt is filtered, as Azure says it": "refused by the service",
    "too many requests": "rate limit", "the server fails": "server error",
    "the key is wrong": "not allowed", "an error that is no error by its status": "unreadable answer",
    "an error in a stream": "unreadable answer", "no answer": "connection", "an answer cut off": "connection",
    "a stream cut off": "unreadable answer", "not JSON": "unreadable answer", "a page": "unreadable answer",
    "JSON that is no object": "unreadable answer", "an empty body": "unreadable answer",
}  # fmt: skip


@pytest.mark.parametrize("name", list(odd_replies()))
def test_what_the_service_does_wrong_is_told_from_what_the_agent_does(name):
    episode = played(first(odd_replies()[name]))
    if name in OUTSIDE:
        assert episode.outcome == "failed outside"
        assert episode.failure["kind"] == OUTSIDE[name]
        assert 0 < len(episode.failure["message"]) <= 500
    else:
        assert episode.outcome == "answered"
        assert not episode.failure


@pytest.mark.parametrize("text", ["2024-99-99", "0x_", "2024-02-30", '{"place": ' + "9" * 5000 + "}"])
def test_arguments_at_which_a_client_library_breaks_are_the_agents(text):
    episode = played(first(calls(("move_to", text))))
    assert (episode.outcome, len(episode.calls)) == ("answered", 1)
    assert [harm["kind"] for harm in episode.scores["harms"]] == ["malformed"]
    assert episode.calls[0].arguments == text


def test_a_name_that_services_refuse_to_take_back_does_not_excuse_the_agent():
    def strict(request: Request) -> Reply:
        names = [
            call["function"]["name"] for message in request.body["messages"] for call in message.get("tool_calls") or []
        ]
        if any(not name.replace("_", "").replace("-", "").isalnum() and name != "_" for name in names):
            return status(400, message="invalid name")
        odd = ("multi_tool_use.parallel", "a b", "")
        return calls((odd[request.number], {})) if request.number < len(odd) else says("Done.")

    episode = played(strict)
    assert episode.outcome == "answered"
    assert [call.tool for call in episode.calls] == ["multi_tool_use.parallel", "a b", ""]
    assert [harm["kind"] for harm in episode.scores["harms"]] == ["unknown_tool"] * 3


def test_a_full_context_ends_an_episode_that_counts():
    full = status(400, message="This model's maximum context length is 8192 tokens.", code="context_length_exceeded")
    episode = played(lambda request: calls(("rover_status", {})) if request.number == 0 else full)
    assert (episode.outcome, episode.answer, len(episode.calls)) == ("context limit", None, 1)


def test_the_services_own_words_are_kept():
    episode = played(first(status(400, message="the tools are not to our taste")))
    assert "the tools are not to our taste" in episode.failure["message"]


def test_what_only_looks_like_a_call_is_none():
    from corepath.runs.sent_calls import calls_in_response

    tools = [
        {"type": "function", "name": "f", "parameters": {"properties": {"function": {"name": "x", "arguments": 1}}}}
    ]
    message = {
        "content": "hm",
        "annotations": [{"type": "tool_use", "name": "g", "input": {}}],
        "function": {"name": "h"},
    }
    assert list(calls_in_response({"tools": tools, "choices": [{"message": message}]})) == []
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"tool_calls": []}'}}
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"tool_calls": []}'}
    shapes: list[Any] = [
        {"choices": [{"message": {"tool_calls": [call]}}]},
        {"output": [item], "tools": tools},
        {"content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
        {"candidates": [{"content": {"parts": [{"function_call": {"id": None, "name": "f", "args": {"a": 1}}}]}}]},
        {"output": {"message": {"content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}}]}}},
    ]
    assert [[sent.name for sent in calls_in_response(shape)] for shape in shapes] == [["f"]] * 5


def test_a_failure_in_the_middle_keeps_the_calls_before_it():
    episode = played(lambda request: calls(("rover_status", {})) if request.number < 2 else status(500))
    assert (episode.outcome, len(episode.calls), episode.extra["turns"]) == ("failed outside", 2, 3)


def test_a_service_that_hangs_is_given_up():
    episode = played(lambda _: hangs(PATIENCE), timeout=1)
    assert episode.failure["kind"] == "timeout", "it did not wait until the server hung up"


def test_a_request_that_fails_once_is_tried_again():
    episode = played(lambda request: status(500) if request.attempt == 1 else says("Done."), max_retries=1)
    assert (episode.outcome, episode.answer) == ("answered", "Done.")


def test_ten_megabytes_are_kept_in_full():
    episode = played(first(odd_replies()["ten million characters"]))
    assert len(episode.answer) == 10_000_000


def test_a_model_that_never_ends_is_stopped_at_the_step_limit():
    limit = package.task("farm/threshold").step_limit
    episode = played(lambda _: calls(("rover_status", {})), "farm/threshold")
    assert (episode.outcome, len(episode.calls)) == ("step limit", limit)
    episode = played(lambda _: calls(*[("rover_status", {})] * 100), "farm/threshold")
    assert (episode.outcome, len(episode.calls)) == ("step limit", limit)


# Runs


def rows(folder: Path) -> list[dict[str, Any]]:
    """The model's episodes, without those of the floor."""
    found = [json.loads(line) for line in (folder / EPISODES).read_text().splitlines()]
    return [row for row in found if row["agent"] == "m"]


def test_a_run_with_many_at_once_has_every_episode_once(corepath, tmp_path):
    with BadServer(echo_oracle(plans("farm", "legal"))) as server:
        options = ("--world", "farm", "--world", "legal", "--epochs", 2, "--max-connections", 8)
        done = corepath("run", "--model", "m", "--base-url", server.url, *options, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "run")
    keys = {(row["agent"], row["task"], row["epoch"]) for row in found}
    assert len(found) == len(keys) == 44
    assert all(row["scores"]["accepted"] for row in found)
    assert "m by world" in done.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["models"], manifest["options"]["max_connections"]) == (["m"], 8)
    assert manifest["inspect_ai"]


def test_a_bad_service_crashes_no_run_and_every_attempt_is_recorded(corepath, tmp_path):
    """Each odd reply gets its own episode, chosen by the prompt."""
    odd = [*odd_replies().items(), *odd_calls("rover_status", "x", 1).items()]
    prompts: list[str] = []

    def script(request: Request) -> Reply:
        if request.number:
            return says("Done.")
        if request.user not in prompts:
            prompts.append(request.user)
        return odd[prompts.index(request.user) % len(odd)][1]

    with BadServer(script) as server:
        options = ("--max-retries", 0, "--limit", 5, "--max-connections", 4, "--wide")
        done = corepath("run", "--model", "m", "--base-url", server.url, *options, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = rows(tmp_path / "run")
    assert len(found) == len({row["task"] for row in found}) == 75
    outside = [row for row in found if row["ended"] == "failed outside"]
    assert len(outside) >= len(OUTSIDE) - 1
    assert all(row["failure"]["kind"] for row in outside)
    _title, _, head, *others = done.stdout.splitlines()
    assert [row.split()[0] for row in others[:3]] == ["do_nothing", "reads_only", "m"]
    row = others[2]
    assert row.split()[head.split().index("outside")] == str(len(outside))
    assert f"{len(outside)} failed outside" in done.stderr


def test_what_failed_outside_is_tried_again_when_asked(corepath, tmp_path):
    broken = True

    def script(request: Request) -> Reply:
        return status(500) if broken and "sensor" in request.user else says("Done.")

    with BadServer(script) as server:
        options = ("--model", "m", "--base-url", server.url, "--max-retries", 0, "--world", "farm")
        assert corepath("run", *options, "--out", tmp_path / "run").returncode == 0
        failed = [row["task"] for row in rows(tmp_path / "run") if row["ended"] == "failed outside"]
        assert 0 < len(failed) < 11
        broken = False
        assert corepath("run", "--resume", tmp_path / "run").returncode == 0
        assert [row["task"] for row in rows(tmp_path / "run") if row["ended"] == "failed outside"] == failed
        assert corepath("run", "--resume", tmp_path / "run", "--retry").returncode == 0
    found = rows(tmp_path / "run")
    assert len(found) == len({row["task"] for row in found}) == 11
    assert not [row for row in found if row["ended"] == "failed outside"]
    aside = (tmp_path / "run" / "set-aside.jsonl").read_text().splitlines()
    assert [json.loads(line)["task"] for line in aside] == failed


def test_a_key_that_is_wrong_ends_the_run_at_once_and_says_how_to_go_on(corepath, tmp_path):
    with BadServer(lambda _: status(401)) as server:
        options = ("--model", "m", "--base-url", server.url, "--max-connections", 1, "--world", "farm")
        done = corepath("run", *options, "--out", tmp_path / "run")
        assert len(server.requests) == 1
    assert done.returncode == 1
    assert f"m was not reached at {server.url}: not allowed: AuthenticationError" in done.stderr
    assert "(1 episode failed; the other 10 were not tried)" in done.stderr
    assert f"corepath run --resume {tmp_path / 'run'} --retry" in done.stderr
    assert len(rows(tmp_path / "run")) == 1


@pytest.fixture
def closed_port() -> Iterator[str]:
    """The address of a reserved port on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


def headline(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of the progress; a slow run prints others before it."""
    return [line for line in done.stderr.splitlines() if re.match(r"\d+ of \d+ episodes", line)][-1]


def test_a_server_that_is_not_there_fails_the_run_at_once_and_the_floor_is_not_its_headline(
    corepath, tmp_path, closed_port
):
    options = ("--model", "m", "--base-url", closed_port, "--max-connections", 1, "--world", "farm", "--world", "arm")
    done = corepath("run", *options, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert headline(done) == "3 of 22 episodes; 3 failed outside"
    assert f"corepath: m was not reached at {closed_port}: connection: APIConnectionError" in done.stderr
    assert "Connect call failed" in done.stderr
    assert "(3 episodes failed; the other 19 were not tried)" in done.stderr
    assert f"corepath run --resume {tmp_path / 'run'} --retry" in done.stderr
    assert "m by world" not in done.stdout
    with BadServer(lambda _: says("Done.")) as server:
        manifest = tmp_path / "run" / "manifest.json"
        manifest.write_text(manifest.read_text().replace(closed_port, server.url))
        again = corepath("run", "--resume", tmp_path / "run", "--retry")
    assert (again.returncode, headline(again).partition(";")[0]) == (0, "22 of 22 episodes")


def test_each_model_that_is_not_reached_is_told_and_does_not_stop_the_others(corepath, tmp_path):
    """One model is unknown, one always fails, one works."""

    def script(request: Request) -> Reply:
        if request.body["model"] == "unknown":
            return status(404, message="there is no model of that name")
        return status(500, message="out of order") if request.body["model"] == "broken" else says("Done.")

    with BadServer(script) as server:
        models = [option for name in ("unknown", "broken", "well") for option in ("--model", name)]
        options = ("--base-url", server.url, "--max-connections", 1, "--max-retries", 0, "--world", "farm")
        done = corepath("run", *models, *options, "--out", tmp_path / "run")
    assert done.returncode == 1
    unknown, broken = (line for line in done.stderr.splitlines() if "was not reached" in line)
    assert "unknown was not reached" in unknown
    assert "not allowed: NotFoundError" in unknown
    assert "there is no model of that name" in unknown
    assert "(1 episode failed; the other 10 were not tried)" in unknown
    assert "broken was not reached" in broken
    assert "server error: InternalServerError" in broken
    assert "(3 episodes failed; the other 8 were not tried)" in broken
    assert headline(done).startswith("15 of 33 episodes; mean PC ")
    assert "Scores of well by world" in done.stdout


def test_a_server_that_dies_midway_leaves_what_it_answered_and_the_rest_is_counted(corepath, tmp_path):
    answered = 0

    def script(_: Request) -> Reply:
        nonlocal answered
        answered += 1
        return says("Done.") if answered <= 4 else odd_replies()["no answer"]

    with BadServer(script) as server:
        options = ("--model", "m", "--base-url", server.url, "--max-connections", 1, "--max-retries", 0)
        done = corepath("run", *options, "--world", "farm", "--out", tmp_path / "run")
    assert done.returncode == 0
    assert "7 of 11 episodes of m failed outside it, the first by connection: APIConnectionError" in done.stderr
    assert f"corepath run --resume {tmp_path / 'run'} --retry" in done.stderr
    assert headline(done).startswith("11 of 11 episodes; mean PC 0.000")
    assert len(rows(tmp_path / "run")) == 11


def test_the_floor_that_was_asked_for_by_name_is_in_the_headline(corepath, tmp_path):
    with BadServer(lambda _: says("Done.")) as server:
        options = ("--model", "m", "--base-url", server.url, "--agent", "reads_only", "--world", "farm")
        done = corepath("run", *options, "--out", tmp_path / "run")
    assert (done.returncode, headline(done).partition(";")[0]) == (0, "22 of 22 episodes")


def test_a_run_of_a_model_killed_goes_on_where_it_was(corepath, tmp_path):
    folder = tmp_path / "run"
    with BadServer(echo_oracle(plans("farm"), wait=0.02)) as server:
        options = ["--model", "m", "--base-url", server.url, "--world", "farm", "--epochs", "2"]
        command = [str(COMMAND), "run", *options, "--out", str(folder)]
        for _ in range(2):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            before = (folder / EPISODES).stat().st_size if (folder / EPISODES).exists() else 0
            while process.poll() is None:
                if (folder / EPISODES).exists() and (folder / EPISODES).stat().st_size > before:
                    break
                time.sleep(0.01)
            process.kill()
            process.wait()
            command = [str(COMMAND), "run", "--resume", str(folder)]
        done = corepath("run", "--resume", folder)
    assert done.returncode == 0, done.stderr
    found = rows(folder)
    assert len(found) == len({(row["task"], row["epoch"]) for row in found}) == 22
    assert all(row["scores"]["accepted"] for row in found)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt-4o", "'gpt-4o' is not a model: write it as PROVIDER/NAME"),
        (
            "openai/gpt-4o",
            "model 'openai/gpt-4o' cannot be used: Unable to initialise OpenAI client; No OPENAI_API_KEY",
        ),
        ("local:none.gguf", "no such file: none.gguf; --model local:FILE takes a model in the GGUF format"),
    ],
)
def test_a_model_that_cannot_be_had_is_told_before_anything_is_run(corepath, tmp_path, model, message):
    without = {name: "" for name in os.environ if "API_KEY" in name}
    done = corepath("run", "--model", model, cwd=tmp_path, env=without)
    assert (done.returncode, message in done.stderr) == (3, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("opnai/gpt-4o", "corepath: no provider 'opnai'; did you mean 'openai'?"),
        ("Anthropic/claude", "corepath: no provider 'Anthropic'; did you mean 'anthropic'?"),
        ("nobody/x", "corepath: no provider 'nobody'; there is anthropic, azureai, bedrock"),
    ],
)
def test_a_misspelt_provider_gets_a_suggestion(corepath, tmp_path, model, message):
    done = corepath("run", "--model", model, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []
