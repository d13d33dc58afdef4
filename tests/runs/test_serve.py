"""`corepath serve`: real MCP clients of fastmcp and the official SDK play a task over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from corepath import Call, Episode, InputError, load_episodes, score
from corepath import task as world_task
from corepath.cli import main
from corepath.files.episodes import episode_json
from corepath.files.lookup import Source
from corepath.importers import import_trace
from corepath.play.golden_run import golden_runs
from corepath.play.session import Session
from corepath.runs import served_task
from corepath.runs.folder import RunFolder
from corepath.runs.served_task import ServedTask, open_folder
from corepath.world.world import World
from tests.conftest import INTERRUPTIBLE, PATIENCE, Run
from tests.importers import mcp_tee

COMMAND = str(Path(sys.executable).with_name("corepath"))
TASK = "farm/dry_plants"
task = world_task(TASK)
source = Source("farm", TASK)
assert isinstance(task.simulator, World)
GOLDEN = golden_runs(task, task.simulator, 1)[0].calls
WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fly_to", {"place": "B"}),
    ("move_to", {}),
    ("move_to", {"place": 5}),
    ("scan", {"plant": "A", "twice": True}),
)
SHORT = """\
version: 1
id: farm/short
world: farm
most_calls: 3
prompt: Move to plant B, then back to the base.
procedure: 'unlock_safety() >> move_to(place="B") >> move_to(place="base") >> lock_safety()'
"""


# Clients


class Answer(NamedTuple):
    failed: bool
    text: str
    structured: Any


class Player(NamedTuple):
    """A client of either library."""

    schemas: Callable[[], Awaitable[list[dict[str, Any]]]]
    prompt: Callable[[], Awaitable[str]]
    call: Callable[[str, dict[str, Any]], Awaitable[Answer]]
    instructions: str | None


def stated(tools: Any) -> list[dict[str, Any]]:
    return [{"name": one.name, "description": one.description, "parameters": one.input_schema} for one in tools]


def answer(result: Any) -> Answer:
    return Answer(bool(result.is_error), result.content[0].text, result.structured_content)


@asynccontextmanager
async def by_fastmcp(target: str | list[str], log: Path | None, mode: str) -> AsyncIterator[Player]:
    import fastmcp  # slow to import
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
    from mcp_types import Implementation

    transport: Any = StreamableHttpTransport(target) if isinstance(target, str) else None
    if not isinstance(target, str):
        transport = StdioTransport(target[0], target[1:], env=dict(os.environ), keep_alive=False, log_file=log)
    who = Implementation(name="ada", version="1")
    async with fastmcp.Client(transport, mode=mode, client_info=who, timeout=PATIENCE) as client:

        async def schemas() -> list[dict[str, Any]]:
            return stated(await client.list_tools())

        async def prompt() -> str:
            assert [one.name for one in await client.list_prompts()] == ["task"]
            (message,) = (await client.get_prompt("task")).messages
            assert message.role == "user"
            return str(message.content.text)

        async def call(tool: str, arguments: dict[str, Any]) -> Answer:
            return answer(await client.call_tool(tool, arguments, raise_on_error=False))

        told = client.initialize_result
        yield Player(schemas, prompt, call, told.instructions if told else None)


@asynccontextmanager
async def by_sdk(target: str | list[str], log: Path | None, mode: str) -> AsyncIterator[Player]:
    import mcp  # slow to import
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp_types import Implementation, TextContent

    with (log or Path(os.devnull)).open("a") as errors:
        server: Any = target
        if not isinstance(target, str):
            command = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
            server = stdio_client(command, errlog=errors)
        who = Implementation(name="ada", version="1")
        async with mcp.Client(server, mode=mode, client_info=who, read_timeout_seconds=PATIENCE) as client:

            async def schemas() -> list[dict[str, Any]]:
                return stated((await client.list_tools()).tools)

            async def prompt() -> str:
                assert [one.name for one in (await client.list_prompts()).prompts] == ["task"]
                (message,) = (await client.get_prompt("task")).messages
                assert message.role == "user"
                assert isinstance(message.content, TextContent)
                return message.content.text

            async def call(tool: str, arguments: dict[str, Any]) -> Answer:
                return answer(await client.call_tool(tool, arguments))

            yield Player(schemas, prompt, call, client.instructions)


CLIENTS = {
    "fastmcp": (by_fastmcp, "auto"),
    "fastmcp, old protocol": (by_fastmcp, "legacy"),
    "the SDK": (by_sdk, "auto"),
    "the SDK, old protocol": (by_sdk, "legacy"),
}


async def plays_all(player: Player) -> None:
    """List everything, play a golden path, and then make wrong calls."""
    assert await player.schemas() == Session(task).tools
    assert await player.prompt() == task.prompt
    assert player.instructions in (None, Session(task).system)
    for sent in GOLDEN:
        failed, text, structured = await player.call(sent.tool, dict(sent.arguments))
        assert not failed
        assert json.loads(text) == sent.result
        assert structured == (sent.result if isinstance(sent.result, dict) else None)
    said = [await player.call(*sent) for sent in WRONG]
    assert all(one.failed for one in said)
    assert [one.text for one in said] == [Session(task).call(*sent).error for sent in WRONG]


def check_played(episode: Episode) -> None:
    """Check that the episode has every call of `plays_all` as it was sent."""
    sent = [(call.tool, dict(call.arguments)) for call in GOLDEN] + list(WRONG)
    assert [(call.tool, call.arguments) for call in episode.calls] == sent
    assert [call.failed for call in episode.calls] == [False] * len(GOLDEN) + [True] * len(WRONG)
    assert episode.agent == "ada"
    assert episode.extra["client"] == {"name": "ada", "version": "1"}
    assert episode.outcome == "answered"
    assert episode.scores == json.loads(json.dumps(score(task, episode).to_dict()))
    assert episode.scores["accepted"]
    assert episode.extra["state"]["at"] == "D"


def episodes(out: Path) -> list[Episode]:
    return load_episodes(out / "episodes.jsonl")


# Over stdio


@pytest.mark.parametrize("kind", ["fastmcp", "the SDK, old protocol"])
def test_a_client_plays_a_task_over_stdio(kind: str, tmp_path: Path) -> None:
    client, mode = CLIENTS[kind]
    out, log = tmp_path / "run", tmp_path / "log"

    async def play() -> None:
        async with client([COMMAND, "serve", TASK, "--out", str(out)], log, mode) as player:
            await plays_all(player)
            assert len(load_episodes(out / "open" / "stdio-1.jsonl")) == 1 + len(GOLDEN) + len(WRONG)

    asyncio.run(play())
    (episode,) = wait_for(lambda: episodes(out))
    check_played(episode)
    assert list((out / "open").iterdir()) == []
    told = log.read_text().splitlines()
    assert told[-1].startswith("farm/dry_plants ada #0, episode stdio-1, answered: 21 calls, 3 harms, PC 0.8")
    assert told[-1].endswith(", accepted")


def lines(*messages: dict[str, Any]) -> str:
    return "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)


def first(name: str = "eve") -> tuple[dict[str, Any], ...]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "2"}}
    return {"id": 0, "method": "initialize", "params": params}, {"method": "notifications/initialized"}


def call_message(number: int, **params: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": params}


def test_calls_sent_at_once_are_all_recorded_and_the_next_client_is_the_next_epoch(
    corepath: Run, tmp_path: Path
) -> None:
    many = [call_message(n + 1, name="read_sensor", arguments={"plant": "ABCD"[n % 4]}) for n in range(40)]
    done = corepath("serve", TASK, "--out", tmp_path / "run", stdin=lines(*first(), *many))
    assert done.returncode == 0, done.stderr
    (episode,) = episodes(tmp_path / "run")
    assert [call.arguments["plant"] for call in episode.calls] == list("ABCD" * 10)
    assert all(set(json.loads(line)) >= {"jsonrpc", "id"} for line in done.stdout.splitlines())
    corepath("serve", TASK, "--out", tmp_path / "run", stdin=lines(*first()))
    assert [(one.agent, one.epoch, one.extra["episode"], len(one.calls)) for one in episodes(tmp_path / "run")] == [
        ("eve", 0, "stdio-1", 40), ("eve", 1, "stdio-2", 0),
    ]  # fmt: skip


def test_where_no_client_comes_there_is_no_episode(corepath: Run, tmp_path: Path) -> None:
    done = corepath("serve", TASK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (out,) = (tmp_path / "runs").glob("serve-*")
    assert list(RunFolder.open(out).episodes()) == []
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["kind"] == "serve"
    assert list(manifest["tasks"]) == [TASK]


def test_the_step_limit_is_an_answer_and_ends_the_episode(tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(SHORT)
    out = tmp_path / "run"

    async def play() -> list[Answer]:
        command = [COMMAND, "serve", str(tmp_path / "short.yaml"), "--out", str(out)]
        async with by_sdk(command, tmp_path / "log", "auto") as player:
            return [await player.call("rover_status", {}) for _ in range(5)]

    said = asyncio.run(play())
    assert [one.failed for one in said] == [False, False, False, True, True]
    assert said[3].text == "the step limit of 3 calls is reached; the episode is over"
    (episode,) = wait_for(lambda: episodes(out))
    assert len(episode.calls) == 3
    assert episode.outcome == "step limit"


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_log_of_the_messages_is_imported_as_what_was_played(kind: str, tmp_path: Path) -> None:
    """For every client and protocol: task, seed, agent and scores all come from the log."""
    client, mode = CLIENTS[kind]
    out, wire = tmp_path / "run", tmp_path / "wire.jsonl"
    command = [sys.executable, mcp_tee.__file__, "tee", str(wire), COMMAND, "serve", TASK, "--seed", "3"]

    async def play() -> None:
        async with client([*command, "--out", str(out)], tmp_path / "log", mode) as player:
            await player.prompt()
            for sent in (*golden, *WRONG):
                await player.call(*sent)

    variant = world_task(TASK, 3)
    assert isinstance(variant.simulator, World)
    golden = [(call.tool, dict(call.arguments)) for call in golden_runs(variant, variant.simulator, 1)[0].calls]
    asyncio.run(play())
    (played,) = wait_for(lambda: episodes(out))
    (again,) = import_trace(wire)
    assert isinstance(again, Episode)
    assert again.seed == 3
    assert same(again, played)


def same(again: Episode, played: Episode) -> bool:
    """Whether an imported episode is the one that was played."""

    def told(one: Episode) -> Any:
        calls = [(call.tool, call.arguments, call.result, call.failed) for call in one.calls]
        return one.task, one.agent, one.epoch, one.seed, one.fingerprint, one.scoring, one.extra["episode"], calls

    variant = world_task(played.task, played.seed or 0)
    return told(again) == told(played) and score(variant, again).to_dict() == score(variant, played).to_dict()


def test_calls_that_are_recorded_otherwise_than_they_were_sent_or_not_at_all_are_imported_so(tmp_path: Path) -> None:
    file, out = tmp_path / "short.yaml", tmp_path / "run"
    file.write_text(SHORT)
    odd = [call_message(1, name="move_to", arguments={"place": float("nan")}), call_message(2, name=["x"])]
    beyond = [call_message(n, name="rover_status") for n in (3, 4, 5)]
    sent = lines(*first(), *odd, *beyond)
    told = tmp_path / "told"
    with started("serve", str(file), "--out", str(out), told=told, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(sent.encode())
        process.stdin.flush()
        wait_for(lambda: told.read_text().count('"jsonrpc"') == 6)
        process.stdin.close()
        process.wait(PATIENCE)
    answers = [line for line in told.read_text().splitlines() if line.startswith("{")]
    (tmp_path / "wire.jsonl").write_text(sent + "\n".join(answers))
    (played,), (again,) = episodes(out), import_trace(tmp_path / "wire.jsonl")
    assert isinstance(again, Episode)
    assert [(call.tool, call.malformed) for call in played.calls] == [
        ("move_to", True), ('["x"]', False), ("rover_status", False)
    ]  # fmt: skip
    assert [(call.tool, call.arguments) for call in again.calls] == [
        (call.tool, call.arguments) for call in played.calls
    ]
    assert (again.task, again.fingerprint) == ("farm/short", played.fingerprint)


def test_a_signal_stores_the_episode_over_stdio(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with started("serve", TASK, "--out", str(out), told=tmp_path / "told", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(lines(*first(), call_message(1, name="rover_status")).encode())
        process.stdin.flush()
        wait_for(lambda: len(load_episodes(out / "open" / "stdio-1.jsonl")) == 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert "eve #0, episode stdio-1, stopped: 1 call, 0 harms" in (tmp_path / "told").read_text()
    (episode,) = episodes(out)
    assert (episode.outcome, [call.tool for call in episode.calls]) == ("stopped", ["rover_status"])


# Over HTTP


@contextmanager
def started(*arguments: str, told: Path, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command with its output in a file."""
    with (
        told.open("w") as file,
        subprocess.Popen(
            [*INTERRUPTIBLE, COMMAND, *arguments], stdin=stdin, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


class Served(NamedTuple):
    process: subprocess.Popen[bytes]
    address: str
    out: Path
    told: Path

    def tells(self, text: str) -> bool:
        return text in self.told.read_text()

    def episode(self, name: str) -> Episode:
        return next(one for one in episodes(self.out) if one.extra["episode"] == name)

    def journal(self, name: str) -> list[Call]:
        return [call for one in load_episodes(self.out / "open" / f"{name}.jsonl") for call in one.calls]


@contextmanager
def serving(out: Path, *options: str) -> Iterator[Served]:
    told = out.with_name("told")
    with started("serve", TASK, "--http", "--port", "0", "--out", str(out), *options, told=told) as process:
        address = wait_for(lambda: re.search(r"(http://\S+)/e/NAME/mcp\n", told.read_text()))[1]
        yield Served(process, address, out, told)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("http") / "run") as served:
        yield served


def wait_for(what: Callable[[], Any]) -> Any:
    """Wait until a function returns something true, and return that."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            if found := what():
                return found
        except (OSError, ValueError):
            pass
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def post(url: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """The status of a POST, and its JSON or text."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body or b"", sent, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            status, text = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text.decode()


def tried(served: Served, name: str, raw: str) -> dict[str, Any]:
    """The result of a call that no library would send; `raw` is the JSON of its parameters."""
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {raw}}}'
    status, said = post(f"{served.address}/e/{name}/mcp", body.encode("utf-8", "surrogatepass"))
    assert status == 200, said
    result: dict[str, Any] = said["result"]
    return result


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_plays_a_task_over_http(kind: str, server: Served) -> None:
    client, mode = CLIENTS[kind]
    name = kind.replace(" ", "_").replace(",", "")

    async def play() -> None:
        async with client(f"{server.address}/e/{name}/mcp", None, mode) as player:
            await plays_all(player)

    asyncio.run(play())
    status, told = post(f"{server.address}/e/{name}/end")
    assert status == 200
    check_played(server.episode(name))
    scores = server.episode(name).scores
    assert {key: told[key] for key in scores} == scores
    assert (told["task"], told["agent"], told["ended"]) == (TASK, "ada", "answered")
    assert server.tells(f"\nfarm/dry_plants ada #{told['epoch']}, episode {name}, answered: 21 calls, 3 harms, PC 0.8")


