"""The call notation: calls, actions, matchers, tools and procedures read from text.

    deposit(account_id="A123", amount=between(1, 100), ...)     a call or an action; `...` opens the pattern
    check(policy=$p) -> {status: "conflict"}                    with a pattern over its result
    unlock & scan >> move(to="C") >> water{2,4} >> log?         a procedure, of actions by name or outright

Text is only ever taken apart, never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from corepath.errors import NotationError, TaskError, nearest
from corepath.notation import patterns
from corepath.notation.action import Action, Tool
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Fields, Literal, Matcher
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import Procedure, any_order, choice, repeat, seq
from corepath.values import MOST_DIGITS, why_not_json

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.-]))
    | (?P<variable>\$[^\W\d]\w*)
    | (?P<name>[^\W\d][\w*]*(?:[-./][\w*]+)*|\*[\w*]*)
    | (?P<sign>\.\.\.|->|>>|[&|?{}()\[\],:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", '"': '"', "'": "'", "\\": "\\", "/": "/"
}  # fmt: skip
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_MATCHERS: Final[dict[str, Callable[..., Any]]] = {
    "approx": patterns.approx,
    "between": patterns.between,
    "one_of": patterns.one_of,
    "none_of": patterns.none_of,
    "regex": patterns.regex,
    "contains": patterns.contains,
    "unordered": patterns.unordered,
    "same_text": patterns.same_text,
}
_IN_PYTHON: Final = {"seq": "a >> b", "any_order": "a & b", "choice": "a | b", "optional": "a?", "repeat": "a{2,4}"}
_THEN, _BOTH, _EITHER = ">> for then, as in a >> b", "& for both, as in a & b", "| for one of them, as in a | b"
_MEANT: Final = {
    **dict.fromkeys((">", "->", "=>", "→", "⇒", ",", ";", "then", "THEN"), _THEN),
    **dict.fromkeys(("||", "or", "OR", "/"), _EITHER),
    **dict.fromkeys(("&&", "and", "AND"), _BOTH),
    "+": "& for both or >> for then, as in a & b or a >> b",
}
"""Signs of other languages between two steps, and what to write in their place."""
_TIMES: Final = re.compile(r"\*+\s*(\d+)")
_DEEPEST: Final = 100
_DEEPEST_PROCEDURE: Final = 50
_MOST_SUFFIXES: Final = 2

Lookup = Callable[[str], Action | None]
"""Finds the action that a name stands for."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


@dataclass(frozen=True)
class ReadProcedure:
    """A procedure from text, and what its author should be told of it."""

    procedure: Procedure
    warnings: tuple[str, ...]


def call(text: str) -> Call:
    """A concrete call: `call('deposit(account_id="A123", amount=100)')`."""
    reader = _Reader(text)
    action = reader.action()
    reader.end()
    if action.arguments.open or action.result is not None:
        raise NotationError("a call has concrete arguments; '...' and '->' belong to patterns", text, 0)
    arguments: dict[str, Any] = {}
    for name, pattern in action.arguments.fields:
        if not isinstance(pattern, Literal):
            raise NotationError(f"a call has concrete arguments; {name}={pattern} is a pattern", text, 0)
        arguments[name] = pattern.value
    return Call(action.tool, arguments)


def action(text: str, lookup: Lookup | None = None) -> Action:
    """An action: `action('send(to="Bob", ...)')`."""
    reader = _Reader(text, lookup)
    read = reader.action()
    reader.end()
    return read


def matcher(text: str) -> Matcher:
    """A matcher on its own: `matcher('contains("100")')`."""
    reader = _Reader(text)
    read = reader.matcher()
    reader.end()
    return read


def tool(text: str) -> Tool:
    """A tool by name, with its parameters where they are given: `tool('pay(to, amount, currency="EUR")')`."""
    if text and not set("()\"'") & set(text):
        return Tool(text)
    reader = _Reader(text)
    read = reader.tool()
    reader.end()
    return read


