"""a way to the goal is rejected, and no policy says why: look(item=\"apple\") → put_back"""

from corepath import Pick, Task, seq
from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    """The other item may go back between the look and the taking."""
    return tools.sound(
        prompt="Put the item 'pear' back, take 2 of the item 'apple' and pay.",
        start=Shop(basket={"pear": 1}, stock={"apple": 5, "pear": 2}),
        procedure=seq(tools.put_back("pear"), tools.look("apple"), tools.take("apple", 2), tools.pay()),
        decoys={},
    )