def test_the_episodes_of_a_server_have_keys_of_their_own(server: Served) -> None:
    for name in ("key-1", "key-2"):
        tried(server, name, '{"name": "rover_status"}')
        assert post(f"{server.address}/e/{name}/end")[0] == 200
    keys = [(one.agent, one.task, one.epoch) for one in episodes(server.out)]
    assert len(keys) == len(set(keys))


def test_two_clients_at_once_do_not_see_each_others_world(server: Served) -> None:
    async def play() -> tuple[Any, Any]:
        async with (
            by_fastmcp(f"{server.address}/e/here/mcp", None, "auto") as one,
            by_sdk(f"{server.address}/e/there/mcp", None, "auto") as other,
        ):
            assert (await other.call("rover_status", {})).structured["at"] == "base"
            for _ in range(3):
                await asyncio.gather(one.call("unlock_safety", {}), other.call("lock_safety", {}))
            await one.call("move_to", {"place": "B"})
            return (await one.call("rover_status", {})).structured, (await other.call("rover_status", {})).structured

    here, there = asyncio.run(play())
    assert (here["at"], there["at"]) == ("B", "base")
    assert [call.tool for call in server.journal("here")] == ["unlock_safety"] * 3 + ["move_to", "rover_status"]


def test_clients_of_one_name_share_a_world(server: Served) -> None:
    async def play() -> Any:
        url = f"{server.address}/e/shared/mcp"
        async with by_fastmcp(url, None, "auto") as one, by_sdk(url, None, "legacy") as other:
            await one.call("unlock_safety", {})
            await other.call("move_to", {"place": "C"})
            return (await one.call("rover_status", {})).structured

    assert asyncio.run(play())["at"] == "C"
    assert len(server.journal("shared")) == 3


