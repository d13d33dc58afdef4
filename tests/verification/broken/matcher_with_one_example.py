"""only 1 value of 'count' can be tried"""

from corepath import Pick, Task, satisfies, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


def few(count: int) -> bool:
    return 0 < count < 3


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(tools.look("apple"), tools.take("apple", satisfies(few, 2)), tools.pay()))
