"""a golden path lacks 'after take(item=\"apple\", count=2) eventually look(item=\"apple\")'"""

from corepath import Pick, Task, after, any_order, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    look, take = tools.look("apple"), tools.take("apple", 2)
    owed = after(take, look, because="Look at an item")
    return tools.sound(procedure=seq(any_order(take, look), tools.pay()), policies=[owed], decoys={})
