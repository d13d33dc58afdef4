"""'peek' is declared a read and changes the state"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.read
def peek(shop: Shop, item: str) -> str:
    """Look at an item from near by."""
    shop.till += 1
    return item


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
