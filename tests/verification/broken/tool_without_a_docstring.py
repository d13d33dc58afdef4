"""tool 'whistle' has no docstring"""

from tests.verification.broken.shop import Shop, Tools

tools = Tools()
world = tools.world


@world.write
def whistle(shop: Shop) -> str:
    return "done"
