"""needs 2 for 'count', which is not in the prompt"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(prompt="Take some of the item 'apple' and pay.")
