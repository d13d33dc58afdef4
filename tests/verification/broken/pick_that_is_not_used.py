"""an option of a pick changes nothing: use what pick() returns, or leave the option out"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    pick("apple", "pear")
    return tools.sound()
