"""does something else the second time: a world has no clock, no chance and no memory"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


served: list[str] = []


@world.write
def queue(shop: Shop) -> str:
    """Draw a number."""
    served.append("next")
    shop.till = 10 + len(served)
    return f"number {len(served)}"


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(queue(), tools.steps()), policies=[], decoys={})
