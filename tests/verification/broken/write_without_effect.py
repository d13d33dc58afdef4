"""is progress after look(item=\"apple\") and changes nothing"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        procedure=seq(tools.look("apple"), tools.put_back("apple"), tools.take("apple", 2), tools.pay()), decoys={}
    )
