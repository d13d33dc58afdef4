"""Records come out of their packing as they went in, in Python and in a browser."""

from __future__ import annotations

import json
import time
from typing import Any
from zlib import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.report.packing import packed
from corepath.report.page import page
from corepath.report.results import Results
from tests.browser import chromium, window
from tests.report.unpacking import unpacked

TEXTS = st.text(st.characters(), max_size=30) | st.text("<a1-2\0>.;,: \n→é9", max_size=30)
KEYS = TEXTS | st.sampled_from(["a", "a.b", "b", "[]"])
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
)

HOSTILE: list[Any] = [
    "",
    [],
    {},
    [[], [[]], {}],
    "\0",
    "\0 1\0-2",
    "007 -0 1-2--3 " + "9" * 400,
    "<<<1<2>3>>>",
    "</script><b onclick='1'>&amp;",
    "\ud800 lone \udfff",
    "٣ digits of others",
    {"__proto__": {"a": 1}, "constructor": "x", "a.b": 1, "a": {"b": "2"}},
    [{"a": 1}, {"a": "1"}, {"a": [1]}, {"a": None}, {"b": 0.1}, 1, "1", [None, True, "x", 2]],
    {"svg": '<svg width="12"><path d="M19 0h-7.5l3-4"/>\n<text>q1</text></svg>'},
]


@given(VALUES)
def test_what_was_packed_is_unpacked(value: Any) -> None:
    assert json.dumps(unpacked(packed(value))) == json.dumps(value)


@pytest.mark.parametrize("value", HOSTILE)
def test_odd_values_are_packed(value: Any) -> None:
    assert unpacked(packed(value)) == value


def test_a_browser_unpacks_the_same(tmp_path: Any) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(Results()), encoding="utf-8")
    with chromium() as browser, window(browser, file) as one:
        texts = one.open().evaluate(
            "texts => Promise.all(texts.map(async text => JSON.stringify(await unpack(text))))", [*map(packed, HOSTILE)]
        )
    assert list(map(json.loads, texts)) == HOSTILE


@pytest.mark.parametrize("text", ["<" * 10**6, "<a" * 500_000, "1," * 500_000, "<" + "a" * 10**6, "-" * 10**6])
def test_long_text_takes_no_longer_than_its_length(text: str) -> None:
    begun = time.process_time()
    made = packed(text)
    assert time.process_time() - begun < 10
    assert unpacked(made) == text


def test_what_is_alike_takes_little_room() -> None:
    calls = [
        {"label": f"move(x={n})", "result": f"<p>moved to {n}, and nothing else was done</p>"} for n in range(1000)
    ]
    assert len(packed(calls)) < len(compress(json.dumps(calls).encode(), 9)) * 0.6
