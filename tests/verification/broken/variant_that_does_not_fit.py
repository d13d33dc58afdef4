"""seed 1: 'take"""

from corepath import Pick, Task, before, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    count = pick(2, 3, 4, 5)
    take = tools.take("apple", count)
    return tools.sound(
        procedure=seq(tools.look("apple"), take, tools.pay()),
        goal=lambda shop: shop.basket == {"apple": count} and shop.paid and not shop.weight,
        policies=[before(tools.look("apple"), take, because="Look at an item before you take it")],
        decoys={},
    )
