"""Describe failures that are not the agent's fault: errors in a model's service or client library."""

from __future__ import annotations

from typing import Any, Final

REFUSED: Final = "refused by the service"
NOT_ALLOWED: Final = "not allowed"
CONNECTION: Final = "connection"
TIMEOUT: Final = "timeout"
SERVER_ERROR: Final = "server error"
_KINDS: Final = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_ALLOWED, 408: TIMEOUT, 429: "rate limit"}


def describe_failure(error: BaseException) -> dict[str, Any]:
    """Return the kind and message of an error in a model's service or client library."""
    cause: BaseException = error
    wrappers = ("RetryError", "ModelGenerateError")
    while (type(cause).__name__ in wrappers or not str(cause)) and cause.__cause__ is not None:
        cause = cause.__cause__
    kind = _kind(cause)
    detail = _system_message(cause) if kind == CONNECTION else ""
    return {"kind": kind, "message": shorten(f"{type(cause).__name__}: {cause}{detail}")}


def _kind(cause: BaseException) -> str:
    """Return the failure's kind, based on the HTTP status or the exception's type."""
    name = type(cause).__name__
    status = getattr(cause, "status_code", None) or getattr(cause, "code", None)
    if isinstance(status, int) and not isinstance(status, bool):
        return _KINDS.get(status, SERVER_ERROR if status >= 500 else REFUSED)
    if "Timeout" in name:
        return TIMEOUT
    return CONNECTION if "Connection" in name or isinstance(cause, OSError) else "unreadable answer"


def _system_message(error: BaseException) -> str:
    """Return the operating system's message in parentheses, or an empty string if there is none.

    Client libraries hide this message behind "Connection error".
    """
    root = error
    while (cause := root.__cause__ or root.__context__) is not None:
        root = cause
    return f" ({root})" if isinstance(root, OSError) and root is not error else ""


def shorten(text: str, most: int = 500) -> str:
    """Put `text` on one line, and cut it to at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