def test_an_episode_that_is_over_says_so(server: Served) -> None:
    import mcp

    tried(server, "done", '{"name": "rover_status"}')
    assert post(f"{server.address}/e/done/end", b'{"answer": "All is dry."}')[0] == 200
    assert server.episode("done").answer == "All is dry."
    says = "episode 'done' is over; begin another one under another name"
    status, told = post(f"{server.address}/e/done/mcp", b"{}")
    assert (status, told["error"]["message"]) == (410, says)
    assert post(f"{server.address}/e/done/end") == (410, {"error": says})
    for client in (by_fastmcp, by_sdk):
        with pytest.raises((mcp.MCPError, ExceptionGroup)) as raised:
            asyncio.run(one_call(client, f"{server.address}/e/done/mcp"))
        assert says in "".join(traceback.format_exception(raised.value))


async def one_call(client: Any, url: str) -> None:
    async with client(url, None, "auto") as player:
        await player.call("rover_status", {})


def test_what_no_library_would_send_is_recorded_as_it_was_sent(server: Served) -> None:
    deep = "[" * 199 + "]" * 199
    sent: list[tuple[str, tuple[str, Any]]] = [
        ('{"name": "scan", "arguments": [1, 2]}', ("scan", [1, 2])),
        ('{"name": "scan", "arguments": "plant A"}', ("scan", "plant A")),
        ('{"name": "scan", "arguments": null}', ("scan", {})),
        ('{"name": 5, "arguments": {}}', ("5", {})),
        ('{"arguments": {"plant": "A"}}', ("", {"plant": "A"})),
        ("{}", ("", {})),
        ('{"name": "water_plant", "arguments": {"litres": 1e999}}', ("water_plant", '{"litres": Infinity}')),
        (f'{{"name": "scan", "arguments": {deep}}}', ("scan", f"nested deeper than 200 levels: {deep}")),
        ('{"name": "scan", "arguments": {"plant": "é\\u0000"}}', ("scan", {"plant": "é\x00"})),
    ]  # fmt: skip
    for raw, _ in sent:
        result = tried(server, "odd", raw)
        assert result["isError"], raw
        assert result["content"][0]["text"], raw
    assert [(call.tool, call.arguments) for call in server.journal("odd")] == [call for _, call in sent]
    assert post(f"{server.address}/e/odd/end")[1]["length"] == len(sent)
    assert [(call.tool, call.arguments) for call in server.episode("odd").calls] == [call for _, call in sent]


