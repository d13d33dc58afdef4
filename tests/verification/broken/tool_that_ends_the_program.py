"""breaks the world: internal error: SystemExit"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def leave(shop: Shop) -> str:
    """Leave the shop."""
    raise SystemExit(0)


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
