"""no value is known that 'take' could be called with here"""

from corepath import Pick, Task, result_of, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        procedure=seq(tools.look("apple"), tools.take("apple", result_of(tools.look("apple"), "lef")), tools.pay())
    )
