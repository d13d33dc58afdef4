"""no tool 'luk'"""

from corepath import Pick, Task, before, tool
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(policies=[before(tool("luk")(item="apple"), tools.pay(), because="and pay")])
