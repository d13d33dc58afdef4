"""decoy 'too many' should fool both, and fools response"""

from corepath import Decoy, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        decoys={"too many": Decoy([tools.look("apple"), tools.take("apple", 3), tools.pay()], "wrong_argument")}
    )
