"""breaks the world: internal error: ZeroDivisionError"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def share(shop: Shop, parts: int) -> str:
    """Share the basket."""
    shop.weight = round(10 / parts, 2)
    return "done"


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
