"""a golden path does not run: after look(item=\"apple\"), 'pay()' fails: the basket is empty"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(tools.look("apple"), tools.pay(), tools.take("apple", 2)), policies=[])
