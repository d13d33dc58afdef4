"""The call notation: parsing, printing, and error messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corepath import (
    ANY,
    Action,
    Call,
    NotationError,
    Procedure,
    Tool,
    action,
    any_order,
    approx,
    between,
    call,
    choice,
    contains,
    none_of,
    one_of,
    optional,
    regex,
    repeat,
    result_of,
    same_text,
    seq,
    tool,
    unordered,
    var,
)
from corepath.notation.call import REQUIRED
from corepath.notation.matchers import Literal, Scope
from corepath.notation.parser import matcher, procedure
from corepath.notation.patterns import as_matcher
from corepath.values import MOST_DIGITS, equal, to_notation, tool_text
from tests.strategies import (
    NAMED,
    actions,
    calls,
    fitting,
    json_values,
    matchers,
    mixed_procedures,
    names,
    procedures,
    texts,
    tool_names,
    tools,
)

a, b, c, d = (Tool(name)().named(name) for name in "abcd")
ABCD = {"a": a, "b": b, "c": c, "d": d}

READERS: tuple[Callable[[str], Any], ...] = (
    call,
    action,
    matcher,
    tool,
    lambda text: procedure(text, NAMED.get, tuple(NAMED)),
)


# What it reads


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("send()", Call("send", {})),
        ('send(to="Bob", amount=100)', Call("send", {"to": "Bob", "amount": 100})),
        ("send(to='Bob',)", Call("send", {"to": "Bob"})),
        (" send ( to = 'Bob' )\n", Call("send", {"to": "Bob"})),
        (
            "f(a=true, b=True, c=null, d=None, e=false)",
            Call("f", {"a": True, "b": True, "c": None, "d": None, "e": False}),
        ),
        ("f(a=-1.5e3, b=+2, c=.5, d=1.)", Call("f", {"a": -1500.0, "b": 2, "c": 0.5, "d": 1.0})),
        ('f(a=[1, {"k": "v", k2: []}], b={})', Call("f", {"a": [1, {"k": "v", "k2": []}], "b": {}})),
        ('"my tool"("odd name"=1)', Call("my tool", {"odd name": 1})),
        ("ns.tool-2/x(user.id=1)", Call("ns.tool-2/x", {"user.id": 1})),
        ("f(true=1, ANY=2)", Call("f", {"true": 1, "ANY": 2})),
        (r'f(a="\"\\\/\n\u00e9\x41\t")', Call("f", {"a": '"\\/\né\x41\t'})),
        (r'f(a="\ud83d\ude00")', Call("f", {"a": "😀"})),
        (r'f(a="C:\dir\8", b="\u12")', Call("f", {"a": "C:\\dir\\8", "b": "\\u12"})),
        ("f(a='it''s')".replace("''", "\\'"), Call("f", {"a": "it's"})),
        ('f(a="line\nbreak")', Call("f", {"a": "line\nbreak"})),
    ],
)
def test_a_call_is_read(text: Any, expected: Any) -> None:
    assert call(text) == expected


def test_numbers_keep_their_kind_and_all_their_digits() -> None:
    read = call(f"f(a=1, b=1.0, c=1e2, d={10**400}, e=12345678901234567890)").arguments
    assert [type(value) for value in read.values()] == [int, float, float, int, int]
    assert read["d"] == 10**400
    assert read["e"] == 12345678901234567890


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ANY", ANY),
        ("$order_id", var("order_id")),
        ("approx(4.5)", approx(4.5)),
        ("approx(4.5, tol=0.1)", approx(4.5, tol=0.1)),
        ("approx(4.5, 0.1)", approx(4.5, tol=0.1)),
        ('between("a", "b")', between("a", "b")),
        ('one_of("low", 1, [2], approx(3))', one_of("low", 1, [2], approx(3))),
        ("none_of(null, $x)", none_of(None, var("x"))),
        (r'regex("\d+")', regex(r"\d+")),
        (r'regex("\\d+")', regex(r"\d+")),
        (r"regex('\w+\.(com|org)')", regex(r"\w+\.(com|org)")),
        (r'regex("\pL+", example="é")', regex(r"\pL+", example="é")),
        ("contains({id: 1, ...})", contains({"id": 1, ...: ...})),
        ('unordered(["a", $x, ANY])', unordered(["a", var("x"), ANY])),
        ("unordered([])", unordered([])),
        ('same_text("Ada")', same_text("Ada")),
        ("[1, ANY, {a: $x}]", [1, ANY, {"a": var("x")}]),
        ("{a: {b: ANY, ...}, ...}", {"a": {"b": ANY, ...: ...}, ...: ...}),
        ("{}", {}),
        ("{...}", {...: ...}),
    ],
)
def test_a_matcher_is_read(text: Any, expected: Any) -> None:
    assert matcher(text) == as_matcher(expected)


def test_an_action_is_read() -> None:
    send = Tool("send")
    assert action("send(...)") == send.any()
    assert action('send(to="Bob", ...)') == send.where(to="Bob")
    assert action('send(to="Bob", ...,)') == send.where(to="Bob")
    assert action("send(to=$p) -> {status: 'ok'}") == send(to=var("p")).returns({"status": "ok"})
    assert action("send() -> null") == send().returns(None)
    assert action("get_*(...)").fits_tool("get_user")
    assert action("send(a=1, b=2)") == action("send(b=2.0, a=1)")
    assert action("send(a=1)") != action("send(a=true)")


def test_result_of_speaks_of_an_action_by_name_or_outright() -> None:
    check = action('check(policy="P1")').named("check it")
    lookup = {"check": check, "check it": check}.get
    expected = Tool("f")(x=result_of(check, "rule.id"))
    assert action('f(x=result_of(check, "rule.id"))', lookup) == expected
    assert action('f(x=result_of("check it", "rule.id"))', lookup) == expected
    assert action('f(x=result_of(check(policy="P1"), "rule.id"))') == expected
    assert action(expected.notation, lookup) == expected
    assert action('f(x=result_of("my tool"()))') == Tool("f")(x=result_of(Tool("my tool")()))


def test_a_tool_is_read_with_its_parameters() -> None:
    assert tool("pay") == Tool("pay")
    assert tool("pay()") == Tool("pay", {})
    assert tool('pay(to, amount, currency="EUR")') == Tool(
        "pay", {"to": REQUIRED, "amount": REQUIRED, "currency": "EUR"}
    )
    assert tool('"my tool"("odd name"={a: [1]})') == Tool("my tool", {"odd name": {"a": [1]}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", seq()),
        ("  \n", seq()),
        ("()", seq()),
        ("a", a),
        ("(((a)))", a),
        ("a >> b >> c", seq(a, b, c)),
        ("a & b & c", any_order(a, b, c)),
        ("a | b | c", choice(a, b, c)),
        ("a >> b & c | d", choice(any_order(seq(a, b), c), d)),
        ("a | b & c >> d", choice(a, any_order(b, seq(c, d)))),
        ("a & b >> c & d", any_order(a, seq(b, c), d)),
        ("a >> (b & c) | d", choice(seq(a, any_order(b, c)), d)),
        ("(a | b) >> c", seq(choice(a, b), c)),
        ("a?", optional(a)),
        ("a{3}", repeat(a, times=3)),
        ("a{2,4}", repeat(a, 2, 4)),
        ("a{0,1}", optional(a)),
        ("a{2}?", optional(repeat(a, times=2))),
        ("a >> b? >> (c | d){2,3}", seq(a, optional(b), repeat(choice(c, d), 2, 3))),
        ("a | ()", choice(a, seq())),
        ("f(x=1) >> a", seq(Tool("f")(x=1), a)),
        ("f() -> {ok: true}{2}", repeat(Tool("f")().returns({"ok": True}), times=2)),
        ("f() -> ANY? >> a", seq(optional(Tool("f")().returns(ANY)), a)),
        ('"a" >> "b"', seq(a, b)),
    ],
)
def test_a_procedure_is_read(text: Any, expected: Any) -> None:
    assert procedure(text, ABCD.get).procedure == expected


expressions = st.recursive(
    st.sampled_from("abcd"),
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from([">>", "&", "|"]), inner),
        inner.map("({})".format),
    ),
    max_leaves=12,
)


@given(expressions)
@example("a >> b & c | d")
def test_operators_bind_as_in_python(text: Any) -> None:
    assert procedure(text, ABCD.get).procedure == eval(text, {}, dict(ABCD))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a >> b & c", ["'a >> b' is one side of '&' here; write (a >> b) to say so"]),
        ("a | b >> c", ["'b >> c' is one side of '|' here; write (b >> c) to say so"]),
        ("a & b | c & d", ["'a & b' is", "'c & d' is"]),
        ("a >> b & c | d", ["'a >> b' is", "'a >> b & c' is"]),
        ("a >> (b & c | d)", ["'b & c' is"]),
        ("f(x={y: [1]}) >> b & c", ["'f(x={y: [1]}) >> b' is"]),
    ],
)
def test_a_mix_without_parentheses_is_warned_of(text: Any, parts: Any) -> None:
    warnings = procedure(text, ABCD.get).warnings
    assert len(warnings) == len(parts)
    assert all(part in warning for part, warning in zip(parts, warnings, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "a >> b >> c",
        "(a >> b) & c",
        "((a >> b) & c) | d",
        "a >> (b & c)",
        "a{2,4} & b?",
        "f(x={a: 1}) -> {b: [1, 2]} & a",
        'f(x="a >> b & c") | a',
    ],
)
def test_parentheses_leave_nothing_to_warn_of(text: Any) -> None:
    assert procedure(text, ABCD.get).warnings == ()


# Writing and reading again


@given(json_values)
def test_a_value_is_written_as_it_is_read(value: Any) -> None:
    read = matcher(to_notation(value))
    assert isinstance(read, Literal)
    assert equal(read.value, value)
    assert type(read.value) is type(value)


@given(st.text(alphabet=st.characters(codec=None), max_size=20).filter(lambda text: utf16(text) == text))
def test_a_text_of_any_characters_is_written_as_it_is_read(text: Any) -> None:
    assert call(f"f(x={to_notation(text)})").arguments == {"x": text}
    assert to_notation(text).encode()


def utf16(text: str) -> str:
    """The text with surrogate pairs joined, as JSON does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(matchers)
