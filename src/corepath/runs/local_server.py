"""Serves a model file on 127.0.0.1 in a process of its own, for as long as its standard input stays open.

It is started by its path, and imports only the standard library and xllamacpp, so that it is ready at once. When the
model is loaded it writes its address as one line; whatever goes wrong stands on standard error.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

ERRORS_ONLY = 1


def main() -> None:
    """Serve until standard input ends, which it does too where the parent was killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--template", type=Path)
    parser.add_argument("--engine", help="the folder that xllamacpp is in")
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever the engine prints is no address
    ended = threading.Thread(target=_end_with_input)
    ended.start()
    try:
        server = _server(options)
    except BaseException as error:  # noqa: BLE001 - the parent reads what it was, and no traceback
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os.write(answer, f"{server.listening_address}\n".encode())
    os.close(answer)
    ended.join()


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)  # at once, in the middle of an answer too


def _server(options: argparse.Namespace) -> Any:
    if options.engine:
        sys.path.append(options.engine)
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = str(options.weights)
    params.model_alias = {options.weights.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cors_origins = "http://127.0.0.1"  # no page in a browser speaks to it
    params.ui = False
    params.verbosity = ERRORS_ONLY
    params.use_jinja = True
    if options.template:
        params.chat_template = options.template.read_text(encoding="utf-8")
    params.n_ctx = options.context
    params.n_parallel = 1
    params.cache_ram_mib = 0  # prompts of earlier episodes are not kept
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
