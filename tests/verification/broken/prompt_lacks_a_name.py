"""needs 'apple' for 'item', which is not in the prompt"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(prompt="Take 2 pieces of fruit and pay.")
