"""speaks of 'plum', which does not occur in the task"""

from corepath import Pick, Task, before, never
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        policies=[
            before(tools.look("apple"), tools.take("apple", 2), because="Look at an item before you take it"),
            never(tools.put_back("plum"), because="Look at an item before you take it"),
        ]
    )
