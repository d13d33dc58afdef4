"""Terminal recordings in the docs, in asciinema's format: `python -m tests.recording` makes them anew.

A recording is a list of commands with what they print. The tests run the commands again and compare.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent.parent / "docs" / "recordings"
RECORDINGS = {
    "learn": (
        "corepath run transactions/close_out --agent oracle --epochs 20 --out good",
        "corepath tools good --out tools.yaml",
        "corepath learn good --tools tools.yaml --out task.yaml --yes",
        "corepath check task.yaml --good good --mutants",
    ),
}
PROMPT = "$ "
_PAUSE, _KEY = 1.2, 0.04


def record(commands: tuple[str, ...], folder: Path) -> list[tuple[str, str]]:
    """Run commands in a folder, and return each with all that it prints."""
    found = []
    for command in commands:
        name, *arguments = shlex.split(command)
        program = Path(sys.executable).with_name(name)
        done = subprocess.run(
            [program, *arguments], cwd=folder, check=True, stdout=-1, stderr=subprocess.STDOUT, text=True
        )
        found.append((command, done.stdout))
    return found


def write(name: str, shown: list[tuple[str, str]]) -> None:
    """Write a recording."""
    at = 0.5
    lines = [json.dumps({"version": 2, "width": 100, "height": 30, "title": f"corepath {name}"})]
    for command, output in shown:
        lines.append(json.dumps([round(at, 2), "o", PROMPT]))
        for key in command:
            at += _KEY
            lines.append(json.dumps([round(at, 2), "o", key]))
        at += _PAUSE
        lines.append(json.dumps([round(at, 2), "o", "\r\n" + output.replace("\n", "\r\n")], ensure_ascii=False))
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.cast").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(name: str) -> list[tuple[str, str]]:
    """Return the commands of a recording, each with what it printed."""
    text = "".join(json.loads(line)[2] for line in (FOLDER / f"{name}.cast").read_text("utf-8").splitlines()[1:])
    parts = text.replace("\r\n", "\n").split(PROMPT)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


if __name__ == "__main__":
    for name, commands in RECORDINGS.items():
        with TemporaryDirectory() as folder:
            write(name, record(commands, Path(folder)))
