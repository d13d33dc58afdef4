"""does something else the second time"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


visits: list[str] = []


@world.read
def bell(shop: Shop) -> int:
    """How often the bell rang."""
    visits.append("ring")
    return len(visits)


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound()
