"""a task's function must return a Task, not None"""

from corepath import Pick
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task  # type: ignore[arg-type]
def buy(pick: Pick) -> None:
    tools.sound()
