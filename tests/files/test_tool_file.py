"""Tool files: reading them, and what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corepath.errors import InputError
from corepath.files.tool_file import Tools, load_tools
from corepath.notation.parser import tool


def tool_file(folder: Path, text: str) -> Path:
    file = folder / "tools.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_tool_file_is_read(tmp_path: Path) -> None:
    text = (
        "version: 1\nreads: [get_*]\nneutral: [bye]\narguments:\n  pay: {n: approx 0.5}\ntools: ['pay(n, by=1)', bye]\n"
    )
    assert load_tools(tool_file(tmp_path, text)) == Tools(
        ["get_*"], ["bye"], {"pay": {"n": "approx 0.5"}}, (tool("pay(n, by=1)"), tool("bye"))
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("red: [a]", "1:1: no field 'red'; did you mean 'reads'?"),
        ("reads: get_*", "1:8: expected a list here"),
        ("version: 2", "1:10: this corepath reads version 1 of tool files"),
        ("arguments: {pay: {n: near}}", "1:22: no rule 'near' for an argument; there is any, approx, approx 0.01,"),
        ("arguments: {pay: {n: approx -1}}", "1:22: the tolerance of approx is a number of 0 or more, not '-1'"),
        ("arguments: {pay: {n: approx inf}}", "1:22: the tolerance of approx is a number of 0 or more, not 'inf'"),
        ("arguments: {pay: {n: paired with}}", "1:22: no rule 'paired with' for an argument"),
        ("arguments: {pay: {n: any thing}}", "1:22: no rule 'any thing' for an argument"),
        ("arguments: {pay: {n: open door}}", "1:22: no rule 'open door' for an argument"),
        ("arguments: {pay: {n: unordered closed}}", "1:22: no rule 'unordered closed' for an argument"),
        ("arguments: {pay: any}", "1:18: expected a mapping here"),
        ("arguments: {pay: {x: paired with x}}", "1:22: 'x' is paired with itself; name the other list"),
        (
            "arguments: {pay: {o.x: paired with y}}",
            "1:24: 'o.x' cannot be paired with 'y': paired lists are in the same object",
        ),
        ("reads: [get_a]\nneutral: [bye, get_a]", "2:16: 'get_a' is in both reads and neutral; keep one of them"),
        ("tools: ['send(a)', 'send(a)', 'send(b)']", "1:31: tool 'send' is listed twice, with different parameters"),
        ("tools: ['get()']\nreads: [gte, x*]", "2:9: no tool 'gte'; did you mean 'get'?"),
        ("tools: ['get()']\nneutral: [bye]", "2:11: no tool 'bye'; there is get"),
        ("tools: ['pay(n)']\narguments: {pai: {n: any}}", "2:13: no tool 'pai'; did you mean 'pay'?"),
        ("tools: ['pay(num)']\narguments: {pay: {mum.x: any}}", "2:26: tool 'pay' has no argument 'mum.x'; "),
        ("tools: ['pay(n)']\narguments: {pay: {n: paired with m}}", "2:22: tool 'pay' has no argument 'm'; there is n"),
        ("tools: ['pay(']", "1:9: "),
        ("- reads", "1:1: a tool file is one mapping, as in reads: [get_*]"),
        ("reads: [", "not YAML"),
    ],
)
def test_what_is_wrong_with_a_tool_file_is_reported_with_its_place(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_tools(tool_file(tmp_path, text))
    assert why in str(caught.value)


def test_a_key_that_a_tool_file_gives_twice_is_reported(tmp_path: Path) -> None:
    file = tool_file(tmp_path, "reads: [a]\nneutral: [b]\nreads: [c]\n")
    tools = load_tools(file)
    assert tools == Tools(["c"], ["b"])
    assert tools.warnings == (f"{file}:3:1: 'reads' is given twice; the last one counts",)
