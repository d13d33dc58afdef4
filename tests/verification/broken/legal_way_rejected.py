"""a way to the goal is rejected, and no policy says why: take(item=\"pear\", count=1)"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return Task(
        prompt="Take 2 of the item 'apple' and 1 of the item 'pear'.",
        procedure=seq(tools.take("apple", 2), tools.take("pear", 1)),
        goal=lambda shop: shop.basket == {"apple": 2, "pear": 1},
    )
