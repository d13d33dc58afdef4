"""is progress after nothing and changes nothing"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def greet(shop: Shop) -> str:
    """Greet the shopkeeper."""
    shop._visits += 1
    return "done"


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=seq(greet(), tools.steps()), decoys={})
