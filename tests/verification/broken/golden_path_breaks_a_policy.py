"""a golden path breaks 'take(item=\"apple\", count=2) requires pay()' (Take 2 of)"""

from corepath import Pick, Task, before
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(policies=[before(tools.pay(), tools.take("apple", 2), because="Take 2 of")])
