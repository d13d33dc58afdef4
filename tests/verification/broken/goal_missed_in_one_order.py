"""the goal does not hold after the golden path look(item=\"apple\") → take(item=\"apple\", count=2) → pay()"""

from corepath import Pick, Task, any_order, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        procedure=seq(tools.look("apple"), tools.take("apple", 2), any_order(tools.pay(), tools.put_back("apple"))),
        decoys={},
    )
