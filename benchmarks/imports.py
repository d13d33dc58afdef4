"""Memory needed to import very large files with interleaved spans of many traces."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.claims import Claim

AT_ONCE = 40
TURNS = 6
MOST = 300

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
