"""the goal does not hold after the golden path"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    look, take = tools.look("pear"), tools.take("pear", 2)
    return tools.sound(procedure=seq(look, take, tools.pay()), says={"item": "pear"})
