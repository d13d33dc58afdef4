"""the goal does not hold after the golden path weigh_in(kilograms=1.4999985)"""

from corepath import Pick, Task, approx
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def weigh(pick: Pick) -> Task:
    return Task(
        prompt="Write down that the basket weighs 1.5 kilograms.",
        procedure=tools.weigh_in(approx(1.5)),
        goal=lambda shop: shop.weight == 1.5,
    )
