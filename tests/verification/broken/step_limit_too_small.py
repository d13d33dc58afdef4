"""the step limit of 4 is too small: a golden path has 3 steps, and needs room for reads"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(most_calls=4)