@example(as_matcher(regex(r"\pL+", example="é")))
@example(as_matcher(unordered([var("x"), [ANY]])))
@example(as_matcher(one_of({"e\u0301": ANY, "a·b": 1})))
@example(as_matcher(10**1500))
def test_a_matcher_is_written_as_it_is_read(made: Any) -> None:
    assert matcher(str(made)) == made
    assert str(matcher(str(made))) == str(made)


@given(fitting, json_values)
def test_a_matcher_that_was_read_again_takes_the_same_values(pair: Any, other: Any) -> None:
    made, value = pair
    again = matcher(str(made))
    assert again.matches(value, Scope())
    assert again.matches(other, Scope()) == made.matches(other, Scope())


@given(actions())
def test_an_action_is_written_as_it_is_read(made: Any) -> None:
    assert action(made.notation) == made
    assert str(made) == made.notation
    assert hash(action(made.notation)) == hash(made)


@given(calls)
def test_a_call_is_written_as_it_is_read(made: Any) -> None:
    again = call(str(made))
    assert again.tool == made.tool
    assert equal(again.arguments, made.arguments)


@given(tools, st.lists(names, unique=True, max_size=3))
def test_a_tool_is_written_as_it_is_read(made: Any, required: Any) -> None:
    whole = made
    if made.parameters is not None:
        whole = Tool(made.name, {**made.parameters, **dict.fromkeys(required, REQUIRED)})
    again = tool(str(whole))
    assert again.name == whole.name
    assert again == whole
    assert list(again.parameters or ()) == list(whole.parameters or ())


