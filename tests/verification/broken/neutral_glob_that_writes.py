"""is let pass and changes the state"""

from corepath import Pick, Task, tool
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(neutral=[tool("weigh*").any()])
