"""The lexer for the call notation: it splits text into tokens."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from corepath.errors import NotationError
from corepath.notation.hints import unknown_sign

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<duration>\d++(?:\.\d++)?(?:ms|min|s|h|d)(?![\w.-]))
    | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.-]))
    | (?P<variable>\$[^\W\d]\w*)
    | (?P<name>[^\W\d][\w*]*(?:[-./][\w*]+)*|\*[\w*]*)
    | (?P<sign>\.\.\.|->|>>|[&|?{}()\[\],:=~])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", '"': '"', "'": "'", "\\": "\\", "/": "/"
}  # fmt: skip


class Token(NamedTuple):
    """A token. `kind` is `text`, `duration`, `number`, `variable`, `name`, `sign` or `end`.

    `start` is its index in the text.
    """

    kind: str
    text: str
    start: int

    @property
    def is_name(self) -> bool:
        """Whether the token can be the name of a tool, an action or an argument, with or without quotes."""
        return self.kind in ("name", "text")


def tokenize(text: str, *, in_procedure: bool = False) -> list[Token]:
    """Split `text` into tokens. The last token has the kind `end`. `in_procedure` only affects error messages."""
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise NotationError(
                _explain_unreadable(text, start, _context(tokens), in_procedure=in_procedure), text, start
            )
        kind = found.lastgroup or ""
        tokens.append(Token(kind, found[kind], found.start(kind)))
        position = found.end()
    return [*tokens, Token("end", "", end)]


def unquote(token: Token) -> str:
    """Return a token's text. If the token is quoted, the quotes are removed and escapes are replaced."""
    if token.kind != "text":
        return token.text
    return _ESCAPE.sub(_unescape, token.text[1:-1]).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def raw_text(token: Token) -> str:
    """Return a quoted token's text without its quotes. Backslashes stay, except before the quote."""
    quote = token.text[0]
    return re.sub(r"\\(.)", lambda one: one[1] if one[1] == quote else one[0], token.text[1:-1], flags=re.DOTALL)


class Cursor:
    """A cursor that moves through a list of tokens from left to right."""

    def __init__(self, text: str, *, in_procedure: bool = False) -> None:
        self.text, self.in_procedure = text, in_procedure
        self.tokens = tokenize(text, in_procedure=in_procedure)
        self.place = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or the token `ahead` places after it, without moving."""
        return self.tokens[self.place + ahead]

    def next(self) -> Token:
        """Return the next token and move past it. The cursor never moves past the end token."""
        token = self.tokens[self.place]
        self.place += token.kind != "end"
        return token

    def is_called(self, name: str) -> bool:
        """Return True if the text contains a call to a tool called `name`."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return any(after.text == "(" and one.is_name and unquote(one) == name for one, after in pairs)

    def skip(self, sign: str) -> bool:
        """Move past `sign` if it is the next token. Return True if the cursor moved."""
        if self.peek()[:2] == ("sign", sign):
            self.place += 1
            return True
        return False

    def need(self, sign: str, message: str) -> None:
        """Move past `sign`, or raise an error with `message` if `sign` is not the next token."""
        if not self.skip(sign):
            raise self.error(message)

    def separate(self, closing: str, where: str = "") -> None:
        """Move past a comma if there is one. Raise an error if the next token is neither a comma nor `closing`.

        `where` is added to the error message.
        """
        if not self.skip(",") and self.peek().text != closing:
            raise self.error(f"expected ',' or '{closing}'{where}")

    def error(self, message: str, token: Token | None = None) -> NotationError:
        """Create an error at `token`, or at the next token if `token` is None."""
        return NotationError(message, self.text, (token or self.peek()).start)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, found[0])


def _explain_unreadable(text: str, start: int, context: str, *, in_procedure: bool) -> str:
    sign = text[start]
    if sign in "\"'":
        return f"the text that begins here has no closing {sign}"
    if sign in "<>" and context == "call":
        return f"'{sign}' means nothing here; a range of values is written between(1, 5)"
    if in_procedure and context == "{":
        return "expected a number of times, as in {3} or {2,4}"
    if in_procedure and context == "":
        return unknown_sign(text, start)
    if sign.isdecimal() or sign in "+-.":
        return 'expected a number; a text is written in quotes: "2025-01-01"'
    return f"{sign!r} means nothing here"


def _context(tokens: list[Token]) -> str:
    """Return the context of the next token: `call` in a call, `{` in a repetition, or an empty string between steps."""
    open_brackets = [""]
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text == "(" and place and tokens[place - 1].is_name:
            open_brackets.append("call")
        elif token.text in ("(", "[", "{"):
            open_brackets.append("call" if open_brackets[-1] == "call" else token.text.strip("("))
        elif token.text in (")", "]", "}") and len(open_brackets) > 1:
            open_brackets.pop()
    return open_brackets[-1]