@given(tool_names)
def test_any_name_is_read_as_the_tool_it_names(name: Any) -> None:
    assert tool(tool_text(name)) == Tool(name)
    assert action(f"{tool_text(name)}(...)") == Tool(name).any()


@given(procedures)
@example(repeat(repeat(repeat(a.named("a"), 2, 2), 0, 1), 1, 3))
@example(choice(seq(), seq(), any_order(NAMED["a"], seq())))
def test_a_procedure_is_written_as_it_is_read_and_needs_no_warning(made: Any) -> None:
    again = procedure(str(made), {**NAMED, "a": NAMED["a"]}.get)
    assert again.procedure == made
    assert again.warnings == ()


@given(mixed_procedures)
def test_a_procedure_of_actions_outright_is_written_as_it_is_read(made: Any) -> None:
    again = procedure(str(made), NAMED.get)
    assert again.procedure == made
    assert again.warnings == ()


def test_a_deep_procedure_that_was_read_can_be_written_and_compared() -> None:
    text = "a | b & c >> (" * 48 + "a{2}?" + ")" * 48
    read = procedure(text, ABCD.get).procedure
    assert read == procedure(text, ABCD.get).procedure
    assert str(read).count("b & ") == 48


# Text that cannot be read


@pytest.mark.parametrize(
    ("read", "text", "message", "position"),
    [
        (action, 'send("Bob")', "arguments have names: send(name=value), or send(...) for any", 5),
        (action, "send(to)", "arguments have names: send(name=value), or send(...) for any", 5),
        (action, 'send(to="Bob)', 'the text that begins here has no closing "', 8),
        (action, "send(to='Bob)", "the text that begins here has no closing '", 8),
        (action, "send(x=aprox(4))", "no matcher 'aprox'; did you mean 'approx'?", 7),
        (action, "send(x=foo(4))", "no matcher 'foo'; there is approx, between, one_of", 7),
        (action, "send(to=Bob)", "'Bob' is not a value; a text is written in quotes: \"Bob\"", 8),
        (action, "send(to=Bob Smith)", "'Bob' is not a value; a text is written in quotes", 8),
        (action, "send(..., to=1)", "'...' comes last, after the named arguments", 10),
        (action, "send(to=...)", "expected a value, not '...'", 8),
        (action, "send", "expected '(' and the arguments after 'send', as in send(...)", 4),
        (action, "send(", "the arguments of send have no closing ')'", 5),
        (action, "send(to=1", "expected ',' or ')' in the arguments of send", 9),
        (action, "send(...", "the arguments of send have no closing ')'", 8),
        (action, "send(to=1 cc=2)", "expected ',' or ')' in the arguments of send", 10),
        (action, "send(to=)", "expected a value, not ')'", 8),
        (action, "send(to=1, to=2)", "to is given twice", 11),
        (action, "send(to={a: 1, a: 2})", "a is given twice", 15),
        (action, "send(day=2025-01-01)", "expected a number; a text is written in quotes", 9),
        (action, "send(n=1_000)", "expected a number; a text is written in quotes", 7),
        (action, "send(n=1e999)", "1e999 is too large", 7),
        (action, "send() extra", "unexpected 'extra' after the end", 7),
        (action, "send(x={a})", "expected ':' and a value after the key a", 9),
        (action, "send(x={1: 2})", 'expected a key, as in {status: "open"}', 8),
        (action, "send(x=[1 2])", "expected ',' or ']'", 10),
        (action, "send(x=between(5, 1))", "between(5, 1) is empty", 7),
        (action, "send(x=between(1))", "between() missing 1 required positional argument: 'high'", 7),
        (action, "send(x=approx(1, tolerance=2))", "unexpected keyword argument 'tolerance'", 7),
        (action, "send(x=approx(1, tol=2, tol=3))", "tol is given twice", 24),
        (action, 'send(x=regex("(a"))', "missing ): (a (RE2 syntax", 7),
        (action, 'send(x=one_of(["a"]))', "one_of() takes the values themselves", 7),
        (action, "send(x=result_of(check))", "no action 'check'", 17),
        (action, "send(x=result_of(1))", "result_of takes the name of an action and a path", 17),
        (action, "send(x=result_of(check(), 1))", "the path is a text", 26),
        (action, "send(x=$1)", "'$' means nothing here", 7),
        (action, "", 'expected a call, such as send(to="Bob")', 0),
        (call, "send(...)", "a call has concrete arguments; '...' and '->' belong to patterns", 0),
        (call, "send() -> 1", "a call has concrete arguments", 0),
        (call, "send(x=ANY)", "a call has concrete arguments; x=ANY is a pattern", 0),
        (call, "send(x=[$y])", "a call has concrete arguments; x=[$y] is a pattern", 0),
        (tool, "pay(1)", 'expected a parameter, as in pay(to, amount, currency="EUR")', 4),
        (tool, "pay(a, a)", "a is given twice", 7),
        (tool, "pay(a=ANY)", "the default of a is a value; ANY is a pattern", 6),
        (tool, "(a)", "expected a tool's name", 0),
    ],
)
def test_an_error_says_what_is_wrong_and_where(read: Any, text: Any, message: Any, position: Any) -> None:
    with pytest.raises(NotationError) as error:
        read(text)
    assert message in error.value.message
    assert error.value.position == position
    assert f"at character {position + 1} of" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("seq(a, b)", "seq() is written with operators in text: a >> b", 4),
        ("any_order(a, b)", "any_order() is written with operators in text: a & b", 10),
        ("choice(a, b)", "choice() is written with operators in text: a | b", 7),
        ("optional(a)", "optional() is written with operators in text: a?", 9),
        ("repeat(a, 2)", "repeat() is written with operators in text: a{2,4}", 7),
        ("a >> aa", "no action 'aa'; did you mean 'a'?", 5),
        ("a >> zebra", "no action 'zebra'; there is a, b, c, d", 5),
        ("a >>", "expected an action, but the procedure ends here", 4),
        (">> a", "expected an action, not '>>'", 0),
        ("a b", "two steps without an operator; write >> for then", 2),
        ("(a >> b", "expected ')'", 7),
        ("a >> b)", "unexpected ')' after the end", 6),
        ("a{4,2}", "{4,2} is empty: the first number is larger than the second", 2),
        ("a{x}", "expected a number of times, as in {3} or {2,4}", 2),
        ("a{-1}", "expected a number of times, as in {3} or {2,4}", 2),
        ("a{1.5}", "expected a number of times, as in {3} or {2,4}", 2),
        ("a{2", "expected '}' after the number of times", 3),
        ("a???", "'?' is one too many; write (a?){2}", 3),
        ("a > b", "'>' means nothing here", 2),
        ("a -> 1", "'->' means nothing here; write >> for then", 2),
        ("a, b", "',' means nothing here; write >> for then", 1),
    ],
)
def test_an_error_in_a_procedure_says_what_is_wrong_and_where(text: Any, message: Any, position: Any) -> None:
    with pytest.raises(NotationError) as error:
        procedure(text, ABCD.get, tuple(ABCD))
    assert message in error.value.message
    assert error.value.position == position


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((f"a {sign} b", f"'{sign}' means nothing here; write >> for then") for sign in (">", "->", "→", ";", "then")),
        *((f"a() {sign} b()", f"'{sign}' means nothing here; write >> for then") for sign in (">", "=>", "⇒", ",")),
        ("a() -> b()", "'->' comes before what a call returns, as in f() -> {ok: true}; write >> for then"),
        ("a() -> b", "'->' comes before what a call returns"),
        ("(a and b) >> c", "'and' means nothing here; write & for both"),
        ("(a >> b", "expected ')'"),
        ("a && b", "'&&' means nothing here; write & for both"),
        ("a || b", "'||' means nothing here; write | for one of them"),
        ("a or b", "'or' means nothing here; write | for one of them"),
        ("a() + b()", "'+' means nothing here; write & for both or >> for then"),
        ("a()*3", "'*3' means nothing here; write {3} to repeat a step, as in a{3}"),
        ("a() * 12", "'* 12' means nothing here; write {12}"),
        ("a*3", "'a*3' is not an action; write {3} to repeat a step, as in a{3}"),
        ("3*a()", "the number of times comes after a step, as in a{3}"),
        ("a()*", "'*' has no end; say how often a step may be done, as in a{0,5}"),
        ("a{2..4}", "expected a number of times, as in {3} or {2,4}"),
        ("- a()\n- b()", "'-' means nothing here; between steps write >> for then"),
        ("a(x>3)", "'>' means nothing here; a range of values is written between(1, 5)"),
    ],
)
def test_a_sign_of_another_language_is_told_with_the_right_one(text: str, message: str) -> None:
    with pytest.raises(NotationError) as error:
        procedure(text, ABCD.get, tuple(ABCD))
    assert message in error.value.message


