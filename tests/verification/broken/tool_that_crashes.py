"""discount(item=\"anything\") breaks the world: internal error: KeyError"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def discount(shop: Shop, item: str) -> str:
    """Ask for a discount on what is in the basket."""
    shop.weight -= shop.basket[item]
    return "done"


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
