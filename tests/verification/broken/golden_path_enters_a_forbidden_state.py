"""a golden path breaks 'never any call into a forbidden state'"""

from corepath import Pick, Task, never
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(policies=[never(leaves=lambda shop: shop.paid, because="and pay")])
