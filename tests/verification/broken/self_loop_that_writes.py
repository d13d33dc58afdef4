"""is a self-loop in state 'b' and changes the state"""

from corepath import Automaton, Pick, Task
from tests.verification.broken.shop import Tools

tools = Tools()
world = tools.world


@world.task
def buy(pick: Pick) -> Task:
    automaton = Automaton.from_transitions(
        {"look": tools.look("apple"), "take": tools.take("apple", 2), "pay": tools.pay(), "weigh": tools.weigh_in(2)},
        start="a",
        accept=["d"],
        transitions={"a": {"look": "b"}, "b": {"take": "c", "weigh": "b"}, "c": {"pay": "d"}},
    )
    return tools.sound(procedure=None, automaton=automaton)
