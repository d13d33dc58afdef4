"""should be the step 'look' and is a self-loop"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(tools.look("apple").returns({"left": 0}), tools.take("apple", 2), tools.pay()))
