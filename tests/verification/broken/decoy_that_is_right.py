"""decoy 'no decoy' should be out_of_order, and nothing in it is harmful"""

from corepath import Decoy, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        decoys={"no decoy": Decoy([tools.look("apple"), tools.take("apple", 2), tools.pay()], "out_of_order")}
    )
