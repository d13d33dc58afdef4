"""The Arrow schemas of episodes and of their scores."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_CALL: Final = pa.struct([
    ("tool", pa.string()), ("arguments", pa.string()), ("result", pa.string()), ("error", pa.string()),
])  # fmt: skip
EPISODES: Final = pa.schema([
    ("trace", pa.string()), ("task", pa.string()), ("agent", pa.string()), ("epoch", pa.int64()), ("seed", pa.int64()),
    ("fingerprint", pa.string()), ("scoring", pa.string()), ("params", pa.string()), ("answer", pa.string()),
    ("messages", pa.string()), ("record", pa.string()),
    ("calls", pa.list_(_CALL)),
])  # fmt: skip
"""Episodes, one a row. Only `task` and `calls` are required.

`arguments`, `result`, `error`, `scoring`, `params`, `answer` and `messages` are JSON text. A text that is not JSON
stands for itself. A null result means that the call was not answered. `record` is JSON text with all other keys of the
episode's record, e.g. `reward`.
"""

_HARM: Final = pa.struct([
    ("index", pa.int32()), ("tool", pa.string()), ("kind", pa.string()), ("effected", pa.bool_()),
    ("again", pa.int32()),
])  # fmt: skip
_VERDICT: Final = pa.struct([("rule", pa.string()), ("state", pa.string())])
SCORES: Final = pa.schema([
    ("trace", pa.string()), ("file", pa.string()), ("line", pa.int64()), ("offset", pa.int64()),
    ("task", pa.string()), ("seed", pa.int64()), ("agent", pa.string()), ("epoch", pa.int64()),
    ("profile", pa.string()), ("options", pa.string()),
    ("pc", pa.float64()), ("pc_ktc", pa.float64()), ("pc_ktc_lower", pa.float64()), ("pc_ktc_upper", pa.float64()),
    ("prefix_criticality", pa.float64()), ("harm_rate", pa.float64()), ("harm_count", pa.int32()),
    ("efficiency", pa.float64()), ("directness", pa.float64()), ("pc_hlr", pa.float64()),
    ("accepted", pa.bool_()), ("missing_steps", pa.int32()),
    ("state_match", pa.bool_()), ("response_match", pa.bool_()), ("answer_match", pa.bool_()),
    ("length", pa.int32()), ("harms", pa.list_(_HARM)),
    ("reward", pa.float64()), ("cost", pa.float64()), ("tokens", pa.float64()), ("seconds", pa.float64()),
    ("excluded", pa.string()),
    ("rules_broken", pa.int32()), ("obligations_open", pa.int32()), ("rules", pa.list_(_VERDICT)),
    ("problem", pa.string()), ("episode", pa.string()),
])  # fmt: skip
"""Scores, one episode a row. What is not defined or not known is null.

`file`, `line` and `offset` say where the episode stands: the line or row from 1, and the bytes before the line.
`options` is JSON text with all scoring options if the profile is custom. `excluded` says why the episode is left out of
the means. `problem` says why an episode has no scores. `episode` is the record of an episode that has no line of its
own, because it was made of spans.
"""
HARM_FIELDS: Final = _HARM
