"""decoy 'weighed' breaks no policy and leaves none unmet; say in a policy why it is wrong"""

from corepath import Decoy, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    look, take = tools.look("apple"), tools.take("apple", 2)
    calls = [look, tools.weigh_in(1.0), take, tools.weigh_in(0.0), tools.pay()]
    return tools.sound(decoys={"weighed": Decoy(calls, "unlisted")})
