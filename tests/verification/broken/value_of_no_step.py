"""speaks of an action that is no step of the procedure"""

from corepath import Pick, Task, result_of, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(tools.take("apple", result_of(tools.look("apple"), "left")), tools.pay()))
