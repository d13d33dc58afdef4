"""Random tasks of every kind with random episodes, for comparing batches with `score`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from corepath import Episode, Scoring, Task, any_order, approx, choice, load_tasks, result_of, score, seq, tool, var
from corepath.batch.schema import EPISODES, SCORES
from corepath.files.lookup import Tasks
from corepath.files.task_writer import as_json
from corepath.rules.rule import Rule
from tests.machines import as_task, random_machine

SYSTEM_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""The environment of a process whose peak of memory is measured: other allocators keep what is freed for a while."""

pay, check, send, close = tool("pay"), tool("check"), tool("send"), tool("close")


def write_tasks(folder: Path, rng: random.Random) -> Path:
    """Write a task file: random automata, open patterns, variables, results, answers, cycles, forbidden calls."""
    tasks = [
        Task("plain", procedure=seq(check(id="A1"), any_order(pay(amount=5), send(to="Bob")), close()),
             reads=[tool("get_*").any()], neutral=[tool("note").any()]),
        Task("open", procedure=seq(check.where(id="A1"), choice(pay(amount=approx(5, tol=0.1)), send.any()))),
        Task("bound", procedure=seq(check(id=var("id")), pay(id=var("id"), amount=5))),
        Task("result", procedure=seq(check(id="A1").named("first"), pay(amount=result_of(check(id="A1"), "due")))),
        Task("answer", procedure=seq(check(id="A1"), close()), answer='contains("42")'),
        Task("ignore", procedure=seq(check(id="A1"), pay(amount=5)), unlisted="ignore"),
        Task("cyclic", automaton=as_task(random_machine(rng, cyclic=True), cyclic=True).automaton),
    ]  # fmt: skip
    for number in range(6):
        made = as_task(random_machine(rng), reads=rng.choice([[], ["a0"], ["r0"]]))
        tasks.append(Task(f"random/{number}", automaton=made.automaton))
    file = folder / f"{rng.random()}.json"  # tasks are loaded once
    file.write_text(as_json(*tasks))
    return file


ARGUMENTS: tuple[Any, ...] = (
    {}, {"id": "A1"}, {"id": "B2"}, {"amount": 5}, {"amount": 5.0}, {"amount": 5.05}, {"amount": "5"}, {"to": "Bob"},
    {"to": "Bob", "cc": "Eve"}, {"id": "A1", "amount": 5}, {"id": "B2", "amount": 5}, "not an object", [1], None,
    {"id": "\ud800é\u2028"}, {"deep": [[[{"a": 1e300}]]]},
)  # fmt: skip
RESULTS: tuple[Any, ...] = ("ok", {"due": 5}, {"due": 6}, [1, 2], [], None, 12345678901234567890, '{"due": 5}')


def random_record(rng: random.Random, names: list[str]) -> dict[str, Any]:
    """Return the record of an episode that may be right, wrong, odd or damaged."""
    tools = ["check", "pay", "send", "close", "get_x", "note", "a0", "a1", "a2", "a3", "r0", "zz"]
    right = [("check", {"id": "A1"}), ("pay", {"amount": 5}), ("send", {"to": "Bob"}), ("close", {})]
    chosen = [
        rng.choice(right) if rng.random() < 0.6 else (rng.choice(tools), rng.choice(ARGUMENTS))
        for _ in range(rng.randint(0, 9))
    ]
    if rng.random() < 0.4 and chosen:
        chosen.insert(rng.randrange(len(chosen)), chosen[rng.randrange(len(chosen))])
    calls = [_random_call(rng, name, arguments) for name, arguments in chosen]
    record: dict[str, Any] = {"task": rng.choice(names), "calls": calls, "agent": rng.choice(["a", "b", None])}
    extras: dict[str, Any] = {
        "epoch": rng.randint(0, 3), "answer": rng.choice(["42", "it is 42.", 7]),
        "reward": rng.choice([0.5, 1, True, "x"]),
        "ended": rng.choice(["answered", "failed outside", 5]), "usage": {"total_cost": 0.1, "input_tokens": 7},
        "seconds": 1.5, "trace": "t-1", "params": {"id": "B2"}, "unheard": [1, {"of": 2}], "no_agent_actions": True,
        "scoring": rng.choice(["paper", "recommended", {"lam": 0.25}]), "messages": [{"role": "user", "content": "hi"}],
        "fingerprint": "0" * 16, "seed": rng.choice([0, 3]), "version": rng.choice([1, 2]), "task": "no such task",
    }  # fmt: skip
    rare = ("fingerprint", "seed", "version", "task")
    chosen_extras = [name for name in extras if rng.random() < (0.01 if name in rare else 0.08)]
    return record | {name: extras[name] for name in chosen_extras}


