"""A folder with tasks, a world and episodes, and the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corepath import Episode, call, episode_json
from corepath.cli import main

WORLD = '''
from dataclasses import dataclass
from corepath import Decoy, Pick, Task, World, before, seq

@dataclass
class Lamp:
    on: bool = False
    level: int = 0

world = World("lamp", Lamp, rules="Look at the fuse before you switch anything.")

@world.read
def look_at_fuse(lamp: Lamp) -> str:
    """Look at the fuse."""
    return "fine"

@world.write
def dim(lamp: Lamp, level: int) -> str:
    """Set the lamp to a level."""
    lamp.level = level
    return "done"

world.policy(before(look_at_fuse(), dim.any(), because="Look at the fuse before you switch anything"))

@world.task
def dim_it(pick: Pick) -> Task:
    """The fuse comes first."""
    level = pick(3, 2, 5)
    return Task(prompt=f"Set the lamp to {level}.", procedure=seq(look_at_fuse(), dim(level=level)),
                goal=lambda lamp: lamp.level == level,
                decoys={"blind": Decoy([dim(level=level)], "out_of_order", fools="state")})
'''
FILE = "- {id: bank/pay, procedure: 'check() >> pay()'}\n- {id: bank/stop, procedure: 'stop()'}\n"

Ran = tuple[int, str, str]


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Ran]:
    """Run the command line in this process, and return its exit code, output and errors."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["corepath", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a world in a Python file, a task file, and a subfolder with both."""
    (tmp_path / "lamp.py").write_text(WORLD)
    (tmp_path / "bank.yaml").write_text(FILE)
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "lamp.py").write_text(WORLD.replace('"lamp"', '"lantern"'))
    (tmp_path / "suite" / "shop.yaml").write_text(FILE.replace("bank", "shop"))
    (tmp_path / "suite" / "setup.py").write_text("raise SystemExit('this must not be run')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bank(place: Path) -> Path:
    """The same folder, with four episodes on the task file and one bad line."""
    good = Episode("bank/pay", (call("check()"), call("pay()")), "ann")
    bad = Episode("bank/pay", (call("pay()"), call("pay()"), call("pay()")), "bob\x1b[31m & <co>")
    text = "\n".join(map(episode_json, (good, bad, good, Episode("bank/stop", (call("stop()"),), "ann"))))
    (place / "e.jsonl").write_text(f"{text}\nnot json\n")
    return place
