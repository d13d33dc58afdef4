"""decoy 'paid first': pay() fails: the basket is empty"""

from corepath import Decoy, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(decoys={"paid first": Decoy([tools.pay(), tools.take("apple", 2)], "out_of_order")})