def procedure(
    text: str, lookup: Lookup | None = None, names: tuple[str, ...] = (), tools: Collection[str] = ()
) -> ReadProcedure:
    """A procedure; `lookup` finds the actions that it names, `names` and `tools` are those an error may suggest."""
    reader = _Reader(text, lookup, names, tools, of_steps=True)
    if reader.peek().kind == "end":
        return ReadProcedure(seq(), ())
    read = reader.procedure()
    reader.end()
    return ReadProcedure(read, tuple(reader.warnings))


class _Reader:
    """Reads one text from left to right."""

    def __init__(
        self,
        text: str,
        lookup: Lookup | None = None,
        names: tuple[str, ...] = (),
        tools: Collection[str] = (),
        *,
        of_steps: bool = False,
    ) -> None:
        self.text, self.lookup, self.names, self.tools, self.of_steps = text, lookup, names, tools, of_steps
        self.tokens = self._tokens()
        self.place = self.depth = 0
        self.warnings: list[str] = []

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        position, end = 0, len(self.text.rstrip())
        while position < end:
            found = _TOKEN.match(self.text, position)
            if found is None:
                start = position + len(self.text[position:]) - len(self.text[position:].lstrip())
                raise NotationError(self._unreadable(start, tokens), self.text, start)
            kind = found.lastgroup or ""
            tokens.append(_Token(kind, found[kind], found.start(kind)))
            position = found.end()
        return [*tokens, _Token("end", "", end)]

    def _unreadable(self, start: int, before: list[_Token]) -> str:
        sign = self.text[start]
        if sign in "\"'":
            return f"the text that begins here has no closing {sign}"
        within = _bracket(before)
        if sign in "<>" and within == "call":
            return f"'{sign}' means nothing here; a range of values is written between(1, 5)"
        if self.of_steps and within == "{":
            return "expected a number of times, as in {3} or {2,4}"
        if self.of_steps and within == "":
            return self._odd_sign(start)
        if sign.isdecimal() or sign in "+-.":
            return 'expected a number; a text is written in quotes: "2025-01-01"'
        return f"{sign!r} means nothing here"

    def _odd_sign(self, start: int) -> str:
        """What is wrong with a sign between steps that is none of the notation."""
        sign = self.text[start]
        if sign == ">" and self.text[start - 1 : start] == "=":
            sign = "=>"
        right = f"; write {_MEANT[sign]}" if sign in _MEANT else f"; between steps write {_THEN}"
        return f"'{sign}' means nothing here{right}"

    def peek(self) -> _Token:
        return self.tokens[self.place]

    def next(self) -> _Token:
        token = self.tokens[self.place]
        self.place += token.kind != "end"
        return token

    def skip(self, sign: str) -> bool:
        if self.peek()[:2] == ("sign", sign):
            self.place += 1
            return True
        return False

    def need(self, sign: str, message: str) -> None:
        if not self.skip(sign):
            raise self.wrong(message)

    def wrong(self, message: str, token: _Token | None = None) -> NotationError:
        return NotationError(message, self.text, (token or self.peek()).start)

    def end(self) -> None:
        token = self.peek()
        if token.kind != "end":
            message = f"'{token.text}' is one too many: the notation ended before it"
            raise self.wrong(self._instead_of(token) or message)

    def _instead_of(self, token: _Token) -> str | None:
        """What to write in place of something between two steps that is no sign of a procedure."""
        if not self.of_steps:
            return None
        rest = self.text[token.start :]
        if times := _TIMES.match(rest):
            return f"'{times[0]}' means nothing here; write {{{times[1]}}} to repeat a step, as in a{{{times[1]}}}"
        if token.text.startswith("*"):
            return "'*' has no end; say how often a step may be done, as in a{0,5}"
        if rest.startswith("=>"):
            return f"'=>' means nothing here; write {_THEN}"
        if token.text in _MEANT:
            return f"'{token.text}' means nothing here; write {_MEANT[token.text]}"
        if token.kind in ("name", "text") or token.text == "(":
            return f"two steps stand side by side; write {_THEN}"
        return None

    # Calls and actions

    def action(self) -> Action:
        tool = self.next()
        if tool.kind not in ("name", "text"):
            raise self.wrong('expected a call, such as send(to="Bob")', tool)
        self.need("(", f"expected '(' and the arguments after '{tool.text}', as in {tool.text}(...)")
        named, is_open = self._arguments(tool)
        arrow = self.peek()
        result = self._result(arrow) if self.skip("->") else None
        made = Action(_unquoted(tool), Fields(tuple(named.items()), is_open))
        return made if result is None else made.returns(result)

    def _result(self, arrow: _Token) -> Matcher:
        kind, text, _ = self.peek()
        if self.of_steps and kind == "name" and text not in (*_MATCHERS, *_WORDS, "ANY", "result_of"):
            message = f"'->' stands before what a call returns, as in f() -> {{ok: true}}; write {_THEN}"
            raise self.wrong(message, arrow)
        return self.matcher()

    def _arguments(self, tool: _Token) -> tuple[dict[str, Matcher], bool]:
        named: dict[str, Matcher] = {}
        while not self.skip(")"):
            if self.skip("..."):
                self.skip(",")
                if self.peek().kind != "end":
                    self.need(")", "'...' stands last, after the named arguments")
                    return named, True
            key = self.next()
            if key.kind == "end":
                raise self.wrong(f"the arguments of {tool.text} have no closing ')'", key)
            if key.kind in ("name", "text") and self.peek().text == ":":
                raise self.wrong(f"an argument is written with '=', as in {tool.text}({key.text}=…)")
            if key.kind not in ("name", "text") or self.peek().text != "=":
                raise self.wrong(self._positional(tool), key)
            self.place += 1
            self.put(named, key, self.matcher())
            if not self.skip(",") and self.peek().text != ")":
                raise self.wrong(f"expected ',' or ')' in the arguments of {tool.text}")
        return named, False

    def _positional(self, tool: _Token) -> str:
        if tool.text in _IN_PYTHON:
            return f"{tool.text}() is written with operators in text: {_IN_PYTHON[tool.text]}"
        return f"arguments have names: {tool.text}(name=value), or {tool.text}(...) for any"

    # Values and matchers

    def matcher(self) -> Matcher:
        return as_matcher(self.pattern())

    def pattern(self) -> Any:
        """JSON as it is, a matcher, or lists and objects of both."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"nested deeper than {_DEEPEST} levels")
        token = self.next()
        try:
            read = self._pattern(token)
        except TaskError as error:
            raise self.wrong(str(error), token) from None
        self.depth -= 1
        return read

    def _pattern(self, token: _Token) -> Any:
        match token.kind, token.text:
            case "text", _:
                return _unquoted(token)
            case "number", digits:
                return self._number(token, digits)
            case "variable", name:
                return patterns.var(name[1:])
            case "sign", "[":
                return self._items()
            case "sign", "{":
                return self._object()
            case "name", "ANY":
                return patterns.ANY
            case "name", word if word in _WORDS:
                return _WORDS[word]
            case "name", name:
                return self._matcher(token, name)
        shown = f"'{token.text}'" if token.text else "the end"
        raise self.wrong(f"expected a value, not {shown}", token)

    def _number(self, token: _Token, digits: str) -> Any:
        if digits.lstrip("+-").isdecimal():
            if len(digits.lstrip("+-")) > MOST_DIGITS:
                raise self.wrong(f"a number of more than {MOST_DIGITS:,} digits", token)
            return int(digits)
        number = float(digits)
        if wrong := why_not_json(number):
            raise self.wrong(f"{digits[:40]} is too large: {wrong}", token)
        return number

    def _items(self) -> list[Any]:
        items: list[Any] = []
        while not self.skip("]"):
            items.append(self.pattern())
            if not self.skip(",") and self.peek().text != "]":
                raise self.wrong("expected ',' or ']'")
        return items

    def _object(self) -> dict[Any, Any]:
        read: dict[Any, Any] = {}
        while not self.skip("}"):
            if self.skip("..."):
                read[...] = ...
            else:
                key = self.next()
                if key.kind not in ("name", "text"):
                    raise self.wrong('expected a key, as in {status: "open"}', key)
                self.need(":", f"expected ':' and a value after the key {key.text}")
                self.put(read, key, self.pattern())
            if not self.skip(",") and self.peek().text != "}":
                raise self.wrong("expected ',' or '}'")
        return read

    def put(self, named: dict[Any, Any], key: _Token, value: Any) -> None:
        name = _unquoted(key)
        if name in named:
            raise self.wrong(f"{key.text} is given twice", key)
        named[name] = value

    def _matcher(self, token: _Token, name: str) -> Any:
        if self.peek().text != "(":
            raise self.wrong(f"'{name}' is no value; a text is written in quotes: \"{name}\"", token)
        if name == "result_of":
            return self._result_of()
        if name not in _MATCHERS:
            raise self.wrong(f"no matcher '{name}'{nearest(name, [*_MATCHERS, 'result_of', 'ANY'])}", token)
        self.place += 1
        given: list[Any] = []
        options: dict[str, Any] = {}
        while not self.skip(")"):
            key = self.peek()
            if key.kind == "name" and self.tokens[self.place + 1].text == "=":
                self.place += 2
                self.put(options, key, self.pattern())
            else:
                given.append(self.pattern())
            if not self.skip(",") and self.peek().text != ")":
                raise self.wrong(f"expected ',' or ')' in {name}(...)")
        try:
            return _MATCHERS[name](*given, **options)
        except TypeError as error:
            raise self.wrong(str(error), token) from None

    def _result_of(self) -> Any:
        self.place += 1
        name = self.peek()
        if name.kind not in ("name", "text"):
            raise self.wrong('result_of takes the name of an action and a path: result_of(check, "rule.id")', name)
        source = self.action() if self.tokens[self.place + 1].text == "(" else self._named(self.next())
        path: str | None = None
        if self.skip(","):
            given = self.next()
            if given.kind != "text":
                raise self.wrong('the path is a text: result_of(check, "rule.id")', given)
            path = _unquoted(given)
        self.need(")", "expected ')' after result_of(action, \"path\"")
        return patterns.result_of(source, path)

    def _named(self, token: _Token) -> Action:
        name = _unquoted(token)
        found = self.lookup(name) if self.lookup else None
        if found is None:
            raise self.wrong(self._no_action(name, token), token)
        return found

    def _no_action(self, name: str, token: _Token) -> str:
        if self.of_steps and (times := re.fullmatch(r"(.+?)\*+(\d+)", name)):
            return f"'{name}' is no action; write {{{times[2]}}} to repeat a step, as in {times[1]}{{{times[2]}}}"
        if name in self.tools or self._called(name):
            return f"no action '{name}'; to call the tool {name} write {token.text}()"
        if self.of_steps and name in ("if", "else", "not", "while", "for"):
            return f"there is no '{name}' in a procedure; a choice is written (a >> b) | c, a repeated step a{{2,4}}"
        if self.of_steps and not self.names:
            return f"no action '{name}'; name it under 'actions', or write {token.text}() to call a tool of that name"
        return f"no action '{name}'{nearest(name, self.names)}"

    def _called(self, name: str) -> bool:
        """Whether the text has a call of a tool by that name."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return any(
            after.text == "(" and one.kind in ("name", "text") and _unquoted(one) == name for one, after in pairs
        )

    # Tools

    def tool(self) -> Tool:
        name = self.next()
        if name.kind not in ("name", "text"):
            raise self.wrong("expected a tool's name", name)
        if not self.skip("("):
            return Tool(_unquoted(name))
        parameters: dict[str, Any] = {}
        while not self.skip(")"):
            key = self.next()
            if key.kind not in ("name", "text"):
                raise self.wrong('expected a parameter, as in pay(to, amount, currency="EUR")', key)
            self.put(parameters, key, self._default(key) if self.skip("=") else REQUIRED)
            if not self.skip(",") and self.peek().text != ")":
                raise self.wrong(f"expected ',' or ')' in the parameters of {name.text}")
        return Tool(_unquoted(name), parameters)

    def _default(self, key: _Token) -> Any:
        start = self.peek()
        default = self.matcher()
        if not isinstance(default, Literal):
            raise self.wrong(f"the default of {key.text} is a value; {default} is a pattern", start)
        return default.value

    # Procedures: Python's precedence, so >> binds tighter than &, and & tighter than |

    def procedure(self) -> Procedure:
        self.depth += 1
        if self.depth > _DEEPEST_PROCEDURE:
            raise self.wrong(f"nested deeper than {_DEEPEST_PROCEDURE} levels")
        read = self._operands("|", choice, lambda: self._operands("&", any_order, self._steps))
        self.depth -= 1
        return read

    def _steps(self) -> Procedure:
        return self._operands(">>", seq, self._repeated)

    def _operands(self, sign: str, join: Callable[..., Procedure], operand: Callable[[], Procedure]) -> Procedure:
        start = self.place
        parts = [operand()]
        bounds = [start]
        while self.skip(sign):
            bounds.append(self.place)
            parts.append(operand())
        if len(parts) == 1:
            return parts[0]
        for first, last in zip(bounds, [*bounds[1:], self.place + 1], strict=True):
            self._warn_of_mix(sign, first, last - 1)
        return join(*parts)

    def _warn_of_mix(self, sign: str, first: int, last: int) -> None:
        """Tell of an operand that is itself an expression and has no parentheses of its own."""
        depth = 0
        for token in self.tokens[first:last]:
            if token.kind == "sign":
                depth += (token.text in "([{") - (token.text in ")]}")
                if depth == 0 and token.text in (">>", "&", "|") and token.text != sign:
                    part = self.text[self.tokens[first].start : self.tokens[last].start].strip()
                    self.warnings.append(f"'{part}' is one side of '{sign}' here; write ({part}) to say so")
                    return

    def _repeated(self) -> Procedure:
        read = self._atom()
        for _ in range(_MOST_SUFFIXES):
            if self.skip("?"):
                read = repeat(read, 0, 1)
            elif self.skip("{"):
                read = self._some_times(read)
        if self.peek()[:2] in (("sign", "?"), ("sign", "{")):
            raise self.wrong(f"'{self.peek().text}' is one too many; write (a?){{2}} to repeat what is repeated")
        return read

    def _some_times(self, step: Procedure) -> Procedure:
        start = self.peek()
        least = self._times()
        most = self._times() if self.skip(",") else least
        self.need("}", "expected '}' after the number of times, as in {3} or {2,4}")
        if not least <= most:
            raise self.wrong(f"{{{least},{most}}} holds nothing: the first is larger than the second", start)
        return repeat(step, least, most)

    def _times(self) -> int:
        token = self.next()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 9:
            raise self.wrong("expected a number of times, as in {3} or {2,4}", token)
        return int(token.text)

    def _atom(self) -> Procedure:
        if self.skip("("):
            if self.skip(")"):
                return seq()
            read = self.procedure()
            self.need(")", self._instead_of(self.peek()) or "expected ')'")
            return read
        token = self.peek()
        if token.kind in ("name", "text") and self.tokens[self.place + 1].text == "(":
            return self.action()
        if token.kind not in ("name", "text"):
            raise self.wrong(self._no_step(token), token)
        self.place += 1
        return self._named(token)

    def _no_step(self, token: _Token) -> str:
        before = self.tokens[self.place - 1]
        if self.place and token.text in ("&", "|") and before.text == token.text and before.start == token.start - 1:
            return f"'{token.text * 2}' means nothing here; write {_MEANT[token.text * 2]}"
        if token.kind == "number":
            return f"expected an action, not '{token.text}'; the number of times stands behind a step, as in a{{3}}"
        if token.kind == "end":
            return "expected an action, but the procedure ends here"
        return f"expected an action, not '{token.text}'"


def _bracket(tokens: list[_Token]) -> str:
    """What the next token stands in: a `call`, the `{` behind a step, or nothing but groups of steps."""
    opened = [""]
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text == "(" and place and tokens[place - 1].kind in ("name", "text"):
            opened.append("call")
        elif token.text in ("(", "[", "{"):
            opened.append("call" if opened[-1] == "call" else token.text.strip("("))
        elif token.text in (")", "]", "}") and len(opened) > 1:
            opened.pop()
    return opened[-1]


def _unquoted(token: _Token) -> str:
    if token.kind != "text":
        return token.text
    return _ESCAPE.sub(_escaped, token.text[1:-1]).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _escaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, found[0])
