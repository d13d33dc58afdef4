"""a golden path breaks 'never any call into a forbidden state' (Take 2 of)"""

from corepath import Pick, Task, never, one_of, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        procedure=seq(tools.look("apple"), tools.take("apple", one_of(2, 3)), tools.pay()),
        goal=lambda shop: shop.basket["apple"] in (2, 3) and shop.paid,
        policies=[never(leaves=lambda shop: shop.basket.get("apple", 0) > 2, because="Take 2 of")],
        decoys={},
    )
