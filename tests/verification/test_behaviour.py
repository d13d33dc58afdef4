"""A world as a whole: it behaves the same at any time and in any process, and its rules are tied to its policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from corepath import installed_worlds, world
from corepath.verification.behaviour import check_behaviour
from corepath.verification.world_rules import check_rules
from corepath.world.discovery import load_worlds

HEAD = """
import random
import time
from dataclasses import dataclass, field
from datetime import date, datetime

from corepath import Pick, Task, World, never, seq


@dataclass
class State:
    on: bool = False
    names: list[str] = field(default_factory=lambda: ["ann", "bob", "cid", "dan", "eve", "fay", "gus"])


world = World("lamps", State, "Never break the lamp. Lamps are bright.", advice=["Lamps are bright."])


@world.write
def break_lamp(state: State) -> str:
    \"\"\"Break the lamp.\"\"\"
    return "done"


@world.write
def switch(state: State, on: bool) -> str:
    \"\"\"Switch the lamp.\"\"\"
    state.on = on
    return {result}


@world.task
def light(pick: Pick) -> Task:
    return Task(
        prompt="Switch the lamp on: true.",
        procedure=switch(True),
        goal=lambda state: state.on,
        policies=[never(break_lamp(), because="Never break the lamp")],
    )
"""

NO_CLOCK = "a world has no clock, no chance and no memory"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ('"done"', None),
        ("int(time.time() // 86400)", NO_CLOCK),
        ("datetime.now().isoformat()[:10]", NO_CLOCK),
        ("date.today().isoformat()", NO_CLOCK),
        ("random.randrange(10**9)", NO_CLOCK),
        ("len(_seen.append(1) or _seen)", NO_CLOCK),
        ("list({name for name in state.names})", "sort what comes from a set"),
    ],
)
def test_a_world_that_changes_its_mind_is_named(tmp_path: Path, result: str, message: str | None) -> None:
    path = tmp_path / "lamps.py"
    path.write_text(HEAD.replace("{result}", result).replace("world = World", "_seen: list[int] = []\nworld = World"))
    (made,) = load_worlds(str(path))
    found = list(check_behaviour(made, str(path)))
    assert bool(found) == (message is not None), found
    assert message is None or any(message in one for one in found), found


@pytest.mark.parametrize("name", sorted(installed_worlds()))
def test_the_built_in_worlds_behave_and_their_rules_are_tied_to_policies(name: str) -> None:
    found = world(name)
    assert list(check_behaviour(found, name)) == []
    assert list(check_rules(found, found.tasks().values())) == []


def test_a_rule_without_a_policy_and_advice_that_is_no_rule_are_named(tmp_path: Path) -> None:
    path = tmp_path / "lamps.py"
    text = HEAD.replace("{result}", '"done"')
    path.write_text(
        text.replace('"Never break the lamp. Lamps are bright."', '"Never break the lamp. Switch it twice."')
    )
    (made,) = load_worlds(str(path))
    assert list(check_rules(made, made.tasks().values())) == [
        "no policy quotes the rule 'switch it twice'; write a policy for it, or list it in advice=",
        "advice: 'lamps are bright' is not a sentence of the rules",
    ]
