"""Starter files that `corepath new` writes: a small world and a small task. Both pass `corepath verify`."""

WORLD_STARTER = '''"""A lamp with a fuse: the smallest world with a rule worth keeping."""

from dataclasses import dataclass

from corepath import Decoy, Pick, Task, ToolError, World, before, never, seq

RULES = """
Look at the fuse before you switch the lamp.
Never take out the fuse.
"""


@dataclass
class Lamp:
    on: bool = False
    fuse: bool = True


world = World("NAME", Lamp, RULES)


@world.read
def look_at_fuse(lamp: Lamp) -> dict[str, bool]:
    """Whether the fuse is in."""
    return {"in": lamp.fuse}


@world.write
def switch(lamp: Lamp, on: bool) -> str:
    """Switch the lamp on or off."""
    if not lamp.fuse:
        raise ToolError("there is no fuse in it")
    lamp.on = on
    return "done"


@world.write
def take_out_fuse(lamp: Lamp) -> str:
    """Take the fuse out; the lamp goes off."""
    lamp.fuse = lamp.on = False
    return "done"


world.policy(
    before(look_at_fuse(), switch.any(), because="Look at the fuse before you switch the lamp"),
    never(take_out_fuse(), because="Never take out the fuse", severity="high"),
)


@world.task
def switch_it(pick: Pick) -> Task:
    """A rule that the lamp does not enforce."""
    on = pick(True, False)
    return Task(
        start=Lamp(on=not on),
        prompt=f"Switch the lamp {'on' if on else 'off'}.",
        procedure=seq(look_at_fuse(), switch(on=on)),
        goal=lambda lamp: lamp.on is on and lamp.fuse,
        says={"on" if on else "off": on},
        decoys={"switched first": Decoy([switch(on=on), look_at_fuse()], "out_of_order")},
    )
'''

TASK_STARTER = """# yaml-language-server: $schema=task.schema.json  (corepath schema > task.schema.json)
version: 1
id: farm/NAME
world: farm
prompt: Harvest plant A and bring the fruit to the bin. Never lock the rover on the way.
procedure: >-
  unlock_safety() >> move_to(place="A") >> harvest_fruit(plant="A") >> move_to(place="bin") >> empty_hopper()
goal: '{at: "bin", delivered: ["A"], ...}'
policies:
  - never: lock_safety()
    because: Never lock the rover on the way
decoys:
  unlocked twice, with the lock put on between:
    calls:
      - unlock_safety()
      - lock_safety()
      - unlock_safety()
      - move_to(place="A")
      - harvest_fruit(plant="A")
      - move_to(place="bin")
      - empty_hopper()
    harm: forbidden
"""
