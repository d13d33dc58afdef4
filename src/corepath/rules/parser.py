"""The parser for rules. Text is parsed, never evaluated.

    refund(order=$o, ...) requires verify_identity(...)
    refund(...) requires its own user(text=~"yes|go ahead") since agent(...)
    never delete_*(...)
    never pay(...) after close(...) within 1h
    never agent(...) with call
    at most 1 send(to=$x, ...) within 10 calls
    at least 2 check(...)
    after open(file=$f) eventually close(file=$f)
    sum(transfer.amount) at most 5000 within 1 day
    at most 1 call per turn
    never write(...) between lock(...) and unlock(...)
    never $c after failed $c within 1 call

`failed` before a call means that it failed. `$c` in the place of a call is any call, the same one wherever it occurs.
`user(...)`, `agent(...)` and `system(...)` are messages with the argument `text`, and `call` is any call. A tool with
one of these names is written in quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corepath.errors import TaskError, nearest
from corepath.notation.action import Action, Tool
from corepath.notation.parser import Parser
from corepath.notation.tokens import Token, unquote
from corepath.rules.rule import (
    ANY_CALL,
    SPEAKERS,
    AtLeast,
    AtMost,
    CallPattern,
    Eventually,
    Never,
    Requires,
    Rule,
    Said,
    SumAtMost,
    Window,
)

_UNITS: Final = {
    "ms": 0.001, "s": 1, "second": 1, "seconds": 1, "min": 60, "minute": 60, "minutes": 60, "h": 3_600, "hour": 3_600,
    "hours": 3_600, "d": 86_400, "day": 86_400, "days": 86_400, "week": 604_800, "weeks": 604_800,
}  # fmt: skip
_SPLIT: Final = ("ms", "min", "s", "h", "d")
_WORDS: Final = ("requires", "eventually", "since", "within", "per turn", "between", "after", "with", "and")
_FORMS: Final = (
    "'A requires B', 'after A eventually B', 'never A', 'at most 2 A', 'at least 1 A' or 'sum(pay.amount) at most 100'"
)


def parse_rule(text: str, groups: Mapping[str, Sequence[str]] | None = None) -> Rule:
    """Parse a rule. Raises `NotationError` if the text is not a rule.

    `groups` maps names to tools or globs. In a rule, such a name stands for any of them.
    """
    parser = _RuleParser(text, {name: tuple(tools) for name, tools in (groups or {}).items()})
    start = parser.peek()
    try:
        rule = parser.rule()
    except TaskError as error:
        raise parser.error(str(error), start) from None
    parser.end()
    return rule


class _RuleParser(Parser):
    """A recursive descent parser for one rule."""

    def __init__(self, text: str, groups: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(text)
        self.groups = groups

    def rule(self) -> Rule:
        rule = self._sentence()
        if self._skip_words("between"):
            first = self._event()
            self._need_words("and", f"'between {first.notation}' needs 'and' and the event that ends it")
            rule = replace(rule, between=(first, self._event()))
        if self.peek().kind != "end":
            token = self.peek()
            near = "" if token.text in _WORDS else nearest(token.text, _WORDS)
            raise self.error(f"unexpected '{token.text}'{near}; a rule is {_FORMS}", token)
        return rule

    def _sentence(self) -> Rule:
        if self._is_word("never") and not self._is_call():
            self.next()
            return self._never()
        if self._is_word("at") and not self._is_call():
            return self._counted()
        if self._is_word("after") and not self._is_call():
            self.next()
            return self._eventually()
        if self.peek()[:2] == ("name", "sum"):
            return self._sum()
        return self._requires()

    # Kinds of rules

    def _never(self) -> Never:
        call = self._event()
        if self._skip_words("after"):
            return Never(call, self._event(), None, self._window())
        if self._skip_words("with"):
            return Never(call, None, self._event())
        return Never(call)

    def _counted(self) -> AtMost | AtLeast:
        self.next()
        least = self._is_word("least")
        if not self._skip_words("most") and not self._skip_words("least"):
            raise self.error(f"expected 'at most' or 'at least', not 'at {self.peek().text}'")
        number = self._number_of("events", whole=True)
        call = self._event()
        if least:
            if number < 1:
                raise self.error("'at least 0' asks for nothing")
            return AtLeast(int(number), call)
        return AtMost(int(number), call, self._window(turn=True))

    def _eventually(self) -> Eventually:
        first = self._event()
        self._need_words("eventually", f"'after {first.notation}' needs 'eventually' and the event that must follow")
        own = self._skip_words("its", "own")
        return Eventually(first, self._event(), own, self._window())

    def _requires(self) -> Requires:
        then = self._event()
        self._need_words("requires", f"expected 'requires' after {then.notation}; a rule is {_FORMS}")
        own = self._skip_words("its", "own")
        first = self._event()
        since = self._event() if self._skip_words("since") else None
        return Requires(first, then, own, since, self._window())

    def _sum(self) -> SumAtMost:
        self.next()
        self.need("(", "expected 'sum(tool.argument)', as in sum(transfer.amount)")
        name = self.next()
        if not name.is_name:
            raise self.error("expected 'sum(tool.argument)', as in sum(transfer.amount)", name)
        if self._skip_words("of"):
            call, field = self._event(), unquote(name)
        else:
            tool, dot, field = unquote(name).rpartition(".")
            if not dot:
                raise self.error("say which argument is added up, as in sum(transfer.amount)", name)
            call = Tool(tool).any()
        if isinstance(call, Said):
            raise self.error("messages have no numbers to add up; name a tool", name)
        self.need(")", "expected ')' after what is added up")
        if not self._skip_words("at", "most"):
            raise self.error("expected 'at most' and a number after the sum")
        most = self._number_of("the sum", whole=False)
        return SumAtMost(most, call, field, self._window(turn=True))

    # Parts of rules

    def _event(self) -> Action:
        """Parse a call, a message, the word `call`, or a variable for a whole call, also after the word `failed`."""
        if self._is_word("failed") and not self._is_call():
            self.next()
            return self._failed(self._event())
        self._skip_words("any")
        token = self.peek()
        if token.kind == "variable":
            self.next()
            return CallPattern(ANY_CALL.tool, ANY_CALL.arguments, whole=token.text[1:])
        if token.kind == "name" and token.text in ("call", "calls") and not self._is_call():
            self.next()
            return ANY_CALL
        if token.kind == "end":
            raise self.error("expected a call, as in refund(...), at the end", token)
        event = self.action()
        if token.kind == "name" and token.text in SPEAKERS:
            return self._said(event, token)
        if token.kind == "name" and token.text in self.groups:
            return CallPattern(event.tool, event.arguments, event.result, tools=self.groups[token.text])
        return event

    def _failed(self, event: Action) -> CallPattern:
        if isinstance(event, Said):
            raise self.error("a message does not fail; 'failed' belongs to a call")
        if isinstance(event, CallPattern):
            return replace(event, failed=True)
        return CallPattern(event.tool, event.arguments, event.result, failed=True)

    def _said(self, event: Action, token: Token) -> Said:
        unknown = [name for name, _ in event.arguments.fields if name != "text"]
        if unknown:
            raise self.error(f"a message has only 'text', not '{unknown[0]}'; a tool '{token.text}' is quoted", token)
        if event.result is not None:
            raise self.error("a message has no result", token)
        return Said(event.tool, event.arguments)

    def _window(self, *, turn: bool = False) -> Window | None:
        if turn and self._skip_words("per", "turn"):
            return Window(turn=True)
        if not self._skip_words("within"):
            return None
        token = self.next()
        if token.kind == "duration":
            unit = next(unit for unit in _SPLIT if token.text.endswith(unit))
            return self._seconds(float(token.text.removesuffix(unit)), unit, token)
        if token.kind != "number":
            expected = "expected a time or a number of calls after 'within', as in 'within 1h', 'within 3 calls'"
            raise self.error(expected, token)
        return self._measured(token, self.next())

    def _measured(self, number: Token, unit: Token) -> Window:
        """Make the window of a number and a unit."""
        if unit.kind == "end":
            raise self.error(
                f"say what {number.text} counts, as in '{number.text} calls' or '{number.text} min'", number
            )
        if unit.text in ("call", "calls"):
            if not number.text.isdecimal() or int(number.text) < 1:
                raise self.error(f"a number of calls is whole and at least 1, not {number.text}", number)
            return Window(calls=int(number.text))
        if unit.text not in _UNITS:
            raise self.error(f"no unit '{unit.text}'{nearest(unit.text, [*_UNITS, 'calls'])}", unit)
        return self._seconds(float(number.text), unit.text, number)

    def _seconds(self, number: float, unit: str, token: Token) -> Window:
        if number <= 0:
            raise self.error("a time is longer than 0", token)
        return Window(seconds=number * _UNITS[unit])

    def _number_of(self, what: str, *, whole: bool) -> Any:
        token = self.next()
        number = self._number(token, token.text) if token.kind == "number" else None
        if number is None or (whole and (not isinstance(number, int) or number < 0)):
            raise self.error(f"expected a number for {what}, not '{token.text}'", token)
        return number

    def _is_word(self, word: str) -> bool:
        return self.peek()[:2] == ("name", word)

    def _is_call(self) -> bool:
        """Whether the next token is the name of a tool, because arguments follow."""
        return self.peek(1).text == "("

    def _skip_words(self, *words: str) -> bool:
        if any(self.peek(place)[:2] != ("name", word) for place, word in enumerate(words)):
            return False
        self.place += len(words)
        return True

    def _need_words(self, word: str, message: str) -> None:
        if not self._skip_words(word):
            raise self.error(message)
