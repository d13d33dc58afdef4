"""a golden path breaks 'take(item=\"apple\", count=2) requires look(item=\"apple\")'"""

from corepath import Pick, Task, any_order, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    steps = any_order(tools.look("apple"), tools.take("apple", 2))
    return tools.sound(procedure=seq(steps, tools.pay()), decoys={})
