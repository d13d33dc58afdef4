"""progress goes in a circle"""

from corepath import Automaton, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    automaton = Automaton.from_transitions(
        {"take": tools.take("apple", 2), "back": tools.put_back("apple"), "pay": tools.pay()},
        start="a",
        accept=["c"],
        transitions={"a": {"take": "b"}, "b": {"back": "a", "pay": "c"}},
    )
    return tools.sound(procedure=None, automaton=automaton)
