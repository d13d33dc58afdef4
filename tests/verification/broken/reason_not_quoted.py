"""stands neither in the prompt nor in the world's rules nor in a docstring"""

from corepath import Pick, Task, before
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        policies=[before(tools.look("apple"), tools.take("apple", 2), because="It is polite to look first")]
    )