def test_a_tool_where_an_action_should_be_is_told_with_its_brackets() -> None:
    for text, known in (("f", ("f",)), ("a >> f() >> f", ())):
        with pytest.raises(NotationError, match=r"no action 'f'; to call the tool f write f\(\)"):
            procedure(text, ABCD.get, tuple(ABCD), known)
    with pytest.raises(NotationError, match=r"no action 'f'; name it under 'actions', or write f\(\) to call a tool"):
        procedure("f")
    with pytest.raises(NotationError, match="no action 'f'; there is a, b, c, d"):
        procedure("f", ABCD.get, tuple(ABCD))


def test_a_long_text_is_shown_in_part() -> None:
    with pytest.raises(NotationError) as error:
        action(f"send(to={to_notation('x' * 5000)}, cc=Bob)")
    assert len(str(error.value)) < 250
    assert "cc=Bob)" in str(error.value)


def read_or_refused(read: Callable[[str], Any], text: str) -> Any:
    """The parsed value, or None if the text was refused with a proper error."""
    try:
        return read(text)
    except NotationError as found:
        error = found
    assert error.text == text
    assert 0 <= error.position <= len(text)
    assert error.message
    return None


@given(st.text(max_size=60))
@example("\\")
@example("$")
@example("f(x=$e\u0301)")
@example("f(x=regex('[[a]'))")
@example("f(x=regex('a', example=1))")
@example("f(x=approx(ANY, tol=ANY))")
@example("f(x=approx(1" + "0" * 400 + "))")
@example("f(x=none_of(ANY))")
@example("f(x=unordered(1, 2))")
@example("f(x=contains())")
@example("f(x=regex('\\ud800'))")
@example("f(x=same_text('\\ud800'))")
@example("f(x=result_of())")
@example("f(x=between('a', ANY))")
def test_any_text_is_read_or_refused(text: Any) -> None:
    for read in READERS:
        read_or_refused(read, text)


