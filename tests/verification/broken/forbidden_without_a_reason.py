"""never weigh_in(...): no reason"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(forbid=[tools.weigh_in.any()])
