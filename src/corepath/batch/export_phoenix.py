"""Scores as annotations of traces, spans and sessions in Phoenix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corepath.batch.export_rows import ScoreRow
from corepath.batch.export_target import (
    Item,
    Refusal,
    Target,
    authorization,
    join_json,
    label_of,
    list_texts,
    may_pass,
    span_in_hex,
    trace_in_hex,
    without_nulls,
)


def _make_items(row: ScoreRow) -> Iterator[Item]:
    kind, id_ = _find_subject(row)
    shared = json.dumps({f"{kind}_id": id_, "annotator_kind": "CODE", "metadata": row.episode})
    for name, value in row.scores.items():
        result = {"score": float(value), "label": label_of(name, value), "explanation": row.reasons.get(name)}
        own = {"name": name, "result": without_nulls(result), "identifier": row.score_id(name)}
        yield Item(join_json(json.dumps(own), shared), row.time, f"/v1/{kind}_annotations")


def _find_subject(row: ScoreRow) -> tuple[str, str | None]:
    """Return what is annotated, and its id."""
    if span := span_in_hex(row):
        return "span", span
    return ("session", row.session) if row.session else ("trace", trace_in_hex(row))


def _make_body(items: Sequence[Item]) -> str:
    return f'{{"data": [{", ".join(list_texts(items))}]}}'


def _make_headers(env: Mapping[str, str]) -> dict[str, str]:
    key = env.get("PHOENIX_API_KEY")  # a server of one's own may need none
    return authorization("Bearer", key) if key else {}


TARGET: Final = Target(
    name="Phoenix",
    is_linked=lambda row: _find_subject(row)[1] is not None,
    make_items=_make_items,
    make_body=_make_body,
    make_lines=list_texts,
    make_headers=_make_headers,
    is_retried=may_pass,
    read_refusal=lambda _: Refusal(0),
)
"""A Phoenix server. A file has the annotations of `POST /v1/trace_annotations`, one a line."""