def modern(**params: Any) -> tuple[bytes, dict[str, str]]:
    """Call a tool with the protocol of 2026 and the headers that it requires."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": meta, **params}}
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": str(params.get("name"))}
    return json.dumps(body).encode(), headers


def test_half_a_surrogate_pair_and_no_number_do_no_harm(server: Served) -> None:
    """The protocol of 2026 is parsed by Python's own JSON parser, which accepts more."""
    url = f"{server.address}/e/halves/mcp"
    for arguments in ({"plant": "\ud800"}, {"\udfff": 1}, {"plant": float("nan")}, "\ud800"):
        body, headers = modern(name="scan", arguments=arguments)
        status, told = post(url, body, **headers)
        assert status == 200, told
        assert told["result"]["isError"]
    assert post(f"{server.address}/e/halves/end")[0] == 200
    assert [call.arguments for call in server.episode("halves").calls] == [
        {"plant": "\ud800"}, {"\udfff": 1}, '{"plant": NaN}', "\ud800",
    ]  # fmt: skip


def test_other_paths_and_names_are_not_found(server: Served) -> None:
    name = f"{server.address}/e"
    assert post(server.address)[0] == 404
    assert post(f"{name}/one/else")[0] == 404
    assert post(f"{name}/{'x' * 81}/mcp")[0] == 404
    status, told = post(f"{name}/a%20b/mcp")
    assert status == 404
    assert "letters, digits" in told["error"]["message"]
    assert post(f"{name}/never/end") == (404, {"error": "no episode 'never' was begun"})
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(f"{name}/one/mcp", timeout=PATIENCE)
    assert not (server.out / "open" / "one.jsonl").exists()


