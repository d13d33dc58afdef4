"""Warnings about entries of a tool file that have no effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from corepath.authoring.derive import Expected, ExpectedCall
from corepath.authoring.tool_file_warnings import unused_entries
from corepath.files.tool_file import Tools, load_tools
from corepath.importers.expected_calls import read_expected_calls
from corepath.notation.parser import call as read_call
from corepath.notation.parser import tool
from tests.importers.tau_runs import REAL, real

TAU_TOOLS = Path(__file__).parents[2] / "src" / "corepath" / "importers" / "formats" / "tau_tools.yaml"


def expected(*calls: str, id: str = "t", tags: Sequence[str] = ()) -> Expected:  # noqa: A002
    read = [read_call(text) for text in calls]
    return Expected(id, tuple(ExpectedCall(one.tool, one.arguments) for one in read), "Do it.", tuple(tags))


@pytest.mark.parametrize(
    ("tools", "warnings"),
    [
        (Tools(arguments={"pay": {"n": "any", "m": "any", "who.age": "any",
                                 "who.name": "any"}, "fly": {"x": "any"}}),
         ["no call is expected with the argument of the rule 'pay.m'",
          "no call is expected with the argument of the rule 'pay.who.name'"]),
        (Tools(reads=["gte", "get_*"]), ["no call of 'gte' is expected; did you mean 'get'?"]),
        (Tools(reads=["get"], neutral=["hanover"]), ["no call of 'hanover' is expected; did you mean 'hand_over'?"]),
        (Tools(arguments={"pai": {"n": "any"}, "pa*": {"n": "any"}}),
         ["no call of 'pai' is expected; did you mean 'pay'?"]),
        (Tools(arguments={"pai": {"n": "any"}, "pay": {"n": "any"}}), []),
        (Tools(reads=["update_seats", "get", "gets", "a"]), []),
        (Tools(arguments={"pay": {"ids": "paired with idz"}}),
         ["no call is expected with the argument 'idz' of the rule 'pay.ids: paired with idz'"]),
        (Tools(arguments={"*": {"to": "approx 0.1"}}), ["no number is expected for the rule '*.to: approx 0.1'"]),
        (Tools(arguments={"pay": {"to": "unordered"}}), ["no list is expected for the rule 'pay.to: unordered'"]),
        (Tools(arguments={"pay": {"to": "open", "who": "open", "ids": "unordered open"}}),
         ["no object is expected for the rule 'pay.to: open'"]),
        (Tools(arguments={"pay": {"to": "unordered open"}}),
         ["no list is expected for the rule 'pay.to: unordered open'"]),
        (Tools(arguments={"pay": {"to": "paired with ids"}}),
         ["no list is expected for the rule 'pay.to: paired with ids'"]),
        (Tools(arguments={"pay": {"ids": "approx", "none": "approx", "who": "unordered"}}), []),
        (Tools(["a", "gets"], arguments={"pai": {"n": "any"}}, tools=[tool(n) for n in ("a", "gets", "pai")]), []),
        (Tools(["find_*", "get*"], tools=[tool("get()"), tool("hand_over()"), tool("pay"), tool("update_bags()")]),
         ["no tool fits 'find_*'"]),
    ],
)  # fmt: skip
def test_an_entry_without_effect_is_reported(tools: Tools, warnings: list[str]) -> None:
    calls = expected(
        'pay(n=1, to="Ann", ids=[[1], 2], none=null, who=[{age: 1}])', "get()", "hand_over()", "update_bags()", "b()"
    )
    assert unused_entries(tools, [calls]) == warnings


@pytest.mark.parametrize("file", REAL)
def test_the_tool_file_of_tau_is_right_for_every_domain(file: str) -> None:
    found = [one for one in read_expected_calls(real(file)) if isinstance(one, Expected)]
    assert unused_entries(load_tools(TAU_TOOLS), found) == []
