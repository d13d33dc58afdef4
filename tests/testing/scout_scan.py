"""Scan logs with Inspect Scout and print the results as JSON: `python scout_scan.py LOGS SCANS OPTIONS`.

`python scout_scan.py SCAN` prints the results of a scan that is done.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from inspect_scout import scan, scan_results_df, transcripts_from

from corepath.testing.scout import path_scanner


def results(scans: str) -> list[dict[str, Any]]:
    """The results of a scan, one for each transcript."""
    names = ("value", "answer", "explanation", "metadata", "message_references", "scan_error", "transcript_task_id")
    frame = scan_results_df(scans).scanners["path_scanner"]
    return [{name: _value(row.get(name)) for name in names} for row in frame.to_dict("records")]


def _value(given: Any) -> Any:
    if not isinstance(given, str):
        return None
    return json.loads(given) if given[:1] in ("{", "[") else given


def scanned(logs: str, scans: str, options: str) -> list[Any]:
    """The results of a scan, and its means."""
    with contextlib.redirect_stdout(io.StringIO()):
        scanners = [path_scanner(**json.loads(options))]
        status = scan(scanners, transcripts=transcripts_from(logs), scans=scans, max_processes=1, display="none")
    return [results(status.location), status.summary.model_dump()["scanners"]["path_scanner"]["metrics"]]


if __name__ == "__main__":
    print(json.dumps(results(sys.argv[1]) if len(sys.argv) == 2 else scanned(*sys.argv[1:])))
