"""Counter is not a JSON value"""

from collections import Counter

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(start=Shop(stock=Counter(apple=5)))
