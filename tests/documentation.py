"""Run the code blocks of the README and the docs.

`python -m tests.documentation --write [PAGE…]` updates the recorded outputs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: file=(?P<file>\S+))?(?: exit=(?P<exit>\d+))?(?: needs=(?P<needs>\w+))?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block: language, file to save it as, expected exit code, text, and position of the text in the page.

    A console block with a failing command declares the exit code: ```console exit=1. A block that is run only where a
    package is installed names it: ```console needs=inspect_scout.
    """

    kind: str
    file: str | None
    exit: int
    body: str
    start: int
    needs: str | None = None


class Checked(NamedTuple):
    """A block with recorded output, its real output, and the exit code of each command."""

    block: Block
    really: str
    exits: tuple[int, ...] = ()


def blocks(text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        exit_code, start = int(found["exit"] or 0), found.start("body")
        yield Block(found["kind"], found["file"], exit_code, found["body"], start, found["needs"])


def checked(page: Path) -> Iterator[Checked]:
    """Run a page from top to bottom in a temporary folder with the examples, and yield each output.

    A Python block goes on from those above it: all of them are run, and what was printed before is cut off.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        python, printed, whole = "", 0, 0
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.needs is not None and find_spec(block.needs) is None:
                continue
            if block.file is not None:
                (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.file).write_text(block.body, encoding="utf-8")
            elif block.kind == "python":
                python, printed = python + block.body, whole
            elif block.kind == "output":
                output = _run([sys.executable, "-c", python], folder)
                whole = len(output)
                yield Checked(block, output[printed:])
            elif block.kind == "console":
                yield _console(block, folder)


def _console(block: Block, folder: Path) -> Checked:
    """Run the commands of a console block. `$?` is the exit code of the previous command."""
    lines: list[str] = []
    exits: list[int] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            lines.append(line)
            command = line[2:].replace("$?", str(exits[-1] if exits else 0))
            done = _process(["sh", "-c", command], folder)
            exits.append(done.returncode)
            lines += done.stdout.splitlines()
    return Checked(block, "".join(f"{line}\n" for line in lines), tuple(exits))


def _run(command: list[str], folder: Path) -> str:
    done = _process(command, folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def _process(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=600,
    )


def main(pages: list[Path]) -> None:
    for page in pages or PAGES:
        text = page.read_text(encoding="utf-8")
        for block, really, _ in reversed(list(checked(page))):
            text = text[: block.start] + really + text[block.start + len(block.body) :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:2] == ["--write"]:
    main([Path(name).resolve() for name in sys.argv[2:]])
