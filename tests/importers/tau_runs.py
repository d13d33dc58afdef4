"""Runs of τ-bench and τ²-bench: hand-written ones, and where to find real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

DATA: Final = Path(__file__).parents[3] / "shared" / "data"
REAL: Final = {
    "tau-bench/gpt-4o-airline.json": 200,
    "tau2-bench/gpt-4.1-airline.json": 20,
    "tau2-bench/gpt-4.1-retail.json": 40,
    "tau2-bench/gpt-4.1-telecom.json": 40,
}
"""The files of real runs, and how many runs each has."""


def real(file: str) -> Path:
    """The path of a file of real runs; skips the test if it is missing."""
    if not (DATA / file).exists():
        pytest.skip(f"no real runs at {DATA / file}")
    return DATA / file


def read_json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _call(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


TAU: Final[dict[str, Any]] = {
    "task_id": 7,
    "reward": 1.0,
    "trial": 2,
    "info": {
        "task": {
            "user_id": "mia_1",
            "instruction": "You are mia_1 and want to cancel X1.",
            "actions": [
                {"name": "get_user_details", "kwargs": {"user_id": "mia_1"}},
                {"name": "cancel_reservation", "kwargs": {"reservation_id": "X1"}},
                {"name": "respond", "kwargs": {"content": "Done."}},
            ],
            "outputs": ["100"],
        },
        "source": "user",
        "user_cost": 0.01,
        "reward_info": {"reward": 1.0, "info": {"r_outputs": 1.0, "outputs": {"100": True}}, "actions": []},
    },
    "traj": [
        {"role": "system", "content": "# Airline Agent Policy\n\nThe current time is 2024-05-15."},
        {"role": "user", "content": "Cancel X1."},
        {"role": "assistant", "content": "Who are you?"},
        {"role": "user", "content": "mia_1"},
        {"role": "assistant", "content": None, "tool_calls": [_call("c1", "get_user_details", '{"user_id": "mia_1"}')]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_user_details", "content": '{"membership": "gold"}'},
        {"role": "assistant", "content": "I look.", "tool_calls": [_call("c1", "think", '{"thought": "hm"}')]},
        {"role": "tool", "tool_call_id": "c1", "name": "think", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [_call("c2", "cancel_it", '{"id": 1}')]},
        {"role": "tool", "tool_call_id": "c2", "name": "cancel_it", "content": "Unknown action cancel_it"},
        {"role": "assistant", "content": None, "tool_calls": [_call("c3", "cancel_reservation", '{"reservation')]},
        {"role": "tool", "tool_call_id": "c3", "name": "cancel_reservation", "content": "Error: no reservation_id"},
        {"role": "assistant", "content": "I could not; it costs 100."},
        {"role": "user", "content": "###STOP###"},
    ],
}
BROKEN_OFF: Final[dict[str, Any]] = {
    "task_id": 8, "reward": 0.0, "trial": 0, "traj": [], "info": {"error": "timeout", "traceback": "Traceback: ..."},
}  # fmt: skip
REACT: Final[dict[str, Any]] = {
    **TAU,
    "traj": [
        {"role": "system", "content": "# Retail agent policy\n#Available tools ..."},
        {"role": "user", "content": "Where is my order?"},
        {
            "role": "assistant",
            "content": 'Thought:\nI look.\nAction:\n{"name": "get_order", "arguments": {"id": "#W1"}}',
        },
        {"role": "user", "content": 'API output: {"status": "sent"}'},
        {"role": "assistant", "content": 'Action:\n{"name": "find", "arguments": {"zip": "1"}}'},
        {"role": "user", "content": "API output: Error: user not found"},
        {"role": "assistant", "content": 'Action:\n{"name": "respond", "arguments": {"content": "It is sent."}}'},
        {"role": "user", "content": "###STOP###"},
    ],
}
_MESSAGE: Final[dict[str, Any]] = {"timestamp": "2025-08-01", "cost": 0.0, "usage": None, "raw_data": None}


def _says(role: str, content: str | None, *calls: tuple[str, str, Any]) -> dict[str, Any]:
    made = [{"id": id_, "name": name, "arguments": given, "requestor": role} for id_, name, given in calls]
    return {"role": role, "content": content, "tool_calls": made or None, **_MESSAGE}


def _answers(id_: str, content: str, requestor: str = "assistant", *, error: bool = False) -> dict[str, Any]:
    return {"id": id_, "role": "tool", "content": content, "requestor": requestor, "error": error, "timestamp": ""}


def _action(name: str, arguments: dict[str, Any], requestor: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"action_id": name, "requestor": requestor, "name": name, "arguments": arguments, "info": None,
            "compare_args": None, **more}  # fmt: skip


TAU2: Final[dict[str, Any]] = {
    "timestamp": "2025-08-01",
    "info": {
        "git_commit": "b02b509",
        "num_trials": 1,
        "seed": 300,
        "user_info": {"implementation": "user_simulator", "llm": "gpt-4.1", "llm_args": {}},
        "agent_info": {"implementation": "llm_agent", "llm": "gpt-x", "llm_args": {}},
        "environment_info": {"domain_name": "telecom", "policy": "…", "tool_defs": None},
    },
    "tasks": [
        {
            "id": "roaming",
            "user_scenario": {"persona": None, "instructions": {
                "domain": "telecom", "reason_for_call": "No data abroad.", "known_info": "You are John.",
                "unknown_info": None, "task_instructions": "."}},
            "evaluation_criteria": {"actions": [
                _action("toggle_roaming", {}, "user"),
                _action("enable_roaming", {"line_id": "L1"}),
                _action("transfer_to_human_agents", {"summary": "…"}, compare_args=[])]},
        },
        {"id": "airplane", "user_scenario": {"instructions": "Be John."},
         "evaluation_criteria": {"actions": [_action("toggle_airplane_mode", {}, "user")]}},
        {"id": "nothing", "evaluation_criteria": {"actions": []}},
    ],
    "simulations": [
        {
            "id": "s1", "task_id": "roaming", "trial": 1, "seed": 5, "termination_reason": "user_stop",
            "reward_info": {"reward": 1.0, "reward_basis": ["DB"]},
            "messages": [
                _says("assistant", "Hi!"),
                _says("user", "No data abroad."),
                _says("assistant", None, ("a1", "get_customer", {"id": 1}), ("a2", "get_line", {"id": 2})),
                _answers("a2", "Error: no such line", error=True),
                _answers("a1", '{"name": "John"}'),
                _says("assistant", "Turn roaming on, please."),
                _says("user", None, ("a1", "toggle_roaming", {})),
                _answers("a1", "Roaming is on", "user"),
                _says("user", "It works."),
                _says("assistant", "Good.", ("a3", "enable_roaming", {"line_id": "L1"})),
                {"role": "tool", "tool_messages": [_answers("a3", "ok")]},
                _says("assistant", "Bye."),
                _says("user", "###STOP###"),
            ],
        },
        {"id": "s2", "task_id": "airplane", "trial": 0, "termination_reason": "user_error", "reward_info": None,
         "messages": [_says("assistant", "Hi!")]},
    ],
}  # fmt: skip
