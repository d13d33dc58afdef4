"""cannot be written as JSON: set is not a JSON value"""

from corepath import Pick, Task
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(start=Shop(stock={"apple"}))  # type: ignore[arg-type]
