"""breaks the world: internal error: ZeroDivisionError"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.read
def share(shop: Shop, parts: int) -> float:
    """What one part costs if the basket is shared."""
    return len(shop.basket) / (parts - 2)


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
