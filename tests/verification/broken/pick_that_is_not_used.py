"""all variants are the same: use what pick() returns"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    pick("apple", "pear")
    return tools.sound()
