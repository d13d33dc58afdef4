"""Memory needed to import very large files with interleaved spans or observations of many traces, and speed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import parquet
from typer.testing import CliRunner

from benchmarks.claims import Claim, seconds
from corepath.cli import make_app
from corepath.importers.registry import find_format

AT_ONCE = 40
TURNS = 6
MOST = 300
SIZE = 20 * 10**6

_TIMES = ("start_time", "end_time", "updated_at")

_IMPORT = """
import re, sys, time
from corepath import Episode
from corepath.importers import import_trace

begin = time.process_time()
episodes = calls = answered = problems = 0
for one in import_trace(sys.argv[1]):
    if isinstance(one, Episode):
        episodes += 1
        calls += len(one.calls)
        answered += sum(call.result == {"noted": number} for number, call in enumerate(one.calls))
    else:
        problems += 1
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])  # of this process alone
print(episodes, calls, answered, problems, peak // 1024, round(time.process_time() - begin))
"""


def large_files() -> Iterator[Claim]:
    """Memory needed to import 1 GB of OpenTelemetry spans, as lines and as one object."""
    for kind in ("lines", "one object"):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "spans.json"
            traces = write_spans(file, 10**9, as_lines=kind == "lines")
            made = import_in_a_process(file)
        right = made[:4] == (traces, traces * (TURNS - 1), traces * (TURNS - 1), 0)
        shown = f"{made[4]} MB, {made[5]} s, {traces:,} episodes"
        yield Claim(f"1 GB of spans in {kind}: all read, in under {MOST} MB", shown, right and made[4] < MOST)


def exported_observations() -> Iterator[Claim]:
    """Memory needed to import observations of Langfuse: 1 GB of JSON lines, and a million of them as Parquet."""
    with TemporaryDirectory() as folder:
        for name, limit in (("observations.jsonl", {"size": 10**9}), ("observations.parquet", {"count": 10**6})):
            file = Path(folder) / name
            written = write_observations(file, **limit)
            made = import_in_a_process(file)
            right = made[:4] == (written.traces, written.traces * (TURNS - 1), written.traces * (TURNS - 1), 0)
            shown = f"{made[4]} MB, {made[5]} s, {written.traces:,} episodes, {file.stat().st_size / 10**9:.1f} GB file"
            what = f"{written.rows:,} observations as {'Parquet' if name.endswith('parquet') else 'JSON lines'}"
            yield Claim(f"{what}: all read, in under {MOST} MB", shown, right and made[4] < MOST)
            file.unlink()


def speed_of_conversations() -> Iterator[Claim]:
    """CPU time of `corepath import` on 20 MB of OpenAI conversations, against `orjson.loads` of the same lines.

    What a file with one conversation takes is subtracted.
    """
    with TemporaryDirectory() as folder:
        for kind, make in (("conversations", _conversation), ("exchanges", _exchange)):
            file = Path(folder) / f"{kind}.jsonl"
            _write_lines(file, make, SIZE)
            _write_lines(one := Path(folder) / f"{kind}-one.jsonl", make, 1)
            floor, read, start, named, auto = _interleave(
                partial(_parse_each, file.read_bytes().splitlines()),
                partial(_read, file),
                partial(_import, one, "openai"),
                partial(_import, file, "openai"),
                partial(_import, file, "auto"),
            )
            named, auto = named - start, auto - start
            shown = f"{named / floor:.1f} times, {read / floor:.1f} without writing; {SIZE / named / 10**6:.0f} MB/s"
            yield Claim(f"OpenAI {kind}: at most 15 times orjson", shown, named <= 15 * floor)
            yield Claim(f"OpenAI {kind}: auto at most 1.5 times", f"{auto / named:.2f} times", auto <= 1.5 * named)
        file = Path(folder) / "one.json"
        file.write_text(json.dumps([_conversation(number) for number in range(2_000)], indent=1), encoding="ascii")
        named, auto = _interleave(partial(_import, file, "openai"), partial(_import, file, "auto"))
        yield Claim("one large JSON document: auto at most 1.5 times", f"{auto / named:.2f} times", auto <= 1.5 * named)


def _read(file: Path) -> None:
    for _ in find_format("openai").read(file):
        pass


def _import(file: Path, name: str) -> None:
    arguments = ["import", str(file), "--from", name, "--task", "bench", "--out", f"{file}.episodes"]
    done = CliRunner().invoke(make_app(), arguments)
    assert done.exit_code == 0, done.output


def _parse_each(lines: list[bytes]) -> None:
    """Parse the lines and keep none of them, as an importer does."""
    for line in lines:
        orjson.loads(line)


def _interleave(*works: Callable[[], object]) -> list[float]:
    """Return the CPU time of the fastest of a few runs of each work. The runs take turns, after one that warms up."""
    times = [[seconds(work, repeat=1) for work in works] for _ in range(4)]
    return [min(some) for some in zip(*times[1:], strict=True)]


def _write_lines(file: Path, make: Callable[[int], dict[str, Any]], size: int) -> None:
    with file.open("w", encoding="ascii") as to:
        number = written = 0
        while written < size:
            written += to.write(json.dumps(make(number)) + "\n")
            number += 1


def _conversation(number: int) -> dict[str, Any]:
    """A conversation of the agent in `_trace`, in the form of OpenAI's chat completions."""
    words = _words(number)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Take notes."}, {"role": "user", "content": words}]
    for turn in range(TURNS - 1):
        function = {"name": "note", "arguments": json.dumps({"text": words[:turn]})}
        calls = [{"id": f"call_{turn}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        result = json.dumps({"noted": turn, "text": words[:900]})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": result})
    messages.append({"role": "assistant", "content": "Done."})
    return {"model": "bench", "metadata": {"number": number}, "messages": messages}


def _exchange(number: int) -> dict[str, Any]:
    """The last request and response of such a conversation."""
    *sent, answer = _conversation(number)["messages"]
    usage = {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930}
    response = {
        "model": "bench",
        "created": 1_767_268_800,
        "choices": [{"index": 0, "message": answer}],
        "usage": usage,
    }
    return {"request": {"model": "bench", "messages": sent}, "response": response}


def _words(number: int) -> str:
    chance = random.Random(number)
    return " ".join(f"{chance.getrandbits(40):x}" for _ in range(160))


def import_in_a_process(file: Path) -> tuple[int, ...]:
    """Import a file in a new process.

    Returns the numbers of episodes, calls, calls with the right result and problems, the peak memory in MB, and the
    CPU time in seconds.
    """
    done = subprocess.run([sys.executable, "-c", _IMPORT, str(file)], capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def write_spans(file: Path, size: int, *, as_lines: bool = True) -> int:
    """Write at least `size` bytes of spans, with 40 traces interleaved at a time; return the number of traces."""
    chance = random.Random(7)
    words = " ".join(f"{chance.getrandbits(40):x}" for _ in range(160))
    running: list[Iterator[dict[str, Any]]] = []
    traces = written = 0
    with file.open("w", encoding="ascii") as to:
        to.write("" if as_lines else '{"resourceSpans": [')
        while written < size or running:
            while written < size and len(running) < AT_ONCE:
                running.append(_trace(traces, words))
                traces += 1
            spans = [span for span in (_next(running, chance) for _ in range(20)) if span is not None]
            one = {"resource": {"attributes": [_attribute("service.name", "bench")]}, "scopeSpans": [{"spans": spans}]}
            comma = "" if as_lines or not written else ", "
            written += to.write(comma + json.dumps({"resourceSpans": [one]} if as_lines else one) + "\n" * as_lines)
        to.write("" if as_lines else "]}")
    return traces


@dataclass
class Written:
    """How many traces, rows and bytes were written so far."""

    traces: int = 0
    rows: int = 0
    size: int = 0


def write_observations(file: Path, *, size: int | None = None, count: int | None = None) -> Written:
    """Write at least `size` bytes of JSON lines, or about `count` rows of Parquet, as Langfuse exports observations."""
    written = Written()
    rows = _observations(written, lambda: written.size < size if size is not None else written.rows < (count or 0))
    if size is None:
        _write_parquet(file, rows)
        return written
    with file.open("w", encoding="ascii") as to:
        for row in rows:
            written.size += to.write(json.dumps(row) + "\n")
    return written


def _observations(written: Written, is_open: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield the observations of many traces, with 40 traces interleaved at a time. No trace begins after the end."""
    chance = random.Random(7)
    running: list[Iterator[dict[str, Any]]] = []
    while is_open() or running:
        while is_open() and len(running) < AT_ONCE:
            words = " ".join(f"{chance.getrandbits(40):x}" for _ in range(160))
            running.append(_observed_trace(written.traces, words))
            written.traces += 1
        row = _next(running, chance)
        if row is not None:
            written.rows += 1
            yield row


def _write_parquet(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Write rows with the column types that Langfuse exports, in row groups of 50,000 rows."""
    texts = (
        "id",
        "trace_id",
        "type",
        "name",
        "parent_observation_id",
        "level",
        "provided_model_name",
        "input",
        "output",
    )
    schema = pa.schema(
        [(name, pa.string()) for name in texts]
        + [(name, pa.timestamp("us", "UTC")) for name in ("start_time", "end_time", "updated_at")]
        + [("usage_details", pa.map_(pa.string(), pa.uint64()))]
    )
    with parquet.ParquetWriter(file, schema, compression="zstd") as to:
        while group := list(islice(rows, 50_000)):
            times = {name: [datetime.fromisoformat(row[name]) for row in group] for name in _TIMES}
            columns = {name: [row[name] for row in group] for name in texts}
            usage = {"usage_details": [list(row["usage_details"].items()) for row in group]}
            to.write_table(pa.table({**columns, **times, **usage}, schema=schema), row_group_size=50_000)


def _observed_trace(number: int, words: str) -> Iterator[dict[str, Any]]:
    """Observations of the agent in `_trace`, whose chat spans are generations."""
    for place, span in enumerate(_trace(number, words)):
        given = {one["key"]: one["value"]["stringValue"] for one in span["attributes"]}
        is_chat = span["name"] == "chat"
        said = json.loads(given["gen_ai.output.messages"])[0] if is_chat else None
        names = ("gen_ai.input.messages", "gen_ai.output.messages") if is_chat else ("", "gen_ai.tool.call.result")
        time = f"2026-08-01 10:{number // 60 % 60:02}:{number % 60:02}.{place:06}"
        yield {
            "id": span["traceId"][16:] + span["spanId"], "trace_id": span["traceId"],
            "type": "GENERATION" if is_chat else "TOOL", "name": "chat" if is_chat else given["gen_ai.tool.name"],
            "parent_observation_id": "", "level": "DEFAULT", "provided_model_name": "bench" if is_chat else "",
            "input": given.get(names[0], ""), "output": json.dumps(said) if is_chat else given[names[1]],
            "start_time": time, "end_time": time, "updated_at": time,
            "usage_details": {"input": 900, "output": 30, "total": 930} if is_chat else {},
        }  # fmt: skip


def _next(running: list[Iterator[dict[str, Any]]], chance: random.Random) -> dict[str, Any] | None:
    if not running:
        return None
    number = chance.randrange(len(running))
    span = next(running[number], None)
    if span is None:
        del running[number]
    return span


def _trace(number: int, words: str) -> Iterator[dict[str, Any]]:
    """Spans of an agent that takes a note in each turn except the last; every chat span repeats the history."""
    trace = f"{number:032x}"
    history: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": words}]}]
    for turn in range(TURNS):
        call = {"type": "tool_call", "id": f"call_{turn}", "name": "note", "arguments": {"text": words[:turn]}}
        last = turn == TURNS - 1
        said = {"role": "assistant", "parts": [{"type": "text", "content": "Done."} if last else call]}
        yield _span(
            trace, 2 * turn, "chat",
            ("gen_ai.request.model", "bench"),
            ("gen_ai.input.messages", json.dumps(history)), ("gen_ai.output.messages", json.dumps([said])),
        )  # fmt: skip
        if last:
            return
        result = json.dumps({"noted": turn})
        yield _span(
            trace, 2 * turn + 1, "execute_tool",
            ("gen_ai.tool.name", "note"), ("gen_ai.tool.call.id", f"call_{turn}"), ("gen_ai.tool.call.result", result),
        )  # fmt: skip
        answer = {"type": "tool_call_response", "id": f"call_{turn}", "response": result + words[:900]}
        history += [said, {"role": "tool", "parts": [answer]}]


def _span(trace: str, number: int, operation: str, *attributes: tuple[str, str]) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": f"{number + 1:016x}",
        "name": operation,
        "startTimeUnixNano": str(10**18 + number),
        "attributes": [_attribute("gen_ai.operation.name", operation), *(_attribute(*one) for one in attributes)],
        "status": {},
    }


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}
