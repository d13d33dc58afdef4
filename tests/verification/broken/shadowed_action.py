"""is shadowed: every call it takes"""

from corepath import Pick, Task, between, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        procedure=seq(tools.look("apple"), tools.take("apple", between(1, 3)), tools.take("apple", 2), tools.pay())
    )
