"""Run `corepath` and `inspect` in forks of one process that has imported them, so that tests wait for no imports.

A command still has a process of its own, with its own standard streams, working folder and exit code. Once a command
has imported one of the slow packages that start no threads, later ones find it imported. The docs, and tests that set
environment variables, run the installed script instead.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

SLOW: Final = ("inspect_ai", "openai", "fastmcp", "mcp", "corepath")


MAINS: Final = {"corepath": "corepath.cli", "inspect": "inspect_ai._cli.main"}
"""For each command the module with its function `main`."""


class CommandServer:
    """A process that forks itself for every command."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.command_server"],
            cwd=Path(__file__).parent.parent,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self, command: list[str], stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        """Run a command, by its name and arguments; its exit code, standard output and standard error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            streams = [str(Path(name, stream)) for stream in ("stdin", "stdout", "stderr")]
            Path(streams[0]).write_bytes(stdin)
            request = {
                "command": command, "cwd": str(cwd or Path.cwd()), "streams": streams,
                "env": {**(env or {})}, "modules": str(Path(name, "modules")),
            }  # fmt: skip
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return code, Path(streams[1]).read_bytes(), Path(streams[2]).read_bytes()

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _serve() -> None:
    from corepath.cli import make_app

    make_app()  # imports every command
    for line in sys.stdin:
        gc.freeze()  # a fork that looks for garbage copies the memory of all that it looks at
        request = json.loads(line)
        child = os.fork()
        if not child:
            _run(**request)
        _, status = os.waitpid(child, 0)
        _import(Path(request["modules"]))
        print(os.waitstatus_to_exitcode(status), flush=True)


def _import(modules: Path) -> None:
    """Import the slow modules that a command imported; a command that was killed leaves no list of them."""
    for name in modules.read_text(encoding="utf-8").split() if modules.exists() else ():
        if name.partition(".")[0] in SLOW and name not in sys.modules:
            importlib.import_module(name)


def _run(command: list[str], cwd: str, streams: list[str], env: dict[str, str], modules: str) -> NoReturn:
    for number, (name, flags) in enumerate(zip(streams, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        os.dup2(os.open(name, flags | (os.O_CREAT | os.O_APPEND if number else 0)), number)
    sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.update(env)
    sys.argv = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    code: object = 0
    try:
        importlib.import_module(MAINS[command[0]]).main()
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001  # as the interpreter would at the end of a script
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    Path(modules).write_text(" ".join(sys.modules), encoding="utf-8")
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve()
