"""tool 'take': got an unexpected keyword argument 'number'"""

from corepath import Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(procedure=tools.take(item="apple", number=2))  # type: ignore[call-arg]
