"""Scores as Langfuse's API for scores takes them.

Langfuse's own clients send scores in batches to its endpoint for ingestion, because the endpoint for scores takes one
at a time and is limited to few requests a minute. Servers without that endpoint get scores one by one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from corepath.batch.export_rows import ScoreRow, digest
from corepath.batch.export_target import (
    Item,
    Refusal,
    Target,
    authorization,
    join_json,
    list_texts,
    may_pass,
    without_nulls,
)
from corepath.errors import OptionError


def _make_items(row: ScoreRow) -> Iterator[Item]:
    link = {"traceId": row.trace, "sessionId": row.session, "observationId": row.span if row.trace else None}
    shared = json.dumps(without_nulls({**link, "metadata": row.episode}))
    for name, value in row.scores.items():
        own = {
            "id": row.score_id(name),
            "name": name,
            "value": int(value) if isinstance(value, bool) else value,
            "dataType": "BOOLEAN" if isinstance(value, bool) else "NUMERIC",
            "comment": row.reasons.get(name),
        }
        yield Item(join_json(json.dumps(without_nulls(own)), shared), row.time, "/api/public/ingestion")


def _make_body(items: Sequence[Item]) -> str:
    return f'{{"batch": [{", ".join(map(_make_event, items))}]}}'


def _make_event(item: Item) -> str:
    """Wrap a score in an event. The event gets another id if the score has changed, so that it is read again."""
    when = datetime.fromtimestamp(item.time // 10**6 / 1000, UTC).isoformat(timespec="milliseconds")
    return f'{{"id": "{digest(item.text, when)}", "type": "score-create", "timestamp": "{when}", "body": {item.text}}}'


def _make_headers(env: Mapping[str, str]) -> dict[str, str]:
    public, secret = (env.get(name, "").strip() for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"))
    if not public or not secret:
        raise OptionError("Langfuse needs the keys of a project in LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY")
    return authorization("Basic", base64.b64encode(f"{public}:{secret}".encode()).decode())


def _read_refusal(answer: Mapping[str, Any]) -> Refusal:
    errors = answer.get("errors")
    found = [one for one in errors if isinstance(one, Mapping)] if isinstance(errors, list) else []
    return Refusal(len(found), tuple(str(one.get("error") or one.get("message") or one) for one in found))


TARGET: Final = Target(
    name="Langfuse",
    is_linked=lambda row: bool(row.trace or row.session),
    make_items=_make_items,
    make_body=_make_body,
    make_lines=list_texts,
    make_headers=_make_headers,
    is_retried=may_pass,
    read_refusal=_read_refusal,
    one_by_one="/api/public/scores",
)
"""A Langfuse server. A file has the bodies of `POST /api/public/scores`, one a line."""
