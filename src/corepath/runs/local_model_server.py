"""A script that serves a model file on 127.0.0.1 for as long as its standard input stays open.

The script is run by its path. It imports only the standard library and xllamacpp, so that it starts fast. When the
model is loaded, the script prints the server's address on one line. Errors go to standard error.
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
    """Serve until standard input closes, which also happens when the parent process is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--template", type=Path)
    parser.add_argument("--engine", help="the folder that xllamacpp is in")
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops this process
    answer = os.dup(1)
    os.dup2(2, 1)  # keep the engine's own output apart from the address
    ended = threading.Thread(target=_exit_with_input)
    ended.start()
    try:
        server = _server(options)
    except BaseException as error:  # noqa: BLE001 - the parent shows the error without a traceback
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os.write(answer, f"{server.listening_address}\n".encode())
    os.close(answer)
    ended.join()


def _exit_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)  # exit at once, even in the middle of an answer


def _server(options: argparse.Namespace) -> Any:
    if options.engine:
        sys.path.append(options.engine)
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = str(options.weights)
    params.model_alias = {options.weights.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cors_origins = "http://127.0.0.1"  # no web page can call the server
    params.ui = False
    params.verbosity = ERRORS_ONLY
    params.use_jinja = True
    if options.template:
        params.chat_template = options.template.read_text(encoding="utf-8")
    params.n_ctx = options.context
    params.n_parallel = 1
    params.cache_ram_mib = 0  # do not keep prompts from earlier episodes
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
