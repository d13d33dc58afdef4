"""Options and fixtures for all tests."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.command_server import CommandServer

ROOT = Path(__file__).parent.parent
PATIENCE = 600.0
"""Timeout of a command in seconds; generous, for machines under load."""
_DEFAULT = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
INTERRUPTIBLE = (sys.executable, "-c", _DEFAULT)
"""Prefix for a command that a test stops with Ctrl-C: it restores the default handler.

A shell that runs the tests in the background makes them ignore Ctrl-C, and child processes inherit that.
"""

settings.register_profile("short", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=2000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="run the long versions of random and stress tests (make bench)"
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.getoption("--long") else "short")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage rarely, and not in what all tests have imported: this took a third of the time of the tests."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> int:
    """Multiplier for the size of random tests: 1, or 10 with --long."""
    return 10 if request.config.getoption("--long") else 1


@pytest.fixture(scope="session")
def acceptance() -> Path:
    """Folder of the acceptance cases, next to the checkout; skips the test if it is missing."""
    folder = ROOT.parent / "shared" / "acceptance"
    if not folder.is_dir():
        pytest.skip(f"no acceptance cases at {folder}")
    return folder


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    """Run `corepath` and `inspect` without their imports; each worker has one."""
    server = CommandServer(_environment())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def corepath(command_server: CommandServer) -> Run:
    """Run the real `corepath` command: `corepath("score", "--tasks", folder, file)`.

    A command runs in a fork of a process that has imported all commands. With a timeout or environment variables of its
    own, the installed script is run.
    """

    def run(
        *arguments: object,
        stdin: str | bytes = "",
        cwd: Path | None = None,
        patience: float = PATIENCE,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("corepath")), *map(str, arguments)]
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if patience == PATIENCE and not env and _environment() == command_server.env:
            code, out, err = command_server.run(["corepath", *command[1:]], given, cwd)
        else:
            done = subprocess.run(
                command, input=given, capture_output=True, cwd=cwd, check=False, timeout=patience,
                env={**_environment(), **(env or {})},
            )  # fmt: skip
            code, out, err = done.returncode, done.stdout, done.stderr
        return subprocess.CompletedProcess(command, code, out.decode("utf-8"), err.decode("utf-8"))

    return run


def _environment() -> dict[str, str]:
    """The environment of a command; pytest changes one variable for every test."""
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {**env, "PYTHONIOENCODING": "utf-8"}
