"""Tool files from traces, schemas and Python functions: what reads, what writes, and what is unsure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corepath import Call, Episode, play
from corepath.authoring.derive import Expected, ExpectedCall, derive
from corepath.authoring.tools import Described, describe_tools
from corepath.authoring.tools.observations import MOST_TOOLS, Observations, Repeat
from corepath.authoring.tools.words import read_description, read_name
from corepath.errors import InputError, Problem, TaskError
from corepath.files.tool_file import Tools, load_tools
from corepath.files.tool_list import ListedTool, is_schema_list, read_schemas
from corepath.importers import import_trace
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED, UNANSWERED
from corepath.play.built_in import built_in
from corepath.world.discovery import installed_worlds, world
from tests.conftest import ROOT, Run
from tests.importers.tau_runs import REAL, real

FORMATS = ROOT / "src" / "corepath" / "importers" / "formats"


def episode(*calls: tuple[str, Any, Any], others: tuple[Call, ...] = ()) -> Episode:
    """An episode of calls, each with its tool, its arguments and its result; an exception is an error."""
    made = [
        Call(tool, arguments, error=str(result)) if isinstance(result, Exception) else Call(tool, arguments, result)
        for tool, arguments, result in calls
    ]
    return Episode("t", tuple(made), other_calls=others)


def kind(described: Described, name: str) -> str:
    verdict = described.evidence[name]
    return verdict.kind if verdict.sure else f"{verdict.kind}?"


def schema(name: str, *parameters: str, **more: Any) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in parameters}
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": properties, "required": [*parameters]},
        **more,
    }


def load(described: Described, folder: Path) -> Tools:
    (folder / "tools.yaml").write_text(described.text, encoding="utf-8")
    return load_tools(folder / "tools.yaml")


# Names and descriptions


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("get_order", "read"),
        ("getOrder", "read"),
        ("HTTPGet", "read?"),
        ("mcp__shop__list_orders", "read"),
        ("shop.find-order", "read"),
        ("look_up", "read"),
        ("ls", "read"),
        ("get_order_details", "read"),
        ("create_order", "write"),
        ("order_create", "write"),
        ("user_create", "write"),
        ("check_balance", "read"),
        ("check_in", "write"),
        ("check_out_guest", "write"),
        ("check", "read?"),
        ("get_or_create_label", "write"),
        ("find_and_replace", "write"),
        ("get_cancel_policy", "read?"),
        ("get_next_job", "read?"),
        ("show_event", "read?"),
        ("home_status", "read?"),
        ("order_status", "read?"),
        ("frob", None),
        ("", None),
        ("__", None),
        ("think", "neutral"),
        ("transfer_to_human_agents", "neutral"),
        ("escalate", "neutral"),
        ("escalate_ticket", "write"),
        ("transfer_money", "write"),
    ],
)
def test_a_name_says_what_its_verb_says(name: str, said: str | None) -> None:
    hint = read_name(name)
    assert (None if hint is None else hint.kind + "?" * (not hint.sure)) == said


def test_a_first_word_that_many_tools_share_is_left_out() -> None:
    described = describe_tools(
        [schema(name) for name in ("slack_get_user", "slack_add_reaction", "slack_list_channels")]
    )
    assert [kind(described, name) for name in described.evidence] == ["write", "read", "read"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Returns the balance.", "read"),
        ("Look up a word", None),
        ("Lists all files\nand more", "read"),
        ("Creates an account", "write"),
        ("Sending mail", "write"),
        ("Returns the id after creating the order", None),
        ("The current balance", None),
        ("", None),
    ],
)
def test_a_description_says_what_its_first_verb_says(text: str, said: str | None) -> None:
    hint = read_description(text, "frob")
    assert (hint and hint.kind) == said


def test_returning_an_item_is_not_returning_a_value() -> None:
    assert read_description("Return some items of an order", "return_items") is None


# Schemas


@pytest.mark.parametrize(
    "data",
    [
        [
            {
                "type": "function",
                "function": {"name": "pay", "parameters": {"properties": {"to": {}}, "required": ["to"]}},
            }
        ],
        [{"type": "function", "name": "pay", "parameters": {"properties": {"to": {}}, "required": ["to"]}}],
        [{"name": "pay", "input_schema": {"properties": {"to": {}}, "required": ["to"]}}],
        {"tools": [{"name": "pay", "inputSchema": {"properties": {"to": {}}, "required": ["to"]}}]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [schema("pay", "to")]}},
        {"functions": [{"name": "pay", "parameters": {"properties": {"to": {}}, "required": ["to"]}}]},
        {"title": "pay", "type": "object", "properties": {"to": {}}, "required": ["to"]},
        {"pay": {"type": "object", "properties": {"to": {}}, "required": ["to"]}},
        {"tools": [{"functionDeclarations": [{"name": "pay", "parameters": schema("", "to")["inputSchema"]}]}]},
        {"tools": [{"toolSpec": {"name": "pay", "inputSchema": {"json": schema("", "to")["inputSchema"]}}}]},
    ],
)
def test_schemas_are_read_in_every_form(data: Any) -> None:
    assert is_schema_list(data)
    assert [one.tool for one in read_schemas(data)] == [Tool("pay", {"to": REQUIRED})]
    assert [str(tool) for tool in describe_tools(data).tools.tools or ()] == ["pay(to)"]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"tools": []},
        [1],
        [{"name": "pay", "arguments": {"to": "Ann"}, "result": "ok"}],
        [{"name": "pay", "parameters": {"to": "Ann"}}],
        {"task": "t", "calls": [{"tool": "pay", "arguments": {}}]},
        {"name": "span", "attributes": {}},
    ],
)
def test_calls_are_not_taken_for_schemas(data: Any) -> None:
    assert not is_schema_list(data)


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        ({"readOnlyHint": True}, "read"),
        ({"readOnlyHint": False}, "write"),
        ({"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}, "write"),
        ({"destructiveHint": True}, "write"),
        ({"destructiveHint": False}, "write?"),
        ({"idempotentHint": True}, "write?"),
        ({"readOnlyHint": "true"}, "write?"),
        (None, "write?"),
        ([], "write?"),
    ],
)
def test_the_hints_of_mcp_decide(annotations: Any, found: str) -> None:
    assert kind(describe_tools([schema("frob", annotations=annotations)]), "frob") == found


def test_a_hint_that_the_name_or_the_runs_contradict_is_unsure() -> None:
    read_only = {"readOnlyHint": True}
    assert kind(describe_tools([schema("delete_all", annotations=read_only)]), "delete_all") == "read?"
    acknowledged = episode(("frob", {}, "ok"))
    assert kind(describe_tools([schema("frob", annotations=read_only)], acknowledged), "frob") == "read?"
    assert kind(describe_tools([schema("escalate", annotations={"readOnlyHint": False})]), "escalate") == "write?"


def test_defaults_and_free_text_come_from_the_schema(tmp_path: Path) -> None:
    described = describe_tools(
        {
            "name": "open_ticket",
            "parameters": {
                "properties": {
                    "kind": {"default": "basic"},
                    "tags": {"default": ["a", {"b": None}]},
                    "story": {"description": "What happened, in your own words."},
                    "long": {"default": "x" * 10_000},
                },
                "required": ["story"],
            },
        }
    )
    assert [str(tool) for tool in described.tools.tools or ()] == [
        'open_ticket(kind="basic", tags=["a", {"b": null}], story, long=null)'
    ]
    assert load(described, tmp_path).arguments == {"open_ticket": {"story": "any"}}


# Python


def get_order(id: str, full: bool = False) -> None:  # noqa: A002
    """Fetch an order."""


def frob(x, *, how=object()):  # noqa: B008
    pass


def test_functions_need_no_annotations() -> None:
    described = describe_tools(get_order, frob)
    assert [str(tool) for tool in described.tools.tools or ()] == ["frob(x, how=null)", "get_order(id, full=false)"]
    assert (kind(described, "get_order"), described.unsure) == ("read", {"frob": "write?"})


def test_tool_objects_of_agent_frameworks_hold_functions() -> None:
    made = SimpleNamespace(name="find_it", fn=get_order)
    assert [str(tool) for tool in describe_tools([made]).tools.tools or ()] == ["find_it(id, full=false)"]


def test_the_tools_of_a_world_are_known() -> None:
    farm = world("farm")
    described = describe_tools(farm)
    assert {name: kind(described, name) for name in described.evidence} == {
        tool.name: "write" if tool.writes else "read" for tool in farm.tools.values()
    }
    assert describe_tools(list(farm.tools.values())).tools == described.tools


# Runs


Step = tuple[str, Any, Any]
Steps = list[tuple[str, int, int | None]]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1), st.none() | st.integers(0, 1)), max_size=12))
def test_repeats_are_those_that_a_search_over_all_pairs_finds(calls: Steps) -> None:
    """A call with the answer None failed."""
    seen = Observations()
    made = [(tool, {"x": x}, ValueError("no") if answer is None else answer) for tool, x, answer in calls]
    seen.add(episode(*made))
    wanted: Counter[Repeat] = Counter()
    for last, (tool, x, answer) in enumerate(calls):
        equal = [place for place in range(last) if calls[place][:2] == (tool, x) and calls[place][2] is not None]
        if not equal:
            continue
        between = frozenset(name for name, _, one in calls[equal[-1] + 1 : last] if one is not None)
        before = calls[equal[-1]][2]
        wanted[Repeat(tool, between, "refused" if answer is None else "alike" if answer == before else "other")] += 1
    assert seen.repeats == wanted


def test_a_tool_after_which_a_read_answers_differently_writes() -> None:
    described = describe_tools(episode(("get_x", {}, 1), ("frob", {}, {"n": 1}), ("get_x", {}, 2)))
    assert kind(described, "frob") == "write"
    assert "get_x answers differently after it, 1 of 1 times" in described.evidence["frob"].evidence


def test_nobody_is_blamed_if_two_tools_may_be_the_reason() -> None:
    described = describe_tools(
        episode(("get_x", {}, 1), ("frob", {}, {"n": 1}), ("grab", {}, {"n": 1}), ("get_x", {}, 2))
    )
    assert described.unsure == {"frob": "write?", "grab": "write?"}


def test_nobody_is_blamed_if_others_made_calls_too() -> None:
    calls: list[Step] = [("get_x", {}, 1), ("frob", {}, {"n": 1}), ("get_x", {}, 2)]
    assert describe_tools(episode(*calls, others=(Call("reboot"),))).unsure == {"frob": "write?"}


def test_a_tool_that_fails_when_it_is_repeated_writes() -> None:
    described = describe_tools(episode(("frob", {}, {"n": 1}), ("frob", {}, ValueError("done already"))))
    assert kind(described, "frob") == "write"


def test_a_tool_that_only_says_that_it_is_done_writes() -> None:
    done: list[Any] = ["ok", "Done.", {"status": "success"}, {"success": True}, '{"result": "ok"}', "Email sent to Ann"]
    for answer in done:
        assert kind(describe_tools(episode(("frob", {}, answer))), "frob") == "write", answer
    more: list[Any] = ["sent", {"sent": 3}, True, None, "no email sent", {"success": False}, "ok" * 100, "okra"]
    for answer in more:
        assert kind(describe_tools(episode(("frob", {}, answer))), "frob") == "write?", answer


def test_a_word_that_is_not_sure_is_enough_if_repeats_answer_alike() -> None:
    scans = [("scan", {"at": 1}, {"dry": True})] * 3
    assert kind(describe_tools(episode(*scans[:2])), "scan") == "read?"
    assert kind(describe_tools(episode(*scans)), "scan") == "read"
    assert kind(describe_tools(episode(*scans, ("scan", {"at": 2}, "ok"))), "scan") == "read?"
    assert kind(describe_tools(episode(*scans, ("scan", {"at": 1}, {"dry": False}))), "scan") == "read?"
    assert kind(describe_tools(episode(*scans[:2], ("scan", {"at": 1}, {"dry": False}))), "scan") == "write?"


def test_repeats_alone_make_no_read_of_a_name_that_says_nothing() -> None:
    assert kind(describe_tools(episode(*[("frob", {}, {"n": 1})] * 9)), "frob") == "read?"


def test_a_tool_that_follows_others_and_leaves_reads_alone_reads() -> None:
    frob: Step = ("frob", {}, {"n": 1})
    later: Step = ("frob", {}, {"n": 2})
    calls = [frob, frob, frob, ("set_n", {}, "ok"), later, *[("get_x", {}, 1), later] * 4]
    assert kind(describe_tools(episode(*calls)), "frob") == "read"
    assert kind(describe_tools(episode(*calls[4:])), "frob") == "read?"  # it followed nothing
    assert kind(describe_tools(episode(*calls[:5])), "frob") == "read?"  # no reads around it


def test_a_tool_that_may_write_is_no_witness_against_another() -> None:
    described = describe_tools(episode(("frob", {}, 1), ("grab", {}, {"n": 1}), ("frob", {}, 2)))
    assert described.unsure == {"frob": "write?", "grab": "write?"}


def test_a_name_that_reads_is_unsure_if_the_runs_contradict_it() -> None:
    jobs: list[Step] = [("get_job", {}, {"job": 1}), ("get_job", {}, {"job": 2})]
    assert kind(describe_tools(episode(*jobs)), "get_job") == "read?"
    assert kind(describe_tools(episode(("get_job", {}, "done"))), "get_job") == "read?"
    steady: list[Step] = [("list_x", {}, [1])] * 3
    described = describe_tools(episode(*steady, ("get_y", {}, {"y": 1}), ("list_x", {}, [])))
    assert (kind(described, "get_y"), kind(described, "list_x")) == ("read?", "read")


def test_a_name_that_writes_is_unsure_if_the_runs_show_a_read() -> None:
    add = ("add_numbers", {"a": 1}, {"sum": 2})
    assert kind(describe_tools(episode(add, add, add, *[("get_x", {}, 1), add] * 4)), "add_numbers") == "read?"


def test_the_arguments_that_runs_show_are_comments_because_some_may_be_missing(tmp_path: Path) -> None:
    described = describe_tools(
        episode(("pay", {"to": "Ann", "n": 1}, 7), ("pay", {"to": "Bob"}, 8), ("pay", "{oops", 9))
    )
    assert "# - 'pay(to, n=null)'" in described.text
    assert load(described, tmp_path).tools is None


def test_long_texts_that_are_nearly_all_different_are_free_text(tmp_path: Path) -> None:
    def sent(number: int) -> tuple[str, Any, Any]:
        text = f"Dear customer, this is letter {number}."
        return (
            "send",
            {"to": f"{'customer' * 3}{number}", "body": text, "reason": "no longer needed by us", "note": "x"},
            1,
        )

    described = describe_tools(episode(*map(sent, range(5))))
    assert load(described, tmp_path).arguments == {"send": {"body": "any"}}
    assert "body: any   # 5 different texts in 5 calls" in described.text
    assert describe_tools(episode(*map(sent, range(2)))).tools.arguments == {}


# Several sources


def test_contradictions_between_sources_are_reported() -> None:
    one = schema("frob", "x", annotations={"readOnlyHint": True})
    other = schema("frob", "y", annotations={"readOnlyHint": False})
    described = describe_tools([one], [other], episode(("frob", {"z": 1}, 7), ("grab", {}, 7)))
    assert described.unsure == {"frob": "read?", "grab": "write?"}
    assert described.warnings == (
        "frob is described as frob(x) and as frob(y); the first is kept",
        "frob: readOnlyHint says read, and readOnlyHint: false says write; settle it under unsure",
        "called in runs, but described nowhere: grab",
        "frob was called with arguments that its description does not have: z",
    )
    assert [str(tool) for tool in described.tools.tools or ()] == ["frob(x)", "grab"]


def test_what_a_person_or_a_world_decided_wins() -> None:
    decided = ListedTool(Tool("delete_all"), "", "read", "tools.yaml", firm=True)
    described = describe_tools(schema("delete_all", annotations={"destructiveHint": True}), decided)
    assert kind(described, "delete_all") == "read"
    assert described.warnings == ("delete_all: destructiveHint: true says write, and tools.yaml says read",)


def test_a_rule_for_an_argument_that_the_tool_does_not_have_is_left_out() -> None:
    rules = {"n": "approx", "a.b": "any", "a": "paired with c", "c": "unordered"}
    described = describe_tools(schema("pay", "a"), ListedTool(Tool("pay"), rules=rules))
    assert described.tools.arguments == {"pay": {"a.b": "any"}}
    assert described.warnings == tuple(
        f"pay: no argument for the rule '{rule}'; it is left out"
        for rule in ("n: approx", "a: paired with c", "c: unordered")
    )


def test_records_that_cannot_be_read_become_warnings() -> None:
    described = describe_tools([Problem("a.jsonl", 3, 1, "oops"), episode(("get_x", {}, 1))])
    assert described.warnings == ("a.jsonl:3:1: oops",)


@pytest.mark.parametrize("source", [[], [Episode("t", ())], 3, "runs.jsonl", {"a": 1}, Described])
def test_what_has_no_tools_is_an_error(source: Any) -> None:
    with pytest.raises(TaskError):
        describe_tools(source)


# The file


_NAMES = st.text(max_size=8) | st.sampled_from(
    ["get_*", "a[b]", "null", "no", "x: y", "a\n- b", "'", '"', "# c", "\ud83d"]
)


@settings(max_examples=40)
@given(st.dictionaries(_NAMES, st.dictionaries(_NAMES, st.none() | _NAMES | st.floats(allow_nan=False), max_size=2)))
def test_a_file_is_read_as_it_was_described(tools: Mapping[str, Mapping[str, Any]]) -> None:
    listed = [ListedTool(Tool(name, parameters)) for name, parameters in tools.items()]
    called = episode(*((name, dict(parameters), "ok") for name, parameters in tools.items() if len(name) % 2))
    texts = [episode((name, {"text": f"the letter of number {n}\n{name}"}, n)) for name in tools for n in range(3)]
    for sources in ([listed, called], [called], [*texts]):
        try:
            described = describe_tools(sources)
        except TaskError as error:
            assert "no tools" in str(error)  # noqa: PT017
            continue
        with TemporaryDirectory() as folder:
            assert load(described, Path(folder)) == described.tools
        for name, verdict in described.evidence.items():
            assert described.tools.kind(name) == (verdict.kind if verdict.sure else "write")
            assert described.tools.is_unsure(name) != verdict.sure


@pytest.mark.parametrize("sign", ["\n", "\r", "\x85", "\u2028", "\x00", "\x7f", "\ufffe", "\ud800", "\u202e"])
def test_names_and_answers_cannot_break_out_of_a_comment(sign: str, tmp_path: Path) -> None:
    name = f"get{sign}- evil: {sign}reads: [all]"
    calls = episode((name, {sign: 1}, 1), ("pay", {}, f"ok {sign} done"), (name, {sign: 1}, 2), ("pay", {}, "ok"))
    for sources in ([calls], [calls, schema("pay")]):
        described = describe_tools(*sources)
        assert load(described, tmp_path) == described.tools
        assert set(described.evidence) == {name, "pay"}


def test_the_file_does_not_depend_on_the_order_of_the_sources() -> None:
    sources = [schema("get_a"), schema("frob"), episode(("pay", {}, "ok")), episode(("get_b", {}, 1), ("frob", {}, 2))]
    assert describe_tools(*sources).text == describe_tools(*reversed(sources)).text


def test_a_file_has_a_bounded_number_of_tools() -> None:
    many = [ListedTool(Tool(f"get_{number}")) for number in range(MOST_TOOLS + 5)]
    described = describe_tools(many, ListedTool(Tool("x" * 10_000)))
    assert len(described.evidence) == len(described.tools.reads) == MOST_TOOLS
    assert described.warnings[0].startswith("10,000 different tools; if their names contain data, ")
    assert described.warnings[1].startswith("left out 6 calls or descriptions of tools")
    seen = Observations()
    seen.add(episode(*((f"get_{number}", {}, 1) for number in range(MOST_TOOLS + 5))))
    assert (len(seen.tools), seen.left_out) == (MOST_TOOLS, 5)


@pytest.mark.parametrize("text", ["unsure: [frob]", "unsure: {frob: 'read?'}", "reads: ['*']\nunsure:\n  frob:\n"])
def test_an_unsure_tool_counts_as_a_write_and_is_warned_about_once(text: str, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(text, encoding="utf-8")
    tools = load_tools(tmp_path / "tools.yaml")
    assert (tools.kind("frob"), tools.unsure) == ("write", ("frob",))
    (warning,) = tools.warnings
    assert "unsure about frob: it counts as a write; move it to reads or neutral, or delete the line" in warning
    made = derive(Expected("t", [ExpectedCall("frob", {"x": 1})]), tools)
    assert str(made.task.procedure) == "frob"


def test_derive_warns_about_unsure_tools_once(tmp_path: Path, corepath: Run) -> None:
    write(tmp_path, "calls.yaml", "- {id: a, calls: ['frob()', 'frob()']}\n- {id: b, calls: ['frob()']}\n")
    write(tmp_path, "tools.yaml", "unsure: [frob]\n")
    done = corepath("derive", "calls.yaml", "--tools", "tools.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("unsure about frob") == 1


def test_an_unsure_field_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("unsure:\n", encoding="utf-8")
    assert load_tools(tmp_path / "tools.yaml") == Tools([], [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("reads: [frob]\nunsure: {frob: }", "2:10: 'frob' is in both reads and unsure; keep one of them"),
        ("neutral: [frob]\nunsure: [frob]", "2:1: 'frob' is in both neutral and unsure; keep one of them"),
        ("tools: ['a()']\nunsure: {b: 'read?'}", "2:13: no tool 'b'; there is a"),
        ("unsure: frob", "1:9: expected a list here"),
    ],
)
def test_what_is_wrong_with_unsure_is_reported(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_tools(tmp_path / "tools.yaml")
    assert why in str(error.value)


# The command


def write(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


RUN = {"task": "t", "calls": [{"tool": "get_x", "arguments": {}, "result": 1}, {"tool": "pay", "arguments": {"n": 1}}]}


def test_the_command_merges_traces_schemas_python_worlds_and_tool_files(tmp_path: Path, corepath: Run) -> None:
    (tmp_path / "runs").mkdir()
    write(tmp_path, "runs/a.jsonl", json.dumps(RUN) + "\n")
    write(tmp_path, "runs/schemas.json", {"tools": [schema("pay", "n")]})
    write(tmp_path, "mine.py", "def find_it(a, b=2): ...\ndef _no(): ...\nTOOLS = [find_it]\n")
    write(tmp_path, "old.yaml", "neutral: [pay]\nreads: [x_*]\n")
    sources = ("runs", "mine.py", "mine.py:TOOLS", "mine:find_it", "farm", "old.yaml")
    done = corepath("tools", *sources, "--out", "tools.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "old.yaml: globs are not taken over: x_*" in done.stderr
    assert "20 tools in tools.yaml: 7 read, 12 write, 1 neutral" in done.stderr
    tools = load_tools(tmp_path / "tools.yaml")
    assert {name: tools.kind(name) for name in ("get_x", "pay", "find_it", "scan", "water_plant")} == {
        "get_x": "read", "pay": "neutral", "find_it": "read", "scan": "read", "water_plant": "write",
    }  # fmt: skip
    assert tools.parameters("find_it") == ["a", "b"]


def test_a_file_is_not_replaced_unless_forced(tmp_path: Path, corepath: Run) -> None:
    write(tmp_path, "a.jsonl", RUN)
    write(tmp_path, "tools.yaml", "mine")
    done = corepath("tools", "a.jsonl", "--out", "tools.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "corepath: tools.yaml exists; --force replaces it\n")
    assert (tmp_path / "tools.yaml").read_text() == "mine"
    assert corepath("tools", "a.jsonl", "--out", "tools.yaml", "--force", cwd=tmp_path).returncode == 0
    assert load_tools(tmp_path / "tools.yaml").reads == ["get_x"]


def test_a_request_may_have_tools_and_calls(tmp_path: Path, corepath: Run) -> None:
    called = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}}
    messages = [{"role": "user", "content": "Pay!"}, {"role": "assistant", "tool_calls": [called]}]
    messages += [{"role": "tool", "tool_call_id": "1", "content": "ok"}]
    write(
        tmp_path,
        "request.json",
        {"messages": messages, "tools": [{"type": "function", "function": schema("pay", "n")}]},
    )
    done = corepath("tools", "request.json", "--json", cwd=tmp_path)
    (line,) = done.stdout.splitlines()
    assert json.loads(line) == {
        "tool": "pay", "kind": "write", "sure": True, "evidence": ["name says pay", 'answers no more than "ok"'],
        "signature": "pay(n)", "seen": None, "arguments": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "source", "code", "why"),
    [
        ("a.jsonl", "", "b.jsonl", 2, "no such file or folder: b.jsonl; did you mean 'a.jsonl'?; a source is"),
        ("a.py", "", "b.py:f", 2, "no such file or folder: b.py"),
        ("a.py", "", "no_such:f", 2, "no module 'no_such'; a source is a file or folder of traces"),
        (
            "a.py",
            "import no_such",
            "a.py",
            1,
            "a.py:1:1: cannot be imported: ModuleNotFoundError: No module named 'no_such'",
        ),
        ("a.py", "def (", "a.py", 1, "cannot be imported: SyntaxError"),
        ("a.py", "X = 1", "a.py", 1, "a.py has no functions and no World"),
        ("a.py", "X = 1", "a.py:X", 1, "'X' in a.py: it is of the type int, and a tool is a function, a World"),
        ("a.py", "class X: ...", "a.py:X", 1, "'X' in a.py: it is a class"),
        ("a.py", "def get(): ...", "a.py:got", 1, "no 'got' in a.py; did you mean 'get'?"),
        ("a.json", "[]", "a.json", 1, "no tools"),
        ("a.json", "{", "a.json", 1, "not a known format"),
        ("a.json", '{"a": 1}', "a.json", 1, "not a known format"),
        ("a.jsonl", '{"task": "t", "calls": []}', "a.jsonl", 1, "no tools: the sources have no calls and no schemas"),
        ("a.yaml", "reads: 1", "a.yaml", 1, "expected a list here"),
        ("a.yaml", "reads: [get_*]", "a.yaml", 1, "lists no tools"),
    ],
)
def test_bad_sources_are_explained(
    name: str, content: str, source: str, code: int, why: str, tmp_path: Path, corepath: Run
) -> None:
    write(tmp_path, name, content)
    done = corepath("tools", source, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr


def test_a_bad_record_is_left_out_and_the_rest_is_used(tmp_path: Path, corepath: Run) -> None:
    write(tmp_path, "a.jsonl", f'{json.dumps(RUN)}\n{{"task": 1}}\n')
    done = corepath("tools", "a.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "- get_x   # read: name says get" in done.stdout


# How often it is right


def rates(truth: Mapping[str, str], described: Described) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, verdict in described.evidence.items():
        right = "right" if verdict.kind == truth[name] else f"{verdict.kind} for {truth[name]}"
        found[right if verdict.sure else "unsure"] += 1
    return found


def truth_of(name: str) -> dict[str, str]:
    return {tool.name: "write" if tool.writes else "read" for tool in world(name).tools.values()}


@cache
def played(name: str) -> tuple[Episode, ...]:
    tasks = [world(name).make(maker) for maker in list(world(name).makers)[:3]]
    agents = ("oracle", "random", "repeated", "redundant_reads", "reads_only")
    return tuple(play(built_in(agent), task, name=agent) for task in tasks for agent in agents)


def test_no_write_of_the_worlds_is_taken_for_a_read() -> None:
    names, runs = Counter[str](), Counter[str]()
    for name in installed_worlds():
        truth = truth_of(name)
        names += rates(truth, describe_tools(ListedTool(Tool(tool)) for tool in truth))
        runs += rates(truth, describe_tools(played(name)))
    for found in (names, runs):
        print(dict(found))
        assert set(found) == {"right", "unsure", "write for read"}
        assert found["right"] >= 0.8 * found.total()
        assert found["write for read"] <= 0.02 * found.total()


def test_no_write_is_taken_for_a_read_if_the_names_say_nothing() -> None:
    found = Counter[str]()
    for name in installed_worlds():
        numbers = {tool: f"x{number}" for number, tool in enumerate(truth_of(name))}
        truth = {numbers[tool]: kind for tool, kind in truth_of(name).items()}
        hidden = (
            Episode("t", tuple(Call(numbers[one.tool], one.arguments, one.result, one.error) for one in episode.calls))
            for episode in played(name)
        )
        found += rates(truth, describe_tools(hidden))
    print(dict(found))
    assert set(found) == {"right", "unsure"}


def test_no_write_of_bfcl_is_taken_for_a_read() -> None:
    file = load_tools(FORMATS / "bfcl_tools.yaml")
    truth = {tool.name: file.kind(tool.name) for tool in file.tools or ()}
    found = rates(truth, describe_tools(ListedTool(Tool(tool)) for tool in truth))
    print(dict(found))
    assert set(found) == {"right", "unsure", "write for read"}


@pytest.mark.parametrize("file", REAL)
def test_the_tools_of_tau_bench_are_found_in_its_runs(file: str) -> None:
    known = load_tools(FORMATS / "tau_tools.yaml")
    described = describe_tools(import_trace(real(file)))
    truth = {name: "neutral" if name == "think" else known.kind(name) for name in described.evidence}
    assert set(rates(truth, described)) == {"right"}


def test_an_unanswered_call_shows_nothing_but_its_arguments() -> None:
    seen = Observations()
    seen.add(episode(("a", {}, 1), ("a", {}, UNANSWERED), ("a", {}, 1)))
    assert seen.repeats == Counter([Repeat("a", frozenset({"a"}), "alike")])


def test_a_schema_may_refer_to_another_one(corepath, tmp_path):
    listed = [{"name": "get_order", "inputSchema": {"$ref": "#/$defs/Order", "$defs": {"Order": {"type": "object"}}}}]
    (tmp_path / "schemas.json").write_text(json.dumps({"tools": listed}))
    done = corepath("tools", tmp_path / "schemas.json")
    assert done.returncode == 0, done.stderr
    assert "- get_order   # read: name says get" in done.stdout
