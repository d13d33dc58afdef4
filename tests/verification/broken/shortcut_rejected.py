"""a way to the goal is rejected, and no policy says why"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def express(shop: Shop, item: str, count: int) -> str:
    """Take so many of an item and pay, in one go."""
    shop.stock[item] = shop.stock.get(item, 0) - count
    shop.basket[item] = count
    shop.paid = True
    return "done"


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
