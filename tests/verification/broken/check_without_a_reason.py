"""no policy says why: take(item=\"apple\", count=2)"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(policies=[], decoys={})