def test_an_end_with_another_body_is_refused(server: Served) -> None:
    tried(server, "ending", '{"name": "rover_status"}')
    for body, says in {
        b"{": "the body is not JSON",
        b'{"answer": NaN}': "the body is not JSON",
        b"[]": 'the body must be empty, or {"answer": "..."}',
        b'{"reply": 1}': 'the body must be empty, or {"answer": "..."}',
        b"\xff": "the body is not JSON",
    }.items():
        status, told = post(f"{server.address}/e/ending/end", body)
        assert status == 400
        assert told["error"].startswith(says)
    assert len(server.journal("ending")) == 1


def test_names_of_other_hosts_are_refused_and_begin_nothing(server: Served) -> None:
    body, headers = modern(name="scan", arguments={})
    for url in (f"{server.address}/e/far/mcp", f"{server.address}/e/far/end"):
        assert post(url, body, **headers, Host="evil.example:80")[0] == 421
        assert post(url, body, **headers, Origin="http://evil.example")[0] == 403
    assert not (server.out / "open" / "far.jsonl").exists()
    assert post(f"{server.address}/e/near/mcp", body, **headers, Origin="http://localhost:3000")[0] == 200


def test_a_request_that_is_too_large_is_refused(server: Served) -> None:
    host, _, port = server.address.removeprefix("http://").partition(":")
    for path in ("mcp", "end"):
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as line:
            line.sendall(
                f"POST /e/large/{path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 30000000\r\n\r\n".encode()
            )
            assert b" 413 " in line.recv(100)