def _random_call(rng: random.Random, name: str, arguments: Any) -> dict[str, Any]:
    call: dict[str, Any] = {"tool": name, "arguments": arguments}
    if rng.random() < 0.7:
        call["result"] = rng.choice(RESULTS)
    if rng.random() < 0.15:
        call["error"] = rng.choice(["refused", "", False, None, 0, {"code": 1}])
    if rng.random() < 0.1:
        call["odd"] = 1
    return call


BAD_LINES = (
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {}}], "calls": 0}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {}}], "\\u0063alls": 0}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {}}], "calls": [{"tool": "pay", "arguments": {}}]}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {"a": "}, {"}}], "agent": "}]"}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {"a": [{"b": 1}, {"c": 2}]}}]}',
    b'{"task": "plain", "x\\"calls": [{"tool": "check", "arguments": {}}], "calls": []}',
    b'{"task": "plain", "metadata": {"calls": [{"tool": "a", "arguments": {}}]}, "calls": []}',
    b'{"task": "plain", "agent": "\\"calls\\": [{", "calls": [{"tool": "check", "arguments": {}}, {"tool": 1}]}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {}}, {"tool": "pay", "arguments": {}}] }',
    b'{"task": "plain"}', b"not json", b"[]", b'{"task": "plain", "calls": [{"tool": 5, "arguments": {}}]}',
    b'{"task": "plain", "calls": [], "reward": NaN}',
    b'{"task": "plain", "calls": [{"tool": "x", "arguments": {"a": 1e999}}]}',
    b'{"task": "plain", "calls": [], "x": ' + b"[" * 300 + b"]" * 300 + b"}", b'{"task": "pl\xffain", "calls": []}',
    b'{"task": "plain", "calls": [{"tool": "x", "arguments": {"a": ' + b"1" * 5000 + b"}}]}", b"   ",
    b'{"task": "plain", "calls": [], "epoch": true}', b'{"task": "plain", "calls": [{"arguments": {}}]} ',
    b'{"task": "plain", "calls": [{"tool": "x", "arguments": {"a": "\xff"}}]}',
    b'\xef\xbb\xbf{"task": "plain", "calls": []}',
)  # fmt: skip


def expected_row(episode: Episode, tasks: Tasks, scoring: Scoring | None, rules: tuple[Rule, ...]) -> dict[str, Any]:
    """Return the scores of an episode as `score` computes them."""
    used = scoring or (Scoring() if episode.scoring is None else Scoring.of(episode.scoring))
    found = score(tasks.of(episode), episode, used, rules=rules).to_dict()
    row = {name: found.get(name) for name in SCORES.names if name in found}
    row["harms"] = [
        {**{name: harm.get(name) for name in ("index", "kind", "effected", "again")}, "tool": tool_of(episode, harm)}
        for harm in found["harms"]
    ]
    row["options"] = json.dumps(found["options"]) if "options" in found else None
    if "rules" in found:
        row["rules"] = [{"rule": rule["rule"], "state": rule["state"]} for rule in found["rules"]]
    return row


def tool_of(episode: Episode, harm: dict[str, Any]) -> str:
    return episode.calls[int(harm["index"])].tool


def as_table(records: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return records in the schema of episodes, with JSON text where it asks for that."""
    rows = []
    own = ("trace", "task", "agent", "epoch", "seed", "fingerprint")
    texts = ("scoring", "params", "answer", "messages")
    for record in records:
        row: dict[str, Any] = {name: record[name] for name in own if name in record}
        row |= {name: json.dumps(record[name]) for name in texts if name in record}
        others = {name: value for name, value in record.items() if name not in (*own, *texts, "calls")}
        row["record"] = json.dumps(others) if others else None
        row["calls"] = [_as_text(call) for call in record["calls"]]
        rows.append(row)

    return pa.RecordBatch.from_pylist(rows, schema=EPISODES)


def _as_text(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["arguments"]
    return {
        "tool": call["tool"],
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
        **{name: json.dumps(call[name]) for name in ("result", "error") if name in call},
    }


def names_in(file: Path) -> list[str]:
    return list(load_tasks(file))
