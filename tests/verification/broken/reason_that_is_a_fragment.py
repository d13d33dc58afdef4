"""because='before you take' is not a whole clause: quote one that says what to do"""

from corepath import Pick, Task, before
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    reason = before(tools.look("apple"), tools.take("apple", 2), because="before you take")
    return tools.sound(policies=[reason])
