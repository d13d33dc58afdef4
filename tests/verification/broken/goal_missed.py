"""the goal does not hold after the golden path"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(goal=lambda shop: shop.basket == {"apple": 3})
