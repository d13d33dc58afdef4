"""the result is not JSON: set is not a JSON value"""

from corepath import Pick, Task, needed, seq
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.read
def aisles(shop: Shop) -> set[str]:
    """Where things are."""
    return set(shop.stock)


@world.task
def buy(pick: Pick) -> Task:
    asked = needed(aisles(), because="Look at an item")
    return tools.sound(procedure=seq(aisles(), tools.steps()), policies=[asked], decoys={})
