"""Hypothesis strategies: JSON values, matchers with matching values, actions, calls, procedures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from corepath import (
    ANY,
    Action,
    Call,
    Procedure,
    Tool,
    any_order,
    approx,
    between,
    choice,
    contains,
    none_of,
    one_of,
    regex,
    repeat,
    result_of,
    same_text,
    seq,
    unordered,
    var,
)
from corepath.notation.matchers import Matcher, Scope
from corepath.notation.patterns import as_matcher

Fitting = tuple[Matcher, Any]
"""A matcher and a value that it matches."""

odd_texts = st.sampled_from(
    [
        "",
        " ",
        '"',
        "'",
        "\\",
        "\\n",
        "\\u0041",
        "\n",
        "\r\n\t\b\f\0",
        "\u2028",
        "\ufeff",
        "\ud800",
        "x\udfffy",
        "😀",
        "e\u0301",
        "a·b",
        "℘",
        "²",
        "नमस्ते",
        "$x",
        "...",
        "->",
        "ANY",
        "true",
        "None",
        "1e5",
        "-1",
        "a-b",
        "a.b/c",
        "a:b",
        "get_*",
        "*",
        "f(x=1)",
        "a >> b",
        "#",
    ]
)
texts = st.one_of(st.text(max_size=12), odd_texts)
names = st.one_of(st.sampled_from(["a", "b", "amount", "account_id"]), texts)
tool_names = st.one_of(st.sampled_from(["send", "get.user", "a-b", "ns/tool", "mcp:call", "my tool", "get_*"]), texts)
whole_numbers = st.one_of(st.integers(-10, 10), st.integers(), st.sampled_from([2**53, 2**53 + 1, 10**400, -(10**400)]))
numbers = st.one_of(
    whole_numbers,
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 0.0, -0.0, 1, 1.0, 0.1, 0.3, 1e22, 10**22, 5e-324, 1.7976931348623157e308]),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
json_objects = st.dictionaries(names, json_values, max_size=4)

REGEXES = (
    "[a-z]+",
    "[az]+",
    "a|b|cd",
    "[^a-z]+",
    r"\d{4}-\d{2}-\d{2}",
    r"[^@\s]+@[^@\s]+\.[a-z]{2,}",
    "(a+)+b",
    "(?i)yes|no",
    r"[^\w]",
    "x*",
    ".{3,5}",
    "^start.*end$",
    "\u00e9|\u4e2d",
)


@st.composite
def approximations(draw: st.DrawFn) -> Fitting:
    middle, share = draw(numbers), draw(st.fractions(-1, 1))
    tol = draw(st.none() | numbers.map(abs))
    reach = abs(exact(middle)) / 10**6 if tol is None else exact(tol)
    try:
        value: float = float(exact(middle) + reach * share)
    except OverflowError:
        value = middle
    inside = abs(exact(value) - exact(middle)) <= reach
    return approx(middle, tol), value if inside else middle


@st.composite
def ranges(draw: st.DrawFn) -> Fitting:
    ends = draw(st.one_of(st.lists(numbers, min_size=3, max_size=3), st.lists(texts, min_size=3, max_size=3)))
    low, value, high = sorted(ends)
    return between(low, high), value


literals = json_values.map(lambda value: (as_matcher(value), value))
anything = json_values.map(lambda value: (as_matcher(ANY), value))
expressions = st.sampled_from(REGEXES).flatmap(
    lambda pattern: st.tuples(st.just(regex(pattern)), st.from_regex(pattern, fullmatch=True)).filter(
        lambda pair: pair[0].matches(pair[1], Scope())  # RE2's \w, \d and dot are narrower than Python's
    )
)
same_texts = texts.map(lambda text: (same_text(text), f" {text}\n"))
others = st.tuples(st.lists(scalars, min_size=1, max_size=3), json_values).map(
    lambda pair: (none_of(*pair[0]), pair[1])
)
none_ofs = others.filter(lambda pair: pair[0].matches(pair[1], Scope()))
proven_leaves = st.one_of(literals, anything, ranges())
leaves = st.one_of(proven_leaves, approximations(), expressions, same_texts, none_ofs)


def _compound(inner: st.SearchStrategy[Fitting]) -> st.SearchStrategy[Fitting]:
    return st.one_of(_options(inner), _lists(inner), _objects(inner), _contains(inner), _unordered(inner))


def _proven_compound(inner: st.SearchStrategy[Fitting]) -> st.SearchStrategy[Fitting]:
    return st.one_of(_options(inner), _lists(inner), _objects(inner))


@st.composite
def _options(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    pairs = draw(st.lists(inner, min_size=2, max_size=3))
    return one_of(*(matcher for matcher, _ in pairs)), draw(st.sampled_from(pairs))[1]


@st.composite
def _lists(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    pairs = draw(st.lists(inner, max_size=3))
    return as_matcher([matcher for matcher, _ in pairs]), [value for _, value in pairs]


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    pairs = draw(st.dictionaries(names, inner, max_size=3))
    pattern: dict[Any, Any] = {name: matcher for name, (matcher, _) in pairs.items()}
    value = {name: value for name, (_, value) in pairs.items()}
    if draw(st.booleans()):
        pattern[...] = ...
        value = {**draw(json_objects), **value}
    return as_matcher(pattern), value


@st.composite
def _contains(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    if draw(st.booleans()):
        part = draw(texts)
        return contains(part), draw(texts) + part + draw(texts)
    matcher, value = draw(inner)
    return contains(matcher), [*draw(st.lists(scalars, max_size=2)), value]


@st.composite
def _unordered(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    pairs = draw(st.lists(inner, max_size=4))
    return unordered([matcher for matcher, _ in pairs]), draw(st.permutations([value for _, value in pairs]))


fitting = st.recursive(leaves, _compound, max_leaves=6)
"""A matcher without variables, and a value that it matches."""
proven = st.recursive(proven_leaves, _proven_compound, max_leaves=6)
"""Like `fitting`, but built only from literals, ANY, one_of and between."""
variables = st.sampled_from(["x", "y", "order_id", "é"]).map(lambda name: as_matcher(var(name)))
matchers = st.one_of(
    fitting.map(lambda pair: pair[0]),
    variables,
    st.lists(st.one_of(variables, leaves.map(lambda pair: pair[0])), max_size=3).map(unordered),
)


@st.composite
def plain_actions(draw: st.DrawFn) -> Action:
    tool = Tool(draw(tool_names))
    arguments = draw(st.dictionaries(names, matchers, max_size=3))
    action = tool.where(**arguments) if draw(st.booleans()) else tool(**arguments)
    return action.returns(draw(matchers)) if draw(st.booleans()) else action


@st.composite
def actions(draw: st.DrawFn) -> Action:
    action = draw(plain_actions())
    if draw(st.booleans()):
        source, path = draw(plain_actions()), draw(st.none() | texts)
        return Tool(action.tool).where(**{**dict(action.arguments.fields), "from": result_of(source, path)})
    return action


calls = st.builds(Call, tool_names, json_objects)
tools = st.builds(
    Tool, tool_names, st.none() | st.dictionaries(names, json_values, max_size=3)
)  # without required parameters: tests add their own

NAMED: dict[str, Action] = {
    name: Tool(name)().named(name) for name in ("a", "b", "c", "log in", "e\u0301", "ns/tool", "?", "x-1")
}
"""Actions by name, including odd names."""


def _combined(inner: st.SearchStrategy[Procedure]) -> st.SearchStrategy[Procedure]:
    parts = st.lists(inner, max_size=3)
    times = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted)
    return st.one_of(
        parts.map(lambda parts: seq(*parts)),
        parts.map(lambda parts: any_order(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: choice(*parts)),
        st.builds(lambda step, times: repeat(step, *times), inner, times),
    )


named_actions = st.sampled_from(list(NAMED.values()))
procedures = st.recursive(named_actions, _combined, max_leaves=8)
"""Procedures over the actions of `NAMED`."""
mixed_procedures = st.recursive(st.one_of(named_actions, actions()), _combined, max_leaves=5)


def exact(number: float) -> Fraction:
    """The number as a fraction, exactly as it is written."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
