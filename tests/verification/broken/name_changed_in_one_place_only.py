"""another option: the goal does not hold after the golden path look(item=\"pear\") → take(item=\"pear\", count=2)"""

from corepath import Decoy, Pick, Task, before, seq
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    """The goal speaks of apples, whatever was picked."""
    item = pick("apple", "pear")
    look, take = tools.look(item), tools.take(item, 2)
    return tools.sound(
        prompt=f"Take 2 of the item '{item}' and pay.",
        procedure=seq(look, take, tools.pay()),
        policies=[before(look, take, because="Look at an item before you take it")],
        decoys={"taken unseen": Decoy([take, look, tools.pay()], "out_of_order")},
    )