def test_an_episode_without_requests_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "run", "--idle", "0.5") as served:
        tried(served, "lazy", '{"name": "rover_status"}')
        wait_for(lambda: served.tells("client #0, episode lazy, idle: 1 call"))
        assert served.episode("lazy").outcome == "idle"
        assert post(f"{served.address}/e/lazy/mcp", b"{}")[0] == 410


def test_a_signal_stores_the_open_episodes_over_http(tmp_path: Path) -> None:
    async def play(served: Served) -> None:
        async with (
            by_sdk(f"{served.address}/e/old/mcp", None, "legacy") as old,
            by_fastmcp(f"{served.address}/e/new/mcp", None, "auto") as new,
        ):
            await old.call("unlock_safety", {})
            await new.call("scan", {"plant": "A"})
            served.process.send_signal(signal.SIGTERM)  # while both are connected
            assert await asyncio.to_thread(served.process.wait, PATIENCE) == 0

    with serving(tmp_path / "run") as served:
        asyncio.run(play(served))
    assert served.told.read_text().count(", stopped: 1 call,") == 2
    assert {one.extra["episode"]: one.calls[0].tool for one in episodes(served.out)} == {
        "old": "unlock_safety", "new": "scan",
    }  # fmt: skip
    assert {one.outcome for one in episodes(served.out)} == {"stopped"}
    assert list((served.out / "open").iterdir()) == []


def test_a_killed_server_loses_no_call(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving(out, "--agent", "bob") as served:
        for sent in GOLDEN[:8]:
            tried(served, "cut.off", json.dumps({"name": sent.tool, "arguments": dict(sent.arguments)}))
        tried(served, "kept", '{"name": "rover_status"}')
        assert post(f"{served.address}/e/kept/end")[0] == 200
        served.process.send_signal(signal.SIGKILL)
        served.process.wait(PATIENCE)
    with (out / "open" / "cut.off.jsonl").open("a") as journal:
        journal.write('{"version": 1, "task": "farm/dry_plants", "calls": [{"to')  # cut short
    (out / "open" / "kept.jsonl").write_text(episode_json(Episode(TASK, (Call("scan"),))) + "\n")  # killed at the end
    (out / "open" / "empty.jsonl").write_text("")
    with serving(out) as served:
        assert served.tells("cut.off.jsonl: farm/dry_plants bob #1, episode cut.off, interrupted: 8 calls, 0 harms")
        assert post(f"{served.address}/e/cut.off/mcp", b"{}")[0] == 410
        assert post(f"{served.address}/e/kept/mcp", b"{}")[0] == 410
        assert post(f"{served.address}/e/empty/end")[0] == 404
    kept, cut = episodes(out)
    assert (kept.extra["episode"], len(kept.calls)) == ("kept", 1)
    assert cut.outcome == "interrupted"
    assert [(call.tool, call.arguments, call.result) for call in cut.calls] == [
        (call.tool, call.arguments, call.result) for call in GOLDEN[:8]
    ]
    assert all(call.extra["at"] >= 0 for call in cut.calls)
    assert cut.extra["state"]["open_valves"] == ["B"]
    assert list((out / "open").iterdir()) == []


def test_no_more_than_so_many_episodes_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_task, "MOST_OPEN", 2)
    with open_folder(tmp_path / "run", source, 0).writing() as folder:
        served = ServedTask(task, folder, lambda _: None)
        for name in ("a", "b"):
            served.visit(name, {})
        assert served.refusal("a") is None
        refused = served.refusal("c")
        assert refused is not None
        assert (refused.status, refused.message) == (503, "2 episodes are open, the most there can be; end one of them")
        served.end("a", "answered")
        assert served.refusal("c") is None


