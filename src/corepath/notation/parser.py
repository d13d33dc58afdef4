"""The parser for the call notation: it turns text into calls, actions, matchers, tools and procedures.

    deposit(account_id="A123", amount=between(1, 100), ...)     a call or an action; `...` allows other arguments
    check(policy=$p) -> {status: "conflict"}                    an action with a pattern for its result
    unlock & scan >> move(to="C") >> water{2,4} >> log?         a procedure made of named actions and calls

Text is parsed, never evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from corepath.errors import NotationError, TaskError, nearest
from corepath.notation import hints, patterns
from corepath.notation.action import Action, Tool
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Fields, Literal, Matcher
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import Procedure, any_order, choice, repeat, seq
from corepath.notation.tokens import Cursor, Token, raw_text, unquote
from corepath.values import MOST_DIGITS, why_not_json

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
_DEEPEST: Final = 100
_DEEPEST_PROCEDURE: Final = 50
_MOST_SUFFIXES: Final = 2

Lookup = Callable[[str], Action | None]
"""A function that returns the action with a name, or None if there is no such action."""


@dataclass(frozen=True)
class ParsedProcedure:
    """A procedure parsed from text, with warnings for its author."""

    procedure: Procedure
    warnings: tuple[str, ...]


def call(text: str) -> Call:
    """Parse a call with concrete arguments: `call('deposit(account_id="A123", amount=100)')`."""
    parser = Parser(text)
    action = parser.action()
    parser.end()
    if action.arguments.open or action.result is not None:
        raise NotationError("a call has concrete arguments; '...' and '->' belong to patterns", text, 0)
    arguments: dict[str, Any] = {}
    for name, pattern in action.arguments.fields:
        if not isinstance(pattern, Literal):
            raise NotationError(f"a call has concrete arguments; {name}={pattern} is a pattern", text, 0)
        arguments[name] = pattern.value
    return Call(action.tool, arguments)


def action(text: str, lookup: Lookup | None = None) -> Action:
    """Parse an action: `action('send(to="Bob", ...)')`.

    `lookup` finds the actions that `result_of` refers to by name.
    """
    parser = Parser(text, lookup)
    parsed = parser.action()
    parser.end()
    return parsed


def matcher(text: str) -> Matcher:
    """Parse a matcher: `matcher('contains("100")')`."""
    parser = Parser(text)
    parsed = parser.matcher()
    parser.end()
    return parsed


def tool(text: str) -> Tool:
    """Parse a tool, with or without its parameters: `tool("pay")` or `tool('pay(to, amount, currency="EUR")')`."""
    if text and not set("()\"'") & set(text):
        return Tool(text)
    parser = Parser(text)
    parsed = parser.tool()
    parser.end()
    return parsed


def procedure(
    text: str, lookup: Lookup | None = None, names: tuple[str, ...] = (), tools: Collection[str] = ()
) -> ParsedProcedure:
    """Parse a procedure.

    `lookup` finds the actions that the procedure refers to by name. `names` and `tools` list the known actions and
    tools, and are used only in error messages.
    """
    parser = Parser(text, lookup, names, tools, in_procedure=True)
    if parser.peek().kind == "end":
        return ParsedProcedure(seq(), ())
    parsed = parser.procedure()
    parser.end()
    return ParsedProcedure(parsed, tuple(parser.warnings))


class Parser(Cursor):
    """A recursive descent parser for one string."""

    def __init__(
        self,
        text: str,
        lookup: Lookup | None = None,
        names: tuple[str, ...] = (),
        tools: Collection[str] = (),
        *,
        in_procedure: bool = False,
    ) -> None:
        super().__init__(text, in_procedure=in_procedure)
        self.lookup, self.names, self.tools = lookup, names, tools
        self.depth = 0
        self.warnings: list[str] = []

    def end(self) -> None:
        """Raise an error if any text is left."""
        token = self.peek()
        if token.kind != "end":
            raise self.error(self._explain_misplaced(token) or f"unexpected '{token.text}' after the end")

    def _explain_misplaced(self, token: Token) -> str | None:
        """Explain what to write instead of a misplaced token, or return None if there is no advice."""
        if not self.in_procedure:
            return None
        if hint := hints.misplaced_sign(token.text, self.text[token.start :]):
            return hint
        return f"two steps without an operator; write {hints.THEN}" if token.is_name or token.text == "(" else None

    # Calls and actions

    def action(self) -> Action:
        """Parse a call or a pattern for calls, with its result if there is one."""
        tool = self.next()
        if not tool.is_name:
            raise self.error('expected a call, such as send(to="Bob")', tool)
        self.need("(", f"expected '(' and the arguments after '{tool.text}', as in {tool.text}(...)")
        arguments, is_open = self._arguments(tool)
        arrow = self.peek()
        result = self._result(arrow) if self.skip("->") else None
        parsed = Action(unquote(tool), Fields(tuple(arguments.items()), is_open))
        return parsed if result is None else parsed.returns(result)

    def _result(self, arrow: Token) -> Matcher:
        kind, text, _ = self.peek()
        if self.in_procedure and kind == "name" and text not in (*_MATCHERS, *_WORDS, "ANY", "result_of"):
            message = f"'->' comes before what a call returns, as in f() -> {{ok: true}}; write {hints.THEN}"
            raise self.error(message, arrow)
        return self.matcher()

    def _arguments(self, tool: Token) -> tuple[dict[str, Matcher], bool]:
        """Parse a call's arguments. Return them keyed by name, and whether `...` allows other arguments."""
        arguments: dict[str, Matcher] = {}
        while not self.skip(")"):
            if self.skip("..."):
                self.skip(",")
                if self.peek().kind != "end":
                    self.need(")", "'...' comes last, after the named arguments")
                    return arguments, True
            key = self._argument_name(tool)
            self.put(arguments, key, self.matcher())
            self.separate(")", f" in the arguments of {tool.text}")
        return arguments, False

    def _argument_name(self, tool: Token) -> Token:
        key = self.next()
        if key.kind == "end":
            raise self.error(f"the arguments of {tool.text} have no closing ')'", key)
        if key.is_name and self.peek().text == ":":
            raise self.error(f"an argument is written with '=', as in {tool.text}({key.text}=…)")
        if not key.is_name or self.peek().text != "=":
            raise self.error(hints.unnamed_argument(tool.text), key)
        self.place += 1
        return key

    # Values and matchers

    def matcher(self) -> Matcher:
        """Parse a matcher."""
        return as_matcher(self.pattern())

    def pattern(self) -> Any:
        """Parse a JSON value, a matcher, or a list or object that contains them."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"nested deeper than {_DEEPEST} levels")
        token = self.next()
        try:
            parsed = self._pattern(token)
        except TaskError as error:
            raise self.error(str(error), token) from None
        self.depth -= 1
        return parsed

    def _pattern(self, token: Token) -> Any:
        match token.kind, token.text:
            case "text", _:
                return unquote(token)
            case "number", digits:
                return self._number(token, digits)
            case "variable", name:
                return patterns.var(name[1:])
            case "sign", "~":
                return self._search()
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
        raise self.error(f"expected a value, not {shown}", token)

    def _number(self, token: Token, digits: str) -> Any:
        if digits.lstrip("+-").isdecimal():
            if len(digits.lstrip("+-")) > MOST_DIGITS:
                raise self.error(f"a number of more than {MOST_DIGITS:,} digits", token)
            return int(digits)
        number = float(digits)
        if wrong := why_not_json(number):
            raise self.error(f"{digits[:40]} is too large: {wrong}", token)
        return number

    def _search(self) -> Any:
        expression = self.next()
        if expression.kind != "text":
            raise self.error('a regular expression in quotes follows "~", as in text=~"yes|go ahead"', expression)
        return patterns.search(raw_text(expression))

    def _items(self) -> list[Any]:
        items: list[Any] = []
        while not self.skip("]"):
            items.append(self.pattern())
            self.separate("]")
        return items

    def _object(self) -> dict[Any, Any]:
        fields: dict[Any, Any] = {}
        while not self.skip("}"):
            if self.skip("..."):
                fields[...] = ...
            else:
                key = self.next()
                if not key.is_name:
                    raise self.error('expected a key, as in {status: "open"}', key)
                self.need(":", f"expected ':' and a value after the key {key.text}")
                self.put(fields, key, self.pattern())
            self.separate("}")
        return fields

    def put(self, named: dict[Any, Any], key: Token, value: Any) -> None:
        """Store `value` in `named` under `key`. Raise an error if the key already exists."""
        name = unquote(key)
        if name in named:
            raise self.error(f"{key.text} is given twice", key)
        named[name] = value

    def _matcher(self, token: Token, name: str) -> Any:
        if self.peek().text != "(":
            raise self.error(f"'{name}' is not a value; a text is written in quotes: \"{name}\"", token)
        if name == "result_of":
            return self._result_of()
        if name not in _MATCHERS:
            raise self.error(f"no matcher '{name}'{nearest(name, [*_MATCHERS, 'result_of', 'ANY'])}", token)
        self.place += 1
        arguments: list[Any] = []
        options: dict[str, Any] = {}
        while not self.skip(")"):
            key = self.peek()
            if key.kind == "name" and self.peek(1).text == "=":
                self.place += 2
                self.put(options, key, self.pattern())
            else:
                arguments.append(self.pattern())
            self.separate(")", f" in {name}(...)")
        try:
            return _MATCHERS[name](*arguments, **options)
        except TypeError as error:
            raise self.error(str(error), token) from None

    def _result_of(self) -> Any:
        self.place += 1
        name = self.peek()
        if not name.is_name:
            raise self.error('result_of takes the name of an action and a path: result_of(check, "rule.id")', name)
        source = self.action() if self.peek(1).text == "(" else self._find_action(self.next())
        path: str | None = None
        if self.skip(","):
            given = self.next()
            if given.kind != "text":
                raise self.error('the path is a text: result_of(check, "rule.id")', given)
            path = unquote(given)
        self.need(")", "expected ')' after result_of(action, \"path\"")
        return patterns.result_of(source, path)

    def _find_action(self, token: Token) -> Action:
        name = unquote(token)
        found = self.lookup(name) if self.lookup else None
        if found is None:
            raise self.error(self._explain_unknown(name, token), token)
        return found

    def _explain_unknown(self, name: str, token: Token) -> str:
        """Explain that there is no action called `name`, and suggest what to write instead."""
        if self.in_procedure and (hint := hints.multiplied_name(name)):
            return hint
        if name in self.tools or self.is_called(name):
            return f"no action '{name}'; to call the tool {name} write {token.text}()"
        if self.in_procedure and (hint := hints.statement(name)):
            return hint
        if self.in_procedure and not self.names:
            return f"no action '{name}'; name it under 'actions', or write {token.text}() to call a tool of that name"
        return f"no action '{name}'{nearest(name, self.names)}"

    # Tools

    def tool(self) -> Tool:
        """Parse a tool with its parameters."""
        name = self.next()
        if not name.is_name:
            raise self.error("expected a tool's name", name)
        if not self.skip("("):
            return Tool(unquote(name))
        parameters: dict[str, Any] = {}
        while not self.skip(")"):
            key = self.next()
            if not key.is_name:
                raise self.error('expected a parameter, as in pay(to, amount, currency="EUR")', key)
            self.put(parameters, key, self._default(key) if self.skip("=") else REQUIRED)
            self.separate(")", f" in the parameters of {name.text}")
        return Tool(unquote(name), parameters)

    def _default(self, key: Token) -> Any:
        start = self.peek()
        default = self.matcher()
        if not isinstance(default, Literal):
            raise self.error(f"the default of {key.text} is a value; {default} is a pattern", start)
        return default.value

    # Procedures, with Python's precedence: >> binds tighter than &, and & tighter than |

    def procedure(self) -> Procedure:
        """Parse a procedure."""
        self.depth += 1
        if self.depth > _DEEPEST_PROCEDURE:
            raise self.error(f"nested deeper than {_DEEPEST_PROCEDURE} levels")
        parsed = self._operands("|", choice, lambda: self._operands("&", any_order, self._sequence))
        self.depth -= 1
        return parsed

    def _sequence(self) -> Procedure:
        return self._operands(">>", seq, self._step)

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
        """Warn if an operand of `sign` contains another operator and is not in parentheses.

        The operand consists of the tokens from index `first` up to, but not including, `last`.
        """
        depth = 0
        for token in self.tokens[first:last]:
            if token.kind == "sign":
                depth += (token.text in "([{") - (token.text in ")]}")
                if depth == 0 and token.text in (">>", "&", "|") and token.text != sign:
                    part = self.text[self.tokens[first].start : self.tokens[last].start].strip()
                    self.warnings.append(f"'{part}' is one side of '{sign}' here; write ({part}) to say so")
                    return

    def _step(self) -> Procedure:
        """Parse an action or a group in parentheses, with suffixes such as `?` or `{2,4}`."""
        parsed = self._atom()
        for _ in range(_MOST_SUFFIXES):
            if self.skip("?"):
                parsed = repeat(parsed, 0, 1)
            elif self.skip("{"):
                parsed = self._repeat(parsed)
        if self.peek()[:2] in (("sign", "?"), ("sign", "{")):
            raise self.error(f"'{self.peek().text}' is one too many; write (a?){{2}} to repeat what is repeated")
        return parsed

    def _repeat(self, step: Procedure) -> Procedure:
        start = self.peek()
        least = self._times()
        most = self._times() if self.skip(",") else least
        self.need("}", "expected '}' after the number of times, as in {3} or {2,4}")
        if not least <= most:
            raise self.error(f"{{{least},{most}}} is empty: the first number is larger than the second", start)
        return repeat(step, least, most)

    def _times(self) -> int:
        token = self.next()
        if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 9:
            raise self.error("expected a number of times, as in {3} or {2,4}", token)
        return int(token.text)

    def _atom(self) -> Procedure:
        if self.skip("("):
            if self.skip(")"):
                return seq()
            parsed = self.procedure()
            self.need(")", self._explain_misplaced(self.peek()) or "expected ')'")
            return parsed
        token = self.peek()
        if not token.is_name:
            raise self.error(self._explain_no_step(token), token)
        if self.peek(1).text == "(":
            return self.action()
        self.place += 1
        return self._find_action(token)

    def _explain_no_step(self, token: Token) -> str:
        """Explain why no step can begin with this token."""
        before = self.tokens[self.place - 1]
        if self.place and token.text in ("&", "|") and before.text == token.text and before.start == token.start - 1:
            return hints.meaningless(token.text * 2)
        if token.kind == "number":
            return f"expected an action, not '{token.text}'; the number of times comes after a step, as in a{{3}}"
        if token.kind == "end":
            return "expected an action, but the procedure ends here"
        return f"expected an action, not '{token.text}'"
