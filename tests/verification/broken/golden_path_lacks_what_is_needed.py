"""a golden path lacks 'at least 1 look(item=\"pear\")'"""

from corepath import Pick, Task, needed
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(policies=[needed(tools.look("pear"), because="Look at an item")])
