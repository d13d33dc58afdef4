"""the prompt is empty"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(prompt=" ", says={"look": "apple", "item": 2})
