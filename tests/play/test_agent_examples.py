"""The example agents, each run with the vendor's own SDK against a fake server of the provider.

Each plays three tasks in one process: a golden path, a turn with an unknown tool and bad arguments, and a model that
never stops.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import corepath as package
from corepath.files.episodes import load_episodes
from corepath.play.built_in import oracle
from tests.conftest import PATIENCE
from tests.runs.bad_server import BadServer, Reply, Request, calls, says, status
from tests.runs.fake_anthropic import FakeAnthropic

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
GOLDEN, ODD, ENDLESS = TASKS = ("legal/settle_case", "farm/threshold", "legal/approve_if_adheres")
PROMPTS = {package.task(name).prompt: name for name in TASKS}
PATH = [(call.tool, call.arguments) for call in package.play(oracle, package.task(GOLDEN)).calls]
# The developer's own settings, kept from the examples.
SETTINGS = ("OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_", "LOGFIRE_")
CUT_SHORT = '{"plant": '


def plan(prompt: str, turn: int, *, bad: Any) -> Sequence[tuple[str, Any]]:
    """The calls that the fake model makes in a turn."""
    turns: dict[str, list[list[tuple[str, Any]]]] = {
        GOLDEN: [[one] for one in PATH],
        ODD: [[("read_sensor", bad), ("teleport", {"to": "B"})], [("read_sensor", {"plant": "B"})]],
        ENDLESS: [[("read_everything", {})]] * 1000,
    }
    mine = turns[PROMPTS[prompt]]
    return mine[turn] if turn < len(mine) else []


def chat(request: Request) -> Reply:
    """Answer like OpenAI's chat completions, with an error for a malformed request."""
    if wrong := why_refused(request.body):
        return status(400, wrong)
    made = plan(request.user, request.number, bad=CUT_SHORT)
    return calls(*made, text="I act.") if made else says("Done.")


def why_refused(body: Mapping[str, Any]) -> str:
    """The error that OpenAI's server would return for a request; empty if the request is fine."""
    for tool in body["tools"]:
        if tool["type"] != "function" or tool["function"]["parameters"]["type"] != "object":
            return f"{tool} is not a tool"
        Draft202012Validator.check_schema(tool["function"]["parameters"])
    waiting: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"these tool_call_ids did not have response messages: {waiting}"
        waiting |= {call["id"] for call in message.get("tool_calls") or []}
    return f"these tool_call_ids did not have response messages: {waiting}" if waiting else ""


@dataclass(frozen=True)
class Played:
    """The episodes that an example recorded, and the requests that it sent."""

    example: str
    episodes: Mapping[str, package.Episode]
    requests: Sequence[Mapping[str, Any]]


def run_example(name: str, folder: Path, **env: str) -> Mapping[str, package.Episode]:
    own = {key: value for key, value in os.environ.items() if not key.startswith(SETTINGS)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", "a-model", *TASKS],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**own, "NO_PROXY": "*", **env},
    )
    assert done.returncode == 0, done.stderr
    file = folder / "episodes.jsonl"
    file.write_text(done.stdout)
    return {episode.task: episode for episode in load_episodes(file)}


@pytest.fixture(scope="module", params=["openai_sdk", "anthropic_sdk", "langgraph_agent", "pydantic_ai_agent"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "anthropic_sdk":
        with FakeAnthropic(lambda prompt, turn: plan(prompt, turn, bad={"plnt": "B"})) as fake:
            found = run_example(request.param, folder, ANTHROPIC_BASE_URL=fake.url, ANTHROPIC_API_KEY="none")
            yield Played(request.param, found, fake.requests)
    else:
        with BadServer(chat) as server:
            found = run_example(request.param, folder, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
            yield Played(request.param, found, server.requests)


def test_a_golden_path_is_recorded_and_scored_as_one(played: Played) -> None:
    episode = played.episodes[GOLDEN]
    assert [(call.tool, call.arguments) for call in episode.calls] == PATH
    assert [call.turn for call in episode.calls] == list(range(1, len(PATH) + 1))
    assert (episode.agent, episode.answer, episode.outcome) == ("a-model", "Done.", "answered")
    assert {message.content for message in episode.messages} == {"I act."}
    package.assert_path(GOLDEN, episode, state_match=True)


def test_the_model_reads_the_results_of_its_calls(played: Played) -> None:
    """The last request of the conversation has every result of the golden path, in order."""
    prompt = package.task(GOLDEN).prompt
    last = [body for body in played.requests if prompt in json.dumps(body, ensure_ascii=False)][-1]
    contents: list[str] = []
    for message in last["messages"]:
        if message["role"] == "tool":
            contents.append(message["content"])
        elif message["role"] == "user" and isinstance(message["content"], list):
            contents += [block["content"] for block in message["content"] if block["type"] == "tool_result"]
    results = [call.result for call in played.episodes[GOLDEN].calls]
    assert contents == [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in results]


def test_calls_with_an_unknown_tool_or_bad_arguments_are_recorded(played: Played) -> None:
    episode = played.episodes[ODD]
    bad: Any = {"plnt": "B"} if played.example == "anthropic_sdk" else CUT_SHORT
    sent = [(call.tool, call.arguments, call.failed, call.turn) for call in episode.calls]
    first = [("read_sensor", bad, True, 1), ("teleport", {"to": "B"}, True, 1)]
    if played.example == "langgraph_agent":
        first.reverse()  # LangChain puts calls that it cannot parse after the others
    assert sent == [*first, ("read_sensor", {"plant": "B"}, False, 2)]
    kinds = {harm["kind"] for harm in episode.scores["harms"]}
    assert "unknown_tool" in kinds


def test_the_step_limit_stops_a_model_that_never_stops(played: Played) -> None:
    episode = played.episodes[ENDLESS]
    assert (len(episode.calls), episode.outcome) == (package.task(ENDLESS).step_limit, "step limit")
