"""Send scores to a server over HTTP: in order, one request at a time, with retries."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from itertools import groupby
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from corepath.batch.export_target import Item, Target
from corepath.errors import OptionError, SendError
from corepath.runs.failure import describe_failure, shorten

RETRIES: Final = 5
"""How often a failed request is repeated."""
LONGEST_WAIT: Final = 300.0
"""The longest time before a request is repeated, in seconds, whatever the server asks for."""
TIMEOUT: Final = 60.0
"""How long a server may take to answer, in seconds."""
MOST_REASONS: Final = 5
"""How many reasons of refused scores are kept."""
_LARGEST_ANSWER: Final = 4 * 2**20
_NO_SUCH_PATH: Final = (404, 405, 410)
_SHORTEST_SECRET: Final = 4


def check_address(url: str) -> str:
    """Return the address of a server without a slash at its end. Raises `OptionError` if it is not one."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise OptionError("an address begins with http:// or https://, as in http://localhost:4318")
    if parts.username is not None or parts.query or parts.fragment:
        raise OptionError("an address has no keys, no ? and no #; keys are read from the environment")
    return url.rstrip("/")


@dataclass(frozen=True)
class Answer:
    """What a server answered. `wait` is how long it asks to wait, in seconds, or None."""

    status: int
    text: str
    reason: str = ""
    wait: float | None = None


@dataclass
class Sender:
    """Sends scores to a server, and counts those that it took and those that it refused.

    As with models, a failed connection is only repeated once the server has answered before: until then, its address
    may be wrong. `pause` is the time before the first repetition, in seconds, and doubles each time.
    """

    target: Target
    url: str
    headers: Mapping[str, str]
    pause: float = 1.0
    sleep: Callable[[float], None] = time.sleep
    sent: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)
    _answered: bool = False
    _singly: bool = False

    def __post_init__(self) -> None:
        self._opener = _make_opener(self.url)
        self._secrets = sorted(_find_secrets(self.headers.values()), key=len, reverse=True)

    def send(self, items: Iterable[Item]) -> None:
        """Send scores. Raises `SendError` if the server does not take them."""
        for path, group in groupby(items, lambda item: item.path):
            listed = list(group)
            if not self._singly:
                answer = self._post(path, self.target.make_body(listed))
                self._singly = answer.status in _NO_SUCH_PATH and self.target.one_by_one is not None
                if not self._singly:
                    self._read(path, answer, len(listed))
                    continue
            for item in listed:
                single = self.target.one_by_one or path
                self._read(single, self._post(single, item.text), 1)

    def _read(self, path: str, answer: Answer, scores: int) -> None:
        """Count what a server took. Raises `SendError` if it took nothing."""
        if not 200 <= answer.status < 300:
            text = f": {answer.text}" if answer.text else ""
            raise self._error(path, f"answered {answer.status} {answer.reason}".rstrip() + text)
        refusal = self.target.read_refusal(self._parse(path, answer))
        refused = min(refusal.scores, scores)
        self.sent += scores - refused
        self.refused += refused
        room = MOST_REASONS - len(self.reasons)
        self.reasons += [shorten(self._hide(reason)) for reason in refusal.reasons[:room]]

    def _parse(self, path: str, answer: Answer) -> Mapping[str, Any]:
        try:
            value = json.loads(answer.text or "{}")
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._error(path, f"answered {answer.status}, but not with a JSON object: {answer.text}")
        return value

    def _post(self, path: str, body: str) -> Answer:
        """Post a body, and repeat that while it may help. Raises `SendError` if the server cannot be reached."""
        attempt = 0
        while True:
            wait = self.pause * 2**attempt
            try:
                answer = self._request(path, body.encode())
            except (OSError, HTTPException) as error:
                if not self._answered or attempt == RETRIES:
                    inner = getattr(error, "reason", None)  # urllib hides the cause in its own error
                    cause = inner if isinstance(inner, Exception) else error
                    raise self._error(path, describe_failure(cause)["message"]) from None
            else:
                self._answered = True
                if not self.target.is_retried(answer.status) or attempt == RETRIES:
                    return answer
                wait = wait if answer.wait is None else answer.wait
            attempt += 1
            self.sleep(min(wait, LONGEST_WAIT))

    def _request(self, path: str, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "User-Agent": "corepath", **self.headers}
        request = Request(self._address(path), body, headers, method="POST")  # noqa: S310  # http or https
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                read = answer.read(_LARGEST_ANSWER)
                if answer.length and len(read) < _LARGEST_ANSWER:  # how much is missing
                    raise IncompleteRead(read, answer.length)
                return Answer(answer.status, read.decode("utf-8", "replace"))
        except HTTPError as error:
            with error:
                text = error.read(_LARGEST_ANSWER).decode("utf-8", "replace")
            where = f"it points to {error.headers.get('Location')}" if 300 <= error.code < 400 else text
            return Answer(error.code, where, str(error.reason), _read_wait(error.headers.get("Retry-After")))

    def _address(self, path: str) -> str:
        return self.url if self.url.endswith(path) else self.url + path

    def _error(self, path: str, what: str) -> SendError:
        return SendError(shorten(self._hide(f"{self._address(path)}: {what}")))

    def _hide(self, text: str) -> str:
        """Hide the secrets that a server repeats in its answer."""
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        return text


def _make_opener(url: str) -> OpenerDirector:
    """Return what opens connections: through the proxy in the environment, unless the server is on this machine."""
    own = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    return build_opener(_NoRedirects, *([ProxyHandler({})] if own else []))


class _NoRedirects(HTTPRedirectHandler):
    """Treats a redirect as an error: a body is not sent on to another address, and neither are keys."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _find_secrets(values: Iterable[str]) -> Iterator[str]:
    """Yield what must not be shown of the values of headers: each value, its parts, and the keys encoded in it."""
    for value in values:
        parts = [value, *value.split()]
        with suppress(ValueError):
            parts += base64.b64decode(parts[-1], validate=True).decode().split(":")
        yield from (part for part in parts if len(part) >= _SHORTEST_SECRET and part not in ("Basic", "Bearer"))


def _read_wait(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
