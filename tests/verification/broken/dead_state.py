"""state 'd' is dead"""

from corepath import Automaton, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    automaton = Automaton.from_transitions(
        {"look": tools.look("apple"), "take": tools.take("apple", 2), "pay": tools.pay()},
        start="a",
        accept=["c"],
        transitions={"a": {"look": "b", "pay": "d"}, "b": {"take": "c"}, "d": {}},
    )
    return tools.sound(procedure=None, automaton=automaton)