def test_an_episode_that_cannot_be_stored_stays_in_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with open_folder(tmp_path / "run", source, 0).writing() as folder:
        served = ServedTask(task, folder, told.append)
        served.visit("full", {})
        served.call("full", "rover_status", {})

        def full(*_: Episode) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(folder, "append", full)
            served.end_all("stopped")
        assert told[-1].endswith("the episode cannot be written: No space left on device; the journal is kept")
        again = ServedTask(task, folder, told.append)
        assert "interrupted: 1 call" in told[-1]
        assert again.over == {"full"}


# Wrong use


def test_a_folder_is_written_by_one_server_and_of_one_task(corepath: Run, server: Served) -> None:
    done = corepath("serve", TASK, "--out", server.out)
    assert (done.returncode, "another process is writing to this run" in done.stderr) == (1, True)
    for other, seed in ((Source("farm", "farm/threshold"), 0), (source, 3)):
        with pytest.raises(InputError, match=f"is not a run of serving '{other.id}', seed {seed}, as it is now"):
            open_folder(server.out, other, seed)


def ran(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int | str | None:
    """The exit code of the command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["corepath", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_wrong_use_says_what_would_be_right(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none.yaml").write_text("version: 1\nid: t\nprocedure: f()\n")
    (tmp_path / "two.yaml").write_text(f"{SHORT}---\n{SHORT.replace('short', 'other')}")
    (tmp_path / "short.yaml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    port = server.address.rpartition(":")[2]
    for arguments, says in (
        (["fram/dry_plants"], "no world or file 'fram/dry_plants'; did you mean 'farm'?"),
        (["farm/dry_plant"], "no task 'dry_plant' in world 'farm'; did you mean 'dry_plants'?"),
        (["none.yaml"], "task 't' of none.yaml names no world to be played in"),
        (["two.yaml"], "two.yaml has 2 tasks; give one of them"),
        (["short.yaml", "--seed", "2"], "only the tasks of worlds have variants by --seed"),
        ([TASK, "--port", "9000"], "--host, --port and --idle are for serving over HTTP; add --http"),
        ([TASK, "--http", "--port", port], f"cannot listen on 127.0.0.1, port {port}: "),
    ):
        assert ran(monkeypatch, "serve", *arguments) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_journal_that_cannot_be_read_is_put_aside(tmp_path: Path) -> None:
    told: list[str] = []
    with open_folder(tmp_path / "run", source, 0).writing() as folder:
        journals = tmp_path / "run" / "open"
        journals.mkdir()
        (journals / "bad.jsonl").write_text("no JSON\n")
        line = episode_json(Episode(TASK, (Call("rover_status", {}, "kept as it was"),), "bob")) + "\n"
        (journals / "holed.jsonl").write_text(f"{line}no JSON\n{line}")
        ServedTask(task, folder, told.append)
        assert [one.name for one in journals.iterdir()] == ["bad.unreadable"]
        assert "bad.jsonl:1:1: not JSON" in told[0]
        assert "; it is kept as " in told[0]
        assert "holed.jsonl:2:1: not JSON" in told[1]
        assert told[1].endswith("; the call in it is lost")
        assert "bob #0, episode holed, interrupted: 2 calls" in told[2]
        (episode,) = folder.episodes()
        assert [call.result for call in episode.calls] == ["kept as it was"] * 2


def test_without_the_extra_an_error_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("transport", "mcp_server"):
        monkeypatch.delitem(sys.modules, f"corepath.runs.{name}", raising=False)
        monkeypatch.delattr(sys.modules["corepath.runs"], name, raising=False)
    for name in [one for one in sys.modules if one.partition(".")[0] in ("mcp", "mcp_types")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert ran(monkeypatch, "serve", TASK) == 3
    assert "pip install 'corepath[mcp]'" in capsys.readouterr().err