PIECES = [
    *("f", "a", "send", "ANY", "true", "null", "approx", "between", "one_of", "none_of", "regex", "contains", "seq"),
    *("unordered", "same_text", "result_of", "tol", "example", "$x", "$", "...", "->", ">>", "&", "|", "?", "*", "#"),
    *("(", ")", "[", "]", "{", "}", ",", ":", "=", '"', "'", "\\", '"x"', "'y'", '"(a+"', "1", "-2.5", "1e9", "1e999"),
    *(" ", "\n", "\0", "é", "\ud800", "9" * 30),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_row_of_its_own_pieces_is_read_or_refused(text: Any) -> None:
    for read in READERS:
        read_or_refused(read, text)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.one_of(actions().map(str), matchers.map(str), mixed_procedures.map(str), tools.map(str)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 5)))
        text = text[:start] + draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.just(text[:10]))) + text[end:]
    return text


@given(mutated())
def test_notation_with_faults_is_read_or_refused(text: Any) -> None:
    for read in READERS:
        again = read_or_refused(read, text)
        if isinstance(again, Action):
            assert action(again.notation) == again
        if isinstance(again, Tool):
            assert tool(str(again)) == again


HOSTILE = {
    "digits": "1" * 100_000 + "x",
    "digits and dots": "1." * 50_000,
    "a number": "1" * 100_000,
    "an exponent": "1e" + "9" * 100_000,
    "open quote": '"' + "a" * 100_000,
    "open quote and escapes": '"' + "\\a" * 50_000,
    "a text": '"' + "\\u0041" * 16_000 + '"',
    "spaces": " " * 100_000 + "!",
    "a name": "a" * 100_000,
    "a name with dots": "a." * 50_000,
    "unknown matcher": "f(x=" + "a" * 100_000 + "(1))",
    "round brackets": "(" * 10_000,
    "square brackets": "[" * 10_000,
    "curly brackets": "{" * 10_000,
    "objects": "{a:" * 10_000,
    "closed brackets": "[" * 10_000 + "]" * 10_000,
    "calls": "f(x=" * 10_000,
    "matchers": "one_of(" * 10_000,
    "none_of": "none_of(" * 90 + "1" + ")" * 90,
    "contains": "contains(" * 99 + "1" + ")" * 99,
    "results": "f(x=result_of(" * 10_000,
    "a deep list with many items": "[" * 99 + "1," * 45_000 + "]" * 99,
    "a deep list with many items and a matcher": "[" * 99 + "ANY," + "1," * 45_000 + "]" * 99,
    "a deep result with many items": "f() -> " + "[" * 90 + "{}," + "[1]," * 20_000 + "]" * 90,
    "many arguments": "f(" + ",".join(f"a{number}=1" for number in range(10_000)) + ")",
    "many keys": "{" + ",".join(f"a{number}:ANY" for number in range(10_000)) + "}",
    "many options": "one_of(" + ",".join(map(str, range(15_000))) + ")",
    "many not": "none_of(" + ",".join(map(str, range(15_000))) + ")",
    "many items": "unordered([" + ",".join(map(str, range(300))) + "])",
    "many steps": " >> ".join(["a"] * 20_000),
    "many mixes": "&".join(["a>>b"] * 16_000),
    "many suffixes": "a" + "?" * 100_000,
    "many times": "a" + "{2}" * 30_000,
    "regex of pluses": 'regex("' + "(" * 300 + "a" + ")+" * 300 + '")',
    "regex of options": 'regex("' + "(a?){1000}" * 1000 + '")',
    "long regex": 'regex("' + "a" * 90_000 + '")',
    "regex of classes": 'regex("' + "[^a-z]" * 10_000 + '")',
    "operators": ">>&|" * 25_000,
    "commas": "f(" + "," * 100_000,
    "dots": "." * 100_000,
    "variables": "[" + "$x," * 25_000 + "]",
    "signs": "-" * 100_000,
    "nul": "\0" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("read", READERS, ids=["call", "action", "matcher", "tool", "procedure"])
def test_no_text_is_slow_or_breaks_the_reader(read: Any, text: Any) -> None:
    begun = time.process_time()
    read_or_refused(read, text)
    assert time.process_time() - begun < 10


@settings(max_examples=10)
@given(st.characters(), st.integers(1, 3))
def test_a_hundred_thousand_of_any_character_are_read_or_refused(character: Any, width: Any) -> None:
    text = (character * width + "(") * (100_000 // (width + 1))
    begun = time.process_time()
    for read in READERS:
        read_or_refused(read, text)
    assert time.process_time() - begun < 10


def test_nesting_is_read_to_a_stated_depth_and_refused_beyond() -> None:
    assert matcher("[" * 100 + "]" * 100).matches(matcher("[" * 100 + "]" * 100).examples()[0], Scope())
    assert procedure("(" * 49 + "a" + ")" * 49, ABCD.get).procedure == a
    with pytest.raises(NotationError, match="nested deeper than 100 levels"):
        matcher("[" * 101 + "]" * 101)
    with pytest.raises(NotationError, match="nested deeper than 50 levels"):
        procedure("(" * 50 + "a" + ")" * 50, ABCD.get)


def test_numbers_are_read_to_a_stated_number_of_digits() -> None:
    assert matcher("9" * MOST_DIGITS) == as_matcher(10**MOST_DIGITS - 1)
    with pytest.raises(NotationError, match=r"a number of more than 4,300 digits"):
        matcher("9" * (MOST_DIGITS + 1))


@pytest.mark.parametrize(
    "code",
    [
        "open({path!r}, 'w')",
        "f(x=open({path!r}, 'w'))",
        "f(x=__import__('pathlib').Path({path!r}).touch())",
        "f(x=[open({path!r}, 'w') for _ in [1]])",
        "f(x=(lambda: open({path!r}, 'w'))())",
        "exec(code=\"open({path!r}, 'w')\")",
        'f(x="{{open({path!r}, \\"w\\")}}")',
        "!!python/object/apply:builtins.open [{path!r}, w]",
    ],
)
def test_nothing_is_ever_evaluated(code: Any, tmp_path: Any) -> None:
    path = tmp_path / "made"
    for read in READERS:
        read_or_refused(read, code.format(path=str(path)))
    assert not path.exists()


@given(texts)
def test_a_text_in_quotes_is_only_a_text(text: Any) -> None:
    assert action(f"f(x={to_notation(text)})") == Tool("f")(x=text)


def test_names_are_looked_up_as_they_are_written() -> None:
    asked: list[str] = []

    def lookup(name: str) -> Action | None:
        asked.append(name)
        return a

    read: Procedure = procedure('log-in >> "log out" >> ns.x/y*', lookup).procedure
    assert read == seq(a, a, a)
    assert asked == ["log-in", "log out", "ns.x/y*"]


def test_a_tool_may_have_any_name() -> None:
    odd = tool("server:do it")
    assert odd.name == "server:do it"
    assert action(odd(n=1).notation) == odd(n=1)
