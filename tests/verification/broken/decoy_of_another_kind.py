"""decoy 'weighed' should be repeated, and is unlisted"""

from corepath import Decoy, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    return tools.sound(
        decoys={
            "weighed": Decoy(
                [tools.weigh_in(1.0), tools.weigh_in(0.0), tools.look("apple"), tools.take("apple", 2), tools.pay()],
                "repeated",
            )
        },
    )
